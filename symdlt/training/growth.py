"""How trees move in one step of training: leaves grow on their vertices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import factorial

from symdlt.definitions import Forest


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
