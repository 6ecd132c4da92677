r"""Tensors with depth in networks with a skip whose kernel stays.

Both susceptibilities are 1, so that a tensor gathers what each layer adds. That is what grown
tensors feed, as in dense layers, and noise. Of a tensor with two pairs of neurons a pair is an
average of a product $\sigma^{(d)}\sigma^{(d')}$, with as many derivatives as edges at its vertices.
The averages of two layers fluctuate together, by the correlation $\xi^{|\ell-m|}$ of z; an edge
from one pair to the other is a directional derivative of z, which keeps its part ξ as z does. With
$f_k$, $g_k$ the Hermite coefficients of the two products and e such edges, each layer adds

$$C_W^2\, \Theta^{\text{edges}} \sum_{d=-\infty}^\infty \sum_k f_k g_k\, \xi^{|d|(k + e)}$$

where k = 0 is left out if no edge joins the pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.smooth_pieces import smooth_pieces, straight_slopes
from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.half_moments import half_moments
from symdlt.asymptotics.scale_invariant import HomogeneousMeans
from symdlt.asymptotics.skip_growth import SkipGrowth
from symdlt.asymptotics.skips import sign_of, skip_of, with_ratio
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.definitions import split_subleading, tensor
from symdlt.derivation import derive, to_z_form
from symdlt.fixed_points.moments import double_factorial
from symdlt.precision import mp, number, rounded
from symdlt.symbols import named

# Shown, and more to work with.
DIGITS, WORKING = 15, 25
UNSOLVED = (
    "The growth of {} with a skip takes sums over pairs of depths. They are known {}. `propagate` "
    "counts all depths of a network."
)


def grown(dense: AsymptoticSolution, growth: SkipGrowth) -> AsymptoticSolution:
    r"""The solution with a skip where the kernel stays, from that of dense layers.

    K and Θ, both susceptibilities being 1, are those of dense layers, and so is how grown tensors
    feed others. Noise is that of all depths.

    Args:
        dense: of the same activation, where its kernel stays.
        growth: of V.
    """
    K = dense["G"].coefficient
    slopes = straight_slopes(smooth_pieces(read_activation(growth.activation)))
    known: dict[str, Asymptote] = {}
    # Of noise, for which symbols stand while formulas are factored.
    numbers: dict[sp.Dummy, sp.Expr] = {}
    unsolved = []
    for a in dense.tensors:
        if a.order == 0:
            known[a.name] = a
        elif a.name == "V":
            known["V"] = _asymptote(a, _symbol("V", growth.growth, numbers) * K**2, 1, known)
        elif slopes is None:
            unsolved.append(
                (
                    a.name,
                    UNSOLVED.format(
                        a.name,
                        "for V, and for more where an activation is a line on each side of zero",
                    ),
                )
            )
        elif a.order > 1 or split_subleading(a.name)[1] or max(tensor(a.name).forest.degrees) > 1:
            what = "for tensors of order 1/n without second derivatives"
            unsolved.append((a.name, UNSOLVED.format(a.name, what)))
        else:
            dense_weight = dict(dense.hyperparameters)["C_W"]
            known[a.name] = _gathered(a, _Lines(slopes, growth, K, dense_weight), known, numbers)
    changed = dict(growth.point.variances)
    return replace(
        dense,
        tensors=tuple(_with_numbers(a, numbers) if a.order else a for a in known.values()),
        values=(*dense.values, *growth.values),
        hyperparameters=tuple((n, changed.get(n, x)) for n, x in dense.hyperparameters),
        assumptions=(
            f"layers {growth.layer}; noise of all depths counted",
            "one input, hidden layers of one width n, K the same at every layer",
            "G and H exact at every layer, others at large depth; e edges carry a factor L^(-e)",
        ),
        unsolved=(*dense.unsolved, *unsolved),
        layer=growth.layer,
    )


def _with_numbers(a: Asymptote, numbers: Mapping[sp.Dummy, sp.Expr]) -> Asymptote:
    """A tensor with numbers for its noise, to as many digits as these have."""
    inserted = a.at(numbers)
    shown = {}
    for name in ("coefficient", "ratio_coefficient"):
        formula = getattr(inserted, name)
        shown[name] = formula.xreplace({x: sp.Float(x, DIGITS) for x in formula.atoms(sp.Float)})
    return replace(inserted, **shown)


def _symbol(name: str, value: sp.Expr, numbers: dict[sp.Dummy, sp.Expr]) -> sp.Dummy:
    symbol = sp.Dummy(f"noise_{name}", positive=True)
    numbers[symbol] = value
    return symbol


def _asymptote(
    a: Asymptote, coefficient: sp.Expr, power: int, known: Mapping[str, Asymptote]
) -> Asymptote:
    ratio_power = sp.Integer(power - a.edges)
    kept = replace(a, exponent=sp.Integer(-power), ratio_power=ratio_power, exact=None)
    return with_ratio(kept, coefficient, known)


@dataclass(frozen=True, slots=True)
class _Lines:
    """An activation that is a line on each side of zero, in a network with a skip.

    Attributes:
        slopes: to the left and to the right.
        growth: with the critical point.
        K: the kernel, a symbol.
        dense_weight: the C_W of dense layers, with which both susceptibilities are 1.
    """

    slopes: tuple[sp.Expr, sp.Expr]
    growth: SkipGrowth
    K: sp.Expr
    dense_weight: sp.Expr

    @property
    def squares(self) -> tuple[sp.Expr, sp.Expr]:
        """The squares of the slopes."""
        return self.slopes[0] ** 2, self.slopes[1] ** 2

    def noise(self, powers: tuple[int, int], joined: int) -> sp.Float:
        """What a layer adds by noise, over powers of K and Θ.

        Args:
            powers: of z in the products of both pairs.
            joined: how many edges go from one pair to the other.
        """
        with mp.workdps(WORKING):
            left, right = map(number, self.squares)
            maps = skip_of(self.growth.layer, dict(self.growth.values))
            xi = sign_of(maps) * mp.sqrt(number(maps.parts(0, 0)[1]))
            count = int(WORKING / -mp.log10(abs(xi))) + 2
            rows = half_moments(count)
            total = (left**2 + right**2) / 2 * double_factorial(sum(powers) - 1)
            for k in range(count):
                product = mp.mpf(1)
                for p in powers:
                    product *= (right + (-1) ** (k + p) * left) * rows[p][k]
                if k + joined:
                    decay = xi ** (k + joined)
                    total += 2 * product * decay / (1 - decay)
                else:
                    total -= product
            return rounded(number(self.growth.point.C_W) ** 2 * total, DIGITS)


def _gathered(
    a: Asymptote, lines: _Lines, known: Mapping[str, Asymptote], numbers: dict[sp.Dummy, sp.Expr]
) -> Asymptote:
    """A tensor from its noise and from what grown tensors feed, to leading order in the depth."""
    correlator = tensor(a.name)
    degrees, edges = correlator.forest.degrees, correlator.forest.edges
    pairs = [{*pair} for pair in correlator.matching]
    first, second = (sum(1 - degrees[vertex] for vertex in pair) for pair in pairs)
    joined = sum(not any({*edge} <= pair for pair in pairs) for edge in edges)
    ntk = known["H"].coefficient
    noise = _symbol(a.name, lines.noise((first, second), joined), numbers)
    gained = {len(edges): noise * lines.K ** ((first + second) // 2) * ntk ** len(edges)}
    for power, fed in _fed(a.name, lines, known):
        gained[power] = gained.get(power, 0) + fed
    power = max(power for power, amount in gained.items() if amount.subs(numbers) != 0)
    return _asymptote(a, sp.factor(gained[power] / (power + 1)), power + 1, known)


def _fed(name: str, lines: _Lines, known: Mapping[str, Asymptote]) -> list[tuple[int, sp.Expr]]:
    r"""What grown tensors feed: powers of ℓ, and their coefficients.

    Responses are those of dense layers, where $C_W\,d\langle\sigma\sigma\rangle/dK$ and
    $C_W\langle\sigma'\sigma'\rangle$ are 1 as both susceptibilities are with the skip.
    """
    mean = HomogeneousMeans(*lines.slopes, lines.K)
    fed = []
    for term in to_z_form(derive(name, inputs="one")).terms:
        names = [one.correlator.name for one in term.tensors]
        if not any(one not in ("G", "H", name) for one in names):
            continue
        product = sp.Rational(*term.coefficient.as_integer_ratio())
        values = {"C_W": lines.dense_weight}
        for symbol, power in term.hyperparameters.named:
            product *= values.get(symbol, named(symbol)) ** power
        for bracket in term.brackets:
            product *= mean(bracket)
        for one in names:
            product *= known[one].coefficient
        fed.append((int(-sum(known[one].exponent for one in names)), product))
    return fed
