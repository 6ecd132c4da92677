r"""What there is in place of a critical point in layers that normalise z before weights read it.

At infinite width $z/\sqrt{K}$ is a Gaussian field of variance 1, with norms of either kind. So what
weights draw is that of the layer without the norm at K = 1, and a skip keeps its share,

$$K' = \xi^2 K + C_b + C_W\,g(1), \qquad \chi_\parallel = \xi^2, \qquad
  \chi_\perp = \xi^2 + \frac{C_W\,d(1)}{K} ,$$

with g and d of the kernel map of the layer without the norm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from symdlt.activations import Activation
from symdlt.definitions import BELOW, NORMS, Stack, has_dropout
from symdlt.errors import LayerError, SolutionError
from symdlt.fixed_points.kernel_curve import ROUGH
from symdlt.fixed_points.kernel_map import KernelNumbers
from symdlt.fixed_points.stack_maps import ELSEWHERE, StackMap, stack_map
from symdlt.fixed_points.stack_numbers import numbers_of_stack
from symdlt.means.precise import MeanError
from symdlt.precision import NumberLike

_OF_Z = re.compile(rf"\b(?:{'|'.join(NORMS)})\(\s*{BELOW}\s*\)")
# Numbers that are equal but for rounding of means in floating point.
EQUAL = 1e-12


def refuse_norms(own: Activation, layer: Stack, values: Mapping[str, NumberLike] | None) -> None:
    """Refuse a layer with norms, with what its kernel does instead.

    Args:
        own: the activation.
        layer: the layer.
        values: of its symbols, as `criticality` takes them.

    Raises:
        LayerError: if there are norms.
    """
    norms = ", ".join(stream.name for stream in layer.streams if stream.norm)
    if not norms:
        return
    told = _told(own, layer, values) or (
        "Kernels behind it do not depend on that of the field that it is of, so that both "
        "susceptibilities are not those of one map of kernels."
    )
    raise LayerError(
        f"The layer {str(layer)[:120]!r} has the field {norms}, a norm. {told} {ELSEWHERE}"
    )


def _told(own: Activation, layer: Stack, values: Mapping[str, NumberLike] | None) -> str:
    """What the kernel does where z alone is normalised, and nothing where that is not known."""
    plain = _without_norms(layer)
    if plain is None or has_dropout(layer.streams):  # with which near inputs part
        return ""
    try:
        maps = stack_map(own, plain, values)
        jumping = any(one.kinks(0) for one in maps.functions.values())  # chi_perp diverges
        if jumping or not maps.drawn_by_last(maps.weight):
            return ""
        numbers = numbers_of_stack(maps, ROUGH)[0](1.0)
    except (LayerError, SolutionError, MeanError):
        return ""
    kept = float(numbers.kept[0])
    return _alone(maps, numbers) if kept == 0 else _beside(maps, numbers, kept)


def _without_norms(layer: Stack) -> Stack | None:
    """The layer without its norms, if all that weights read of z is z over its length."""
    norms = [stream for stream in layer.streams if stream.norm]
    others = [stream for stream in layer.streams if not stream.norm]
    read = {name for one in layer.drawn if one.function for name in one.function.fields}
    of_z = {factor.field for stream in norms for _, factor in stream.kept} == {BELOW}
    stays = {factor.field for stream in others for _, factor in stream.kept} <= {BELOW}
    if BELOW in read or not of_z or not stays:
        return None
    plain = _OF_Z.sub(BELOW, layer.text)
    for name in (re.escape(stream.name) for stream in norms):
        plain = re.sub(rf"\b{name}\s*=\s*{BELOW}\s*;", "", plain)
        plain = re.sub(rf"\b{name}(?![\w'])", BELOW, plain)
    return Stack(plain, layer.rates, layer.laws)


def _alone(maps: StackMap, numbers: KernelNumbers) -> str:
    g, d = float(numbers.g), float(numbers.d)
    weight, bias = maps.weight, maps.outer_bias
    drawn = f"{weight} {g:.8g}"
    start = (
        "The kernel that it makes does not depend on K, so that chi_parallel is 0 and K stays from "
        f"the second layer on, at K* = {f'{bias} + ' if bias else ''}{drawn}, for every {weight}. "
        f"Distances of near inputs are multiplied by chi_perp = {weight} {d:.8g}/K*"
    )
    if abs(d - g) < EQUAL * d:
        return f"{start}, which is 1{f' for {bias} = 0' if bias else ''}."
    if d < g:
        return f"{start}, which is below 1."
    if bias is None:
        return f"{start} = {d / g:.8g}; biases b make it smaller."
    return f"{start}, which is 1 for {bias} = {d - g:.8g} {weight}."


def _beside(maps: StackMap, numbers: KernelNumbers, kept: float) -> str:
    g, d = float(numbers.g), float(numbers.d)
    drawn = f"{maps.weight} {g:.8g}"
    if maps.outer_bias is not None:
        drawn = f"{maps.outer_bias} + {drawn}"
    start = (
        f"Of the kernel z' keeps {kept:.8g} K and draws {drawn}, which does not depend on K: "
        f"chi_parallel is {kept:.8g}"
    )
    if abs(kept - 1) < EQUAL:
        return (
            f"{start}, and K grows by as much in each layer, for every {maps.weight}. Without "
            f"biases distances of near inputs grow as l^{d / g:.6g}, and 1 - correlation goes as "
            f"l^{d / g - 1:.6g}."
        )
    if kept > 1:
        return f"{start}, and K grows by that factor."
    perpendicular = kept + (1 - kept) * d / g
    return (
        f"{start}, and K* is what is drawn over {1 - kept:.8g}. Without biases chi_perp is "
        f"{perpendicular:.8g}, for every {maps.weight}."
    )
