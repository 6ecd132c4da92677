"""Tensors of order 1/n at a field, by the covariance that each of them is."""

from __future__ import annotations

from math import prod

import numpy as np

from symdlt.definitions import ALONE, PAIR, AnyTensor, Correlator, OddTensor
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.site_functions import Edge, Vertex
from symdlt.derivation.response.site_means import LEGS, SIDES, Array

APART = (0, 1)  # sides of the two nodes of a tensor, each of which has positions of its own


def leading_tensor(tensor: AnyTensor, field: int, fluctuations: Fluctuations) -> Array:
    r"""A tensor of two pairs, or of a pair and a vertex alone, with its factor 1/n.

    Of $E[z_iz_iz_kz_k]$, or $E[z_iz_kz_k]$, connected and $i ≠ k$, and alike with edges.
    """
    covariance = leading_covariance(tensor, field, fluctuations)
    positions = prod(fluctuations.program.fields[field].grid)
    whole = np.broadcast_to(covariance, (fluctuations.samples,) * LEGS + (positions,) * SIDES)
    mean = whole.mean(axis=(LEGS, LEGS + 1)) if positions > 1 else whole[..., 0, 0]
    return mean[..., 0] if isinstance(tensor, OddTensor) else mean


def leading_covariance(
    tensor: AnyTensor,
    field: int,
    fluctuations: Fluctuations,
    sides: tuple[int, int] = APART,
) -> Array:
    """The covariance that a tensor is, at its legs."""
    nodes: tuple[Edge, ...] = ((ALONE, ALONE), PAIR)
    find = fluctuations.alone
    if isinstance(tensor, Correlator):
        nodes, find = tensor.matching, fluctuations.observed
    left, right = (
        ((field, Vertex(u, side)), (field, Vertex(v, side)))
        for side, (u, v) in zip(sides, nodes, strict=True)
    )
    return find(left, right, frozenset(tensor.forest.edges))
