r"""Equations of a layer with windows as means over positions, for its kernel.

A window reads every axis of a pair at the same shift. So what stands under the sums over shifts is
what a layer without windows has, at the shifted samples,

$$V^{(\ell+1)}_{1234} = \frac{1}{Q^2}\sum_{qr} v_{1+q,2+q,3+r,4+r} ,$$

and each sum over its Q shifts is a mean over the positions that are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import Layer, Stack, Window
from symdlt.derivation.response.symbolic.closed_systems import (
    LayerSystem,
    Read,
    ReadMean,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.labels import POSITIONS, SUMS, Labels
from symdlt.derivation.response.symbolic.symbolic_means import with_window
from symdlt.errors import KernelError

Term = tuple[Monomial, Fraction | int]
READOUTS = ("all", "mean")  # the windows that read all positions
PAIR = 2  # axes of the kernel and the NTK


def with_means_over_positions(
    one: SystemEquation, labels: Labels, layer: Layer | Stack
) -> SystemEquation:
    """An equation whose terms are what stands under the means over the positions of a window.

    Args:
        one: the equation, with sums over shifts.
        labels: of its samples and shifts.
        layer: the layer.

    Raises:
        KernelError: if a tensor of two pairs has shifted samples in some terms, and others in some.
    """
    under = tuple(term for term in one.terms if _sums(term))
    others = tuple(term for term in one.terms if not _sums(term))
    if not under:  # of nothing any mean is nothing
        each = tuple((axis,) for axis in range(len(one.samples)))
        return replace(one, reads=_unshifted(one.reads, labels), together=each)
    shifts, kept = _shifts(one, under, labels), _shifts(one, others, labels)
    many = len(one.samples) > PAIR or "." in one.name
    if len(shifts) != len(one.samples) or 0 in shifts.values() or (kept and many):
        raise KernelError(
            f"{one.name} of the layer {layer} joins samples where they are with those at the "
            "positions of a window. Kernel files take means over all that tensors of two pairs "
            "read. Ask for G and H, or `propagate` of a `Network`."
        )
    groups = tuple(
        tuple(axis for axis, sample in enumerate(one.samples) if shifts[sample] == shift)
        for shift in sorted({*shifts.values()})
    )
    beside = replace(one, terms=others, reads=_unshifted(_reads(one, others), labels))
    return replace(
        one,
        terms=tuple(_under_means(term, labels.window) for term in under),
        reads=_unshifted(_reads(one, under), labels),
        beside=beside if others else None,
        together=groups,
    )


def readout_of(layer: Layer | Stack, word: str) -> Layer | Stack:
    """The layer whose weights read all positions, and which keeps nothing, as there are none."""
    reading = with_window(layer, Window(whole=word))
    if isinstance(reading, Layer):
        return reading
    *inside, last = reading.streams
    return reading.with_streams((*inside, replace(last, kept=())))


def readout_equations(layer: LayerSystem, readout: LayerSystem) -> tuple[SystemEquation, ...]:
    """The equations of a readout, which has the same under its means as the layer.

    Raises:
        KernelError: if it has not.
    """
    for one, other in zip(layer.equations, readout.equations, strict=True):
        if (one.name, _named(one)) != (other.name, _named(other)):
            raise KernelError(
                f"{one.name} of a readout of all positions is not that of the layer "
                f"{layer.layer} under means over positions. Kernel files need that. Ask "
                "`propagate` of a `Network`."
            )
    return readout.equations


def _named(one: SystemEquation) -> set[tuple[object, ...]]:
    """The terms with what their symbols stand for, whatever the order."""
    terms: set[tuple[object, ...]] = set()
    for monomial, number in one.terms:
        factors = [(str(one.reads.get(symbol, symbol)), power) for symbol, power in monomial]
        terms.add((*sorted(factors), number))
    return terms


def _reads(one: SystemEquation, terms: Iterable[Term]) -> dict[str, Read]:
    """What some terms read."""
    symbols = dict.fromkeys(symbol for monomial, _ in terms for symbol, _ in monomial)
    return {symbol: one.reads[symbol] for symbol in symbols if symbol in one.reads}


def _shifts(one: SystemEquation, terms: Iterable[Term], labels: Labels) -> dict[int, int]:
    """The shift of each sample that terms read, zero if there are several."""
    shifts: dict[int, int] = {}
    for read in _reads(one, terms).values():
        for at in _samples(read):
            sample, shift = divmod(at, labels.shifts)
            shifts[sample] = shift if shifts.setdefault(sample, shift) == shift else 0
    return shifts


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


def _unshifted(reads: Mapping[str, Read], labels: Labels) -> dict[str, Read]:
    """What is read, by the samples alone."""
    return {symbol: _at_samples(read, labels) for symbol, read in reads.items()}


def _at_samples(read: Read, labels: Labels) -> Read:
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
