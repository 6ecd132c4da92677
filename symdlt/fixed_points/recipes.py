"""What to type into a framework to start a network at criticality, or at a kernel that stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf, sqrt
from reprlib import repr as short_repr
from typing import Any, TypedDict, Unpack, overload

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.definitions import DENSE, Layer, Stack, ascii_name, read_layer_definition
from symdlt.display import ShownAsText
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import is_width, maps_of
from symdlt.fixed_points.critical_points import Criticality, CriticalPoint
from symdlt.fixed_points.kernel_map import KernelMap, KernelNumbers, kernel_map
from symdlt.fixed_points.number_text import layer_entries, of_layers
from symdlt.fixed_points.stack_recipes import WIDE, StackRecipe, stack_recipe
from symdlt.fixed_points.universality import criticality
from symdlt.means.precise import DOUBLE, GaussianMeans
from symdlt.precision import NumberLike
from symdlt.tables import text_table

SCHEMA = {"schema": "symdlt.recipe", "version": 1}


@dataclass(frozen=True, slots=True)
class LayerRecipe:
    """One layer of a recipe.

    Attributes:
        layer: its number, from 1.
        fan_in: the width before it.
        fan_out: its width.
        weight_std: the standard deviation of its weights.
        bias_std: the standard deviation of its biases.
        weight_rate: what a global learning rate is multiplied by for the weights.
        bias_rate: the same for the biases.
    """

    layer: int
    fan_in: int
    fan_out: int
    weight_std: float
    bias_std: float
    weight_rate: float
    bias_rate: float


@dataclass(frozen=True, slots=True)
class Recipe(ShownAsText):
    """Initialisation and learning rates of a network at criticality, or at a kernel of 1.

    Attributes:
        activation: as it was given.
        point: the critical point, or None if there is none, or none that is approached by a power
            of the depth; the gain is then the one that keeps a kernel of 1.
        gain: the gain in PyTorch's convention, weight_std = gain / sqrt(fan_in).
        unit_gain: the gain that keeps a kernel of 1 without biases instead.
        unit_chi_perp: the perpendicular susceptibility with that gain at a kernel of 1; infinite if
            the activation jumps.
        input_square: what x·x/n_0 must be so that the first layer starts at K*, or None if it may
            be anything of order one.
        layers: one entry for each layer.
        layer: how a layer is made of the one below.
        values: of its symbols that are not solved for.
    """

    activation: str
    point: CriticalPoint | None
    gain: float
    unit_gain: float
    unit_chi_perp: float
    input_square: float | None
    layers: tuple[LayerRecipe, ...]
    layer: Layer = DENSE
    values: tuple[tuple[str, sp.Expr], ...] = ()

    def __str__(self) -> str:
        C_b = float(self.point.C_b) if self.point else 0.0
        lines = [f"{self.activation}: gain {self.gain:.10g}, C_b {C_b:.10g}"]
        lines[0] += "".join(f", {name} {float(value):.10g}" for name, value in self.values)
        lines[0] += of_layers(self.layer)
        if self.input_square is not None:
            lines.append(f"scale inputs so that x.x/n_0 = {self.input_square:.10g}")
        if self.point is None:
            lines.append(
                "there is no critical point with powers of the depth; this gain keeps a kernel "
                f"of 1 without biases, {self._unit_slope}"
            )
        else:
            lines.append(
                f"a gain of {self.unit_gain:.5g} would keep a kernel of 1 without biases, "
                f"{self._unit_slope}"
            )
        heads = ("layer", "fan_in", "weight std", "bias std", "weight rate", "bias rate")
        rows: list[tuple[str, ...]] = [heads]
        for one in self.layers:
            numbers = (one.weight_std, one.bias_std, one.weight_rate, one.bias_rate)
            rows.append((str(one.layer), str(one.fan_in), *(f"{x:.5g}" for x in numbers)))
        return "\n".join([*lines, "", *text_table(rows, least=WIDE)])

    @property
    def _unit_slope(self) -> str:
        if self.unit_chi_perp == inf:
            return "where chi_perp diverges, as the activation jumps"
        return f"with chi_perp = {self.unit_chi_perp:.5g}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, numbers and strings; None for what diverges."""
        return {
            **SCHEMA,
            "activation": self.activation,
            **layer_entries(self.layer, self.values),
            "point": self.point.to_dict() if self.point else None,
            "gain": self.gain,
            "unit_gain": self.unit_gain,
            "unit_chi_perp": None if self.unit_chi_perp == inf else self.unit_chi_perp,
            "input_square": self.input_square,
            "layers": [asdict(layer) for layer in self.layers],
        }


class Given(TypedDict, total=False):
    """What all recipes take by name besides the layer, which says what they return."""

    values: Mapping[str, NumberLike] | None
    inner: Mapping[str, int] | None


@overload
def recipe(
    activation: ActivationLike, widths: Sequence[int], *, layer: Layer = ..., **given: Unpack[Given]
) -> Recipe: ...


@overload
def recipe(
    activation: ActivationLike, widths: Sequence[int], *, layer: Stack, **given: Unpack[Given]
) -> StackRecipe: ...


@overload
def recipe(
    activation: ActivationLike, widths: Sequence[int], *, layer: str, **given: Unpack[Given]
) -> Recipe | StackRecipe: ...


def recipe(
    activation: ActivationLike,
    widths: Sequence[int],
    *,
    layer: Layer | Stack | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
    inner: Mapping[str, int] | None = None,
) -> Recipe | StackRecipe:
    r"""Standard deviations and learning rates for each layer of a critical network.

    The learning rates follow the equivalence principle: each layer adds alike to the last NTK. With
    $\chi_\perp = 1 - p_\perp/\ell$ and $\langle\sigma\sigma\rangle \propto \ell^{-v}$ they go as
    $\ell^{-p_\perp} L^{p_\perp - 1}$, times $\ell^v$ for weights (PDLT ∞.29, ∞.45), and those of
    weights are divided by the width before. At K* > 0 the input is to start at K*, so that
    $p_\perp = 0$.

    In $K' = K + a_1 K^q$ a skip makes $a_1$ smaller, by a factor s, and the powers are then those
    of $1 + s(\ell - 1)$, the number of dense layers that move the kernel as far. With a skip the
    first layer, which reads the input, is dense and has the variances of a dense layer. So has a
    last layer of another width than those before, where neurons cannot be kept.

    Without a critical point, or where it is approached by no power of the depth, the gain is the
    one that keeps a kernel of 1, see `gain`, and all layers have the same rates.

    Args:
        activation: a name, or an expression in z as text or from SymPy.
        widths: of the input and of each layer.
        layer: how a layer is made of the one below; one weight and at most one bias in it, or a
            chain of steps, of which there is a line for each weight and bias.
        values: numbers for its other symbols, such as {"xi": 0.8}.
        inner: widths inside a chain of steps, such as {"h": 256}; that of z if left out.

    Raises:
        ActivationError: if the activation cannot be read.
        LayerError: if the layer cannot be read, or its recursions do not close.
        SolutionError: if its Gaussian means diverge, the widths are not whole positive numbers or
            not those of the layer, or it has weights of which a recipe knows no rate.

    >>> found = recipe("tanh", [100, 64, 64, 10])
    >>> found.gain, [(one.weight_std, round(one.bias_rate, 3)) for one in found.layers]
    (1.0, [(0.1, 1.0), (0.125, 0.5), (0.125, 0.333)])
    >>> skip = recipe("tanh", [64] * 4, layer="z' = xi z + b + W s(z)", values={"xi": 0.6})
    >>> skip.gain, [(one.weight_std, round(one.bias_rate, 3)) for one in skip.layers]
    (0.8, [(0.125, 0.76), (0.1, 0.463), (0.1, 0.333)])
    >>> block = {"layer": "h = U z; z' = xi z + W s(h)", "values": {"C_U": 1, "xi": 0.8}}
    >>> found = recipe("tanh", [64] * 3, inner={"h": 256}, **block)
    >>> [(one.layer, one.tensor, one.fan_in, one.std) for one in found.drawn]
    [(1, 'W', 64, 0.125), (2, 'U', 64, 0.125), (2, 'W', 256, 0.0375)]
    """
    _check_widths(widths)
    written = read_layer_definition(layer)
    if isinstance(written, Stack):
        return stack_recipe(read_activation(activation), widths, written, values, inner)
    if inner:
        raise SolutionError(
            f"inner is {short_repr(inner)}, and the layer {written} has no widths inside. It "
            "stands in the call. Leave it out."
        )
    maps = maps_of(written, values)
    _check_weights(maps)
    answer = criticality(activation, layer=maps.layer, values=values)
    dense = answer if maps.layer == DENSE else criticality(activation)
    repeated, alone = (_start(activation, *one) for one in ((answer, maps), (dense, kernel_map())))
    first = alone if repeated.skips else repeated
    constant, _, drawn = first.maps.parts(first.C_b, first.C_W)
    start = first.K
    jumps = bool(read_activation(activation).kinks(0))
    return Recipe(
        activation=answer.activation,
        point=repeated.point,
        gain=sqrt(repeated.C_W),
        unit_gain=sqrt(repeated.unit_weight),
        unit_chi_perp=inf if jumps else repeated.unit.chi_perp(repeated.unit_weight),
        input_square=None if start is None else float((start - constant) / drawn),
        layers=tuple(_layers(widths, repeated, first, _speed(repeated.point, alone.point))),
        layer=maps.layer,
        values=maps.values,
    )


@dataclass(frozen=True, slots=True)
class _Start:
    """The variances of a layer: those of its critical point, or that keep a kernel of 1.

    Attributes:
        maps: of the layer.
        point: the critical point, or None.
        unit: the kernel map at 1.
    """

    maps: KernelMap
    point: CriticalPoint | None
    unit: KernelNumbers

    @property
    def skips(self) -> bool:
        """Whether a layer of one weight keeps something of the kernel without it."""
        return bool(self.maps.parts(0, 0)[1])

    @property
    def unit_weight(self) -> float:
        """The variance of weights that keeps a kernel of 1 without biases."""
        return float((1 - self.unit.kept[0]) / self.unit.g)

    @property
    def C_W(self) -> float:
        return float(self.point.C_W) if self.point else self.unit_weight

    @property
    def C_b(self) -> float:
        return float(self.point.C_b) if self.point else 0.0

    @property
    def K(self) -> float | None:
        """Where the kernel is to start, if not anywhere."""
        if self.point is None:
            return 1.0
        return float(self.point.K) if self.point.K else None


def _start(activation: ActivationLike, answer: Criticality, maps: KernelMap) -> _Start:
    point = next((p for p in answer.points if answer.critical and _has_powers(p)), None)
    pieces = smooth_pieces(read_activation(activation))
    unit = maps.at(1.0, GaussianMeans(pieces, maps.products, DOUBLE)(1.0))
    if point is None and unit.kept[0] >= 1:
        raise SolutionError(
            f"The layer {maps.layer} multiplies the kernel by {float(unit.kept[0]):.6g} before "
            f"{maps.weight} adds to it, so that no {maps.weight} keeps a kernel of 1. "
            "Give values below 1 for what it keeps."
        )
    return _Start(maps, point, unit)


def _layers(
    widths: Sequence[int], repeated: _Start, first: _Start, speed: float
) -> Iterator[LayerRecipe]:
    perpendicular, vanishing = _powers(repeated.point)
    depth = len(widths) - 1
    through = 1 + speed * (depth - 1)
    for number, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
        kept = number > 1 and fan_in == fan_out
        if repeated.skips:
            _check_kept(repeated.maps.layer, kept, number, widths)
        here = repeated if kept else first
        passed = 1 + speed * (number - 1)
        rate = passed**-perpendicular * through**perpendicular / depth
        yield LayerRecipe(
            layer=number,
            fan_in=int(fan_in),
            fan_out=int(fan_out),
            weight_std=sqrt(here.C_W / fan_in),
            bias_std=sqrt(here.C_b),
            weight_rate=rate * passed**vanishing / fan_in,
            bias_rate=rate if repeated.maps.bias else 0.0,
        )


def _speed(point: CriticalPoint | None, dense: CriticalPoint | None) -> float:
    """How fast the kernel moves to a critical point, over how fast it does in dense layers."""
    if point is None or dense is None or point.K is None or not dense.a_1:
        return 1.0
    return float(point.a_1 / dense.a_1)


def _check_weights(maps: KernelMap) -> None:
    known = {maps.bias, maps.weight, *dict(maps.values), *_rates(maps.bias, maps.weight)}
    others = [name for name in map(ascii_name, maps.layer.symbols) if name not in known]
    if others:
        raise SolutionError(
            f"The layer {maps.layer} has more than one weight: {', '.join(others)} would be left "
            "open. A recipe has the rates of one weight and one bias for each layer. Write a layer "
            "with one capital letter, or use `criticality` for its variances."
        )


def _rates(bias: str | None, weight: str) -> list[str]:
    return [name.replace("C_", "lambda_", 1) for name in (bias, weight) if name]


def _check_kept(layer: Layer, kept: bool, number: int, widths: Sequence[int]) -> None:
    """Only the first and the last layer may have other widths if neurons are kept."""
    if not kept and 1 < number < len(widths) - 1:
        raise SolutionError(
            f"Layer {number} would go from {widths[number - 1]} to {widths[number]} neurons, and "
            f"{layer} keeps them. It stands as widths in the call. Give hidden layers of one "
            "width; the input and the last layer may have others."
        )


def _check_widths(widths: Sequence[int]) -> None:
    listed = isinstance(widths, list | tuple) and len(widths) > 1
    if not listed or not all(map(is_width, widths)):
        raise SolutionError(
            f"{short_repr(widths)} are no widths. They stand as widths in the call. "
            "Give those of the input and of each layer, such as [784, 100, 100, 10]."
        )


def _has_powers(point: CriticalPoint) -> bool:
    """Whether its kernel stays, or falls by a power of the depth."""
    return point.K is None or point.K > 0 or point.p_perp is not None


def _powers(point: CriticalPoint | None) -> tuple[float, float]:
    r"""$p_\perp$, and the power v with which $\langle\sigma\sigma\rangle$ falls."""
    if point is None or point.K is None or point.K > 0:
        return 0.0, 0.0
    assert point.p_perp is not None  # as `_has_powers` asks
    assert point.kernel_power is not None
    return float(point.p_perp), float(1 / (point.kernel_power - 1))
