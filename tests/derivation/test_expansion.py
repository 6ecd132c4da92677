"""Diagrams of the large-width expansion against a search that tries everything."""

from itertools import combinations_with_replacement

import pytest
from cases import slow, swept

from symdlt import correlators, tensor
from symdlt.combinatorics import connected_components, set_partitions
from symdlt.definitions import DENSE, Layer
from symdlt.derivation import (
    Diagram,
    LowerCumulant,
    contract_matching,
    expand_in_width,
    forward_equation,
)

LAYERS = ("z' = b + W s(z)", "z' = xi z + W s(z)", "z' = b + W s(z) + U s(z)", "z' = W s(z) + U z")


def partial_matchings(legs, seats):
    if not legs:
        yield (), ()
        return
    first, rest = legs[0], legs[1:]
    for k, other in enumerate(rest):
        if seats[other] == seats[first]:
            for matched, joined in partial_matchings(rest[:k] + rest[k + 1 :], seats):
                yield ((first, other), *matched), joined
    for matched, joined in partial_matchings(rest, seats):
        yield matched, (first, *joined)


def cumulants_of(block, trees, seats, groups, budget):
    legs = tuple(v for t in block for v in trees[t])
    for matched, joined in partial_matchings(legs, seats):
        spare = budget - len(matched) - len(joined) + 1
        for extra in range(spare + 1):
            for inserted in combinations_with_replacement(range(groups), extra):
                for piece in range(spare - extra + 1):
                    yield LowerCumulant(block, matched, joined, inserted, piece)


def bare(groups, budget, largest=None):
    """Multisets of cumulants of preactivations, each no later than the one before it."""
    if not budget:
        yield ()
        return
    kinds = [
        LowerCumulant((), (), (), inserted, piece)
        for pairs in range(1, budget + 2)
        for piece in range(budget + 2 - pairs)
        if pairs + piece > 1
        for inserted in combinations_with_replacement(range(groups), pairs)
    ]
    for kind in kinds:
        key = (kind.pairs, kind.piece, kind.inserted)
        if largest is None or key <= largest:
            for rest in bare(groups, budget - kind.order, key):
                yield (kind, *rest)


def dressed(blocks, trees, seats, groups, budget):
    if not blocks:
        yield ()
        return
    for cumulant in cumulants_of(blocks[0], trees, seats, groups, budget):
        for rest in dressed(blocks[1:], trees, seats, groups, budget - cumulant.order):
            yield (cumulant, *rest)


def is_connected(moment, contraction, merges, groups, cumulants):
    """Links between clusters, drawn through every pair that a merge or a cumulant touches."""
    vertices = contraction.term.lower_vertices
    links = [*moment.clusters, *([p for g in merge for p in groups[g]] for merge in merges)]
    for c in cumulants:
        legs = [v for pair in c.matched for v in pair] + list(c.joined)
        touched = [contraction.pair_of[vertices[v][0]] for v in legs]
        links.append(touched + [groups[g][0] for g in c.inserted])
    return len(connected_components(range(moment.correlator.pairs), links)) == 1


def diagrams_by_trying(moment, order):
    for contraction in moment.contractions:
        trees, vertices = contraction.lower_trees, contraction.term.lower_vertices
        for groups in set_partitions(contraction.neurons):
            home = {pair: g for g, group in enumerate(groups) for pair in group}
            seats = [home[contraction.pair_of[v]] for v, _ in vertices]
            for merges in set_partitions(tuple(range(len(groups)))):
                if any(
                    sum(p in contraction.kept for g in merge for p in groups[g]) > 1
                    for merge in merges
                ):
                    continue
                budget = order - len(contraction.neurons) + len(merges)
                for blocks in set_partitions(tuple(range(len(trees)))):
                    for some in dressed(blocks, trees, seats, len(groups), budget):
                        rest = budget - sum(c.order for c in some)
                        for others in bare(len(groups), rest):
                            found = some + others
                            if is_connected(moment, contraction, merges, groups, found):
                                yield Diagram(contraction, merges, groups, found)


def spelled(diagram):
    """A diagram as text, whatever the order of its cumulants."""
    cumulants = sorted(map(repr, diagram.cumulants))
    return f"{diagram.contraction!r} {diagram.merges} {diagram.groups} {cumulants}"


def compare(correlator, piece=0, layer=DENSE):
    moment = contract_matching(forward_equation(correlator.forest, layer), correlator)
    found = expand_in_width(moment, piece).diagrams
    tried = diagrams_by_trying(moment, correlator.pairs - 1 + piece)
    assert sorted(map(spelled, found)) == sorted(map(spelled, tried))
    return len(found)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("order", [0, 1])
def test_no_diagram_is_missed(order, layer):
    for correlator in correlators(order):
        assert compare(correlator, layer=Layer(layer)) > 0


@pytest.mark.parametrize("name", ["G", "H", "V", "D", "P", "S"])
def test_no_diagram_of_a_correction_is_missed(name):
    assert compare(tensor(name), piece=1) > 0


@pytest.mark.parametrize("correlator", correlators(2)[::12], ids=lambda c: c.name)
def test_no_diagram_of_the_next_order_is_missed(correlator):
    assert compare(correlator) > 0


@pytest.mark.parametrize(
    "name",
    [swept("X8_01_02_06_24_25_47"), swept("X8_17_24_35_46_57_67"), slow("X8_02_04_05_13_26")],
)
def test_no_diagram_of_two_orders_further_is_missed(name):
    assert compare(tensor(name)) > 0
