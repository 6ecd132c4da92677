"""Stochastic forward equations: a forest at layer ℓ+1 in terms of forests at layer ℓ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb, inf, prod
from reprlib import repr as short_repr

from symdlt.errors import OrderError, require
from symdlt.networks import Forest

Edge = tuple[int, int]
Block = tuple[Edge, ...]

MOST_TERMS = 1_000_000
"""About a gigabyte of them, at 1 kB each."""


@dataclass(frozen=True, slots=True)
class ForwardTerm:
    r"""One term of a stochastic forward equation.

    A new edge carries a parameter of layer $\ell+1$, every other edge one from below. The old
    edges at a vertex are split into blocks (Faà di Bruno): a vertex with k blocks carries
    $\sigma^{(k)}$, and each block is one vertex of the forest of layer $\ell$.

    Attributes:
        new_weights: edges whose parameter is a weight of the new layer.
        new_biases: edges whose parameter is a bias of the new layer.
        blocks: for each vertex, its old edges split into blocks.
    """

    new_weights: tuple[Edge, ...]
    new_biases: tuple[Edge, ...]
    blocks: tuple[tuple[Block, ...], ...]

    @property
    def lower_vertices(self) -> tuple[tuple[int, int], ...]:
        """The vertices of layer ℓ as (vertex above, number of its block)."""
        return tuple((v, k) for v, parts in enumerate(self.blocks) for k in range(len(parts)))

    @property
    def lower_edges(self) -> tuple[Edge, ...]:
        """The old edges between positions in `lower_vertices`."""
        ends: dict[Edge, list[int]] = {}
        position = 0
        for parts in self.blocks:
            for block in parts:
                for edge in block:
                    ends.setdefault(edge, []).append(position)
                position += 1
        return tuple((low, high) for low, high in (ends[edge] for edge in sorted(ends)))

    def carries_weight(self, vertex: int) -> bool:
        """Whether the vertex brings a factor W of the new layer."""
        fresh = (*self.new_weights, *self.new_biases)
        return all(vertex not in edge for edge in fresh)


@dataclass(frozen=True, slots=True)
class ForwardEquation:
    r"""The forest at layer $\ell+1$ as a sum over layer $\ell$ (PDLT 8.8, ∞.174, ∞.175).

    Attributes:
        forest: the observable.
        terms: its terms, first those with the most parameters of the new layer.

    >>> from symdlt.networks import NTK
    >>> print(forward_equation(NTK))
    H_{i0 i1; d0 d1}[l+1] =
      + lambda_b delta_{i0 i1}
      + lambda_W/n delta_{i0 i1} sum_{j0} s_{j0;d0} s_{j0;d1}
      + sum_{j0 j1} W_{i0 j0} W_{i1 j1} s'_{j0;d0} s'_{j1;d1} H_{j0 j1; d0 d1}
    """

    forest: Forest
    terms: tuple[ForwardTerm, ...]

    def __repr__(self) -> str:
        return f"ForwardEquation({self.forest!r}, terms={len(self.terms)})"

    def __str__(self) -> str:
        from symdlt.forward._printing import equation_text

        return equation_text(self)

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)


def forward_equation(forest: Forest) -> ForwardEquation:
    r"""Derive the stochastic forward equation of a forest.

    From $z^{\ell+1}_{i;\delta} = b_i + \sum_j W_{ij}\sigma(z^{\ell}_{j;\delta})$ by the chain
    rule. A new weight edge u–v gives $(\lambda_W/n_\ell)\,\delta_{i_u i_v}$ and one neuron sum
    for both ends; a vertex has at most one, because z is linear in W. A new bias edge needs
    both its ends to have no other derivative.

    Args:
        forest: any observable.

    Raises:
        OrderError: if it would have more than a million terms.

    Returns:
        The equation; star and path of four give PDLT (∞.174) and (∞.175).

    >>> from symdlt.networks import DDNTK_I
    >>> len(forward_equation(DDNTK_I).terms)
    11
    """
    require(forest, Forest, "a forest", "Give one such as Forest(2, ((0, 1),)).")
    if _old_terms(forest) > MOST_TERMS:
        raise OrderError(
            f"The forward equation of {short_repr(str(forest))} has more than {MOST_TERMS:,} "
            "terms. At each vertex there is one for each way to split its edges into blocks. "
            "Give a forest of lower degrees."
        )
    return _forward_equation(forest)


def _old_terms(forest: Forest) -> float:
    """The terms with old edges alone, times three choices for each edge that stands alone."""
    bell = [1]
    for d in range(max(forest.degrees, default=0)):
        bell.append(sum(comb(d, k) * bell[k] for k in range(d + 1)))
        if bell[-1] > MOST_TERMS:
            return inf
    alone = sum(forest.degrees[u] == forest.degrees[v] == 1 for u, v in forest.edges)
    total: int = prod(bell[d] for d in forest.degrees) * 3**alone
    return total


@lru_cache(maxsize=1024)
def _forward_equation(forest: Forest) -> ForwardEquation:
    terms: list[ForwardTerm] = []
    for weights, biases in _fresh_edges(forest):
        old = tuple(e for e in forest.edges if e not in weights and e not in biases)
        choices = [
            tuple(set_partitions(tuple(e for e in old if v in e))) for v in range(forest.vertices)
        ]
        terms.extend(ForwardTerm(weights, biases, blocks) for blocks in product(*choices))
    return ForwardEquation(forest, tuple(terms))


def _fresh_edges(forest: Forest) -> Iterator[tuple[tuple[Edge, ...], tuple[Edge, ...]]]:
    """Which edges carry new weights and which new biases, the most new ones first."""
    degrees = forest.degrees
    choices = []
    for u, v in forest.edges:
        alone = degrees[u] == degrees[v] == 1
        choices.append(("bias", "weight", "old") if alone else ("weight", "old"))
    for kinds in product(*choices):
        weights = tuple(e for e, kind in zip(forest.edges, kinds, strict=True) if kind == "weight")
        biases = tuple(e for e, kind in zip(forest.edges, kinds, strict=True) if kind == "bias")
        ends = [v for edge in weights for v in edge]
        if len(ends) == len(set(ends)):
            yield weights, biases


@lru_cache(maxsize=4096)
def set_partitions(items: tuple[Edge, ...]) -> tuple[tuple[Block, ...], ...]:
    """All ways to split the items into blocks, coarsest first; the empty set has one.

    >>> len(set_partitions(((0, 1), (0, 2), (0, 3))))
    5
    """
    if not items:
        return ((),)
    first, rest = items[0], items[1:]
    result: list[tuple[Block, ...]] = []
    for smaller in set_partitions(rest):
        for k, block in enumerate(smaller):
            result.append(((first, *block), *smaller[:k], *smaller[k + 1 :]))
        result.append(((first,), *smaller))
    return tuple(sorted(result, key=lambda blocks: (len(blocks), blocks)))
