"""Tree observables: their names, and the order of their vertices in subscripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from symdlt.formats.latex.notation import Conventions

Edge = tuple[int, int]

_NAMES = {
    (0,): "z",
    (1, 1): "H",
    (1, 1, 2): r"\mathrm{d}H",
    (1, 1, 1, 3): r"\mathrm{dd}_{\mathrm{I}}H",
    (1, 1, 2, 2): r"\mathrm{dd}_{\mathrm{II}}H",
}


def tree_text(
    edges: Sequence[Edge],
    tree: tuple[int, ...],
    neurons: Sequence[str],
    labels: Sequence[int] | None,
    layer: str,
    use: Conventions,
    deviation: bool = False,
    shifts: Mapping[int, str] = MappingProxyType({}),
) -> str:
    r"""A tree observable with its neuron and sample indices.

    Args:
        edges: edges between vertices; those outside the tree are left out.
        tree: its vertices.
        neurons: the neuron index of each of these.
        labels: their samples, or None if there is only one input.
        layer: the superscript of the layer.
        use: choices of notation.
        deviation: whether it is the deviation from the mean, with a $\Delta$.
        shifts: how far positions are from those of samples.

    >>> edges, names = [(0, 1), (0, 2)], ["i_0", "i_1", "i_2"]
    >>> tree_text(edges, (0, 1, 2), names, (0, 1, 2), "", Conventions(sample=""))
    '\\widehat{\\mathrm{d}H}_{i_0i_1i_2;012}'
    """
    place = {v: k for k, v in enumerate(tree)}
    inside = tuple((place[u], place[v]) for u, v in edges if u in place)
    name, order = _named(inside, len(tree))
    index = "".join([neurons[k] for k in order])
    if labels is not None:
        index += ";" + use.places([labels[k] for k in order], shifts)
    if name == "z":
        return f"z_{{{index}}}{layer}"
    if name is None:
        rank = {v: k for k, v in enumerate(order)}
        links = sorted(tuple(sorted((rank[u], rank[v]))) for u, v in inside)
        listed = ",".join(f"{u}{v}" for u, v in links)
        name, layer = "X", f"^{{[{listed}]{layer[2:-1]}}}"
    delta = r"\Delta " if deviation else ""
    return rf"\widehat{{{delta}{name}}}_{{{index}}}{layer}"


@lru_cache(maxsize=1024)
def _named(edges: tuple[Edge, ...], size: int) -> tuple[str | None, tuple[int, ...]]:
    """The name of a tree, if it has one, and its vertices in the order of its indices.

    High degrees come first; in a path of four, the ends follow in the order of their neighbours.
    """
    near = {v: [u if w == v else w for u, w in edges if v in (u, w)] for v in range(size)}
    order = tuple(sorted(near, key=lambda v: (-len(near[v]), v)))
    degrees = tuple(sorted(len(ends) for ends in near.values()))
    if degrees == (1, 1, 2, 2):
        order = order[:2] + tuple(next(u for u in near[v] if len(near[u]) == 1) for v in order[:2])
    return _NAMES.get(degrees), order
