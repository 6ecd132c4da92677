"""The command line itself: what is asked for is run, written, or refused."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence

from symdlt._version import VERSION
from symdlt.cli import networks, recursions, solutions, sources
from symdlt.cli.options import add_command, refuse_output_over_input, say
from symdlt.errors import MissingLibraryError, SymdltError
from symdlt.files import write_whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 is success, 1 a request that fails, 2 one that cannot be read."""
    parser = _parser()
    options = parser.parse_args(arguments)
    refuse_output_over_input(options)
    try:
        text = options.run(options)
        _write(text, options.output)
    except SymdltError as reason:
        say(str(reason))
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as reason:
        place = repr(reason.filename) if reason.filename else "to standard output"
        say(f"cannot write {place}: {reason.strerror}.")
        return 1
    return int(options.failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="symdlt",
        description="Derive the recursions of finite-width networks from the definitions. "
        "Without a command: a short tour.",
    )
    parser.add_argument("--version", action="version", version=f"symdlt {VERSION}")
    parser.set_defaults(run=_tour, output=None, failed=False, reads=())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for group in (recursions, solutions, sources, networks):
        group.register(commands)
    add_command(commands, "tour", _tour, "from definitions to results, in half a minute")
    summary = "a script that makes a shell complete commands and options"
    command = add_command(commands, "completion", _completion, summary)
    command.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")
    return parser


def _write(text: str | bytes, path: str | None) -> None:
    """Write the text in UTF-8, whatever the locale: a kernel must read back as it was made."""
    if isinstance(text, str) and text and not text.endswith("\n"):
        text += "\n"
    if path is not None:
        write_whole(path, text)
        say(f"wrote {path}")
        return
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(str(text))
    sys.stdout.flush()


def _completion(options: argparse.Namespace) -> str:
    try:
        import shtab
    except ImportError as reason:
        raise MissingLibraryError(
            f"Completion needs shtab, which cannot be imported: {reason}. "
            "Install it with pip install 'symdlt[completion]'."
        ) from reason
    parser = _parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for action in (action for one in commands.choices.values() for action in one._actions):
        if action.metavar == "FILE":
            action.complete = shtab.FILE
    return str(shtab.complete(parser, options.shell))


def _tour(options: argparse.Namespace) -> str:
    from symdlt.pipeline import tour

    return tour()
