"""Data from files."""

from collections.abc import Mapping
from io import BytesIO
from os import PathLike
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import KernelError, require
from symdlt.networks.files import check_expanded, file_name, warnings_as_errors

MAGIC = b"\x93NUMPY"
ARCHIVE = b"PK"


def read_data(path: str | PathLike[str], name: str = "x") -> NDArray[Any]:
    """Read an array of NumPy (npy, npz), or a text with one row a line, split at commas or spaces.

    Args:
        path: the file.
        name: which array, if it is an npz.

    Raises:
        InputError: if it is not the name of a file.
        KernelError: if it is none of these, or cannot be read.
    """
    file = file_name(path)
    require(name, str, "the name of an array", "Give one such as 'x'.")
    content = _content(file)
    try:
        if content.startswith(ARCHIVE):
            return _finite(_member(content, name))
        return _finite(_array(content) if content.startswith(MAGIC) else _rows(content))
    except Exception as reason:
        raise KernelError(
            f"No data can be read from {file!r}: {str(reason) or type(reason).__name__}. "
            + (
                f"It should be an archive with the array {name!r}. "
                f"Write it with numpy.savez, naming the arrays."
                if content.startswith(ARCHIVE)
                else "It is neither an array of numbers in a npy file nor rows of numbers in a "
                "text. Write it with numpy.save, or with numpy.savetxt."
            )
        ) from reason


def is_archive(path: str | PathLike[str]) -> bool:
    """Whether a file is an npz, which holds several arrays.

    Raises:
        InputError: if it is not the name of a file.
        KernelError: if it cannot be read.
    """
    return _content(file_name(path)).startswith(ARCHIVE)


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """What an npz with these arrays contains, for a file that is written as a whole.

    >>> pack({"x": np.ones(3)})[:2]
    b'PK'
    """
    file = BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _finite(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row, *rest = np.argwhere(~np.isfinite(array))[0].tolist()
        place = f" at place {rest[0] + 1}" if rest else ""
        raise ValueError(f"row {row + 1} has {array[(row, *rest)]}{place}")
    return array


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as reason:
        raise KernelError(
            f"No data can be read from {file!r}: {reason.strerror}. Give an existing file."
        ) from reason


def _member(content: bytes, name: str) -> NDArray[Any]:
    with np.lib.npyio.NpzFile(BytesIO(content), allow_pickle=False) as archive:
        if name not in archive.files:
            raise ValueError(f"it has no array {name!r}, only {short_repr(archive.files)}")
        check_expanded(archive, [name])
        with warnings_as_errors():
            array: NDArray[Any] = archive[name]
    return array


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
