"""Cases of a sweep."""

import pytest


def slow(*values):
    """One that takes long, while others of its sweep show the same in little time."""
    return pytest.param(*values, marks=pytest.mark.slow)


def swept(*values):
    """One that takes long, while others that are slow show the same at other values."""
    return pytest.param(*values, marks=pytest.mark.sweep)
