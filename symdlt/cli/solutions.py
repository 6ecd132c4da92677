"""Commands about depth: exponents, criticality, phases, and what follows for initialisation."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from symdlt.cli.options import (
    Commands,
    Named,
    add_command,
    add_format,
    add_notation,
    inner_widths,
    named_value,
    number,
    whole_numbers,
)
from symdlt.definitions import DENSE, RESIDUAL


def register(commands: Commands) -> None:
    """Add exponents, criticality, phases, and what follows for depth and initialisation."""
    about = "critical exponents and ratios"
    command = _about(
        commands, "exponents", _exponents, about, "latex", "tabular", reads=("notation",)
    )
    add_notation(command)
    command.add_argument(
        "--check", type=int, metavar="DEPTH", help="against the kernel, iterated to that layer"
    )
    command.add_argument(
        "--order", type=int, default=1, help="of all tensors up to this power of 1/n (default 1)"
    )
    command.add_argument(
        "--at-fixed-point", action="store_true", help="for K* > 0: a kernel that starts there"
    )
    _add_repeated(command)
    command = _about(commands, "skip-growth", _skip_growth, "growth of V with a skip, by layer")
    _add_repeated(command, RESIDUAL)
    command = _about(commands, "optimal-aspect-ratio", _aspect_ratio, "depth over width")
    command.add_argument("--outputs", type=int, default=2, help="how many (default 2)")
    _add_repeated(command)
    command = _about(commands, "criticality", _criticality, "critical C_b and C_W, and the class")
    command.add_argument("--digits", type=int, default=30, help="of numbers (default 30)")
    _add_repeated(command)
    command = _about(
        commands, "critical-line", _critical_line, "the C_W with chi_perp = 1 at a C_b"
    )
    _add_variance(command, "C_b", required=True)
    command.add_argument("--digits", type=int, default=15, help="of numbers (default 15)")
    _add_repeated(command)
    command = _about(commands, "gain", _gain, "the gain of dense layers that keeps the size of z")
    command.add_argument("--variance", type=number, default=1.0, help="to keep (default 1)")
    _add_repeated(_about(commands, "nearby", _nearby, "two nearby inputs at criticality"))
    command = _about(commands, "phase", _phase, "ordered or chaotic, and how fast")
    _add_variance(command, "C_W", required=True)
    _add_variance(command, "C_b", required=False)
    command.add_argument("--digits", type=int, default=15, help="of numbers (default 15)")
    _add_repeated(command)
    command = _about(commands, "recipe", _recipe, "critical initialisation, layer by layer")
    command.add_argument(
        "--widths", required=True, type=whole_numbers, help="of the input and of each layer"
    )
    command.add_argument(
        "--inner",
        action=Named,
        default={},
        type=inner_widths,
        metavar="NAME=N",
        help="of a field made inside a layer, as h=64; may be repeated",
    )
    _add_repeated(command)

    command = add_command(commands, "mean", _mean, "Gaussian mean, as a number or a formula")
    command.add_argument("activation", metavar="FUNCTION", help="a name or an expression in z")
    command.add_argument(
        "--mean", default="0", metavar="X", help="of z: a number or a letter (default 0)"
    )
    command.add_argument("--variance", required=True, metavar="X", help="of z, likewise")
    command.add_argument("--digits", type=int, default=15, help="of numbers (default 15)")


def _about(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], str],
    summary: str,
    *formats: str,
    reads: tuple[str, ...] = (),
) -> argparse.ArgumentParser:
    command = add_command(commands, name, run, summary, reads)
    command.add_argument("activation", metavar="ACTIVATION", help="a name or an expression in z")
    add_format(command, "text", *formats, "json")
    return command


def _add_variance(command: argparse.ArgumentParser, symbol: str, *, required: bool) -> None:
    names = (f"--{symbol.replace('_', '-')}", f"--{symbol}")
    what = {"C_b": "the variance of biases", "C_W": "n times the variance of weights"}[symbol]
    what += "" if required else " (default 0)"
    add = command.add_argument
    add(*names, type=number, required=required, default=0.0, metavar="X", help=what)


def _add_repeated(command: argparse.ArgumentParser, layer: str = str(DENSE)) -> None:
    """Add the layer that a network repeats, and values of its symbols."""
    command.add_argument("--layer", default=layer, help=f'the layer, as "{layer}" (the default)')
    command.add_argument(
        "--value",
        action=Named,
        default={},
        type=named_value,
        metavar="NAME=X",
        help="of a symbol of the layer that is not solved for; may be repeated",
    )


def _repeated(options: argparse.Namespace) -> dict[str, Any]:
    return {"layer": options.layer, "values": options.value}


def _exponents(options: argparse.Namespace) -> str:
    from symdlt.asymptotics import exponents
    from symdlt.definitions import correlators

    highest = correlators(options.order)  # refused before the lower ones are worked through
    wanted = [*(c for order in range(options.order) for c in correlators(order)), *highest]
    at_fixed_point, layer = options.at_fixed_point, _repeated(options)
    solution = exponents(options.activation, wanted, at_fixed_point=at_fixed_point, **layer)
    if options.check is not None and options.format in ("latex", "tabular"):
        options.complain("--check prints a text or JSON; leave --format out, or give json")
    if options.check is not None:
        from symdlt.networks import check_exponents

        return _shown(check_exponents(solution, options.check), options)
    if options.format in ("latex", "tabular"):
        from symdlt.formats.latex import Conventions

        use = Conventions.read(options.notation) if options.notation else None
        return solution.latex(use, tabular=options.format == "tabular")
    return _shown(solution, options)


def _skip_growth(options: argparse.Namespace) -> str:
    from symdlt.asymptotics import skip_growth

    return _shown(skip_growth(options.activation, **_repeated(options)), options)


def _aspect_ratio(options: argparse.Namespace) -> str:
    from symdlt.asymptotics import optimal_aspect_ratio

    ratio = optimal_aspect_ratio(options.activation, options.outputs, **_repeated(options))
    return _shown(ratio, options)


def _criticality(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import criticality

    answer = criticality(options.activation, **_repeated(options), digits=options.digits)
    return _shown(answer, options)


def _critical_line(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import critical_line

    layer, digits = _repeated(options), options.digits
    points = critical_line(options.activation, options.C_b, **layer, digits=digits)
    if options.format == "json":
        return json.dumps([point.to_dict() for point in points], indent=1)
    return "\n".join(map(str, points)) or "no point with that C_b"


def _gain(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import gain

    value = gain(options.activation, options.variance)
    given = {"activation": options.activation, "variance": options.variance}
    as_json = options.format == "json"
    return json.dumps({**given, "gain": value}, indent=1) if as_json else f"{value:.15g}"


def _nearby(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import nearby

    return _shown(nearby(options.activation, **_repeated(options)), options)


def _phase(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import phase

    variances, layer = (options.C_W, options.C_b), _repeated(options)
    answer = phase(options.activation, *variances, **layer, digits=options.digits)
    return _shown(answer, options)


def _recipe(options: argparse.Namespace) -> str:
    from symdlt.fixed_points import recipe

    inner, layer = options.inner, _repeated(options)
    return _shown(recipe(options.activation, options.widths, inner=inner, **layer), options)


def _mean(options: argparse.Namespace) -> str:
    from symdlt.means.precise import gaussian_mean

    value = gaussian_mean(
        options.activation, mean=options.mean, variance=options.variance, digits=options.digits
    )
    return str(value)


def _shown(answer: Any, options: argparse.Namespace) -> str:
    return json.dumps(answer.to_dict(), indent=1) if options.format == "json" else str(answer)
