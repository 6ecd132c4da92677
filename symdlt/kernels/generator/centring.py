"""Central moments in place of differences of means that nearly cancel."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from symdlt.combinatorics import perfect_matchings
from symdlt.kernels.generator.representation import Mean, central

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
