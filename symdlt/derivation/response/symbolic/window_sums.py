r"""Equations of a layer with windows as means over positions, for its kernel.

A window reads every axis of a pair at the same shift. So what stands under the sums over shifts is
what a layer without windows has, at the shifted samples,

$$V^{(\ell+1)}_{1234} = \frac{1}{Q^2}\sum_{qr} v_{1+q,2+q,3+r,4+r} ,$$

and each sum over its Q shifts is a mean over the positions that are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import Layer, Stack, Window
from symdlt.derivation.response.symbolic.closed_systems import (
    Groups,
    LayerSystem,
    Read,
    ReadMean,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.labels import POSITIONS, SUMS, Labels
from symdlt.errors import KernelError

Term = tuple[Monomial, Fraction | int]
READOUTS = ("all", "mean")  # the windows that read all positions


def with_means_over_positions(
    one: SystemEquation, labels: Labels, layer: Layer | Stack
) -> SystemEquation:
    """An equation whose terms are what stands under the means over the positions of a window.

    Args:
        one: the equation, with sums over shifts.
        labels: of its samples and shifts.
        layer: the layer.

    Raises:
        KernelError: if some of its samples are shifted, and some are not.
    """
    under = [term for term in one.terms if _sums(term)]
    outside = tuple(term for term in one.terms if not _sums(term))
    reads = {symbol: _unshifted(read, labels) for symbol, read in one.reads.items()}
    if not under:  # of nothing any mean is nothing
        return replace(
            one, reads=reads, together=tuple((axis,) for axis in range(len(one.samples)))
        )
    shifts = {divmod(at, labels.shifts) for read in one.reads.values() for at in _samples(read)}
    mixed = any(symbol in one.reads for monomial, _ in outside for symbol, _ in monomial)
    if mixed or len(shifts) != len(one.samples) or not all(shift for _, shift in shifts):
        raise KernelError(
            f"{one.name} of the layer {layer} reads samples where they are, and at the positions "
            "of a window. Kernel files take means over the positions of one window that all "
            "weights of the last statement have. Give them the same window, or ask `propagate` "
            "of a `Network`."
        )
    of = dict(shifts)
    groups = tuple(
        tuple(axis for axis, sample in enumerate(one.samples) if of[sample] == shift)
        for shift in sorted({*of.values()})
    )
    terms = tuple(_under_means(term, labels.window) for term in under)
    return replace(one, terms=terms, reads=reads, outside=outside, together=groups)


def readout_groups(layer: LayerSystem, readout: LayerSystem) -> dict[str, Groups]:
    """By tensors the axes that a readout moves together, which else is as the layer.

    Raises:
        KernelError: if what stands under its means is not what the layer has there.
    """
    for one, other in zip(layer.equations, readout.equations, strict=True):
        if (one.name, _named(one)) != (other.name, _named(other)):
            raise KernelError(
                f"{one.name} of a readout of all positions is not that of the layer "
                f"{layer.layer} under means over positions. Kernel files need that. Ask "
                "`propagate` of a `Network`."
            )
    return {one.name: one.together for one in readout.equations}


def _named(one: SystemEquation) -> tuple[set[tuple[object, ...]], tuple[Term, ...]]:
    """The terms with what their symbols stand for, whatever the order."""
    terms: set[tuple[object, ...]] = set()
    for monomial, number in one.terms:
        factors = [(str(one.reads.get(symbol, symbol)), power) for symbol, power in monomial]
        terms.add((*sorted(factors), number))
    return terms, one.outside


def _sums(term: Term) -> list[str]:
    """The sums of a term."""
    monomial, _ = term
    return [symbol for symbol, _ in monomial if symbol in SUMS]


def _under_means(term: Term, window: Window) -> Term:
    """A term without its sums, each of which is a number of shifts times their mean."""
    monomial, number = term
    powers = {symbol: power for symbol, power in monomial if symbol not in SUMS}
    for _ in _sums(term):
        if window.whole:
            powers[POSITIONS] += 1
        else:
            number = number * window.count
    assert not powers.pop(POSITIONS, 0), monomial
    return tuple(sorted(powers.items())), number


def _unshifted(read: Read, labels: Labels) -> Read:
    """What is read, by the samples alone."""
    if isinstance(read, ReadMean):
        factors = (f._replace(sample=f.sample // labels.shifts) for f in read.factors)
        return ReadMean(tuple(factors))
    return read._replace(samples=tuple(at // labels.shifts for at in read.samples))


def _samples(read: Read) -> Iterator[int]:
    """The numbers of the labels that are read."""
    if isinstance(read, ReadMean):
        yield from (factor.sample for factor in read.factors)
    else:
        yield from read.samples
