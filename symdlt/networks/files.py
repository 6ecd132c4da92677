"""One file for all tensors of a network: arrays of NumPy and a header in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fsencode, fspath
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import InputError, SchemaError
from symdlt.files import whole_file
from symdlt.memory import memory_of_machine
from symdlt.networks.requests import KNOWN, Blocks, axes

Array = NDArray[np.float64]

# The version of the format.
SCHEMA = 1
# Above it JSON readers that take numbers for floats round whole ones.
LARGEST = 2**53
HEADER = "symdlt"


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
