"""The trained output, order by order: how trees grow, and what multiplies them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from math import factorial

from symdlt.definitions import NTK, PREACTIVATION, Forest
from symdlt.definitions.forests import Edge


@dataclass(frozen=True, slots=True)
class Growth:
    """One term of the change of a tree.

    Attributes:
        coefficient: its number, without step sizes and errors.
        tree: what it is multiplied by; its vertices beyond those of the old tree are the leaves.
        leaves: the new vertices, each of which brings a step size and a training error.
    """

    coefficient: Fraction
    tree: Forest
    leaves: tuple[int, ...]


def growths(tree: Forest, most_vertices: int) -> Iterator[Growth]:
    r"""The Taylor expansion of a tree under one step (PDLT ∞.81–∞.83, ∞.101).

    A step moves $\theta_\mu$ by $-\eta \sum_\nu \lambda_{\mu\nu} \sum_{j\alpha}
    \frac{dz_{j\alpha}}{d\theta_\nu} \epsilon_{j\alpha}$.
    A derivative of a tree acts on one of its vertices and attaches the vertex of an output there,
    so that

    $$X \to X + \sum_k \frac{(-1)^k}{k!} \sum_{v_1 \ldots v_k}
        X_{v_1 \ldots v_k} \prod_i \eta\,\epsilon_i,$$

    where $X_{v_1 \ldots v_k}$ has k more leaves, at the vertices $v_1, \ldots, v_k$ of X.

    Args:
        tree: the tree that moves.
        most_vertices: how large the trees may be that it moves by.

    >>> from symdlt.definitions import NTK
    >>> [(str(g.coefficient), g.tree.edges) for g in growths(NTK, 3)]
    [('-1', ((0, 1), (0, 2))), ('-1', ((0, 1), (1, 2)))]
    """
    size = tree.vertices
    for count in range(1, most_vertices - size + 1):
        leaves = tuple(range(size, size + count))
        for ends in product(range(size), repeat=count):
            edges = (*tree.edges, *zip(ends, leaves, strict=True))
            coefficient = Fraction((-1) ** count, factorial(count))
            yield Growth(coefficient, Forest(size + count, edges), leaves)


Modes = tuple[int, ...]
# Those of the ddNTK: larger trees are of higher order in 1/n.
MOST_VERTICES = 4
PROJECTED = ("dNTK-A", "dNTK-B", "ddNTK-IA", "ddNTK-IB", "ddNTK-IIA", "ddNTK-IIB")


@dataclass(frozen=True, slots=True)
class Event:
    """What happens at one step of training.

    Attributes:
        coefficient: a number.
        leaves: the modes whose training error enters, each with a step size.
        carried: the modes whose error entered at later steps and so decays through this one.
    """

    coefficient: Fraction
    leaves: Modes
    carried: Modes

    @property
    def modes(self) -> Modes:
        """All modes whose errors decay before this step."""
        return (*self.carried, *self.leaves)


Chain = tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Response:
    r"""Trees at initialisation that move an observable, and in what chains of events.

    The first vertices are those of the observable. Every other vertex belongs to a mode of the
    training NTK.

    Attributes:
        forest: the trees.
        fixed: how many vertices the observable has: one for an output, two for the NTK.
        joined: pairs of vertices that share a mode and a neuron.
        errors: the vertices that are multiplied by the initial error $z - y$ of their mode.
        chains: events, the latest one first, over which the steps are summed; the first vertex
            of a joined pair stands for its mode.
    """

    forest: Forest
    fixed: int
    joined: tuple[Edge, ...]
    errors: Modes
    chains: tuple[Chain, ...]

    @property
    def modes(self) -> Modes:
        """The modes over which the response is summed."""
        dropped = {vertex for _, vertex in self.joined}
        return tuple(v for v in range(self.fixed, self.forest.vertices) if v not in dropped)

    @property
    def power(self) -> int:
        r"""The power of $1/\sqrt n$ with which it moves an output: its size where z is of order 1.

        The NTK fluctuates by $1/\sqrt n$ about its mean; other trees enter averages with their
        means, or with their correlation with one more z, both of order 1/n.
        """
        return sum(min(len(tree) - 1, 2) for tree in self.forest.components)

    @property
    def name(self) -> str:
        """What moves the output: "NTK", "dNTK-A", "ddNTK-IIB", ….

        The last letter is A if the output is a leaf of its tree, B if it is an inner vertex.
        """
        largest = max(len(tree) for tree in self.forest.components)
        if largest <= NTK.vertices:
            return ("output", "NTK", "NTK fluctuation")[len(self.forest.edges)]
        family = {3: "dNTK", 4: "ddNTK"}[largest] + "-"
        if largest == MOST_VERTICES:
            family += "I" if max(self.forest.degrees) == MOST_VERTICES - 1 else "II"
        return family + ("A" if self.forest.degrees[0] == 1 else "B")


@lru_cache(maxsize=1)
def responses() -> tuple[Response, ...]:
    r"""All responses that matter at order 1/n, in the order of their trees (PDLT ∞.141, ∞.154).

    With h the eigenvalues of the mean training NTK, the error of mode a at step t is
    $\epsilon_a(t) = \prod_{s<t} (1 - \eta_s h_a)\, \epsilon_a$ to leading order, and each tree
    other than the mean NTK is followed to first order: it grows at earlier and earlier steps.
    Fluctuations of the NTK, of size $1/\sqrt n$, are followed to second order. The dNTK (its
    correlation with z is of order 1/n) and larger trees appear at most once.

    >>> [response.name for response in responses()][2:]
    ['NTK fluctuation', 'dNTK-A', 'dNTK-B', 'ddNTK-IA', 'ddNTK-IB', 'ddNTK-IIA', 'ddNTK-IIB']
    """
    return tuple(sorted([*moved(PREACTIVATION), _twice()], key=lambda r: (r.power, r.name)))


@lru_cache(maxsize=4)
def moved(observable: Forest) -> tuple[Response, ...]:
    """How a tree of the network moves, to first order in each tree that moves it.

    >>> from symdlt.definitions import DNTK
    >>> [str(response.forest) for response in moved(DNTK)]
    ['0-1,0-2', '0-1,0-2,0-3', '0-1,0-2,1-3', '0-1,0-2,2-3']
    """
    chains: dict[Forest, list[Chain]] = {observable: [()]}
    fixed = observable.vertices
    for tree, chain in _grown(observable, (), ()):
        normal, renamed = _normal(tree, fixed, chain)
        chains.setdefault(normal, []).append(renamed)
    return tuple(
        Response(tree, fixed, (), tuple(range(fixed, tree.vertices)), _merged(ways))
        for tree, ways in sorted(chains.items(), key=lambda item: (item[0].vertices, item[0].edges))
    )


def _grown(tree: Forest, carried: Modes, later: Chain) -> Iterator[tuple[Forest, Chain]]:
    for growth in growths(tree, MOST_VERTICES):
        event = Event(growth.coefficient, growth.leaves, carried)
        yield growth.tree, (*later, event)
        yield from _grown(growth.tree, event.modes, (*later, event))


def _twice() -> Response:
    """The NTK acting on an error that the NTK moved at an earlier step."""
    minus = Fraction(-1)
    chain = (Event(minus, (1,), ()), Event(minus, (3,), ()))
    return Response(Forest(4, ((0, 1), (2, 3))), 1, ((1, 2),), (3,), (chain,))


def _normal(tree: Forest, fixed: int, chain: Chain) -> tuple[Forest, Chain]:
    """The tree with its modes renamed so that its edges come first, and its chain with it."""
    best = min(
        ((*range(fixed), *order) for order in permutations(range(fixed, tree.vertices))),
        key=lambda names: sorted(sorted((names[u], names[v])) for u, v in tree.edges),
    )
    edges = tuple((best[u], best[v]) for u, v in tree.edges)
    events = tuple(
        Event(
            event.coefficient,
            tuple(sorted(best[m] for m in event.leaves)),
            tuple(sorted(best[m] for m in event.carried)),
        )
        for event in chain
    )
    return Forest(tree.vertices, edges), events


def _merged(chains: list[Chain]) -> tuple[Chain, ...]:
    """The chains, those that differ in their first coefficient only added up."""
    sums: dict[Chain, Fraction] = {}
    if () in chains:
        return ((),)
    for first, *rest in chains:
        key = (Event(Fraction(1), first.leaves, first.carried), *rest)
        sums[key] = sums.get(key, Fraction(0)) + first.coefficient
    return tuple(
        (Event(total, first.leaves, first.carried), *rest)
        for (first, *rest), total in sums.items()
        if total
    )
