"""Definitions of tensors: how a correlator decomposes on the matchings of its neurons."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from symdlt.combinatorics import connected_components, perfect_matchings
from symdlt.definitions import Correlator, place
from symdlt.formats.latex.lines import Group, Product, equation_lines, product_text
from symdlt.formats.latex.notation import Conventions, tensor_text
from symdlt.formats.latex.trees import tree_text

Edge = tuple[int, int]
Matching = tuple[Edge, ...]

_ALL_MATCHINGS = 3  # those of four axes are written out; six have fifteen
_MOMENTS = 3  # up to three factors, joint cumulants are central moments


_DEFINITIONS = r"""Inputs are $%s$ with $j = 1, \ldots, n_0$. $\mathbb{E}$ is the mean over
networks, and $\delta$ with two neurons as subscripts is $1$ where they are equal and otherwise
$0$%s. """

_CONNECTED = "; of several factors, connected means the joint cumulant"

_NTK = r"""The neural tangent kernel of one network is $\widehat{H}$ and $%s$ its leading mean;
$\widehat{\mathrm{d}H}$, $\widehat{\mathrm{dd}_{\mathrm{I}}H}$ and
$\widehat{\mathrm{dd}_{\mathrm{II}}H}$ are its first and second differentials. %s """

_MANY_INDICES = "Their neurons stand before the semicolon, their samples after it."
_ONE_INDEX = "Their subscripts are neurons."

_PIECES = r"""A number in braces is that of a correction:
$X = X^{\{0\}} + X^{\{1\}}/n_{\ell-1} + \cdots$, and a letter without it is the leading piece. """

_EDGES = r"""A tensor $X$ carries the edges of its forest in square brackets; its axes are numbered
from~$0$, and those with the numbers $2k$ and $2k+1$ share a neuron. """

_AXES = r"""The subscript of $X$ is the number of its axes. """


class Defined(NamedTuple):
    """A tensor, up to which piece, and whether all axes carry the one input."""

    correlator: Correlator
    piece: int
    single_input: bool


def definition_latex(of: Defined, use: Conventions) -> str:
    r"""The decomposition that defines the tensor, as lines of an `align` body.

    $$\mathbb{E}[\ldots] = \frac{1}{n_{\ell-1}^{m-1}}\Big[\delta\cdots\delta\,X_{\ldots}
      + \text{other matchings} + O(1/n_{\ell-1})\Big]$$
    """
    correlator = of.correlator
    count = prod(range(1, correlator.axes, 2))
    if count <= _ALL_MATCHINGS:
        matchings = tuple(perfect_matchings(tuple(sorted(correlator.labels))))
        products = [_product(of, matching, use) for matching in matchings]
    else:
        own = tuple(_edge(correlator.labels, pair) for pair in correlator.matching)
        others = rf"\text{{({count - 1} other matchings)}}"
        products = [_product(of, own, use), Product(False, (others,))]
    rest = Product(False, (rf"O\bigl({_inline(of.piece + 1)}\bigr)",))
    groups = [Group(False, _over_width(correlator.pairs - 1), (*products, rest))]
    if correlator.pairs == 1:
        groups = [Group(False, (), (product,)) for product in (*products, rest)]
    return equation_lines(_expectation(of, use), groups, use.points)


def definitions_told(
    own: Sequence[Correlator],
    tensors: Sequence[tuple[Correlator, int]],
    use: Conventions,
    *,
    many: bool,
) -> str:
    """What a reader must know of definitions.

    Args:
        own: the tensors that are defined.
        tensors: these and all others that occur, with their pieces.
        use: choices of notation.
        many: whether axes carry samples.
    """
    several = any(len(correlator.forest.components) > 1 for correlator in own)
    inputs = rf"x_{{j;{use.samples((1,))}}}" if many else "x_j"
    text = _DEFINITIONS % (inputs, _CONNECTED if several else "")
    if any(correlator.forest.edges for correlator, _ in tensors):
        text += _NTK % (use.frozen_ntk, _MANY_INDICES if many else _ONE_INDEX)
    if any(piece for _, piece in tensors):
        text += _PIECES
    if any(correlator.symbol == "X" for correlator, _ in tensors):
        text += _EDGES if many else _EDGES + _AXES
    return text


def _edge(labels: tuple[int, ...], edge: Edge) -> Edge:
    u, v = sorted((labels[edge[0]], labels[edge[1]]))
    return u, v


def _product(of: Defined, matching: Matching, use: Conventions) -> Product:
    """The Kronecker deltas of a matching and the tensor that belongs to it."""
    correlator = of.correlator
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
    shown = None if of.single_input else samples
    pieces = [
        product_text((*_over_width(s), tensor_text(shifted, s, shown, r"\ell", use)))
        for s in range(of.piece + 1)
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


def _expectation(of: Defined, use: Conventions) -> str:
    r"""The cumulant: a mean, a moment of deviations from means, or a connected correlator."""
    correlator = of.correlator
    labels = tuple(sorted(correlator.labels))
    edges = tuple(_edge(correlator.labels, edge) for edge in correlator.forest.edges)
    trees = connected_components(labels, edges)
    deviations = 1 < len(trees) <= _MOMENTS
    inside = "".join(
        tree_text(
            edges,
            tree,
            [f"i_{v}" for v in tree],
            None if of.single_input else tree,
            use.layer(r"\ell"),
            use,
            deviation=deviations and len(tree) % 2 == 0,
        )
        for tree in trees
    )
    below = r"_{\text{connected}}" if len(trees) > _MOMENTS else ""
    return rf"\mathbb{{E}}\bigl[{inside}\bigr]{below}"
