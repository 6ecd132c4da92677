"""Symmetries of tensors, acting on the terms of their recursions."""

from __future__ import annotations

from symdlt.definitions import Correlator
from symdlt.derivation.evaluation import canonical_dummies
from symdlt.derivation.terms import RecursionTerm, TensorFactor


def asymmetric_term(
    correlator: Correlator, samples: tuple[int, ...], terms: tuple[RecursionTerm, ...]
) -> RecursionTerm | None:
    """A term whose image under a symmetry of the tensor's definition is missing, if any."""
    if len(set(samples)) == 1:
        return None
    numbers = {term.key: term.coefficient for term in terms}
    for symmetry in generators(correlator.symmetries):
        rename = {samples[k]: samples[axis] for k, axis in enumerate(symmetry)}
        for term in terms:
            if numbers.get(relabelled(term, rename).key) != term.coefficient:
                return term
    return None


def generators(group: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Members of a permutation group that generate all of it.

    >>> generators(((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)))
    ((0, 2, 1), (1, 0, 2))
    """
    chosen: list[tuple[int, ...]] = []
    reached = {tuple(range(len(group[0])))}
    for member in group:
        if member not in reached:
            chosen.append(member)
            frontier = list(reached)
            while frontier:
                base = frontier.pop()
                for step in chosen:
                    image = tuple(base[k] for k in step)
                    if image not in reached:
                        reached.add(image)
                        frontier.append(image)
    return tuple(chosen)


def relabelled(term: RecursionTerm, rename: dict[int, int]) -> RecursionTerm:
    """The term with its samples renamed, in canonical order again."""
    brackets = [bracket.at(rename) for bracket in term.brackets]
    tensors = [tensor.at(rename) for tensor in term.tensors]
    if any(s < 0 for t in tensors for s in t.samples):
        ordered = canonical_dummies(brackets, tensors)
    else:
        settled = (
            TensorFactor(t.correlator, t.piece, t.correlator.settle(t.samples)) for t in tensors
        )
        ordered = (tuple(sorted(brackets)), tuple(sorted(settled, key=lambda t: t.sort_key)))
    overlap = tuple(sorted(rename.get(s, s) for s in term.overlap))
    return RecursionTerm(
        term.coefficient, term.hyperparameters, term.width_ratio, *ordered, overlap, term.origins
    )
