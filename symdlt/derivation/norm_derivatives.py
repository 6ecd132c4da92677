r"""Derivatives of fields less their mean, and over their length, by product rule and chain rule.

$$x_i = z_i - \frac1n\sum_j z_j,\qquad y_i = c\,x_i,\quad c^{-2} = \frac1n\sum_j x_j^2$$

A norm reads all neurons, so that a derivative of one of them goes along another one. Written in y
itself each derivative brings one c: $\partial y_i/\partial x_k = c\,(\delta_{ik} - y_i y_k/n)$.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

OWN, SUMMED = 0, -1  # the neuron of the field that is made, and one that is summed over


@dataclass(frozen=True, slots=True, order=True)
class NeuronTerm:
    r"""A number times $n^{-q} c^p$, deltas of neurons, and the field at neurons.

    Attributes:
        number: the number.
        width: q.
        scale: p.
        equal: pairs of neurons that are the same.
        fields: the neurons at which the field stands.
    """

    number: Fraction
    width: int
    scale: int
    equal: tuple[tuple[int, int], ...]
    fields: tuple[int, ...]


CENTRED = (
    NeuronTerm(Fraction(1), 0, 0, (), (OWN,)),
    NeuronTerm(Fraction(-1), 1, 0, (), (SUMMED,)),
)
NORMED = (NeuronTerm(Fraction(1), 0, 1, (), (OWN,)),)
SQUARE = NeuronTerm(Fraction(1), 1, 0, (), (SUMMED, SUMMED))  # c^-2


@lru_cache(maxsize=64)
def derivatives(definition: tuple[NeuronTerm, ...], order: int) -> tuple[NeuronTerm, ...]:
    """A derivative of what is made, along the field that is read at the neurons 1, 2, ….

    Args:
        definition: `CENTRED` or `NORMED`.
        order: the number of these neurons.

    Returns:
        Its terms; of `NORMED` in the normalised field.

    >>> for term in derivatives(NORMED, 1):
    ...     print(term.number, term.width, term.scale, term.equal, term.fields)
    1 0 1 ((0, 1),) ()
    -1 1 1 () (0, 1)
    """
    terms: Iterable[NeuronTerm] = definition
    for neuron in range(1, order + 1):
        terms = _collected(made for term in terms for made in _slope(term, neuron))
    if definition == NORMED:  # x is y over c
        terms = [replace(term, scale=term.scale - len(term.fields)) for term in terms]
    return tuple(sorted(terms, key=lambda one: (one.width, one.fields, one.equal)))


def _slope(term: NeuronTerm, neuron: int) -> Iterator[NeuronTerm]:
    """The derivative of a term along the field at one neuron."""
    for k, own in enumerate(term.fields):
        fields = (*term.fields[:k], *term.fields[k + 1 :])
        if own == SUMMED:  # of the sum one neuron is left
            fields = tuple(neuron if one == SUMMED else one for one in fields)
            yield replace(term, fields=fields)
        else:
            yield replace(term, equal=(*term.equal, (own, neuron)), fields=fields)
    if term.scale:  # c^p is a power of c^-2
        for one in _slope(SQUARE, neuron):
            yield NeuronTerm(
                term.number * one.number * Fraction(term.scale, -2),
                term.width + one.width,
                term.scale + 2,
                term.equal,
                (*term.fields, *one.fields),
            )


def _collected(terms: Iterable[NeuronTerm]) -> list[NeuronTerm]:
    """Terms that differ by their number added up."""
    numbers: dict[NeuronTerm, Fraction] = defaultdict(Fraction)
    for term in terms:
        kind = replace(term, number=Fraction(1), fields=tuple(sorted(term.fields)))
        numbers[kind] += term.number
    return [replace(kind, number=number) for kind, number in numbers.items() if number]
