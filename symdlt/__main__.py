"""`python -m symdlt` and `symdlt` are the command line."""

import sys

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended, 128 + SIGINT, as shells have it."""


def main() -> int:
    """Run the command line; an interrupt is answered even while it is still being loaded."""
    try:
        from symdlt.cli import main as run

        return run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("symdlt: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
