"""Odd tensors: correlators of a pair of vertices and one that shares its neuron with none."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

from symdlt.definitions.forests import Edge, Forest, sorted_pairs
from symdlt.definitions.tensors import BOOK, Correlator, identify

Samples: TypeAlias = tuple[int, ...]

ALONE = 0  # convention: the first vertex shares its neuron with none
PAIR: Edge = (1, 2)


@dataclass(frozen=True, slots=True, repr=False)
class OddTensor:
    r"""A connected correlator of order 1/n of three vertices, the first of which stands alone.

    With width $n = n_{\ell-1}$ and $i \ne k$, i being the neuron of vertex 0 and k that of the
    vertices 1 and 2,

    $$\mathbb{E}\Big[\prod_{\text{trees}} X\Big]_{\rm conn}
      = \frac{1}{n} X_{\delta_0\delta_1\delta_2} .$$

    Fresh weights and biases of a symmetric law meet in pairs, so that the tensor vanishes unless a
    layer keeps the neurons of the one below. Where it does, each layer adds a mean of odd powers,
    which vanishes for an odd activation.

    Attributes:
        forest: the observables, vertex k being axis k.
        symbol: its name.

    >>> ODD["F3"].name, ODD["F3"].forest.edges, ODD["A3"].symmetries
    ('F3', ((0, 2),), ((0, 1, 2), (0, 2, 1)))
    """

    forest: Forest
    symbol: str

    def __repr__(self) -> str:
        return f"OddTensor({self.symbol})"

    @property
    def name(self) -> str:
        """Its name, that of a tensor of the book with a 3."""
        return self.symbol

    @property
    def axes(self) -> int:
        """The number of sample axes."""
        return self.forest.vertices

    @property
    def order(self) -> int:
        """The power of 1/n at which it starts."""
        return 1

    @property
    def matching(self) -> tuple[Edge, ...]:
        """The vertices that share a neuron, those of one pair."""
        return (PAIR,)

    @property
    def labels(self) -> tuple[int, ...]:
        """How the samples of the axes are numbered."""
        return tuple(range(1, self.axes + 1))

    @property
    def partnered(self) -> Correlator:
        """The tensor of two pairs that it is part of: with one more z at the neuron of the first.

        >>> [one.partnered.name for one in ODD.values()]
        ['V', 'D', 'F', 'Q']
        """
        partner = self.axes
        matching = ((ALONE, partner), PAIR)
        return identify(self.axes + 1, self.forest.edges, matching)[0]

    @property
    def symmetries(self) -> tuple[tuple[int, ...], ...]:
        """The axis permutations that leave the definition, and so the tensor, unchanged."""
        return tuple(way for way in WAYS if self.forest.edges == _moved(self.forest.edges, way))


WAYS = [(ALONE, *pair) for pair in permutations(PAIR)]
"""How vertices may be numbered."""


def _moved(edges: tuple[Edge, ...], way: tuple[int, ...]) -> tuple[Edge, ...]:
    return sorted_pairs([(way[u], way[v]) for u, v in edges], "edges")


ODD = {
    symbol: OddTensor(Forest(3, edges), symbol)
    for symbol, edges in (
        ("A3", ()),  # E z z z
        ("N3", (PAIR,)),  # E z H, the NTK at one neuron
        ("F3", ((ALONE, 2),)),  # E z H, the NTK between two
        ("Q3", ((ALONE, 1), PAIR)),  # the mean dNTK, with both derivatives at vertex 1
    )
}
"""The odd tensors of order 1/n. The dNTK with both derivatives at the lone vertex is of the next
order: z there is linear in the weights, given the neurons that its layer reads."""

AnyTensor: TypeAlias = Correlator | OddTensor

NAMED: dict[str, AnyTensor] = {**BOOK, **ODD}
"""The tensors that have a name: those of the book, and the odd ones."""


def place_odd(
    edges: tuple[Edge, ...], samples: tuple[int, ...]
) -> tuple[OddTensor, Samples] | None:
    """The odd tensor of a numbered forest, with its samples in axis order; None if it vanishes.

    >>> place_odd(((0, 1),), (3, 1, 2))
    (OddTensor(F3), (3, 2, 1))
    """
    for one in ODD.values():
        ways = [way for way in WAYS if _moved(edges, way) == one.forest.edges]
        if ways:
            return one, min(
                tuple(samples[way.index(axis)] for axis in range(one.axes)) for way in ways
            )
    return None
