"""Canonical numbering of the dummies of one connected piece of a term.

Colour refinement with branching on ties, and pruning by the symmetries met on the way, after
B. D. McKay, Practical graph isomorphism, Congressus Numerantium 30 (1981), 45.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

Codes = tuple[int, ...]
Arrange = Callable[[Codes], Codes]
Certificate = tuple[tuple[int, Codes], ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """One factor as the numbering sees it: a label and codes in its slots.

    Codes below `LabelledPiece.fixed` stand for free indices, the rest for dummies. `sign` tells how
    the factor changes where its codes are arranged, and is empty if it never does.
    """

    label: int
    codes: Codes
    arrange: Arrange
    sign: "Callable[[Codes], int] | tuple[()]" = ()


@dataclass(frozen=True, slots=True)
class LabelledPiece:
    """A connected set of factors with `len(colours)` dummies to be numbered."""

    edges: tuple[Edge, ...]
    colours: tuple[int, ...]
    fixed: int


@dataclass(slots=True)
class _Search:
    piece: LabelledPiece
    incidence: list[list[Edge]]
    best: tuple[Certificate, list[int], tuple[int, ...]] | None = None
    first: tuple[Certificate, list[int], tuple[int, ...]] | None = None
    symmetries: list[list[int]] = field(default_factory=list)
    odd: bool = False


def number_dummies(piece: LabelledPiece) -> tuple[list[int], bool]:
    """Number the dummies as in the smallest certificate of the piece.

    Also tells whether an exchange of dummies turns the piece into its negative. Those that the
    search meets generate all its symmetries (McKay, as above), and the
    sign of a product of exchanges is the product of their signs.
    """
    count = len(piece.colours)
    if count <= 1:
        return [0] * count, False
    incidence: list[list[Edge]] = [[] for _ in range(count)]
    for edge in piece.edges:
        for vertex in sorted({code - piece.fixed for code in edge.codes if code >= piece.fixed}):
            incidence[vertex].append(edge)
    search = _Search(piece, incidence)
    _explore(search, refine(piece, incidence, list(piece.colours)), ())
    assert search.best is not None
    return search.best[1], search.odd


def sign_of(piece: LabelledPiece, numbers: list[int]) -> int:
    """Return the sign that the factors gather on their way into the certificate."""
    signed = [edge for edge in piece.edges if edge.sign]
    if not signed:
        return 1
    codes = list(range(piece.fixed)) + [piece.fixed + number for number in numbers]
    return prod(e.sign(tuple([codes[c] for c in e.codes])) for e in signed if e.sign)


def refine(piece: LabelledPiece, incidence: list[list[Edge]], colours: list[int]) -> list[int]:
    """Split colours by what each dummy sees around it, until nothing splits any more."""
    fixed = piece.fixed
    classes = len(set(colours))
    while True:
        codes = [2 * code for code in range(fixed)] + [2 * (fixed + c) for c in colours]
        signatures = []
        for vertex, edges in enumerate(incidence):
            codes[fixed + vertex] += 1
            views = [(e.label, e.arrange(tuple([codes[c] for c in e.codes]))) for e in edges]
            codes[fixed + vertex] -= 1
            views.sort()
            signatures.append((colours[vertex], views))
        ranked: list[tuple[int, list[tuple[int, Codes]]]] = []
        order = sorted(range(len(colours)), key=signatures.__getitem__)
        fresh = [0] * len(colours)
        for vertex in order:
            if not ranked or ranked[-1] != signatures[vertex]:
                ranked.append(signatures[vertex])
            fresh[vertex] = len(ranked) - 1
        colours = fresh
        if len(ranked) == classes or len(ranked) == len(colours):
            return colours
        classes = len(ranked)


def certificate(piece: LabelledPiece, numbers: list[int]) -> Certificate:
    """Write the piece down with its dummies numbered."""
    codes = list(range(piece.fixed)) + [piece.fixed + number for number in numbers]
    return tuple(
        sorted((e.label, e.arrange(tuple([codes[c] for c in e.codes]))) for e in piece.edges)
    )


def _explore(search: _Search, colours: list[int], path: tuple[int, ...]) -> int:
    """Search below one node; return the depth to which the caller should go back."""
    cell = _first_tie(colours)
    if not cell:
        return _reach_leaf(search, colours, path)
    tried: list[int] = []
    for vertex in cell:
        if tried and _is_image(search.symmetries, path, tried, vertex):
            continue
        tried.append(vertex)
        split = [2 * colour + 1 for colour in colours]
        split[vertex] -= 1
        split = refine(search.piece, search.incidence, split)
        depth = _explore(search, split, (*path, vertex))
        if depth < len(path):
            return depth
    return len(path)


def _first_tie(colours: list[int]) -> list[int]:
    cells: dict[int, list[int]] = {}
    for vertex, colour in enumerate(colours):
        cells.setdefault(colour, []).append(vertex)
    ties = [colour for colour, cell in cells.items() if len(cell) > 1]
    return cells[min(ties)] if ties else []


def _reach_leaf(search: _Search, numbers: list[int], path: tuple[int, ...]) -> int:
    leaf = (certificate(search.piece, numbers), numbers, path)
    if search.first is None or search.best is None:
        search.first = search.best = leaf
        return len(path)
    for known in (search.first, search.best):
        if known[0] == leaf[0]:
            places = {number: vertex for vertex, number in enumerate(known[1])}
            search.symmetries.append([places[number] for number in numbers])
            search.odd |= sign_of(search.piece, known[1]) != sign_of(search.piece, numbers)
            common = 0
            while common < len(path) and path[common] == known[2][common]:
                common += 1
            return common
    if leaf[0] < search.best[0]:
        search.best = leaf
    return len(path)


def _is_image(
    symmetries: list[list[int]], path: tuple[int, ...], tried: list[int], vertex: int
) -> bool:
    """Tell whether a symmetry that fixes the path takes a tried vertex to this one."""
    fixing = [move for move in symmetries if all(move[v] == v for v in path)]
    reached = {vertex}
    border = [vertex]
    while border:
        last = border.pop()
        for move in fixing:
            for image in (move[last], move.index(last)):
                if image not in reached:
                    reached.add(image)
                    border.append(image)
    return any(other in reached for other in tried)
