"""Gaussian means of products of derivatives of an activation, to any number of digits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, inf, log, log2, log10, pi, prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from symdlt.activations.series import derivatives
from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.errors import ActivationError, SolutionError
from symdlt.means.precise.discs import ARRAYS, Discs
from symdlt.means.precise.lengths import lengths
from symdlt.precision import mp, number

Array = Any
Rule = tuple[Any, Any, Any]

DOUBLE = 15
POWERS = 3
GUARD = 3
# Radii of the discs over half the segment inside: the wide ones see entire functions, the narrow
# ones reach between poles. Each node of Gauss's rule gains 2 log10(q + sqrt(q^2 - 1)) digits.
RATIOS = (2.0, 4.0)
# Digits that the narrow disc leaves for the size of the function; more nodes, fewer segments.
SLACK = 6
# Half of a segment over sqrt(K): the Gaussian itself varies there by exp(6) at most.
WIDEST = 1.2
# Newton's iteration starts from nine digits, so that one rule serves all its steps.
NEAR = 1e-6
# Where terms of the activation may cancel, so many values are compared with those to more digits.
NEAR_ZERO, SAMPLED, LOSS = 1 / 32, 8, 1e-13
MOST_SEGMENTS = 16_000
MOST_LEVELS = 400
# Places at which the size is sampled, as powers of the reach of a Gaussian: it decides how far to
# go for functions that grow, up to 38 times as far.
# Standard deviations at which a Gaussian is less than the least double.
UNDERFLOW = 60.0
SAMPLES = 1.25 ** np.arange(-40, 17)


class MeanError(SolutionError):
    """A Gaussian mean that diverges, or that takes too many nodes."""


class Segment(NamedTuple):
    """A part of the real line on which Gauss's rule gives the digits asked for."""

    left: Any
    right: Any
    piece: SmoothPiece


class GaussianMeans:
    r"""The means $\langle \sigma^{(a)}\sigma^{(b)}\cdots (z^2/K)^n \rangle_K$ for n = 0, 1, 2, ….

    The real line is cut at the kinks and at zero, and halved until disc arithmetic shows that each
    segment is short enough. So the rule is laid by the text of the activation, whose scales may be
    far from that of the Gaussian. Values at the nodes serve K within a factor of four.

    Args:
        pieces: the smooth pieces of the activation.
        products: the orders of the derivatives in each product, such as (0, 0) and (1, 1).
        digits: how many digits to work with; with at most 15, in floating point.
        powers: how many powers of z²/K.

    >>> from math import exp
    >>> from symdlt.activations.smooth_pieces import smooth_pieces
    >>> from symdlt.activations import activation
    >>> means = GaussianMeans(smooth_pieces(activation("sin")), [(0, 0)], 15)
    >>> [round(mean, 12) for mean in means(0.5)[0][:1]], round((1 - exp(-1)) / 2, 12)
    ([0.316060279414], 0.316060279414)
    """

    def __init__(
        self,
        pieces: Sequence[SmoothPiece],
        products: Sequence[tuple[int, ...]],
        digits: int,
        *,
        powers: int = POWERS,
    ) -> None:
        self.pieces, self.products = tuple(pieces), tuple(products)
        self.digits, self.powers = digits, powers
        self.double = digits <= DOUBLE
        self.rules: dict[Any, Any] = {}

    def __call__(self, K: Any) -> tuple[tuple[Any, ...], ...]:
        """For each product its means with the powers n of z²/K.

        Raises:
            MeanError: if a mean diverges, or takes too many nodes.
            ActivationError: if the activation is not real and finite somewhere.
        """
        with mp.workdps(self.digits + GUARD):
            rule = self._rule(float(K))
            found = self._in_doubles(K, *rule) if self.double else self._in_digits(K, *rule)
        if all(mp.isfinite(mean) for means in found for mean in means):
            return tuple(found)
        raise MeanError(
            f"The Gaussian means at K = {float(K):.6g} leave the range of floating point. "
            "The activation grows fast. Give a smaller range of K."
        )

    def _rule(self, K: float) -> Rule:
        """Nodes, their weights, and the values there: in doubles for all K from 4^n to 4^(n+1)."""
        place: Any = floor(log2(K) / 2)
        if self.double and place not in self.rules:
            try:
                self.rules[place] = self._laid(4.0**place, 4.0 ** (place + 1))
            except MeanError:  # near the highest K at which the means exist
                self.rules[place] = None
        if not self.double or self.rules[place] is None:
            near = (k for k in self.rules if isinstance(k, float) and abs(k / K - 1) < NEAR)
            place = next(near, K)
            if place not in self.rules:
                self.rules[place] = self._laid(K * (1 - NEAR), K * (1 + NEAR))
        rule: Rule = self.rules[place]
        return rule

    def _laid(self, low: float, high: float) -> Rule:
        laid = segments(self.pieces, (low, high), self.digits)
        z, weights, values = nodes(self.pieces, laid, self.digits)
        if self.double:
            return z, weights, values
        columns = [[prod(value[k] for k in orders) for value in values] for orders in self.products]
        return [x * x for x in z], weights, columns

    def _in_doubles(self, K: Any, z: Array, lengths: Array, values: Array) -> Any:
        root = sqrt(K)
        squares = (z / root) ** 2
        found = []
        with np.errstate(all="ignore"):
            for orders in self.products:
                bell = np.exp(-squares / (2 * len(orders)))
                terms = lengths / root / sqrt(2 * pi)
                for order in orders:
                    terms = terms * (values[order] * bell)
                found.append(tuple(float(np.sum(terms * squares**n)) for n in range(self.powers)))
        return tuple(found)

    def _in_digits(self, K: Any, squares: Any, lengths: list[Any], columns: Any) -> Any:
        norm, rate = mp.sqrt(2 * mp.pi * K), -1 / (2 * mp.mpf(K))
        weights = [[w * mp.exp(rate * y) for w, y in zip(lengths, squares, strict=True)]]
        for _ in range(1, self.powers):
            weights.append([w * y for w, y in zip(weights[-1], squares, strict=True)])
        return tuple(
            tuple(mp.fdot(column, w) / (norm * K**n) for n, w in enumerate(weights))
            for column in columns
        )


def nodes_per_segment(digits: int) -> int:
    """The nodes of Gauss's rule that give the digits on a segment of the narrow disc."""
    return ceil((digits + GUARD + SLACK) / _digits_per_node(RATIOS[0]))


def _digits_per_node(ratio: float) -> float:
    return 2 * log10(ratio + sqrt(ratio * ratio - 1))


def segments(
    pieces: Sequence[SmoothPiece],
    variances: tuple[float, float],
    digits: int,
    widest: float = WIDEST,
) -> list[Segment]:
    """Segments of the real line, for Gaussians between two variances.

    Args:
        pieces: of the activation.
        variances: the lowest and the highest K.
        digits: how many the means should have.
        widest: half of the longest one, over the square root of the lowest K.

    Raises:
        MeanError: if the activation outgrows the Gaussian, or there are too many.
    """
    low, high = (sqrt(K) for K in variances)
    with np.errstate(all="ignore"):
        left, right, owner = _first_segments(pieces, _reach(pieces, high, digits), low * widest)
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
) -> tuple[Array, Array, Array]:
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
    pieces: Sequence[SmoothPiece], left: Array, right: Array, owner: Array
) -> tuple[list[Array], Array]:
    """How far the function may vary on discs about segments, and by how much it does on them."""
    spread = [np.full(len(left), inf) for _ in RATIOS]
    varies = np.zeros(len(left))
    centre, half = left + (right - left) / 2, (right - left) / 2
    with mp.using(ARRAYS):
        for k, piece in enumerate(pieces):
            mine = owner == k
            if not mine.any():
                continue
            c, h = centre[mine], half[mine]
            slopes = [_broadcast(_bounded(piece.node)(c + x * h)[1], c) for x in (-0.9, 0.1, 0.9)]
            size = h * np.max(np.abs(slopes), axis=0)
            varies[mine] = np.where(np.isfinite(size), size, 0)
            for radius, ratio in zip(spread, RATIOS, strict=True):
                disc = _bounded(piece.node)(Discs(c + 0j, ratio * h))[0]
                radius[mine] = disc.radius if isinstance(disc, Discs) else 0
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
    found = np.full(len(z), -inf)
    for k, piece in enumerate(pieces):
        mine = np.flatnonzero(owner == k)
        with mp.using(ARRAYS):
            sizes = abs(_broadcast(_bounded(piece.node)(z[mine])[0], z[mine]))
        found[mine] = np.log(sizes)
        for place in mine[~np.isfinite(sizes)]:
            value = _checked(piece, mp.mpf(float(z[place])))[0]
            found[place] = float(mp.log(abs(value))) if value else -inf
    return found


def nodes(pieces: Sequence[SmoothPiece], laid: Sequence[Segment], digits: int) -> Rule:
    """Nodes, lengths that they stand for, and the activation and its derivatives there.

    With at most 15 digits these are arrays, otherwise lists, the last one of tuples.
    """
    count = nodes_per_segment(digits)
    if digits <= DOUBLE:
        return _array_nodes(laid, count, NEAR_ZERO * lengths(pieces)[0])
    places, weights_on_one = gauss_rule(count)
    z, weights, values = [], [], []
    for segment in laid:
        left, right = (_exactly(end) for end in segment[:2])
        middle, half = (left + right) / 2, (right - left) / 2
        here = [middle + half * x for x in places]
        z += here
        weights += [half * w for w in weights_on_one]
        values += [_checked(segment.piece, x) for x in here]
    return z, weights, values


def _array_nodes(laid: Sequence[Segment], count: int, near: float) -> tuple[Array, Array, Array]:
    places, lengths = np.polynomial.legendre.leggauss(count)
    ends = np.array([[float(segment.left), float(segment.right)] for segment in laid])
    half = (ends[:, 1] - ends[:, 0]) / 2
    z = (ends[:, 0] + half)[:, None] + half[:, None] * places
    values = np.empty((2, *z.shape))
    for piece in dict.fromkeys(segment.piece for segment in laid):
        mine = np.array([segment.piece is piece for segment in laid])
        here = z[mine]
        with mp.using(ARRAYS), np.errstate(all="ignore"):
            found = [_broadcast(value, here) for value in piece.values(here)]
        _mend(piece, here, found, near)
        values[:, mine] = found
    return z.ravel(), (half[:, None] * lengths).ravel(), values.reshape(2, -1)


def _mend(piece: SmoothPiece, z: Array, found: list[Array], near: float) -> None:
    """Values that are out of range or lost digits, as exp(z) - 1 does near zero, from mpmath."""
    close = np.argwhere((abs(z) < near) & (z != 0))
    lost = np.argwhere(~np.isfinite(found[0]) | ~np.isfinite(found[1])).tolist()
    for rest in (close[:: max(1, len(close) // SAMPLED)].tolist(), close.tolist()):
        worst = 0.0
        for place in [*lost, *rest]:
            index = tuple(place)
            cancelled = 4 * max(0.0, log10(near / abs(z[index]))) if z[index] else 0
            with mp.workdps(DOUBLE + GUARD + int(cancelled)):
                numbers = _checked(piece, mp.mpf(float(z[index])))
            for array, value in zip(found, map(float, numbers), strict=True):
                worst = max(worst, abs(array[index] - value) / (abs(value) or 1))
                array[index] = value
        if worst < LOSS:
            return
        lost = []


def _broadcast(value: Any, like: Array) -> Array:
    return np.array(np.broadcast_to(value, like.shape), dtype=float)


def _exactly(end: Any) -> Any:
    return mp.mpf(end) if isinstance(end, float) else number(end)


def gauss_rule(count: int) -> tuple[list[Any], list[Any]]:
    """Nodes and weights on (−1, 1) at the precision of this thread."""
    rule = _gauss_rule(count, mp.prec)
    return tuple([mp.make_mpf(x) for x in part] for part in rule)  # type: ignore[return-value]


@lru_cache(maxsize=32)
def _gauss_rule(count: int, precision: int) -> tuple[list[Any], list[Any]]:
    """By Newton's iteration for the zeros of the Legendre polynomial, from those in doubles."""
    places, weights = [], []
    with mp.workprec(precision + 20):
        for start in np.polynomial.legendre.leggauss(count)[0][: (count + 1) // 2]:
            x = mp.mpf(float(start))
            for _ in range(ceil(log2(precision / 40)) + 2):
                before, here = mp.mpf(1), x
                for k in range(2, count + 1):
                    before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
                slope = count * (x * here - before) / (x * x - 1)
                x -= here / slope
            places.append(x)
            weights.append(2 / ((1 - x * x) * slope * slope))
        mirrored = range(count // 2 - 1, -1, -1)
        places += [-places[k] for k in mirrored]
        weights += [weights[k] for k in mirrored]
    return [x._mpf_ for x in places], [w._mpf_ for w in weights]


def _checked(piece: SmoothPiece, z: Any) -> Any:
    """The values of a piece, which must be real and finite."""
    values: Any
    try:
        values = piece.values(z)
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        values = (mp.nan,)
    if all(type(v) in (mp.mpf, int) and v - v == 0 for v in values):
        return values
    raise ActivationError(
        f"The activation or its slope is not real and finite at z = {mp.nstr(z, 6)}. "
        "Gaussian means need it on the whole real axis. Give a function that is finite there."
    )
