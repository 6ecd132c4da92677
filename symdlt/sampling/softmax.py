"""Softmax over the keys of each query, of polynomials, forwards and backwards.

With $ζ_r = e^{x_r}/\\sum_s e^{x_s}$ an error e becomes $ζ_r (e_r - \\sum_s ζ_s e_s)$.
"""

import math
from collections.abc import Callable

import numpy as np

from symdlt.definitions import CAUSAL_SOFTMAX
from symdlt.sampling.labelled import POSITION, Array, Labelled, scale
from symdlt.sampling.polynomials import (
    Polynomial,
    add_polynomials,
    compose,
    multiply_polynomials,
)


def softmax(scores: Polynomial, name: str, top: int) -> Polynomial:
    """The part of each key among all keys of its query, or among those up to its position."""
    start = _of_keys(scores[0], _up_to_each) if name == CAUSAL_SOFTMAX else scores[0]
    largest = _of_keys(start, lambda values: values.real.max(axis=-1, keepdims=True))
    powers = Labelled(np.exp(start.values - largest.values), start.labels)
    both = compose([powers] * (top.bit_count() + 1), scores, top)
    sums = {mask: _sum_of_keys(one) for mask, one in both.items()}
    inverse = compose(
        [
            Labelled((-1) ** k * math.factorial(k) * sums[0].values ** (-k - 1.0), start.labels)
            for k in range(top.bit_count() + 1)
        ],
        sums,
        top,
    )
    return multiply_polynomials(both, inverse, top)


def pull_through_softmax(parts: Polynomial, errors: Polynomial, top: int) -> Polynomial:
    """Errors of the parts as errors of the scores."""
    own = multiply_polynomials(errors, parts, top)
    sums = {mask: scale(_sum_of_keys(one), -1.0) for mask, one in own.items()}
    return add_polynomials([own, multiply_polynomials(parts, sums, top)])


def _sum_of_keys(array: Labelled) -> Labelled:
    return _of_keys(array, lambda values: values.sum(axis=-1, keepdims=True))


def _up_to_each(values: Array) -> Array:
    """Scores of which those of later keys count for nothing."""
    return np.where(np.tri(values.shape[-1], dtype=bool), values, -np.inf)


def _of_keys(array: Labelled, reduced: Callable[[Array], Array]) -> Labelled:
    """What is made of all keys of a query, at each of them; positions are pairs of both."""
    axis = 1 + array.labels.index(POSITION)
    last = np.moveaxis(array.values, axis, -1)
    count = math.isqrt(last.shape[-1])
    by_query = last.reshape(*last.shape[:-1], count, count)
    spread = np.broadcast_to(reduced(by_query), by_query.shape).reshape(last.shape)
    return Labelled(np.moveaxis(spread, -1, axis), array.labels)
