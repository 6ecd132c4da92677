"""The contraction of forests on a matching is the expectation of the index language.

`contract_matching` knows beforehand which legs meet, and writes down what comes of it. Here the
forward equation is written as an index expression, with the trees below as constants, and
`expectation` averages it over the tensors of the layer; what it leaves without a Kronecker delta
between the pairs of the matching must be the same, for every layer and every tensor tried.
"""

import pytest
from cases import slow, swept

from symdlt.algebra import (
    Delta,
    Expression,
    activation,
    canonicalize,
    constant,
    delta,
    neurons,
    preactivations,
    product,
    samples,
    symbol,
)
from symdlt.algebra.averages import expectation
from symdlt.combinatorics import connected_components
from symdlt.definitions import BOOK, DENSE, FIELD, WIDTH, Layer, correlators, tensor
from symdlt.derivation import contract_matching, forward_equation, spelled_out

LAYERS = {
    str(layer): layer
    for layer in (
        DENSE,
        Layer("z' = xi z + b + W s(z)"),
        Layer("z' = U z + b + 1/2 W s(z)"),
        Layer("z' = xi z + a s(z) + W s(z)"),
    )
}
Z = preactivations("ℓ")
S = activation("σ", Z)


class Written:
    """A forest on a matching, its vertices and trees as tensors of the index language."""

    def __init__(self, layer, correlator):
        self.layer, self.correlator = layer, correlator
        rows = "n_{ℓ+1}" if layer.closes else WIDTH
        pairs = neurons(" ".join(f"i{p}" for p in range(correlator.pairs)), rows)
        home = {v: p for p, pair in enumerate(correlator.matching) for v in pair}
        self.above = {v: pairs[p] for v, p in home.items()}
        self.below = neurons(" ".join(f"j{v}" for v in range(correlator.axes)), WIDTH)
        self.samples = samples(" ".join(f"d{v}" for v in range(correlator.axes)))

    def read(self, vertex, order, differentiated, neuron):
        """The function of the layer below at a vertex; a differentiated preactivation is 1."""
        if order < 0:
            return Z(neuron, self.samples[vertex]) if not differentiated else 1
        return S.derivative(order)(neuron, self.samples[vertex])

    def trees(self, term, places):
        """Each lower tree as a constant tensor, its name telling its edges and samples."""
        above = [v for v, _ in term.lower_vertices]
        found = []
        for tree in connected_components(range(len(above)), term.lower_edges):
            name = "T" + "".join(f"{above[v]}{k}" for k, v in enumerate(tree))
            where = [places[above[v]] for v in tree]
            found.append(constant(name, *where)(*where))
        return product(found)

    def forward_term(self, term):
        """One term of the forward equation, before any average."""
        shared = {v: u for (u, v), _ in term.new}
        places, factors, summed = {}, [], []
        for (u, v), number in term.new:
            branch = self.layer.branches[number]
            factors += [branch.rate, delta(self.above[u], self.above[v])]
        for v, number in enumerate(term.branches):
            branch = self.layer.branches[number]
            factors.append(branch.coefficient)
            if branch.summed:
                places[v] = self.below[shared.get(v, v)]
                summed.append(places[v])
            elif branch.kept:
                places[v] = self.above[v]
            if branch.tensor is not None and not term.is_new(v):
                where = (self.above[v], places[v]) if branch.summed else (self.above[v],)
                factors.append(branch.tensor(*where))
            if branch.function is not None:
                blocks = len(term.blocks[v])
                order = FIELD if branch.order == FIELD else branch.order + blocks
                factors.append(self.read(v, order, blocks, places[v]))
        whole = product([*factors, self.trees(term, places)])
        return whole.sum(*dict.fromkeys(summed))

    def contracted(self, contraction):
        """One contraction, its neuron sums written out."""
        factors, places, summed = [], {}, []
        for pair, way in zip(self.correlator.matching, contraction.ways, strict=True):
            factors.append(way.number)
            for name, power in zip(self.layer.symbols, way.powers, strict=True):
                factors.append(symbol(name) ** power)
            if not way.summed and way.how != "kept":
                continue
            neuron = self.below[pair[0]] if way.summed else self.above[pair[0]]
            if way.summed:
                summed.append(neuron)
                factors.append(1 / symbol(WIDTH))
            for v, own in zip(pair, way.orders, strict=True):
                places[v] = neuron
                blocks = len(contraction.term.blocks[v])
                order = FIELD if own == FIELD else own + blocks
                factors.append(self.read(v, order, blocks, neuron))
        return product([*factors, self.trees(contraction.term, places)]).sum(*summed)


def on_the_matching(expression, single):
    """The terms without a delta between pairs; of several clusters, without a constant one."""
    kept = []
    for term in canonicalize(expression).terms:
        names = {name for monomial, _ in term.coefficient.terms for name, _ in monomial}
        constant_pair = not single and names & {"C_b", "λ_b"}
        if not any(isinstance(f, Delta) for f in term.factors) and not constant_pair:
            kept.append(term)
    return Expression(tuple(kept))


SIX = [c.name for c in correlators(2)[5:100:24]]
CASES = [
    *((name, str(DENSE)) for name in (*BOOK, *SIX[::2])),
    *(slow(name, str(DENSE)) for name in SIX[1::2]),
    *((name, text) for name in "GHVFP" for text in LAYERS if text != str(DENSE)),
    *(slow("R", text) for text in LAYERS),
    *(swept("S", text) for text in LAYERS if text != str(DENSE)),
]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_contractions_are_the_expectation_of_the_forward_equation(name, text):
    layer, correlator = LAYERS[text], tensor(name)
    written = Written(layer, correlator)
    equation = forward_equation(correlator.forest, layer)
    moment = contract_matching(equation, correlator)
    heads = [branch.tensor for branch in layer.branches if branch.tensor is not None]
    expected = Expression()
    for term in equation.terms:
        for one in spelled_out(equation.layer, term):
            expected = expected + expectation(written.forward_term(one), over=heads)
    found = Expression()
    for contraction in moment.contractions:
        found = found + written.contracted(contraction)
    single = len(moment.clusters) == 1
    assert on_the_matching(found, single) == on_the_matching(expected, single)
    assert canonicalize(found).terms
