"""Gaussian means of products of derivatives of an activation, to any number of digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import asinh, ceil, exp, fsum, inf, isfinite, log, log2, pi, sqrt
from typing import Any

import mpmath
import sympy as sp

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.errors import ActivationError, SolutionError

DOUBLE = 15
# The golden part of a step: lattices moved by it share no aliases.
SHIFT = (sqrt(5.0) - 1.0) / 2
OFFSET = 0.0917
# Of a K with checked nodes: a Gaussian not wider, but for a factor of e^3 at its far end, nor much
# narrower has nothing that the checked one has not.
LEAST_CHECKED, MOST_CHECKED = 0.25, 1.1
COARSEST = 0.5
MOST_HALVINGS = 8
MOST_WIDENINGS = 9
POWERS = 3
REAL = (mpmath.mpf, int)

Function = Callable[[Any], Any]
Place = tuple[Any, Any]
Mapping = Callable[[Any, Any], Place]


class MeanError(SolutionError):
    """A Gaussian mean that diverges, or that more nodes do not settle."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """A piece, and a variable t in which the trapezoidal rule converges exponentially.

    Attributes:
        place: from t and a unit to z, which increases with t, and dz/dt.
        values: the activation and its derivative at z.
        low: the lowest t, or minus infinity where the decay of the Gaussian ends the sum.
        high: the highest t, or infinity.
    """

    place: Mapping
    values: Function
    low: float
    high: float


@dataclass(slots=True)
class _Ray:
    """Nodes at equal steps of t in one direction, made when they are needed.

    Attributes:
        panel: where they lie.
        unit: what z is measured in.
        step: from one to the next; its sign is the direction.
        t: where the next one will be.
        squares: z² at each node.
        columns: for each product its values times dz/dt.
        end: z at the last node.
    """

    panel: _Panel
    unit: Any
    step: Any
    t: Any
    squares: list[Any] = field(default_factory=list)
    columns: tuple[list[Any], ...] = ()
    end: Any = None

    @property
    def open(self) -> bool:
        """Whether it goes on to infinity."""
        return (self.panel.high if self.step > 0 else -self.panel.low) == inf

    def reaches(self, distance: Any) -> bool:
        """Whether no more nodes are needed out to a distance from zero."""
        if not self.open:
            return bool(self.t > self.panel.high if self.step > 0 else self.t < self.panel.low)
        if self.end is None:
            return False
        return bool((self.end if self.step > 0 else -self.end) >= distance)


class GaussianMeans:
    r"""The means $\langle \sigma^{(a)}\sigma^{(b)}\cdots (z^2/K)^n \rangle_K$ for n = 0, 1, 2, ….

    The real line is cut at the kinks. Each piece is mapped so that the trapezoidal rule converges
    exponentially, and its step is halved until the sums agree, and agree with those of a lattice
    moved by the golden part of a step. Values at the nodes serve every K.

    Args:
        pieces: the smooth pieces of the activation.
        products: the orders of the derivatives in each product, such as (0, 0) and (1, 1).
        digits: how many digits to work with; with at most 15, in floating point.
        powers: how many powers of z²/K.
        together: whether the sums settle compared with the largest of them; some may vanish then.

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
        together: bool = False,
    ) -> None:
        self.products = tuple(products)
        self.powers = powers
        self.together = together
        self.double = digits <= DOUBLE
        self.number = float if self.double else mpmath.mpf
        self.digits = digits + 5
        self.reach = log(10) * self.digits
        self.settled = mpmath.mpf(10) ** (-0.6 * digits)
        self.negligible = mpmath.mpf(10) ** -self.digits
        self.panels = _panels(pieces, self.reach)
        self.levels: dict[tuple[int, int, bool], list[_Ray]] = {}
        self.checked: dict[tuple[int, int], Any] = {}

    def __call__(self, K: Any) -> tuple[tuple[Any, ...], ...]:
        """For each product its means with the powers n of z²/K.

        Raises:
            MeanError: if a mean diverges, or the sums do not settle.
            ActivationError: if the activation is not real and finite somewhere.
        """
        with mpmath.workdps(self.digits):
            sums = self._level(K, 0)
            for level in range(1, MOST_HALVINGS + self.digits // 100):
                before, added = sums, self._level(K, level)
                sums = [(a + b) / 2 for a, b in zip(sums, added, strict=True)]
                if self._agree(before, sums) and self._stands(K, level, sums):
                    return self._split(K, sums)
        raise MeanError(
            f"The Gaussian means at K = {float(K):.6g} do not settle as more nodes are taken. "
            "The activation oscillates too fast there, or has a pole on the real axis. "
            "Give a smoother activation, or a smaller range of K."
        )

    def _stands(self, K: Any, level: int, sums: list[Any]) -> bool:
        """Whether moved nodes agree, here or at a K like this one.

        Where nodes and those between them take the same for something slower, moved ones do not.
        """
        key = _fineness(K), level
        checked = self.checked.get(key)
        if checked is None or not checked * LEAST_CHECKED <= K <= checked * MOST_CHECKED:
            if not self._agree(self._level(K, level, True), sums):
                return False
            self.checked[key] = K
        return True

    def _agree(self, before: list[Any], sums: list[Any]) -> bool:
        least = max(map(abs, sums)) if self.together else 0
        pairs = zip(before, sums, strict=True)
        return all(abs(a - b) <= self.settled * max(abs(b), least) for a, b in pairs)

    def _split(self, K: Any, sums: list[Any]) -> tuple[tuple[Any, ...], ...]:
        norm = sqrt(2 * pi * K) if self.double else mpmath.sqrt(2 * mpmath.pi * K)
        found = [total / norm for total in sums]
        count = self.powers
        return tuple(tuple(found[k : k + count]) for k in range(0, len(found), count))

    def _level(self, K: Any, level: int, moved: bool = False) -> list[Any]:
        """The nodes that a level adds between those before, as a trapezoidal sum of their own."""
        key = _fineness(K), level, moved
        if key not in self.levels:
            self.levels[key] = self._rays(level, mpmath.mpf(4) ** -key[0], moved)
        rays = self.levels[key]
        distance = sqrt(2 * K * self.reach)
        for _ in range(MOST_WIDENINGS):
            for ray in rays:
                self._extend(ray, distance)
            summed, ends = zip(*(self._summed(K, ray) for ray in rays), strict=True)
            totals = [sum(parts) for parts in zip(*summed, strict=True)]
            size = max(map(abs, totals))
            if not mpmath.isfinite(size):
                raise MeanError(
                    f"The Gaussian means at K = {float(K):.6g} leave the range of floating point. "
                    "The activation grows fast. Give a smaller range of K."
                )
            if max(ends) <= size * self.negligible:
                step = self.number(abs(rays[0].step))
                return [step * total for total in totals]
            distance *= 1.5
        raise MeanError(
            f"The Gaussian means of the activation diverge at K = {float(K):.6g}. "
            "The activation grows too fast for a Gaussian of that variance. "
            "Give one that grows slower, or a smaller range of K."
        )

    def _rays(self, level: int, unit: Any, moved: bool) -> list[_Ray]:
        """The nodes of a level for variances of at least the square of a unit of z."""
        step = mpmath.mpf(COARSEST) / 2 ** max(level - 1, 0)
        start = OFFSET + step * (SHIFT if moved else 0.5 if level else 0)
        return [
            _Ray(panel, unit, sign * step, begin, columns=tuple([] for _ in self.products))
            for panel in self.panels
            for sign, begin in ((1, start), (-1, start - step))
        ]

    def _extend(self, ray: _Ray, distance: Any) -> None:
        number = self.number
        while not ray.reaches(distance):
            z, slope = ray.panel.place(ray.t, ray.unit)
            values = _checked(ray.panel.values, z)
            ray.squares.append(number(z * z))
            for orders, column in zip(self.products, ray.columns, strict=True):
                product = slope
                for order in orders:
                    product *= values[order]
                column.append(number(product))
            ray.end = z
            ray.t += ray.step

    def _summed(self, K: Any, ray: _Ray) -> tuple[list[Any], Any]:
        """The sums over a ray, and the largest last term of them if it goes on."""
        if not ray.squares:
            return [0 * K] * (self.powers * len(self.products)), 0
        variables = [square / K for square in ray.squares]
        weights = [(exp if self.double else mpmath.exp)(-y / 2) for y in variables]
        sums, last = [], 0 * K
        total = _float_dot if self.double else mpmath.fdot
        powers = [weights]
        for _ in range(1, self.powers):
            powers.append([w * y for w, y in zip(powers[-1], variables, strict=True)])
        for column in ray.columns:
            sums += [total(column, weight) for weight in powers]
            last = max(last, abs(column[-1] * powers[-1][-1]))
        return sums, last if ray.open else 0


def _fineness(K: Any) -> int:
    """A number that grows by one as K falls by a factor of 16; one unit of z serves these K."""
    return int(max(0, ceil(-log2(K) / 4)))


def _float_dot(first: Sequence[float], second: Sequence[float]) -> float:
    products = [a * b for a, b in zip(first, second, strict=True)]
    return fsum(products) if all(map(isfinite, products)) else inf


def _checked(function: Function, z: Any) -> Any:
    try:
        values = function(z)
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        values = (mpmath.nan,)
    if all(type(v) in REAL and v - v == 0 for v in values):
        return values
    raise ActivationError(
        f"The activation or its slope is not real and finite at z = {mpmath.nstr(z, 6)}. "
        "Gaussian means need it on the whole real axis. Give a function that is finite there."
    )


def _panels(pieces: Sequence[SmoothPiece], reach: float) -> list[_Panel]:
    ends = [*(piece.start for piece in pieces), sp.oo]
    found = []
    for (left, right), piece in zip(pairwise(ends), pieces, strict=True):
        inner = -log(reach) - 1
        if left == -sp.oo and right == sp.oo:
            panel = _Panel(_whole_line, piece.values, -inf, inf)
        elif right == sp.oo:
            panel = _Panel(_right_of(left), piece.values, inner, inf)
        elif left == -sp.oo:
            panel = _Panel(_left_of(right), piece.values, -inf, -inner)
        else:
            bound = asinh(reach / pi) + 0.5
            panel = _Panel(_between(left, right), piece.values, -bound, bound)
        found.append(panel)
    return found


def _number(exact: Any) -> Any:
    return sp.N(exact, mpmath.mp.dps + 5)._to_mpmath(mpmath.mp.prec)


def _whole_line(t: Any, unit: Any) -> Place:
    rise = unit * mpmath.exp(t) / 2
    fall = unit * unit / (4 * rise)
    return rise - fall, rise + fall


def _right_of(start: Any) -> Mapping:
    def place(t: Any, unit: Any) -> Place:
        inner = mpmath.exp(-t)
        distance = unit * mpmath.exp(t - inner)
        return _number(start) + distance, distance * (1 + inner)

    return place


def _left_of(end: Any) -> Mapping:
    def place(t: Any, unit: Any) -> Place:
        inner = mpmath.exp(t)
        distance = unit * mpmath.exp(-t - inner)
        return _number(end) - distance, distance * (1 + inner)

    return place


def _between(start: Any, end: Any) -> Mapping:
    def place(t: Any, unit: Any) -> Place:
        low, high = _number(start), _number(end)
        bend = mpmath.pi / 2 * mpmath.sinh(t)
        half = (high - low) / 2
        slope = half * mpmath.pi / 2 * mpmath.cosh(t) / mpmath.cosh(bend) ** 2
        return (high + low) / 2 + half * mpmath.tanh(bend), slope

    return place
