"""A network whose finite-width statistics can be had exactly: polynomial activations.

The first layer is given by its metric K and its NTK Θ, one entry for each pair of samples: z¹ is
exactly Gaussian, the NTK of the first layer is exactly δ_ij Θ, and all its differentials vanish.
"""

from __future__ import annotations

from dataclasses import dataclass

from .gaussian import Matrix, Number, Rows

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layer:
    """One further layer: the activations that feed it and its hyperparameters."""

    activations: Rows
    C_b: Number
    C_W: Number
    lambda_b: Number
    lambda_W: Number

    def __hash__(self) -> int:
        return hash(self.activations)

    def hyper(self) -> dict[str, Number]:
        """The hyperparameters by name."""
        return {name: getattr(self, name) for name in ("C_b", "C_W", "lambda_b", "lambda_W")}


@dataclass(frozen=True, slots=True)
class Network:
    """The first layer by its statistics, and the layers 2, 3, … on top of it."""

    metric: Matrix
    ntk: Matrix
    layers: tuple[Layer, ...]

    def below(self) -> Network:
        """The network without its last layer."""
        return Network(self.metric, self.ntk, self.layers[:-1])

    def on_top(self, *more: Layer) -> Network:
        """The network with more layers."""
        return Network(self.metric, self.ntk, self.layers + more)

    @property
    def depth(self) -> int:
        """The number of layers on top of the first one."""
        return len(self.layers)

    def seat(self, sample: int) -> tuple[int, int]:
        """The one field that there is, and the sample."""
        return 0, sample

    def fresh(self, field: int) -> Layer:
        """The hyperparameters of the last layer."""
        return self.layers[-1]


@dataclass(frozen=True, slots=True)
class Matched:
    """A forest in a normal form: vertices 2p and 2p+1 share a neuron, for p = 0, 1, ….

    The pairs that touch an edge come first, in the order in which they were given; then those of
    isolated vertices, sorted by their samples.
    """

    samples: tuple[int, ...]
    edges: tuple[Edge, ...]

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.samples) // 2

    def old_edges(self, consumed: frozenset[Edge]) -> tuple[Edge, ...]:
        """The edges that are not new parameters."""
        return tuple(edge for edge in self.edges if edge not in consumed)

    def degree(self, vertex: int) -> int:
        """The number of edges at a vertex."""
        return sum(vertex in edge for edge in self.edges)


def matched(
    samples: tuple[int, ...], edges: tuple[Edge, ...], matching: tuple[Edge, ...]
) -> Matched:
    """Bring a forest and a perfect matching of its vertices to the normal form.

    >>> matched((5, 6, 7, 7), ((0, 2),), ((0, 3), (1, 2)))
    Matched(samples=(5, 7, 6, 7), edges=((0, 3),))
    """
    touched = {vertex for edge in edges for vertex in edge}
    busy = [pair for pair in matching if touched.intersection(pair)]
    idle = sorted(
        tuple(sorted((samples[a], samples[b])))
        for a, b in matching
        if not touched.intersection((a, b))
    )
    order = [vertex for pair in busy for vertex in pair]
    place = {vertex: k for k, vertex in enumerate(order)}
    renamed = tuple(sorted(tuple(sorted((place[u], place[v]))) for u, v in edges))
    return Matched(
        tuple(samples[v] for v in order) + tuple(s for pair in idle for s in pair), renamed
    )
