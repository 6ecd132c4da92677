"""One input through layers with a skip: states at all pairs of depths, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from symdlt.errors import KernelInputError
from symdlt.kernels.jax_target.running.calls import Function
from symdlt.kernels.jax_target.running.fields import Values
from symdlt.kernels.jax_target.running.smooth import Array, inverse, root

Step = Callable[[Any, Values, Values], Array]
# The functions of a field of a layer, and of a later one.
JointOrders: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


class DepthTable(NamedTuple):
    """What a kernel of layers with a skip is made of.

    Attributes:
        states: how Q and Y of layer l+1 follow from those of layer l, and of Y at all later layers.
        noises: the names of all Y.
        joint: the functions of means over a field of a layer, and of a later one.
        sums: each tensor, from the states of its own layer.
        kept: how covariances of z with z of earlier layers go on from layer to layer.
        field: that of these functions: z, or what it is where it is normalised.
        scale: the name of what z is multiplied with there, if it is.
    """

    states: Mapping[str, Step]
    noises: tuple[str, ...]
    joint: tuple[JointOrders, ...]
    sums: Mapping[str, Step]
    kept: Mapping[str, Step]
    field: str = "z"
    scale: str = ""


def refuse_widths(widths: Any) -> None:
    """Refuse widths, which are all the same where neurons are kept."""
    if widths is not None:
        raise KernelInputError(
            "Widths are given. A layer with a skip keeps the neurons of the layer below, so that "
            "all have the same number of them, and tensors do not depend on it. Leave widths out."
        )


def tensors_of_depths(
    depths: DepthTable,
    functions: Sequence[Function],
    leading: Mapping[str, Array],
    means: Mapping[str, Array],
    h: Any,
    rule: tuple[Array, Array],
) -> dict[str, Array]:
    """The tensors that have a depth on each of two pairs of axes, over the layers.

    Args:
        depths: what they are made of.
        functions: those that later layers read.
        leading: the kernel and the NTK at all layers.
        means: over the fields of the layers that others read.
        h: the hyperparameters, one value a layer.
        rule: nodes and weights.
    """
    G = leading["G"]
    scale = {depths.scale: means[depths.scale]} if depths.scale else {}
    between = {
        name: kept_on(keep, name, leading[name[0]], h, scale) for name, keep in depths.kept.items()
    }
    over = joint_means(depths, functions, G, between["G_lm"], rule)
    layers = jnp.arange(len(G))
    own = {n.removeprefix(f"{depths.field}_"): v for n, v in means.items() if n not in over}
    later = {f"later_{n}": jnp.append(v, 0.0) for n, v in own.items()}  # the last is not read
    above = {f"{name}_m": values for name, values in leading.items()}

    def next_states(
        known: dict[str, Array], xs: tuple[Array, Any, Values, Values, Values]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        layer, at, below, here, pairs = xs
        own = {n: v[layer - 1] if n in depths.noises else v for n, v in known.items()}
        noises = {name: known[name] for name in depths.noises}
        states: dict[str, Array] = {}
        for name, step in depths.states.items():
            if name not in depths.noises:
                states[name] = step(at, here, {**below, **own})
                continue
            value = step(at, {**here, **later, **pairs}, {**below, **above, **pairs, **noises})
            states[name] = jnp.where(layers >= layer, value, 0.0)
        own = {n: v[layer] if n in depths.noises else v for n, v in states.items()}
        return states, {name: total(at, {}, own) for name, total in depths.sums.items()}

    start = {n: jnp.zeros_like(G if n in depths.noises else G[0]) for n in depths.states}
    below = {name: values[:-1] for name, values in leading.items()}
    pairs = {name: table[:-1] for name, table in (between | over).items()}
    _, rest = jax.lax.scan(next_states, start, (layers[1:], h, below, dict(means), pairs))
    return {name: jnp.concatenate([jnp.zeros_like(G[:1]), rest[name]]) for name in depths.sums}


def kept_on(keep: Step, name: str, leading: Array, h: Any, scale: Mapping[str, Array]) -> Array:
    """The covariances of z of each layer, a row, with z of each later one."""

    def next_column(column: Array, xs: tuple[Array, Array, Any, Values]) -> tuple[Array, Array]:
        layer, variance, at, here = xs
        column = keep(at, here, {name: column.at[layer].set(variance)})
        return column, column

    start = jnp.zeros_like(leading)
    layers = jnp.arange(len(leading) - 1)
    _, columns = jax.lax.scan(next_column, start, (layers, leading[:-1], h, dict(scale)))
    return jnp.concatenate([start[None], columns]).T


def joint_means(
    depths: DepthTable,
    functions: Sequence[Function],
    G: Array,
    between: Array,
    rule: tuple[Array, Array],
) -> dict[str, Array]:
    """The means over a field of each layer, a row, and of each later one that others read.

    By the same rule in either of two independent directions, so that errors do not grow where z
    hardly changes from layer to layer.
    """
    nodes, weights = rule
    first, second = jnp.triu_indices(len(G) - 1, 1)
    K, above, joint = G[first], G[second], between[first, second]
    if depths.field != "z":  # of unit variance
        joint = joint * inverse(root(K)) * inverse(root(above))
        K, above = jnp.ones_like(K), jnp.ones_like(above)

    def of_pair(covariance: tuple[Array, Array, Array]) -> Array:
        one, other, both = covariance
        slope = both * inverse(one)
        z = root(one) * nodes
        later = slope * z[:, None] + root(other - slope * both) * nodes
        found = []
        for here, there in depths.joint:
            inside = product_of(functions, there, later) @ weights
            found.append((product_of(functions, here, z) * inside) @ weights)
        return jnp.stack(found)

    names = [f"{depths.field}_{orders_name(a)}_later_{orders_name(b)}" for a, b in depths.joint]
    if not names:
        return {}
    values = jax.lax.map(jax.checkpoint(of_pair), (K, above, joint))
    rows = enumerate(names)
    return {n: jnp.zeros_like(between).at[first, second].set(values[:, row]) for row, n in rows}


def product_of(functions: Sequence[Function], orders: tuple[int, ...], z: Array) -> Array:
    """The product of functions by their numbers."""
    product = jnp.ones_like(z)
    for order in orders:
        product = product * functions[order](z)
    return product


def orders_name(orders: tuple[int, ...]) -> str:
    """The name of a mean: s0_s2 for <s s''>."""
    return "_".join(f"s{order}" for order in orders)
