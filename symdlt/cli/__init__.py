"""The command line: data on stdout, talk on stderr, exit codes 0, 1, 2, and 130 for Ctrl-C."""

from symdlt.cli.main import main as main
from symdlt.cli.options import EXAMPLES as EXAMPLES
