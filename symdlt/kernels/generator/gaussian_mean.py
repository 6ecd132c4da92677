"""One Gaussian mean of a kernel, by the orders of what is averaged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial

from symdlt.definitions import function_text
from symdlt.derivation import differentiate


@dataclass(frozen=True, slots=True, order=True)
class Mean:
    r"""A Gaussian mean $\frac{1}{k!}\langle\partial^k(\sigma^{(a)}\sigma^{(b)}\cdots)\rangle_K$.

    Attributes:
        orders: the derivative orders a, b, …, ascending.
        derivatives: k.
        groups: if given, the σ's in groups whose joint central moment is meant; k is then 0.

    >>> mean = Mean((0, 0), 2)
    >>> mean.name, mean.text, [(m.name, str(number)) for m, number in mean.plain]
    ('d2_s0_s0', 'd2<s s>', [('s0_s2', '1'), ('s1_s1', '1')])
    >>> central(((1, 1), (0, 0))).text
    "<s s; s' s'>"
    """

    orders: tuple[int, ...]
    derivatives: int = 0
    groups: tuple[tuple[int, ...], ...] = ()

    def __repr__(self) -> str:
        return f"Mean({self.text})"

    @property
    def name(self) -> str:
        """The mean as an identifier."""
        body = "_".join(f"s{order}" for order in self.orders)
        if self.groups:
            return "c_" + "__".join(Mean(group).name for group in self.groups)
        return f"d{self.derivatives}_{body}" if self.derivatives else body

    @property
    def text(self) -> str:
        """The mean as it stands in equations."""
        groups = self.groups or (self.orders,)
        body = "; ".join(" ".join(map(function_text, group)) for group in groups)
        return f"d{self.derivatives}<{body}>" if self.derivatives else f"<{body}>"

    @property
    def plain(self) -> tuple[tuple[Mean, Fraction], ...]:
        """The sum of means without outer derivatives that it equals."""
        return _plain(self)


@lru_cache(maxsize=1 << 12)
def _plain(mean: Mean) -> tuple[tuple[Mean, Fraction], ...]:
    if mean.groups:
        return ((mean, Fraction(1)),)
    factors = tuple((0, order) for order in mean.orders)
    images = differentiate(factors, (0,) * mean.derivatives)
    return tuple(
        (Mean(tuple(order for _, order in image)), Fraction(count, factorial(mean.derivatives)))
        for image, count in images
    )


def central(groups: Iterable[tuple[int, ...]]) -> Mean:
    """The joint central moment of products of σ's."""
    ordered = tuple(sorted(groups))
    return Mean(tuple(sorted(order for group in ordered for order in group)), 0, ordered)
