"""The forward equation of one step of a layer, and its plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from symdlt.definitions import (
    ABOVE,
    BELOW,
    MASK,
    Forest,
    SiteBranch,
    SiteFactor,
    SiteStep,
    ascii_name,
    primes,
)
from symdlt.derivation.forward_steps import (
    Fields,
    FieldTree,
    ReadTerm,
    lower_trees,
    placed_tree,
    read_terms,
)
from symdlt.derivation.forward_terms import ForwardTerm, shared_neurons, standard_order
from symdlt.derivation.plain_text import equation_text, factor_texts, fields_text


def tree_order(tree: FieldTree) -> tuple[object, ...]:
    """A key that puts fields before trees, small ones first."""
    forest, fields = tree
    return forest.vertices, forest.edges, fields


@dataclass(frozen=True, slots=True)
class StepForward:
    """The forward equation of a forest of the fields that one step of a layer makes.

    Attributes:
        forest: the observable.
        fields: the number of the field of each vertex, among those that the step makes.
        step: how they are made.
        terms: the terms, first those with the most parameters of the step.
    """

    forest: Forest
    fields: Fields
    step: SiteStep
    terms: tuple[ForwardTerm, ...]

    @property
    def written(self) -> Iterator[ReadTerm]:
        """The terms as they are printed."""
        for term in self.terms:
            yield from read_terms(self.fields, self.step, term)

    @property
    def needs(self) -> tuple[FieldTree, ...]:
        """The trees of fields inside the layer that it reads, and these fields.

        What z of the layer below and its trees are is no question of this layer.
        """
        needed = {tree for term in self.terms for tree, _ in lower_trees(term)}
        needed |= {
            (Forest(1), (factor.field,))
            for one in self.written
            for product_read in one.read
            for factor in product_read
            if factor.function != MASK
        }
        return inside_trees(needed, self.step.below)

    @property
    def trivial(self) -> bool:
        """Whether it says that fields which are carried along are what they are."""
        own = {self.step.above[field] for field in self.fields}
        return not self.step.last and own <= {*self.step.carried}

    def __repr__(self) -> str:
        return f"StepForward({self._head}, terms={len(self.terms)})"

    def __str__(self) -> str:
        return equation_text(self._head, (_term(self, one) for one in self.written))

    @property
    def _head(self) -> str:
        return observable_text(self.forest, self.fields, self.step.above)


def inside_trees(trees: Iterable[FieldTree], names: tuple[str, ...]) -> tuple[FieldTree, ...]:
    """Those trees that are not of z of the layer below alone, in their order."""
    own = [tree for tree in trees if {names[field] for field in tree[1]} != {BELOW}]
    return tuple(sorted(own, key=tree_order))


def fields_of(fields: Fields, names: tuple[str, ...]) -> list[str]:
    """The fields of a tree as they are told: one where all are the same, none of z or z' alone."""
    listed = [names[field] for field in fields]
    if len(set(listed)) > 1:
        return listed
    return [] if listed[0] in (BELOW, ABOVE) else listed[:1]


def observable_text(forest: Forest, fields: Fields, names: tuple[str, ...]) -> str:
    """An observable of fields, with its layer where they are of the one above."""
    layer = "[l+1]" if ABOVE in {names[field] for field in fields} else ""
    heads = []
    for tree in forest.components:
        placed, order = placed_tree(forest.edges, tree, fields)
        places = [f"i{v}" for v in order]
        samples = [f"d{v}" for v in order]
        heads.append(tree_text(placed, samples, places, names) + layer)
    return " ".join(heads)


def tree_text(
    tree: FieldTree, samples: list[str], neurons: list[str], names: tuple[str, ...]
) -> str:
    """A tree by the name of its shape and its fields, at neurons and samples."""
    forest, fields = tree
    _, head = standard_order(forest.edges, tuple(range(forest.vertices)), fields)
    own = fields_text(fields_of(fields, names))
    name = (own or head) if forest.vertices == 1 else f"{head}^{own}" if own else head
    return f"{name}_{{{' '.join(neurons)}; {' '.join(samples)}}}"


def _term(equation: StepForward, one: ReadTerm) -> str:
    """A term with its sign: parameters of the step first, then sums over what they read."""
    step, term = equation.step, one.term
    neuron = shared_neurons(term)
    taken = [step.branches[k] for k in term.branches]
    summed = [v for v, branch in enumerate(taken) if branch.summed]
    place = {v: f"j{neuron[v]}" if v in summed else f"i{v}" for v in neuron}
    parts = factor_texts(abs(one.number), step.symbols, one.powers)
    parts += _rates(equation, one)
    parts += [f"delta_{{i{u} i{v}}}" for (u, v), _ in term.new]
    drawn = {
        v: ascii_name(branch.tensor.name)
        for v, branch in enumerate(taken)
        if branch.tensor is not None and not term.is_new(v)
    }
    parts += [f"{letter}_{{i{v}}}" for v, letter in drawn.items() if v not in summed]
    offsets = {v: f"q{neuron[v]}" for v in summed if taken[v].window}
    sample = {v: f"d{v}+{offsets[v]}" if v in offsets else f"d{v}" for v in neuron}
    if summed:
        names = [f"j{v}" for v in sorted({neuron[v] for v in summed})]
        parts.append(f"sum_{{{' '.join([*names, *sorted({*offsets.values()})])}}}")
    parts += [
        f"{letter}_{{i{v} j{v}{f' {offsets[v]}' if v in offsets else ''}}}"
        for v, letter in drawn.items()
        if v in summed
    ]
    parts += [
        f"{_function(factor, step.read)}_{{{place[v]};{sample[v]}}}"
        for v, read in enumerate(one.read)
        for factor in read
    ]
    for tree, above in lower_trees(term):
        samples, places = ([found[v] for v in above] for found in (sample, place))
        parts.append(tree_text(tree, samples, places, step.below))
    return ("-" if one.number < 0 else "") + (" ".join(parts) or "1")


def _rates(equation: StepForward, one: ReadTerm) -> Iterator[str]:
    """The learning rates of new parameters, those of weights over the neurons that they read.

    Of weights with a window these are as many at each position that is read.
    """
    for _, number in one.term.new:
        branch = equation.step.branches[number]
        assert branch.rate is not None
        count, powers = branch.rate
        constant = " ".join(factor_texts(count, equation.step.symbols, powers)) or "1"
        if branch.summed:
            width = equation.step.width_of(branch)
            if positions := positions_read(branch):
                width = f"({positions} {width})"
            constant = f"{constant}/{width}"
        yield constant


def positions_read(branch: SiteBranch) -> str:
    """How many positions weights read, P where that are all, nothing where it is one."""
    window = branch.window
    if window is not None and window.whole:
        return "P"
    return "" if window is None or window.count == 1 else str(window.count)


def _function(factor: SiteFactor, names: tuple[str, ...]) -> str:
    """A function of a field, the field itself, or a mask."""
    name = names[factor.field]
    if not factor.function or factor.function == MASK:
        return name
    return f"{factor.function}{primes(factor.order)}({name})"
