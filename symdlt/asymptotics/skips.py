r"""Tensors with depth in networks with a skip, $z' = \xi z + b + W\sigma(z)$.

With a skip the noise of a neuron at one depth meets that at all others, since the neuron is read
again, and the recursions of V and its kin are over pairs of depths. Near $K^* = 0$ they close
again: an activation with one slope at zero is there a line, its squares are $z^2$ times a number,
and of $z^2$ the last layer has all. What a layer adds is then the source of the derived recursion
of the second layer, at each depth; what is left out is smaller by a power of K, which falls with
depth.

The rest is response to a kernel, to which a skip adds what it keeps: of $1 - \xi^2$ times the
dense layer's change of the kernel, the NTK and their fluctuations. So ℓ layers are $s\ell$ dense
ones, $s = a_1/a_1^\text{dense}$, with more noise in each and learning rates over s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import sympy as sp

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.definitions import FIELD, Layer, ascii_name
from symdlt.derivation import Bracket, RecursionTerm, derive
from symdlt.errors import DerivationError, SolutionError
from symdlt.fixed_points.arguments import maps_of
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_map import KernelMap
from symdlt.fixed_points.moments import double_factorial
from symdlt.precision import NumberLike
from symdlt.symbols import lambda_W as LAMBDA_W

# Tensors that noise of neurons feeds by itself where the activation is a line.
NOISY = ("V", "F", "B")


def skip_of(layer: Layer | str, values: Mapping[str, NumberLike] | None) -> KernelMap:
    """The kernel map of a layer of one weight that keeps its neurons.

    Args:
        layer: the layer.
        values: numbers for its symbols but those of the weight and the bias.

    Raises:
        LayerError: if the layer cannot be read, or its kernel does not close.
        SolutionError: if it has no skip, keeps more than it gets, or has several weights.
    """
    maps = maps_of(layer, values)
    _, kept, drawn = maps.parts(0, 1)
    weights = _weights(maps)
    if weights != 1 or drawn != 1 or not 0 < kept < 1:
        raise SolutionError(
            f"The layer {maps.layer} keeps {float(kept):.6g} of the kernel, and has {weights} "
            "weights. What is known of depth is of layers that keep more than nothing and less "
            "than all of it, with one weight, and of the dense one. Give one such as "
            "\"z' = xi z + b + W s(z)\" with values={'xi': 0.8}."
        )
    return maps


def sign_of(maps: KernelMap) -> int:
    """The sign of the correlation of z at two depths that follow each other."""
    values = dict(maps.values)
    kept = sp.Integer(0)
    for branch in maps.layer.branches:
        for monomial, factor in branch.coefficient.terms if branch.kept else ():
            powers = (values[ascii_name(name)] ** power for name, power in monomial)
            kept += sp.Mul(sp.Rational(*factor.as_integer_ratio()), *powers)
    return -1 if kept < 0 else 1


def keeps_nothing(layer: Layer, values: Mapping[str, NumberLike] | None) -> bool:
    """Whether a layer is the dense one once its symbols have their values, as with ξ = 0."""
    maps = maps_of(layer, values)
    _, kept, drawn = maps.parts(0, 1)
    return maps.bias is not None and (kept, drawn, _weights(maps)) == (0, 1, 1)


def _weights(maps: KernelMap) -> int:
    variances = [name for name in maps.layer.symbols if name.startswith("C_")]
    return len(variances) - (maps.bias is not None)


def slowed(
    dense: AsymptoticSolution, points: tuple[CriticalPoint, CriticalPoint], maps: KernelMap
) -> AsymptoticSolution:
    r"""The solution of a network with a skip, from that of dense layers at K* = 0.

    A tensor of order 1/n with $X \to x(\lambda_b, \lambda_W)\, \ell^{-p} L^{e(p_\perp - 1)}$ goes
    to

    $$\eta\, x(\lambda_b, s^{-v}\lambda_W)\, (s\ell)^{-p} (sL)^{e(p_\perp - 1)}$$

    with $K \propto \ell^{-v}$ and the noise η of a layer over that of s dense ones. Learning rates
    go as in dense layers, with the same constants.

    Args:
        dense: for symbols of the learning rates, or numbers that are zero.
        points: critical ones, with the skip and without.
        maps: of the layer with the skip.
    """
    with_skip, without = points
    speed = sp.factor(with_skip.a_1 / without.a_1)
    eta = _noise_ratio(maps, with_skip, without) / speed
    p_perp = dict(dense.values)["p_perp"]
    fall = dense["G"].exponent

    def moved(a: Asymptote) -> Asymptote:
        number = speed ** (-a.exponent + a.edges * (p_perp - 1)) * (eta if a.order else 1)
        coefficient = sp.factor(number * _scaled(a.coefficient, speed**-fall))
        return replace(a, coefficient=coefficient)

    known = {a.name: moved(a) for a in dense.tensors if a.order == 0 or _is_told(a)}
    tensors = tuple(with_ratio(a, a.coefficient, known) for a in known.values())
    others = [(a.name, _reason(a)) for a in dense.tensors if a.name not in known]
    changed = {"C_b": sp.Integer(0), "C_W": with_skip.C_W}
    settings = [(name, changed.get(name, value)) for name, value in dense.hyperparameters]
    values = [(n, with_skip.a_1 if n == "a_1" else value) for n, value in dense.values]
    return replace(
        dense,
        tensors=tensors,
        values=(*values, *maps.values),
        hyperparameters=tuple(settings),
        assumptions=(f"layers {maps.layer}; noise of all depths counted", *dense.assumptions),
        unsolved=(*dense.unsolved, *others),
        layer=maps.layer,
    )


def only_gathered(solution: AsymptoticSolution) -> AsymptoticSolution:
    """The solution of layers with a skip without what noise of many layers does not feed.

    Args:
        solution: of recursions that read the last layer alone, at K* = 0.
    """
    told = tuple(a for a in solution.tensors if a.order == 0 or _is_told(a))
    others = tuple((a.name, _reason(a)) for a in solution.tensors if a not in told)
    assumptions = (*solution.assumptions, "noise of all depths counted")
    unsolved = (*solution.unsolved, *others)
    return replace(solution, tensors=told, assumptions=assumptions, unsolved=unsolved)


def inserted(
    solution: AsymptoticSolution, given: Mapping[sp.Symbol, sp.Expr]
) -> AsymptoticSolution:
    """A solution with numbers for symbols of learning rates."""
    settings = ((name, sp.sympify(x).subs(given)) for name, x in solution.hyperparameters)
    tensors = (a.at(given) for a in solution.tensors)
    return replace(solution, tensors=tuple(tensors), hyperparameters=tuple(settings))


def _scaled(coefficient: sp.Expr, factor: sp.Expr) -> sp.Expr:
    return sp.sympify(coefficient).subs(LAMBDA_W, factor * LAMBDA_W)


def _is_told(a: Asymptote) -> bool:
    """Whether noise that grows with the depth feeds a tensor, and not that of some layers alone."""
    return a.order == 1 and a.cutoff == "at"


def _reason(a: Asymptote) -> str:
    if a.order > 1:
        return (
            f"{a.name} is of order 1/n^{a.order}. With a skip its recursion is over several "
            "depths, which is worked out for those of order 1/n. Ask for these."
        )
    return (
        f"{a.name} is not fed by noise that has grown with the depth, but by the sources of each "
        "layer. With a skip these are over pairs of depths. `propagate` counts them."
    )


def with_ratio(a: Asymptote, coefficient: sp.Expr, known: Mapping[str, Asymptote]) -> Asymptote:
    """An asymptote with another coefficient, and its ratio to the K and Θ that are known."""
    K, ntk = known["G"].coefficient, known["H"].coefficient
    ratio = sp.factor(coefficient * K ** (a.edges - a.pairs) / ntk**a.edges)
    return replace(a, coefficient=coefficient, ratio_coefficient=ratio)


def _noise_ratio(maps: KernelMap, with_skip: CriticalPoint, without: CriticalPoint) -> sp.Expr:
    """What a layer with a skip adds to V, F and B at small K, over what a dense layer adds."""
    ratios = set()
    for name in NOISY:
        second = derive(name, layer=maps.layer, inputs="one", at=2).terms
        dense = [
            term
            for term in derive(name, inputs="one").terms
            if name not in [tensor.correlator.name for tensor in term.tensors]
        ]
        square = 1 / without.C_W  # of the slope at zero
        above = _source(second, {**dict(maps.values), maps.weight: with_skip.C_W}, square)
        ratios.add(sp.factor(above / _source(dense, {"C_W": without.C_W}, square)))
    if len(ratios) != 1:
        raise DerivationError(
            f"The layer {maps.layer} adds to V, F and B in different ratios {ratios}. They follow "
            "from one variance at small K. This is a fault of symdlt; report it."
        )
    return ratios.pop()


def _source(
    terms: Iterable[RecursionTerm], values: Mapping[str, sp.Expr], square: sp.Expr
) -> sp.Expr:
    """A source at K = Θ = 1 of an activation that is a line, with a slope of that square."""
    total = sp.Integer(0)
    for term in terms:
        number = sp.Rational(*term.coefficient.as_integer_ratio())
        for name, power in term.hyperparameters.named:
            number *= values.get(name, 1) ** power
        for bracket in term.brackets:
            number *= _of_line(bracket, square)
        total += number
    return total


def _of_line(bracket: Bracket, square: sp.Expr) -> sp.Expr:
    """A bracket of an activation that is a line; z itself has the slope 1."""
    orders = [order for _, order in bracket.factors]
    if max(orders) > 1:
        return sp.Integer(0)
    slopes, fields = sum(order != FIELD for order in orders), sum(order < 1 for order in orders)
    odd = fields % 2
    return 0 if odd else square ** sp.Rational(slopes, 2) * double_factorial(fields - 1)
