"""The diagrams of a term, laid out: vertices above, neurons between, tensors below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from symdlt.definitions import function_text
from symdlt.derivation import (
    Diagram,
    RecursionTerm,
    TensorFactor,
    fallen,
    lower_tensors,
    tensor_text,
)
from symdlt.formats.shapes import MARGIN, RADIUS, Circle, Frame, Line, Point, Shape, Writing

# From one vertex to the next, from one pair to the next, and from one row to the next.
BESIDE, ACROSS, DOWN = 30.0, 78.0, 52.0
# Between diagrams of one term, and between the tensors of the lowest row.
APART, TENSORS = 40.0, 16.0
LETTER = 3.4  # half of what one takes
SMALL = 0.45  # half of what LaTeX takes, at nine points instead of ten
BOW = 12.0  # between lines that begin at one place


def diagram_shapes(
    diagrams: Sequence[Diagram], term: RecursionTerm | None = None
) -> Iterator[Shape]:
    """All diagrams, one beside the other; in a term derivatives have fallen where they did."""
    right = 0.0
    for diagram in diagrams:
        layout = _Layout(diagram, right, fallen(diagram, term) if term else None)
        yield from layout.shapes()
        right += layout.width + APART


@dataclass
class _Layout:
    """Where everything of a diagram is.

    Attributes:
        diagram: what is drawn.
        left: where it begins.
        labels: of the vertices that inserted z's differentiate, if that is known.
    """

    diagram: Diagram
    left: float
    labels: tuple[int, ...] | None = None

    @cached_property
    def columns(self) -> dict[int, int]:
        """The column of each matched pair; pairs with one neuron are neighbours."""
        grouped = [pair for group in self.diagram.groups for pair in group]
        pairs = range(len(self.diagram.contraction.correlator.matching))
        return {pair: k for k, pair in enumerate(dict.fromkeys([*grouped, *pairs]))}

    @property
    def width(self) -> float:
        """From the first vertex to the last."""
        return ACROSS * (len(self.columns) - 1) + BESIDE

    def at(self, vertex: int, row: int) -> Point:
        """Where a vertex, or what became of it, is."""
        contraction = self.diagram.contraction
        pair = contraction.pair_of[vertex]
        aside = BESIDE * contraction.correlator.matching[pair].index(vertex)
        return self.left + ACROSS * self.columns[pair] + aside, DOWN * row

    def shapes(self) -> Iterator[Shape]:
        """Frames, then lines, then circles and letters."""
        yield from self._neurons()
        yield from self._tensors()
        contraction = self.diagram.contraction
        labels = contraction.correlator.labels
        for pair, (u, v) in enumerate(contraction.correlator.matching):
            way = contraction.ways[pair]
            (x, y), (a, _) = self.at(u, 0), self.at(v, 0)
            middle = ((x + a) / 2, y - 14.0)
            yield Line((x, y), middle, (a, y), thick=way.how == "edge", dotted=way.how != "edge")
            yield self._price(pair, (middle[0], y - 18.0))
            for vertex in (u, v):
                if pair in contraction.neurons:
                    order = contraction.orders[vertex]
                    order += (self.labels or ()).count(labels[vertex])
                    yield Line(self.at(vertex, 0), self.at(vertex, 1), self.at(vertex, 1), False)
                    yield Circle(self.at(vertex, 1), *_function(order))
                yield Circle(self.at(vertex, 0), str(labels[vertex]), str(labels[vertex]))

    def _price(self, pair: int, at: Point) -> Writing:
        """What the average over the new layer gives for a pair."""
        from symdlt.formats.latex import symbol_text

        contraction = self.diagram.contraction
        named = zip(contraction.layer.symbols, contraction.ways[pair].powers, strict=True)
        symbols = [symbol for symbol, power in named for _ in range(power)]
        latex = "".join(map(symbol_text, symbols))
        return Writing(at, " ".join(symbols) or "1", f"${latex or '1'}$")

    def _neurons(self) -> Iterator[Shape]:
        matching = self.diagram.contraction.correlator.matching
        side = RADIUS + MARGIN / 4
        for group in self.diagram.groups:
            across = [self.at(vertex, 1)[0] for pair in group for vertex in matching[pair]]
            low, high = min(across) - side, max(across) + side
            yield Frame((low, DOWN - side), (high, DOWN + side))

    def _tensors(self) -> Iterator[Shape]:
        """The lowest row, from left to right by what the tensors join."""
        from symdlt.formats.latex import estimated_width

        contraction = self.diagram.contraction
        names = contraction.correlator.labels
        below = []
        used = 0
        for cumulant, factor, inserted in lower_tensors(self.diagram, names):
            lower = [v for tree in cumulant.trees for v in contraction.lower_trees[tree]]
            vertices = [contraction.term.lower_vertices[v][0] for v in lower]
            ends = [(self.at(vertex, 1), False) for vertex in vertices]
            if self.labels is None:
                ends += [(self._under(group), True) for group, _ in inserted]
            else:
                hit = self.labels[used : used + len(inserted)]
                used += len(inserted)
                ends += [(self.at(names.index(label), 1), True) for label in hit]
                dummies = (label for _, label in inserted)
                factor = factor.at(dict(zip(dummies, hit, strict=True)))
                settled = factor.correlator.settle(factor.samples)
                factor = replace(factor, samples=settled)
            below.append((sum(x for (x, _), _ in ends) / len(ends), factor, ends))
        right = float("-inf")
        for wanted, factor, ends in sorted(below, key=itemgetter(0)):
            text = tensor_text(factor, single=False)
            latex = _tensor_latex(factor)
            half = max(LETTER * len(text), SMALL * estimated_width(latex)) + 4.0
            x = max(wanted, right + TENSORS + half)
            right = x + half
            yield from _legs(ends, (x, 2 * DOWN))
            yield Frame((x - half, 2 * DOWN - RADIUS), (right, 2 * DOWN + RADIUS), dashed=False)
            yield Writing((x, 2 * DOWN), text, latex, on_white=True)

    def _under(self, group: int) -> Point:
        """The middle of the lower side of a frame."""
        matching = self.diagram.contraction.correlator.matching
        across = [self.at(v, 1)[0] for pair in self.diagram.groups[group] for v in matching[pair]]
        return (min(across) + max(across)) / 2, DOWN + RADIUS + MARGIN / 4


def _legs(ends: Sequence[tuple[Point, bool]], at: Point) -> Iterator[Line]:
    """Lines to a tensor; several from one place part from each other."""
    seen: Counter[Point] = Counter()
    for start, dotted in ends:
        aside = BOW * seen[start]
        seen[start] += 1
        bend = ((start[0] + at[0]) / 2 + aside, (start[1] + at[1]) / 2)
        yield Line(start, bend, at, thick=False, dotted=dotted)


def _tensor_latex(factor: TensorFactor) -> str:
    from symdlt.formats.latex import Conventions, factor_latex

    return f"${factor_latex(factor, Conventions(layers=False, sample=''))}$"


def _function(order: int) -> tuple[str, str]:
    """A derivative of the activation as text and in LaTeX."""
    from symdlt.formats.latex import sigma

    raised = str.maketrans("0123456789()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁽⁾")
    text = function_text(order).replace("s", "σ", 1).replace("^", "").translate(raised)
    return text, f"${sigma(order, '')}$"
