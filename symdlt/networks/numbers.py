"""Real numbers from whatever users have."""

from numbers import Real
from reprlib import repr as short_repr

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import InputError, KernelError
from symdlt.memory import memory_of_machine

# Bound: at a condition number of 1e10 a double leaves six digits of an inverse.
SINGULAR = 1e-10


def real_numbers(name: str, value: object, what: str) -> NDArray[np.float64]:
    """Numbers as an array of floats, finite or not; texts, complex numbers and True are none.

    Raises:
        InputError: if it does not consist of real numbers in rows of equal length.
    """
    if _is_masked(value):
        raise InputError(
            f"{name} is a masked array. What is masked has no value. Fill it, or leave out the "
            "rows with masked entries."
        )
    try:
        given = np.asarray(value)
        kind = given.dtype.kind
        if kind in "iuf" or (kind == "O" and given.size and all(map(_is_real, given.flat))):
            with np.errstate(over="ignore"):
                return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        f"{name} is {short_repr(value)}. It must consist of real numbers, in rows of one length. "
        f"Give {what}."
    )


def _is_masked(value: object) -> bool:
    rows = value if isinstance(value, list | tuple) else ()
    return any(isinstance(part, np.ma.MaskedArray) for part in (value, *rows))


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_memory(numbers: float, remedy: str) -> None:
    """Refuse arrays that would not fit into memory, with their size.

    Raises:
        KernelError: if so many floats are more than this machine can hold.
    """
    memory = memory_of_machine()
    if 8 * numbers > memory:
        raise KernelError(
            f"The tensors would take about {8 * numbers / 1e9:.2g} GB of memory. "
            f"This machine has {memory / 1e9:.2g} GB. {remedy}"
        )
