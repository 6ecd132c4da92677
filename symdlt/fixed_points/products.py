"""Products of polynomials and of power series, as tuples of coefficients of any ring."""

from __future__ import annotations

from collections.abc import Sequence

from symdlt.activations.rings import E


def series_product(first: Sequence[E], second: Sequence[E]) -> tuple[E, ...]:
    """The product of two power series, as far as both are known.

    >>> series_product((1, 1, 1), (1, -1, 0))
    (1, 0, 0)
    """
    return tuple(
        sum((first[i] * second[n - i] for i in range(1, n + 1)), first[0] * second[n])
        for n in range(min(len(first), len(second)))
    )


def polynomial_product(first: Sequence[E], second: Sequence[E]) -> tuple[E, ...]:
    """The product of two polynomials; that without coefficients is zero.

    >>> polynomial_product((1, 1), (1, -1))
    (1, 0, -1)
    """
    if not first or not second:
        return ()
    product: list[E] = []  # sums start with no zero, since adding one takes long in some rings
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            if i + j < len(product):
                product[i + j] = product[i + j] + a * b
            else:
                product.append(a * b)
    return tuple(product)
