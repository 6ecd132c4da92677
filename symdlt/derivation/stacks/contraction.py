"""Average of an observable of one site over the weights of its step, on one matching."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from symdlt.combinatorics import connected_components, set_partitions
from symdlt.definitions import Correlator, SiteProduct, SiteStep
from symdlt.definitions.site_steps import Monomial
from symdlt.derivation.contraction import ContractedMoment, Contraction
from symdlt.derivation.forward_terms import ANY, Block, Edge, ForwardTerm

Fields = tuple[int, ...]
Choice = tuple[int, tuple[Block, ...], Fields]
Products = tuple[tuple[Monomial, SiteProduct], ...]


def contract_step(correlator: Correlator, above: Fields, step: SiteStep) -> ContractedMoment:
    r"""Average a forest over the fresh weights and biases of a step, on the matching.

    As `forward_equation` and `contract_matching` do for a layer of one field, with labels: the
    tensors of a field meet those of the same field alone, and each block of old edges at a vertex
    differentiates what its branch reads along one of the fields below.

    Args:
        correlator: a forest with its matching.
        above: the number of the field of each axis, among those that the step makes.
        step: how they are made.

    >>> from symdlt.definitions import Stack, steps_of, tensor
    >>> _, last = steps_of(Stack("u = U z; v = V z; z' = W s(u) v"))
    >>> moment = contract_step(tensor("H"), (0, 0), last)
    >>> for one in moment.contractions:
    ...     print(one.kinds, one.term.fields)
    ('w',) ((), ())
    ('W',) ((0,), (0,))
    ('W',) ((0,), (1,))
    ('W',) ((1,), (0,))
    ('W',) ((1,), (1,))
    """
    matching = correlator.matching
    home = {v: k for k, pair in enumerate(matching) for v in pair}
    links = [(home[u], home[v]) for u, v in correlator.forest.edges]
    clusters = connected_components(range(len(matching)), links)
    contractions = []
    for term in _forward_terms(correlator, above, step):
        for kinds in _pair_ways(term, matching, above, step):
            constant = not all(step.branches[step.ways[k].branches[0]].products for k in kinds)
            if not constant or len(clusters) == 1:
                fields, apart = len(step.below), not step.first
                contractions.append(Contraction(correlator, kinds, term, step, fields, apart))
    return ContractedMoment(correlator, clusters, tuple(contractions))


@lru_cache(maxsize=4096)
def derived_products(step: SiteStep, branch: int, along: Fields) -> Products:
    """What weights read, differentiated along fields: a sum of products, each with its factor.

    >>> from symdlt.definitions import Stack, steps_of
    >>> (step,) = steps_of(Stack("z' = W (s(z) + 2 z)"))
    >>> [product for _, product in derived_products(step, 0, (0,))]
    [(SiteFactor(field=0, function='s', order=1),), ()]
    """
    products = list(step.branches[branch].products)
    for field in along:
        products = [
            (monomial, tuple(sorted((*factors[:k], *factor.slope, *factors[k + 1 :]))))
            for monomial, factors in products
            for k, factor in enumerate(factors)
            if factor.field == field
        ]
    return tuple(products)


def _forward_terms(correlator: Correlator, fields: Fields, step: SiteStep) -> Iterator[ForwardTerm]:
    """The terms of the forward equation that can meet on the matching."""
    forest, matching = correlator.forest, correlator.matching
    for new in _new_edges(correlator, fields, step):
        if any(edge not in matching for edge, _ in new):
            continue
        home = {v: branch for edge, branch in new for v in edge}
        consumed = {edge for edge, _ in new}
        old = tuple(edge for edge in forest.edges if edge not in consumed)
        choices = [
            _vertex_choices(step, fields[v], home.get(v), tuple(e for e in old if v in e))
            for v in range(forest.vertices)
        ]
        for chosen in product(*choices):
            branches, blocks, along = zip(*chosen, strict=True)
            yield ForwardTerm(new, branches, blocks, along)


def _new_edges(
    correlator: Correlator, fields: Fields, step: SiteStep
) -> Iterator[tuple[tuple[Edge, int], ...]]:
    """Which edges carry parameters of the step, the most new ones first."""
    degrees, edges = correlator.forest.degrees, correlator.forest.edges
    choices: list[list[int | None]] = []
    for u, v in edges:
        alone = degrees[u] == degrees[v] == 1
        drawn: list[int | None] = [
            k
            for k, branch in enumerate(step.branches)
            if branch.tensor is not None and branch.field == fields[u] == fields[v]
            if alone or branch.summed
        ]
        choices.append([*drawn, None])
    for kinds in product(*choices):
        new = [(e, k) for e, k in zip(edges, kinds, strict=True) if k is not None]
        ends = [v for edge, _ in new for v in edge]
        if len(ends) == len(set(ends)):
            yield tuple(sorted(new, key=lambda each: each[1]))


def _vertex_choices(
    step: SiteStep, field: int, branch: int | None, old: tuple[Edge, ...]
) -> list[Choice]:
    """The branches of a vertex, with its old edges in blocks, and the field of each block."""
    if branch is None and not old:
        return [(ANY, (), ())]
    own = [k for k, each in enumerate(step.branches) if each.field == field]
    coarsest_first = sorted(set_partitions(old), key=lambda blocks: (len(blocks), blocks))
    return [
        (number, blocks, along)
        for number in (own if branch is None else [branch])
        if step.branches[number].products or not old
        for blocks in coarsest_first
        for along in product(range(len(step.below)), repeat=len(blocks))
        if not old or derived_products(step, number, along)
    ]


def _pair_ways(
    term: ForwardTerm, matching: tuple[Edge, ...], fields: Fields, step: SiteStep
) -> Iterator[tuple[str, ...]]:
    """The codes of what the pairs can do in a term."""
    new = dict(term.new)
    choices = []
    for pair in matching:
        taken = (new[pair], new[pair]) if pair in new else tuple(term.branches[v] for v in pair)
        choices.append(
            [
                code
                for code, way in step.ways.items()
                if (way.how == "edge") is (pair in new)
                and step.branches[way.branches[0]].field == fields[pair[0]] == fields[pair[1]]
                and all(t in (ANY, own) for t, own in zip(taken, way.branches, strict=True))
            ]
        )
    yield from product(*choices)
