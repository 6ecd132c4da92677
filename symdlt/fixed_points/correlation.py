r"""The map of the correlation of two samples of equal kernel, and its fixed point below 1.

At a fixed point K of the kernel a correlation ρ goes to

$$C(\rho) = u\rho + \frac1K \Big(C_b + C_W \sum_k a_k^2 \rho^k\Big), \qquad
  a_k = \langle \sigma(z)\, \mathrm{He}_k(z/\sqrt K) \rangle_K / \sqrt{k!}$$

where u K is what the layer keeps of the kernel, 0 of a dense one and $\xi^2$ of one with a skip.

No coefficient is negative, so that C is convex on (0, 1) and $C(1) = 1$. There is one fixed point
below 1 if $C'(1) = \chi_\perp > 1$, and none if $\chi_\perp \le 1$. A negative one would need odd
terms that exceed ρ, and they are less; only −1 is left, for odd activations without biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, log10

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.errors import SolutionError
from symdlt.means.precise import DOUBLE, WIDEST, nodes, segments
from symdlt.precision import Precise, mp

# Phase of a Hermite function over half a segment: the widest disc bounds exp(4 * 3) times it.
RESOLVED = 3.0
# Terms times nodes, a bound on the work.
MOST_WORK = 600_000
# A bound on Newton's iteration, which halves the distance at least: near 1 two zeros are close.
MOST_STEPS = 100
# A convention: a correlation beyond is told as a bound.
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
    >>> squares = HermiteSquares(pieces, mp.mpf(1), mp.mpf(3), 15)
    >>> [round(float(square), 9) for square in squares.up_to(0.5)]
    [1.0, 0.0, 2.0]
    """

    def __init__(
        self, pieces: Sequence[SmoothPiece], K: Precise, total: Precise, digits: int
    ) -> None:
        self.pieces, self.K, self.total, self.digits = pieces, K, total, digits
        self.known: HermiteCoefficients | None = None

    def up_to(self, correlation: float) -> list[Precise]:
        """As many as give the series at that correlation to the digits asked for.

        Raises:
            TooNearError: if that takes too many terms.
        """
        with mp.workdps(self.digits + 5):
            negligible = self.total * mp.mpf(10) ** -(self.digits - 1)
            rest, decay = self.total, mp.mpf(1)
            squares: list[Precise] = []
            known = self.known = self.known or self._coefficients(self._fewest(correlation))
            while abs(rest) * decay > negligible:
                if len(squares) * len(known.places) > MOST_WORK:
                    raise TooNearError(correlation)
                if len(squares) > known.resolved:
                    self.known = self._coefficients(4 * known.resolved)
                    return self.up_to(correlation)
                squares.append(known.coefficient(len(squares)) ** 2)
                rest -= squares[-1]
                decay *= correlation
        return squares

    def _fewest(self, correlation: float) -> float:
        """Half of the terms that are needed if no coefficient is small: most series decay."""
        return self.digits / -log10(correlation) / 2

    def _coefficients(self, degree: float) -> HermiteCoefficients:
        """The coefficients on segments that resolve them up to a degree."""
        widest = min(WIDEST, RESOLVED / degree**0.5)
        return HermiteCoefficients(self.pieces, self.K, self.digits, widest)


class HermiteCoefficients:
    """The coefficients from Gauss's rule on segments, and Hermite functions at its nodes.

    The Hermite functions times the square root of a Gaussian are bounded, so that numbers of a
    fixed point serve. That of degree k oscillates as sin(sqrt(k) y), which segments half as wide
    resolve up to a degree four times as high.
    """

    def __init__(
        self, pieces: Sequence[SmoothPiece], K: Precise, digits: int, widest: float
    ) -> None:
        self.widest, self.bits = widest, int((digits + 8) * log2(10))
        self.resolved = (RESOLVED / widest) ** 2
        root = mp.sqrt(K)
        pieces = [piece.upto(0) for piece in pieces]
        # Hermite functions carry half of the Gaussian, so that tails count as those of 2 K do.
        laid = segments(pieces, (float(K), 2 * float(K)), digits, widest)
        z, lengths, values = nodes(laid, max(digits, DOUBLE + 1))
        self.places: list[int] = []
        self.values: list[int] = []
        self.hermite: list[int] = []
        for place, length, (value,) in zip(z, lengths, values, strict=True):
            y = place / root
            bell = mp.exp(-y * y / 4)
            self.places.append(self._fixed(y))
            self.values.append(self._fixed(length * value * bell / root / mp.sqrt(2 * mp.pi)))
            self.hermite.append(self._fixed(bell))
        self.below = [0] * len(self.hermite)
        self.known: list[Precise] = []

    def _fixed(self, number: Precise) -> int:
        return int(mp.ldexp(number, self.bits))

    def coefficient(self, k: int) -> Precise:
        """a_k; the lower ones are known."""
        while len(self.known) <= k:
            total = sum(v * h for v, h in zip(self.values, self.hermite, strict=True))
            self.known.append(mp.ldexp(mp.mpf(total), -2 * self.bits))
            n, bits = len(self.known), self.bits
            rise = self._fixed(1 / mp.sqrt(n))
            fall = self._fixed(mp.sqrt(mp.mpf(n - 1) / n))
            triples = zip(self.places, self.hermite, self.below, strict=True)
            above = [((y * h >> bits) * rise - fall * b) >> bits for y, h, b in triples]
            self.hermite, self.below = above, self.hermite
        return self.known[k]


def fixed_correlation(
    pieces: Sequence[SmoothPiece], K: Precise, g: Precise, parts: Sequence[Precise], digits: int
) -> tuple[Precise, Precise]:
    r"""The fixed point below 1 in a chaotic network, and the slope of the map there.

    Args:
        pieces: of the activation.
        K: the fixed point of the kernel.
        g: the mean of the activation's square there.
        parts: of the next kernel, see `KernelMap.parts`, such that $\chi_\perp > 1$.
        digits: how many to work with.

    Raises:
        TooNearError: with a correlation that it exceeds.
    """
    constant, kept, drawn = parts
    squares = HermiteSquares(pieces, K, g, digits)
    trusted, exceeded = 0.5, 0.0
    with mp.workdps(digits + 5):
        while trusted < NEAREST:
            try:
                series = [drawn * a / K for a in squares.up_to(trusted)]
            except TooNearError:
                break
            series += [mp.mpf(0)] * (2 - len(series))
            series[0] += constant / K
            series[1] += kept
            rho = _root(series, digits)
            if rho <= trusted:
                slope = mp.polyval([k * c for k, c in enumerate(series)][:0:-1], rho)
                return rho, slope
            trusted, exceeded = (1 + trusted) / 2, trusted
    raise TooNearError(exceeded)


def _root(series: list[Precise], digits: int) -> Precise:
    """The lowest zero of C(ρ) − ρ by Newton's iteration from 0, which rises to it."""
    rho = mp.mpf(0)
    downward, slopes = series[::-1], [k * c for k, c in enumerate(series)][:0:-1]
    for _ in range(MOST_STEPS):
        gap = mp.polyval(downward, rho) - rho
        slope = 1 - mp.polyval(slopes, rho)
        if slope <= 0:
            return mp.mpf(1)
        step = gap / slope
        rho += step
        if abs(step) <= mp.mpf(10) ** (-digits):
            return rho if rho > mp.mpf(10) ** (2 - digits) else mp.mpf(0)
    return mp.mpf(1)
