"""Layers of several fields: means over one field after the other, of one input and of pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from symdlt.kernels.jax_target.running.calls import Function
from symdlt.kernels.jax_target.running.pairs import Means, PairPlaces
from symdlt.kernels.jax_target.running.smooth import Array, inverse, root

Values = Mapping[str, Array]


class FieldTable(NamedTuple):
    """A Gaussian field of a layer: its variance from means of earlier ones, and what is integrated.

    The names are those of the rows of its table. Of a field that is normalised, `scale` names what
    it is multiplied with there.
    """

    variance: Callable[[Any, Values, Values], Array]
    functions: str
    table: Callable[[Sequence[Array], Array], Array] | None
    names: tuple[str, ...]
    scale: str = ""


def means_of_fields(
    fields: Mapping[str, FieldTable],
    functions: Mapping[str, Sequence[Function]],
    h: Any,
    below: Values,
    rule: tuple[Array, Array],
) -> dict[str, Array]:
    """All means of a layer by their names.

    Args:
        fields: in the order of their computation.
        functions: of each list of functions these and their derivatives.
        h: the hyperparameters of the layer.
        below: the tensors of the layer below.
        rule: nodes and weights.
    """
    nodes, weights = rule
    means: dict[str, Array] = {}
    for field in fields.values():
        deviation = root(field.variance(h, means, below))
        if field.scale:
            means[field.scale] = inverse(deviation)
        if field.table is not None:
            z = deviation * nodes
            rows = field.table([function(z) for function in functions[field.functions]], weights)
            means |= dict(zip(field.names, rows, strict=True))
    return means


def joined(stride: int, *activations: Sequence[Function]) -> tuple[Function, ...]:
    """Several activations with their derivatives in one list, a stride apart."""
    chain: list[Function] = []
    for functions in activations:
        chain += [*functions, *[jnp.zeros_like] * (stride - len(functions))]
    return tuple(chain)


Tables = Mapping[str, Array]


class PairField(NamedTuple):
    """A Gaussian field of a layer: its covariance from means of earlier ones, and its function.

    Of a field that is normalised, `scale` names what it is multiplied with there.
    """

    covariance: Callable[[Any, Tables, Tables], Array]
    function: str = ""
    scale: str = ""


def means_of_pairs(
    fields: Mapping[str, PairField],
    means: Mapping[str, Means],
    h: Any,
    tensors: Tables,
    own: tuple[Array, ...],
    at: PairPlaces,
    same: Array,
) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """All means of a layer by their names: of pairs, and on each side of inputs with themselves.

    Args:
        fields: in the order of their computation.
        means: how those of each function are taken.
        h: the hyperparameters of the layer.
        tensors: those of the layer below, of pairs.
        own: K of the inputs of each side, or of one if they are the same.
        at: which inputs the pairs are of.
        same: whether both are the same input.
    """
    pairs: dict[str, Array] = {"same": same}
    sides: list[dict[str, Array]] = [{"same": jnp.asarray(True)} for _ in own]
    for name, field in fields.items():
        covariance = field.covariance(h, pairs, tensors)
        variances = [
            field.covariance(h, side, {"G": K}) for side, K in zip(sides, own, strict=True)
        ]
        if field.scale:
            first, second = f"{field.scale}_1", f"{field.scale}_2"
            for side, variance in zip(sides, variances, strict=True):
                side[first] = side[second] = inverse(root(variance))
            pairs |= {first: at.ours(sides[0][first]), second: at.theirs(sides[-1][second])}
        if field.function:
            taken = means[field.function]
            both = taken.pairs(covariance, variances[0], variances[-1], at)
            pairs |= zip((f"{name}_s0_s0", f"{name}_s1_s1"), both, strict=True)
            for side, variance in zip(sides, variances, strict=True):
                side[f"{name}_s0_s0"] = taken.single(variance)
    return pairs, sides
