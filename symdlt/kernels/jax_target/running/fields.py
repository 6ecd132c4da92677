"""One input through layers of several fields: means over one field after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from symdlt.kernels.jax_target.running.calls import Function
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
