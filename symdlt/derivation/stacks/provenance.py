"""Where the terms of a stack come from, told step by step."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from symdlt.derivation.expansion import Diagram
from symdlt.derivation.stacks.evaluation import (
    Labels,
    contributions,
    lower_field_tensors,
    seat_of,
)
from symdlt.derivation.stacks.recursion import StackRecursion, StepRecursion
from symdlt.derivation.stacks.terms import StepTerm
from symdlt.derivation.told import (
    coincidences,
    definition_text,
    neuron_sums,
    order_text,
    told,
    tree_text,
)
from symdlt.errors import OrderError


def explained_stack(recursion: StackRecursion, number: int | None) -> str:
    """The account of one term, by its number over all equations, or of all terms.

    Raises:
        OrderError: if there is no term of that number.
    """
    listed = [(one, term) for one in recursion.equations for term in one.terms]
    if number is not None and not (type(number) is int and 1 <= number <= len(listed)):
        raise OrderError(
            f"There is no term {number}. {recursion!r} has terms 1 to {len(listed)}. Number them "
            "as they are printed, over all equations."
        )
    numbers = range(1, len(listed) + 1) if number is None else (number,)
    return "\n\n".join(
        "\n".join(_term_lines(*listed[k - 1], f"term {k} of {len(listed)}")) for k in numbers
    )


def replay_step(
    diagram: Diagram, term: StepTerm, recursion: StepRecursion
) -> tuple[Fraction, Labels]:
    """What a diagram contributes to a term, and the z's of its cumulants in one of the ways."""
    total, shown = Fraction(0), None
    for key, number, labels in contributions(diagram, recursion.samples, recursion.step):
        if key == term.key:
            total, shown = total + number, labels if shown is None else shown
    return total, shown or ()


def _term_lines(recursion: StepRecursion, term: StepTerm, place: str) -> Iterator[str]:
    yield f"{recursion.head}, {place}: {recursion.term_text(term)}"
    yield f"Definition: {_definition(recursion)}"
    for count, diagram in enumerate(term.origins, 1):
        contribution, labels = replay_step(diagram, term, recursion)
        yield f"Diagram {count} of {len(term.origins)}, contributing {contribution}:"
        of = "fields and masks" if recursion.step.masks else "fields"
        steps = [*_steps(recursion, diagram, labels), *_factor(diagram, contribution, of)]
        yield from (f"  {step}. {text}" for step, text in enumerate(steps, 1))
    if len(term.origins) > 1:
        yield f"Sum of the contributions: {term.coefficient}"


def _definition(recursion: StepRecursion) -> str:
    """What the tensor is the cumulant of, and of which fields its vertices are."""
    text, labels = definition_text(recursion.correlator)[:-1], recursion.correlator.labels
    held: dict[str, list[str]] = {}
    for label, field in sorted(zip(labels, recursion.fields, strict=True)):
        held.setdefault(recursion.step.above[field], []).append(str(label))
    fields = ", ".join(f"{' '.join(at)} of {name}" for name, at in held.items())
    power = recursion.correlator.pairs - 1 + recursion.piece
    return f"{text}; fields {fields}; the part {order_text('n', power)}."


def _steps(recursion: StepRecursion, diagram: Diagram, labels: Labels) -> Iterator[str]:
    contraction, width = diagram.contraction, _width(recursion)
    names = [str(label) for label in contraction.correlator.labels]
    for pair, way in zip(contraction.correlator.matching, contraction.ways, strict=True):
        ends = " and ".join(names[v] for v in pair)
        yield f"Vertices {ends}: {told(contraction.layer, way, width)}."
    for vertex, parts in enumerate(contraction.term.blocks):
        if parts:
            along = contraction.term.fields[vertex]
            blocks = []
            for block, field in zip(parts, along, strict=True):
                far = ", ".join(f"edge to {names[u if v == vertex else v]}" for u, v in block)
                blocks.append(f"{{{far}}} along {recursion.step.below[field]}")
            yield f"Chain rule at vertex {names[vertex]}: old edges in blocks {' '.join(blocks)}."
    yield from coincidences(diagram, width)
    yield from _cumulants(recursion, diagram, labels)
    if contraction.neurons:
        for name, mask in recursion.step.masks:
            yield f"{name} is {mask.meaning.replace('`', '')}."


def _width(recursion: StepRecursion) -> str:
    """The width of the site that is read."""
    return recursion.step.width


def _cumulants(recursion: StepRecursion, diagram: Diagram, labels: Labels) -> Iterator[str]:
    contraction, sums = diagram.contraction, neuron_sums(diagram)
    names, below = [str(k) for k in contraction.correlator.labels], recursion.step.below
    above = [names[v] for v, _ in contraction.lower_vertices]
    used = 0
    for cumulant, factor in lower_field_tensors(diagram, recursion.samples, labels):
        groups = [seat_of(diagram, lower)[0] for lower in cumulant.joined]
        groups += [group for group in cumulant.inserted for _ in range(2)]
        own = labels[used : used + len(groups)]
        used += len(groups)
        zs = [
            below[field] + ("" if recursion.single_input else f"_{sample}") + sums[group]
            for group, (field, sample) in zip(groups, own, strict=True)
        ]
        legs = [tree_text(diagram, tree, above) for tree in cumulant.trees] + zs
        pairs = [f"{above[u]}={above[v]}" for u, v in cumulant.matched]
        pairs += [f"{above[v]}={z}" for v, z in zip(cumulant.joined, zs, strict=False)]
        bare = zs[len(cumulant.joined) :]
        pairs += [f"{a}={b}" for a, b in zip(bare[::2], bare[1::2], strict=True)]
        each = "; each field in it differentiates the mean of its neuron" if zs else ""
        name = factor.text(below, recursion.single_input)
        order = order_text("n'" if recursion.step.first else "n", cumulant.order)
        met = f"Cumulant of {', '.join(legs)} with neurons {', '.join(pairs)}"
        yield f"{met}: {name}, {order}{each}."


def _factor(diagram: Diagram, contribution: Fraction, of: str) -> Iterator[str]:
    """The contribution as symmetry times the ways to take derivatives and means."""
    ways = contribution / diagram.coefficient
    if diagram.coefficient != 1 or ways != 1:
        yield (
            f"Symmetry and falling factorials give {diagram.coefficient}, and what weights read, "
            f"the derivatives and the means of {of} {ways}: {contribution}."
        )
