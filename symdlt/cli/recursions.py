"""Commands that derive recursions and show them."""

from __future__ import annotations

import argparse

from symdlt.cli.options import Commands, add_command, add_format, add_layer, say
from symdlt.definitions import (
    Correlator,
    Stack,
    correlator_from,
    correlators,
    parse_pairs,
    read_layer_definition,
    split_subleading,
    tensor,
    vertex_labels,
)
from symdlt.derivation import FORMS, Recursion, derive, explain
from symdlt.errors import OrderError
from symdlt.formats import to_json


def register(commands: Commands) -> None:
    """Add derive, explain, latex and list."""
    command = add_command(commands, "derive", _derive, "the recursion of a tensor")
    _tensor_options(command)
    add_format(command, *FORMATS)
    command = add_command(
        commands, "explain", _explain, "where each term of a recursion comes from"
    )
    _tensor_options(command)
    command.add_argument("--term", type=int, help="one term, by its number from 1")
    command = add_command(commands, "latex", _latex, "a recursion in LaTeX")
    _tensor_options(command)
    command.add_argument("--document", action="store_true", help="a whole document")
    command = add_command(commands, "list", _list, "the canonical names of all tensors of an order")
    command.add_argument("--order", type=int, default=1, help="the power of 1/n (default 1)")


def _tensor_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("tensor", nargs="?", metavar="TENSOR", help="for example R, G.1, X6_01_24")
    command.add_argument("--edges", help="edges of a forest instead of a name, as 0-1,0-2")
    command.add_argument("--match", help="the matching of its vertices, as 03,12")
    command.add_argument("--inputs", choices=("one", "many"), default="many")
    command.add_argument("--form", choices=FORMS, default="derivative")
    add_layer(command)
    command.add_argument("--at", type=int, help="2 for the second layer alone")
    command.add_argument(
        "--subleading", type=int, default=0, metavar="J", help="orders kept beyond the leading one"
    )


def _recursions(options: argparse.Namespace) -> list[Recursion]:
    correlator, first = _asked_tensor(options)
    if options.subleading < 0:
        raise OrderError(
            f"--subleading {options.subleading} is negative. "
            "It counts the orders beyond the leading one. Give 0 or more."
        )
    pieces = range(first, first + options.subleading + 1)
    return [
        derive(
            correlator,
            inputs=options.inputs,
            form=options.form,
            piece=piece,
            layer=options.layer,
            at=options.at,
        )
        for piece in pieces
    ]


def _asked_tensor(options: argparse.Namespace) -> tuple[Correlator, int]:
    if options.tensor and not (options.edges or options.match):
        name, piece = split_subleading(options.tensor)
        return tensor(name), piece
    if options.tensor:
        options.complain(
            f"the tensor is given twice, as {options.tensor} and by --edges or --match; "
            "leave one of them out"
        )
    if not options.match:
        options.complain(
            "--edges needs --match, the pairs of vertices that share a neuron, as --match 03,12"
            if options.edges
            else "which tensor? Give its name, as in `symdlt derive R`, "
            "or its definition, as in --edges 0-1,0-2 --match 03,12"
        )
    edges = parse_pairs(options.edges or "", "edges")
    matching = parse_pairs(options.match, "matching")
    correlator = correlator_from(edges, matching)
    labels = vertex_labels(edges, matching)
    if options.inputs == "many" and labels != tuple(range(correlator.axes)):
        printed = ", ".join(f"{vertex} as {label}" for vertex, label in enumerate(labels))
        say(f"this is {correlator.name}; vertices are printed as samples: {printed}.")
    return correlator, 0


def _derive(options: argparse.Namespace) -> str:
    if options.at is None and _needs_response(options.layer):
        return _response(options)
    return FORMATS[options.format](_recursions(options))


def _needs_response(text: str) -> bool:
    """Whether a layer has several streams, or a skip."""
    layer = read_layer_definition(text)
    return isinstance(layer, Stack) or not layer.closes


def _response(options: argparse.Namespace) -> str:
    from symdlt.networks import layer_equations

    correlator, piece = _asked_tensor(options)
    if piece or options.subleading or (options.inputs, options.form) != ("many", "derivative"):
        options.complain("for this layer there is the leading order, for many inputs")
    if options.format == "json":
        options.complain("for this layer there are the formats text and latex")
    found = layer_equations(correlator, options.layer)
    return found.to_latex() if options.format == "latex" else str(found)


def _explain(options: argparse.Namespace) -> str:
    return "\n\n".join(explain(recursion, options.term) for recursion in _recursions(options))


def _latex(options: argparse.Namespace) -> str:
    recursions = _recursions(options)
    if not options.document:
        return _latex_of(recursions)
    from symdlt.derivation import RecursionSystem
    from symdlt.formats.latex import document

    whole = recursions[0] if len(recursions) == 1 else RecursionSystem(tuple(recursions))
    return document(whole).source


def _latex_of(recursions: list[Recursion]) -> str:
    from symdlt.formats.latex import to_latex

    return "\n".join(to_latex(recursion) for recursion in recursions)


def _text_of(recursions: list[Recursion]) -> str:
    return "\n".join(map(str, recursions))


def _json_of(recursions: list[Recursion]) -> str:
    texts = [to_json(recursion) for recursion in recursions]
    return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"


FORMATS = {"text": _text_of, "latex": _latex_of, "json": _json_of}


def _list(options: argparse.Namespace) -> str:
    return "\n".join(c.name for c in correlators(options.order))
