"""Results as tables: text, and of pandas and arrays of xarray where these are installed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from symdlt.errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas as pd


class Tabular(ABC):
    """Results that are tables of numbers."""

    __slots__ = ()

    @abstractmethod
    def columns(self) -> Mapping[str, object]:
        """The columns of the table by their names."""

    def to_pandas(self) -> pd.DataFrame:
        """The table as a DataFrame of pandas.

        Raises:
            MissingLibraryError: if pandas is not installed.
        """
        return library("pandas").DataFrame(self.columns())


def text_table(rows: Sequence[Sequence[str]], left: int = 0, least: int = 0) -> list[str]:
    """Rows of texts as lines with columns.

    Args:
        rows: texts, as many in each.
        left: so many columns begin at the left of their place; those of numbers end at its right.
        least: how wide a column is at least.

    >>> print("\\n".join(text_table([("name", "x"), ("a", "10")], left=1)))
    name   x
    a     10
    """
    widths = [max(least, *map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust] * left + [str.rjust] * (len(widths) - left)
    return [
        "  ".join(
            side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def library(name: str, extra: str = "tables") -> ModuleType:
    """A library, or a module of one, that an extra brings.

    Raises:
        MissingLibraryError: if it is not installed.

    >>> from symdlt import MLP
    >>> mlp = MLP(activation="sin", widths=[20], C_b=0.0, C_W=1.0)
    >>> mlp.propagate([[1.0], [0.5]], "G").to_xarray()["G"].sel(layer=2).dims
    ('sample_1', 'sample_2')
    """
    try:
        return import_module(name)
    except ImportError as reason:
        raise MissingLibraryError(
            f"This needs {name}, which cannot be imported: {reason}. "
            f"Install it with pip install 'symdlt[{extra}]'."
        ) from reason
