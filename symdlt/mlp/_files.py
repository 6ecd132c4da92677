"""One file for all tensors of a network: arrays of NumPy and a header in JSON."""

from __future__ import annotations

import json
import zipfile
import zlib
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import InputError, SchemaError
from symdlt.mlp._requests import TENSORS, Blocks, axes

if TYPE_CHECKING:
    from symdlt.mlp._propagation import Propagation

Array = NDArray[np.float64]

SCHEMA = 1
HEADER = "symdlt"


def write(result: Propagation, path: str | PathLike[str]) -> None:
    """Write a result to exactly this path."""
    header = {
        "schema": SCHEMA,
        "widths": result.widths,
        "blocks": result.blocks,
        "tensors": result.names,
    }
    with open(_file(path), "wb") as file:
        np.savez(file, **{HEADER: np.array(json.dumps(header)), **result.tensors})  # type: ignore[arg-type]


def read(path: str | PathLike[str]) -> tuple[dict[str, Array], tuple[int, ...], Blocks]:
    """The tensors, widths and blocks of a file.

    Raises:
        SchemaError: if it is not as `write` writes it.
    """
    name = _file(path)
    try:
        with open(name, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return _contents(archive)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        MemoryError,
        NotImplementedError,
        RecursionError,
        zipfile.BadZipFile,
        zlib.error,
    ) as reason:
        said = str(reason) or type(reason).__name__
        raise SchemaError(
            f"{name!r} is not a file of saved tensors, or is damaged: {said[:200]}. "
            "Save the result again with `save`."
        ) from reason


def _file(path: Any) -> str:
    try:
        return str(fspath(path))
    except TypeError:
        raise InputError(
            f"{path!r:.80} is not the name of a file. Give one such as 'tensors.npz'."
        ) from None


def _contents(archive: Any) -> tuple[dict[str, Array], tuple[int, ...], Blocks]:
    header = json.loads(str(archive[HEADER]))
    if header["schema"] != SCHEMA:
        raise ValueError(f"it has schema {header['schema']!r:.20}, this version reads {SCHEMA}")
    widths = tuple(map(_count, header["widths"]))
    blocks = tuple(tuple(map(_count, block)) for block in header["blocks"])
    names = header["tensors"]
    if not names or not set(names) <= {*TENSORS} or {*archive.files} != {HEADER, *names}:
        raise ValueError("its tensors are not those of its header")
    tensors = {name: archive[name] for name in names}
    for name, array in tensors.items():
        shape = (len(widths) + 1, *(len(block) for block in blocks[: axes(name)]))
        if array.dtype != np.float64 or array.shape != shape or len(shape) != axes(name) + 1:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, not float64 {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")
    return tensors, widths, blocks


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r:.20} is no width and no sample")
    return number
