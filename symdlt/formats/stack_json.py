"""Recursions of stacks as JSON, a document of their own, described in docs/json.md."""

from __future__ import annotations

from typing import Any

from symdlt.definitions import (
    MASK,
    SiteStep,
    Stack,
    ascii_name,
    read_layer_definition,
    steps_of,
    tensor,
)
from symdlt.derivation import Diagram
from symdlt.derivation.sizes import refuse_if_too_large
from symdlt.derivation.stacks import (
    FieldMean,
    FieldSlot,
    FieldTensor,
    StackRecursion,
    StepRecursion,
    StepTerm,
    step_expansion,
)
from symdlt.derivation.terms import Hyperparameters
from symdlt.errors import SchemaError, SymdltError
from symdlt.formats.json_parts import (
    count,
    diagram_dict,
    fingerprint_of,
    fraction,
    integers,
    of_kind,
    origins_of,
)

STACK_SCHEMA = "symdlt.stack-recursion"
STACK_VERSION = 1  # a convention: raised when documents change


def stack_dict(recursion: StackRecursion) -> dict[str, Any]:
    """The recursion as plain dictionaries, lists, strings and integers.

    Raises:
        SchemaError: if the text of the layer does not say all of it, as for laws of its own.
    """
    text = str(recursion.layer)
    if read_layer_definition(text) != recursion.layer:
        raise SchemaError(
            f"The layer {recursion.layer!r} is not what its text says, as it has laws or learning "
            "rates of its own. A document holds the text. Save what it is made of yourself."
        )
    return {
        "schema": STACK_SCHEMA,
        "version": STACK_VERSION,
        "layer": text,
        "tensor": recursion.correlator.name,
        "piece": recursion.piece,
        "equations": [_equation_dict(one) for one in recursion.equations],
    }


def _equation_dict(one: StepRecursion) -> dict[str, Any]:
    above = one.step.above
    return {
        "step": one.step.number,
        "tensor": one.correlator.name,
        "piece": one.piece,
        "fields": [above[field] for field in one.fields],
        "samples": list(one.samples),
        "terms": [_term_dict(term, one.step.read) for term in one.terms],
    }


def _term_dict(term: StepTerm, below: tuple[str, ...]) -> dict[str, Any]:
    return {
        "coefficient": f"{term.coefficient.numerator}/{term.coefficient.denominator}",
        "hyperparameters": dict(term.hyperparameters.named),
        "width_power": term.width_power,
        "means": [
            [[below[one.field], one.function, one.order, one.sample] for one in mean.slots]
            for mean in term.means
        ],
        "tensors": [
            {
                "name": one.correlator.name,
                "piece": one.piece,
                "fields": [below[field] for field in one.fields],
                "samples": list(one.samples),
            }
            for one in term.tensors
        ],
        "provenance": [_origin_dict(diagram, below) for diagram in term.origins],
    }


def _origin_dict(diagram: Diagram, below: tuple[str, ...]) -> dict[str, Any]:
    along = diagram.contraction.term.fields
    named = [[below[field] for field in fields] for fields in along]
    return diagram_dict(diagram) | {"fields": named}


def read_stack(data: dict[str, Any]) -> StackRecursion:
    """Read a recursion back; its provenance must name diagrams that the definition has.

    Raises:
        SchemaError: if the document is of another version, or malformed.
    """
    try:
        if type(data["version"]) is not int or data["version"] != STACK_VERSION:
            raise ValueError(f"its version is not {STACK_VERSION}")
        layer = read_layer_definition(of_kind(str, data["layer"]))
        if not isinstance(layer, Stack):
            raise ValueError("its layer is no stack")
        correlator, piece = tensor(of_kind(str, data["tensor"])), count(data["piece"])
        leading = correlator.pairs == 1 and not piece
        steps = steps_of(layer, truncated=True, leading=leading)
        equations = tuple(
            _read_equation(entry, steps) for entry in of_kind(list, data["equations"])
        )
        first = equations[0]
        if (first.correlator, first.piece, first.step) != (correlator, piece, steps[-1]):
            raise ValueError("its first equation is not that of the tensor")
        return StackRecursion(correlator, piece, layer, equations)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, SymdltError) as reason:
        problem = f"missing {reason}" if type(reason) is KeyError else str(reason)
        raise SchemaError(
            f"The document is malformed: {problem[:300]}. It claims to be a {STACK_SCHEMA}. "
            "Compare it with docs/json.md."
        ) from None


def _read_equation(entry: dict[str, Any], steps: tuple[SiteStep, ...]) -> StepRecursion:
    step = steps[count(entry["step"])]
    correlator, piece = tensor(of_kind(str, entry["tensor"])), count(entry["piece"])
    fields = _fields(entry["fields"], step.above)
    samples = tuple(count(sample) for sample in of_kind(list, entry["samples"]))
    _check_axes(correlator.axes, fields, samples)
    if any(fields[a] != fields[b] for a, b in correlator.matching):
        raise ValueError("matched axes are of different fields")
    refuse_if_too_large(correlator, piece, "one" if len(set(samples)) == 1 else "many")
    diagrams = step_expansion(correlator, piece, fields, step).diagrams
    known = {fingerprint_of(_origin_dict(d, step.below)): d for d in diagrams}
    terms = tuple(_read_term(term, known, step) for term in of_kind(list, entry["terms"]))
    used = {slot.sample for term in terms for mean in term.means for slot in mean.slots}
    used |= {sample for term in terms for one in term.tensors for sample in one.samples}
    if not used <= set(samples):
        raise ValueError("a term has a sample that the tensor does not have")
    return StepRecursion(correlator, piece, fields, samples, step, terms)


def _read_term(entry: dict[str, Any], known: dict[str, Diagram], step: SiteStep) -> StepTerm:
    powers = of_kind(dict, entry["hyperparameters"])
    counts = tuple(count(powers[ascii_name(name)]) for name in step.symbols)
    origins = origins_of(entry["provenance"], known)
    return StepTerm(
        fraction(of_kind(str, entry["coefficient"])),
        Hyperparameters(counts, step.symbols),
        count(entry["width_power"]),
        tuple(_read_mean(mean, step) for mean in of_kind(list, entry["means"])),
        tuple(_read_tensor(one, step) for one in of_kind(list, entry["tensors"])),
        origins,
    )


def _read_mean(entry: object, step: SiteStep) -> FieldMean:
    slots = []
    for field, function, order, sample in of_kind(list, entry):
        (number,) = _fields([field], step.read)
        slots.append(FieldSlot(count(sample), number, of_kind(str, function), count(order)))
    if len({slot.field for slot in slots}) != 1:
        raise ValueError("a mean is of one field")
    functions = {MASK} if slots[0].field >= len(step.below) else {"", *step.stack.functions}
    if not {slot.function for slot in slots} <= functions:
        raise ValueError("a mean has a function that the layer does not have")
    return FieldMean(tuple(slots))


def _read_tensor(entry: dict[str, Any], step: SiteStep) -> FieldTensor:
    correlator = tensor(of_kind(str, entry["name"]))
    fields, samples = _fields(entry["fields"], step.below), integers(entry["samples"])
    _check_axes(correlator.axes, fields, samples)
    return FieldTensor(correlator, count(entry["piece"]), fields, samples)


def _fields(entry: object, names: tuple[str, ...]) -> tuple[int, ...]:
    """The numbers of fields that are named."""
    return tuple(names.index(of_kind(str, name)) for name in of_kind(list, entry))


def _check_axes(axes: int, fields: tuple[int, ...], samples: tuple[int, ...]) -> None:
    if not len(fields) == len(samples) == axes:
        raise ValueError(f"a tensor of {axes} axes has not as many fields and samples")
