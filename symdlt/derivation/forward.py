"""Stochastic forward equations: a forest at layer ℓ+1 in terms of forests at layer ℓ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb, inf, prod
from reprlib import repr as short_repr

from symdlt.combinatorics import set_partitions
from symdlt.definitions import DENSE, FIELD, Forest, Layer
from symdlt.derivation.forward_terms import ANY, Block, Edge, ForwardTerm, equation_text
from symdlt.errors import OrderError, require

MOST_TERMS = 1_000_000  # about a gigabyte of them, at 1 kB each


@dataclass(frozen=True, slots=True)
class ForwardEquation:
    r"""The forest at layer $\ell+1$ as a sum over layer $\ell$ (PDLT 8.8, ∞.174, ∞.175).

    Attributes:
        forest: the observable.
        terms: its terms, first those with the most parameters of the new layer.
        layer: how layer ℓ+1 is made of layer ℓ.

    >>> from symdlt.definitions import NTK
    >>> print(forward_equation(NTK))
    H_{i0 i1; d0 d1}[l+1] =
      + lambda_b delta_{i0 i1}
      + lambda_W/n delta_{i0 i1} sum_{j0} s_{j0;d0} s_{j0;d1}
      + sum_{j0 j1} W_{i0 j0} W_{i1 j1} s'_{j0;d0} s'_{j1;d1} H_{j0 j1; d0 d1}
    """

    forest: Forest
    terms: tuple[ForwardTerm, ...]
    layer: Layer = DENSE

    def __repr__(self) -> str:
        return f"ForwardEquation({self.forest!r}, terms={len(self.terms)})"

    def __str__(self) -> str:
        return equation_text(self.forest, self.terms, self.layer)

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)


def forward_equation(forest: Forest, layer: Layer = DENSE) -> ForwardEquation:
    r"""Derive the stochastic forward equation of a forest.

    From the definition of the layer, $z^{\ell+1}_{i;\delta} = b_i + \sum_j W_{ij}
    \sigma(z^{\ell}_{j;\delta})$ for the dense one, by the chain rule. A new weight edge u–v gives
    $(\lambda_W/n_\ell)\,\delta_{i_u i_v}$ and one neuron sum for both ends; a vertex has at most
    one, because z is linear in W. A new bias edge needs both its ends to have no other derivative.

    Args:
        forest: any observable.
        layer: the definition of the layer.

    Raises:
        OrderError: if it would have more than a million terms.

    Returns:
        The equation; star and path of four give PDLT (∞.174) and (∞.175).

    >>> from symdlt.definitions import DDNTK_I
    >>> len(forward_equation(DDNTK_I).terms)
    11
    """
    require(forest, Forest, "a forest", "Give one such as Forest(2, ((0, 1),)).")
    require(layer, Layer, "a layer", 'Give one such as Layer("z\' = b + W s(z)").')
    if _old_terms(forest) > MOST_TERMS:
        raise OrderError(
            f"The forward equation of {short_repr(str(forest))} has more than {MOST_TERMS:,} "
            "terms. At each vertex there is one for each way to split its edges into blocks. "
            "Give a forest of lower degrees."
        )
    return _forward_equation(forest, layer)


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
def _forward_equation(forest: Forest, layer: Layer) -> ForwardEquation:
    terms: list[ForwardTerm] = []
    for new in _new_edges(forest, layer):
        home = {v: branch for edge, branch in new for v in edge}
        consumed = {edge for edge, _ in new}
        old = tuple(edge for edge in forest.edges if edge not in consumed)
        choices = [
            _vertex_choices(layer, home.get(v), tuple(e for e in old if v in e))
            for v in range(forest.vertices)
        ]
        for chosen in product(*choices):
            branches, blocks = zip(*chosen, strict=True) if chosen else ((), ())
            terms.append(ForwardTerm(new, branches, blocks))
    return ForwardEquation(forest, tuple(terms), layer)


def _vertex_choices(
    layer: Layer, branch: int | None, old: tuple[Edge, ...]
) -> list[tuple[int, tuple[Block, ...]]]:
    """The branches a vertex can take, each with the ways to split its old edges into blocks."""
    if branch is None and not old:
        return [(ANY, ())]
    numbers = range(len(layer.branches)) if branch is None else (branch,)
    coarsest_first = sorted(set_partitions(old), key=lambda blocks: (len(blocks), blocks))
    return [
        (number, blocks)
        for number in numbers
        if not old or layer.branches[number].function is not None
        for blocks in coarsest_first
        # z itself has one derivative and no second one
        if layer.branches[number].order != FIELD or len(blocks) <= 1
    ]


def _new_edges(forest: Forest, layer: Layer) -> Iterator[tuple[tuple[Edge, int], ...]]:
    """Which edges carry parameters of the new layer, the most new ones first.

    A parameter of a branch without a function of layer ℓ leaves nothing to differentiate, so
    that both its ends must have no other edge.
    """
    degrees = forest.degrees
    drawn = [
        (k, branch.function is None) for k, branch in enumerate(layer.branches) if branch.tensor
    ]
    choices: list[list[int | None]] = []
    for u, v in forest.edges:
        alone = degrees[u] == degrees[v] == 1
        choices.append([*(k for k, bare in drawn if alone or not bare), None])
    for kinds in product(*choices):
        new = [(e, k) for e, k in zip(forest.edges, kinds, strict=True) if k is not None]
        ends = [v for edge, _ in new for v in edge]
        if len(ends) == len(set(ends)):
            yield tuple(sorted(new, key=lambda each: each[1]))
