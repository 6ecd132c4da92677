"""Definitions of tensors: how a correlator decomposes on the matchings of its neurons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

from symdlt.combinatorics import connected_components, perfect_matchings
from symdlt.definitions import AnyTensor, Correlator, OddTensor, place, place_odd
from symdlt.formats.latex.lines import Group, Product, equation_lines, product_text
from symdlt.formats.latex.notation import Conventions, tensor_text
from symdlt.formats.latex.trees import tree_text

Edge = tuple[int, int]
Matching = tuple[Edge, ...]

_ALL_MATCHINGS = 3  # those of four axes are written out; six have fifteen
_FOUR = 4  # vertices of a second differential: a star, or a path
_MOMENTS = 3  # up to three factors, joint cumulants are central moments


_INPUTS = r"""Inputs are $%s$ with $j = 1, \ldots, n_0$. """

_DEFINITIONS = r"""$\mathbb{E}$ is the mean over networks, and $\delta$ with two neurons as
subscripts is $1$ where they are equal and otherwise $0$%s. """

_CONNECTED = "; of several factors, connected means the joint cumulant"
_DEVIATION = r"; $\Delta$ is the deviation from the mean"

_NTK = r"""The neural tangent kernel of one network is $\widehat{H}$ and $%s$ its leading
mean%s. %s """

_FIRST = r"$\widehat{\mathrm{d}H}$ is its first differential"
_SECOND_I, _SECOND_II = (
    rf"$\widehat{{\mathrm{{dd}}_{{\mathrm{{{kind}}}}}H}}$" for kind in ("I", "II")
)

_MANY_INDICES = "Neurons stand before the semicolon, samples after it."
_ONE_INDEX = "Subscripts of what has a hat are neurons."

_PIECES = r"""A number in braces is that of a correction:
$X = X^{\{0\}} + X^{\{1\}}/n_{\ell-1} + \cdots$, and a letter without it is the leading piece. """

_EDGES = r"""A tensor $X$ carries the edges of its forest in square brackets; its axes are numbered
from~$0$, and those with the numbers $2k$ and $2k+1$ share a neuron. """

_AXES = r"""The subscript of $X$ is the number of its axes. """


class Defined(NamedTuple):
    """A tensor, up to which piece, and whether all axes carry the one input."""

    correlator: AnyTensor
    piece: int
    single_input: bool


def definition_latex(of: Defined, use: Conventions) -> str:
    r"""The decomposition that defines the tensor, as lines of an `align` body.

    $$\mathbb{E}[\ldots] = \frac{1}{n_{\ell-1}^{m-1}}\Big[\delta\cdots\delta\,X_{\ldots}
      + \text{other matchings} + O(1/n_{\ell-1})\Big]$$
    """
    correlator = of.correlator
    labels = tuple(sorted(correlator.labels))
    count = prod(range(1, correlator.axes, 2))
    if isinstance(correlator, OddTensor):
        found = (_odd_product(of, pair, use) for pair in combinations(labels, 2))
        products = [one for one in found if one]
    elif count <= _ALL_MATCHINGS:
        matchings = tuple(perfect_matchings(labels))
        products = [_product(of, matching, use) for matching in matchings]
    else:
        own = tuple(_edge(correlator.labels, pair) for pair in correlator.matching)
        others = rf"\text{{({count - 1} other matchings)}}"
        products = [_product(of, own, use), Product(False, (others,))]
    rest = Product(False, (rf"O\bigl({_inline(of.piece + 1)}\bigr)",))
    groups = [Group(False, _over_width(correlator.order), (*products, rest))]
    if not correlator.order:
        groups = [Group(False, (), (product,)) for product in (*products, rest)]
    return equation_lines(_expectation(of, use), groups, use.points)


def definitions_told(
    own: Sequence[AnyTensor],
    tensors: Sequence[tuple[AnyTensor, int]],
    use: Conventions,
    *,
    many: bool,
    inputs: bool,
) -> str:
    """What a reader must know of definitions.

    Args:
        own: the tensors whose definitions are printed.
        tensors: these and all others that occur, with their pieces.
        use: choices of notation.
        many: whether axes carry samples.
        inputs: whether those of the network occur.
    """
    trees = [correlator.forest.components for correlator in own]
    marks = _CONNECTED * any(len(one) > _MOMENTS for one in trees)
    marks += _DEVIATION * any(_is_deviation(tree, one) for one in trees for tree in one)
    text = _INPUTS % (rf"x_{{j;{use.samples((1,))}}}" if many else "x_j") if inputs else ""
    text += _DEFINITIONS % marks
    if any(correlator.forest.edges for correlator, _ in tensors):
        indices = _MANY_INDICES if many else _ONE_INDEX
        text += _NTK % (use.frozen_ntk, _differentials(own), indices)
    if any(piece for _, piece in tensors):
        text += _PIECES
    if any(correlator.symbol == "X" for correlator, _ in tensors):
        text += _EDGES if many else _EDGES + _AXES
    return text


def _is_deviation(tree: tuple[int, ...], trees: Sequence[tuple[int, ...]]) -> bool:
    """Whether a factor stands less its mean: one that has a mean, of two factors or three."""
    return 1 < len(trees) <= _MOMENTS and len(tree) % 2 == 0


def _differentials(own: Sequence[AnyTensor]) -> str:
    """The differentials of the NTK that stand in definitions, and what they are."""
    trees = {
        (len(tree), max(one.forest.degrees[v] for v in tree))
        for one in own
        for tree in one.forest.components
    }
    second = [
        name for name, degree in ((_SECOND_I, 3), (_SECOND_II, 2)) if (_FOUR, degree) in trees
    ]
    told = [_FIRST] if (3, 2) in trees else []
    if len(second) == 1:
        told.append(f"{second[0]} is one of its second differentials")
    elif second:
        told.append(f"{' and '.join(second)} are its second differentials")
    return f"; {', and '.join(told)}" if told else ""


def _edge(labels: tuple[int, ...], edge: Edge) -> Edge:
    u, v = sorted((labels[edge[0]], labels[edge[1]]))
    return u, v


def _product(of: Defined, matching: Matching, use: Conventions) -> Product:
    """The Kronecker deltas of a matching and the tensor that belongs to it."""
    correlator = of.correlator
    assert isinstance(correlator, Correlator), correlator
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


def _odd_product(of: Defined, pair: Edge, use: Conventions) -> Product | None:
    """The Kronecker delta of a pair and the odd tensor that belongs to it, if there is one."""
    u, v = pair
    labels = sorted(of.correlator.labels, key=lambda label: label in (u, v))
    edges = (_edge(of.correlator.labels, edge) for edge in of.correlator.forest.edges)
    ends = tuple((labels.index(a), labels.index(b)) for a, b in edges)
    placed = place_odd(ends, tuple(labels))
    if placed is None:
        return None
    tensor, samples = placed
    shown = None if of.single_input else samples
    return Product(False, (rf"\delta_{{i_{u}i_{v}}}", tensor_text(tensor, 0, shown, r"\ell", use)))


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
    inside = "".join(
        tree_text(
            edges,
            tree,
            [f"i_{v}" for v in tree],
            None if of.single_input else tree,
            use.layer(r"\ell"),
            use,
            deviation=_is_deviation(tree, trees),
        )
        for tree in trees
    )
    below = r"_{\text{connected}}" if len(trees) > _MOMENTS else ""
    return rf"\mathbb{{E}}\bigl[{inside}\bigr]{below}"
