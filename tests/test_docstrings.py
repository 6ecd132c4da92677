"""Every public name says what it takes, what it refuses, and shows itself at work."""

import inspect

import pytest

import symdlt

PUBLIC = [name for name in sorted(symdlt.__all__) if callable(getattr(symdlt, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name):
    what = getattr(symdlt, name)
    text = inspect.getdoc(what) or ""
    assert ">>> " in text
    if inspect.isclass(what):
        assert "Attributes:" in text or "Args:" in text
    else:
        takes = bool(inspect.signature(what).parameters)
        assert ("Raises:" in text and "Args:" in text) or not takes


def test_there_are_as_many_as_the_reference_shows():
    assert len(PUBLIC) > 50
