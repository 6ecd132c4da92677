"""Definitions of tensors: how a correlator decomposes on the matchings of its neurons."""

from __future__ import annotations

from math import prod

from symdlt.combinatorics import connected_components, perfect_matchings
from symdlt.definitions import place
from symdlt.derivation import Recursion
from symdlt.formats.latex.lines import Group, Product, equation_lines, product_text
from symdlt.formats.latex.notation import Conventions, tensor_text
from symdlt.formats.latex.trees import tree_text

Edge = tuple[int, int]
Matching = tuple[Edge, ...]

_ALL_MATCHINGS = 3  # those of four axes are written out; six have fifteen
_MOMENTS = 3  # up to three factors, joint cumulants are central moments


def definition_latex(recursion: Recursion, use: Conventions) -> str:
    r"""The decomposition that defines the tensor, as lines of an `align` body.

    $$\mathbb{E}[\ldots] = \frac{1}{n_{\ell-1}^{m-1}}\Big[\delta\cdots\delta\,X_{\ldots}
      + \text{other matchings} + O(1/n_{\ell-1})\Big]$$
    """
    correlator = recursion.correlator
    count = prod(range(1, correlator.axes, 2))
    if count <= _ALL_MATCHINGS:
        matchings = tuple(perfect_matchings(tuple(sorted(correlator.labels))))
        products = [_product(recursion, matching, use) for matching in matchings]
    else:
        own = tuple(_edge(correlator.labels, pair) for pair in correlator.matching)
        others = rf"\text{{({count - 1} other matchings)}}"
        products = [_product(recursion, own, use), Product(False, (others,))]
    rest = Product(False, (rf"O\bigl({_inline(recursion.piece + 1)}\bigr)",))
    groups = [Group(False, _over_width(correlator.pairs - 1), (*products, rest))]
    if correlator.pairs == 1:
        groups = [Group(False, (), (product,)) for product in (*products, rest)]
    return equation_lines(_expectation(recursion, use), groups, use.points)


def _edge(labels: tuple[int, ...], edge: Edge) -> Edge:
    u, v = sorted((labels[edge[0]], labels[edge[1]]))
    return u, v


def _product(recursion: Recursion, matching: Matching, use: Conventions) -> Product:
    """The Kronecker deltas of a matching and the tensor that belongs to it."""
    correlator = recursion.correlator
    labels = tuple(sorted(correlator.labels))
    rank = {label: k for k, label in enumerate(labels)}
    edges = tuple(sorted(_edge(correlator.labels, edge) for edge in correlator.forest.edges))
    own = {_edge(correlator.labels, pair) for pair in correlator.matching} == set(matching)
    shifted, samples = (correlator, correlator.labels)
    if not own:
        shifted, samples = place(
            len(labels),
            tuple((rank[u], rank[v]) for u, v in edges),
            tuple((rank[u], rank[v]) for u, v in matching),
            labels,
        )
    shown = None if recursion.single_input else samples
    pieces = [
        product_text((*_over_width(s), tensor_text(shifted, s, shown, r"\ell", use)))
        for s in range(recursion.piece + 1)
    ]
    tensor = pieces[0] if len(pieces) == 1 else rf"\left({' + '.join(pieces)}\right)"
    return Product(False, (*(rf"\delta_{{i_{u}i_{v}}}" for u, v in matching), tensor))


def _over_width(exponent: int) -> tuple[str, ...]:
    if not exponent:
        return ()
    return (rf"\frac{{1}}{{n_{{\ell-1}}{_power(exponent)}}}",)


def _inline(exponent: int) -> str:
    return rf"1/n_{{\ell-1}}{_power(exponent)}"


def _power(exponent: int) -> str:
    return f"^{{{exponent}}}" if exponent > 1 else ""


def _expectation(recursion: Recursion, use: Conventions) -> str:
    r"""The cumulant: a mean, a moment of deviations from means, or a connected correlator."""
    correlator = recursion.correlator
    labels = tuple(sorted(correlator.labels))
    edges = tuple(_edge(correlator.labels, edge) for edge in correlator.forest.edges)
    trees = connected_components(labels, edges)
    deviations = 1 < len(trees) <= _MOMENTS
    inside = "".join(
        tree_text(
            edges,
            tree,
            [f"i_{v}" for v in tree],
            None if recursion.single_input else tree,
            use.layer(r"\ell"),
            use,
            deviation=deviations and len(tree) % 2 == 0,
        )
        for tree in trees
    )
    below = r"_{\text{connected}}" if len(trees) > _MOMENTS else ""
    return rf"\mathbb{{E}}\bigl[{inside}\bigr]{below}"
