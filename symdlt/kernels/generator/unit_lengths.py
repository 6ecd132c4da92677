"""Terms for one input behind a norm, where the length of a field is one whatever it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from symdlt.kernels.generator.expressions import Monomial, monomial


def of_unit_length(
    terms: dict[Monomial, Fraction], lengths: Mapping[str, Mapping[Monomial, Fraction]]
) -> dict[Monomial, Fraction]:
    """Terms for one input, where a scale squared times the mean square of its field is one.

    Mean squares that are sums are left as they are.

    >>> terms = {monomial({"c": 4, "G": 2}): Fraction(-2), monomial({"c": 2, "V": 1}): Fraction(3)}
    >>> of_unit_length(terms, {"c": {monomial({"G": 1}): Fraction(1)}})
    {(): Fraction(-2, 1), (('V', 1), ('c', 2)): Fraction(3, 1)}
    """
    for scale, length in lengths.items():
        if len(length) > 1:
            continue
        ((product, number),) = length.items()
        one = {scale: 2, **dict(product)}
        found: dict[Monomial, Fraction] = {}
        for key, value in terms.items():
            powers = Counter(dict(key))
            times = min(powers[name] // power for name, power in one.items())
            for name, power in one.items():
                powers[name] -= power * times
            rest = monomial(powers)
            found[rest] = found.get(rest, Fraction(0)) + value / number**times
        terms = {key: value for key, value in found.items() if value}
    return terms
