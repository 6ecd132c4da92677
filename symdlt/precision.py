"""Numbers of many digits whose precision belongs to one thread alone.

The precision of `mpmath.mp` is one for the whole process: two threads that set it spoil each
other's digits in silence. Here each thread has a context of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import mpmath

if TYPE_CHECKING:
    import sympy as sp

# A number of `mp`. Its class is another in every thread; this one has the same methods.
Precise: TypeAlias = mpmath.mpf
# What is computed roughly in floating point, and to any number of digits; by NumPy in arrays.
AnyPrecision: TypeAlias = float | Precise
# What users give as an exact number: floats are read as they are printed, texts as 1e-3 or 2/9.
NumberLike: TypeAlias = "float | str | Fraction | sp.Expr"


# Convention: of means over four samples, in units of their norms, unless told.
TOLERANCE = 1e-7


class ThreadNumbers(threading.local):
    """A namespace such as `mpmath`, of this thread, that can stand for other kinds of numbers.

    >>> with mp.workdps(30):
    ...     print(mp.mpf(1) / 3)
    0.333333333333333333333333333333
    >>> mpmath.mp.dps
    15
    """

    def __init__(self) -> None:
        self.context: object = mpmath.MPContext()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    @contextmanager
    def using(self, context: object) -> Iterator[None]:
        """Functions such as `tanh` taken from elsewhere, for arrays for instance."""
        before, self.context = self.context, context
        try:
            yield
        finally:
            self.context = before


mp = ThreadNumbers()


FUNCTIONS = (
    *("mpf", "pi", "e", "asinh", "atan", "cos", "cosh", "erf", "erfc", "exp", "log"),
    *("sin", "sinh", "sqrt", "tanh"),
)


def modules() -> list[str | dict[str, Callable[[Precise], Precise]]]:
    """What `sympy.lambdify` is to take functions from, for numbers of this thread."""
    return [{name: getattr(mp, name) for name in FUNCTIONS}, "mpmath"]


def number(exact: sp.Expr) -> Precise:
    """An exact SymPy number at the precision of this thread."""
    import sympy as sp

    return mp.mpf(sp.N(exact, mp.dps + 5)._to_mpmath(mp.prec + 16))


def rounded(value: Precise, digits: int) -> sp.Float:
    """A number of this thread as a SymPy number.

    SymPy takes only numbers of the process's context without loss.
    """
    import sympy as sp

    return sp.Float(mpmath.mp.make_mpf(mp.convert(value)._mpf_), digits)
