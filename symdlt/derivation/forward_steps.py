"""Stochastic forward equations of one step of a layer: along its fields, and over its branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

from symdlt.combinatorics import connected_components, set_partitions
from symdlt.definitions import Forest, SiteProduct, SiteStep
from symdlt.definitions.site_branches import Monomial
from symdlt.derivation.forward_terms import ANY, Block, Edge, ForwardTerm, standard_order

Fields = tuple[int, ...]
Products = tuple[tuple[Monomial, SiteProduct], ...]
Choice = tuple[int, tuple[Block, ...], Fields]
# a tree with the field of each vertex, which is a vertex alone for the field itself
FieldTree = tuple[Forest, Fields]


def step_forward_terms(
    forest: Forest, fields: Fields, step: SiteStep, matching: tuple[Edge, ...] | None = None
) -> Iterator[ForwardTerm]:
    """The terms of the forward equation of a forest of the fields that a step makes.

    Each block of old edges at a vertex differentiates what its branch reads along one of the
    fields below; an edge is new in a tensor of the field that both its ends are of.

    Args:
        forest: the observable.
        fields: the number of the field of each vertex, among those that the step makes.
        step: how they are made.
        matching: if given, terms with new edges between other pairs are left out.
    """
    for new in _new_edges(forest, fields, step):
        if matching is not None and any(edge not in matching for edge, _ in new):
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


@dataclass(frozen=True, slots=True)
class ReadTerm:
    """A term of which each vertex takes one branch, and one product of what that reads.

    Attributes:
        term: the term.
        number: the rational factor in front, without that of the learning rates.
        powers: likewise the powers of the symbols of the layer.
        read: what each vertex reads; nothing for biases, and for a field that was differentiated.
    """

    term: ForwardTerm
    number: Fraction
    powers: tuple[int, ...]
    read: tuple[SiteProduct, ...]


def read_terms(fields: Fields, step: SiteStep, term: ForwardTerm) -> Iterator[ReadTerm]:
    """A term, once for all that its vertices can read; what is read comes before biases."""
    choices = [
        list(_readings(step, field, branch, along))
        for field, branch, along in zip(fields, term.branches, term.fields, strict=True)
    ]
    for reversed_choice in product(*reversed(choices)):  # the first vertex changes fastest
        branches, monomials, read = zip(*reversed(reversed_choice), strict=True)
        taken = ForwardTerm(term.new, branches, term.blocks, term.fields)
        number, powers = Fraction(1), (0,) * len(step.symbols)
        factors = (step.branches[branch].coefficient for branch in branches)
        for one, exponents in (*factors, *monomials):
            number *= one
            powers = tuple(p + q for p, q in zip(powers, exponents, strict=True))
        yield ReadTerm(taken, number, powers, read)


def lower_trees(term: ForwardTerm) -> Iterator[tuple[FieldTree, tuple[int, ...]]]:
    """The trees of the fields below, each with the vertices above its own ones."""
    for tree, places in trees_below(term):
        yield tree, tuple(term.lower_vertices[k][0] for k in places)


def trees_below(term: ForwardTerm) -> Iterator[tuple[FieldTree, tuple[int, ...]]]:
    """The trees of the fields below, each with the places of its vertices among all of them."""
    fields = tuple(field for along in term.fields for field in along)
    for tree in connected_components(range(len(fields)), term.lower_edges):
        yield placed_tree(term.lower_edges, tree, fields)


def placed_tree(
    edges: tuple[Edge, ...], tree: tuple[int, ...], fields: Fields
) -> tuple[FieldTree, tuple[int, ...]]:
    """A tree of a forest in its standard order, and its vertices in that order."""
    inside = tuple(edge for edge in edges if edge[0] in tree)
    order, _ = standard_order(inside, tree, fields)
    place = {v: k for k, v in enumerate(order)}
    links = sorted((min(place[u], place[v]), max(place[u], place[v])) for u, v in inside)
    return (Forest(len(tree), tuple(links)), tuple(fields[v] for v in order)), order


def _readings(
    step: SiteStep, field: int, branch: int, along: Fields
) -> Iterator[tuple[int, Monomial, SiteProduct]]:
    """The branches of a vertex, with the products of what they read."""
    own = [k for k, each in enumerate(step.branches) if each.field == field]
    own.sort(key=lambda k: not step.branches[k].products)
    unit = Fraction(1), (0,) * len(step.symbols)
    for number in own if branch == ANY else [branch]:
        if not step.branches[number].products:
            yield number, unit, ()
        for monomial, factors in derived_products(step, number, along):
            yield number, monomial, factors


def _new_edges(
    forest: Forest, fields: Fields, step: SiteStep
) -> Iterator[tuple[tuple[Edge, int], ...]]:
    """Which edges carry parameters of the step, the most new ones first."""
    degrees = forest.degrees
    choices: list[list[int | None]] = []
    for u, v in forest.edges:
        alone = degrees[u] == degrees[v] == 1
        drawn: list[int | None] = [
            k
            for k, branch in enumerate(step.branches)
            if branch.tensor is not None and branch.field == fields[u] == fields[v]
            if alone or branch.summed
        ]
        choices.append([*drawn, None])
    for kinds in product(*choices):
        new = [(e, k) for e, k in zip(forest.edges, kinds, strict=True) if k is not None]
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
