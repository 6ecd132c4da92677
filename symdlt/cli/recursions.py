"""Commands that derive recursions and show them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from symdlt.cli.options import (
    Commands,
    add_command,
    add_format,
    add_inputs,
    add_layer,
    add_notation,
    say,
    tensor_names,
)
from symdlt.definitions import (
    DENSE,
    OBSERVABLES,
    AnyTensor,
    Correlator,
    Layer,
    OddTensor,
    correlator_from,
    correlators,
    is_chain,
    named_tensor,
    parse_pairs,
    read_layer_definition,
    split_subleading,
    tensor,
    vertex_labels,
)
from symdlt.derivation import (
    FORMS,
    Recursion,
    RecursionTerm,
    StackRecursion,
    derive,
    explain,
    forward_equation,
    term_of,
)
from symdlt.errors import OrderError
from symdlt.formats import draw, to_json
from symdlt.tables import text_table

if TYPE_CHECKING:
    from symdlt.formats.latex import Conventions
    from symdlt.networks import LayerEquations

LARGEST_NAMED = 4  # vertices of the ddNTKs, of which there are two
BEYOND = 2  # the orders in 1/n from which on tensors are not those of `layer_equations`
ONE_TENSOR = "for this layer a JSON document has the equations of one tensor"


def register(commands: Commands) -> None:
    """Add derive, forward, explain, latex, draw and list."""
    command = add_command(commands, "derive", _derive, "the recursion of a tensor")
    _tensor_options(command)
    add_format(command, *FORMATS)
    command = add_command(commands, "forward", _forward, "the forward equation of an observable")
    names = ", ".join(OBSERVABLES)
    command.add_argument(
        "observable", metavar="NAME", choices=[*OBSERVABLES], help=f"one of {names}"
    )
    add_layer(command)
    add_format(command, "text", "latex")
    command = add_command(
        commands, "explain", _explain, "where each term of a recursion comes from"
    )
    _tensor_options(command)
    command.add_argument("--term", type=int, help="one term, by its number from 1")
    summary = "a recursion in LaTeX"
    command = add_command(commands, "latex", _latex, summary, ("notation",))
    _tensor_options(command)
    command.add_argument("--document", action="store_true", help="a whole document")
    what = "one number and one label an equation"
    command.add_argument("--numbered", action="store_true", help=what)
    add_notation(command)
    what = "of a line: points, or the name of a class such as icml, revtex, a4 (the default)"
    command.add_argument("--width", metavar="X", help=what)
    summary = "a tensor, or the diagrams of a term of its recursion, as a picture"
    command = add_command(commands, "draw", _draw, summary)
    what = "a name, for example R, G.1, X6_01_24"
    command.add_argument("tensor", metavar="TENSOR", help=what)
    command.add_argument("--term", type=int, help="a term of its recursion, by its number from 1")
    what = "of the recursion: derivatives of the activation, or inserted z (default derivative)"
    command.add_argument("--form", choices=FORMS, default="derivative", help=what)
    add_layer(command)
    _add_at(command)
    add_format(command, "svg", "tikz")
    command = add_command(commands, "list", _list, "the canonical names of all tensors of an order")
    command.add_argument("--order", type=int, default=1, help="the power of 1/n (default 1)")
    add_format(command, "text", "table", "json")


def _tensor_options(command: argparse.ArgumentParser) -> None:
    what = "one or several, for example R, G.1, X6_01_24"
    command.add_argument("tensors", nargs="*", metavar="TENSOR", help=what)
    command.add_argument("--edges", help="edges of a forest instead of a name, as 0-1,0-2")
    command.add_argument("--match", help="the matching of its vertices, as 03,12")
    add_inputs(command)
    what = "derivatives of the activation, or inserted z with the inverse kernel"
    command.add_argument("--form", choices=FORMS, default="derivative", help=what)
    add_layer(command)
    _add_at(command)
    command.add_argument(
        "--subleading",
        type=int,
        default=0,
        metavar="J",
        help="orders kept beyond the leading one (default 0)",
    )


def _add_at(command: argparse.ArgumentParser) -> None:
    """Add the choice of the second layer, whose recursion there is also with a skip."""
    what = "2 for the second layer alone, of layers of one field"
    command.add_argument("--at", type=int, help=what)


Asked = list[tuple[AnyTensor, int]]
Derived = Recursion | StackRecursion


def _recursions(options: argparse.Namespace, asked: Asked) -> list[Derived]:
    return [
        derive(
            correlator,
            inputs=options.inputs,
            form=options.form,
            piece=piece,
            layer=options.layer,
            at=options.at,
        )
        for correlator, piece in asked
        if isinstance(correlator, Correlator)  # all are: odd ones need the response
    ]


def _asked_tensors(options: argparse.Namespace) -> Asked:
    """The tensors that are named, or the one that is defined, each with its pieces."""
    if options.subleading < 0:
        raise OrderError(
            f"--subleading {options.subleading} is negative. "
            "It counts the orders beyond the leading one. Give 0 or more."
        )
    return [
        (correlator, piece)
        for correlator, first in _named_tensors(options)
        for piece in range(first, first + options.subleading + 1)
    ]


def _named_tensors(options: argparse.Namespace) -> Asked:
    """The tensors, each with the piece that its name says."""
    if options.tensors and not (options.edges or options.match):
        named = map(split_subleading, tensor_names(options.tensors))
        return [(named_tensor(name), piece) for name, piece in named]
    if options.tensors:
        options.complain(
            f"the tensor is given twice, as {options.tensors[0]} and by --edges or --match; "
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
    return [(correlator, 0)]


def _derive(options: argparse.Namespace) -> str:
    asked = _asked_tensors(options)
    if _needs_response(options, asked):
        return _response(options, asked)
    recursions = _recursions(options, asked)
    if (
        options.format == "json"
        and len(recursions) > 1
        and isinstance(recursions[0], StackRecursion)
    ):
        options.complain(ONE_TENSOR)
    return FORMATS[options.format](recursions)


def _needs_response(options: argparse.Namespace, asked: Asked) -> bool:
    """Whether a layer has a skip, or several streams of which the order 1/n is asked.

    Linear response has it, and the corrections of kernel and NTK also where fields are no chain.
    """
    layer = read_layer_definition(options.layer)
    if any(isinstance(one, OddTensor) for one, _ in asked):
        return True
    if isinstance(layer, Layer):
        return options.at is None and not layer.closes
    from symdlt.derivation.response.symbolic.readable import PIECES

    later = any(piece or one.order >= BEYOND for one, piece in asked)
    usual = (options.inputs, options.form, options.at) == ("many", "derivative", None)
    told = all(f"{one.name}.{piece}" in PIECES for one, piece in asked)
    return usual and (not later or (told and not is_chain(layer)))


def _response(options: argparse.Namespace, asked: Asked) -> str:
    from symdlt.networks import LayerEquations

    systems = _layer_equations(options, asked)
    if options.format == "json":
        if len(systems) > 1:
            options.complain(ONE_TENSOR)
        return systems[0].to_json()
    write = LayerEquations.to_latex if options.format == "latex" else str
    return "\n".join(map(write, systems))


def _layer_equations(options: argparse.Namespace, asked: Asked) -> list[LayerEquations]:
    """The equations of a layer of several streams, or with a skip."""
    from symdlt.networks import layer_equations

    if (options.inputs, options.form) != ("many", "derivative"):
        options.complain("for this layer there are equations for many inputs, in derivative form")
    return [
        layer_equations(f"{one.name}.{piece}" if piece else one, options.layer)
        for one, piece in asked
    ]


def _draw(options: argparse.Namespace) -> str:
    ((one, piece),) = [(tensor(n), k) for n, k in map(split_subleading, [options.tensor])]
    what: Correlator | RecursionTerm = one
    if options.term is not None:
        layer, at = options.layer, options.at
        recursion = derive(one, piece=piece, form=options.form, layer=layer, at=at)
        if isinstance(recursion, StackRecursion):
            options.complain(
                "diagrams are drawn of layers of one field; `symdlt explain` tells those of others"
            )
        what = term_of(recursion, options.term)
    elif options.layer != str(DENSE) or options.at is not None:
        options.complain("--layer and --at are of the recursion that --term is a term of")
    drawing = draw(what)
    kind = Path(options.output or "").suffix
    if kind and kind != {"svg": ".svg", "tikz": ".tex"}[options.format]:
        options.complain(f"{options.output}: a name ends with .svg, or with .tex for --format tikz")
    return drawing.svg if options.format == "svg" else drawing.tikz


def _forward(options: argparse.Namespace) -> str:
    equation = forward_equation(OBSERVABLES[options.observable], options.layer)
    if options.format == "text":
        return str(equation)
    from symdlt.formats.latex import to_latex

    return to_latex(equation)


def _explain(options: argparse.Namespace) -> str:
    return "\n\n".join(explain(each, options.term) for each in _results(options))


def _results(options: argparse.Namespace) -> Sequence[Derived | LayerEquations]:
    """The recursions that are asked for, or where there is none the equations of the layer."""
    asked = _asked_tensors(options)
    if _needs_response(options, asked):
        return _layer_equations(options, asked)
    return _recursions(options, asked)


def _latex(options: argparse.Namespace) -> str:
    from symdlt.derivation import RecursionSystem
    from symdlt.formats.latex import document, to_latex

    results, use = _results(options), _conventions(options)
    if not options.document:
        return "\n".join(
            to_latex(result, conventions=use, numbered=options.numbered) for result in results
        )
    recursions = tuple(one for one in results if isinstance(one, Recursion))
    if recursions:
        whole = recursions[0] if len(recursions) == 1 else RecursionSystem(recursions)
        return document(whole, conventions=use).source
    of_layers = [one for one in results if not isinstance(one, Recursion)]
    return document(of_layers, conventions=use).source


def _conventions(options: argparse.Namespace) -> Conventions:
    """The notation of a file, and the width of a line."""
    from symdlt.formats.latex import Conventions

    use = Conventions.read(options.notation) if options.notation else Conventions()
    if options.width is None:
        return use
    text = options.width
    return replace(use, width=float(text) if text.replace(".", "", 1).isdigit() else text)


def _latex_of(recursions: list[Derived]) -> str:
    from symdlt.formats.latex import to_latex

    return "\n".join(to_latex(recursion) for recursion in recursions)


def _text_of(recursions: list[Derived]) -> str:
    return "\n".join(map(str, recursions))


def _json_of(recursions: list[Derived]) -> str:
    texts = [to_json(recursion) for recursion in recursions]
    return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"


FORMATS = {"text": _text_of, "latex": _latex_of, "json": _json_of}


def _list(options: argparse.Namespace) -> str:
    listed = correlators(options.order)
    if options.format == "text":
        return "\n".join(one.name for one in listed)
    rows: list[dict[str, str | int]] = [_described(one) for one in listed]
    if options.format == "json":
        return json.dumps(rows, indent=1)
    cells = [[*rows[0]], *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(text_table(cells, left=len(cells[0])))


def _described(correlator: Correlator) -> dict[str, str | int]:
    """What a tensor is a cumulant of; legs of a pair have the same neuron."""
    pairs = ",".join(f"{a}{b}" for a, b in correlator.matching)
    edges = ",".join(f"{a}-{b}" for a, b in correlator.forest.edges)
    return {
        "name": correlator.name,
        "order": correlator.pairs - 1,
        "axes": correlator.axes,
        "edges": edges,
        "matching": pairs,
        "cumulant of": " ".join(_tree(correlator, tree) for tree in correlator.forest.components),
    }


def _tree(correlator: Correlator, vertices: tuple[int, ...]) -> str:
    """A tree of derivatives: z, its NTK H, and the differentials of that."""
    degrees = correlator.forest.degrees
    name = "d" * (len(vertices) - 2) + "H" if len(vertices) > 1 else "z"
    if len(vertices) == LARGEST_NAMED:
        name += "_I" if max(degrees[v] for v in vertices) == LARGEST_NAMED - 1 else "_II"
    return f"{name}({','.join(map(str, vertices))})"
