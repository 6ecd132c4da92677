"""Stochastic forward equations in the notation of PDLT."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from symdlt.forward import ForwardEquation, ForwardTerm
from symdlt.networks import Forest, connected_components
from symdlt.typesetting._grouping import Summand, grouped
from symdlt.typesetting._lines import equation_lines, product_text, remaining_terms
from symdlt.typesetting._notation import Conventions, power
from symdlt.typesetting._trees import tree_text

Edges = tuple[tuple[int, int], ...]


def forward_latex(equation: ForwardEquation, use: Conventions, most: int | None = None) -> str:
    """The equation as lines of an `align` body.

    Args:
        equation: what to print.
        use: choices of notation.
        most: how many terms are printed at most; the others are counted.
    """
    forest = equation.forest
    upper = use.layer(r"\ell+1")
    head = product_text(
        tree_text(forest.edges, tree, [f"i_{v}" for v in tree], tree, upper, use)
        for tree in forest.components
    )
    summands = [s for term in equation.terms for s in _summands(forest, term, use)]
    body = equation_lines(head, grouped(summands[:most]), use.width)
    return body if most is None else body + remaining_terms(len(summands) - most)


def _summands(forest: Forest, term: ForwardTerm, use: Conventions) -> Iterator[Summand]:
    """The term, once for each choice of W or b at the isolated vertices."""
    isolated = [v for v, degree in enumerate(forest.degrees) if degree == 0]
    for choice in range(2 ** len(isolated)):
        biased = tuple(v for k, v in enumerate(isolated) if choice >> k & 1)
        yield _summand(forest, term, biased, use)


def _summand(
    forest: Forest, term: ForwardTerm, biased: tuple[int, ...], use: Conventions
) -> Summand:
    neuron = list(range(forest.vertices))
    for u, v in term.new_weights:
        neuron[v] = u
    still = {*biased, *(v for edge in term.new_biases for v in edge)}
    moving = [v for v in range(forest.vertices) if v not in still]
    weights = tuple(v for v in moving if term.carries_weight(v))
    summed = tuple(sorted({neuron[v] for v in moving}))
    return Summand(
        Fraction(1),
        (term.new_weights, term.new_biases, biased),
        _new_layer(term.new_weights, term.new_biases, biased, summed, weights, use),
        (),
        tuple(_sigma(len(term.blocks[v]), neuron[v], v, use) for v in moving),
        _lower_trees(term, neuron, use),
    )


@lru_cache(maxsize=1024)
def _new_layer(
    new_weights: Edges,
    new_biases: Edges,
    biased: tuple[int, ...],
    summed: tuple[int, ...],
    weights: tuple[int, ...],
    use: Conventions,
) -> tuple[str, ...]:
    """The parameters of layer ℓ+1, and the sums over neurons of layer ℓ."""
    upper = use.layer(r"\ell+1")
    parts = [rf"\delta_{{i_{u}i_{v}}}" for u, v in (*new_biases, *new_weights)]
    if new_biases:
        parts.append(power(rf"\lambda_b{upper}", len(new_biases)))
    if new_weights:
        rate, count = rf"\frac{{\lambda_W{upper}}}{{n_{{\ell}}}}", len(new_weights)
        parts.append(rate if count == 1 else rf"\left({rate}\right)^{{{count}}}")
    parts += [f"b_{{i_{v}}}{upper}" for v in biased]
    if summed:
        parts.append(rf"\sum_{{{','.join(f'j_{j}' for j in summed)}}}")
    return (*parts, *(f"W_{{i_{v}j_{v}}}{upper}" for v in weights))


@lru_cache(maxsize=1024)
def _sigma(order: int, neuron: int, label: int, use: Conventions) -> str:
    above = r"\prime" * order if order < 4 else f"({order})"
    above += r"(\ell)" if use.layers else ""
    below = rf"_{{j_{neuron};{use.samples((label,))}}}"
    return r"\sigma" + below + (f"^{{{above}}}" if above else "")


def _lower_trees(term: ForwardTerm, neuron: list[int], use: Conventions) -> tuple[str, ...]:
    above, edges = [v for v, _ in term.lower_vertices], term.lower_edges
    layer = use.layer(r"\ell")
    return tuple(
        tree_text(
            edges,
            tree,
            [f"j_{neuron[above[v]]}" for v in tree],
            tuple(above[v] for v in tree),
            layer,
            use,
        )
        for tree in connected_components(range(len(above)), edges)
    )
