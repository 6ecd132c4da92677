"""The definitions behind the thirteen names, and the layer to start from."""

from __future__ import annotations

import numpy as np

from .brackets import Array

Pairs = tuple[tuple[int, int], ...]

CORRELATORS: dict[str, tuple[Pairs, Pairs]] = {
    "G": ((), ((0, 1),)),
    "H": (((0, 1),), ((0, 1),)),
    "V": ((), ((0, 1), (2, 3))),
    "A": (((0, 1), (2, 3)), ((0, 1), (2, 3))),
    "B": (((0, 2), (1, 3)), ((0, 1), (2, 3))),
    "D": (((2, 3),), ((0, 1), (2, 3))),
    "F": (((1, 3),), ((0, 1), (2, 3))),
    "P": (((0, 1), (0, 2)), ((0, 3), (1, 2))),
    "Q": (((0, 1), (0, 2)), ((0, 1), (2, 3))),
    "R": (((0, 1), (0, 2), (0, 3)), ((0, 1), (2, 3))),
    "S": (((0, 1), (0, 2), (1, 3)), ((0, 1), (2, 3))),
    "T": (((0, 1), (0, 3), (2, 3)), ((0, 1), (2, 3))),
    "U": (((0, 2), (0, 3), (1, 2)), ((0, 1), (2, 3))),
}
"""Name: (edges, matching); the vertices are the axes of the tensor, counted from 0."""


def first_layer(metric: Array, ntk: Array) -> dict[str, Array]:
    """K and Θ as given, and nothing else: z¹ is Gaussian, its NTK is fixed and cannot move."""
    none = np.zeros((len(metric),) * 4, dtype=metric.dtype)
    return {name: none for name in CORRELATORS} | {"G": metric, "H": ntk}
