"""From diagrams of a step to terms: means over its fields, and tensors with fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

from symdlt.combinatorics import perfect_matchings
from symdlt.definitions import BOOK, MASK, Correlator, SiteStep, identify
from symdlt.derivation.evaluation import lower_forest
from symdlt.derivation.expansion import Diagram, LowerCumulant
from symdlt.derivation.forward_steps import Fields, Products, derived_products
from symdlt.derivation.stacks.terms import FieldMean, FieldSlot, FieldTensor, StepTerm
from symdlt.derivation.terms import Hyperparameters

Slots = tuple[FieldSlot, ...]
Label = tuple[int, int]  # of a z: the number of its field, and its sample
Labels = tuple[Label, ...]
# Powers of the symbols, and what each group of neurons reads.
Base = tuple[tuple[int, ...], tuple[Slots, ...]]
Key = tuple[Hyperparameters, int, tuple[FieldMean, ...], tuple[FieldTensor, ...]]


def step_terms(
    diagrams: Sequence[Diagram], samples: tuple[int, ...], step: SiteStep
) -> tuple[StepTerm, ...]:
    """Add up what the diagrams give and keep, for each term, the diagrams it comes from.

    Args:
        diagrams: those of a tensor of the site that the step makes.
        samples: the sample of each vertex.
        step: the step.
    """
    found: dict[Key, list[tuple[Diagram, Fraction]]] = {}  # one look-up each: keys are long
    for diagram in diagrams:
        for key, number, _ in contributions(diagram, samples, step):
            found.setdefault(key, []).append((diagram, number))
    terms = [
        StepTerm(number, *key, origins=tuple(dict.fromkeys(one for one, _ in parts)))
        for key, parts in found.items()
        if (number := sum((x for _, x in parts), Fraction(0)))
    ]
    return tuple(sorted(terms, key=lambda term: term.sort_key))


def contributions(
    diagram: Diagram, samples: tuple[int, ...], step: SiteStep
) -> Iterator[tuple[Key, Fraction, Labels]]:
    r"""The like-term keys that a diagram contributes to, with its coefficient in each.

    And with the labels of the z's of its cumulants, in the order in which these have them.

    The widths are those of tensors X of all fields of a layer times $n_\ell^{m-1}$: what the
    first step inherits comes with $1/n_{\ell-1}$, and what a later one makes with the width of
    the site that it reads.
    """
    width = diagram.lower_order if step.first else diagram.upper_order
    known: dict[Labels, list[FieldTensor]] = {}
    for (powers, bases), coefficient in _bases(diagram, samples, step).items():
        hyper = Hyperparameters(powers, step.symbols)
        for outcome, labels, number in _differentiated(diagram, bases):
            if labels not in known:
                known[labels] = [one for _, one in lower_field_tensors(diagram, samples, labels)]
            tensors = known[labels]
            for means, kernels, drawn in _means(outcome, step):
                factors = tuple(sorted((*tensors, *kernels), key=lambda one: one.sort_key))
                yield (hyper, width, means, factors), coefficient * number * drawn, labels


def _bases(diagram: Diagram, samples: tuple[int, ...], step: SiteStep) -> dict[Base, Fraction]:
    """What the groups read before cumulants act: one of the products of each vertex.

    With the powers of the symbols that come with the choice, and the sum of the numbers that do;
    a sum of products that is read by many vertices is the same in many orders.
    """
    contraction = diagram.contraction
    matching = contraction.correlator.matching
    home = {pair: g for g, group in enumerate(diagram.groups) for pair in group}
    nothing: tuple[Slots, ...] = ((),) * len(diagram.groups)
    sums = {(contraction.powers, nothing): diagram.coefficient}
    for pair in contraction.neurons:
        group, way = home[pair], contraction.ways[pair].branches[0]
        for v in matching[pair]:
            products = derived_products(step, way, contraction.term.fields[v])
            sums = _read(sums, group, samples[v], products)
    return sums


def _read(
    sums: Mapping[Base, Fraction], group: int, sample: int, products: Products
) -> dict[Base, Fraction]:
    """What is read with one vertex more."""
    more: dict[Base, Fraction] = {}
    for (powers, slots), number in sums.items():
        for (count, own), factors in products:
            read = [FieldSlot(sample, f.field, f.function, f.order) for f in factors]
            grown = tuple(sorted((*slots[group], *read)))
            place = (
                tuple(a + b for a, b in zip(powers, own, strict=True)),
                (*slots[:group], grown, *slots[group + 1 :]),
            )
            part = number * count
            more[place] = more[place] + part if place in more else part
    return more


def _differentiated(
    diagram: Diagram, bases: tuple[Slots, ...]
) -> Iterator[tuple[list[Slots], Labels, int]]:
    """Every way in which the z's of the cumulants fall on the groups."""
    groups: list[tuple[int, ...]] = []
    choices: list[list[Labels]] = []
    for cumulant in diagram.cumulants:
        for lower in cumulant.joined:
            group, field = seat_of(diagram, lower)
            groups.append((group,))
            choices.append([(one,) for one in _labels(bases[group]) if one[0] == field])
        for group in cumulant.inserted:
            groups.append((group, group))
            found = _labels(bases[group])
            choices.append([(a, b) for a in found for b in found if a[0] == b[0]])
    for chosen in product(*choices):
        received: list[list[Label]] = [[] for _ in bases]
        for at, labels in zip(groups, chosen, strict=True):
            for group, label in zip(at, labels, strict=True):
                received[group].append(label)
        outcomes = [
            differentiate_slots(base, tuple(sorted(got)))
            for base, got in zip(bases, received, strict=True)
        ]
        if not all(outcomes):
            continue
        flat = tuple(label for labels in chosen for label in labels)
        for outcome in product(*outcomes):
            number = 1
            for _, count in outcome:
                number *= count
            yield [slots for slots, _ in outcome], flat, number


def seat_of(diagram: Diagram, lower: int) -> tuple[int, int]:
    """The group and the field of a lower vertex."""
    contraction = diagram.contraction
    pair, field = divmod(contraction.places[lower], contraction.fields)
    return next(g for g, group in enumerate(diagram.groups) if pair in group), field


def _labels(base: Slots) -> list[Label]:
    return sorted({slot.label for slot in base if not slot.masks})


@lru_cache(maxsize=1 << 16)
def differentiate_slots(slots: Slots, labels: Labels) -> tuple[tuple[Slots, int], ...]:
    """Differentiate a product of functions of fields along some fields at some samples.

    Returns:
        The products that result, sorted, each with its integer coefficient.

    >>> differentiate_slots((FieldSlot(1, 0, ""), FieldSlot(1, 0, "s")), ((0, 1),))[1]
    ((FieldSlot(sample=1, field=0, function='s', order=0),), 1)
    """
    if not labels:
        return ((slots, 1),)
    result: dict[Slots, int] = {}
    for product_, count in differentiate_slots(slots, labels[:-1]):
        for k, slot in enumerate(product_):
            if slot.label == labels[-1]:
                raised = (
                    (FieldSlot(slot.sample, slot.field, slot.function, slot.order + 1),)
                    if slot.function
                    else ()
                )
                image = tuple(sorted((*product_[:k], *raised, *product_[k + 1 :])))
                result[image] = result.get(image, 0) + count
    return tuple(sorted(result.items()))


def _means(
    outcome: list[Slots], step: SiteStep
) -> Iterator[tuple[tuple[FieldMean, ...], tuple[FieldTensor, ...], Fraction]]:
    """The means over each field, which are independent; those of fields alone by Wick's theorem.

    Those of masks are numbers, unless they depend on which samples are the same.
    """
    means: list[FieldMean] = []
    alone: list[Slots] = []
    drawn = Fraction(1)
    for slots in outcome:
        for field in sorted({slot.field for slot in slots}):
            own = tuple(slot for slot in slots if slot.field == field)
            mask = step.masks[field - len(step.below)][1] if own[0].function == MASK else None
            if mask and (mask.shared or len({slot.sample for slot in own}) == 1):
                drawn *= mask.mean([slot.sample for slot in own])
            elif any(slot.function for slot in own):
                means.append(FieldMean(own))
            else:
                alone.append(own)
    for pairings in product(*map(perfect_matchings, alone)):
        yield (
            tuple(sorted(means)),
            tuple(
                FieldTensor(BOOK["G"], 0, (a.field, b.field), tuple(sorted((a.sample, b.sample))))
                for pairing in pairings
                for a, b in pairing
            ),
            drawn,
        )


def lower_field_tensors(
    diagram: Diagram, samples: tuple[int, ...], labels: Labels
) -> Iterator[tuple[LowerCumulant, FieldTensor]]:
    """Each cumulant with its tensor, given the labels of the z's that it brings."""
    used = 0
    for cumulant in diagram.cumulants:
        count = len(cumulant.joined) + 2 * len(cumulant.inserted)
        yield cumulant, _field_tensor(diagram, cumulant, samples, labels[used : used + count])
        used += count


def _field_tensor(
    diagram: Diagram, cumulant: LowerCumulant, samples: tuple[int, ...], labels: Labels
) -> FieldTensor:
    contraction = diagram.contraction
    legs, edges, matching = lower_forest(diagram, cumulant)
    above = [samples[v] for v, _ in contraction.lower_vertices]
    own = [(contraction.places[leg] % contraction.fields, above[leg]) for leg in legs]
    correlator, ways = identify(2 * cumulant.pairs, edges, matching)
    read = [(own + list(labels))[v] for v in ways[0]]
    return settled(correlator, cumulant.piece, tuple(f for f, _ in read), tuple(s for _, s in read))


@lru_cache(maxsize=1 << 16)
def settled(
    correlator: Correlator, piece: int, fields: Fields, samples: tuple[int, ...]
) -> FieldTensor:
    """The tensor in the smallest of the readings that its symmetries make equal, fields first."""
    fields, samples = min(
        (tuple(fields[axis] for axis in way), tuple(samples[axis] for axis in way))
        for way in correlator.symmetries
    )
    return FieldTensor(correlator, piece, fields, samples)
