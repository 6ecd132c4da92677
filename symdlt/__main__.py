"""`python -m symdlt` and `symdlt` are the command line."""

import sys


def main() -> int:
    """Run the command line; an interrupt is answered even while it is still being loaded."""
    try:
        from symdlt.cli import main as run

        return run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("symdlt: interrupted.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
