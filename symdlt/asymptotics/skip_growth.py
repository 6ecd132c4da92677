r"""How V grows with depth where a network with a skip keeps its kernel.

A layer $z' = \xi z + b + W\sigma(z)$ moves the covariance Q of its neurons by
$\delta Q' = \chi_\parallel\,\delta Q + C_W\,\eta_\ell(\sigma\sigma)$, where
$\eta_\ell$ is the noise of an average over the neurons of layer ℓ. The same neurons are read again
at all depths, and z at two of them has the correlation $\xi^{|\ell - m|}$ if the kernel stays, so
that

$$n\,\mathrm{cov}(\eta_\ell(\sigma\sigma), \eta_m(\sigma\sigma)) = c(\xi^{|\ell-m|}), \qquad
  c(\rho) = \sum_{k\ge1} a_k^2 \rho^k, \qquad
  a_k = \langle\sigma\sigma\,\mathrm{He}_k(z/\sqrt K)\rangle/\sqrt{k!}$$

With $\chi_\parallel = 1$ every layer meets the noise of all others, and V grows each layer by

$$C_W^2 \sum_{d=-\infty}^\infty c(\xi^{|d|})
  = C_W^2\Bigl[c(1) + 2\sum_{k\ge1} a_k^2 \frac{\xi^k}{1-\xi^k}\Bigr]$$
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.nodes import joined
from symdlt.activations.series import derivatives
from symdlt.activations.smooth_pieces import SmoothPiece, smooth_pieces, straight_slopes
from symdlt.asymptotics.half_moments import half_moments
from symdlt.asymptotics.skips import sign_of, skip_of
from symdlt.definitions import FIELD, RESIDUAL, Layer
from symdlt.derivation import derive
from symdlt.display import ShownAsText
from symdlt.errors import SolutionError
from symdlt.fixed_points import CriticalPoint, criticality
from symdlt.fixed_points.arguments import check_digits
from symdlt.fixed_points.correlation import HermiteSquares, TooNearError
from symdlt.fixed_points.kernel_map import KernelMap, Orders
from symdlt.means.precise import GaussianMeans
from symdlt.precision import AnyPrecision, NumberLike, Precise, mp, number, rounded

# Of floating point; and of those more to work with, since terms are summed.
DIGITS, GUARD = 15, 8
# Skips nearer to 1 sum up too many terms: the error falls as ξ^k. A bound.
MOST_TERMS = 1_000_000
SQUARE, FOURTH = (0, 0), (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class SkipGrowth(ShownAsText):
    r"""The growth of $V/K^2$ from layer to layer, deep in a network that keeps its kernel.

    Attributes:
        activation: as it was given.
        layer: how a layer is made of the one below.
        values: of its symbols that are not solved for.
        point: the critical point; K is None if every kernel stays.
        growth: what each layer adds to $V/K^2$, of noise at all depths.
        last_layer: what it would add if it met the noise of the layer below alone, as the
            recursions in print do.
    """

    activation: str
    layer: Layer
    values: tuple[tuple[str, sp.Expr], ...]
    point: CriticalPoint
    growth: sp.Expr
    last_layer: sp.Expr

    @property
    def ratio(self) -> sp.Expr:
        """By which factor the recursion of the last layer alone is too low."""
        return self.growth / self.last_layer

    def __str__(self) -> str:
        K = "any" if self.point.K is None else f"{float(self.point.K):.10g}"
        numbers = (*self.point.variances, *self.values)
        shown = ", ".join(f"{name} = {float(value):.10g}" for name, value in numbers)
        return (
            f"{self.activation}, {self.layer}: K* = {K}, {shown}\n"
            f"  V/(n K^2) grows by {float(self.growth):.10g}/n a layer\n"
            f"  the recursion of the last layer alone has {float(self.last_layer):.10g}/n; "
            f"the ratio is {float(self.ratio):.6g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries and text."""
        return {
            "activation": self.activation,
            "layer": str(self.layer),
            "values": {name: str(value) for name, value in self.values},
            "point": self.point.to_dict(),
            "growth": str(self.growth),
            "last_layer": str(self.last_layer),
            "ratio": str(self.ratio),
        }


def skip_growth(
    activation: ActivationLike,
    layer: Layer | str = RESIDUAL,
    values: Mapping[str, NumberLike] | None = None,
    *,
    digits: int = DIGITS,
) -> SkipGrowth:
    r"""What each layer of a critical network with a skip adds to $V/K^2$, where K stays.

    For an activation with one slope on each side of zero, such as ReLU, every kernel stays; for
    GELU and its kin the K* > 0 of `criticality`. The sum over pairs of depths is taken exactly.

    Args:
        activation: a name, or an expression in z as text or from SymPy.
        layer: with a skip and one weight.
        values: numbers for its symbols other than those of the weight and the bias.
        digits: how many digits.

    Raises:
        ActivationError: if the activation cannot be read.
        LayerError: if the layer cannot be read, or its kernel does not close.
        SolutionError: for a layer without a skip, a kernel that does not stay, or a skip so near to
            1 that the sum takes too many terms.

    >>> found = skip_growth("relu", values={"xi": 0.5**0.5}, digits=6)
    >>> found.growth, found.last_layer
    (5.44248, 2.25000)
    """
    check_digits(digits)
    maps = skip_of(layer, values)
    read = read_activation(activation)
    answer = criticality(read, layer=maps.layer, values=values, digits=digits + GUARD)
    point = answer.points[0] if answer.critical else None
    if point is None or point.K == 0:
        raise SolutionError(
            f"The kernel of {read.name[:60]!r} does not stay at a critical point with K* > 0, so "
            "that V grows by no constant a layer. It is asked for with a skip. `exponents` has "
            "those with K* = 0."
        )
    pieces = smooth_pieces(read)
    with mp.workdps(digits + GUARD):
        K = mp.mpf(1) if point.K is None else number(point.K)
        means = GaussianMeans(pieces, (SQUARE, FOURTH), max(digits + GUARD, DIGITS + 1))(K)
        kept, drawn = (number(part) for part in maps.parts(point.C_b, point.C_W)[1:])
        noise = means[1][0] - means[0][0] ** 2
        for k, square in _squares(read, K, means[1][0], kept, digits + 2):
            along = sign_of(maps) ** k * kept ** (mp.mpf(k) / 2)
            noise += 2 * square * along / (1 - along)
        growth = drawn**2 * noise / K**2
        last = _last_layer(maps, point, K, dict(zip((SQUARE, FOURTH), means, strict=True)))
        return SkipGrowth(
            read.name,
            maps.layer,
            maps.values,
            point,
            rounded(growth, digits),
            rounded(last / K**2, digits),
        )


def _squares(
    read: Activation, K: Precise, total: Precise, kept: Precise, digits: int
) -> Iterator[tuple[int, Precise]]:
    r"""The numbers k > 0 and $a_k^2$ of σσ, as many as are needed.

    Raises:
        SolutionError: if these are too many.
    """
    pieces = smooth_pieces(read)
    slopes, xi = straight_slopes(pieces), mp.sqrt(kept)
    needed = digits / -mp.log10(xi)
    try:
        if needed > MOST_TERMS:
            raise TooNearError(float(xi))
        if slopes is not None:
            yield from _of_lines([number(slope) ** 2 for slope in slopes], int(needed) + 2)
            return
        squared = [_squared(piece) for piece in pieces]
        coefficients = HermiteSquares(squared, K, total, digits).up_to(float(xi))
        yield from list(enumerate(coefficients))[1:]
    except TooNearError:
        raise SolutionError(
            f"A skip of {float(xi):.15g} is so near to 1 that the sum over depths takes more than "
            "can be had. It is the part of z that a layer keeps. Give a smaller one, or fewer "
            "digits."
        ) from None


def _squared(piece: SmoothPiece) -> SmoothPiece:
    node = joined(piece.node, "*", piece.node)
    return replace(piece, node=node, values=derivatives(node, 1))


def _of_lines(squares: list[Precise], count: int) -> Iterator[tuple[int, Precise]]:
    r"""Those of $a_\pm^2 z^2$ at K = 1."""
    left, right = squares
    for k, half in enumerate(half_moments(count)[2][1:], start=1):
        yield k, ((right + (-1) ** k * left) * half) ** 2


def _last_layer(
    maps: KernelMap,
    point: CriticalPoint,
    K: Precise,
    means: Mapping[Orders, tuple[AnyPrecision, ...]],
) -> Precise:
    """The source of V in the second layer, whose layer below has no noise from before."""
    values = {**dict(maps.values), **dict(point.variances)}
    total = mp.mpf(0)
    for term in derive("V", layer=maps.layer, inputs="one", at=2).terms:
        product = mp.mpf(term.coefficient.numerator) / term.coefficient.denominator
        product *= K ** len(term.tensors)
        for name, power in term.hyperparameters.named:
            product *= number(values.get(name, 1)) ** power
        for bracket in term.brackets:
            orders = tuple(order for _, order in bracket.factors if order != FIELD)
            squares = (len(bracket.factors) - len(orders)) // 2
            product *= means[orders][squares] * K**squares
        total += product
    return total
