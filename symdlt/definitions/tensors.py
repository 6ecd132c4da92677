"""Correlators: a forest, a perfect matching of its vertices, and the order of its axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import factorial, prod
from reprlib import repr as short_repr

from symdlt.definitions.forests import Edge, Forest, sorted_pairs
from symdlt.errors import GraphError, OrderError, require
from symdlt.progress import track

Matching = tuple[Edge, ...]

MOST_AXES = 36  # a digit or letter names each axis
MOST_ORDERS = 1_000_000  # a bound: some seconds of them
MOST_ORDER = 5  # a bound: each has about twenty times as many tensors as the last


@dataclass(frozen=True, slots=True)
class Correlator:
    r"""One tensor of the theory: a connected correlator of a forest on one matching.

    With $2m$ vertices and width $n = n_{\ell-1}$,

    $$\mathbb{E}\Big[\prod_{\text{trees}} X\Big]_{\rm conn} = \frac{1}{n^{m-1}}
      \sum_{\text{matchings}} \prod_{(a,b)} \delta_{i_a i_b}\, X_{\delta_0 \ldots} .$$

    Axis k of the tensor belongs to vertex k of the forest.

    Attributes:
        forest: the observables, vertex k being axis k.
        matching: which vertices share a neuron.
        symbol: the book's letter, or "X" where the book has none.
        labels: how the book numbers the samples of the axes.

    Raises:
        GraphError: if the matching is not perfect.

    >>> from symdlt.definitions import tensor
    >>> tensor("T")
    Correlator(T, edges=01,03,23, matching=01,23)
    >>> tensor("T").labels
    (1, 3, 4, 2)
    >>> tensor("T").symmetries
    ((0, 1, 2, 3), (3, 2, 1, 0))
    """

    forest: Forest
    matching: Matching
    symbol: str = "X"
    labels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require(self.forest, Forest, "a forest", "Give one such as Forest(2, ((0, 1),)).")
        if self.forest.vertices > MOST_AXES:
            raise OrderError(
                f"A tensor with {self.forest.vertices} axes has too many of them. "
                f"Names and labels go as far as {MOST_AXES}. Match fewer vertices."
            )
        normal = sorted_pairs(self.matching, "matching")
        object.__setattr__(self, "matching", normal)
        ends = sorted(v for pair in normal for v in pair)
        if ends != list(range(self.forest.vertices)):
            text = ",".join(f"{u}-{v}" for u, v in normal) or "none"
            raise GraphError(
                f"The matching {text} is not perfect on {self.forest.vertices} vertices. "
                "Each vertex shares its neuron with exactly one other one. "
                "Name each of the vertices 0.."
                f"{self.forest.vertices - 1} once, for example --match 03,12."
            )
        if self.labels == ():
            object.__setattr__(self, "labels", tuple(range(1, len(ends) + 1)))
        labels = self.labels if isinstance(self.labels, tuple) else ()
        if [type(label) for label in labels] != [int] * len(ends):
            raise GraphError(
                f"The labels {short_repr(self.labels)} do not fit {len(ends)} axes. "
                "They number the samples, one for each axis. Leave them out to count from 1."
            )

    def __repr__(self) -> str:
        edges = ",".join(_digits(edge) for edge in self.forest.edges) or "none"
        pairs = ",".join(_digits(pair) for pair in self.matching)
        return f"Correlator({self.name}, edges={edges}, matching={pairs})"

    def _repr_svg_(self) -> str:
        from symdlt.display import drawing_for_display

        return drawing_for_display(self)

    @property
    def name(self) -> str:
        """The canonical name: the book's letter, or X, the number of axes, and the edges."""
        if self.symbol != "X":
            return self.symbol
        parts = [f"X{self.forest.vertices}", *map(_digits, self.forest.edges)]
        return "_".join(parts)

    @property
    def pairs(self) -> int:
        """The number m of matched pairs; the correlator starts at order 1/n^(m-1)."""
        return len(self.matching)

    @property
    def order(self) -> int:
        """The power m - 1 of 1/n at which it starts."""
        return self.pairs - 1

    @property
    def axes(self) -> int:
        """The number of sample axes, twice the number of pairs."""
        return self.forest.vertices

    @property
    def symmetries(self) -> tuple[tuple[int, ...], ...]:
        """The axis permutations that leave the definition, and so the tensor, unchanged."""
        return _symmetries(self)

    def settle(self, samples: tuple[int, ...]) -> tuple[int, ...]:
        """The smallest of the readings of the samples along the symmetries.

        >>> BOOK["V"].settle((4, 3, 2, 1))
        (1, 2, 3, 4)
        """
        if len(set(samples)) == 1:
            return samples
        if not self.forest.edges:
            pairs = sorted(sorted((samples[a], samples[b])) for a, b in self.matching)
            return tuple(sample for pair in pairs for sample in pair)
        return min(tuple(samples[axis] for axis in way) for way in self.symmetries)


@lru_cache(maxsize=4096)
def _symmetries(correlator: Correlator) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(_relabellings(correlator.forest, correlator.matching, correlator)))


_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def _digits(vertices: tuple[int, ...]) -> str:
    return "".join(_BASE36[v] for v in vertices)


def _book(symbol: str, labels: str, edges: str, matching: str = "01,23") -> Correlator:
    """A tensor of the book, its definition written in the order of its subscripts."""
    pairs = tuple((int(pair[0]), int(pair[1])) for pair in matching.split(","))
    links = tuple((int(edge[0]), int(edge[1])) for edge in edges.split(",") if edge)
    forest = Forest(2 * len(pairs), links)
    return Correlator(forest, pairs, symbol, tuple(int(digit) for digit in labels))


BOOK = {
    correlator.symbol: correlator
    for correlator in (
        _book("G", "12", "", "01"),
        _book("H", "12", "01", "01"),
        _book("V", "1234", ""),
        _book("A", "1234", "01,23"),
        _book("B", "1324", "02,13"),
        _book("D", "1234", "23"),
        _book("F", "1324", "13"),
        _book("P", "0123", "01,02", "03,12"),
        _book("Q", "0123", "01,02"),
        _book("R", "0123", "01,02,03"),
        _book("S", "1234", "01,02,13"),
        _book("T", "1342", "01,03,23"),
        _book("U", "1423", "02,03,12"),
    )
}


@lru_cache(maxsize=1 << 16)
def identify(
    vertices: int, edges: tuple[Edge, ...], matching: Matching
) -> tuple[Correlator, tuple[tuple[int, ...], ...]]:
    """The correlator of a numbered forest and matching, and every way to read its axes.

    Returns:
        The correlator, and the tuples `axes` such that axis k of it is vertex `axes[k]`.
    """
    forest = Forest(vertices, edges)
    given = Correlator(forest, matching)
    for known in _by_invariant().get(_invariant(forest, given.matching), ()):
        ways = _relabellings(forest, given.matching, known)
        if ways:
            return known, tuple(ways)
    canonical = _canonical(forest, given.matching)
    return canonical, tuple(_relabellings(forest, given.matching, canonical))


def _canonical(forest: Forest, matching: Matching) -> Correlator:
    """The smallest of the relabelled forests, with vertices 0 and 1, 2 and 3, … matched."""
    orders = _orders(forest, matching)
    least = min((_image(forest.edges, order) for order in orders), default=())
    pairs = tuple((2 * k, 2 * k + 1) for k in range(forest.vertices // 2))
    return Correlator(Forest(forest.vertices, least), pairs)


@lru_cache(maxsize=1 << 18)
def place(
    vertices: int, edges: tuple[Edge, ...], matching: Matching, samples: tuple[int, ...]
) -> tuple[Correlator, tuple[int, ...]]:
    """The correlator with its samples in axis order, the smallest of the equal readings."""
    correlator, ways = identify(vertices, edges, matching)
    return correlator, correlator.settle(tuple(samples[v] for v in ways[0]))


def correlators(order: int) -> tuple[Correlator, ...]:
    """All tensors that start at order 1/n^order: 2, 11, 103, … of them, the book's first.

    Args:
        order: the power of 1/n, which is the number of matched pairs less one.

    Raises:
        OrderError: if the order is negative, or so large that they would not fit into memory.

    >>> [c.name for c in correlators(0)]
    ['G', 'H']
    >>> len(correlators(1)), len(correlators(2))
    (11, 103)
    """
    if type(order) is not int or order < 0:
        raise OrderError(
            f"There are no tensors of order {order!r}. An order is a power of 1/n. Give 0 or more."
        )
    if order > MOST_ORDER:
        raise OrderError(
            f"Too many tensors are of order 1/n^{order}. "
            "Each power of 1/n has about twenty times as many as the one before, and they would "
            f"not fit into memory. Ask for an order of at most {MOST_ORDER}."
        )
    size = 2 * (order + 1)
    matching = tuple((2 * k, 2 * k + 1) for k in range(order + 1))
    level = {identify(size, (), matching)[0]}
    known = set(level)
    while level:
        following = set()
        for correlator in track(tuple(level), "forests", None if order > 2 else False):
            for edges in _extensions(correlator.forest):
                following.add(_correlator(size, edges, correlator.matching))
        known |= following
        level = following
    ranks = {symbol: rank for rank, symbol in enumerate(BOOK)}
    return tuple(
        sorted(known, key=lambda c: (ranks.get(c.symbol, 99), len(c.forest.edges), c.name))
    )


def _correlator(vertices: int, edges: tuple[Edge, ...], matching: Matching) -> Correlator:
    """The correlator of a forest, without the ways to read it."""
    if vertices <= max(known.axes for known in BOOK.values()):
        return identify(vertices, edges, matching)[0]
    return _canonical(Forest(vertices, edges), matching)


def _extensions(forest: Forest) -> Iterator[tuple[Edge, ...]]:
    home = {v: k for k, tree in enumerate(forest.components) for v in tree}
    for u in range(forest.vertices):
        for v in range(u + 1, forest.vertices):
            if home[u] != home[v]:
                yield tuple(sorted((*forest.edges, (u, v))))


@lru_cache(maxsize=1)
def _by_invariant() -> dict[str, tuple[Correlator, ...]]:
    classes: dict[str, tuple[Correlator, ...]] = {}
    for c in BOOK.values():
        key = _invariant(c.forest, c.matching)
        classes[key] = (*classes.get(key, ()), c)
    return classes


def _colours(forest: Forest, matching: Matching) -> list[int]:
    """Vertex colours that every isomorphism respects, refined until they settle."""
    partner = {a: b for pair in matching for a, b in (pair, pair[::-1])}
    neighbours: list[list[int]] = [[] for _ in range(forest.vertices)]
    for u, v in forest.edges:
        neighbours[u].append(v)
        neighbours[v].append(u)
    colours = [-len(near) for near in neighbours]
    while True:
        shape = [
            (colours[v], colours[partner[v]], tuple(sorted(colours[u] for u in neighbours[v])))
            for v in range(forest.vertices)
        ]
        rank = {key: k for k, key in enumerate(sorted(set(shape), reverse=True))}
        refined = [rank[key] for key in shape]
        if len(rank) == len(set(colours)):
            return refined
        colours = refined


def _invariant(forest: Forest, matching: Matching) -> str:
    colours = _colours(forest, matching)
    edges = sorted(sorted((colours[u], colours[v])) for u, v in forest.edges)
    pairs = sorted(sorted((colours[u], colours[v])) for u, v in matching)
    return str((forest.vertices, edges, pairs))


def _orders(forest: Forest, matching: Matching) -> Iterator[tuple[int, ...]]:
    """Vertex orders with the pairs adjacent and the colours of the pairs ascending.

    Raises:
        OrderError: if the forest is so symmetric that there would be too many of them.
    """
    colours = _colours(forest, matching)
    oriented: list[tuple[Edge, tuple[Edge, ...]]] = []
    for a, b in matching:
        if colours[a] == colours[b]:
            oriented.append(((colours[a], colours[b]), ((a, b), (b, a))))
        else:
            low, high = sorted((a, b), key=lambda v: colours[v])
            oriented.append(((colours[low], colours[high]), ((low, high),)))
    classes: dict[tuple[int, int], list[tuple[Edge, ...]]] = {}
    for key, choices in sorted(oriented):
        classes.setdefault(key, []).append(choices)
    count = prod(factorial(len(members)) for members in classes.values())
    count *= prod(len(choices) for members in classes.values() for choices in members)
    if count > MOST_ORDERS:
        raise OrderError(
            f"Telling tensors with {forest.vertices} axes apart would take {count:.1e} "
            f"relabellings. At most {MOST_ORDERS:.0e} are tried. Ask for fewer axes."
        )
    arrangements = [list(permutations(members)) for members in classes.values()]
    for arranged in product(*arrangements):
        flat = [choices for members in arranged for choices in members]
        for oriented_pairs in product(*flat):
            yield tuple(v for pair in oriented_pairs for v in pair)


def _image(edges: tuple[Edge, ...], order: tuple[int, ...]) -> tuple[Edge, ...]:
    position = {v: k for k, v in enumerate(order)}
    return tuple(
        sorted((min(position[u], position[v]), max(position[u], position[v])) for u, v in edges)
    )


def _relabellings(forest: Forest, matching: Matching, target: Correlator) -> list[tuple[int, ...]]:
    """All maps axis -> vertex that carry `target` onto the given forest and matching."""
    reference = next(iter(_orders(target.forest, target.matching)))
    wanted = _image(target.forest.edges, reference)
    ways = []
    for order in _orders(forest, matching):
        if _image(forest.edges, order) == wanted:
            way = [0] * forest.vertices
            for position, axis in enumerate(reference):
                way[axis] = order[position]
            ways.append(tuple(way))
    return ways
