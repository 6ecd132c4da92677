"""What a layer hands on to the next one, covariances at its z, and arrays that are linear in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

from symdlt.derivation.response.site_averages import Edges, Pair, SiteAverage
from symdlt.derivation.response.site_functions import Edge
from symdlt.derivation.response.site_means import LEGS, ONE, ZERO, Array

Legs = tuple[int, ...]
Order = tuple[int, ...]  # of the axes of legs

UNTURNED: Order = tuple(range(LEGS))


class Noise(NamedTuple):
    """An average that a family of layers reads, by its legs, with derivatives along some.

    Attributes:
        family: which layers.
        field: the number of the field that reads it in its layer.
        branch: the number of the branch.
        vertices: its legs.
        along: fields, by their number in the layer, and legs.
    """

    family: int
    field: int
    branch: int
    vertices: Legs
    along: tuple[tuple[int, int], ...]


class State(NamedTuple):
    r"""The covariance of a conditional covariance δQ of z with another δQ or with noise.

    Attributes:
        pair: the legs of δQ.
        other: those of another δQ; the noise; nothing for the mean of δQ.
        edges: of the covariance.
    """

    pair: Legs
    other: Legs | Noise | None
    edges: tuple[Edge, ...]


class Unknown(NamedTuple):
    """A state of the layer below, as it stands in an equation.

    Attributes:
        state: which one.
        order: its axes on those of the legs.
        own: whether the noise is that of what the layer itself reads, out of its family.
    """

    state: State
    order: Order
    own: bool = False


def state_of(left: Pair, right: Pair | Noise | None, edges: Edges) -> State:
    """The state of a pair of z with another one, with noise, or with nothing."""
    other = right if right is None or isinstance(right, Noise) else legs_of(right)
    return State(legs_of(left), other, tuple(sorted(edges)))


def legs_of(pair: Pair) -> Legs:
    """The legs of a pair."""
    return tuple(sorted(vertex.leg for _, vertex in pair))


def noise_of(average: SiteAverage, family: int, start: int) -> Noise:
    """An average, with fields counted from the first one of their layer."""
    field, branch = average.read
    vertices = tuple(sorted(vertex.leg for vertex in average.vertices))
    along = tuple(sorted((of - start, vertex.leg) for of, vertex in average.legs))
    return Noise(family, field - start, branch, vertices, along)


@lru_cache(maxsize=1 << 14)
def settled(state: State) -> tuple[State, Order]:
    """The first of all states that are the same but for the names of legs, and where these are.

    Axis k of the state is axis `order[k]` of the first one.
    """
    every = (
        (_turned(one, order), order) for order in permutations(range(LEGS)) for one in _sides(state)
    )
    return min(every, key=lambda candidate: (_sortable(candidate[0]), candidate[1]))


def _sides(state: State) -> list[State]:
    """Both ways to say which of two δQ is the first."""
    if state.other is None or isinstance(state.other, Noise):
        return [state]
    return [state, State(state.other, state.pair, state.edges)]


def _turned(state: State, order: Order) -> State:
    """A state with other names of legs."""

    def legs(some: Legs) -> Legs:
        return tuple(sorted(order[leg] for leg in some))

    other = state.other
    if isinstance(other, Noise):
        along = tuple(sorted((of, order[leg]) for of, leg in other.along))
        other = other._replace(vertices=legs(other.vertices), along=along)
    elif other is not None:
        other = legs(other)
    edges = ((order[u], order[v]) for u, v in state.edges)
    turned = tuple(sorted((min(edge), max(edge)) for edge in edges))
    return State(legs(state.pair), other, turned)


def _sortable(state: State) -> tuple[object, ...]:
    """What states of one kind are sorted by."""
    other = () if state.other is None else tuple(state.other)
    return state.pair, state.edges, str(other)


class LinearForm:
    r"""$a + \sum_k c_k\,x_k$, with arrays a and c, and unknown arrays x that have names.

    It stands where an array does, is added to arrays and forms, and multiplied with arrays.

    Attributes:
        constant: a; `ZERO` itself if there is none.
        factors: c by the names of x.
    """

    __array_ufunc__ = None  # NumPy leaves sums and products with arrays to the form
    shape = ONE.shape

    def __init__(self, constant: Array, factors: Mapping[Unknown, Array]) -> None:
        self.constant = constant
        self.factors = factors

    @classmethod
    def unknown(cls, name: Unknown) -> LinearForm:
        """One unknown."""
        return cls(ZERO, {name: ONE})

    def __add__(self, other: Array | LinearForm) -> LinearForm:
        if not isinstance(other, LinearForm):
            return LinearForm(_sum(self.constant, other), self.factors)
        factors = dict(self.factors)
        for name, factor in other.factors.items():
            factors[name] = _sum(factors.get(name, ZERO), factor)
        return LinearForm(_sum(self.constant, other.constant), factors)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> LinearForm:
        constant = ZERO if self.constant is ZERO else factor * self.constant
        return LinearForm(constant, {name: factor * one for name, one in self.factors.items()})

    __rmul__ = __mul__


def form_of(value: Array | LinearForm) -> LinearForm:
    """An array as a form without unknowns."""
    return value if isinstance(value, LinearForm) else LinearForm(value, {})


def _sum(left: Array, right: Array) -> Array:
    """The sum; `ZERO` stays itself."""
    if left is ZERO:
        return right
    return left if right is ZERO else left + right
