"""Arrays that are linear in arrays not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symdlt.derivation.response.site_means import ONE, ZERO, Array
from symdlt.networks.depths.states import Unknown


class LinearForm:
    r"""$a + \sum_k c_k\,x_k$, with arrays a and c, and unknown arrays x that have names.

    It stands where an array does, is added to arrays and forms, and multiplied with arrays.

    Attributes:
        constant: a; `ZERO` itself if there is none.
        factors: c by the names of x.
    """

    __array_ufunc__ = None  # NumPy leaves sums and products with arrays to the form
    shape = ONE.shape

    def __init__(self, constant: Array, factors: Mapping[Unknown, Array]) -> None:
        self.constant = constant
        self.factors = factors

    @classmethod
    def unknown(cls, name: Unknown) -> LinearForm:
        """One unknown."""
        return cls(ZERO, {name: ONE})

    def __add__(self, other: Array | LinearForm) -> LinearForm:
        if not isinstance(other, LinearForm):
            return LinearForm(_sum(self.constant, other), self.factors)
        factors = dict(self.factors)
        for name, factor in other.factors.items():
            factors[name] = _sum(factors.get(name, ZERO), factor)
        return LinearForm(_sum(self.constant, other.constant), factors)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> LinearForm:
        constant = ZERO if self.constant is ZERO else factor * self.constant
        return LinearForm(constant, {name: factor * one for name, one in self.factors.items()})

    __rmul__ = __mul__


def form_of(value: Array | LinearForm) -> LinearForm:
    """An array as a form without unknowns."""
    return value if isinstance(value, LinearForm) else LinearForm(value, {})


def _sum(left: Array, right: Array) -> Array:
    """The sum; `ZERO` stays itself."""
    if left is ZERO:
        return right
    return left if right is ZERO else left + right
