"""Data from files."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import KernelError


def read_data(path: str | PathLike[str]) -> NDArray[Any]:
    """Read an array of NumPy (npy), or a text with one row a line, split at commas or spaces.

    Raises:
        KernelError: if it is neither, or cannot be read.
    """
    try:
        with open(path, "rb") as file:
            if file.read(6) == b"\x93NUMPY":
                file.seek(0)
                array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
                return array
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        rows = [line.replace(",", " ").split() for line in lines]
        return np.array([[float(cell) for cell in row] for row in rows if row])
    except OSError as reason:
        raise KernelError(
            f"No data can be read from {str(path)!r}: {reason.strerror}. Give an existing file."
        ) from reason
    except (ValueError, EOFError, MemoryError) as reason:
        raise KernelError(
            f"No data can be read from {str(path)!r}: {reason}. It is neither an array of numbers "
            "in a npy file nor rows of numbers in a text. Write it with numpy.save."
        ) from reason
