"""The command line: data on stdout, talk on stderr, exit codes 0, 1 and 2."""

from symdlt.cli._main import main as main
from symdlt.cli._options import EXAMPLES as EXAMPLES
