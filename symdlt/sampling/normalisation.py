"""Fields over their length: what RMSNorm and LayerNorm do to polynomials, forwards and backwards.

With $x = z$, or $z$ less its mean over the neurons, and $c = (\\frac1n\\sum_j x_j^2)^{-1/2}$ the
field is $c\\,x$. Its Jacobian is symmetric: an error e becomes
$c\\,e - c^3 x\\,\\frac1n\\sum_j e_jx_j$, less its mean where that of z is taken away.
"""

from symdlt.definitions import LAYER_NORM
from symdlt.errors import SamplingError
from symdlt.sampling.labelled import Labelled, scale
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
