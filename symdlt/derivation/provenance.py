"""Where terms come from, told as a derivation that a reader can follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import factorial
from typing import Protocol, runtime_checkable

from symdlt.definitions import FIELD, Correlator, Layer, Way, function_text
from symdlt.derivation.evaluation import fallen, lower_tensors
from symdlt.derivation.expansion import Diagram
from symdlt.derivation.recursion import Recursion, replay
from symdlt.derivation.terms import (
    RecursionTerm,
    factor_texts,
    sample_text,
    tensor_text,
    term_text,
)
from symdlt.display import Explanation
from symdlt.errors import OrderError, require


@runtime_checkable
class Explainable(Protocol):
    """Equations that give an account of their terms themselves."""

    def explain(self, term: int | None = None) -> str:
        """The account of one term, or of all terms."""


def explain(recursion: Recursion | Explainable, term: int | None = None) -> str:
    """The derivation of one term, or of all terms, step by step.

    Args:
        recursion: what `derive` or `layer_equations` returned.
        term: the number of the term, from 1 as they are printed; all terms if left out.

    Raises:
        OrderError: if there is no term of that number.

    >>> from symdlt.derivation import derive
    >>> print(explain(derive("R"), 4))
    R_0123[l+1], term 4 of 9: (n/n') C_W lambda_W <s''_0 s_1> <s'_2 s'_3> B_0023
    Definition: E[tree(0-1, 0-2, 0-3)], neurons 0=1, 2=3.
    Diagram 1 of 1, contributing 1:
      1. Vertices 0 and 1: their edge is a new weight: lambda_W/n and one neuron sum.
      2. Vertices 2 and 3: their two weights are contracted: C_W/n and one neuron sum.
      3. Chain rule at vertex 0: old edges in blocks {edge to 2} {edge to 3}, so s''.
      4. Chain rule at vertex 2: old edges in blocks {edge to 0}, so s'.
      5. Chain rule at vertex 3: old edges in blocks {edge to 0}, so s'.
      6. Neuron sums (0,1) and (2,3): 2 distinct neurons, n^0.
      7. Cumulant of tree(0-2), tree(0-3) with neurons 0=0, 2=3: B_0023, n'^-1.
    """
    if isinstance(recursion, Explainable):
        return recursion.explain(term)
    require(
        recursion, Recursion, "a recursion", "Give what `derive` or `layer_equations` returned."
    )
    if term is not None:
        term_of(recursion, term)
    numbers = range(1, len(recursion.terms) + 1) if term is None else (term,)
    lines = ("\n".join(_term_lines(recursion, number)) for number in numbers)
    return Explanation("\n\n".join(lines))


def term_of(recursion: Recursion, number: int) -> RecursionTerm:
    """The term of a number, counted from 1 as terms are printed.

    Raises:
        OrderError: if there is none.
    """
    require(number, int, "the number of a term", "Count the terms from 1.")
    if not 1 <= number <= len(recursion.terms):
        raise OrderError(
            f"There is no term {number}. {recursion!r} has terms 1 to {len(recursion.terms)}. "
            "Number them as they are printed."
        )
    return recursion.terms[number - 1]


def _term_lines(recursion: Recursion, number: int) -> Iterator[str]:
    term = recursion.terms[number - 1]
    yield f"{recursion.head}, term {number} of {len(recursion.terms)}: {term_text(term)}"
    yield f"Definition: {definition_text(recursion.correlator)}"
    for count, diagram in enumerate(term.origins, 1):
        contribution = replay(diagram, term, recursion.samples, recursion.form)
        yield f"Diagram {count} of {len(term.origins)}, contributing {contribution}:"
        steps = [*_steps(recursion, diagram), *_derivatives(recursion, diagram, term)]
        steps += _factor(recursion.form, diagram, contribution)
        yield from (f"  {step}. {text}" for step, text in enumerate(steps, 1))
    if len(term.origins) > 1:
        yield f"Sum of the contributions: {term.coefficient}"


def _label(recursion: Recursion, vertex: int) -> str:
    return str(recursion.correlator.labels[vertex])


def definition_text(correlator: Correlator) -> str:
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


def _steps(recursion: Recursion, diagram: Diagram) -> Iterator[str]:
    contraction = diagram.contraction
    matching = contraction.correlator.matching
    for pair, way in zip(matching, contraction.ways, strict=True):
        names = " and ".join(_label(recursion, v) for v in pair)
        yield f"Vertices {names}: {_told(contraction.layer, way)}."
    yield from _chain_rule(recursion, diagram)
    yield from _coincidences(recursion, diagram)
    yield from _cumulants(recursion, diagram)


def _told(layer: Layer, way: Way) -> str:
    """What two vertices do, and what comes with it."""
    branch = layer.branches[way.branches[0]]
    factor = " ".join(factor_texts(way.number, layer.symbols, way.powers)) or "1"
    if branch.tensor is None:
        return f"they stay on their neuron by {way.code}: {factor}"
    alike = [b for b in layer.branches if b.tensor and b.tensor.kind is branch.tensor.kind]
    letter = f" {branch.tensor.name}" if len(alike) > 1 else ""
    one, many = ("weight", "weights") if branch.summed else ("bias", "biases")
    price = f"{factor}/n and one neuron sum" if way.summed else factor
    if way.how == "edge":
        return f"their edge is a new {one}{letter}: {price}"
    return f"their two {many}{letter} are contracted: {price}"


def _chain_rule(recursion: Recursion, diagram: Diagram) -> Iterator[str]:
    for vertex, parts in enumerate(diagram.contraction.term.blocks):
        if not parts:
            continue
        blocks = []
        for block in parts:
            ends = (u if v == vertex else v for u, v in block)
            blocks.append(
                "{" + ", ".join(f"edge to {_label(recursion, end)}" for end in ends) + "}"
            )
        order = diagram.contraction.orders[vertex]
        result = "1" if order - len(parts) == FIELD else function_text(order)
        yield (
            f"Chain rule at vertex {_label(recursion, vertex)}: old edges in blocks "
            f"{' '.join(blocks)}, so {result}."
        )


def _coincidences(recursion: Recursion, diagram: Diagram) -> Iterator[str]:
    if len(diagram.contraction.neurons) < 2:
        return
    named = _neuron_sums(recursion, diagram)
    size = _order("n", diagram.upper_order)
    parts = [
        f"{(-1) ** (len(merge) - 1) * factorial(len(merge) - 1):+d} for keeping "
        f"{' and '.join(named[group] for group in merge)} distinct"
        for merge in diagram.merges
        if len(merge) > 1
    ]
    rest = f", falling factorial {', '.join(parts)}" if parts else ""
    counted = f"{len(named)} distinct neuron{'s' * (len(named) > 1)}"
    yield f"Neuron sums {' and '.join(named)}: {counted}, {size}{rest}."


def _neuron_sums(recursion: Recursion, diagram: Diagram) -> list[str]:
    """The pairs of vertices on each distinct neuron of the layer below."""
    matching = diagram.contraction.correlator.matching
    return [
        "=".join(f"({','.join(_label(recursion, v) for v in matching[pair])})" for pair in group)
        for group in diagram.groups
    ]


def _cumulants(recursion: Recursion, diagram: Diagram) -> Iterator[str]:
    contraction = diagram.contraction
    above = [_label(recursion, v) for v, _ in contraction.term.lower_vertices]
    sums = _neuron_sums(recursion, diagram)
    for cumulant, factor, inserted in lower_tensors(diagram, recursion.samples):
        names = [
            ("z" if recursion.single_input else f"z{sample_text((label,))}") + sums[group]
            for group, label in inserted
        ]
        legs = [_tree_text(diagram, tree, above) for tree in cumulant.trees] + names
        pairs = [f"{above[u]}={above[v]}" for u, v in cumulant.matched]
        pairs += [f"{above[v]}={z}" for v, z in zip(cumulant.joined, names, strict=False)]
        bare = names[len(cumulant.joined) :]
        pairs += [f"{a}={b}" for a, b in zip(bare[::2], bare[1::2], strict=True)]
        does = "stands in" if recursion.form == "z" else "differentiates"
        each = f"; each z {does} the bracket of its neuron" if inserted else ""
        name = tensor_text(factor, recursion.single_input)
        order = _order("n'", cumulant.order)
        yield (
            f"Cumulant of {', '.join(legs)} with neurons {', '.join(pairs)}: {name}, {order}{each}."
        )


def _derivatives(recursion: Recursion, diagram: Diagram, term: RecursionTerm) -> Iterator[str]:
    """On which vertices the inserted z's fall in this term, and what they make of them."""
    labels = fallen(diagram, term)
    if not labels:
        return
    contraction = diagram.contraction
    names = contraction.correlator.labels
    parts = []
    for label, count in sorted(Counter(labels).items()):
        order = contraction.orders[names.index(label)] + count
        result = "1" if order - count == FIELD else function_text(order)
        parts.append(f"{count} on vertex {label}, so {result}")
    one = ", for example" * recursion.single_input
    yield f"Of these derivatives, in this term{one}: {'; '.join(parts)}."


def _order(width: str, power: int) -> str:
    return f"{width}^-{power}" if power else f"{width}^0"


def _tree_text(diagram: Diagram, tree: int, above: list[str]) -> str:
    vertices = diagram.contraction.lower_trees[tree]
    edges = [
        f"{above[u]}-{above[v]}" for u, v in diagram.contraction.term.lower_edges if u in vertices
    ]
    return f"tree({', '.join(edges)})"


def _factor(form: str, diagram: Diagram, contribution: Fraction) -> Iterator[str]:
    """The contribution as symmetry times the ways to take the derivatives of the brackets."""
    does = "insert z's into" if form == "z" else "take the derivatives of"
    ways = contribution / diagram.coefficient
    if diagram.coefficient != 1 or ways != 1:
        yield (
            f"Symmetry and falling factorials give {diagram.coefficient}, and {ways} of the ways "
            f"to {does} the brackets give these: {contribution}."
        )
