"""Recursions as JSON: a documented, versioned schema that is only ever read as data."""

from __future__ import annotations

import json
from typing import Any

from symdlt.definitions import DENSE, Layer, ascii_name, tensor
from symdlt.derivation import Diagram
from symdlt.derivation.conditions import check_depth
from symdlt.derivation.recursion import FORMS, Recursion, width_expansion
from symdlt.derivation.response.symbolic.layer_equations import SCHEMA as LAYER_SCHEMA
from symdlt.derivation.response.symbolic.layer_equations import LayerEquations
from symdlt.derivation.sizes import refuse_if_too_large
from symdlt.derivation.stacks import StackRecursion
from symdlt.derivation.system import RecursionSystem
from symdlt.derivation.terms import Bracket, Hyperparameters, RecursionTerm, TensorFactor
from symdlt.errors import SchemaError, SymdltError, require
from symdlt.formats.json_parts import (
    count,
    diagram_dict,
    fingerprint_of,
    fraction,
    integers,
    of_kind,
    origins_of,
    pairs,
)
from symdlt.formats.stack_json import STACK_SCHEMA, read_stack, stack_dict

SCHEMA = "symdlt.recursion"
VERSION = 2  # a convention: raised when documents change; 2 knows layers
READ = (1, 2)  # version 1 knew no layer but the dense one, and its recursions are the same


def to_json(
    recursion: Recursion | RecursionSystem | StackRecursion | LayerEquations,
    indent: int | None = 1,
) -> str:
    """The recursion as JSON text, provenance included; a system is a list of them.

    The schema is described in docs/json.md.

    Args:
        recursion: what `derive`, `derive_system` or `layer_equations` returned.
        indent: how many spaces, or None for a single line.

    Raises:
        InputError: for an indent that is no number.

    >>> from symdlt.derivation import derive
    >>> from_json(to_json(derive("F"))) == derive("F")
    True
    """
    if indent is not None:
        require(indent, int, "a number of spaces", "Give 1, 2, …, or None for a single line.")
    if isinstance(recursion, RecursionSystem):
        return json.dumps([to_dict(one) for one in recursion], indent=indent)
    if isinstance(recursion, StackRecursion):
        return json.dumps(stack_dict(recursion), indent=indent)
    if isinstance(recursion, LayerEquations):
        return recursion.to_json(indent)
    return json.dumps(to_dict(recursion), indent=indent)


def to_dict(recursion: Recursion) -> dict[str, Any]:
    """The recursion as plain dictionaries, lists, strings and integers."""
    require(recursion, Recursion, "a recursion", "Give what `derive` returned.")
    written: dict[str, Any] = {}
    if recursion.layer != DENSE:
        written["layer"] = _layer_text(recursion.layer)
    if recursion.at is not None:
        written["at"] = recursion.at
    return {
        "schema": SCHEMA,
        "version": VERSION,
        **written,
        "tensor": recursion.correlator.name,
        "piece": recursion.piece,
        "edges": [list(edge) for edge in recursion.correlator.forest.edges],
        "matching": [list(pair) for pair in recursion.correlator.matching],
        "samples": list(recursion.samples),
        "form": recursion.form,
        "terms": [_term_dict(term) for term in recursion.terms],
        "first_layer": [_term_dict(term) for term in recursion.first_layer],
    }


def _layer_text(layer: Layer) -> str:
    """The short form of a layer, if it says all of it."""
    if layer.short_form is None:
        raise SchemaError(
            f"The layer {layer} has laws, learning rates or neurons of its own. A document holds "
            "the short form of a layer, which has the usual ones. Save its expression yourself."
        )
    return layer.short_form


def _term_dict(term: RecursionTerm) -> dict[str, Any]:
    return {
        "coefficient": f"{term.coefficient.numerator}/{term.coefficient.denominator}",
        "hyperparameters": dict(term.hyperparameters.named),
        "widths": {"n_l": term.width_ratio, "n_l-1": -term.width_ratio},
        "brackets": [
            {"factors": [list(factor) for factor in b.factors], "inserted": list(b.inserted)}
            for b in term.brackets
        ],
        "tensors": [
            {"name": t.correlator.name, "piece": t.piece, "samples": list(t.samples)}
            for t in term.tensors
        ],
        "overlap": list(term.overlap),
        "provenance": [diagram_dict(diagram) for diagram in term.origins],
    }


def from_json(text: str) -> Recursion | RecursionSystem | StackRecursion | LayerEquations:
    """Read a recursion back, or a list of them as a system.

    Nothing in the text is evaluated. The provenance must name diagrams that the definition of
    the tensor really has.

    Args:
        text: what `to_json` wrote.

    Raises:
        SchemaError: if the text is not JSON, of another schema version, or not a recursion.

    >>> from symdlt.derivation import derive
    >>> print(from_json(to_json(derive("B", inputs="one"), indent=None)))
    B[l+1] =
      + C_W^2 <s' s' s' s'> H^2
      + (n/n') C_W^2 <s' s'>^2 B
    """
    require(text, str, "JSON text", "Give what `to_json` wrote.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise SchemaError(
            f"The text is not JSON: {reason}. It starts with {text[:40]!r}. "
            "Give what `to_json` or `symdlt derive --format json` wrote."
        ) from None
    if isinstance(data, list) and data:
        return RecursionSystem(tuple(map(_checked_recursion, data)))
    if isinstance(data, dict) and data.get("schema") == STACK_SCHEMA:
        return read_stack(data)
    if isinstance(data, dict) and data.get("schema") == LAYER_SCHEMA:
        return LayerEquations.from_json(text)
    return _checked_recursion(data)


def _checked_recursion(data: object) -> Recursion:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise SchemaError(
            "The document is not a symdlt recursion. "
            f'Its "schema" is not {SCHEMA!r}. '
            "Give what `to_json` or `symdlt derive --format json` wrote."
        )
    if type(data.get("version")) is not int or data["version"] not in READ:
        raise SchemaError(
            f"The document has schema version {str(data.get('version'))[:20]}. "
            f"This symdlt reads versions {' and '.join(map(str, READ))} of {SCHEMA}. "
            "Derive the recursion again with this version."
        )
    try:
        return _read_recursion(data)
    except (KeyError, TypeError, ValueError, AttributeError, SymdltError) as reason:
        if isinstance(reason, SchemaError):
            raise
        problem = f"missing {reason}" if type(reason) is KeyError else str(reason)
        raise SchemaError(
            f"The document is malformed: {problem[:300]}. It claims to be a {SCHEMA}. "
            "Compare it with docs/json.md."
        ) from None


def _read_recursion(data: dict[str, Any]) -> Recursion:
    correlator = tensor(of_kind(str, data["tensor"]))
    piece, form = count(data["piece"]), of_kind(str, data["form"])
    samples = tuple(count(sample) for sample in of_kind(list, data["samples"]))
    if form not in FORMS or len(samples) != correlator.axes:
        raise ValueError("the form or the samples do not fit the tensor")
    if pairs(data["edges"]) != correlator.forest.edges:
        raise ValueError("the edges are not those of the tensor")
    if pairs(data["matching"]) != correlator.matching:
        raise ValueError("the matching is not that of the tensor")
    refuse_if_too_large(correlator, piece, "one" if len(set(samples)) == 1 else "many")
    layer = Layer(of_kind(str, data["layer"])) if "layer" in data else DENSE
    at = count(data["at"]) if "at" in data else None
    check_depth(layer, at, correlator, piece)
    diagrams = width_expansion(correlator, piece, layer).diagrams
    known = {fingerprint_of(diagram_dict(d)): d for d in diagrams}
    terms, first = (
        tuple(_read_term(entry, known, layer) for entry in of_kind(list, data[part]))
        for part in ("terms", "first_layer")
    )
    for term in (*terms, *first):
        _check_samples(term, set(samples), form)
    if any(term.overlap for term in terms) or any(term.brackets or term.tensors for term in first):
        raise ValueError("terms have no overlap, and the first layer has nothing below it")
    return Recursion(correlator, piece, samples, form, terms, first, layer, at)


def _check_samples(term: RecursionTerm, known: set[int], form: str) -> None:
    """Every sample is one of the tensor, or a dummy that joins an inserted z and a tensor."""
    inserted = [sample for bracket in term.brackets for sample in bracket.inserted]
    carried = [sample for factor in term.tensors for sample in factor.samples]
    dummies = sorted((sample for sample in inserted if sample < 0), reverse=True)
    used = {sample for bracket in term.brackets for sample, _ in bracket.factors}
    used |= {sample for sample in (*inserted, *carried) if sample >= 0} | set(term.overlap)
    if inserted and form != "z":
        raise ValueError("a bracket has inserted samples, which only the z form has")
    if not used <= known or len(term.overlap) not in (0, 2):
        raise ValueError("a term has a sample that the tensor does not have")
    joined = sorted((sample for sample in carried if sample < 0), reverse=True)
    if dummies != joined or dummies != [-1 - k for k in range(len(dummies))]:
        raise ValueError("a dummy sample does not join one inserted z with one tensor")


def _read_term(entry: dict[str, Any], known: dict[str, Diagram], layer: Layer) -> RecursionTerm:
    powers = of_kind(dict, entry["hyperparameters"])
    counts = tuple(count(powers[ascii_name(name)]) for name in layer.symbols)
    hyper = Hyperparameters(counts, layer.symbols)
    ratio = count(entry["widths"]["n_l"])
    if of_kind(int, entry["widths"]["n_l-1"]) != -ratio:
        raise ValueError("the powers of the two widths are not opposite")
    origins = origins_of(entry["provenance"], known)
    return RecursionTerm(
        fraction(of_kind(str, entry["coefficient"])),
        hyper,
        ratio,
        tuple(_read_bracket(b, layer) for b in of_kind(list, entry["brackets"])),
        tuple(_read_tensor(t) for t in of_kind(list, entry["tensors"])),
        integers(entry["overlap"]),
        origins,
    )


def _read_bracket(entry: dict[str, Any], layer: Layer) -> Bracket:
    factors = pairs(entry["factors"])
    least = min(branch.order for branch in layer.branches if branch.function)
    if any(order < least for _, order in factors):
        raise ValueError("a bracket has a derivative of negative order")
    return Bracket(factors, integers(entry["inserted"]))


def _read_tensor(entry: dict[str, Any]) -> TensorFactor:
    correlator = tensor(of_kind(str, entry["name"]))
    samples = integers(entry["samples"])
    if len(samples) != correlator.axes:
        raise ValueError(f"{correlator.name} has {correlator.axes} axes, not {len(samples)}")
    return TensorFactor(correlator, count(entry["piece"]), samples)
