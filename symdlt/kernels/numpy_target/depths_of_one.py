"""One input through layers with a skip: states at all pairs of depths, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.checks import MOST_BYTES
from symdlt.kernels.numpy_target.fields import Values
from symdlt.kernels.numpy_target.joint_means import JointOrders, joint_name, of_unit_variance
from symdlt.kernels.numpy_target.quadrature import check_finite
from symdlt.means import Array, Function, KernelInputError, Unrelated, pair_means

Step = Callable[[Any, Values, Values], Any]
ROOM = 16  # arrays over pairs of depths besides means: covariances, and what pair_means works with


class DepthsOfOne(NamedTuple):
    """What a kernel of layers with a skip is made of.

    Attributes:
        states: how Q and Y of layer l+1 follow from those of layer l, and of Y at all later layers.
        noises: of each Y whether tensors read it, so that the last layer has it as well.
        joint: the functions of means over z of a layer, and of a later one.
        sums: each tensor, from the states of its own layer.
        kept: how covariances of z with z of earlier layers go on from layer to layer.
        field: that of these functions: z, or what it is where it is normalised.
        scale: the name of what z is multiplied with there, if it is.
    """

    states: Mapping[str, Step]
    noises: Mapping[str, bool]
    joint: tuple[JointOrders, ...]
    sums: Mapping[str, Step]
    kept: Mapping[str, Step]
    field: str = "z"
    scale: str = ""


def depths_of_one(
    depths: DepthsOfOne,
    functions: Sequence[Function],
    leading: Mapping[str, Array],
    means: Mapping[str, Array],
    h: Any,
) -> dict[str, Array]:
    """The tensors that have a depth on each of two pairs of axes, over the layers.

    Args:
        depths: what they are made of.
        functions: those of z.
        leading: the kernel and the NTK at all layers.
        means: over the fields of the layers that others read.
        h: the hyperparameters, one value a layer.
    """
    G = leading["G"]
    steps = [type(h)(*values) for values in zip(*h, strict=True)]
    scale = {depths.scale: means[depths.scale]} if depths.scale else {}
    between = {
        name: kept_on(keep, name, leading[name[0]], steps, scale)
        for name, keep in depths.kept.items()
    }
    over = joint_of_one(depths, functions, G, between)
    known: dict[str, Any] = {
        name: np.zeros(len(G) - (not depths.noises[name])) if name in depths.noises else 0.0
        for name in depths.states
    }
    result = {name: np.zeros(len(G)) for name in depths.sums}
    for layer, at in enumerate(steps, 1):
        known = next_states(depths, layer, known, at, leading, means, between, over)
        own = {
            name: known[name][layer] if name in depths.noises else known[name]
            for name in known
            if name not in depths.noises or layer < len(known[name])
        }
        for name, total in depths.sums.items():
            result[name][layer] = total(at, {}, own)
    for name, values in result.items():
        check_finite(name, values, G)
    return result


def next_states(
    depths: DepthsOfOne,
    layer: int,
    known: Mapping[str, Any],
    h: Any,
    leading: Mapping[str, Array],
    means: Mapping[str, Array],
    between: Mapping[str, Array],
    over: Mapping[str, Array],
) -> dict[str, Any]:
    """The states of a layer, from those of the layer below it."""
    below = {name: values[layer - 1] for name, values in leading.items()}
    here = {name: values[layer - 1] for name, values in means.items()}
    states: dict[str, Any] = {}
    own = {name: known[name][layer - 1] if name in depths.noises else known[name] for name in known}
    for name, step in depths.states.items():
        if name not in depths.noises:
            states[name] = step(h, here, below | own)
            continue
        last = len(known[name])
        states[name] = np.zeros(last)
        if layer >= last:
            continue
        later = slice(layer, last)
        own_means = {name: name.removeprefix(f"{depths.field}_") for name in means}
        read = {f"later_{own_means[n]}": v[later] for n, v in means.items() if own_means[n] != n}
        if depths.scale:
            read[f"later_{depths.scale}"] = means[depths.scale][later]
        read |= {n: table[layer - 1, later] for n, table in over.items()}
        above = {f"{n}_m": values[later] for n, values in leading.items()}
        above |= {n: table[layer - 1, later] for n, table in between.items()}
        above |= {n: known[n][later] for n in depths.noises}
        states[name][later] = step(h, here | read, below | above)
    return states


def kept_on(
    keep: Step, name: str, leading: Array, steps: Sequence[Any], scale: Mapping[str, Array]
) -> Array:
    """The covariances of z of each layer, a row, with z of each later one."""
    table = np.zeros((len(leading), len(leading)))
    for m, h in enumerate(steps, 1):
        here = {letter: values[m - 1] for letter, values in scale.items()}
        table[:m, m] = keep(h, here, {name: np.append(table[: m - 1, m - 1], leading[m - 1])})
    return table


def joint_of_one(
    depths: DepthsOfOne, functions: Sequence[Function], G: Array, between: Mapping[str, Array]
) -> dict[str, Array]:
    """The means over z of each layer, a row, and of each later one, of those that others read."""
    count, joint = len(G) - 1, depths.joint
    names = [joint_name(depths.field, orders) for orders in joint]
    if not joint or count < 2:  # with two layers none is read again
        return {name: np.zeros((count, count)) for name in names}
    upper = between["G_lm"][:count, :count]
    K = upper + upper.T + np.diag(G[:count])
    K = of_unit_variance(K) if depths.field != "z" else K
    products = sorted({side for orders in joint for side in orders})
    each: list[Function] = []
    for orders in products:
        each += [
            Unrelated(partial(product_of_some, [functions[order] for order in orders])),
            Unrelated(np.zeros_like),
        ]
    places = [(2 * products.index(here), 2 * products.index(later)) for here, later in joint]
    tables = pair_means(each, K, places)
    return dict(zip(names, tables, strict=True))


def product_of_some(functions: Sequence[Function], z: Array) -> Array:
    """The product of functions."""
    product: Array = math.prod((function(z) for function in functions), start=np.ones_like(z))
    return product


def refuse_many_pairs(depth: int, means: int) -> None:
    """Refuse more pairs of layers than fit into memory."""
    needed = 8.0 * (ROOM + 2 * means) * float(depth) ** 2
    if needed > MOST_BYTES:
        raise KernelInputError(
            f"The depth is {depth}. Means over all pairs of layers would take about "
            f"{needed / 1e9:.2g} GB of memory, and this kernel takes {MOST_BYTES / 1e9:.2g} GB at "
            "most. Give fewer layers."
        )
