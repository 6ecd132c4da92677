"""Segments of the real line on which Gauss's rule gives the digits asked for, and panels of few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from math import ceil, inf, log, log2, log10, sqrt
from typing import NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation
from symdlt.activations.series import derivatives
from symdlt.activations.smooth_pieces import SmoothPiece, smooth_pieces
from symdlt.errors import ActivationError, SolutionError
from symdlt.means.grids import Array
from symdlt.means.precise.discs import ARRAYS, Discs
from symdlt.means.precise.lengths import lengths
from symdlt.precision import Precise, mp

Indices = NDArray[np.intp]

# Digits of floating point, of which sums lose one.
DOUBLE = 15
# Digits beyond those asked for, which sums of thousands of terms may lose.
GUARD = 3
# Radii of the discs over half the segment inside: the wide ones see entire functions, the narrow
# ones reach between poles. Each node of Gauss's rule gains 2 log10(q + sqrt(q^2 - 1)) digits.
RATIOS = (2.0, 4.0)
# Digits that the narrow disc leaves for the size of the function; more nodes, fewer segments.
SLACK = 6
# Half of a segment over sqrt(K): the Gaussian varies on its disc by exp(3) at most. With more
# digits it may vary by as many more, and it does by exp(2 width^2).
WIDEST = 1.2
# A bound on the work; smooth activations take tens.
MOST_SEGMENTS = 16_000
# Of halving: a segment has then come down from the largest number of floating point to the least.
MOST_LEVELS = 400
# Standard deviations at which a Gaussian is less than the least double.
UNDERFLOW = 60.0
# Places at which the size is sampled, as multiples of the reach of a Gaussian: it decides how far
# to go for functions that grow, up to 36 times as far.
SAMPLES = 1.25 ** np.arange(-40, 17)


class MeanError(SolutionError):
    """A Gaussian mean that diverges, or that takes too many nodes."""


class Segment(NamedTuple):
    """A part of the real line on which Gauss's rule gives the digits asked for."""

    left: float | sp.Expr
    right: float | sp.Expr
    piece: SmoothPiece


def nodes_per_segment(digits: int) -> int:
    """The nodes of Gauss's rule that give the digits on a segment of the narrow disc."""
    return ceil((digits + GUARD + SLACK) / _digits_per_node(RATIOS[0]))


def _digits_per_node(ratio: float) -> float:
    return 2 * log10(ratio + sqrt(ratio * ratio - 1))


def segments(
    pieces: Sequence[SmoothPiece],
    variances: tuple[float, float],
    digits: int,
    widest: float | None = None,
) -> list[Segment]:
    """Segments of the real line, for Gaussians between two variances.

    Args:
        pieces: of the activation.
        variances: the lowest and the highest K.
        digits: how many the means should have.
        widest: half of the longest one, over the square root of the lowest K; by the digits if
            it is left out.

    Raises:
        MeanError: if the activation outgrows the Gaussian, or there are too many.
    """
    low, high = (sqrt(K) for K in variances)
    with np.errstate(all="ignore"):
        half = low * (widest or WIDEST * sqrt(max(1, digits / DOUBLE)))
        left, right, owner = _first_segments(pieces, _reach(pieces, high, digits), half)
        smallest = min(low, lengths(pieces)[0]) * 10.0 ** -(digits + GUARD)
        slack = [_digits_per_node(q) * nodes_per_segment(digits) - digits - GUARD for q in RATIOS]
        kept, largest = [], 0.0
        for _ in range(MOST_LEVELS):
            nearest = np.where(left * right < 0, 0, np.minimum(abs(left), abs(right)))
            bell = np.exp(-((nearest / high) ** 2) / 4)
            spread, varies = _variation(pieces, left, right, owner)
            largest = max(largest, float(np.max(varies * bell, initial=0)))
            within = np.zeros(len(left), dtype=bool)
            for radius, digits_left in zip(spread, slack, strict=True):
                within |= radius * bell <= largest * 10.0 ** (digits_left / 2)
            width = right - left
            within |= width < np.maximum(smallest, 1e-15 * np.maximum(abs(left), abs(right)))
            kept.append((left[within], right[within], owner[within]))
            left, right, owner = left[~within], right[~within], owner[~within]
            if not len(left):
                break
            if sum(len(k[0]) for k in kept) + 2 * len(left) > MOST_SEGMENTS:
                raise MeanError(
                    f"The Gaussian means at K = {variances[0]:.6g} take too many nodes. "
                    "The activation oscillates too fast there, or has a pole on the real axis. "
                    "Give a smoother activation, or a smaller range of K."
                )
            middle = left + (right - left) / 2
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
            owner = np.concatenate([owner, owner])
        kept.append((left, right, owner))
    ends = {float(piece.start): piece.start for piece in pieces[1:]}
    parts = sorted(
        zip(*(np.concatenate(part).tolist() for part in zip(*kept, strict=True)), strict=True)
    )
    return [Segment(ends.get(a, a), ends.get(b, b), pieces[int(k)]) for a, b, k in parts]


def _first_segments(
    pieces: Sequence[SmoothPiece], reach: float, half: float
) -> tuple[Array, Array, Indices]:
    """Equal parts between zero, the kinks and the ends."""
    kinks = [float(piece.start) for piece in pieces[1:]]
    cuts = sorted({-reach, 0.0, reach, *(place for place in kinks if abs(place) < reach)})
    places = [np.linspace(a, b, 1 + max(1, ceil((b - a) / (2 * half)))) for a, b in pairwise(cuts)]
    left = np.concatenate([part[:-1] for part in places])
    right = np.concatenate([part[1:] for part in places])
    return left, right, np.searchsorted(kinks, (left + right) / 2)


# The function and its slope for arrays, whatever derivatives the values of a piece are.
_bounded = lru_cache(maxsize=64)(lambda node: derivatives(node, 1))


def _variation(
    pieces: Sequence[SmoothPiece], left: Array, right: Array, owner: Indices
) -> tuple[Array, Array]:
    """How far the function may vary on discs about segments, and by how much it does on them."""
    spread = np.full((len(RATIOS), len(left)), inf)
    varies = np.zeros(len(left))
    centre, half = left + (right - left) / 2, (right - left) / 2
    with mp.using(ARRAYS):
        for k, piece in enumerate(pieces):
            mine = owner == k
            if not mine.any():
                continue
            function = _bounded(piece.node)
            c, h = centre[mine], half[mine]
            places = c + np.multiply.outer((-0.9, 0.1, 0.9), h)
            size = h * np.max(np.abs(broadcast(function(places)[1], places)), axis=0)
            varies[mine] = np.where(np.isfinite(size), size, 0)
            wide = np.multiply.outer(RATIOS, h)
            disc = function(Discs(np.broadcast_to(c + 0j, wide.shape), wide))[0]
            spread[:, mine] = disc.radius if isinstance(disc, Discs) else 0
    return spread, varies


def _reach(pieces: Sequence[SmoothPiece], root: float, digits: int) -> float:
    """How far from zero a Gaussian's means still gather digits, for its standard deviation."""
    reach = root * sqrt(2 * log(10) * (digits + GUARD))
    kinks = np.array([float(piece.start) for piece in pieces[1:] if piece.start])
    steps = [s * step for s in (1, -1) for step in (root**2 / abs(kinks), root)]
    span = float(np.max(abs(kinks), initial=reach))
    places = np.concatenate([reach * SAMPLES, span * SAMPLES])
    z = np.concatenate([-places, places, *(kinks + step for step in steps)])
    sizes = log_sizes(pieces, z) - (z / root) ** 2 / 4 + np.log(abs(z / root) + 1)
    largest = np.max(sizes, initial=-inf)
    beyond = abs(z)[sizes > largest - log(10) * (digits + GUARD) / 2]
    needed = max(reach, float(np.max(beyond, initial=0)) * 1.25)
    if needed > span * SAMPLES[-1]:
        raise MeanError(
            f"The Gaussian means of the activation diverge at K = {root**2:.6g}. "
            "The activation grows too fast for a Gaussian of that variance. "
            "Give one that grows slower, or a smaller range of K."
        )
    return min(needed, max(reach * float(SAMPLES[-1]), root * UNDERFLOW))


def log_sizes(pieces: Sequence[SmoothPiece], z: Array) -> Array:
    """The logarithm of |σ|, also where it is too large for a floating-point number."""
    owner = np.searchsorted([float(piece.start) for piece in pieces[1:]], z)
    logarithms = np.full(len(z), -inf)
    for k, piece in enumerate(pieces):
        mine = np.flatnonzero(owner == k)
        with mp.using(ARRAYS):
            sizes = abs(broadcast(_bounded(piece.node)(z[mine])[0], z[mine]))
        logarithms[mine] = np.log(sizes)
        for place in mine[~np.isfinite(sizes)]:
            value = checked(piece, mp.mpf(float(z[place])))[0]
            logarithms[place] = float(mp.log(abs(value))) if value else -inf
    return logarithms


def broadcast(value: ArrayLike, like: Array) -> Array:
    """What a function gave at an array, also where it is a constant."""
    return np.array(np.broadcast_to(value, like.shape), dtype=float)


def checked(piece: SmoothPiece, z: Precise) -> tuple[Precise, ...]:
    """The values of a piece, which must be real and finite."""
    try:
        values = piece.values(z)
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        values = (mp.nan,)
    real = mp.mpf
    if all(type(v) is int or (type(v) is real and _is_finite(v)) for v in values):
        return values
    raise ActivationError(
        f"The activation or its slope is not real and finite at z = {mp.nstr(z, 6)}. "
        "Gaussian means need it on the whole real axis. Give a function that is finite there."
    )


def _is_finite(value: Precise) -> bool:
    """Whether a number of mpmath is: of infinity and nan the mantissa is 0, the exponent not."""
    _, mantissa, exponent, _ = value._mpf_
    return bool(mantissa or not exponent)


def ends_of(activation: Activation) -> Callable[[float], Array | None]:
    """What gives, for a standard deviation or a little more, the ends of panels, or None.

    Gauss's rule is right on each of them by disc arithmetic, so that they are short where the
    function varies fast, wherever that is. None says that there are too many, or that the text
    tells nothing of the kind. Functions that have it as their attribute `ends` are known by it.

    >>> from symdlt.activations import activation
    >>> ends = ends_of(activation("tanh(z) + exp(-10**6*(z - 3/10)**2)"))(0.8)
    >>> widths = np.diff(ends)
    >>> bool(0.28 < ends[widths.argmin()] < 0.32), bool(widths.min() < 3e-3)
    (True, True)
    """
    return partial(_ends, activation)


def _ends(activation: Activation, root: float) -> Array | None:
    return _kept_ends(activation, ceil(2.0 * log2(root)))


@lru_cache(maxsize=256)
def _kept_ends(activation: Activation, level: int) -> Array | None:
    """Those at a variance of two to the power of a level."""
    variance = 2.0**level
    try:
        laid = segments(smooth_pieces(activation), (variance, variance), DOUBLE)
    except (MeanError, ActivationError):
        return None
    return np.array([*(float(one.left) for one in laid), float(laid[-1].right)])
