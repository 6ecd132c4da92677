"""The error of this package."""

from symdlt.errors import SymdltError


class ExpectationError(SymdltError, ValueError):
    """An expectation that cannot be taken as asked, with the reason."""
