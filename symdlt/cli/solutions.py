"""Commands about depth: exponents, criticality, phases, and what follows for initialisation."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from symdlt.cli.options import Commands, add_command, add_format, number, whole_numbers


def register(commands: Commands) -> None:
    """Add exponents, criticality, nearby, phase, recipe and mean."""
    command = _about(commands, "exponents", _exponents, "critical exponents and ratios", "latex")
    command.add_argument(
        "--check", type=int, metavar="DEPTH", help="against the kernel, iterated to that layer"
    )
    command.add_argument(
        "--order", type=int, default=1, help="of all tensors up to this power of 1/n (default 1)"
    )
    command.add_argument(
        "--at-fixed-point", action="store_true", help="for K* > 0: a kernel that starts there"
    )
    command = _about(commands, "criticality", _criticality, "critical C_b and C_W, and the class")
    command.add_argument("--digits", type=int, default=30, help="of numbers (default 30)")
    _about(commands, "nearby", _nearby, "two nearby inputs at criticality")
    command = _about(commands, "phase", _phase, "ordered or chaotic, and how fast")
    for symbol, needed in (("C_W", True), ("C_b", False)):
        names = (f"--{symbol.replace('_', '-')}", f"--{symbol}")
        command.add_argument(*names, type=number, required=needed, default=0.0, metavar="X")
    command.add_argument("--digits", type=int, default=15, help="of numbers (default 15)")
    command = _about(commands, "recipe", _recipe, "critical initialisation, layer by layer")
    command.add_argument(
        "--widths", required=True, type=whole_numbers, help="of the input and of each layer"
    )

    command = add_command(commands, "mean", _mean, "Gaussian mean, as a number or a formula")
    command.add_argument("activation", metavar="FUNCTION", help="a name or an expression in z")
    command.add_argument("--mean", default="0", metavar="X", help="of z: a number or a letter")
    command.add_argument("--variance", required=True, metavar="X", help="of z, likewise")
    command.add_argument("--digits", type=int, default=15, help="of numbers (default 15)")


def _about(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], str],
    summary: str,
    *formats: str,
) -> argparse.ArgumentParser:
    command = add_command(commands, name, run, summary)
    command.add_argument("activation", metavar="ACTIVATION", help="a name or an expression in z")
    add_format(command, "text", *formats, "json")
    return command


def _exponents(options: argparse.Namespace) -> str:
    from symdlt.asymptotics import exponents
    from symdlt.definitions import correlators

    highest = correlators(options.order)  # refused before the lower ones are worked through
    wanted = [*(c for order in range(options.order) for c in correlators(order)), *highest]
    solution = exponents(options.activation, wanted, at_fixed_point=options.at_fixed_point)
    if options.check is not None:
        from symdlt.networks import check_exponents

        return _shown(check_exponents(solution, options.check), options)
    return solution.latex() if options.format == "latex" else _shown(solution, options)


def _criticality(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import criticality

    return _shown(criticality(options.activation, digits=options.digits), options)


def _nearby(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import nearby

    return _shown(nearby(options.activation), options)


def _phase(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import phase

    found = phase(options.activation, options.C_W, options.C_b, digits=options.digits)
    return _shown(found, options)


def _recipe(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import recipe

    return _shown(recipe(options.activation, options.widths), options)


def _mean(options: argparse.Namespace) -> str:
    from symdlt.means.precise import gaussian_mean

    found = gaussian_mean(
        options.activation, mean=options.mean, variance=options.variance, digits=options.digits
    )
    return str(found)


def _shown(found: Any, options: argparse.Namespace) -> str:
    return json.dumps(found.to_dict(), indent=1) if options.format == "json" else str(found)
