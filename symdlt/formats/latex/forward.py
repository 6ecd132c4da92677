"""Stochastic forward equations in the notation of PDLT."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache

from symdlt.combinatorics import connected_components
from symdlt.definitions import FIELD, WIDTH, Branch, Layer
from symdlt.derivation import ForwardEquation, ForwardTerm, shared_neurons, spelled_out
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.layer_symbols import indexed
from symdlt.formats.latex.lines import product_text
from symdlt.formats.latex.notation import Conventions, power, symbol_text
from symdlt.formats.latex.trees import tree_text

Edge = tuple[int, int]


def forward_latex(equation: ForwardEquation, use: Conventions, most: int | None = None) -> str:
    """The equation as lines of an `align` body.

    Args:
        equation: what to print.
        use: choices of notation.
        most: how many terms are printed at most; the others are counted.
    """
    forest = equation.forest
    upper = use.layer(r"\ell+1") or r"^{\prime}"
    head = product_text(
        tree_text(forest.edges, tree, [f"i_{v}" for v in tree], tree, upper, use)
        for tree in forest.components
    )
    spelled = [one for term in equation.terms for one in spelled_out(equation.layer, term)]
    return equation_latex(
        head, spelled, lambda term: _summand(equation.layer, term, use), use, most
    )


def _summand(layer: Layer, term: ForwardTerm, use: Conventions) -> Summand:
    neuron = shared_neurons(term)
    taken = [layer.branches[k] for k in term.branches]
    reading = [v for v, branch in enumerate(taken) if branch.function is not None]
    place = {v: f"j_{neuron[v]}" if taken[v].summed else f"i_{v}" for v in reading}
    fields = (_field(taken[v].order, len(term.blocks[v]), place[v], v, use) for v in reading)
    return Summand(
        Fraction(1),
        (term.new, term.branches),
        _new_layer(layer, term.new, term.branches, use),
        (),
        tuple(text for text in fields if text),
        _lower_trees(term, place, use),
    )


@lru_cache(maxsize=1024)
def _new_layer(
    layer: Layer, new: tuple[tuple[Edge, int], ...], branches: tuple[int, ...], use: Conventions
) -> tuple[str, ...]:
    """The parameters of layer ℓ+1, and the sums over neurons of layer ℓ."""
    upper = use.layer(r"\ell+1")
    neuron = {v: u for (u, v), _ in new}
    fresh = {v for edge, _ in new for v in edge}
    taken = [layer.branches[k] for k in branches]
    parts = [rf"\delta_{{i_{u}i_{v}}}" for (u, v), _ in new]
    for number, count in Counter(k for _, k in new).items():
        parts.append(_rate(layer.branches[number], count, use))
    constants = Counter(_constant(b, upper) for b in taken if b.coefficient != 1)
    parts += [power(text, count) for text, count in constants.items()]
    drawn = [v for v, branch in enumerate(taken) if branch.tensor and v not in fresh]
    parts += [indexed(_letter(taken[v]), f"i_{v}") + upper for v in drawn if not taken[v].summed]
    summed = sorted({neuron.get(v, v) for v, branch in enumerate(taken) if branch.summed})
    if summed:
        parts.append(rf"\sum_{{{','.join(f'j_{j}' for j in summed)}}}")
    weights = [indexed(_letter(taken[v]), f"i_{v}j_{v}") + upper for v in drawn if taken[v].summed]
    return (*parts, *weights)


def _letter(branch: Branch) -> str:
    return symbol_text(branch.tensor.name) if branch.tensor else ""


def _constant(branch: Branch, upper: str) -> str:
    """The constant in front of a branch; a layer has checked that it is one product."""
    ((monomial, number),) = branch.coefficient.terms
    text = "" if number == 1 else str(number)
    return text + "".join(power(symbol_text(name) + upper, p) for name, p in monomial)


def _rate(branch: Branch, count: int, use: Conventions) -> str:
    """The learning rate of new parameters, to the power of their number."""
    upper = use.layer(r"\ell+1")
    ((monomial, number),) = branch.rate.terms
    text = "" if number == 1 else str(number)
    text += "".join(power(symbol_text(n) + upper, p) for n, p in monomial if n != WIDTH)
    if not branch.summed:
        return power(text, count)
    rate = rf"\frac{{{text}}}{{n_{{{use.number(chr(92) + 'ell')}}}}}"
    return rate if count == 1 else rf"\left({rate}\right)^{{{count}}}"


@lru_cache(maxsize=1024)
def _field(order: int, blocks: int, neuron: str, label: int, use: Conventions) -> str:
    """What a vertex reads of layer ℓ; a preactivation that was differentiated is 1."""
    if order == FIELD:
        layer = use.layer(r"\ell")
        return "" if blocks else rf"z_{{{neuron};{use.samples((label,))}}}{layer}"
    return _sigma(order + blocks, neuron, label, use)


def _sigma(order: int, neuron: str, label: int, use: Conventions) -> str:
    above = r"\prime" * order if order < 4 else f"({order})"
    above += r"(\ell)" if use.layers else ""
    below = rf"_{{{neuron};{use.samples((label,))}}}"
    return r"\sigma" + below + (f"^{{{above}}}" if above else "")


def _lower_trees(term: ForwardTerm, place: dict[int, str], use: Conventions) -> tuple[str, ...]:
    above, edges = [v for v, _ in term.lower_vertices], term.lower_edges
    layer = use.layer(r"\ell")
    return tuple(
        tree_text(
            edges,
            tree,
            [place[above[v]] for v in tree],
            tuple(above[v] for v in tree),
            layer,
            use,
        )
        for tree in connected_components(range(len(above)), edges)
    )
