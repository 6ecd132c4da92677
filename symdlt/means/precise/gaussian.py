"""Gaussian means of products of derivatives of an activation, to any number of digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from math import ceil, floor, log2, log10, pi, sqrt
from operator import add, mul
from typing import TypeVar

import numpy as np
import sympy as sp

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.means.grids import Array
from symdlt.means.precise.discs import ARRAYS
from symdlt.means.precise.lengths import lengths
from symdlt.means.precise.segments import (
    DOUBLE,
    GUARD,
    MeanError,
    Segment,
    broadcast,
    checked,
    nodes_per_segment,
    segments,
)
from symdlt.precision import AnyPrecision, Precise, mp, number

# Nodes, lengths that they stand for, and the activation and its derivatives there.
ArrayRule = tuple[Array, Array, Array]
Rule = tuple[list[Precise], list[Precise], list[tuple[Precise, ...]]]
# The squares of the nodes, two of which are one if the rule is even, and of each product what it
# is at nodes with that square, times their lengths.
Squares = tuple[list[Precise], list[tuple[Precise, ...]]]
# For each product its means with the powers of z²/K.
Means = tuple[tuple[AnyPrecision, ...], ...]
# Sign, mantissa, exponent and bits, as mpmath keeps a number of any context.
Bits = tuple[int, int, int, int]
R = TypeVar("R")

# Of z²/K: two derivatives by K need the fourth moment.
POWERS = 3
# Newton's iteration starts from nine digits, so that one rule serves all its steps.
NEAR = 1e-6
# Where terms of the activation may cancel, so many values are compared with those to more digits.
NEAR_ZERO, SAMPLED, LOSS = 1 / 32, 8, 1e-13


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
        self._octaves: dict[int, ArrayRule | None] = {}
        self._arrays: dict[float, ArrayRule] = {}
        self._squares: dict[float, Squares] = {}

    def __call__(self, K: AnyPrecision) -> Means:
        """For each product its means with the powers n of z²/K.

        Raises:
            MeanError: if a mean diverges, or takes too many nodes.
            ActivationError: if the activation is not real and finite somewhere.
        """
        with mp.workdps(self.digits + GUARD):
            averages = self._in_doubles(K) if self.double else self._in_digits(K)
        if all(mp.isfinite(mean) for means in averages for mean in means):
            return averages
        raise MeanError(
            f"The Gaussian means at K = {float(K):.6g} leave the range of floating point. "
            "The activation grows fast. Give a smaller range of K."
        )

    def _rule(self, K: float) -> ArrayRule:
        """The same for all K from 4^n to 4^(n+1), but near the highest at which means exist."""
        place = floor(log2(K) / 2)
        if place not in self._octaves:
            try:
                self._octaves[place] = self._array_rule(4.0**place, 4.0 ** (place + 1))
            except MeanError:
                self._octaves[place] = None
        return self._octaves[place] or _kept(self._arrays, K, self._array_rule)

    def _array_rule(self, low: float, high: float) -> ArrayRule:
        laid = segments(self.pieces, (low, high), self.digits)
        return array_nodes(self.pieces, laid, self.digits)

    def _products(self, low: float, high: float) -> Squares:
        z, weights, values = nodes(segments(self.pieces, (low, high), self.digits), self.digits)
        terms: dict[Precise, list[Precise]] = {}
        for x, width, value in zip(z, weights, values, strict=True):
            here = [reduce(mul, (value[k] for k in orders), width) for orders in self.products]
            there = terms.get(square := x * x)
            terms[square] = list(map(add, there, here)) if there else here
        return list(terms), list(zip(*terms.values(), strict=True))

    def _in_doubles(self, K: float) -> Means:
        z, lengths, values = self._rule(float(K))
        root = sqrt(K)
        squares = (z / root) ** 2
        means = []
        with np.errstate(all="ignore"):
            for orders in self.products:
                bell = np.exp(-squares / (2 * len(orders)))
                terms = lengths / root / sqrt(2 * pi)
                for order in orders:
                    terms = terms * (values[order] * bell)
                means.append(tuple(float(np.sum(terms * squares**n)) for n in range(self.powers)))
        return tuple(means)

    def _in_digits(self, K: AnyPrecision) -> Means:
        squares, columns = _kept(self._squares, float(K), self._products)
        norm, rate = mp.sqrt(2 * mp.pi * K), -1 / (2 * mp.mpf(K))
        weights = [[mp.exp(rate * y) for y in squares]]
        for _ in range(1, self.powers):
            weights.append([w * y for w, y in zip(weights[-1], squares, strict=True)])
        return tuple(
            tuple(mp.fdot(column, w) / (norm * K**n) for n, w in enumerate(weights))
            for column in columns
        )


def _kept(rules: dict[float, R], K: float, lay: Callable[[float, float], R]) -> R:
    """The rule that was laid for a K so near, or one that is laid now."""
    place = next((k for k in rules if abs(k / K - 1) < NEAR), K)
    if place not in rules:
        rules[place] = lay(K * (1 - NEAR), K * (1 + NEAR))
    return rules[place]


def nodes(laid: Sequence[Segment], digits: int) -> Rule:
    """Nodes, lengths that they stand for, and the activation and its derivatives there."""
    places, weights_on_one = gauss_rule(nodes_per_segment(digits))
    z: list[Precise] = []
    weights: list[Precise] = []
    values: list[tuple[Precise, ...]] = []
    for segment in laid:
        left, right = (_exactly(end) for end in segment[:2])
        middle, half = (left + right) / 2, (right - left) / 2
        here = [middle + half * x for x in places]
        z += here
        weights += [half * w for w in weights_on_one]
        values += [checked(segment.piece, x) for x in here]
    return z, weights, values


def array_nodes(pieces: Sequence[SmoothPiece], laid: Sequence[Segment], digits: int) -> ArrayRule:
    """The same in floating point, for at most 15 digits."""
    near = NEAR_ZERO * lengths(pieces)[0]
    places, widths = _double_rule(nodes_per_segment(digits))
    ends = np.array([[float(segment.left), float(segment.right)] for segment in laid])
    half = (ends[:, 1] - ends[:, 0]) / 2
    z = (ends[:, 0] + half)[:, None] + half[:, None] * places
    values = np.empty((2, *z.shape))
    for piece in dict.fromkeys(segment.piece for segment in laid):
        mine = np.array([segment.piece is piece for segment in laid])
        here = z[mine]
        with mp.using(ARRAYS), np.errstate(all="ignore"):
            columns = [broadcast(value, here) for value in piece.values(here)]
        _mend(piece, here, columns, near)
        values[:, mine] = columns
    return z.ravel(), (half[:, None] * widths).ravel(), values.reshape(2, -1)


# Each rule that is laid asks for one of few.
_double_rule = lru_cache(maxsize=32)(np.polynomial.legendre.leggauss)


def _mend(piece: SmoothPiece, z: Array, values: list[Array], near: float) -> None:
    """Values that are out of range or lost digits, as exp(z) - 1 does near zero, from mpmath."""
    close = np.argwhere((abs(z) < near) & (z != 0))
    lost = np.argwhere(~np.isfinite(values[0]) | ~np.isfinite(values[1])).tolist()
    for rest in (close[:: max(1, len(close) // SAMPLED)].tolist(), close.tolist()):
        worst = 0.0
        for place in [*lost, *rest]:
            index = tuple(place)
            cancelled = 4 * max(0.0, log10(near / abs(z[index]))) if z[index] else 0
            with mp.workdps(DOUBLE + GUARD + int(cancelled)):
                numbers = checked(piece, mp.mpf(float(z[index])))
            for array, value in zip(values, map(float, numbers), strict=True):
                worst = max(worst, abs(array[index] - value) / (abs(value) or 1))
                array[index] = value
        if worst < LOSS:
            return
        lost = []


def _exactly(end: float | sp.Expr) -> Precise:
    return mp.mpf(end) if isinstance(end, float) else number(end)


def gauss_rule(count: int) -> tuple[list[Precise], list[Precise]]:
    """Nodes and weights on (−1, 1) at the precision of this thread."""
    places, weights = _gauss_rule(count, mp.prec)
    return [mp.make_mpf(x) for x in places], [mp.make_mpf(w) for w in weights]


@lru_cache(maxsize=32)
def _gauss_rule(count: int, precision: int) -> tuple[list[Bits], list[Bits]]:
    """By Newton's iteration for the zeros of the Legendre polynomial, from those in doubles.

    The polynomials are at most one there, so that whole numbers of fixed point do, which are some
    ten times as fast as mpmath's.
    """
    places, weights = [], []
    bits = precision + 40  # 20 for the roundings of the recursion, 20 for the weights
    one = 1 << bits
    with mp.workprec(bits):
        for start in np.polynomial.legendre.leggauss(count)[0][: (count + 1) // 2]:
            at = int(mp.ldexp(mp.mpf(float(start)), bits))
            for _ in range(ceil(log2(precision / 40)) + 2):
                before, here = one, at
                for k in range(2, count + 1):
                    turned = (2 * k - 1) * (at * here >> bits)
                    before, here = here, (turned - (k - 1) * before) // k
                rise = count * ((at * here >> bits) - before)
                fall = (at * at >> bits) - one
                at -= here * fall // rise
            x, slope = mp.ldexp(mp.mpf(at), -bits), mp.mpf(rise) / fall
            places.append(x)
            weights.append(2 / ((1 - x * x) * slope * slope))
        mirrored = range(count // 2 - 1, -1, -1)
        places += [-places[k] for k in mirrored]
        weights += [weights[k] for k in mirrored]
    return [x._mpf_ for x in places], [w._mpf_ for w in weights]
