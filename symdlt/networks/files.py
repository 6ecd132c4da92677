"""Files: all tensors of a network, arrays of NumPy with a header in JSON, and data of users."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from os import PathLike, fsencode, fspath
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import InputError, KernelError, SchemaError, require
from symdlt.files import whole_file
from symdlt.memory import memory_of_machine
from symdlt.networks.requests import KNOWN, Blocks, axes

Array = NDArray[np.float64]

# The version of the format.
SCHEMA = 1
# Above it JSON readers that take numbers for floats round whole ones.
LARGEST = 2**53
HEADER = "symdlt"
MAGIC = b"\x93NUMPY"
ARCHIVE = b"PK"


def arrays_of(
    tensors: Mapping[str, Array], widths: tuple[int, ...], blocks: Blocks
) -> dict[str, NDArray[Any]]:
    """What a file holds: the tensors, and a header."""
    header = {"schema": SCHEMA, "widths": widths, "blocks": blocks, "tensors": [*tensors]}
    return {HEADER: np.array(json.dumps(header)), **tensors}


def write(
    tensors: Mapping[str, Array], widths: tuple[int, ...], blocks: Blocks, path: str | PathLike[str]
) -> None:
    """Write tensors to exactly this path."""
    with whole_file(file_name(path)) as file:
        np.savez(file, **arrays_of(tensors, widths, blocks))  # type: ignore[arg-type]


def read(path: str | PathLike[str]) -> tuple[dict[str, Array], tuple[int, ...], Blocks]:
    """The tensors, widths and blocks of a file.

    Raises:
        SchemaError: if it is not as `write` writes it.
        OSError: if it cannot be opened.
    """
    name = file_name(path)
    with open(name, "rb") as file:
        try:
            with np.lib.npyio.NpzFile(file, allow_pickle=False) as archive, warnings_as_errors():
                check_expanded(archive, archive.files)
                return _contents(archive)
        except Exception as reason:
            said = str(reason) or type(reason).__name__
            raise SchemaError(
                f"{name!r} is not a file of saved tensors, or is damaged: {said[:200]}. "
                "Save the result again with `save`."
            ) from reason


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """NumPy reads some damaged headers with a warning."""
    with catch_warnings():
        simplefilter("error")
        yield


def file_name(path: Any) -> str:
    """The name of a file as text.

    Raises:
        InputError: if no file can have it.
    """
    try:
        name = fspath(path)
        if isinstance(name, str) and "\0" not in name and fsencode(name):
            return name
    except (TypeError, UnicodeError):
        pass
    raise InputError(
        f"{path!r:.80} is not the name of a file. It is the text of a path, or a Path. "
        "Give one such as 'tensors.npz'."
    )


def check_expanded(archive: np.lib.npyio.NpzFile, names: Sequence[str]) -> None:
    """Refuse arrays of an npz that are larger than memory once they are decompressed.

    Raises:
        ValueError: with the size that the header of the archive gives.
    """
    members = archive.zip.infolist() if archive.zip else []
    sizes = {info.filename.removesuffix(".npy"): info.file_size for info in members}
    needed = sum(sizes.get(name, 0) for name in names)
    if needed > memory_of_machine():
        raise ValueError(
            f"its arrays expand to {needed / 1e9:.2g} GB, and this machine has "
            f"{memory_of_machine() / 1e9:.2g} GB of memory"
        )


def _contents(archive: np.lib.npyio.NpzFile) -> tuple[dict[str, Array], tuple[int, ...], Blocks]:
    if HEADER not in archive.files:
        raise ValueError(f"it has the arrays {', '.join(archive.files)[:60]}, and no header")
    header = json.loads(str(archive[HEADER]))
    if type(header["schema"]) is not int or header["schema"] != SCHEMA:
        raise ValueError(f"it has schema {header['schema']!r:.20}, this version reads {SCHEMA}")
    names = header["tensors"]
    listed = type(names) is list and names and set(names) <= {*KNOWN}
    if not listed or sorted(archive.files) != sorted([HEADER, *names]):
        raise ValueError("its tensors are not those of its header")
    widths = _whole_numbers(header["widths"], 1)
    blocks = tuple(_whole_numbers(block, 0) for block in header["blocks"])
    most = max(axes(name) for name in names)
    if len(blocks) != most or any(len({*block}) != len(block) or not block for block in blocks):
        raise ValueError(f"its blocks are not {most} lists of samples")
    tensors = {name: archive[name] for name in names}
    for name, array in tensors.items():
        shape = (len(widths) + 1, *(len(block) for block in blocks[: axes(name)]))
        if array.dtype != np.float64 or array.shape != shape:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, not float64 {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")
    return tensors, widths, blocks


def _whole_numbers(listed: object, least: int) -> tuple[int, ...]:
    if type(listed) is not list:
        raise ValueError(f"{listed!r:.20} is no list of widths or samples")
    for number in listed:
        if type(number) is not int or not least <= number <= LARGEST:
            raise ValueError(f"{number!r:.20} is no width and no sample")
    return tuple(listed)


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
