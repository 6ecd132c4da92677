"""Average of a forward equation over the new layer's weights and biases, on one matching."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

from symdlt.combinatorics import connected_components
from symdlt.definitions import DENSE, Averaged, Correlator, Layer, Way
from symdlt.derivation.forward import ForwardEquation
from symdlt.derivation.forward_terms import ANY, ForwardTerm
from symdlt.errors import ExpectationError

Edge = tuple[int, int]


@dataclass(frozen=True)
class Contraction:
    r"""One way to average a forest over the tensors of the new layer on a fixed matching.

    Each matched pair of vertices ends in one of the ways that the layer has; those of the dense
    layer: the two factors W are contracted (`"W"`, giving $C_W/n_\ell$ and one neuron sum), the
    edge of the pair is a new weight (`"w"`, giving $\lambda_W/n_\ell$ and one neuron sum), the two
    biases are contracted (`"B"`, giving $C_b$), or the edge is a new bias (`"b"`, $\lambda_b$).

    Attributes:
        correlator: the tensor whose recursion this belongs to.
        kinds: what each matched pair does, in the order of `correlator.matching`, as codes of
            the layer's ways.
        term: the term of the forward equation that is averaged.
        layer: how layer ℓ+1 is made of layer ℓ, or the step of it that is taken.
        fields: the number of fields at a neuron below.
        apart: whether neurons that are kept are others than those that are summed over.
    """

    correlator: Correlator
    kinds: tuple[str, ...]
    term: ForwardTerm
    layer: Averaged = field(default=DENSE, compare=False)
    fields: int = 1
    apart: bool = False

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """What each matched pair does."""
        return tuple(self.layer.ways[kind] for kind in self.kinds)

    @cached_property
    def neurons(self) -> tuple[int, ...]:
        """The numbers of the matched pairs that carry a neuron of layer ℓ."""
        return tuple(k for k, way in enumerate(self.ways) if way.summed or way.how == "kept")

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Those of them whose neuron is their own, and not summed over."""
        return tuple(k for k, way in enumerate(self.ways) if way.how == "kept")

    @cached_property
    def pair_of(self) -> tuple[int, ...]:
        """For each vertex the number of its matched pair."""
        home = {v: k for k, pair in enumerate(self.correlator.matching) for v in pair}
        return tuple(home[v] for v in range(self.correlator.axes))

    @cached_property
    def orders(self) -> tuple[int, ...]:
        """For each vertex the derivative of σ that it reads, old edges included."""
        orders = [0] * self.correlator.axes
        for pair, way in zip(self.correlator.matching, self.ways, strict=True):
            for vertex, order in zip(pair, way.orders, strict=True):
                orders[vertex] = order + len(self.term.blocks[vertex])
        return tuple(orders)

    @cached_property
    def lower_vertices(self) -> tuple[tuple[int, int], ...]:
        """The vertices of layer ℓ, each with the vertex above it and the number of its block."""
        return self.term.lower_vertices

    @cached_property
    def places(self) -> tuple[int, ...]:
        """For each of them its matched pair and its field, in one number."""
        along = [field for fields in self.term.fields for field in fields]
        return tuple(
            self.pair_of[vertex] * self.fields + (along[k] if along else 0)
            for k, (vertex, _) in enumerate(self.lower_vertices)
        )

    @cached_property
    def lower_edges(self) -> tuple[Edge, ...]:
        """The edges of layer ℓ, between positions in `lower_vertices`."""
        return self.term.lower_edges

    @cached_property
    def lower_trees(self) -> tuple[tuple[int, ...], ...]:
        """The trees of layer ℓ, as positions in `lower_vertices`."""
        return connected_components(range(len(self.lower_vertices)), self.lower_edges)

    @cached_property
    def number(self) -> Fraction:
        """The rational factor that comes with the laws and constants of the layer."""
        return prod((way.number for way in self.ways), start=Fraction(1))

    @cached_property
    def powers(self) -> tuple[int, ...]:
        """The powers of the layer's symbols."""
        return tuple(map(sum, zip(*(way.powers for way in self.ways), strict=True)))


@dataclass(frozen=True, slots=True)
class ContractedMoment:
    """All contractions of a correlator, and the clusters whose joint cumulant is wanted.

    Attributes:
        correlator: the tensor.
        clusters: matched pairs bound together by trees. Given layer ℓ each cluster has a
            conditional mean; the correlator is the joint cumulant of these means.
        contractions: every way to average the forward equation on the matching.
    """

    correlator: Correlator
    clusters: tuple[tuple[int, ...], ...]
    contractions: tuple[Contraction, ...]

    def __repr__(self) -> str:
        return f"ContractedMoment({self.correlator.name}, contractions={len(self.contractions)})"


def contract_matching(equation: ForwardEquation, correlator: Correlator) -> ContractedMoment:
    r"""Average a forward equation over the new layer, on the matching of a correlator.

    The tensors of the layer are drawn entry by entry from their laws, as in
    $\mathbb{E}[W_{ij}W_{kl}] = \delta_{ik}\delta_{jl} C_W/n_\ell$ and
    $\mathbb{E}[b_i b_j] = \delta_{ij} C_b$. Of all perfect matchings of the vertices only the
    correlator's own one contributes to it.

    Args:
        equation: the forward equation of the correlator's forest.
        correlator: a forest with its matching.

    Returns:
        The contractions; a pair of biases stands alone in its cluster, and being a constant it
        drops out of every joint cumulant of two clusters or more, where it is left out.

    >>> from symdlt.derivation import forward_equation
    >>> from symdlt.definitions import NTK, tensor
    >>> [c.kinds for c in contract_matching(forward_equation(NTK), tensor("H")).contractions]
    [('b',), ('w',), ('W',)]
    """
    if not isinstance(equation, ForwardEquation) or not isinstance(correlator, Correlator):
        raise ExpectationError(
            "A contraction needs a forward equation and a correlator. "
            f"`contract_matching` was given {equation!r} and {correlator!r}. "
            "Make them with `forward_equation` and `tensor`."
        )
    forest, matching, layer = correlator.forest, correlator.matching, equation.layer
    home = {v: k for k, pair in enumerate(matching) for v in pair}
    links = [(home[u], home[v]) for u, v in forest.edges]
    clusters = connected_components(range(len(matching)), links)
    contractions = []
    for term in equation.terms:
        for kinds in _pair_ways(term, matching, layer):
            constant = any(_reads_nothing(layer, kind) for kind in kinds)
            if not constant or len(clusters) == 1:
                contractions.append(Contraction(correlator, kinds, term, layer))
    return ContractedMoment(correlator, clusters, tuple(contractions))


def _reads_nothing(layer: Layer, kind: str) -> bool:
    """Whether a pair carries no neuron of layer ℓ, and is a constant."""
    way = layer.ways[kind]
    return not way.summed and way.how != "kept"


def _pair_ways(
    term: ForwardTerm, matching: tuple[Edge, ...], layer: Layer
) -> Iterator[tuple[str, ...]]:
    """The codes of what the pairs can do in a term.

    A law of mean zero joins equal entries in blocks of two and more; the pairs of a matching
    have different rows, so that a block is a pair, and its weight the second cumulant. This is
    `algebra.averages.expectation` where all legs are known beforehand; averaging the terms as
    index expressions, which tests do and compare, takes 200 to 700 times as long (V, R, T).
    """
    new = dict(term.new)
    if any(edge not in matching for edge in new):
        return
    choices = []
    for pair in matching:
        taken = (new[pair], new[pair]) if pair in new else tuple(term.branches[v] for v in pair)
        choices.append(
            [
                code
                for code, way in layer.ways.items()
                if (way.how == "edge") is (pair in new)
                and all(t in (ANY, own) for t, own in zip(taken, way.branches, strict=True))
            ]
        )
    yield from product(*choices)
