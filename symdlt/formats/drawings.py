"""Forests, tensors and the diagrams of terms, drawn.

A circle is a preactivation with its number, a line between two circles an edge, that is, a
parameter that both derivatives share, and a dashed frame a neuron that the circles in it have in
common.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from symdlt.definitions import Correlator, Forest
from symdlt.derivation import Diagram, RecursionTerm
from symdlt.errors import require
from symdlt.formats.diagrams import diagram_shapes
from symdlt.formats.shapes import MARGIN, RADIUS, Circle, Drawing, Frame, Line, Point, Shape

# From one pair to the next, and between the vertices of a pair.
ACROSS, DOWN = 64.0, 44.0
BOW = 26.0  # how far a line bends aside that would run through others


def draw(what: Forest | Correlator | RecursionTerm | Diagram) -> Drawing:
    """Draw an observable, a tensor with its neurons, or the diagrams of a term of a recursion.

    A diagram has three rows: the vertices of the tensor of layer ℓ+1, with what contracts each
    pair; the derivatives of σ that they become, in frames of one neuron each; and the tensors of
    layer ℓ that join them. A dotted line is a preactivation that a cumulant inserts: in the bracket
    of a neuron, of a diagram alone and in the z form; at the σ that it differentiates, of a term.

    Args:
        what: a forest; a correlator, which `tensor` finds by name; a term of a recursion, or one
            of its diagrams, `origins`.

    Raises:
        InputError: if it is none of these.

    >>> from symdlt.definitions import tensor
    >>> drawing = draw(tensor("P"))
    >>> drawing.svg.count("<circle"), drawing.tikz.count("dashed")
    (4, 2)
    >>> from symdlt.derivation import derive
    >>> draw(derive("R").terms[3]).svg.count("B_0023")
    1
    """
    advice = 'Give one such as tensor("V"), Forest(2, ((0, 1),)) or derive("V").terms[2].'
    kinds = Forest | Correlator | RecursionTerm | Diagram
    require(what, kinds, "a forest, a tensor or a term of a recursion", advice)
    if isinstance(what, Diagram):
        return Drawing(tuple(diagram_shapes((what,))))
    if isinstance(what, RecursionTerm):
        return Drawing(tuple(diagram_shapes(what.origins, what)))
    if isinstance(what, Correlator):
        forest, pairs = what.forest, what.matching
        places: dict[int, Point] = {}
        for column, pair in enumerate(pairs):
            places |= {vertex: (column * ACROSS, row * DOWN) for row, vertex in enumerate(pair)}
    else:
        forest, pairs = what, ()
        columns = enumerate(vertex for tree in forest.components for vertex in tree)
        places = {vertex: (column * ACROSS / 2, column % 2 * DOWN) for column, vertex in columns}
    return Drawing(tuple(_shapes(forest, pairs, places)))


def _shapes(
    forest: Forest, pairs: tuple[tuple[int, int], ...], places: dict[int, Point]
) -> Iterator[Shape]:
    side = RADIUS + MARGIN / 4
    for u, v in pairs:
        (x, top), (_, bottom) = sorted((places[u], places[v]), key=itemgetter(1))
        yield Frame((x - side, top - side), (x + side, bottom + side))
    for u, v in forest.edges:
        yield _edge(*sorted((places[u], places[v])))
    for vertex in range(forest.vertices):
        yield Circle(places[vertex], str(vertex), str(vertex))


def _edge(start: Point, end: Point) -> Line:
    """An edge, straight unless others are between."""
    (x, y), (a, b) = start, end
    middle = ((x + a) / 2, (y + b) / 2)
    if x == a:
        return Line(start, (middle[0] + BOW, middle[1]), end)
    if y == b and a - x > ACROSS:
        away = -1 if y == 0 else 1
        return Line(start, (middle[0], middle[1] + away * BOW), end)
    return Line(start, middle, end)
