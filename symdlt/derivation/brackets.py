"""Gaussian brackets ⟨σ^(k) σ^(l) …⟩ and the derivatives that act on them."""

from __future__ import annotations

from functools import lru_cache

from symdlt.definitions import FIELD

Factor = tuple[int, int]
Factors = tuple[Factor, ...]


@lru_cache(maxsize=1 << 16)
def differentiate(factors: Factors, labels: tuple[int, ...]) -> tuple[tuple[Factors, int], ...]:
    r"""Apply $\prod \partial/\partial z_\delta$ to a product of $\sigma^{(k)}(z_\delta)$.

    Args:
        factors: pairs (sample, k), sorted, one for each $\sigma^{(k)}(z_\delta)$; k is `FIELD`
            for $z_\delta$ itself.
        labels: the samples to differentiate with respect to, sorted.

    Returns:
        The products that result, sorted, each with its integer coefficient.

    >>> differentiate(((0, 0), (0, 0)), (0, 0))
    ((((0, 0), (0, 2)), 2), (((0, 1), (0, 1)), 2))
    >>> differentiate(((0, FIELD), (0, 0)), (0,))
    ((((0, -1), (0, 1)), 1), (((0, 0),), 1))
    """
    if not labels:
        return ((factors, 1),)
    result: dict[Factors, int] = {}
    *rest, last = labels
    for product, count in differentiate(factors, tuple(rest)):
        for position, (sample, order) in enumerate(product):
            if sample == last:
                raised = () if order == FIELD else ((sample, order + 1),)
                image = tuple(sorted(product[:position] + raised + product[position + 1 :]))
                result[image] = result.get(image, 0) + count
    return tuple(sorted(result.items()))
