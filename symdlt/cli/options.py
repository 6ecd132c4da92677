"""What commands share: their help, their options, and how they talk."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from symdlt.definitions import DENSE
from symdlt.errors import InputError
from symdlt.files import same_file

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# What starts with a minus and is no option: numbers, as argparse has it, and activations.
NEGATIVE = re.compile(r"-(\d|\.\d|z|[a-z_]+\()")
# A bound of repeated widths, such that a slip of the finger fills no memory; convention.
MOST_LAYERS = 1000
EXAMPLES = {
    "derive": "symdlt derive R\nsymdlt derive V F --inputs one\n"
    "symdlt derive G --subleading 1 --inputs one\n"
    "symdlt derive --edges 0-1,0-2 --match 03,12 --form z\n"
    'symdlt derive V --layer "z\' = xi z + b + W s(z)" --at 2',
    "forward": "symdlt forward NTK\nsymdlt forward dNTK --format latex\n"
    'symdlt forward preactivation --layer "z\' = xi z + b + W s(z)"\n'
    'symdlt forward NTK --layer "u = U z; v = V z; z\' = b + W s(u) v"',
    "tour": "symdlt tour",
    "completion": "symdlt completion bash > ~/.local/share/bash-completion/completions/symdlt\n"
    "symdlt completion zsh > ~/.zfunc/_symdlt",
    "propagate": "symdlt propagate --activation tanh --widths '9*64' --data data.csv\n"
    "symdlt propagate --activation relu --widths '9*64' --data data.csv --tensors V --C-W 1.28 "
    '--layer "z\' = xi z + W s(z)" --last "z\' = W s(z)" --value xi=0.6 --truncated\n'
    "symdlt propagate --activation gelu --depth 10 --widths 64 --data images.npy --tensors G H "
    "-o tensors.npz",
    "fixed-point": 'symdlt fixed-point tanh --layer "z\' = xi z + b + W s(z)" --value xi=0.8 '
    "--value C_b=0 --value C_W=0.4\n"
    'symdlt fixed-point gelu --layer "u = U z; v = V z; z\' = b + W s(u) v" --value C_U=1 '
    "--value C_V=1 --value C_b=0.1 --solve C_W",
    "explain": "symdlt explain V --term 3\nsymdlt explain R --inputs one\n"
    'symdlt explain H --layer "u = U z; v = V z; z\' = b + W s(u) v"',
    "latex": "symdlt latex T --form z --document -o T.tex && pdflatex T.tex\n"
    "symdlt latex V F --numbered --width icml --notation mine.toml",
    "draw": "symdlt draw R -o R.svg\nsymdlt draw D --term 25 --format tikz -o term.tex\n"
    'symdlt draw V --term 3 --layer "z\' = xi z + b + W s(z)" --at 2 -o skip.svg',
    "list": "symdlt list --order 2\nsymdlt list --format json",
    "exponents": "symdlt exponents tanh --check 20000\nsymdlt exponents 'sin(z)' --format json\n"
    "symdlt exponents 'K*=0, odd' --order 2\n"
    "symdlt exponents tanh --format tabular --notation mine.toml\n"
    'symdlt exponents tanh --layer "z\' = xi z + b + W s(z)" --value xi=0.8',
    "skip-growth": "symdlt skip-growth relu --value xi=0.7\n"
    'symdlt skip-growth gelu --layer "z\' = xi z + b + W s(z)" --value xi=0.7',
    "optimal-aspect-ratio": "symdlt optimal-aspect-ratio tanh --outputs 10\n"
    'symdlt optimal-aspect-ratio relu --layer "z\' = xi z + b + W s(z)" --value xi=0.9',
    "criticality": "symdlt criticality gelu\nsymdlt criticality 'z - z**3/6' --digits 50 "
    "--format json\n"
    'symdlt criticality gelu --layer "z\' = b + W s(z) + U z" --value C_U=1/4',
    "critical-line": "symdlt critical-line tanh --C-b 0.05",
    "gain": "symdlt gain sigmoid\nsymdlt gain tanh --variance 2",
    "nearby": "symdlt nearby tanh\n"
    'symdlt nearby tanh --layer "z\' = xi z + b + W s(z)" --value xi=0.8',
    "phase": "symdlt phase tanh --C-W 1.5\nsymdlt phase gelu --C-W 1.5 --C-b 0.1 --format json\n"
    'symdlt phase tanh --C-W 0.4 --layer "z\' = xi z + b + W s(z)" --value xi=0.8',
    "mean": "symdlt mean 'sin(z)' --mean 0.3 --variance 2\nsymdlt mean relu --mean m --variance v",
    "recipe": "symdlt recipe tanh --widths 784,256,256,10\nsymdlt recipe tanh "
    '--widths 784,64,64,10 --layer "z\' = xi z + b + W s(z)" --value xi=0.8',
    "kernel": "symdlt kernel -o my_kernels.py\nsymdlt kernel R U --inputs one\n"
    "symdlt kernel --activation 'tanh(x)' --tensors all --inputs many -o my_kernels.py\n"
    'symdlt kernel --layer "z\' = b + W s(z) + U s(z)" -o two_weights.py\n'
    'symdlt kernel V --layer "u = U z; v = V z; z\' = b + W s(u) v" -o gate.py\n'
    'symdlt kernel V --inputs one --layer "z\' = xi z + b + W s(z)" -o residual.py',
    "regenerate": "symdlt regenerate --check",
    "check": "symdlt check --activation gelu --depth 3 --widths 32,64 --data data.npy\n"
    "symdlt check --activation 'sin(z)' --widths 50 --data data.csv --C-W 1 --tensors H,U\n"
    "symdlt check --activation tanh --widths 16,16 --data data.csv --value xi=0.7 "
    '--layer "z\' = xi z + b + W s(z)" --last "z\' = b + W s(z)"',
    "predict": "symdlt predict --train train.npz --test test.npz --activation tanh "
    "--widths '3*100' --algorithm gd --eta 0.1\n"
    "symdlt predict --train x.csv --targets y.csv --test new.csv --activation gelu "
    "--widths 64,32 --time 20 -o out.npz\n"
    "symdlt predict --train train.npz --test test.npz --activation relu --C-W 2 "
    "--widths 3x100 --infinite --format json",
}


class Help(argparse.RawDescriptionHelpFormatter):
    """Help that says what is taken where an option is left out."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told = action.help or ""
        silent = action.default in (None, False, 0, argparse.SUPPRESS) or action.default == []
        if silent or "default" in told or action.required or not action.option_strings:
            return told
        return f"{told} (default %(default)s)"


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], str | bytes],
    summary: str,
    reads: tuple[str, ...] = (),
) -> argparse.ArgumentParser:
    """Add a command with its examples and `-o`; `reads` names the options that are its files."""
    command = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog="examples:\n  " + EXAMPLES[name].replace("\n", "\n  "),
        formatter_class=Help,
    )
    written = "write to a file, in UTF-8; - is standard output"
    command.add_argument("-o", "--output", metavar="FILE", type=_file_name, help=written)
    command.set_defaults(run=run, complain=command.error, reads=reads)
    command._negative_number_matcher = NEGATIVE
    return command


def add_format(command: argparse.ArgumentParser, *formats: str) -> None:
    """Add the choice of a format; the first is the default."""
    command.add_argument("--format", choices=formats, default=formats[0], help="of what is printed")


def add_inputs(command: argparse.ArgumentParser) -> None:
    """Add the choice of recursions for one input or for several."""
    what = "recursions for one input, or for several"
    command.add_argument("--inputs", choices=("one", "many"), default="many", help=what)


def add_notation(command: argparse.ArgumentParser) -> None:
    """Add a file with letters and the like, for LaTeX."""
    what = (
        "a TOML file: layers, kernel, frozen_ntk, sample, width (of a line), and a table of letters"
    )
    command.add_argument("--notation", metavar="FILE", help=what)


def add_layer(command: argparse.ArgumentParser) -> None:
    """Add the definition of a layer."""
    written = f'the layer, as "{DENSE}" (the default)'
    command.add_argument("--layer", default=str(DENSE), help=written)


def say(text: str) -> None:
    """Talk on stderr, if there is one."""
    if sys.stderr is not None:
        print(f"symdlt: {text}", file=sys.stderr)


def whole_numbers(text: str) -> list[int]:
    """Read widths, as 64,32 or 3*100 for three of 100."""
    try:
        return [width for part in text.split(",") for width in _repeated(part)]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} are no whole numbers; give them as 32,64, or 3*100 for three of 100"
        ) from None


def _repeated(part: str) -> Iterator[int]:
    *count, width = re.split(r"[*x]", part)
    (times,) = map(int, count or ["1"])
    if not 0 < times <= MOST_LAYERS:
        raise ValueError(part)
    return iter([int(width)] * times)


def tensor_names(given: Sequence[str]) -> list[str]:
    """Names with blanks or commas between them; none only where none are given."""
    names = re.findall(r"[^,\s]+", ",".join(given))
    if given and not names:
        raise InputError(
            f"The tensors {','.join(given)!r:.40} are no names. They tell what to compute. "
            "Give all, or names such as G V."
        )
    return names


def number(text: str) -> float:
    """Read one number, such as 1.5 or 3/2."""
    try:
        return float(Fraction(text) if "/" in text else text)
    except (ValueError, ArithmeticError):
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} is no number; give one such as 1.5 or 3/2"
        ) from None


def numbers(text: str) -> float | list[float]:
    """Read one number, or several as 1,1,2."""
    try:
        values = [number(part) for part in text.split(",")]
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} are no numbers; give one, or several as 1,1,2"
        ) from None
    return values[0] if len(values) == 1 else values


def named_value(text: str) -> tuple[str, str]:
    """Read a value of a symbol, such as C_U=1/4; the library reads the number."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no value of a symbol; give C_U=1/4")
    return name.strip(), value


class Named(argparse.Action):
    """Values by their names in a dictionary; each is given once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option: str | None = None,
    ) -> None:
        """Take one more, or refuse it."""
        assert isinstance(values, tuple)  # what the type of such an option reads
        name, value = values
        known = getattr(namespace, self.dest)
        if name in known:
            parser.error(f"argument {option}: {name} is given twice; give it once")
        setattr(namespace, self.dest, {**known, name: value})


def inner_widths(text: str) -> tuple[str, int | list[int]]:
    """Read the widths of a field inside a layer, such as h=64 or h=64,32."""
    name, value = named_value(text)
    widths = whole_numbers(value)
    return name, widths[0] if len(widths) == 1 else widths


def refuse_other_archives(options: argparse.Namespace) -> None:
    """Refuse names of files that say something else than what is written: text, JSON or a npz."""
    kind = Path(options.output or "").suffix.lower()
    if kind == ".npz" and options.format == "json":
        options.complain("--format json does not go into a npz; name the file out.json")
    if kind in {".npy", ".nc", ".h5", ".hdf5", ".csv", ".parquet", ".pkl"}:
        options.complain(f"{options.output}: arrays are written as npz; name the file out.npz")
    if kind == ".json" and options.format != "json":
        options.complain(f"{options.output}: for JSON give --format json")


def refuse_output_over_input(options: argparse.Namespace) -> None:
    """Refuse to write over a file that the command reads."""
    for name in options.reads:
        read = getattr(options, name)
        if read and options.output and same_file(read, options.output):
            options.complain(f"-o {options.output} is also --{name}; name another file")


def _file_name(text: str) -> str | None:
    if text == "-":
        return None
    if not Path(text).name:
        raise argparse.ArgumentTypeError(f"{text!r} names no file; give one such as R.txt")
    return text
