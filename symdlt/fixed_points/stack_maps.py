"""Layers that are chains of steps, with numbers for their symbols but for one weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as short_repr

import sympy as sp

from symdlt.activations import Activation, activation
from symdlt.activations.smooth_pieces import SmoothPiece, sides, straight_slopes
from symdlt.definitions import ABOVE, BELOW, Stack, ascii_name, names_in, steps_of
from symdlt.errors import SolutionError, require
from symdlt.fixed_points.arguments import finite_pieces, variance_of
from symdlt.precision import NumberLike

# The activation of the network in the text of a layer.
OWN = "s"
ELSEWHERE = (
    "`layer_phase` and `critical_value` find fixed points of layers of any kind in floating point."
)


@dataclass(frozen=True, slots=True)
class StackMap:
    """A layer with its functions and its numbers.

    Attributes:
        layer: the layer.
        functions: each function in it by its name, the activation of the network by s.
        weight: the variance that is solved for.
        biases: the variances of biases, in the order of the layer; zero but for those in values.
        rates: the learning rates.
        values: of its other symbols.
    """

    layer: Stack
    functions: Mapping[str, Activation]
    weight: str
    biases: tuple[str, ...]
    rates: tuple[str, ...]
    values: tuple[tuple[str, sp.Expr], ...]

    @property
    def bias(self) -> str | None:
        """The last of the biases, which is that of z' if it has any."""
        return self.biases[-1] if self.biases else None

    @property
    def outer_bias(self) -> str | None:
        """That of z' itself, if it has one; the only one that is solved for where K* > 0."""
        return self.bias if self.bias is not None and self.drawn_by_last(self.bias) else None

    def drawn_by_last(self, name: str) -> bool:
        """Whether a variance is one of z' itself, and of no field inside."""
        *inside, last = (
            {ascii_name(x) for one in stream.drawn for x in names_in(one.variance)}
            for stream in self.layer.streams
        )
        return name in last and not any(name in names for names in inside)

    @property
    def numbers(self) -> dict[str, sp.Expr]:
        """Values of all symbols but the weight and learning rates."""
        return dict.fromkeys(self.biases, sp.Integer(0)) | dict(self.values)

    @property
    def biased(self) -> str:
        """The bias inside that was given, with its value; nothing if all are zero."""
        given = [(name, value) for name, value in self.values if name in self.biases]
        return " and ".join(f"{name} = {value}" for name, value in given)

    @property
    def sites(self) -> tuple[str, ...]:
        """The first field of each site inside the layer, by which its width is named."""
        ends = {BELOW, ABOVE}
        inner = [site for site in self.layer.sites if ends.isdisjoint(site)]
        return tuple(ascii_name(site[0]) for site in inner)

    @property
    def inner_steps(self) -> int:
        """The number of steps to fields inside the layer."""
        return len(steps_of(self.layer, leading=True)) - 1

    @property
    def pieces(self) -> dict[str, tuple[SmoothPiece, ...]]:
        """The pieces of each function."""
        return {name: finite_pieces(one) for name, one in self.functions.items()}

    @property
    def straight(self) -> dict[str, tuple[sp.Expr, sp.Expr]] | None:
        """The slopes of each function on each side of zero, if all are straight there."""
        slopes = {name: straight_slopes(pieces) for name, pieces in self.pieces.items()}
        found = {name: two for name, two in slopes.items() if two is not None}
        return found if len(found) == len(slopes) else None

    @property
    def smooth(self) -> bool:
        """Whether no function has a kink at zero."""
        return all(left.node == right.node for left, right in map(sides, self.pieces.values()))


def stack_map(own: Activation, layer: Stack, values: Mapping[str, NumberLike] | None) -> StackMap:
    """A layer with the values of its symbols that were given; other biases have variance zero.

    Args:
        own: the activation of the network.
        layer: the layer.
        values: numbers for all symbols but one variance of weights.

    Raises:
        SolutionError: for values that are none, or unknown or missing symbols.
    """
    require(values, Mapping | None, "values of symbols", 'Give them by name: {"C_U": 1}.')
    given = {**(values or {})}
    symbols = [*map(ascii_name, layer.symbols)]
    biases = [*_variances(layer, of_weights=False)]
    weights = [*_variances(layer, of_weights=True)]
    rates = rates_of(layer)
    for name in given:
        if name not in symbols or name in rates:
            raise SolutionError(
                f"{short_repr(name)} is no symbol of the layer {layer} that can have a value here. "
                f"It stands in values. These are {', '.join(s for s in symbols if s not in rates)}."
            )
    exact = {
        name: variance_of(value, name, signed=name not in (*biases, *weights))
        for name, value in given.items()
    }
    for name in [name for name in biases if exact.get(name) == 0]:
        del exact[name]
    constants = [s for s in symbols if s not in (*biases, *weights, *rates, *exact)]
    left = [name for name in weights if name not in exact]
    if constants or len(left) != 1:
        raise SolutionError(
            f"For the layer {layer} it is not clear what to solve for: "
            f"{', '.join((*left, *constants)) or 'nothing'} is left. The critical point is the "
            "value of one variance of weights, with numbers for all others and for constants. "
            f"Give values for all but one of {', '.join(weights)}."
        )
    functions = {name: own if name == OWN else activation(name) for name in layer.functions}
    ordered = tuple(sorted(exact.items()))
    maps = StackMap(layer, functions, left[0], tuple(biases), rates, ordered)
    if maps.outer_bias in exact:
        raise SolutionError(
            f"{maps.outer_bias} = {exact[maps.outer_bias]} keeps the kernel from 0, and where "
            f"K* > 0 it is what is solved for. It stands in values of the layer {layer}. Leave it "
            "out, or give 0."
        )
    return maps


def _variances(layer: Stack, of_weights: bool) -> Iterator[str]:
    for one in layer.drawn:
        if (one.function is not None) == of_weights:
            yield from map(ascii_name, names_in(one.variance))


def rates_of(layer: Stack) -> tuple[str, ...]:
    """The symbols of its learning rates.

    >>> rates_of(Stack("h = U z; z' = b + W s(h)"))
    ('lambda_U', 'lambda_b', 'lambda_W')
    """
    names = (name for one in layer.drawn for name in names_in(one.rate))
    return tuple(dict.fromkeys(map(ascii_name, names)))
