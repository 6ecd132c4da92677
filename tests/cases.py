"""Cases of a sweep."""

import pytest


def slow(*values):
    """One that takes a second or more, while others of its sweep show the same in less."""
    return pytest.param(*values, marks=pytest.mark.slow)


def swept(*values):
    """One that takes long, while others that are slow show the same at other values."""
    return pytest.param(*values, marks=pytest.mark.sweep)


def thinned(values, step):
    """Cases of which each `step`-th one is slow, and the others of the sweep."""
    return [
        pytest.param(value, marks=pytest.mark.sweep if place % step else pytest.mark.slow)
        for place, value in enumerate(values)
    ]
