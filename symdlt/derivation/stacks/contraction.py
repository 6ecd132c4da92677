"""Average of an observable of one site over the weights of its step, on one matching."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from symdlt.combinatorics import connected_components
from symdlt.definitions import Correlator, SiteStep
from symdlt.derivation.contraction import ContractedMoment, Contraction
from symdlt.derivation.forward_steps import Fields, step_forward_terms
from symdlt.derivation.forward_terms import ANY, Edge, ForwardTerm


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
    for term in step_forward_terms(correlator.forest, above, step, matching):
        for kinds in _pair_ways(term, matching, above, step):
            constant = not all(step.branches[step.ways[k].branches[0]].products for k in kinds)
            if not constant or len(clusters) == 1:
                fields, apart = len(step.below), not step.first
                contractions.append(Contraction(correlator, kinds, term, step, fields, apart))
    return ContractedMoment(correlator, clusters, tuple(contractions))


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
