"""Average of a forward equation over the new layer's weights and biases, on one matching."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from symdlt.errors import ExpectationError
from symdlt.forward import ForwardEquation, ForwardTerm
from symdlt.networks import Correlator, connected_components

Edge = tuple[int, int]

WEIGHT_PAIR = "W"
WEIGHT_EDGE = "w"
BIAS_PAIR = "B"
BIAS_EDGE = "b"


@dataclass(frozen=True)
class Contraction:
    r"""One way to average a forest over $W^{\ell+1}$ and $b^{\ell+1}$ on a fixed matching.

    Each matched pair of vertices ends in one of four ways: its two factors W are contracted
    (`"W"`, giving $C_W/n_\ell$ and one neuron sum), its edge is a new weight (`"w"`, giving
    $\lambda_W/n_\ell$ and one neuron sum), its two biases are contracted (`"B"`, giving $C_b$),
    or its edge is a new bias (`"b"`, giving $\lambda_b$).

    Attributes:
        correlator: the tensor whose recursion this belongs to.
        kinds: what each matched pair does, in the order of `correlator.matching`.
        term: the term of the forward equation that is averaged.
    """

    correlator: Correlator
    kinds: tuple[str, ...]
    term: ForwardTerm

    @cached_property
    def neurons(self) -> tuple[int, ...]:
        """The numbers of the matched pairs that carry a neuron of layer ℓ."""
        return tuple(k for k, kind in enumerate(self.kinds) if kind in "Ww")

    @cached_property
    def pair_of(self) -> tuple[int, ...]:
        """For each vertex the number of its matched pair."""
        home = {v: k for k, pair in enumerate(self.correlator.matching) for v in pair}
        return tuple(home[v] for v in range(self.correlator.axes))

    @cached_property
    def lower_trees(self) -> tuple[tuple[int, ...], ...]:
        """The trees of layer ℓ, as positions in `term.lower_vertices`."""
        return connected_components(range(len(self.term.lower_vertices)), self.term.lower_edges)

    @property
    def hyperparameters(self) -> tuple[int, int, int, int]:
        """The powers of C_b, C_W, λ_b and λ_W."""
        count = self.kinds.count
        return count(BIAS_PAIR), count(WEIGHT_PAIR), count(BIAS_EDGE), count(WEIGHT_EDGE)


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

    With $\mathbb{E}[W_{ij}W_{kl}] = \delta_{ik}\delta_{jl} C_W/n_\ell$ and
    $\mathbb{E}[b_i b_j] = \delta_{ij} C_b$. Of all perfect matchings of the vertices only the
    correlator's own one contributes to it.

    Args:
        equation: the forward equation of the correlator's forest.
        correlator: a forest with its matching.

    Returns:
        The contractions; a pair of biases stands alone in its cluster, and being a constant it
        drops out of every joint cumulant of two clusters or more, where it is left out.

    >>> from symdlt.forward import forward_equation
    >>> from symdlt.networks import NTK, tensor
    >>> [c.kinds for c in contract_matching(forward_equation(NTK), tensor("H")).contractions]
    [('b',), ('w',), ('W',)]
    """
    if not isinstance(equation, ForwardEquation) or not isinstance(correlator, Correlator):
        raise ExpectationError(
            "A contraction needs a forward equation and a correlator. "
            f"`contract_matching` was given {equation!r} and {correlator!r}. "
            "Make them with `forward_equation` and `tensor`."
        )
    forest, matching = correlator.forest, correlator.matching
    home = {v: k for k, pair in enumerate(matching) for v in pair}
    links = [(home[u], home[v]) for u, v in forest.edges]
    clusters = connected_components(range(len(matching)), links)
    contractions = []
    for term in equation.terms:
        if any(edge not in matching for edge in (*term.new_weights, *term.new_biases)):
            continue
        kinds = tuple(_kind(term, pair) for pair in matching)
        if BIAS_EDGE in kinds and len(clusters) > 1:
            continue
        if forest.degrees == (0, 0):
            contractions.append(Contraction(correlator, (BIAS_PAIR,), term))
        contractions.append(Contraction(correlator, kinds, term))
    return ContractedMoment(correlator, clusters, tuple(contractions))


def _kind(term: ForwardTerm, pair: Edge) -> str:
    if pair in term.new_weights:
        return WEIGHT_EDGE
    return BIAS_EDGE if pair in term.new_biases else WEIGHT_PAIR
