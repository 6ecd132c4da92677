r"""The line in the plane of $C_W$ and $C_b$ on which near inputs neither meet nor part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.smooth_pieces import SmoothPiece, straight_slopes
from symdlt.definitions import DENSE, Layer
from symdlt.display import ShownAsText
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import (
    check_bias,
    check_digits,
    continuous_pieces,
    maps_of,
    variance_of,
)
from symdlt.fixed_points.fixed_kernels import ABOVE, BELOW, TOUCHING
from symdlt.fixed_points.kernel_curve import (
    Errors,
    KernelCurve,
    computed_twice,
    crossings,
    numbers_of,
    solved,
)
from symdlt.fixed_points.kernel_map import KernelMap, KernelNumbers
from symdlt.fixed_points.number_text import shown, text
from symdlt.fixed_points.origin import origin_of
from symdlt.fixed_points.phase_result import depth_scale
from symdlt.fixed_points.phases import DIGITS, FEWEST_DIGITS
from symdlt.precision import AnyPrecision, NumberLike, Precise, mp, number

NUMBERS = ("C_b", "C_W", "K", "chi_parallel")


@dataclass(frozen=True, slots=True)
class LinePoint(ShownAsText):
    r"""A fixed point of the kernel with $\chi_\perp = 1$.

    Attributes:
        C_b: the variance of the biases.
        C_W: the variance of the weights, times the width.
        K: the fixed point.
        chi_parallel: what multiplies a small $K - K^*$ from layer to layer.
        errors: names and errors of the numbers that are not exact, from eight more digits.
        falls: whether small kernels shrink at K = 0, where chi_parallel is 1.
    """

    C_b: sp.Expr
    C_W: sp.Expr
    K: sp.Expr
    chi_parallel: sp.Expr
    errors: Errors = ()
    falls: bool = False

    @property
    def stable(self) -> bool:
        """Whether kernels near K come to it."""
        return self.falls or bool(abs(self.chi_parallel) < 1)

    @property
    def xi_parallel(self) -> sp.Expr:
        r"""The depth $1/|\log|\chi_\parallel||$ over which they do."""
        return depth_scale(self.chi_parallel)

    def __str__(self) -> str:
        kind = "stable" if self.stable else "not stable"
        numbers = (f"{name} = {shown(getattr(self, name))}" for name in NUMBERS)
        return f"{', '.join(numbers)}, {kind}"

    def to_dict(self) -> dict[str, Any]:
        """The numbers as text."""
        return {
            **{name: text(getattr(self, name)) for name in (*NUMBERS, "xi_parallel")},
            "stable": self.stable,
            "errors": {name: text(error) for name, error in self.errors},
        }


def critical_line(
    activation: ActivationLike,
    C_b: NumberLike,
    *,
    layer: Layer | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
    digits: int = DIGITS,
) -> tuple[LinePoint, ...]:
    r"""The $C_W$ at which $\chi_\perp = 1$ for a given $C_b$, with the kernels there.

    On the line $C_W \langle\sigma'\sigma'\rangle_K = 1$ and
    $K = C_b + C_W \langle\sigma\sigma\rangle_K$. On one side of it networks are ordered, on the
    other chaotic; a single point of it may have $\chi_\parallel = 1$ as well, see `criticality`.

    Args:
        activation: a name such as "tanh", or an expression in z as text or from SymPy.
        C_b: the variance of the biases.
        layer: how a layer is made of the one below, as in `criticality`.
        values: numbers for its symbols that are not solved for, such as {"xi": 0.8}.
        digits: how many digits of what is not exact, at least 6.

    Returns:
        All points with that C_b, by ascending K; none if every network is on one side.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite somewhere.
        LayerError: if the layer cannot be read, or its recursions do not close.
        SolutionError: if its Gaussian means diverge, or it jumps, or is scale-invariant.

    >>> (point,) = critical_line("tanh", 0.05, digits=8)
    >>> point.C_W, point.K, point.stable
    (1.7609546, 0.57004788, True)
    >>> critical_line("tanh", 0)[0].C_W
    1
    """
    check_digits(digits, FEWEST_DIGITS)
    bias = variance_of(C_b, "C_b")
    read = read_activation(activation)
    pieces = continuous_pieces(read)
    if straight_slopes(pieces) is not None:
        raise SolutionError(
            f"{read.name[:60]!r} is scale-invariant, so that chi_perp is 1 at one C_W for all K, "
            "where only C_b = 0 keeps a kernel. Its critical line is that point. "
            "Use `criticality`, which gives it."
        )
    maps = maps_of(layer, values)
    check_bias(maps, bias)
    curve = KernelCurve(pieces, maps)
    low, high = curve.scales
    grid, _ = curve.grid(max(low * BELOW, float(bias) / 2), max(high * ABOVE, float(bias) * 10))

    def excess(K: float) -> float:
        at = curve.at(K)
        rest = K - at.next_kernel(float(bias), 0.0)
        return float((rest * at.d - (1 - at.moved[0]) * at.g) / K)  # d/K times K - K'; no division

    points = [
        _point(pieces, root, bias, digits, maps) for root in crossings(excess, grid, TOUCHING)
    ]
    return tuple([*_at_zero(pieces, maps, curve, grid), *points] if bias == 0 else points)


def _at_zero(
    pieces: tuple[SmoothPiece, ...], maps: KernelMap, curve: KernelCurve, grid: Sequence[float]
) -> list[LinePoint]:
    origin, zero = origin_of(pieces, maps), sp.Integer(0)
    if isinstance(origin, str):
        return []
    falls = origin.falls((K, curve.at(K)) for K in grid)
    return [LinePoint(zero, origin.C_W, zero, sp.Integer(1), falls=bool(falls))]


def _point(
    pieces: tuple[SmoothPiece, ...], rough: float, bias: sp.Expr, digits: int, maps: KernelMap
) -> LinePoint:
    def compute(near: AnyPrecision, working: int) -> dict[str, Precise]:
        with mp.workdps(working):
            C_b = number(bias)

        def step(K: Precise, at: KernelNumbers) -> Precise:
            # Newton's iteration for K' = K with the critical weight, which moves with K.
            weight = at.critical_weight
            moved = -(at.moved[1] + weight * at.d_1) / at.d
            slope = 1 - at.kept[1] - at.g_1 * weight - at.g * moved
            return (at.next_kernel(C_b, weight) - K) / slope

        K, at = solved(numbers_of(pieces, maps, working), near, working, step)
        with mp.workdps(working):
            C_W = at.critical_weight
            return {"C_W": C_W, "K": K, "chi_parallel": at.chi_parallel(C_W)}

    numbers, errors = computed_twice(compute, rough, digits)
    return LinePoint(bias, **numbers, errors=errors)
