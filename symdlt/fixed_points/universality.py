"""From an activation to its universality class and its critical hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from reprlib import repr as short_repr

from symdlt.activations import Activation
from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.smooth_pieces import SmoothPiece, straight_slopes
from symdlt.definitions import (
    DENSE,
    Layer,
    Stack,
    at_uniform_input,
    read_layer_definition,
    windows_in,
)
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import check_digits, finite_pieces, is_range, maps_of
from symdlt.fixed_points.critical_points import (
    HALF_STABLE,
    NONE,
    SCALE_INVARIANT,
    ZERO,
    Criticality,
    CriticalPoint,
)
from symdlt.fixed_points.kernel_curve import KernelCurve, numbers_of
from symdlt.fixed_points.kernel_map import KernelMap
from symdlt.fixed_points.number_text import short
from symdlt.fixed_points.origin import Origin, origin_of
from symdlt.fixed_points.position_modes import mode_sentences
from symdlt.fixed_points.scan import Scan, points_beyond
from symdlt.fixed_points.stack_criticality import stack_criticality
from symdlt.precision import NumberLike

# A convention; `arguments.MOST_DIGITS` is the most.
DIGITS = 30
# Squares of what floating point holds with room for sums.
LOWEST, HIGHEST = 1e-200, 1e200


def criticality(
    activation: ActivationLike,
    *,
    layer: Layer | Stack | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
    digits: int = DIGITS,
    search: Sequence[float] | None = None,
) -> Criticality:
    r"""Whether a network can be critical, and at which $C_b$ and $C_W$.

    At a critical point the kernel is fixed, $K^* = C_b + C_W \langle\sigma\sigma\rangle_{K^*}$, and
    both susceptibilities are 1. The maps are those of the recursions of G and H, of any layer; the
    class follows from the activation.

    Args:
        activation: a name such as "gelu", or an expression in z as text or from SymPy.
        layer: how a layer is made of the one below, as a `Layer`, a `Stack` that is a chain of
            steps, or in its short form. What is solved for are the symbol of the constant in its
            kernel map and that of the weights that read the activation; of a chain of steps one
            variance of weights, and where K* > 0 that of the biases of z'. Circular windows, as in
            "z' = b + W[3] s(z)", are those of an input that is the same at all positions.
        values: numbers for all its other symbols, such as {"C_U": 0.25}.
        digits: how many digits of what is not exact.
        search: the lowest and the highest K between which points with K* > 0 are sought; if it
            is not given, ten thousand times beyond the scales in the text of the activation. Of
            chains of steps they are sought if it is, or if K* = 0 is no point.

    Returns:
        The class, all points found, and the reason if there is none.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite at zero or elsewhere.
        LayerError: if the layer cannot be read, or its recursions do not close.
        SolutionError: if its Gaussian means diverge, or the digits or the range are unusable, or
            values of the layer are missing.

    >>> gelu = criticality("gelu", digits=12)
    >>> gelu.universality, gelu.points[0].K, gelu.points[0].C_b, gelu.points[0].C_W
    ('half-stable', 3.56155281281, 0.172922390756, 1.98305825744)
    >>> criticality("tanh").points[0].a_1
    -2
    >>> criticality("tanh", layer="z' = W s(z) + U z", values={"C_U": 0.25}).points[0].C_W
    3/4
    >>> block = "h = U s(z); z' = xi z + W s(h)"
    >>> criticality("tanh", layer=block, values={"xi": 0.5, "C_U": 3}).points[0].C_W
    1/4
    """
    check_digits(digits)
    _check_search(search)
    ends = None if search is None else (float(search[0]), float(search[1]))
    read = read_activation(activation)
    written = read_layer_definition(layer)
    if isinstance(written, Stack) and windows_in(written):
        plain = at_uniform_input(written)
        answer = criticality(read, layer=plain, values=values, digits=digits, search=search)
        told = tuple(mode_sentences(written, values)) if answer.critical else ()
        return replace(answer, layer=written, reasons=(*answer.reasons, *told))
    if isinstance(written, Stack):
        return stack_criticality(read, written, values, digits, ends)
    return _of_one_stream(read, maps_of(written, values), ends, digits)


@lru_cache(maxsize=64)  # exponents, recipes and nearby inputs of an activation ask for it again
def _of_one_stream(
    read: Activation, maps: KernelMap, ends: tuple[float, float] | None, digits: int
) -> Criticality:
    pieces = finite_pieces(read)
    early = _without_scan(read, pieces, maps)
    if early is not None:
        return Criticality(read.name, *early, None, digits, maps.layer)
    origin = origin_of(pieces, maps)
    nowhere, symbols = isinstance(origin, str), (maps.bias, maps.weight)
    numbers_to = partial(numbers_of, pieces, maps)
    beyond = points_beyond(
        KernelCurve(pieces, maps), numbers_to, symbols, ends, digits, alone=nowhere
    )
    scanned, usable = beyond.scanned, beyond.points
    at_zero = [] if isinstance(origin, str) else [_point_at_zero(origin, scanned, maps)]
    reasons = [f"{origin}."] if nowhere else []
    reasons += beyond.refused
    reasons += [_unstable(point) for point in at_zero if point.stability == "unstable"]
    reasons += beyond.about
    stable = [point for point in at_zero if point.stability == "stable"]
    universality = ZERO if stable else HALF_STABLE if usable else NONE
    points = (*stable, *usable, *(point for point in at_zero if point not in stable))
    return Criticality(
        read.name, universality, points, tuple(reasons), scanned.range, digits, maps.layer
    )


def _check_search(search: object) -> None:
    if search is not None and not is_range(search, LOWEST, HIGHEST):
        raise SolutionError(
            f"{short_repr(search)} is not a range of K. It stands as search in the call. "
            f"Give the lowest and the highest K, from {LOWEST} to {HIGHEST}, such as (0.001, 1000)."
        )


def _without_scan(
    activation: Activation, pieces: tuple[SmoothPiece, ...], maps: KernelMap
) -> tuple[str, tuple[CriticalPoint, ...], tuple[str, ...]] | None:
    """What is decided by the form of the activation alone."""
    jumps = activation.kinks(0) if len(pieces) > 1 else ()
    if jumps:
        place, step = short(jumps[0].position), short(jumps[0].jumps[0])
        reason = (
            f"The activation jumps by {step} at z = {place}, so that <sigma' sigma'> diverges. "
            f"No {maps.weight} then makes chi_perp 1."
        )
        return NONE, (), (reason,)
    if all(piece.constant for piece in pieces):
        reason = f"The activation is constant. chi_perp is then 0 for every {maps.weight}."
        return NONE, (), (reason,)
    if straight_slopes(pieces) is not None:
        origin = origin_of(pieces, maps)
        if isinstance(origin, str):
            return NONE, (), (f"{origin}.",)
        return SCALE_INVARIANT, (origin.point("neutral", (maps.bias, maps.weight)),), ()
    return None


def _point_at_zero(origin: Origin, scanned: Scan, maps: KernelMap) -> CriticalPoint:
    falling = origin.falls(scanned.grid)
    stability = "undecided" if falling is None else "stable" if falling else "unstable"
    return origin.point(stability, (maps.bias, maps.weight))


def _unstable(point: CriticalPoint) -> str:
    return (
        f"The fixed point K* = 0 is unstable: a_1 = {short(point.a_1)} is positive, and a small "
        "kernel grows away from it."
    )
