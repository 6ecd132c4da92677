"""Slow and plain evaluation of a recursion, term by term and index by index, as it is defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, product
from typing import Any

from symdlt.definitions import FIELD
from symdlt.derivation import Bracket, Recursion, RecursionTerm

Index = tuple[int, ...]


def value(
    recursion: Recursion,
    index: Index,
    lower: Mapping[str, Any],
    bracket: Callable[..., Any],
    hyper: Mapping[str, Any],
    r: Any,
    inverse: Any = None,
) -> Any:
    """The new tensor at one index.

    Args:
        recursion: in either form.
        index: the sample of each axis, as numbers of the arrays.
        lower: arrays of layer ℓ by canonical name.
        bracket: `bracket(factors, inserted=())`, the mean of σ's and plain z's.
        hyper: the symbols of the new layer by name, those of the dense one C_b, C_W, lambda_b
            and lambda_W.
        r: n_ℓ/n_{ℓ-1}.
        inverse: the inverse of the kernel, for the z form.
    """
    if recursion.single_input:
        places = {recursion.samples[0]: index[0]}
    else:
        places = dict(zip(recursion.samples, index, strict=True))
    return sum(
        term_value(term, places, lower, bracket, hyper, r, inverse) for term in recursion.terms
    )


def term_value(
    term: RecursionTerm,
    places: dict[int, int],
    lower: Mapping[str, Any],
    bracket: Callable[..., Any],
    hyper: Mapping[str, Any],
    r: Any,
    inverse: Any = None,
) -> Any:
    """One term, its dummy samples summed over the data."""
    front = term.coefficient * r**term.width_ratio
    for name, power in term.hyperparameters.named:
        front *= hyper[name] ** power
    dummies = sorted({s for t in term.tensors for s in t.samples if s < 0})
    total = 0
    for choice in product(range(len(lower["G"])), repeat=len(dummies)):
        where = places | dict(zip(dummies, choice, strict=True))
        number = front
        for factor in term.tensors:
            name = factor.correlator.name + (f".{factor.piece}" if factor.piece else "")
            number *= lower[name][tuple(where[s] for s in factor.samples)]
        for one in term.brackets:
            number *= bracket_value(one, where, bracket, inverse)
        total += number
    return total


def bracket_value(
    one: Bracket, where: dict[int, int], bracket: Callable[..., Any], inverse: Any
) -> Any:
    """⟨σ… :z^a z^b…:⟩ with z^a = Σ_β K^{aβ} z_β, Wick ordered: pairs contract to -K^{ab}."""
    factors = tuple((where[sample], order) for sample, order in one.factors if order != FIELD)
    fields = tuple(where[sample] for sample, order in one.factors if order == FIELD)
    upper = [where[label] for label in one.inserted]
    total = 0
    for pairs in partial_pairings(tuple(range(len(upper)))):
        left = [k for k in range(len(upper)) if all(k not in pair for pair in pairs)]
        sign = (-1) ** len(pairs)
        for a, b in pairs:
            sign = sign * inverse[upper[a]][upper[b]]
        for betas in product(range(len(inverse) if upper else 1), repeat=len(left)):
            weight = sign
            for k, beta in zip(left, betas, strict=True):
                weight = weight * inverse[upper[k]][beta]
            if weight != 0:
                total += weight * bracket(factors, inserted=tuple(sorted((*fields, *betas))))
    return total


def partial_pairings(items: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    """All sets of disjoint pairs, the empty one included.

    >>> len(partial_pairings((0, 1, 2, 3)))
    10
    """
    found = []
    pairs = tuple(combinations(items, 2))
    for size in range(len(items) // 2 + 1):
        for chosen in combinations(pairs, size):
            if len({k for pair in chosen for k in pair}) == 2 * size:
                found.append(chosen)
    return found
