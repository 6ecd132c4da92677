"""Data from files."""

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import KernelError
from symdlt.mlp._files import file_name, warnings_as_errors

MAGIC = b"\x93NUMPY"


def read_data(path: str | PathLike[str]) -> NDArray[Any]:
    """Read an array of NumPy (npy), or a text with one row a line, split at commas or spaces.

    Raises:
        InputError: if it is not the name of a file.
        KernelError: if it is neither, or cannot be read.
    """
    name = file_name(path)
    try:
        content = Path(name).read_bytes()
    except OSError as reason:
        raise KernelError(
            f"No data can be read from {name!r}: {reason.strerror}. Give an existing file."
        ) from reason
    try:
        return _array(content) if content.startswith(MAGIC) else _rows(content)
    except Exception as reason:
        raise KernelError(
            f"No data can be read from {name!r}: {str(reason) or type(reason).__name__}. "
            "It is neither an array of numbers in a npy file nor rows of numbers in a text. "
            "Write it with numpy.save, or with numpy.savetxt."
        ) from reason


def _array(content: bytes) -> NDArray[Any]:
    with warnings_as_errors():
        array: NDArray[Any] = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    return array


def _rows(content: bytes) -> NDArray[Any]:
    lines = content.decode("utf-8-sig").splitlines()
    rows = {place: _cells(place, line) for place, line in enumerate(lines, 1) if line.strip()}
    if not rows:
        raise ValueError("it is empty")
    (first, row), *_ = rows.items()
    for place, other in rows.items():
        if len(other) != len(row):
            raise ValueError(
                f"line {place} has another number of cells than line {first}, "
                f"{len(other)} and not {len(row)}"
            )
    return np.array([*rows.values()])


def _cells(place: int, line: str) -> list[float]:
    cells = line.split(",") if "," in line else line.split()
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        if ";" in line:
            said = "has semicolons, and cells are split at commas or spaces"
        elif "" in map(str.strip, cells):
            said = "has an empty cell"
        else:
            said = "has a cell that is no number; the names of columns are to be left out"
        raise ValueError(f"line {place}, {line.strip()[:40]!r}, {said}") from None
