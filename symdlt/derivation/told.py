"""What is told of a diagram in any account: weights, neuron sums, trees, powers of widths."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

from symdlt.definitions import AnyTensor, Averaged, Way
from symdlt.derivation.expansion import Diagram
from symdlt.derivation.plain_text import factor_texts


def definition_text(correlator: AnyTensor) -> str:
    """What a tensor is the expectation of, and which vertices share a neuron.

    >>> from symdlt.definitions import tensor
    >>> definition_text(tensor("F"))
    'E[z_1 tree(3-4) z_2], connected; neurons 1=3, 2=4.'
    """
    labels = correlator.labels or range(correlator.axes)
    names = [str(label) for label in labels]
    trees = []
    for tree in correlator.forest.components:
        edges = [f"{names[u]}-{names[v]}" for u, v in correlator.forest.edges if u in tree]
        trees.append(f"tree({', '.join(edges)})" if edges else f"z_{names[tree[0]]}")
    pairs = ", ".join(f"{names[u]}={names[v]}" for u, v in correlator.matching)
    connected = "connected; " if len(trees) > 1 else ""
    return f"E[{' '.join(trees)}], {connected}neurons {pairs}."


def told(layer: Averaged, way: Way, width: str = "n") -> str:
    """What two vertices do, and what comes with it; the width is that which is summed over."""
    branch = layer.branches[way.branches[0]]
    factor = " ".join(factor_texts(way.number, layer.symbols, way.powers)) or "1"
    if branch.tensor is None:
        return f"they stay on their neuron by {way.code}: {factor}"
    alike = [b for b in layer.branches if b.tensor and b.tensor.kind is branch.tensor.kind]
    letter = f" {branch.tensor.name}" if len(alike) > 1 else ""
    one, many = ("weight", "weights") if branch.summed else ("bias", "biases")
    price = f"{factor}/{width} and one neuron sum" if way.summed else factor
    if way.how == "edge":
        return f"their edge is a new {one}{letter}: {price}"
    return f"their two {many}{letter} are contracted: {price}"


def coincidences(diagram: Diagram, width: str = "n") -> Iterator[str]:
    """Which neuron sums are of distinct neurons."""
    if len(diagram.contraction.neurons) < 2:
        return
    named = neuron_sums(diagram)
    size = order_text(width, diagram.upper_order)
    parts = [
        f"{(-1) ** (len(merge) - 1) * factorial(len(merge) - 1):+d} for keeping "
        f"{' and '.join(named[group] for group in merge)} distinct"
        for merge in diagram.merges
        if len(merge) > 1
    ]
    rest = f", falling factorial {', '.join(parts)}" if parts else ""
    counted = f"{len(named)} distinct neuron{'s' * (len(named) > 1)}"
    yield f"Neuron sums {' and '.join(named)}: {counted}, {size}{rest}."


def neuron_sums(diagram: Diagram) -> list[str]:
    """The pairs of vertices on each distinct neuron of the layer below."""
    correlator = diagram.contraction.correlator
    labels, matching = correlator.labels, correlator.matching
    return [
        "=".join(f"({','.join(str(labels[v]) for v in matching[pair])})" for pair in group)
        for group in diagram.groups
    ]


def order_text(width: str, power: int) -> str:
    """A power of 1/n."""
    return f"{width}^-{power}" if power else f"{width}^0"


def tree_text(diagram: Diagram, tree: int, above: list[str]) -> str:
    """A tree of the layer below, by the vertices above."""
    vertices = diagram.contraction.lower_trees[tree]
    edges = [
        f"{above[u]}-{above[v]}" for u, v in diagram.contraction.term.lower_edges if u in vertices
    ]
    return f"tree({', '.join(edges)})"
