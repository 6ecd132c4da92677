"""The command line: data on stdout, talk on stderr, exit codes 0, 1 and 2."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from symdlt._asymptotic_commands import (
    run_criticality,
    run_exponents,
    run_nearby,
    run_phase,
    run_recipe,
)
from symdlt._version import VERSION
from symdlt.errors import OrderError, SymdltError
from symdlt.networks import (
    BOOK,
    Correlator,
    correlator_from,
    correlators,
    parse_pairs,
    split_subleading,
    tensor,
    vertex_labels,
)
from symdlt.recursions import FORMS, Recursion, derive, explain, to_json

EXAMPLES = {
    "derive": "symdlt derive R\nsymdlt derive G --subleading 1 --inputs one\n"
    "symdlt derive --edges 0-1,0-2 --match 03,12 --form z",
    "explain": "symdlt explain V --term 3\nsymdlt explain R --inputs one",
    "latex": "symdlt latex T --form z --document -o T.tex && pdflatex T.tex",
    "exponents": "symdlt exponents tanh --check 20000\nsymdlt exponents 'sin(z)' --format json\n"
    "symdlt exponents 'K*=0, odd' --order 2",
    "criticality": "symdlt criticality gelu\nsymdlt criticality 'z - z**3/6' --digits 50 "
    "--format json",
    "nearby": "symdlt nearby tanh",
    "phase": "symdlt phase tanh --C-W 1.5\nsymdlt phase gelu --C-W 1.5 --C-b 0.1 --format json",
    "recipe": "symdlt recipe tanh --widths 784,256,256,10",
    "kernel": "symdlt kernel -o my_kernels.py\nsymdlt kernel R U --inputs one\n"
    "symdlt kernel --activation 'tanh(x)' --tensors all --inputs many -o my_kernels.py",
    "check": "symdlt check --activation gelu --depth 3 --widths 32,64 --inputs data.npy\n"
    "symdlt check --activation 'sin(z)' --widths 50 --inputs data.csv --C-W 1 --tensors H,U",
    "regenerate": "symdlt regenerate --check",
    "list": "symdlt list --order 2",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 is success, 1 a request that fails, 2 one that cannot be read."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        text = options.run(options)
        _write(text, options.output)
    except SymdltError as reason:
        _say(str(reason))
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as reason:
        place = repr(reason.filename) if reason.filename else "to standard output"
        _say(f"cannot write {place}: {reason.strerror}.")
        return 1
    except KeyboardInterrupt:
        _say("interrupted; nothing was written.")
        return 1
    return int(options.failed)


def _say(text: str) -> None:
    if sys.stderr is not None:
        print(f"symdlt: {text}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="symdlt",
        description="Derive the recursions of finite-width networks from the definitions. "
        "Without a command: a short tour.",
    )
    parser.add_argument("--version", action="version", version=f"symdlt {VERSION}")
    parser.set_defaults(run=_tour, output=None, failed=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, run, summary in (
        ("derive", _derive, "the recursion of a tensor"),
        ("explain", _explain, "where each term of a recursion comes from"),
        ("latex", _latex, "a recursion in LaTeX"),
    ):
        command = _command(commands, name, run, summary)
        _tensor_options(command)
        if name == "explain":
            command.add_argument("--term", type=int, help="one term, by its number from 1")
        if name == "latex":
            command.add_argument("--document", action="store_true", help="a whole document")
        if name == "derive":
            _format_option(command, "text", "latex", "json")
    command = _about_activation(
        commands, "exponents", run_exponents, "critical exponents and ratios", "latex"
    )
    command.add_argument(
        "--check", type=int, metavar="DEPTH", help="against the kernel, iterated to that layer"
    )
    command.add_argument(
        "--order", type=int, default=1, help="of all tensors up to this power of 1/n (default 1)"
    )
    command = _about_activation(
        commands, "criticality", run_criticality, "critical C_b and C_W, and the class"
    )
    command.add_argument("--digits", type=int, default=30, help="of numbers (default 30)")
    _about_activation(commands, "nearby", run_nearby, "two nearby inputs at criticality")
    command = _about_activation(commands, "phase", run_phase, "ordered or chaotic, and how fast")
    for symbol, needed in (("C-W", True), ("C-b", False)):
        command.add_argument(f"--{symbol}", type=float, required=needed, default=0.0, metavar="X")
    command.add_argument("--digits", type=int, default=15, help="of numbers (default 15)")
    command = _about_activation(
        commands, "recipe", run_recipe, "critical initialisation, layer by layer"
    )
    command.add_argument(
        "--widths", required=True, type=_whole_numbers, help="of the input and of each layer"
    )
    command = _command(commands, "kernel", _kernel, "a NumPy kernel of recursions, as source")
    command.add_argument("tensors", nargs="*", metavar="TENSOR", help="all thirteen if left out")
    command.add_argument(
        "--tensors",
        dest="also",
        nargs="+",
        default=[],
        metavar="TENSOR",
        help="the same as an option; all is all thirteen",
    )
    command.add_argument("--inputs", choices=("one", "many"), default="many")
    command.add_argument("--activation", help="a name or an expression, to be written into it")
    command = _command(commands, "check", _check, "theory against sampled networks")
    _check_options(command)
    command = _command(commands, "regenerate", _regenerate, "the generated files of a checkout")
    command.add_argument("--check", action="store_true", help="only compare, and show what differs")
    command = _command(commands, "list", _list, "the canonical names of all tensors of an order")
    command.add_argument("--order", type=int, default=1, help="the power of 1/n (default 1)")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], str],
    summary: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog="examples:\n  " + EXAMPLES[name].replace("\n", "\n  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", type=_file_name, help="write to a file, in UTF-8"
    )
    command.set_defaults(run=run, complain=command.error)
    return command


def _about_activation(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], str],
    summary: str,
    *formats: str,
) -> argparse.ArgumentParser:
    command = _command(commands, name, run, summary)
    command.add_argument("activation", metavar="ACTIVATION", help="a name or an expression in z")
    _format_option(command, "text", *formats, "json")
    return command


def _file_name(text: str) -> str:
    if not Path(text).name:
        raise argparse.ArgumentTypeError(f"{text!r} names no file; give one such as R.txt")
    return text


def _tensor_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("tensor", nargs="?", metavar="TENSOR", help="for example R, G.1, X6_01_24")
    command.add_argument("--edges", help="edges of a forest instead of a name, as 0-1,0-2")
    command.add_argument("--match", help="the matching of its vertices, as 03,12")
    command.add_argument("--inputs", choices=("one", "many"), default="many")
    command.add_argument("--form", choices=FORMS, default="derivative")
    command.add_argument(
        "--subleading", type=int, default=0, metavar="J", help="orders kept beyond the leading one"
    )


def _check_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--activation", required=True, metavar="TEXT", help="a name or an expression in z")
    add("--widths", type=_whole_numbers, default=[], help="of the hidden layers, as 32,64")
    add("--depth", type=int, help="the number of layers, if it is 1 or one width stands for all")
    add("--inputs", required=True, metavar="FILE", help="data, one row a sample: npy, or text")
    for symbol, default in (("C-b", 0.0), ("C-W", 1.0), ("lambda-b", 0.0), ("lambda-W", 1.0)):
        what = f"one number, or one for each layer as 1,1,2 (default {default:g})"
        add(f"--{symbol}", type=_numbers, default=default, metavar="X", help=what)
    add("--tensors", default="all", help="as G,V (default all)")
    add("--outputs", type=int, default=4, help="output neurons; more give less noise (default 4)")
    add("--networks", type=int, default=2000, help="how many of each size (default 2000)")
    add("--seed", type=int, default=0, help="of the random numbers (default 0)")
    add("--no-extrapolation", action="store_true", help="sample these widths only, not twice them")


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} are no whole numbers; give them as 32,64"
        ) from None


def _numbers(text: str) -> float | list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} are no numbers; give one, or one for each layer as 1,1,2"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def _format_option(command: argparse.ArgumentParser, *formats: str) -> None:
    command.add_argument("--format", choices=formats, default=formats[0])


def _write(text: str, path: str | None) -> None:
    """Write the text in UTF-8, whatever the locale: a kernel must read back as it was made."""
    ended = text if text.endswith("\n") or not text else text + "\n"
    if path is not None:
        Path(path).write_text(ended, encoding="utf-8")
        _say(f"wrote {path}")
        return
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(ended)
    sys.stdout.flush()


def _recursions(options: argparse.Namespace) -> list[Recursion]:
    correlator, first = _asked_tensor(options)
    if options.subleading < 0:
        raise OrderError(
            f"--subleading {options.subleading} is negative. "
            "It counts the orders beyond the leading one. Give 0 or more."
        )
    pieces = range(first, first + options.subleading + 1)
    return [
        derive(correlator, inputs=options.inputs, form=options.form, piece=piece)
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
        _say(f"this is {correlator.name}; vertices are printed as samples: {printed}.")
    return correlator, 0


def _derive(options: argparse.Namespace) -> str:
    recursions = _recursions(options)
    if options.format == "latex":
        return _latex_of(recursions)
    if options.format == "text":
        return "\n".join(str(recursion) for recursion in recursions)
    texts = [to_json(recursion) for recursion in recursions]
    return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"


def _explain(options: argparse.Namespace) -> str:
    return "\n\n".join(explain(recursion, options.term) for recursion in _recursions(options))


def _latex(options: argparse.Namespace) -> str:
    recursions = _recursions(options)
    if not options.document:
        return _latex_of(recursions)
    from symdlt.recursions import RecursionSystem
    from symdlt.typesetting import document

    whole = recursions[0] if len(recursions) == 1 else RecursionSystem(tuple(recursions))
    return document(whole).source


def _latex_of(recursions: list[Recursion]) -> str:
    from symdlt.typesetting import to_latex

    return "\n".join(to_latex(recursion) for recursion in recursions)


def _kernel(options: argparse.Namespace) -> str:
    from symdlt.codegen import kernel_for

    name = Path(options.output).stem if options.output else "my_kernel"
    names = [*options.tensors, *options.also]
    wanted = [other for one in names for other in (BOOK if one == "all" else [one])]
    found = kernel_for(
        wanted or BOOK, inputs=options.inputs, activation=options.activation, name=name
    )
    return found.text


def _check(options: argparse.Namespace) -> str:
    from symdlt.mlp import MLP, check, read_data

    widths = options.widths
    if not widths and options.depth != 1:
        options.complain("give --widths, one for each layer but the last, or --depth 1")
    if options.depth is not None and options.depth > 1 and len(widths) == 1:
        widths = widths * (options.depth - 1)
    if options.depth not in (None, len(widths) + 1):
        options.complain(
            f"--depth {options.depth} does not fit {len(widths)} hidden widths; "
            "give one for each layer but the last, or one for all"
        )
    mlp = MLP(
        activation=options.activation,
        widths=widths,
        C_b=options.C_b,
        C_W=options.C_W,
        lambda_b=options.lambda_b,
        lambda_W=options.lambda_W,
        n_L=options.outputs,
    )
    compared = check(
        mlp,
        read_data(options.inputs),
        options.tensors.split(","),
        networks=options.networks,
        extrapolate=not options.no_extrapolation,
        seed=options.seed,
    )
    options.failed = not compared.agrees
    return str(compared)


def _regenerate(options: argparse.Namespace) -> str:
    from symdlt.pipeline import regenerate_checkout

    report = regenerate_checkout(check=options.check)
    options.failed = bool(options.check and report)
    return report


def _list(options: argparse.Namespace) -> str:
    return "\n".join(c.name for c in correlators(options.order))


def _tour(options: argparse.Namespace) -> str:
    from symdlt.pipeline import tour

    return tour()
