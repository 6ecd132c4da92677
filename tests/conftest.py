"""Property tests draw the same examples on every run and are not timed; what comparisons say."""

import gc
from math import inf

import pytest
from hypothesis import HealthCheck, settings

from symdlt import progress

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def waits_are_not_told(monkeypatch):
    """What a call prints does not depend on how busy the machine is."""
    monkeypatch.setattr(progress, "TOLD_FROM", inf)


def pytest_collection_finish():
    """What was imported and collected is no garbage, and need not be looked at again."""
    gc.freeze()
    gc.set_threshold(20_000)  # seldom enough to take a fiftieth of the time, measured


def pytest_assertrepr_compare(op, left, right):
    """Show the terms at fault where two recursions, or two systems of them, should be equal."""
    from symdlt.derivation import Recursion, RecursionSystem

    if op != "==" or type(left) is not type(right):
        return None
    if isinstance(left, RecursionSystem) and left.names == right.names:
        pairs = list(zip(left, right, strict=True))
    elif isinstance(left, Recursion):
        pairs = [(left, right)]
    else:
        return None
    lines = [f"{left!r} == {right!r}"]
    for ours, theirs in pairs:
        lines += difference_of(ours, theirs)
    return lines


def difference_of(left, right):
    """The terms that only one of two recursions has, or that have other coefficients there."""
    lines = []
    for name in ("name", "samples", "form", "layer", "at"):
        if getattr(left, name) != getattr(right, name):
            lines.append(f"{name}: {getattr(left, name)} != {getattr(right, name)}")
    for place in ("terms", "first_layer"):
        ours, theirs = ({t.key: t for t in getattr(one, place)} for one in (left, right))
        for key in dict.fromkeys([*ours, *theirs]):
            one, other = ours.get(key), theirs.get(key)
            if one != other:
                lines.append(f"{left.name}, {place}: {one or 'nothing'} != {other or 'nothing'}")
        if not lines and getattr(left, place) != getattr(right, place):
            lines.append(f"{left.name}, {place}: equal terms in another order")
    return lines


@pytest.fixture
def ax():
    """An Axes of matplotlib, closed behind the test."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot.figure().add_subplot()
    pyplot.close("all")
