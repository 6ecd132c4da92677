"""Stochastic forward equations: a forest at layer ℓ+1 in terms of forests at layer ℓ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb, inf, prod
from reprlib import repr as short_repr
from typing import overload

from symdlt.combinatorics import set_partitions
from symdlt.definitions import (
    ABOVE,
    DENSE,
    FIELD,
    Forest,
    Layer,
    NormStep,
    SiteStep,
    Stack,
    read_layer_definition,
    steps_of,
)
from symdlt.derivation.forward_steps import FieldTree, step_forward_terms
from symdlt.derivation.forward_terms import ANY, Block, Edge, ForwardTerm, equation_text
from symdlt.derivation.norm_forward import NormForward, norm_choices, norm_forward
from symdlt.derivation.step_forward import StepForward, tree_order
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


@dataclass(frozen=True, slots=True)
class StackForwardEquation:
    r"""The forest at layer $\ell+1$, for a layer that makes several fields one after the other.

    The first equation gives it in the fields that the last step reads and in trees of these, the
    next ones what stands in it, down to z and its trees at layer $\ell$.

    Attributes:
        forest: the observable.
        layer: the layer.
        equations: its own first, then those of the fields inside the layer.

    >>> from symdlt.definitions import NTK
    >>> gate = forward_equation(NTK, "u = U z; v = V z; z' = W s(u) v")
    >>> gate
    StackForwardEquation(Forest(2, ((0, 1),)), equations=6, terms=12)
    >>> print(gate.equations[-2])
    H^uv_{i0 i1; d0 d1} =
      + sum_{j0 j1} U_{i0 j0} V_{i1 j1} H_{j0 j1; d0 d1}
    """

    forest: Forest
    layer: Stack
    equations: tuple[StepForward | NormForward, ...]

    def __repr__(self) -> str:
        terms = sum(len(one.terms) for one in self.equations)
        return (
            f"StackForwardEquation({self.forest!r}, equations={len(self.equations)}, terms={terms})"
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.equations))

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)


@overload
def forward_equation(forest: Forest, layer: Layer = ...) -> ForwardEquation: ...


@overload
def forward_equation(forest: Forest, layer: Stack) -> StackForwardEquation: ...


@overload
def forward_equation(forest: Forest, layer: str) -> ForwardEquation | StackForwardEquation: ...


def forward_equation(
    forest: Forest, layer: Layer | Stack | str = DENSE
) -> ForwardEquation | StackForwardEquation:
    r"""Derive the stochastic forward equation of a forest.

    From the definition of the layer, $z^{\ell+1}_{i;\delta} = b_i + \sum_j W_{ij}
    \sigma(z^{\ell}_{j;\delta})$ for the dense one, by the chain rule. A new weight edge u–v gives
    $(\lambda_W/n_\ell)\,\delta_{i_u i_v}$ and one neuron sum for both ends; a vertex has at most
    one, because z is linear in W. A new bias edge needs both its ends to have no other derivative.
    In a layer of several fields old edges are differentiated along each field that is read, and an
    edge is new in the weights of one field. A norm reads all neurons, and old edges go along each.

    Args:
        forest: any observable.
        layer: the definition of the layer, or its short form. Of a `Stack` a chain of steps; it
            may keep z, since the equation holds before any average, and have weights of any law,
            norms, whose fields are multiplied with c_{d0}, and windows: d0+q0 is then the position
            that the weights of the offset q0 read.

    Raises:
        LayerError: for a layer that cannot be read, or a stack that is no chain of steps.
        OrderError: if it would have more than a million terms.

    Returns:
        The equation; star and path of four give PDLT (∞.174) and (∞.175). Of a `Stack` those of its
        fields, one step after the other.

    >>> from symdlt.definitions import DDNTK_I, PREACTIVATION
    >>> len(forward_equation(DDNTK_I).terms)
    11
    >>> print(forward_equation(PREACTIVATION, "h = U s(z); z' = xi z + b + W h"))
    z_{i0; d0}[l+1] =
      + sum_{j0} W_{i0 j0} h_{j0;d0}
      + xi z_{i0;d0}
      + b_{i0}
    h_{i0; d0} =
      + sum_{j0} U_{i0 j0} s(z)_{j0;d0}
    >>> print(forward_equation(PREACTIVATION, "z' = b + W[3] s(z)"))
    z_{i0; d0}[l+1] =
      + sum_{j0 q0} W_{i0 j0 q0} s(z)_{j0;d0+q0}
      + b_{i0}
    >>> print(forward_equation(PREACTIVATION, "z' = W s(rmsnorm(z))"))
    z_{i0; d0}[l+1] =
      + sum_{j0} W_{i0 j0} s(rmsnorm(z))_{j0;d0}
    rmsnorm(z)_{i0; d0} =
      + c_{d0} z_{i0;d0}
    c_{d0}^-2 =
      + 1/n sum_{j0} z_{j0;d0}^2
    """
    require(forest, Forest, "a forest", "Give one such as Forest(2, ((0, 1),)).")
    definition = read_layer_definition(layer)
    require(definition, Layer | Stack, "a layer", 'Give one such as Layer("z\' = b + W s(z)").')
    if isinstance(definition, Stack):
        return _of_stack(forest, definition)
    _check_size(forest, 1)
    return _forward_equation(forest, definition)


def _check_size(forest: Forest, fields: int) -> None:
    """Refuse a forest whose equation would not fit into memory."""
    if _old_terms(forest, fields) > MOST_TERMS:
        has = "has" if fields == 1 else "can have"  # not all fields are read by each branch
        raise _too_large(forest, has)


def _too_large(forest: Forest, has: str) -> OrderError:
    return OrderError(
        f"The forward equation of {short_repr(str(forest))} {has} more than {MOST_TERMS:,} "
        "terms. At each vertex there is one for each way to split its edges into blocks. "
        "Give a forest of lower degrees."
    )


def _old_terms(forest: Forest, fields: int) -> float:
    """The terms with old edges alone, times three choices for each edge that stands alone.

    A vertex splits its edges into blocks, each with one of the fields; the numbers of all ways,
    those of Bell for one field, follow from each other by where the last edge goes.
    """
    ways = [1]
    for d in range(max(forest.degrees, default=0)):
        ways.append(fields * sum(comb(d, k) * ways[k] for k in range(d + 1)))
        if ways[-1] > MOST_TERMS:
            return inf
    alone = sum(forest.degrees[u] == forest.degrees[v] == 1 for u, v in forest.edges)
    total: int = prod(ways[d] for d in forest.degrees) * 3**alone
    return total


@lru_cache(maxsize=1024)
def _of_stack(forest: Forest, layer: Stack) -> StackForwardEquation:
    steps = steps_of(layer, written=True)
    top = steps[-1].above.index(ABOVE)
    equations, waiting = _of_norms([(forest, (top,) * forest.vertices)], steps[-1].norms_above)
    for step in reversed(steps):
        made = [_of_step(*tree, step) for tree in waiting]
        needed = sorted({tree for one in made for tree in one.needs}, key=tree_order)
        normed, waiting = _of_norms(needed, step.norms)
        equations += [one for one in made if not one.trivial] + normed
    return StackForwardEquation(forest, layer, tuple(equations))


def _of_norms(
    trees: list[FieldTree], norms: tuple[NormStep, ...]
) -> tuple[list[StepForward | NormForward], list[FieldTree]]:
    """The equations of trees with normalised fields, and the trees that are left."""
    equations: list[StepForward | NormForward] = []
    for norm in reversed(norms):
        done: set[FieldTree] = set()
        while own := [tree for tree in trees if norm.field in tree[1]]:
            made = [_of_norm(*tree, norm) for tree in own]
            done |= {*own}
            needed = {tree for one in made for tree in one.needs}
            trees = sorted({*trees, *needed} - done, key=tree_order)
            equations += made
    return equations, trees


def _of_step(forest: Forest, fields: tuple[int, ...], step: SiteStep) -> StepForward:
    _check_size(forest, len(step.below))
    return StepForward(forest, fields, step, tuple(step_forward_terms(forest, fields, step)))


def _of_norm(forest: Forest, fields: tuple[int, ...], step: NormStep) -> NormForward:
    _check_size(forest, 2)  # its derivatives have as many terms as those along two fields, or more
    choices = norm_choices(forest, fields, step)
    if prod(map(len, choices)) > MOST_TERMS:
        raise _too_large(forest, "has")
    return norm_forward(forest, fields, step, choices)


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
