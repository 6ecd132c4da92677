"""Brackets at small K for an activation that has a Taylor series on each side of zero only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import factorial, prod

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.smooth_pieces import SmoothPiece, sides
from symdlt.asymptotics.series import FieldElement
from symdlt.fixed_points.kernel_map import Orders
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.moments import double_factorial
from symdlt.fixed_points.products import series_product

# That are looked at for a jump; only one of the first or second is solved.
MOST_DERIVATIVES = 5


def first_jump(pieces: tuple[SmoothPiece, ...]) -> int:
    """The lowest derivative that jumps at zero, or one more than are looked at."""
    left, right = (side.series(MOST_DERIVATIVES) for side in sides(pieces))
    pairs = zip(left, right, strict=True)
    return next((p for p, (a, b) in enumerate(pairs) if not is_zero(a - b)), len(left))


def jump_order(left: Sequence[FieldElement], right: Sequence[FieldElement]) -> int:
    """The lowest derivative that jumps at zero, or the number of those given if none does."""
    pairs = zip(left, right, strict=True)
    return next((p for p, (a, b) in enumerate(pairs) if a - b != 0), len(left))


def divergent(orders: Orders, jump: int) -> bool:
    r"""Whether a bracket contains a product of δ functions that Leibniz' rule does not replace.

    Args:
        orders: of the derivatives in it.
        jump: the lowest derivative that jumps; the next one contains δ, the one after that δ'.
    """
    singular = [k for k in orders if k > jump]
    return len(singular) > 1 or any(k > jump + 2 for k in singular)


def raised(orders: Orders) -> Counter[Orders]:
    """The second derivative of a product, as a sum of products."""
    total: Counter[Orders] = Counter()
    for i in range(len(orders)):
        total[_added(orders, i, i)] += 1
    for i, j in combinations(range(len(orders)), 2):
        total[_added(orders, i, j)] += 2
    return total


def _added(orders: Orders, i: int, j: int) -> Orders:
    return tuple(sorted(k + (n == i) + (n == j) for n, k in enumerate(orders)))


def needed(brackets: Iterable[Orders], jump: int) -> Iterator[Orders]:
    """The divergent brackets that the given ones lead to."""
    for orders in brackets:
        if divergent(orders, jump):
            yield orders
        elif max(orders) == jump + 2:
            yield from needed(set(raised(_lowered(orders))) - {orders}, jump)


def _lowered(orders: Orders) -> Orders:
    return tuple(sorted((*orders[:-1], orders[-1] - 2)))


class OneSidedMeans:
    r"""Brackets as series in $x = \sqrt K$, as limits of those of a smoothed σ.

    Each side of zero has its own Taylor series. Where $\sigma^{(j)}$ jumps from l to r,
    $\sigma^{(j+1)}$ contains δ, and

    $$\langle \sigma^{(j+1)} (\sigma^{(j)})^m f \rangle \ni
      \frac{f(0)}{\sqrt{2\pi K}} \int_l^r s^m ds$$

    A δ′ is replaced by the heat equation $d\langle f\rangle/dK = \tfrac12\langle f''\rangle$.
    Infinite brackets are symbols, which have to cancel.

    Args:
        left: σ_0, σ_1, … to the left of zero, as elements of a ring.
        right: the same to the right.
        root: the element $\sqrt{2/\pi}$.
        order: the highest power of x.
        infinite: an element for each divergent bracket.
    """

    def __init__(
        self,
        left: Sequence[FieldElement],
        right: Sequence[FieldElement],
        root: FieldElement,
        order: int,
        infinite: dict[Orders, FieldElement],
    ) -> None:
        self.left, self.right, self.root, self.order = left, right, root, order
        self.infinite = infinite
        self.jump = jump_order(left, right)
        self.zero = 0 * root
        self.known: dict[tuple[Orders, int], Laurent[FieldElement]] = {}

    @property
    def one(self) -> Laurent[FieldElement]:
        """The expansion of an empty bracket."""
        return Laurent(0, (self.zero + 1,) + (self.zero,) * (self.order + 2))

    def __call__(self, orders: Orders) -> Laurent[FieldElement]:
        """The mean of a product of derivatives, sorted."""
        return self._mean(orders, self.order)

    def _mean(self, orders: Orders, order: int) -> Laurent[FieldElement]:
        if (orders, order) not in self.known:
            self.known[orders, order] = self._computed(orders, order)
        return self.known[orders, order]

    def _computed(self, orders: Orders, order: int) -> Laurent[FieldElement]:
        if orders in self.infinite:
            return Laurent(0, (self.infinite[orders],) + (self.zero,) * order)
        if max(orders) == self.jump + 2:
            return self._by_parts(orders, order)
        regular = Laurent(0, self._regular(orders, order))
        if max(orders) <= self.jump:
            return regular
        spike = self._spike(orders) * self.root / 2
        return Laurent(-1, (spike,) + (self.zero,) * (order + 1)) + regular

    def _by_parts(self, orders: Orders, order: int) -> Laurent[FieldElement]:
        base = _lowered(orders)
        slopes = self._mean(base, order + 2)
        total = Laurent(
            slopes.lowest - 2,
            tuple((slopes.lowest + n) * c for n, c in enumerate(slopes.coefficients)),
        )
        terms = raised(base)
        share = terms.pop(orders)
        for other, count in terms.items():
            total = total + self._mean(other, order).scaled(self.zero - count)
        skipped = next((n for n, c in enumerate(total.coefficients) if c != 0), 0)
        low = min(skipped, -total.lowest) if total.lowest < 0 else 0
        kept = Laurent(total.lowest + low, total.coefficients[low:])
        return Laurent(kept.lowest, tuple(c / share for c in kept.coefficients))

    def _spike(self, orders: Orders) -> FieldElement:
        """What δ multiplies: the integral over the jump times the others at zero."""
        j = self.jump
        count = orders.count(j) + 1
        area = (self.right[j] ** count - self.left[j] ** count) / count
        return prod((self.right[k] for k in orders if k < j), start=area)

    def _regular(self, orders: Orders, order: int) -> tuple[FieldElement, ...]:
        left, right = (self._product(side, orders, order) for side in (self.left, self.right))
        return tuple(
            (b + (-1) ** n * a) * self._moment(n) / 2
            for n, (a, b) in enumerate(zip(left, right, strict=True))
        )

    def _moment(self, n: int) -> FieldElement:
        r"""The mean of $|z|^n$ at K = 1."""
        if n % 2:
            return self.root * (2 ** (n // 2) * factorial(n // 2))
        return self.zero + double_factorial(n - 1)

    def _product(
        self, side: Sequence[FieldElement], orders: Orders, order: int
    ) -> tuple[FieldElement, ...]:
        factors = ([side[k + i] / factorial(i) for i in range(order + 1)] for k in orders)
        return reduce(series_product, factors, (self.zero + 1,) + (self.zero,) * order)
