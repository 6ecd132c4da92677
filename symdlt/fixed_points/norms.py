r"""What there is in place of a critical point in layers that normalise z before weights read it.

At infinite width a normalised field has a kernel that does not depend on that of z, and so do all
fields that are made of it alone. Then Gaussian means are numbers, and kernel and NTK of layer ℓ+1
functions of K in closed form, which are read off the equations of the layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import sympy as sp

from symdlt.activations import Activation
from symdlt.definitions import BELOW, Stack, has_dropout
from symdlt.derivation.response.symbolic.closed_systems import (
    Read,
    ReadMean,
    ReadScale,
    ReadTensor,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.layer_systems import layer_system
from symdlt.errors import KernelError, LayerError, SolutionError
from symdlt.fixed_points.kernel_curve import ROUGH
from symdlt.fixed_points.stack_maps import ELSEWHERE, StackMap, stack_map
from symdlt.fixed_points.stack_numbers import FunctionMeans
from symdlt.means.precise import MeanError
from symdlt.precision import NumberLike
from symdlt.symbols import K, named
from symdlt.symbols import layer as depth

# Numbers that are equal but for rounding of means in floating point.
EQUAL = 1e-12
LENGTH = sp.Rational(-1, 2)  # a norm multiplies with this power of the variance


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
    """What the kernel does where all means are numbers, and nothing where they are not."""
    if has_dropout(layer.streams):  # with which near inputs part
        return ""
    try:
        maps = stack_map(own, layer, values)
        jumping = any(one.kinks(0) for one in maps.functions.values())  # chi_perp diverges
        if jumping or not maps.drawn_by_last(maps.weight):
            return ""
        above, perpendicular = NormedMaps(maps).read()
    except (LayerError, SolutionError, KernelError, MeanError):
        return ""
    kept = above.diff(K)
    moved = sp.expand((perpendicular - kept) * K)
    if kept.free_symbols or K in moved.free_symbols:
        return ""
    return _alone(maps, above, moved) if kept == 0 else _beside(maps, above, perpendicular)


class NormedMaps:
    """The next kernel and what multiplies H in the next NTK, as functions of K.

    Args:
        maps: the layer.
    """

    def __init__(self, maps: StackMap) -> None:
        self._maps = maps
        self._known = {BELOW: K}  # the kernels of all fields

    def read(self) -> tuple[sp.Expr, sp.Expr]:
        """Both of them, from the equations of the layer for one input.

        Raises:
            SolutionError: if they take means of fields whose kernels depend on K, or of several
                fields together.
        """
        system = layer_system(["H"], self._maps.layer, "one")
        for field in system.fields:
            self._known[field.name] = self._value(field)
        metric, ntk = map(self._value, system.equations)
        return metric, ntk.coeff(named("H"))

    def _value(self, equation: SystemEquation) -> sp.Expr:
        return sp.expand(
            sum(
                sp.Rational(*number.as_integer_ratio())
                * prod(self._symbol(equation.reads.get(name), name) ** power for name, power in of)
                for of, number in equation.terms
            )
        )

    def _symbol(self, read: Read | None, name: str) -> sp.Expr:
        """The value of a symbol, which stays one where it is what is solved for."""
        if isinstance(read, ReadTensor):
            return {"G": K, "H": named("H")}[read.name]
        if isinstance(read, ReadScale):
            return self._known[read.field] ** LENGTH
        if isinstance(read, ReadMean):
            return self._mean(read)
        left = {self._maps.outer_bias, self._maps.weight, *self._maps.rates}
        return named(name) if name in left else self._maps.numbers[name]

    def _mean(self, mean: ReadMean) -> sp.Expr:
        fields = {factor.field for factor in mean.factors}
        kernels = [self._known[field] for field in fields]
        if len(kernels) > 1 or kernels[0].free_symbols:
            raise SolutionError(
                f"A Gaussian mean of {' and '.join(sorted(fields))} depends on the kernel below. "
                "It stands in the layer. Normalise what weights read."
            )
        functions = tuple((factor.function, factor.order) for factor in mean.factors)
        means = FunctionMeans(self._maps.pieces, [functions], ROUGH, 1)
        return sp.Float(means(functions, float(kernels[0]))[0], ROUGH)


def _alone(maps: StackMap, above: sp.Expr, moved: sp.Expr) -> str:
    weight, bias, slope = maps.weight, maps.outer_bias, _sum(maps, moved)
    slope = f"({slope})" if " + " in slope else slope
    start = (
        "The kernel that it makes does not depend on K, so that chi_parallel is 0 and K stays from "
        f"the second layer on, at K* = {_sum(maps, above)}, for every {weight}. "
        f"Distances of near inputs are multiplied by chi_perp = {slope}/K*"
    )
    excess = _number((moved - _unbiased(maps, above)) / named(weight))
    if excess is None:
        return ""
    if abs(excess) < EQUAL * float(above.coeff(named(weight))):
        return f"{start}, which is 1{f' for {bias} = 0' if bias else ''}."
    if excess < 0:
        return f"{start}, which is below 1."
    if not bias:
        ratio = _number(moved / above)
        return f"{start}{'' if ratio is None else f' = {ratio:.8g}'}; biases b make it smaller."
    (line,) = sp.solve(moved - above, named(bias))
    return f"{start}, which is 1 for {bias} = {_number(line / named(weight)):.8g} {weight}."


def _beside(maps: StackMap, above: sp.Expr, perpendicular: sp.Expr) -> str:
    kept = above.diff(K)
    drawn = above - kept * K
    start = (
        f"Of the kernel z' keeps {float(kept):.8g} K and draws {_sum(maps, drawn)}, which does not "
        f"depend on K: chi_parallel is {float(kept):.8g}"
    )
    alone = _unbiased(maps, drawn)
    if abs(kept - 1) < EQUAL:
        # A distance that is multiplied by 1 + p/l in layer l goes as l^p, and K as l.
        part = perpendicular.subs(K, depth * alone) - 1
        power = _number(sp.limit(depth * part, depth, sp.oo))
        if power is None:
            return ""
        return (
            f"{start}, and K grows by as much in each layer, for every {maps.weight}. Without "
            f"biases distances of near inputs grow as l^{power:.6g}, and 1 - correlation goes as "
            f"l^{power - 1:.6g}."
        )
    if kept > 1:
        return f"{start}, and K grows by that factor."
    (fixed,) = sp.solve(kept * K + alone - K, K)
    there = _number(perpendicular.subs(K, fixed))
    if there is None:
        return ""
    return (
        f"{start}, and K* is what is drawn over {float(1 - kept):.8g}. Without biases chi_perp is "
        f"{there:.8g}, for every {maps.weight}."
    )


def _unbiased(maps: StackMap, part: sp.Expr) -> sp.Expr:
    return part if maps.outer_bias is None else part.subs(named(maps.outer_bias), 0)


def _number(value: sp.Expr) -> float | None:
    """A number, if it is one and has no symbols."""
    value = sp.simplify(value)
    return None if value.free_symbols else float(value)


def _sum(maps: StackMap, part: sp.Expr) -> str:
    """What is linear in variances, biases before weights."""
    part, words = sp.expand(part), []
    for name in filter(None, (maps.outer_bias, maps.weight)):
        number = part.coeff(named(name))
        if number != 0:
            words.append(name if number == 1 else f"{name} {float(number):.8g}")
            part -= number * named(name)
    return " + ".join([*words, *[f"{float(part):.8g}"] * (part != 0)])
