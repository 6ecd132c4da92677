"""`python -m symdlt` is the command line."""

import sys

from symdlt.cli import main

if __name__ == "__main__":
    sys.exit(main())
