"""Where terms come from, told as a derivation that a reader can follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol, runtime_checkable

from symdlt.definitions import FIELD, function_text
from symdlt.derivation.evaluation import fallen, lower_tensors
from symdlt.derivation.expansion import Diagram
from symdlt.derivation.recursion import Recursion, replay
from symdlt.derivation.stacks import StackRecursion
from symdlt.derivation.stacks.provenance import explained_stack
from symdlt.derivation.terms import (
    RecursionTerm,
    sample_text,
    tensor_text,
    term_text,
)
from symdlt.derivation.told import (
    coincidences,
    definition_text,
    neuron_sums,
    order_text,
    told,
    tree_text,
)
from symdlt.display import Explanation
from symdlt.errors import OrderError, require


@runtime_checkable
class Explainable(Protocol):
    """Equations that give an account of their terms themselves."""

    def explain(self, term: int | None = None) -> str:
        """The account of one term, or of all terms."""


def explain(recursion: Recursion | StackRecursion | Explainable, term: int | None = None) -> str:
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
    if isinstance(recursion, StackRecursion):
        return Explanation(explained_stack(recursion, term))
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


def _steps(recursion: Recursion, diagram: Diagram) -> Iterator[str]:
    contraction = diagram.contraction
    matching = contraction.correlator.matching
    for pair, way in zip(matching, contraction.ways, strict=True):
        names = " and ".join(_label(recursion, v) for v in pair)
        yield f"Vertices {names}: {told(contraction.layer, way)}."
    yield from _chain_rule(recursion, diagram)
    yield from coincidences(diagram)
    yield from _cumulants(recursion, diagram)


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


def _cumulants(recursion: Recursion, diagram: Diagram) -> Iterator[str]:
    contraction = diagram.contraction
    above = [_label(recursion, v) for v, _ in contraction.term.lower_vertices]
    sums = neuron_sums(diagram)
    for cumulant, factor, inserted in lower_tensors(diagram, recursion.samples):
        names = [
            ("z" if recursion.single_input else f"z{sample_text((label,))}") + sums[group]
            for group, label in inserted
        ]
        legs = [tree_text(diagram, tree, above) for tree in cumulant.trees] + names
        pairs = [f"{above[u]}={above[v]}" for u, v in cumulant.matched]
        pairs += [f"{above[v]}={z}" for v, z in zip(cumulant.joined, names, strict=False)]
        bare = names[len(cumulant.joined) :]
        pairs += [f"{a}={b}" for a, b in zip(bare[::2], bare[1::2], strict=True)]
        does = "stands in" if recursion.form == "z" else "differentiates"
        each = f"; each z {does} the bracket of its neuron" if inserted else ""
        name = tensor_text(factor, recursion.single_input)
        order = order_text("n'", cumulant.order)
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


def _factor(form: str, diagram: Diagram, contribution: Fraction) -> Iterator[str]:
    """The contribution as symmetry times the ways to take the derivatives of the brackets."""
    does = "insert z's into" if form == "z" else "take the derivatives of"
    ways = contribution / diagram.coefficient
    if diagram.coefficient != 1 or ways != 1:
        yield (
            f"Symmetry and falling factorials give {diagram.coefficient}, and {ways} of the ways "
            f"to {does} the brackets give these: {contribution}."
        )
