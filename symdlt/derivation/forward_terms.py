"""Terms of stochastic forward equations, and their plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from symdlt.algebra import Polynomial
from symdlt.combinatorics import connected_components
from symdlt.definitions import (
    FIELD,
    WIDTH,
    Branch,
    Forest,
    Layer,
    ascii_name,
    function_text,
)

Edge = tuple[int, int]
Block = tuple[Edge, ...]

ANY = -1  # the branch of a vertex that may still take each of them


@dataclass(frozen=True, slots=True)
class ForwardTerm:
    r"""One term of a stochastic forward equation.

    A new edge carries a parameter of layer $\ell+1$, every other edge one from below. The old
    edges at a vertex are split into blocks (Faà di Bruno): a vertex with k blocks carries the k-th
    derivative of what its branch of the layer reads, for instance $\sigma^{(k)}$, and each block
    is one vertex of the forest of layer $\ell$.

    Attributes:
        new: the edges whose parameter is of the new layer, each with the number of its branch.
        branches: for each vertex the branch of the layer that it takes; `ANY` for a vertex
            without edges, which stands for the sum of all of them.
        blocks: for each vertex, its old edges split into blocks.
        fields: in a step of a stack, for each vertex the number of the field that each of its
            blocks differentiates along; left out where layer ℓ has one field.
    """

    new: tuple[tuple[Edge, int], ...]
    branches: tuple[int, ...]
    blocks: tuple[tuple[Block, ...], ...]
    fields: tuple[tuple[int, ...], ...] = ()

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

    def is_new(self, vertex: int) -> bool:
        """Whether an edge at the vertex has a parameter of the new layer."""
        return any(vertex in edge for edge, _ in self.new)


def spelled_out(layer: Layer, term: ForwardTerm) -> Iterator[ForwardTerm]:
    """The term, once for every choice of a branch at the vertices without derivatives.

    Branches that read layer ℓ come before biases, the first vertex changing fastest.
    """
    reading = [k for k, branch in enumerate(layer.branches) if branch.function is not None]
    options = reading + [k for k, branch in enumerate(layer.branches) if branch.function is None]
    free = [v for v, branch in enumerate(term.branches) if branch == ANY]
    for choice in product(options, repeat=len(free)):
        taken = dict(zip(free, reversed(choice), strict=True))
        branches = tuple(taken.get(v, branch) for v, branch in enumerate(term.branches))
        yield replace(term, branches=branches)


def shared_neurons(term: ForwardTerm) -> dict[int, int]:
    """For each vertex the number of its neuron of layer ℓ, which a new edge shares."""
    neuron = {v: v for v in range(len(term.branches))}
    neuron.update((v, u) for (u, v), _ in term.new)
    return neuron


def equation_text(forest: Forest, terms: Iterable[ForwardTerm], layer: Layer) -> str:
    """A whole equation, one term a line, neurons i above and j below."""
    trees = [_tree(forest.edges, tree, "i", tree) for tree in forest.components]
    head = " ".join(text.replace("}", "}[l+1]") for text in trees)
    lines = [f"{head} ="]
    for term in terms:
        lines.extend(f"  + {_text(layer, one)}" for one in spelled_out(layer, term))
    return "\n".join(lines)


def _text(layer: Layer, term: ForwardTerm) -> str:
    neuron = shared_neurons(term)
    taken = [layer.branches[k] for k in term.branches]
    reading = [v for v, branch in enumerate(taken) if branch.function is not None]
    summed = [v for v in reading if taken[v].summed]
    place = {v: f"j{neuron[v]}" if taken[v].summed else f"i{v}" for v in reading}
    parts = [_spelled(layer.branches[k].rate) for _, k in term.new]
    parts += [f"delta_{{i{u} i{v}}}" for (u, v), _ in term.new]
    parts += [_spelled(b.coefficient) for b in taken if b.coefficient != 1]
    drawn = [v for v, branch in enumerate(taken) if branch.tensor and not term.is_new(v)]
    parts += [f"{_letter(taken[v])}_{{i{v}}}" for v in drawn if not taken[v].summed]
    if summed:
        names = " ".join(f"j{v}" for v in sorted({neuron[v] for v in summed}))
        parts.append(f"sum_{{{names}}}")
    parts += [f"{_letter(taken[v])}_{{i{v} j{v}}}" for v in drawn if taken[v].summed]
    for v in reading:
        order = taken[v].order + len(term.blocks[v])
        if taken[v].order != FIELD or order == FIELD:  # a differentiated z is 1
            parts.append(f"{function_text(order)}_{{{place[v]};d{v}}}")
    above = [v for v, _ in term.lower_vertices]
    for tree in connected_components(range(len(above)), term.lower_edges):
        parts.append(_tree(term.lower_edges, tree, "j", above, place))
    return " ".join(parts)


def _letter(branch: Branch) -> str:
    return ascii_name(branch.tensor.name) if branch.tensor else ""


def _spelled(factor: Polynomial) -> str:
    """A constant of the layer in ASCII, the width of layer ℓ as n."""
    return ascii_name(str(factor).replace(WIDTH, "n").replace("²", "^2"))


def _tree(
    edges: tuple[tuple[int, int], ...],
    tree: tuple[int, ...],
    letter: str,
    above: tuple[int, ...] | list[int],
    place: dict[int, str] | None = None,
) -> str:
    """A tree by the name of its shape, its vertices in the order of the definition."""
    where = {v: above[v] for v in tree} if place is not None else {v: v for v in tree}
    inside = tuple(e for e in edges if e[0] in tree)
    order, head = standard_order(inside, tree)
    places = [where[v] for v in order]
    neurons = " ".join(place[p] if place else f"{letter}{p}" for p in places)
    samples = " ".join(f"d{p}" for p in places)
    return f"{head}_{{{neurons}; {samples}}}"


def standard_order(
    edges: tuple[Edge, ...], tree: tuple[int, ...], fields: tuple[int, ...] | None = None
) -> tuple[tuple[int, ...], str]:
    """The vertices of a tree in the order of its indices, and the name of its shape.

    High degrees come first, then low numbers of fields where vertices have some; in a path of
    four, the ends follow in the order of their neighbours.

    >>> standard_order(((0, 1), (1, 2), (2, 3)), (0, 1, 2, 3))
    ((1, 2, 0, 3), 'ddII')
    """
    near: dict[int, list[int]] = {v: [] for v in tree}
    for u, v in edges:
        near[u].append(v)
        near[v].append(u)

    def field(vertex: int) -> int:
        return 0 if fields is None else fields[vertex]

    degrees = sorted(len(ends) for ends in near.values())
    if degrees == [1, 1, 2, 2]:
        middle = sorted(v for v in tree if len(near[v]) == 2)
        end = {v: next(u for u in near[v] if len(near[u]) == 1) for v in middle}
        first, second = sorted(middle, key=lambda v: (field(v), field(end[v]), v))
        return (first, second, end[first], end[second]), "ddII"
    order = tuple(sorted(tree, key=lambda v: (-len(near[v]), field(v), v)))
    shapes = {(0,): "z", (1, 1): "H", (1, 1, 2): "dH", (1, 1, 1, 3): "ddI"}
    if tuple(degrees) in shapes:
        return order, shapes[tuple(degrees)]
    place = {v: k for k, v in enumerate(order)}
    links = sorted(tuple(sorted((place[u], place[v]))) for u, v in edges)
    return order, "X(" + ",".join(f"{u}-{v}" for u, v in links) + ")"
