r"""The depth over width at which outputs know most of each other, to third order in L/n.

Given all layers below, the outputs $z_1 \ldots z_N$ of a network for one input that ends in a
dense layer are independent Gaussians with one variance S, which fluctuates:
$S = \langle S\rangle(1+s)$, $\langle s^2\rangle = v = V/(nK^2)$. With
$t = \sum_i z_i^2/\langle S\rangle$ their density over that of independent Gaussians is

$$f_N = \Bigl\langle (1+s)^{-N/2} \exp\frac{t\,s}{2(1+s)} \Bigr\rangle
  = 1 + v\,\ell_2(t) + O(v^2)$$

What is left out is orthogonal to $\ell_2$: a polynomial of Laguerre for each power of s. So the
relative entropy $D_N = \langle f\log f\rangle$ is, whatever the law of s,

$$D_N = \tfrac12 v^2 \langle\ell_2^2\rangle_N - \tfrac16 v^3 \langle\ell_2^3\rangle_N + O(v^4)$$

over the $\chi^2_N$ law of t, and the mutual information of two groups of outputs is
$I = D_{A+B} - D_A - D_B$ (PDLT, appendix A). Its second order grows with v, its third falls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod
from numbers import Integral
from reprlib import repr as short_repr
from typing import Any

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.asymptotics.critical_exponents import exponents
from symdlt.asymptotics.skip_growth import skip_growth
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.asymptotics.stack_skips import v_of_last_layer
from symdlt.asymptotics.tables import short_text
from symdlt.definitions import DENSE, Layer, Stack, is_chain, read_layer_definition, windows_in
from symdlt.display import ShownAsText
from symdlt.errors import SolutionError
from symdlt.fixed_points import criticality
from symdlt.fixed_points.critical_points import HALF_STABLE
from symdlt.fixed_points.products import polynomial_product
from symdlt.fixed_points.stack_maps import stack_map
from symdlt.precision import NumberLike


@dataclass(frozen=True, slots=True)
class AspectRatio(ShownAsText):
    r"""The depth over width at which the mutual information of outputs is largest.

    Attributes:
        activation: as it was given.
        layer: how a layer is made of the one below; the last one is dense.
        values: of its symbols.
        outputs: how many there are.
        growth: ν in $V/(nK^2) \to \nu\,\ell/n$.
        last_layer: ν of the recursion that reads the last layer alone; the same without a skip.
        spread: the $V/(nK^2)$ at which the mutual information is largest.
    """

    activation: str
    layer: Layer | Stack
    values: tuple[tuple[str, sp.Expr], ...]
    outputs: int
    growth: sp.Expr
    last_layer: sp.Expr
    spread: sp.Expr

    @property
    def ratio(self) -> sp.Expr:
        """r* = L/n."""
        return self.spread / self.growth

    @property
    def truncated_ratio(self) -> sp.Expr:
        """What r* would be if each layer met the noise of the layer below alone."""
        return self.spread / self.last_layer

    def __str__(self) -> str:
        numbers = "".join(f", {name} = {float(value):.10g}" for name, value in self.values)
        lines = [
            f"{self.activation}, {self.layer}{numbers}, {self.outputs} outputs",
            f"  V/(n K^2) -> {_shown(self.growth)} L/n, and is to be {self.spread}",
            f"  r* = L/n = {_shown(self.ratio)}",
        ]
        if windows_in(self.layer):
            lines[0] += ", at inputs that are the same at all positions"
        if self.last_layer != self.growth:
            lines.append(f"  of the last layer alone {_shown(self.truncated_ratio)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, numbers and text."""
        names = ("growth", "last_layer", "spread", "ratio", "truncated_ratio")
        return {
            "activation": self.activation,
            "layer": str(self.layer),
            "values": {name: str(value) for name, value in self.values},
            "outputs": self.outputs,
            **{name: str(getattr(self, name)) for name in names},
        }


def _shown(number: sp.Expr) -> str:
    """A number to six digits, or a formula in the widths of a block."""
    return short_text(number) if number.free_symbols else f"{float(number):.6g}"


def optimal_aspect_ratio(
    activation: ActivationLike,
    outputs: int = 2,
    *,
    layer: Layer | Stack | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
) -> AspectRatio:
    r"""The r* = L/n at which the mutual information of outputs is largest, to order $(L/n)^3$.

    Wide networks have independent outputs; deep ones fluctuate so much that the third order wins.
    Networks are critical, as `recipe` starts them, of L layers of one width n, and end in a dense
    layer. With a skip V is that of noise at all depths.

    Args:
        activation: a name, or an expression in z as text or from SymPy.
        outputs: how many, at least 2. How they are divided into two groups does not matter.
        layer: the dense one, one of one weight with a skip, or a chain of steps, of which r* has
            the widths n and, of the field h, n_h.
        values: numbers for its other symbols, such as {"xi": 0.8}.

    Raises:
        ActivationError: if the activation cannot be read.
        LayerError: if the layer cannot be read.
        SolutionError: without a critical point, or a V that grows as the depth; or for a number of
            outputs that is none.

    >>> optimal_aspect_ratio("tanh").ratio, optimal_aspect_ratio("relu").ratio
    (3/13, 2/65)
    >>> skip = optimal_aspect_ratio("relu", layer="z' = xi z + b + W s(z)", values={"xi": 0.9})
    >>> round(float(skip.ratio), 4), round(float(skip.truncated_ratio), 4)
    (0.0607, 0.1932)
    >>> optimal_aspect_ratio("tanh", layer="h = U s(z); z' = W s(h)", values={"C_U": 1}).ratio
    3*n_h/(13*(n + n_h))
    """
    if isinstance(outputs, bool) or not isinstance(outputs, Integral) or outputs < 2:
        raise SolutionError(
            f"{short_repr(outputs)} is no number of outputs. Mutual information is that of two "
            "groups of them. Give a whole number of at least 2."
        )
    solution = _solution(activation, layer, values)
    V = solution["V"]
    if V.ratio_power != 1 or V.log_power:
        raise SolutionError(
            f"V/(n K^2) of {solution.activation[:60]!r} grows as l^({V.ratio_power}), not as the "
            "depth, so that no r* = L/n is best for all widths. Use `propagate` for V."
        )
    growth = last = V.ratio_coefficient
    known: tuple[tuple[str, sp.Expr], ...] = ()
    if solution.layer != DENSE:
        names = {str(name) for name in values or {}}
        known = tuple((name, x) for name, x in solution.values if name in names)
        if solution["G"].exponent == 0 and not _forgets(solution.layer):
            last = _of_last_layer(activation, solution.layer, values)
    written = read_layer_definition(layer)
    second, third = mutual_information(1, int(outputs) - 1)
    best = -2 * second / (3 * third)
    return AspectRatio(
        solution.activation,
        written if windows_in(written) else solution.layer,
        known,
        int(outputs),
        growth,
        last,
        sp.Rational(best.numerator, best.denominator),
    )


def _solution(
    activation: ActivationLike, layer: Layer | Stack | str, values: Mapping[str, NumberLike] | None
) -> AsymptoticSolution:
    """The asymptotics of V where `recipe` starts: at K* > 0 if there is such a point."""
    starts = criticality(activation, layer=layer, values=values).universality == HALF_STABLE
    return exponents(activation, ["V"], layer=layer, values=values, at_fixed_point=starts)


def _forgets(layer: Layer | Stack) -> bool:
    """Whether no neuron is read again, so that V of the last layer is all of V."""
    return isinstance(layer, Stack) and is_chain(layer)


def _of_last_layer(
    activation: ActivationLike, layer: Layer | Stack, values: Mapping[str, NumberLike] | None
) -> sp.Expr:
    """The growth of V where the kernel stays, if each layer met that of the layer below alone."""
    if isinstance(layer, Layer):
        return skip_growth(activation, layer, values).last_layer
    maps = stack_map(read_activation(activation), layer, values)
    assert maps.straight is not None  # as every kernel stays
    return v_of_last_layer(maps, maps.straight).ratio_coefficient


def mutual_information(first: int, second: int) -> tuple[Fraction, Fraction]:
    r"""The numbers of $v^2$ and $v^3$ in the mutual information of two groups of outputs.

    Args:
        first: how many outputs are in one group.
        second: how many are in the other.

    >>> mutual_information(1, 1)
    (Fraction(1, 8), Fraction(-13, 24))
    """
    whole, *parts = (_relative_entropy(N) for N in (first + second, first, second))
    two, three = (a - sum(others) for a, *others in zip(whole, *parts, strict=True))
    return two, three


def _relative_entropy(outputs: int) -> tuple[Fraction, Fraction]:
    """The numbers of v² and v³ in the relative entropy of outputs and independent ones."""
    # Of s² in exp(ts/2(1+s)) (1+s)^(-N/2): t^j/(2^j j!) times that in s^j (1+s)^(-N/2-j).
    wave = tuple(
        Fraction(1, 2**j * factorial(j)) * _binomial(-Fraction(outputs, 2) - j, 2 - j)
        for j in range(3)
    )
    square = polynomial_product(wave, wave)
    cube = polynomial_product(square, wave)
    return _mean(square, outputs) / 2, -_mean(cube, outputs) / 6


def _binomial(power: Fraction, k: int) -> Fraction:
    """The number of s^k in (1+s)^power."""
    return prod((power - i for i in range(k)), start=Fraction(1)) / factorial(k)


def _mean(polynomial: tuple[Fraction, ...], outputs: int) -> Fraction:
    """A polynomial in t over its law: E t^k = N (N + 2) … (N + 2k - 2)."""
    total, moment = Fraction(0), Fraction(1)
    for k, coefficient in enumerate(polynomial):
        total += coefficient * moment
        moment *= outputs + 2 * k
    return total
