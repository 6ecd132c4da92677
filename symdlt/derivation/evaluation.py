"""From diagrams to terms: brackets and lower tensors, in derivative form or in z form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice, permutations, product

from symdlt.combinatorics import perfect_matchings
from symdlt.definitions import BOOK, FIELD, Correlator, Layer, place
from symdlt.derivation.brackets import differentiate
from symdlt.derivation.expansion import Diagram, LowerCumulant
from symdlt.derivation.forward_terms import Edge
from symdlt.derivation.terms import (
    Bracket,
    Hyperparameters,
    RecursionTerm,
    TensorFactor,
    is_single,
    reading_order,
)

Key = tuple[Hyperparameters, int, tuple[Bracket, ...], tuple[TensorFactor, ...], tuple[int, ...]]
Slot = tuple[int, int]


def diagram_terms(
    diagram: Diagram, samples: tuple[int, ...], form: str
) -> Iterator[tuple[Key, Fraction]]:
    """The like-term keys that a diagram contributes to, with its coefficient in each.

    Args:
        diagram: one diagram of the large-width expansion.
        samples: the sample of each vertex.
        form: "derivative" or "z".
    """
    hyper, coefficient = hyperparameters(diagram), diagram.coefficient
    bases = group_factors(diagram, samples)
    evaluate = _in_z_form if form == "z" else _in_derivative_form
    linear = any(FIELD in way.orders for way in diagram.contraction.ways)
    for brackets, tensors, number in evaluate(diagram, samples, bases):
        for left, more in _gaussian_moments(brackets) if linear else ((brackets, ()),):
            factors = (
                tuple(sorted((*tensors, *more), key=lambda t: t.sort_key)) if more else tensors
            )
            key = (hyper, diagram.lower_order, left, factors, ())
            yield key, coefficient * number


def hyperparameters(diagram: Diagram) -> Hyperparameters:
    """The symbols of the layer that come with a diagram."""
    contraction = diagram.contraction
    return Hyperparameters(contraction.powers, contraction.layer.symbols)


def _gaussian_moments(
    brackets: tuple[Bracket, ...],
) -> Iterator[tuple[tuple[Bracket, ...], tuple[TensorFactor, ...]]]:
    """Take the brackets that hold nothing but z's by Wick's theorem, as products of kernels."""
    kept = tuple(b for b in brackets if b.inserted or any(k != FIELD for _, k in b.factors))
    fields = [tuple(s for s, _ in b.factors) for b in brackets if b not in kept]
    for pairings in product(*map(perfect_matchings, fields)):
        pairs = [tuple(sorted(pair)) for pairing in pairings for pair in pairing]
        yield kept, tuple(TensorFactor(BOOK["G"], 0, pair) for pair in pairs)


def group_factors(diagram: Diagram, samples: tuple[int, ...]) -> list[tuple[Slot, ...]]:
    """The σ's of each group before any cumulant acts on it."""
    contraction = diagram.contraction
    matching, orders = contraction.correlator.matching, contraction.orders
    return [
        tuple(
            sorted(
                (samples[v], orders[v])
                for pair in group
                for v, own in zip(matching[pair], contraction.ways[pair].orders, strict=True)
                if own != FIELD or orders[v] == FIELD  # a differentiated z is 1
            )
        )
        for group in diagram.groups
    ]


def _in_derivative_form(
    diagram: Diagram, samples: tuple[int, ...], bases: list[tuple[Slot, ...]]
) -> Iterator[tuple[tuple[Bracket, ...], tuple[TensorFactor, ...], int]]:
    slots = z_slots(diagram)
    choices = [sorted({sample for sample, _ in bases[group]}) for group in slots]
    for labels in product(*choices):
        outcomes = _differentiated(bases, slots, labels)
        tensors = tuple(sorted(tensor_factors(diagram, samples, labels), key=lambda t: t.sort_key))
        for outcome in product(*outcomes):
            number = 1
            for _, count in outcome:
                number *= count
            yield tuple(sorted(Bracket(factors) for factors, _ in outcome)), tensors, number


def _differentiated(
    bases: list[tuple[Slot, ...]], slots: list[int], labels: tuple[int, ...]
) -> list[tuple[tuple[tuple[Slot, ...], int], ...]]:
    """What becomes of the factors of each group if the z's fall on these labels."""
    received: list[list[int]] = [[] for _ in bases]
    for group, label in zip(slots, labels, strict=True):
        received[group].append(label)
    return [
        differentiate(base, tuple(sorted(got))) for base, got in zip(bases, received, strict=True)
    ]


def z_slots(diagram: Diagram) -> list[int]:
    """The group of every z that a cumulant brings, in the order the tensors use them."""
    contraction = diagram.contraction
    home = {pair: g for g, group in enumerate(diagram.groups) for pair in group}
    slots = []
    for cumulant in diagram.cumulants:
        for lower in cumulant.joined:
            vertex, _ = contraction.lower_vertices[lower]
            slots.append(home[contraction.pair_of[vertex]])
        for group in cumulant.inserted:
            slots += [group, group]
    return slots


def slot_labels(slots: list[int], samples: tuple[int, ...]) -> tuple[int, ...]:
    """A dummy sample for every inserted z, or the one sample if there is no other."""
    if len(set(samples)) == 1:
        return tuple(samples[0] for _ in slots)
    return tuple(-1 - k for k in range(len(slots)))


def tensor_factors(
    diagram: Diagram, samples: tuple[int, ...], labels: tuple[int, ...]
) -> Iterator[TensorFactor]:
    """The tensor of each cumulant, given the samples of the inserted z's."""
    used = 0
    for cumulant in diagram.cumulants:
        count = len(cumulant.joined) + 2 * len(cumulant.inserted)
        yield _tensor_factor(diagram, cumulant, samples, labels[used : used + count])
        used += count


def lower_tensors(
    diagram: Diagram, samples: tuple[int, ...]
) -> Iterator[tuple[LowerCumulant, TensorFactor, tuple[tuple[int, int], ...]]]:
    """Each cumulant with its tensor, and for each z that it inserts its group and its sample.

    Of readings that symmetry makes equal, that in which dummy samples count up is taken.
    """
    slots = z_slots(diagram)
    labels = slot_labels(slots, samples)
    factors = tensor_factors(diagram, samples, labels)
    inserted = zip(slots, labels, strict=True)
    for cumulant, factor in zip(diagram.cumulants, factors, strict=True):
        ways = factor.correlator.symmetries
        readings = (tuple(factor.samples[axis] for axis in way) for way in ways)
        read = replace(factor, samples=min(readings, key=reading_order))
        count = len(cumulant.joined) + 2 * len(cumulant.inserted)
        yield cumulant, read, tuple(islice(inserted, count))


def fallen(diagram: Diagram, term: RecursionTerm) -> tuple[int, ...] | None:
    """The vertex, by its label, that each inserted z of a diagram differentiates in a term.

    Of equal ones the first; none in the z form, where they stay in their brackets.
    """
    layer = diagram.contraction.layer
    return _placements(diagram, layer, is_single(term)).get((term.brackets, term.tensors))


@lru_cache(maxsize=1024)
def _placements(diagram: Diagram, layer: Layer, single: bool) -> dict[object, tuple[int, ...]]:
    """Where the z's of a diagram fall, by the brackets and tensors that this gives.

    Each vertex has its own label here, also where all are the one input. Diagrams of different
    layers compare equal, so that the layer is a part of the key.
    """
    names, slots = diagram.contraction.correlator.labels, z_slots(diagram)
    same = dict.fromkeys(names, 0) if single else {}
    bases = group_factors(diagram, names)
    labels_of: dict[object, tuple[int, ...]] = {}
    for labels in product(*(sorted({label for label, _ in bases[group]}) for group in slots)):
        outcomes = _differentiated(bases, slots, labels)
        if all(outcomes):
            brackets = sorted(Bracket(outcome[0][0]).at(same) for outcome in outcomes)
            factors = (one.at(same) for one in tensor_factors(diagram, names, labels))
            tensors = tuple(sorted(factors, key=lambda factor: factor.sort_key))
            labels_of.setdefault((tuple(brackets), tensors), labels)
    return labels_of


def _tensor_factor(
    diagram: Diagram, cumulant: LowerCumulant, samples: tuple[int, ...], labels: tuple[int, ...]
) -> TensorFactor:
    above = [samples[v] for v, _ in diagram.contraction.lower_vertices]
    legs, edges, matching = lower_forest(diagram, cumulant)
    own = tuple(above[leg] for leg in legs)
    correlator, ordered = place(2 * cumulant.pairs, edges, matching, own + labels)
    return TensorFactor(correlator, cumulant.piece, ordered)


def lower_forest(
    diagram: Diagram, cumulant: LowerCumulant
) -> tuple[tuple[int, ...], tuple[Edge, ...], tuple[Edge, ...]]:
    """The legs of a cumulant; and with its z's behind them, the edges and the matching."""
    contraction = diagram.contraction
    legs = tuple(v for tree in cumulant.trees for v in contraction.lower_trees[tree])
    position = {leg: k for k, leg in enumerate(legs)}
    edges = sorted((position[u], position[v]) for u, v in contraction.lower_edges if u in position)
    size = 2 * cumulant.pairs
    fresh = range(len(legs), size)
    matching = [(position[u], position[v]) for u, v in cumulant.matched]
    matching += [(position[v], z) for v, z in zip(cumulant.joined, fresh, strict=False)]
    matching += [(z, z + 1) for z in range(len(legs) + len(cumulant.joined), size, 2)]
    return legs, tuple(edges), tuple(sorted(matching))


def _in_z_form(
    diagram: Diagram, samples: tuple[int, ...], bases: list[tuple[Slot, ...]]
) -> Iterator[tuple[tuple[Bracket, ...], tuple[TensorFactor, ...], int]]:
    slots = z_slots(diagram)
    labels = slot_labels(slots, samples)
    inserted: list[list[int]] = [[] for _ in bases]
    for group, label in zip(slots, labels, strict=True):
        inserted[group].append(label)
    brackets = [
        Bracket(base, tuple(sorted(got))) for base, got in zip(bases, inserted, strict=True)
    ]
    tensors = list(tensor_factors(diagram, samples, labels))
    yield *canonical_dummies(brackets, tensors), 1


def canonical_dummies(
    brackets: list[Bracket], tensors: list[TensorFactor]
) -> tuple[tuple[Bracket, ...], tuple[TensorFactor, ...]]:
    """Number the dummy samples -1, -2, … so that equal terms become identical.

    They count up as one reads the tensors, and where these leave a choice, the brackets.
    """
    if all(sample >= 0 for tensor in tensors for sample in tensor.samples):
        return tuple(sorted(brackets)), tuple(sorted(tensors, key=lambda t: t.sort_key))

    def rough(tensor: TensorFactor) -> tuple[object, ...]:
        visible = sorted(s for s in tensor.samples if s >= 0)
        return tensor.correlator.axes, tensor.correlator.name, tensor.piece, visible

    ordered = sorted(tensors, key=rough)
    sizes = Counter(str(rough(tensor)) for tensor in ordered)
    runs, start = [], 0
    for size in dict.fromkeys(str(rough(tensor)) for tensor in ordered):
        runs.append(tuple(permutations(ordered[start : start + sizes[size]])))
        start += sizes[size]
    candidates = (
        _renumbered(brackets, flat, ways)
        for arranged in product(*runs)
        for flat in [[tensor for run in arranged for tensor in run]]
        for ways in product(*(_readings(t.correlator) for t in flat))
    )
    _, renamed, renumbered = min(candidates, key=lambda candidate: candidate[0])
    return renamed, renumbered


@lru_cache(maxsize=1024)
def _readings(correlator: Correlator) -> tuple[tuple[int, ...], ...]:
    return correlator.symmetries


def _renumbered(
    brackets: list[Bracket], tensors: list[TensorFactor], ways: tuple[tuple[int, ...], ...]
) -> tuple[
    tuple[object, object],
    tuple[Bracket, ...],
    tuple[TensorFactor, ...],
]:
    numbers: dict[int, int] = {}
    renamed = []
    for tensor, way in zip(tensors, ways, strict=True):
        read = [tensor.samples[axis] for axis in way]
        for label in read:
            if label < 0:
                numbers.setdefault(label, -1 - len(numbers))
        samples = tuple([numbers.get(label, label) for label in read])
        renamed.append(TensorFactor(tensor.correlator, tensor.piece, samples))
    relabelled = tuple(sorted([b.at(numbers) if b.inserted else b for b in brackets]))
    ordered = tuple(sorted(renamed, key=lambda t: t.sort_key))
    key = (
        tuple(reading_order(t.samples) for t in renamed),
        tuple((b.factors, reading_order(b.inserted)) for b in relabelled),
    )
    return key, relabelled, ordered
