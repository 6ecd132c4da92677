"""What to type into a framework to start a network at criticality, or at a kernel that stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import sqrt
from numbers import Integral
from reprlib import repr as short_repr
from typing import Any

from symdlt.activations import activation as read_activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.display import ShownAsText
from symdlt.errors import SolutionError
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_map import KernelNumbers, kernel_map
from symdlt.fixed_points.universality import criticality
from symdlt.means.precise import DOUBLE, GaussianMeans

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
        unit_chi_perp: the perpendicular susceptibility with that gain at a kernel of 1.
        input_square: what x·x/n_0 must be so that the first layer starts at K*, or None if it may
            be anything of order one.
        layers: one entry for each layer.
    """

    activation: str
    point: CriticalPoint | None
    gain: float
    unit_gain: float
    unit_chi_perp: float
    input_square: float | None
    layers: tuple[LayerRecipe, ...]

    def __str__(self) -> str:
        C_b = float(self.point.C_b) if self.point else 0.0
        lines = [f"{self.activation}: gain {self.gain:.10g}, C_b {C_b:.10g}"]
        if self.input_square is not None:
            lines.append(f"scale inputs so that x.x/n_0 = {self.input_square:.10g}")
        if self.point is None:
            lines.append(
                "there is no critical point with powers of the depth; this gain keeps a kernel "
                f"of 1 without biases, with chi_perp = {self.unit_chi_perp:.5g}"
            )
        else:
            lines.append(
                f"a gain of {self.unit_gain:.5g} would keep a kernel of 1 without biases, "
                f"with chi_perp = {self.unit_chi_perp:.5g}"
            )
        heads = ("layer", "fan_in", "weight std", "bias std", "weight rate", "bias rate")
        lines += ["", "  ".join(head.rjust(11) for head in heads)]
        for one in self.layers:
            numbers = (one.weight_std, one.bias_std, one.weight_rate, one.bias_rate)
            cells = [str(one.layer), str(one.fan_in), *(f"{number:.5g}" for number in numbers)]
            lines.append("  ".join(cell.rjust(11) for cell in cells))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, numbers and strings."""
        return {
            **SCHEMA,
            "activation": self.activation,
            "point": self.point.to_dict() if self.point else None,
            "gain": self.gain,
            "unit_gain": self.unit_gain,
            "unit_chi_perp": self.unit_chi_perp,
            "input_square": self.input_square,
            "layers": [asdict(layer) for layer in self.layers],
        }


def recipe(activation: Any, widths: Sequence[int]) -> Recipe:
    r"""Standard deviations and learning rates for each layer of a critical network.

    The learning rates follow the equivalence principle: each layer adds alike to the last NTK. With
    $\chi_\perp = 1 - p_\perp/\ell$ and $\langle\sigma\sigma\rangle \propto \ell^{-v}$ they go as
    $\ell^{-p_\perp} L^{p_\perp - 1}$, times $\ell^v$ for weights (PDLT ∞.29, ∞.45), and those of
    weights are divided by the width before. At K* > 0 the input is to start at K*, so that
    $p_\perp = 0$.

    Without a critical point, or where it is approached by no power of the depth, the gain is the
    one that keeps a kernel of 1, see `gain`, and all layers have the same rates.

    Args:
        activation: a name, or an expression in z as text or from SymPy.
        widths: of the input and of each layer.

    Raises:
        ActivationError: if the activation cannot be read.
        SolutionError: if its Gaussian means diverge, or the widths are not whole positive numbers.

    >>> found = recipe("tanh", [100, 64, 64, 10])
    >>> found.gain, [(one.weight_std, round(one.bias_rate, 3)) for one in found.layers]
    (1.0, [(0.1, 1.0), (0.125, 0.5), (0.125, 0.333)])
    """
    _check_widths(widths)
    answer = criticality(activation)
    unit = _at_unit_kernel(activation)
    point = next((p for p in answer.points if answer.critical and _has_powers(p)), None)
    C_b, C_W = (float(point.C_b), float(point.C_W)) if point else (0.0, 1 / unit.g)
    start = 1.0 if point is None else float(point.K) if point.K else None
    perpendicular, vanishing = _powers(point)
    depth = len(widths) - 1
    layers = []
    for number, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
        rate = number**-perpendicular * depth ** (perpendicular - 1)
        layers.append(
            LayerRecipe(
                layer=number,
                fan_in=int(fan_in),
                fan_out=int(fan_out),
                weight_std=sqrt(C_W / fan_in),
                bias_std=sqrt(C_b),
                weight_rate=rate * number**vanishing / fan_in,
                bias_rate=rate,
            )
        )
    return Recipe(
        activation=answer.activation,
        point=point,
        gain=sqrt(C_W),
        unit_gain=unit.g**-0.5,
        unit_chi_perp=unit.d / unit.g,
        input_square=None if start is None else (start - C_b) / C_W,
        layers=tuple(layers),
    )


def _check_widths(widths: Any) -> None:
    listed = isinstance(widths, list | tuple) and len(widths) > 1
    if not listed or not all(isinstance(n, Integral) and int(n) > 0 for n in widths):
        raise SolutionError(
            f"{short_repr(widths)} are no widths. They stand as widths in the call. "
            "Give those of the input and of each layer, such as [784, 100, 100, 10]."
        )


def _at_unit_kernel(activation: Any) -> KernelNumbers:
    pieces, maps = smooth_pieces(read_activation(activation)), kernel_map()
    return maps.at(1.0, GaussianMeans(pieces, maps.products, DOUBLE)(1.0))


def _has_powers(point: CriticalPoint) -> bool:
    """Whether its kernel stays, or falls by a power of the depth."""
    return point.K is None or point.K > 0 or point.p_perp is not None


def _powers(point: CriticalPoint | None) -> tuple[float, float]:
    r"""$p_\perp$, and the power v with which $\langle\sigma\sigma\rangle$ falls."""
    if point is None or point.K is None or point.K > 0:
        return 0.0, 0.0
    return float(point.p_perp), float(1 / (point.kernel_power - 1))
