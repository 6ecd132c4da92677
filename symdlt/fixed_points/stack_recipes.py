"""Recipes for layers that are chains of steps: a line for each of their weights and biases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import prod, sqrt
from reprlib import repr as short_repr
from typing import Any

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations.exact_numbers import is_zero
from symdlt.definitions import Stack, Way, ascii_name, steps_of
from symdlt.display import ShownAsText
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import is_width
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.number_text import layer_entries, of_layers
from symdlt.fixed_points.stack_criticality import FEW, kernel_series, stack_criticality
from symdlt.fixed_points.stack_maps import OWN, StackMap, stack_map
from symdlt.fixed_points.universality import criticality
from symdlt.precision import NumberLike
from symdlt.tables import text_table

SCHEMA = {"schema": "symdlt.stack_recipe", "version": 1}
# What floating point has, of a point that is not exact.
DIGITS = 17
# Of columns of recipes, as of the longest head; convention.
WIDE = 11


@dataclass(frozen=True, slots=True)
class DrawnRecipe:
    """The weights, or the biases, of one letter in one layer of a recipe.

    Attributes:
        layer: the number of the layer, from 1.
        tensor: the letter.
        fan_in: how many neurons are summed over; 1 for biases.
        fan_out: how many are made.
        std: the standard deviation.
        rate: what a global learning rate is multiplied by.
    """

    layer: int
    tensor: str
    fan_in: int
    fan_out: int
    std: float
    rate: float


@dataclass(frozen=True, slots=True)
class StackRecipe(ShownAsText):
    """Initialisation and learning rates of a network of layers of several fields at criticality.

    Attributes:
        activation: as it was given.
        point: the critical point.
        drawn: one entry for each letter of each layer.
        layer: how a layer is made of the one below; the first one is dense.
        values: of its symbols that are not solved for.
        input_square: what x·x/n_0 must be so that the kernel starts at K*, or None if it may be
            anything of order one.
    """

    activation: str
    point: CriticalPoint
    drawn: tuple[DrawnRecipe, ...]
    layer: Stack
    values: tuple[tuple[str, sp.Expr], ...]
    input_square: float | None = None

    def __str__(self) -> str:
        numbers = (*self.point.variances, *self.values)
        shown = ", ".join(f"{name} {float(value):.10g}" for name, value in numbers)
        lines = [f"{self.activation}: {shown}{of_layers(self.layer)}"]
        if self.input_square is not None:
            lines.append(f"scale inputs so that x.x/n_0 = {self.input_square:.10g}")
        rows = [("layer", "tensor", "fan_in", "std", "rate")]
        for one in self.drawn:
            cells = (str(one.layer), one.tensor, str(one.fan_in), f"{one.std:.5g}")
            rows.append((*cells, f"{one.rate:.5g}"))
        return "\n".join([*lines, "", *text_table(rows, least=WIDE)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, numbers and strings."""
        return {
            **SCHEMA,
            "activation": self.activation,
            **layer_entries(self.layer, self.values),
            "point": self.point.to_dict(),
            "input_square": self.input_square,
            "drawn": [asdict(one) for one in self.drawn],
        }


def stack_recipe(
    own: Activation,
    widths: Sequence[int],
    layer: Stack,
    values: Mapping[str, NumberLike] | None,
    inner: Mapping[str, int] | None,
) -> StackRecipe:
    r"""Standard deviations and learning rates for layers of several fields.

    Each learning rate goes as $\ell^{-p_\perp + v} L^{p_\perp - 1}$, where what it multiplies in
    the recursion of the NTK falls as $\ell^{-v}$, and is divided by the width that is summed over.

    Args:
        own: the activation.
        widths: of the input and of z in each layer.
        layer: a chain of steps, or one that keeps z besides.
        values: numbers for all its symbols but learning rates and one variance of weights.
        inner: widths inside, by the first field of each site; those of z if left out.

    Raises:
        LayerError: for a layer whose kernel is not one number.
        SolutionError: if there is no critical point, or for unusable widths.
    """
    maps = stack_map(own, layer, values)
    point = stack_criticality(own, layer, values, DIGITS).points[0]
    if point.p_perp is None and not point.K:
        raise SolutionError(
            f"chi_perp of the layer {layer} comes to 1 too slowly for rates that are powers of the "
            "depth. It is that of K* = 0. Give an odd activation."
        )
    inside = _inside(maps, inner)
    falls = _falls(maps, point)
    # at K* > 0 the kernel starts there and stays, see `recipe`
    perpendicular = 0.0 if point.K or point.p_perp is None else float(point.p_perp)
    schedule = _Schedule(perpendicular, _speed(own, maps, point), len(widths) - 1)
    drawn = tuple(_drawn(maps, point, widths, inside, falls, schedule))
    start = float(point.K) if point.K else None
    return StackRecipe(own.name, point, drawn, layer, maps.values, start)


@dataclass(frozen=True, slots=True)
class _Schedule:
    """How learning rates go with the layer.

    Attributes:
        perpendicular: p_⊥.
        speed: how many dense layers move the kernel as far as one of these.
        depth: L.
    """

    perpendicular: float
    speed: float
    depth: int

    def rate(self, number: int, fall: float) -> float:
        """The rate at a layer, of what falls with that power of the depth."""
        passed, through = (1 + self.speed * (x - 1) for x in (number, self.depth))
        p = self.perpendicular
        return float(passed ** (fall - p) * through**p / self.depth)


def _drawn(
    maps: StackMap,
    point: CriticalPoint,
    widths: Sequence[int],
    inside: Mapping[str, int],
    falls: Mapping[str, float],
    schedule: _Schedule,
) -> Iterator[DrawnRecipe]:
    steps = steps_of(maps.layer, leading=True)
    keeps = bool(maps.layer.streams[-1].kept)
    numbers = {**maps.numbers, maps.weight: point.C_W}
    if maps.outer_bias is not None:
        numbers[maps.outer_bias] = point.C_b
    for number, (below, above) in enumerate(pairwise(map(int, widths)), 1):
        alone = number == 1 or (keeps and below != above)
        if alone and 1 < number < len(widths) - 1:
            raise SolutionError(
                f"Layer {number} would go from {below} to {above} neurons, and {maps.layer} keeps "
                "them. It stands as widths in the call. Give hidden layers of one width; the "
                "input and the last layer may have others."
            )
        for step in steps[-1:] if alone else steps:
            first, last = step.first or alone, step.last
            read = below if first else inside.get(ascii_name(step.below[0]), above)
            made = above if last else inside.get(ascii_name(step.above[0]), above)
            for branch in step.branches:
                if branch.tensor is None:
                    continue
                name = ascii_name(branch.tensor.name)
                variance, rate = (step.ways[code] for code in (name.upper(), name.lower()))
                # what reads the input, or z as it is, keeps the size of the kernel
                size = float(branch.summed) if alone else _value(variance, step.symbols, numbers)
                fan_in = read if branch.summed else 1
                fall = max(falls[x] for x in _powers(rate, step.symbols) if x in falls)
                yield DrawnRecipe(
                    number,
                    name,
                    fan_in,
                    made,
                    sqrt(size / fan_in),
                    schedule.rate(number, fall) / fan_in,
                )


def _powers(way: Way, symbols: Sequence[str]) -> dict[str, int]:
    """The symbols that a way brings, with their powers."""
    pairs = zip(map(ascii_name, symbols), way.powers, strict=True)
    return {name: power for name, power in pairs if power}


def _value(way: Way, symbols: Sequence[str], numbers: Mapping[str, sp.Expr]) -> float:
    """The variance of a sum over one neuron."""
    powers = _powers(way, symbols)
    return float(way.number) * prod(float(numbers[name]) ** p for name, p in powers.items())


def _falls(maps: StackMap, point: CriticalPoint) -> dict[str, float]:
    """The powers of 1/ℓ with which falls what each learning rate multiplies in the NTK."""
    if point.kernel_power is None or point.K:
        return dict.fromkeys(maps.rates, 0.0)
    _, ntk = kernel_series(maps, point.C_W, FEW)
    root = 1 if maps.smooth else 2
    falls = {}
    for place, name in enumerate(maps.rates):
        unit = tuple(int(k == place) for k in range(len(maps.rates)))
        series = ntk.parts[unit, ()].coefficients
        leading = next((n for n, x in enumerate(series) if not is_zero(sp.expand(x))), len(series))
        falls[name] = float(sp.Rational(leading, root) / (point.kernel_power - 1))
    return falls


def _speed(own: Activation, maps: StackMap, point: CriticalPoint) -> float:
    """How fast the kernel moves, over how fast it does in dense layers of the activation."""
    if point.kernel_power is None or point.K or OWN not in maps.functions:
        return 1.0
    dense = next((x for x in criticality(own.text).points if x.K == 0 and x.a_1), None)
    comparable = dense is not None and dense.kernel_power == point.kernel_power and dense.a_1 < 0
    return float(point.a_1 / dense.a_1) if dense is not None and comparable else 1.0


def _inside(maps: StackMap, inner: Mapping[str, int] | None) -> dict[str, int]:
    widths = dict(inner or {}) if isinstance(inner, Mapping | None) else None
    if widths is None or not all(is_width(width) for width in widths.values()):
        raise SolutionError(
            f"{short_repr(inner)} are no widths inside the layer {maps.layer}. They stand as inner "
            "in the call. Give a whole number by the name of a field, as in {'h': 256}."
        )
    if unknown := sorted({*widths} - {*maps.sites}):
        raise SolutionError(
            f"inner has a width of {', '.join(unknown)}. Fields of the layer {maps.layer} with a "
            f"width of their own are {', '.join(maps.sites) or 'none'}. Name these."
        )
    return widths
