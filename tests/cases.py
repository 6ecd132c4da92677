"""Cases of a sweep."""

import pytest


def slow(*values):
    """One that takes long, while others of its sweep show the same in little time."""
    return pytest.param(*values, marks=pytest.mark.slow)
