"""The forward equation of a norm: trees of normalised fields in trees of what norms read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from symdlt.combinatorics import set_partitions
from symdlt.definitions import ABOVE, BELOW, Forest, NormStep
from symdlt.derivation.forward_steps import Fields, FieldTree, trees_below
from symdlt.derivation.forward_terms import ANY, Block, ForwardTerm
from symdlt.derivation.norm_derivatives import (
    CENTRED,
    NORMED,
    OWN,
    SQUARE,
    SUMMED,
    NeuronTerm,
    derivatives,
)
from symdlt.derivation.plain_text import equation_text, powers_text
from symdlt.derivation.step_forward import inside_trees, observable_text, tree_text

Neuron = tuple[str, int]  # i or j, and the number of a vertex or of a sum
Choice = tuple[tuple[Block, ...], NeuronTerm | None]


@dataclass(frozen=True, slots=True)
class NormTerm:
    """A term of the forward equation of a norm.

    Attributes:
        number: the number in front.
        width: the power of one over the number of neurons.
        scales: the vertices whose scales c stand in front.
        read: fields, with the neuron and the vertex at which they stand.
        trees: trees, with the neurons and the vertices of theirs.
    """

    number: Fraction
    width: int
    scales: tuple[int, ...]
    read: tuple[tuple[int, Neuron, int], ...]
    trees: tuple[tuple[FieldTree, tuple[tuple[Neuron, int], ...]], ...] = ()

    @property
    def sums(self) -> tuple[str, ...]:
        """The neurons that are summed over."""
        ends = [neuron for _, neuron, _ in self.read]
        ends += [neuron for _, places in self.trees for neuron, _ in places]
        return tuple(f"j{k}" for k in sorted({k for letter, k in ends if letter == "j"}))


@dataclass(frozen=True, slots=True)
class NormForward:
    """The forward equation of a forest of fields of one site, some of which a norm makes.

    Attributes:
        forest: the observable.
        fields: the number of the field of each vertex.
        step: the norm.
        terms: the terms.
    """

    forest: Forest
    fields: Fields
    step: NormStep
    terms: tuple[NormTerm, ...]

    @property
    def square(self) -> NormTerm | None:
        """Where the field itself is given the mean square that is the scale to the power -2."""
        if not self.step.scale or self.forest.vertices > 1:
            return None
        return _placed(ForwardTerm((), (ANY,), ((),), ((),)), (SQUARE,), self.step.read)

    @property
    def needs(self) -> tuple[FieldTree, ...]:
        """The trees that it reads, and these fields, but for those of z below."""
        needed = {tree for term in self.terms for tree, _ in term.trees}
        needed |= {(Forest(1), (field,)) for term in self.terms for field, _, _ in term.read}
        return inside_trees(needed, self.step.names)

    def __repr__(self) -> str:
        return f"NormForward({self._head}, terms={len(self.terms)})"

    def __str__(self) -> str:
        equations = [(self._head, self.terms)]
        if self.square is not None:
            equations.append((f"{self.step.scale}_{{d0}}^-2", (self.square,)))
        return "\n".join(
            equation_text(head, (_text(self.step, one) for one in terms))
            for head, terms in equations
        )

    @property
    def _head(self) -> str:
        return observable_text(self.forest, self.fields, self.step.names)


def norm_choices(forest: Forest, fields: Fields, step: NormStep) -> list[list[Choice]]:
    """At each vertex the ways to part its edges into blocks, with the terms of the derivative.

    Args:
        forest: the observable.
        fields: the number of the field of each vertex.
        step: the norm.
    """
    definition = NORMED if step.scale else CENTRED
    choices: list[list[Choice]] = []
    for v, field in enumerate(fields):
        edges = tuple(edge for edge in forest.edges if v in edge)
        if field != step.field:
            choices.append([((edges,) * bool(edges), None)])
        elif forest.vertices == 1:
            choices.append([((), term) for term in definition])
        else:
            parted = sorted(set_partitions(edges), key=lambda blocks: (len(blocks), blocks))
            choices.append(
                [
                    (blocks, term)
                    for blocks in parted
                    for term in derivatives(definition, len(blocks))
                ]
            )
    return choices


def norm_forward(
    forest: Forest, fields: Fields, step: NormStep, choices: list[list[Choice]]
) -> NormForward:
    """The forward equation of a norm, of what `norm_choices` has found."""
    # Derivatives of a normalised field are written in itself.
    of = step.field if step.scale and forest.vertices > 1 else step.read
    terms = []
    for chosen in product(*choices):
        blocks, parts = zip(*chosen, strict=True)
        along = tuple(
            (field if part is None else step.read,) * len(own)
            for field, own, part in zip(fields, blocks, parts, strict=True)
        )
        term = ForwardTerm((), (ANY,) * len(fields), blocks, along)
        terms.append(_placed(term, parts, of, fields))
    return NormForward(forest, fields, step, tuple(terms))


def _placed(
    term: ForwardTerm,
    parts: tuple[NeuronTerm | None, ...],
    of: int,
    fields: Fields = (),
) -> NormTerm:
    """A term with the neurons of its factors: those above, or sums over others."""
    number, width = Fraction(1), 0
    scales: list[int] = []
    read: list[tuple[int, Neuron, int]] = []
    places: list[tuple[Neuron, int]] = []
    for v, (part, blocks) in enumerate(zip(parts, term.blocks, strict=True)):
        own: Neuron = ("i", v)
        if part is None:
            places += [(own, v)] * len(blocks)
            read += [(fields[v], own, v)] * (not blocks)
            continue
        start = len(places)
        neurons: dict[int, Neuron] = {k: ("j", start + k - 1) for k in range(1, len(blocks) + 1)}
        neurons |= {OWN: own, SUMMED: ("j", start)}
        neurons |= {late: neurons[early] for early, late in part.equal}
        number, width = number * part.number, width + part.width
        scales += [v] * part.scale
        read += [(of, neurons[k], v) for k in part.fields]
        places += [(neurons[k], v) for k in range(1, len(blocks) + 1)]
    trees = tuple((tree, tuple(places[k] for k in order)) for tree, order in trees_below(term))
    return NormTerm(number, width, tuple(scales), tuple(read), trees)


def _text(step: NormStep, term: NormTerm) -> str:
    """A term with its sign: numbers and scales first, then sums over neurons."""
    under = "".join(powers_text([(step.width, term.width)]))
    over = abs(term.number)
    parts = [f"{over}/{under}"] if under else [str(over)] * (over != 1)
    parts += _powers([f"{step.scale}_{{d{v}}}" for v in term.scales])
    fields = [
        (letter, _field(step.names[field], f"{letter}{k};d{v}"))
        for field, (letter, k), v in term.read
    ]
    parts += _powers([text for letter, text in fields if letter == "i"])
    parts += [f"sum_{{{' '.join(term.sums)}}}"] * bool(term.sums)
    parts += _powers([text for letter, text in fields if letter == "j"])
    for tree, places in term.trees:
        neurons = [f"{letter}{k}" for (letter, k), _ in places]
        parts.append(tree_text(tree, [f"d{v}" for _, v in places], neurons, step.names))
    return ("-" if term.number < 0 else "") + (" ".join(parts) or "1")


def _field(name: str, place: str) -> str:
    """A field at its neuron and sample, z' as what it is of the layer above."""
    return f"{BELOW}_{{{place}}}[l+1]" if name == ABOVE else f"{name}_{{{place}}}"


def _powers(factors: list[str]) -> list[str]:
    return powers_text((one, factors.count(one)) for one in dict.fromkeys(factors))
