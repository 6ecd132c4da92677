"""Equality of results that hold arrays, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


class EqualByFields:
    """A dataclass whose instances are equal if their fields are; arrays by their bytes.

    As with arrays there is no hash.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        names = (field.name for field in fields(self))  # type: ignore[arg-type]
        return all(_alike(getattr(self, name), getattr(other, name)) for name in names)


def _alike(first: Any, second: Any) -> bool:
    if hasattr(first, "tobytes") and hasattr(second, "tobytes"):
        kinds = (first.dtype, first.shape) == (second.dtype, second.shape)
        return kinds and bool(first.tobytes() == second.tobytes())
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return [*first] == [*second] and all(_alike(first[key], second[key]) for key in first)
    if isinstance(first, tuple | list) and type(first) is type(second):
        return len(first) == len(second) and all(map(_alike, first, second))
    return bool(first == second)
