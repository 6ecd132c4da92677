r"""Equations of a layer with windows as means over positions, for its kernel.

A window reads both ends of a pair at the same shift. So what stands under the sums over shifts is
what a layer without windows has, at the shifted samples,

$$V^{(\ell+1)}_{1234} = \frac{1}{Q^2}\sum_{qr} v_{1+q,2+q,3+r,4+r} ,$$

and each sum over its Q shifts is a mean over the positions that are read. Where weights have
different windows, or none, a tensor is a sum of such parts, one for each way that its pairs go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import ALL, Layer, Stack, Stream, Window
from symdlt.derivation.response.symbolic.closed_systems import (
    AxesOver,
    Read,
    ReadMean,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.labels import (
    POSITIONS,
    SUMS,
    Labels,
    PairOver,
    pair_over,
    read_together,
)
from symdlt.errors import KernelError

Term = tuple[Monomial, Fraction | int]
Over = tuple[AxesOver, ...]


def with_parts_over_positions(
    one: SystemEquation, lines: Sequence[str], labels: Labels, layer: Layer | Stack
) -> SystemEquation:
    """An equation with its parts, whose terms are what stands under the means over positions.

    Args:
        one: the equation, with sums over shifts.
        lines: of each term the line in which it is printed.
        labels: of its samples and shifts.
        layer: the layer.

    Raises:
        KernelError: if a term reads a sample where it is, and at a position of a window.
    """
    parts: defaultdict[Over, list[int]] = defaultdict(list)
    for number, term in enumerate(one.terms):
        parts[_over(one, term, labels, layer)].append(number)
    made = [_part(one, lines, over, numbers, labels) for over, numbers in parts.items()]
    made.sort(key=lambda part: not part.over)  # what has no means comes to them
    return sum_of_parts(one, made)


def sum_of_parts(one: SystemEquation, parts: Sequence[SystemEquation]) -> SystemEquation:
    """An equation that is the sum of parts."""
    if not parts:  # of nothing any mean is nothing
        over = tuple((0, (axis,)) for axis in range(len(one.samples)))
        parts = [replace(one, text=(one.text[0], "  0"), terms=(), reads={}, parts=(), over=over)]
    return replace(
        one,
        terms=tuple(term for part in parts for term in part.terms),
        reads={symbol: read for part in parts for symbol, read in part.reads.items()},
        parts=tuple(parts),
    )


def moved(part: SystemEquation) -> list[int]:
    """The axes of a part that go over positions."""
    return [axis for _, axes in part.over for axis in axes]


def readout_of(layer: Layer | Stack, *, keeps: bool = False) -> Layer | Stack:
    """The layer whose weights read all positions, and which keeps nothing, as there are none.

    Args:
        layer: the layer.
        keeps: whether it shall keep what it does, at positions that it does not have.
    """
    assert isinstance(layer, Stack), layer
    last = layer.streams[-1]

    def read_out(stream: Stream) -> Stream:
        if stream is not last:
            return stream
        drawn = tuple(
            one if one.function is None else replace(one, window=Window(whole=ALL))
            for one in stream.drawn
        )
        return replace(stream, kept=stream.kept if keeps else (), drawn=drawn)

    return layer.with_streams(read_out)


def _part(
    one: SystemEquation, lines: Sequence[str], over: Over, numbers: Iterable[int], labels: Labels
) -> SystemEquation:
    """The part of an equation whose axes go over positions in one way."""
    terms = [one.terms[number] for number in numbers]
    return replace(
        one,
        text=(one.text[0], *(dict.fromkeys(lines[number] for number in numbers) or ["  0"])),
        terms=tuple(_under_means(term, labels) for term in terms),
        reads=_unshifted(_reads(one, terms), labels),
        over=over,
    )


def _over(one: SystemEquation, term: Term, labels: Labels, layer: Layer | Stack) -> Over:
    """Which axes of a term go over positions together."""
    shifts: dict[int, int] = {}
    for read in _reads(one, [term]).values():
        for at in _samples(read):
            sample, shift = divmod(at, labels.shifts)
            if shifts.setdefault(sample, shift) != shift:
                raise KernelError(
                    f"{one.name} of the layer {layer} joins samples where they are with those at "
                    "the positions of a window. Kernel files take means over positions of all that "
                    "weights read. Ask for G and H, or `propagate` of a `Network`."
                )
    groups: defaultdict[PairOver, list[int]] = defaultdict(list)
    for axis, sample in enumerate(one.samples):
        if shift := shifts.get(sample, 0):
            groups[pair_over(shift)].append(axis)
    assert {*groups} == {*_pairs(term)}, term
    return tuple(sorted((pair.window, tuple(axes)) for pair, axes in groups.items()))


def _reads(one: SystemEquation, terms: Iterable[Term]) -> dict[str, Read]:
    """What some terms read."""
    symbols = dict.fromkeys(symbol for monomial, _ in terms for symbol, _ in monomial)
    return {symbol: one.reads[symbol] for symbol in symbols if symbol in one.reads}


def _pairs(term: Term) -> Iterator[PairOver]:
    """The pairs that the sums of a term are of."""
    monomial, _ = term
    yield from dict.fromkeys(pair_over(SUMS.index(s) + 1) for s, _ in monomial if s in SUMS)


def _under_means(term: Term, labels: Labels) -> Term:
    """A term without its sums, each of which is a number of shifts times their mean."""
    monomial, number = term
    powers = {symbol: power for symbol, power in monomial if symbol not in SUMS}
    for pair in _pairs(term):
        count, power = read_together(labels.kinds[pair.window])
        number = number * count
        powers[POSITIONS] = powers.get(POSITIONS, 0) + power
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
