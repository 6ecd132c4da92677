"""Polynomials in nilpotent ε: a dictionary from bit masks to arrays, zero where one is missing."""

from collections.abc import Iterator, Sequence
from functools import cache, reduce
from typing import TypeAlias

from symdlt.combinatorics import set_partitions
from symdlt.sampling.labelled import Labelled, add_all, multiply, scale

Polynomial: TypeAlias = dict[int, Labelled]


def compose(derivatives: Sequence[Labelled], inner: Polynomial, top: int) -> Polynomial:
    """A function of a polynomial, from the derivatives of the function at its value."""
    result: Polynomial = {}
    for mask in range(top + 1):
        terms = [
            reduce(multiply, (inner[block] for block in blocks), derivatives[len(blocks)])
            for blocks in list_mask_partitions(mask)
            if all(block in inner for block in blocks)
        ]
        store(result, mask, terms)
    return result


def add_polynomials(parts: Sequence[Polynomial]) -> Polynomial:
    """The sum, mask by mask."""
    result: Polynomial = {}
    for mask in sorted({mask for part in parts for mask in part}):
        store(result, mask, [part[mask] for part in parts if mask in part])
    return result


def multiply_polynomials(left: Polynomial, right: Polynomial, top: int) -> Polynomial:
    """The product, in which no ε stands twice."""
    result: Polynomial = {}
    for mask in range(top + 1):
        terms = [
            multiply(left[part], right[mask ^ part])
            for part in range(mask + 1)
            if part & mask == part and part in left and mask ^ part in right
        ]
        store(result, mask, terms)
    return result


def scaled(factor: float, array: Labelled) -> Labelled:
    """Multiply by a constant in front, which is mostly 1."""
    return array if factor == 1.0 else scale(array, factor)


def store(polynomial: Polynomial, mask: int, terms: list[Labelled]) -> None:
    """Set the coefficient of a mask to a sum; nothing is stored for zero."""
    total = add_all(terms)
    if total is not None:
        polynomial[mask] = total


def remove_one(mask: int) -> Iterator[tuple[int, int]]:
    """Each bit of a mask by its place, and the mask without it."""
    for index in range(mask.bit_length()):
        if mask >> index & 1:
            yield index, mask ^ (1 << index)


@cache
def list_mask_partitions(mask: int) -> tuple[tuple[int, ...], ...]:
    """List the set partitions of the bits of a mask, as tuples of masks.

    >>> list_mask_partitions(0b11)
    ((3,), (1, 2))
    """
    bits = tuple(1 << place for place in range(mask.bit_length()) if mask >> place & 1)
    return tuple(tuple(map(sum, partition)) for partition in set_partitions(bits))
