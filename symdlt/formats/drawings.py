"""Forests and correlators drawn: as SVG for a notebook, as TikZ for a paper.

A vertex is a preactivation with its number, a line between two vertices an edge, that is, a
parameter that both derivatives share, and a capsule around two a neuron that they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from symdlt.definitions import Correlator, Forest
from symdlt.errors import require

Point = tuple[float, float]
Edge = tuple[int, int]

# In points: from one pair to the next, between the vertices of a pair, and around them.
ACROSS, DOWN, RADIUS, MARGIN = 64.0, 44.0, 9.0, 16.0
BOW = 26.0  # how far a line bends aside that would run through others


@dataclass(frozen=True, slots=True)
class Drawing:
    """A forest, with the pairs of a matching if there is one.

    Attributes:
        places: where the vertices are.
        edges: between vertices.
        pairs: of vertices with the same neuron.
    """

    places: tuple[Point, ...]
    edges: tuple[Edge, ...]
    pairs: tuple[Edge, ...]

    @property
    def svg(self) -> str:
        """The drawing as SVG."""
        width = max(x for x, _ in self.places) + 2 * MARGIN + RADIUS
        height = max(y for _, y in self.places) + 2 * MARGIN + RADIUS
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="{-MARGIN - RADIUS / 2:g} {-MARGIN - RADIUS / 2:g} {width:g} {height:g}" '
            'fill="none" stroke="currentColor" font-family="serif" font-size="11">'
        ]
        for x, top, bottom, side in self._capsules():
            parts.append(
                f'<rect x="{x - side:g}" y="{top - side:g}" width="{2 * side:g}" '
                f'height="{bottom - top + 2 * side:g}" rx="{side:g}" stroke-dasharray="3 3"/>'
            )
        for edge in self.edges:
            (x, y), (a, b), (c, d) = self._curve(edge)
            parts.append(f'<path d="M {x:g} {y:g} Q {a:g} {b:g} {c:g} {d:g}" stroke-width="1.6"/>')
        for number, (x, y) in enumerate(self.places):
            parts.append(
                f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS:g}" fill="white" stroke="black"/>'
                f'<text x="{x:g}" y="{y + RADIUS * 0.42:g}" text-anchor="middle" fill="black" '
                f'stroke="none">{number}</text>'
            )
        return "\n".join([*parts, "</svg>"])

    @property
    def tikz(self) -> str:
        r"""The drawing as a `tikzpicture`, for ``\usepackage{tikz}``."""
        lines = [r"\begin{tikzpicture}[x=1pt,y=-1pt,every node/.style={font=\small}]"]
        for x, top, bottom, side in self._capsules():
            lines.append(
                rf"\draw[dashed,rounded corners={side:g}pt] ({x - side:g},{top - side:g}) "
                rf"rectangle ({x + side:g},{bottom + side:g});"
            )
        for edge in self.edges:
            (x, y), (a, b), (c, d) = self._curve(edge)
            lines.append(rf"\draw[thick] ({x:g},{y:g}) .. controls ({a:g},{b:g}) .. ({c:g},{d:g});")
        for number, (x, y) in enumerate(self.places):
            lines.append(
                rf"\node[draw,circle,fill=white,inner sep=2pt] at ({x:g},{y:g}) {{{number}}};"
            )
        return "\n".join([*lines, r"\end{tikzpicture}"])

    def _repr_svg_(self) -> str:
        return self.svg

    def _capsules(self) -> Iterator[tuple[float, float, float, float]]:
        """Of each pair its column, its upper and lower vertex, and half the width around them."""
        for u, v in self.pairs:
            (x, top), (_, bottom) = sorted((self.places[u], self.places[v]), key=itemgetter(1))
            yield x, top, bottom, RADIUS + MARGIN / 4

    def _curve(self, edge: Edge) -> tuple[Point, Point, Point]:
        """Both ends of an edge, and what it bends towards: straight unless others are between."""
        start, end = sorted((self.places[edge[0]], self.places[edge[1]]))
        (x, y), (a, b) = start, end
        middle = ((x + a) / 2, (y + b) / 2)
        if x == a:
            return start, (middle[0] + BOW, middle[1]), end
        if y == b and a - x > ACROSS:
            away = -1 if y == 0 else 1
            return start, (middle[0], middle[1] + away * BOW), end
        return start, middle, end


def draw(what: Forest | Correlator) -> Drawing:
    """Draw an observable, or a tensor with its neurons.

    Args:
        what: a forest, or a correlator, which `tensor` finds by name.

    Raises:
        InputError: if it is neither.

    >>> from symdlt.definitions import tensor
    >>> drawing = draw(tensor("P"))
    >>> drawing.pairs, drawing.edges
    (((0, 3), (1, 2)), ((0, 1), (0, 2)))
    >>> drawing.svg.count("<circle"), drawing.tikz.count("dashed")
    (4, 2)
    """
    advice = 'Give one such as tensor("V") or Forest(2, ((0, 1),)).'
    require(what, Forest | Correlator, "a forest or a tensor", advice)
    if isinstance(what, Correlator):
        forest, pairs = what.forest, what.matching
        places: dict[int, Point] = {}
        for column, pair in enumerate(pairs):
            places |= {vertex: (column * ACROSS, row * DOWN) for row, vertex in enumerate(pair)}
    else:
        forest, pairs = what, ()
        columns = enumerate(vertex for tree in forest.components for vertex in tree)
        places = {vertex: (column * ACROSS / 2, column % 2 * DOWN) for column, vertex in columns}
    ordered = tuple(places[vertex] for vertex in range(forest.vertices))
    return Drawing(ordered, forest.edges, pairs)
