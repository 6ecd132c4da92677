"""Fields over their length, and softmax, of polynomials, forwards and backwards.

Of RMSNorm and LayerNorm, with $x = z$, or $z$ less its mean over the neurons, and
$c = (\\frac1n\\sum_j x_j^2)^{-1/2}$ the field is $c\\,x$. Its Jacobian is symmetric: an error e
becomes $c\\,e - c^3 x\\,\\frac1n\\sum_j e_jx_j$, less its mean where that of z is taken away. Of
softmax over the keys of each query, $ζ_r = e^{x_r}/\\sum_s e^{x_s}$, it becomes
$ζ_r (e_r - \\sum_s ζ_s e_s)$.
"""

import math
from collections.abc import Callable

import numpy as np

from symdlt.definitions import CAUSAL_SOFTMAX, LAYER_NORM
from symdlt.errors import SamplingError
from symdlt.sampling.labelled import POSITION, Array, Labelled, scale
from symdlt.sampling.polynomials import (
    Polynomial,
    add_polynomials,
    compose,
    multiply_polynomials,
)


def normalised(norm: str, field: Polynomial, top: int) -> Polynomial:
    """The field over its length."""
    x = _centred(norm, field)
    return multiply_polynomials(x, _inverse_length(x, top), top)


def pull_through_norm(norm: str, field: Polynomial, errors: Polynomial, top: int) -> Polynomial:
    """Errors of the normalised field as errors of the field."""
    x = _centred(norm, field)
    c = _inverse_length(x, top)
    cubed = multiply_polynomials(multiply_polynomials(c, c, top), c, top)
    along = _mean(multiply_polynomials(errors, x, top))
    back = multiply_polynomials(multiply_polynomials(cubed, x, top), along, top)
    negative = {mask: scale(one, -1.0) for mask, one in back.items()}
    return _centred(norm, add_polynomials([multiply_polynomials(c, errors, top), negative]))


def _inverse_length(x: Polynomial, top: int) -> Polynomial:
    """One over the length.

    Raises:
        SamplingError: if it is zero.
    """
    square = _mean(multiply_polynomials(x, x, top))
    r, labels = square[0].values, square[0].labels
    if not r.all():
        raise SamplingError(
            "A field that is normalised is zero at all of its neurons, so that zero is divided by "
            "zero. It was sampled; less its mean, as for layernorm, one neuron is always zero. "
            "Give layers more neurons, and inputs a length."
        )
    derivatives = [Labelled(r**-0.5, labels)]
    for k in range(top.bit_count()):
        derivatives.append(Labelled(-(k + 0.5) * derivatives[-1].values / r, labels))
    return compose(derivatives, square, top)


def _centred(norm: str, field: Polynomial) -> Polynomial:
    if norm != LAYER_NORM:
        return field
    return {
        mask: Labelled(one.values - one.values.mean(axis=-1, keepdims=True), one.labels)
        for mask, one in field.items()
    }


def _mean(field: Polynomial) -> Polynomial:
    return {
        mask: Labelled(one.values.mean(axis=-1, keepdims=True), one.labels)
        for mask, one in field.items()
    }


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
