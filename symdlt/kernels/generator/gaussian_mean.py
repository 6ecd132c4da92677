"""Gaussian means of a kernel, and what makes their terms fewer: central moments, lengths of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import factorial

from symdlt.combinatorics import perfect_matchings
from symdlt.definitions import function_text
from symdlt.derivation import differentiate
from symdlt.kernels.generator.expressions import Monomial, monomial


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


Means = tuple[Mean, ...]
Sources = Mapping[Means, Fraction]


def centred(terms: Sources) -> dict[Means, Fraction]:
    r"""Write products of means with central moments wherever that leaves fewer terms.

    $$\langle AB\rangle - \langle A\rangle\langle B\rangle = \langle A;B\rangle
      = \langle(A-\langle A\rangle)(B-\langle B\rangle)\rangle$$

    and so on for three; the right side keeps its digits where the left side loses them.

    Args:
        terms: coefficients of products of means that share all else.

    >>> four, two = Mean((0, 0, 1, 1)), (Mean((0, 0)), Mean((1, 1)))
    >>> centred({(four,): Fraction(1), two: Fraction(-1)})
    {(Mean(<s s; s' s'>),): Fraction(1, 1)}
    """
    result = dict(terms)
    for orders in (6, 4):
        for means in sorted(terms):
            if len(means) == 1 and len(means[0].orders) == orders and not means[0].derivatives:
                result = _best(result, means[0])
    return result


def _best(terms: dict[Means, Fraction], mean: Mean) -> dict[Means, Fraction]:
    number = terms.get((mean,))
    best = terms
    pairings = {
        tuple(sorted(tuple(sorted(pair)) for pair in matching))
        for matching in perfect_matchings(mean.orders)
    }
    for groups in sorted(pairings):
        if number is None:
            break
        candidate = dict(terms)
        for key, factor in expanded(groups):
            candidate[key] = candidate.get(key, Fraction(0)) - number * factor
        candidate[central(groups),] = candidate.get((central(groups),), Fraction(0)) + number
        candidate = {key: value for key, value in candidate.items() if value}
        if len(candidate) < len(best):
            best = candidate
    return best


@lru_cache(maxsize=1 << 10)
def expanded(groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[Means, Fraction], ...]:
    """A joint central moment in terms of means: expand Π(A - <A>)."""
    terms: dict[Means, Fraction] = {}
    indices = range(len(groups))
    for size in range(len(groups) + 1):
        for kept in combinations(indices, size):
            alone = [Mean(groups[k]) for k in indices if k not in kept]
            joined = tuple(sorted(order for k in kept for order in groups[k]))
            key = tuple(sorted([*alone, Mean(joined)] if kept else alone))
            terms[key] = terms.get(key, Fraction(0)) + (-1) ** len(alone)
    return tuple(sorted((key, value) for key, value in terms.items() if value))


def of_unit_length(
    terms: dict[Monomial, Fraction], lengths: Mapping[str, Mapping[Monomial, Fraction]]
) -> dict[Monomial, Fraction]:
    """Terms for one input, where a scale squared times the mean square of its field is one.

    Mean squares that are sums are left as they are.

    >>> terms = {monomial({"c": 4, "G": 2}): Fraction(-2), monomial({"c": 2, "V": 1}): Fraction(3)}
    >>> of_unit_length(terms, {"c": {monomial({"G": 1}): Fraction(1)}})
    {(): Fraction(-2, 1), (('V', 1), ('c', 2)): Fraction(3, 1)}
    """
    for scale, length in lengths.items():
        if len(length) > 1:
            continue
        ((product, number),) = length.items()
        one = {scale: 2, **dict(product)}
        found: dict[Monomial, Fraction] = {}
        for key, value in terms.items():
            powers = Counter(dict(key))
            times = min(powers[name] // power for name, power in one.items())
            for name, power in one.items():
                powers[name] -= power * times
            rest = monomial(powers)
            found[rest] = found.get(rest, Fraction(0)) + value / number**times
        terms = {key: value for key, value in found.items() if value}
    return terms
