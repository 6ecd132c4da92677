"""Commands with networks in numbers: theory against samples, and predictions of training."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from symdlt.cli.options import (
    Commands,
    Named,
    add_command,
    add_format,
    add_layer,
    inner_widths,
    named_value,
    number,
    numbers,
    refuse_other_archives,
    tensor_names,
    whole_numbers,
)
from symdlt.definitions import DENSE, Network, ascii_name, read_layer_definition

if TYPE_CHECKING:
    from symdlt.networks import Comparison
    from symdlt.training import Algorithm, GaussianPrediction, Prediction

ARCHIVE = ".npz"
# A convention: what is asked for without numbers is a critical network whose weights learn.
DEFAULTS = {"C_b": 0.0, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": 1.0}
OWN_OPTION = {"gd": ("eta", "steps"), "flow": ("time",), "two-step": ()}


def register(commands: Commands) -> None:
    """Add propagate, check, predict and fixed-point."""
    summary = "the tensors of a network at all layers"
    command = add_command(commands, "propagate", _propagate, summary, ("data",))
    _network_options(command)
    _data_options(command)
    _tolerance_option(command)
    what = (
        "take the recursion that reads the layer below alone, as it is in print; with a skip it is "
        "off from layer 3 on, and the text says by how much"
    )
    command.add_argument("--truncated", action="store_true", help=what)
    add_format(command, "text", "json")
    command = add_command(commands, "check", _check, "theory against sampled networks", ("data",))
    _network_options(command)
    _data_options(command)
    _check_options(command)
    add_format(command, "text", "json")
    summary = "outputs of trained networks, to order 1/n"
    command = add_command(commands, "predict", _predict, summary, ("train", "targets", "test"))
    _network_options(command)
    _predict_options(command)
    add_format(command, "text", "json")
    summary = "where the kernel of a layer of any kind goes, and the slopes there"
    command = add_command(commands, "fixed-point", _fixed_point, summary)
    _fixed_point_options(command)


def _network_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--activation", required=True, metavar="TEXT", help="a name or an expression in z")
    add(
        "--widths",
        type=whole_numbers,
        default=[],
        help="of the hidden layers, as 32,64 or '3*100'",
    )
    add("--depth", type=int, help="the number of layers, if it is 1 or one width stands for all")
    for symbol, default in DEFAULTS.items():
        names = (f"--{symbol.replace('_', '-')}", f"--{symbol}")
        what = f"one number, or one for each layer as 1,1,2 (default {default:g})"
        add(*names, type=numbers, metavar="X", help=what)
    add("--layer", metavar="TEXT", help=f'every layer, as "{DENSE}" (the default)')
    add("--first", metavar="TEXT", help="the first layer, if it is another one")
    add("--last", metavar="TEXT", help="the last layer, if it is another one")
    what = "of another symbol of the layers, as xi=0.5 or C_U=1,2; may be repeated"
    add("--value", action=Named, default={}, type=_values, metavar="NAME=X", help=what)
    what = "of a field made inside a layer, as h=64; may be repeated"
    add("--inner", action=Named, default={}, type=inner_widths, metavar="NAME=N", help=what)


def _data_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--data", required=True, metavar="FILE", help="data, one row a sample: npy, or text")
    add("--tensors", nargs="+", action="extend", metavar="TENSOR", help="as G V (default all)")


def _fixed_point_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("activation", metavar="ACTIVATION", help="a name or an expression in z")
    add_layer(command)
    what = "of a symbol of the layer, as C_W=1.5; may be repeated"
    add("--value", action=Named, default={}, type=_values, metavar="NAME=X", help=what)
    add("--solve", metavar="NAME", help="the symbol to solve chi_perp = 1 for")
    add("--start", type=number, default=1.0, help="the kernel to set out from (default 1)")


def _check_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--outputs", type=int, default=4, help="output neurons; more give less noise (default 4)")
    add("--networks", type=int, default=2000, help="how many of each size (default 2000)")
    add("--error", type=number, metavar="X", help="stop at this relative standard error, as .1")
    add("--seed", type=int, default=0, help="of the random numbers (default 0)")
    add("--no-extrapolation", action="store_true", help="sample these widths only, not twice them")


def _predict_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--train", required=True, metavar="FILE", help="npz with x and y; or x in a npy or text")
    add("--targets", metavar="FILE", help="y, if it is not in --train: npy, or text")
    add("--test", required=True, metavar="FILE", help="npz with x; or x in a npy or text")
    add(
        "--algorithm",
        choices=[*OWN_OPTION],
        default="flow",
        help="gradient descent, gradient flow (default), or two steps of second order",
    )
    add("--eta", type=numbers, metavar="X", help="gd: the step size, or one for each step as 1,.5")
    add("--steps", type=int, help="gd: how many; to the end of training if left out")
    add("--time", type=float, help="flow: how long; to the end of training if left out")
    add("--ridge", type=number, default=0.0, metavar="X", help="added to the NTK (default 0)")
    add("--infinite", action="store_true", help="at infinite width; the widths only count layers")
    _tolerance_option(command)
    add("--no-covariance", action="store_true", help="the mean only, which takes less time")


def _tolerance_option(command: argparse.ArgumentParser) -> None:
    what = "of Gaussian means, relative to their size; needed for softmax over many positions"
    command.add_argument("--tolerance", type=number, metavar="X", help=what)


def _values(text: str) -> tuple[str, float | list[float]]:
    name, value = named_value(text)
    return name, numbers(value)


def _network(options: argparse.Namespace, outputs: int) -> Network:
    from symdlt.networks import MLP

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
    asked = {symbol: getattr(options, symbol) for symbol in DEFAULTS}
    given = {symbol: value for symbol, value in asked.items() if value is not None}
    if options.layer or options.first or options.last:
        return _of_layers(options, widths, given, outputs)
    if options.value or options.inner:
        options.complain("--value and --inner belong to --layer, --first and --last; give these")
    return MLP(activation=options.activation, widths=widths, n_L=outputs, **DEFAULTS | given)


def _of_layers(
    options: argparse.Namespace, widths: list[int], given: dict[str, object], outputs: int
) -> Network:
    """A network of layers that are written on the command line."""
    layers = [read_layer_definition(options.layer or str(DENSE))] * (len(widths) + 1)
    if options.last:
        layers[-1] = read_layer_definition(options.last)
    if options.first:
        layers[0] = read_layer_definition(options.first)
    symbols = {ascii_name(symbol) for layer in layers for symbol in layer.symbols}
    for name in given:
        option = f"--{name.replace('_', '-')}"
        if name in options.value:
            options.complain(f"{option} and --value {name} are the same; give one")
        if name not in symbols:
            options.complain(f"{option} is of no layer; they have {', '.join(sorted(symbols))}")
    rates = {name: 1.0 for name in symbols if name.startswith("lambda_")}
    usual = {name: value for name, value in (rates | DEFAULTS).items() if name in symbols}
    return Network(
        options.activation,
        widths,
        {**usual, **given, **options.value},
        layers,
        n_L=outputs,
        inner=options.inner,
    )


def _check(options: argparse.Namespace) -> str:
    from symdlt.networks import AGREEMENT, check, read_data

    compared = check(
        _network(options, options.outputs),
        read_data(options.data),
        tensor_names(options.tensors or ["all"]),
        networks=options.networks,
        error=options.error,
        extrapolate=not options.no_extrapolation,
        seed=options.seed,
    )
    options.failed = not compared.agrees
    if options.format == "json":
        return json.dumps(_compared(compared), indent=1)
    verdict = "do not agree" if options.failed else "agree"
    return f"{compared}\nTheory and networks {verdict}: the bound is {AGREEMENT:g} standard errors."


def _compared(compared: Comparison) -> dict[str, object]:
    """A comparison as data."""
    tensors = {
        name: {
            "theory": compared.theory[name].tolist(),
            "measured": compared.measured[name].tolist(),
            "error": compared.errors[name].tolist(),
        }
        for name in compared.names
    }
    return {"agrees": compared.agrees, "networks": compared.networks, "tensors": tensors}


def _propagate(options: argparse.Namespace) -> str | bytes:
    from symdlt.networks import (
        pack,
        propagate,
        read_data,
        truncated_recursion,
        truncation_text,
    )

    names = tensor_names(options.tensors or ["all"])
    archive = (options.output or "").endswith(ARCHIVE)
    refuse_other_archives(options)
    network, data = _network(options, 1), read_data(options.data)
    take = truncated_recursion if options.truncated else propagate
    propagation = take(network, data, names, tolerance=_tolerance(options))
    if archive:
        return pack(propagation.arrays())
    if options.format == "json":
        return json.dumps(
            {name: array.tolist() for name, array in propagation.tensors.items()}, indent=1
        )
    if options.truncated:
        full = propagate(network, data, names, tolerance=_tolerance(options))
        return truncation_text(propagation, full)
    return str(propagation)


def _tolerance(options: argparse.Namespace) -> float:
    """The tolerance that was given, or the usual one."""
    from symdlt.precision import TOLERANCE

    return TOLERANCE if options.tolerance is None else float(options.tolerance)


def _fixed_point(options: argparse.Namespace) -> str:
    from symdlt.networks import critical_value, layer_phase

    values = options.value
    if options.solve:
        solve = options.solve
        solution = critical_value(
            options.layer, options.activation, values, solve, start=options.start
        )
    else:
        solution = layer_phase(options.layer, options.activation, values, start=options.start)
    return str(solution)


def _predict(options: argparse.Namespace) -> str | bytes:
    from symdlt.networks import pack, read_data
    from symdlt.training import predict, predict_infinite

    archive = (options.output or "").endswith(ARCHIVE)
    refuse_other_archives(options)
    algorithm = _algorithm(options)
    x, y, x_test = read_data(options.train), _targets(options), read_data(options.test)
    net = _network(options, y.shape[1] if y.ndim > 1 else 1)
    prediction: GaussianPrediction | Prediction
    if options.infinite:
        prediction = predict_infinite(
            net, x, y, x_test, algorithm, ridge=options.ridge, tolerance=_tolerance(options)
        )
    else:
        if options.tolerance is not None:
            options.complain("--tolerance belongs to --infinite; leave it out, or give that")
        asked = {"ridge": options.ridge, "covariance": not options.no_covariance}
        prediction = predict(net, x, y, x_test, algorithm, **asked)
    if archive:
        return pack(prediction.arrays())
    if options.format == "json":
        named = {name: array.tolist() for name, array in prediction.arrays().items()}
        return json.dumps(named, indent=1)
    return str(prediction)


def _algorithm(options: argparse.Namespace) -> Algorithm:
    from symdlt.training import GradientDescent, GradientFlow, TwoStep

    for owner, names in OWN_OPTION.items():
        for name in names:
            if owner != options.algorithm and getattr(options, name) is not None:
                options.complain(
                    f"--{name} belongs to --algorithm {owner}; leave it out, or give that"
                )
    if options.algorithm == "flow":
        return GradientFlow(options.time)
    if options.algorithm == "two-step":
        return TwoStep()
    if options.eta is None:
        options.complain("--algorithm gd needs its step size, as --eta 0.1")
    return GradientDescent(options.eta, options.steps)


def _targets(options: argparse.Namespace) -> Any:
    from symdlt.networks import is_archive, read_data

    if options.targets:
        return read_data(options.targets, "y")
    if not is_archive(options.train):
        options.complain(
            f"{options.train!r} has no targets, it is no npz with x and y; give --targets FILE"
        )
    return read_data(options.train, "y")
