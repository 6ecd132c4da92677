"""Commands that write source: kernels, and the generated files of a checkout."""

from __future__ import annotations

import argparse
from pathlib import Path

from symdlt.cli.options import Commands, add_command, add_inputs, add_layer, tensor_names
from symdlt.definitions import BOOK


def register(commands: Commands) -> None:
    """Add kernel and regenerate."""
    command = add_command(
        commands, "kernel", _kernel, "a NumPy or JAX kernel of recursions, as source"
    )
    command.add_argument("tensors", nargs="*", metavar="TENSOR", help="all thirteen if left out")
    command.add_argument(
        "--tensors",
        dest="also",
        nargs="+",
        action="extend",
        default=[],
        metavar="TENSOR",
        help="the same as an option; all is all thirteen",
    )
    add_inputs(command)
    add_layer(command)
    command.add_argument("--activation", help="a name or an expression, to be written into it")
    command.add_argument("--target", default="numpy", help="numpy (default) or jax")
    command = add_command(commands, "regenerate", _regenerate, "the generated files of a checkout")
    command.add_argument("--check", action="store_true", help="only compare, and show what differs")


def _kernel(options: argparse.Namespace) -> str:
    from symdlt.kernels import kernel_for

    name = Path(options.output).stem if options.output else "my_kernel"
    names = tensor_names([*options.tensors, *options.also])
    wanted = [other for one in names for other in (BOOK if one == "all" else [one])]
    source = kernel_for(
        wanted or BOOK,
        inputs=options.inputs,
        layer=options.layer,
        activation=options.activation,
        name=name,
        target=options.target,
    )
    return source.text


def _regenerate(options: argparse.Namespace) -> str:
    from symdlt.pipeline import regenerate_checkout

    report = regenerate_checkout(check=options.check)
    options.failed = bool(options.check and report)
    return report
