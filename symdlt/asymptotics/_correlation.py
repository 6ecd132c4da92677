r"""The map of the correlation of two samples of equal kernel, and its fixed point below 1.

At a fixed point K of the kernel a correlation ρ goes to

$$C(\rho) = \frac1K \Big(C_b + C_W \sum_k a_k^2 \rho^k\Big), \qquad
  a_k = \langle \sigma(z)\, \mathrm{He}_k(z/\sqrt K) \rangle_K / \sqrt{k!}$$

No coefficient is negative, so that C is convex on (0, 1) and $C(1) = 1$. There is one fixed point
below 1 if $C'(1) = \chi_\perp > 1$, and none if $\chi_\perp \le 1$. A negative one would need odd
terms that exceed ρ, and they are less; only −1 is left, for odd activations without biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2
from typing import Any

import mpmath

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.asymptotics._gaussian_means import SHIFT, _checked, _panels
from symdlt.errors import SolutionError

COARSEST = 0.25
MOST_HALVINGS = 6
SETTLED = 0.6
MOST_WORK = 600_000
MOST_STEPS = 100
NEAREST = 0.999999


class TooNearError(SolutionError):
    """A fixed point above a correlation, so near to 1 that the series takes too many terms."""


class HermiteSquares:
    r"""The squares $a_k^2$, made when they are needed.

    Args:
        pieces: of the activation.
        K: the variance.
        total: their sum, the mean of the activation's square.
        digits: how many digits to work with.

    >>> from symdlt.activations.smooth_pieces import smooth_pieces
    >>> from symdlt.activations import activation
    >>> pieces = smooth_pieces(activation("z**2"))
    >>> squares = HermiteSquares(pieces, mpmath.mpf(1), mpmath.mpf(3), 15)
    >>> [round(float(square), 9) for square in squares.up_to(0.5)]
    [1.0, 0.0, 2.0]
    """

    def __init__(self, pieces: Sequence[SmoothPiece], K: Any, total: Any, digits: int) -> None:
        self.pieces, self.K, self.total, self.digits = pieces, K, total, digits
        self.lattices = [_Lattice(pieces, K, digits, COARSEST)]
        self.halvings = 0

    def up_to(self, correlation: float) -> list[Any]:
        """As many as give the series at that correlation to the digits asked for.

        Raises:
            TooNearError: if that takes too many terms.
            SolutionError: if the coefficients do not settle.
        """
        with mpmath.workdps(self.digits + 5):
            settled = self.total * mpmath.mpf(10) ** (-SETTLED * self.digits)
            while self.halvings < MOST_HALVINGS:
                coarse, fine = (self._converged(k, correlation) for k in (0, 1))
                if all(abs(a - b) <= settled for a, b in zip(coarse, fine, strict=False)):
                    return fine
                self.halvings += 1
        raise SolutionError(
            f"The Hermite coefficients of the activation at K = {mpmath.nstr(self.K, 6)} do not "
            "settle as more nodes are taken. They give the correlations. Give fewer digits."
        )

    @property
    def _negligible(self) -> Any:
        return self.total * mpmath.mpf(10) ** -(self.digits - 1)

    def _converged(self, finer: int, correlation: float) -> list[Any]:
        while len(self.lattices) <= self.halvings + finer:
            step = self.lattices[-1].step / 2
            self.lattices.append(_Lattice(self.pieces, self.K, self.digits, step))
        lattice = self.lattices[self.halvings + finer]
        rest, decay = self.total, mpmath.mpf(1)
        found: list[Any] = []
        while abs(rest) * decay > self._negligible:
            if len(found) * len(lattice.places) > MOST_WORK:
                raise TooNearError(correlation)
            found.append(lattice.coefficient(len(found)) ** 2)
            rest -= found[-1]
            decay *= correlation
        return found


class _Lattice:
    """Nodes at equal steps of the pieces' own variables, and Hermite functions at them.

    They begin at the golden part of a step, so that no lattice has the nodes, or the aliases, of
    one of twice its step.

    The Hermite functions times the square root of a Gaussian are bounded, so that numbers of a
    fixed point serve.
    """

    def __init__(self, pieces: Sequence[SmoothPiece], K: Any, digits: int, step: float) -> None:
        self.step, self.bits = step, int((digits + 8) * log2(10))
        reach = log(10) * (digits + 3)
        root = mpmath.sqrt(K)
        unit = mpmath.mpf(2) ** round(log2(float(root)))
        self.places: list[int] = []
        self.values: list[int] = []
        self.hermite: list[int] = []
        for panel in _panels(pieces, reach):
            for sign in (1, -1):
                t = mpmath.mpf((SHIFT if sign > 0 else SHIFT - 1) * step)
                while panel.low <= t <= panel.high:
                    z, slope = panel.place(t, unit)
                    y = z / root
                    if sign * y > 2 * reach**0.5:
                        break
                    if abs(y) <= 2 * reach**0.5:
                        weight = step * slope / root / mpmath.sqrt(2 * mpmath.pi)
                        value = _checked(panel.values, z)[0]
                        self.places.append(self._fixed(y))
                        self.values.append(self._fixed(weight * value * mpmath.exp(-y * y / 4)))
                        self.hermite.append(self._fixed(mpmath.exp(-y * y / 4)))
                    t += sign * step
        self.below = [0] * len(self.hermite)
        self.known: list[Any] = []

    def _fixed(self, number: Any) -> int:
        return int(mpmath.ldexp(number, self.bits))

    def coefficient(self, k: int) -> Any:
        """a_k; the lower ones are known."""
        while len(self.known) <= k:
            total = sum(v * h for v, h in zip(self.values, self.hermite, strict=True))
            self.known.append(mpmath.ldexp(mpmath.mpf(total), -2 * self.bits))
            n, bits = len(self.known), self.bits
            rise = self._fixed(1 / mpmath.sqrt(n))
            fall = self._fixed(mpmath.sqrt(mpmath.mpf(n - 1) / n))
            triples = zip(self.places, self.hermite, self.below, strict=True)
            above = [((y * h >> bits) * rise - fall * b) >> bits for y, h, b in triples]
            self.hermite, self.below = above, self.hermite
        return self.known[k]


def fixed_correlation(
    pieces: Sequence[SmoothPiece], K: Any, g: Any, variances: tuple[Any, Any], digits: int
) -> tuple[Any, Any]:
    r"""The fixed point below 1 in a chaotic network, and the slope of the map there.

    Args:
        pieces: of the activation.
        K: the fixed point of the kernel.
        g: the mean of the activation's square there.
        variances: C_b and C_W, such that $\chi_\perp > 1$.
        digits: how many to work with.

    Raises:
        TooNearError: with a correlation that it exceeds.
    """
    C_b, C_W = variances
    squares = HermiteSquares(pieces, K, g, digits)
    trusted, exceeded = 0.5, 0.0
    with mpmath.workdps(digits + 5):
        while trusted < NEAREST:
            try:
                series = [C_W * a / K for a in squares.up_to(trusted)]
            except TooNearError:
                break
            series[0] += C_b / K
            rho = _root(series, digits)
            if rho <= trusted:
                slope = mpmath.polyval([k * c for k, c in enumerate(series)][:0:-1], rho)
                return rho, slope
            trusted, exceeded = (1 + trusted) / 2, trusted
    raise TooNearError(exceeded)


def _root(series: list[Any], digits: int) -> Any:
    """The lowest zero of C(ρ) − ρ by Newton's iteration from 0, which rises to it."""
    rho = mpmath.mpf(0)
    downward, slopes = series[::-1], [k * c for k, c in enumerate(series)][:0:-1]
    for _ in range(MOST_STEPS):
        gap = mpmath.polyval(downward, rho) - rho
        slope = 1 - mpmath.polyval(slopes, rho)
        if slope <= 0:
            return mpmath.mpf(1)
        step = gap / slope
        rho += step
        if abs(step) <= mpmath.mpf(10) ** (-digits):
            return rho if rho > mpmath.mpf(10) ** (2 - digits) else mpmath.mpf(0)
    return mpmath.mpf(1)
