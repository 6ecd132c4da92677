"""Stochastic forward equations of layers of several fields in the notation of PDLT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from symdlt.definitions import BELOW, MASK, Forest, SiteFactor
from symdlt.derivation import shared_neurons
from symdlt.derivation.forward_steps import Fields, FieldTree, ReadTerm, lower_trees, placed_tree
from symdlt.derivation.step_forward import StepForward, fields_of, positions_read
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.layer_symbols import (
    ABOVE,
    LAYER,
    field_latex,
    indexed,
    letter_latex,
    width_latex,
)
from symdlt.formats.latex.lines import product_text
from symdlt.formats.latex.notation import Conventions, power, symbol_text
from symdlt.formats.latex.trees import tree_text


def step_forward_latex(equation: StepForward, use: Conventions, most: int | None = None) -> str:
    r"""One equation as lines of an `align` body.

    Trees of fields inside the layer have these in front of it, as in $\widehat H^{uv(\ell+1)}$.
    """
    head = observable_latex(equation.forest, equation.fields, equation.step.above, use)
    written = list(equation.written)
    return equation_latex(head, written, lambda one: _summand(equation, one, use), use, most)


def observable_latex(
    forest: Forest, fields: Fields, names: tuple[str, ...], use: Conventions
) -> str:
    """An observable of fields of a layer."""
    heads = []
    for tree in forest.components:
        placed, order = placed_tree(forest.edges, tree, fields)
        heads.append(field_tree_latex(placed, order, [f"i_{v}" for v in order], names, use))
    return product_text(heads)


def field_tree_latex(
    tree: FieldTree,
    labels: tuple[int, ...],
    neurons: list[str],
    names: tuple[str, ...],
    use: Conventions,
    shifts: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """A tree with its neurons, samples, fields and layer; of a vertex alone, its field."""
    forest, fields = tree
    layer = LAYER if {names[field] for field in fields} == {BELOW} else ABOVE
    own = [field_latex(name) for name in fields_of(fields, names)]
    if own and forest.vertices == 1:
        return indexed(own[0], f"{neurons[0]};{use.places(labels, shifts)}")
    above = "".join(own) + (f"({use.number(layer)})" if use.layers else "")
    prime = r"\prime" if layer == ABOVE and not own and not use.layers else ""
    places = tuple(range(forest.vertices))
    mark = f"^{{{above}{prime}}}" if above or prime else ""
    return tree_text(forest.edges, places, neurons, labels, mark, use, shifts=shifts)


def _summand(equation: StepForward, one: ReadTerm, use: Conventions) -> Summand:
    step, term = equation.step, one.term
    neuron = shared_neurons(term)
    place = {
        v: f"j_{neuron[v]}" if step.branches[branch].summed else f"i_{v}"
        for v, branch in enumerate(term.branches)
    }
    shifts = _shifts(equation, one)
    functions = tuple(
        _function(factor, f"{place[v]};{use.places((v,), shifts)}", step.read)
        for v, read in enumerate(one.read)
        for factor in read
    )
    trees = tuple(
        field_tree_latex(tree, above, [place[v] for v in above], step.below, use, shifts)
        for tree, above in lower_trees(term)
    )
    family = (term.new, term.branches, one.powers)
    prefix = tuple(_prefix(equation, one, place, use))
    return Summand(one.number, family, prefix, (), functions, trees)


def _prefix(
    equation: StepForward, one: ReadTerm, place: dict[int, str], use: Conventions
) -> Iterator[str]:
    """Deltas, constants, and the parameters of the step with the sums over neurons."""
    step, term, upper = equation.step, one.term, use.layer(ABOVE)
    yield from (rf"\delta_{{i_{u}i_{v}}}" for (u, v), _ in term.new)
    for number, count in Counter(k for _, k in term.new).items():
        yield _rate(equation, number, count, use)
    for name, exponent in zip(step.symbols, one.powers, strict=True):
        if exponent:
            yield power(symbol_text(name) + upper, exponent)
    taken = [step.branches[k] for k in term.branches]
    drawn = {
        v: symbol_text(branch.tensor.name)
        for v, branch in enumerate(taken)
        if branch.tensor is not None and not term.is_new(v)
    }
    yield from (indexed(w, f"i_{v}") + upper for v, w in drawn.items() if not taken[v].summed)
    shifts = _shifts(equation, one)
    if sums := sorted({place[v] for v, branch in enumerate(taken) if branch.summed}):
        yield rf"\sum_{{{','.join([*sums, *sorted({*shifts.values()})])}}}"
    for v, w in drawn.items():
        if taken[v].summed:
            yield indexed(w, f"i_{v}j_{v}{shifts.get(v, '')}") + upper


def _rate(equation: StepForward, number: int, count: int, use: Conventions) -> str:
    """The learning rate of new parameters, to the power of their number."""
    step = equation.step
    branch = step.branches[number]
    assert branch.rate is not None
    whole, powers = branch.rate
    text = ("" if whole == 1 else str(whole)) + "".join(
        power(symbol_text(name) + use.layer(ABOVE), exponent)
        for name, exponent in zip(step.symbols, powers, strict=True)
        if exponent
    )
    if not branch.summed:
        return power(text, count)
    name = step.width_of(branch)
    width = f"n_{{{use.number(LAYER)}}}" if name == "n" else width_latex(name)
    rate = rf"\frac{{{text}}}{{{positions_read(branch)}{width}}}"
    return rate if count == 1 else rf"\left({rate}\right)^{{{count}}}"


def _shifts(equation: StepForward, one: ReadTerm) -> dict[int, str]:
    """How far what vertices read is from their positions: ends of new edges read one offset."""
    neuron = shared_neurons(one.term)
    branches = (equation.step.branches[k] for k in one.term.branches)
    return {v: f"q_{neuron[v]}" for v, branch in enumerate(branches) if branch.window}


def _function(factor: SiteFactor, place: str, names: tuple[str, ...]) -> str:
    """A function of a field at a neuron and a sample, the field itself, or a mask."""
    at = indexed(field_latex(names[factor.field]), place)
    if not factor.function or factor.function == MASK:
        return at
    return f"{letter_latex(factor.function, factor.order)}({at})"
