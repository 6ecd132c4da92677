"""Two nearby inputs at criticality: how the kernel and its differences scale with depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.definitions import DENSE, Layer
from symdlt.errors import DerivationError, SolutionError
from symdlt.fixed_points.arguments import maps_of
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_map import CONSTANT, FIELDS, KernelMap
from symdlt.fixed_points.nearby_map import NearbyTerm, nearby_map
from symdlt.fixed_points.number_text import brief, layer_entries, of_layers, text
from symdlt.fixed_points.universality import DIGITS, criticality
from symdlt.precision import NumberLike

SCHEMA = {"schema": "symdlt.nearby", "version": 1}
CONSTANTS = sp.symbols("c_1 c_2", real=True)
NAMES = ("K_0", "K_1", "K_2")
# A convention: longer formulas are not read in a table.
LONGEST = 40

Series = tuple[tuple[sp.Expr, sp.Expr, sp.Expr], ...]


@dataclass(frozen=True, slots=True)
class DepthPower:
    r"""A power of the depth, $x\,\ell^{-p}\log^j\ell$.

    Attributes:
        exponent: p.
        coefficient: x.
        log_power: j.
    """

    exponent: sp.Expr
    coefficient: sp.Expr
    log_power: int = 0

    def __str__(self) -> str:
        logs = " log(l)" if self.log_power else ""
        return f"{_brief(self.coefficient)}{_depth(self.exponent)}{logs}"


@dataclass(frozen=True, slots=True)
class Nearby:
    r"""The depth dependence of the kernel of two nearby inputs (PDLT §5.1 and §5.3).

    $$K_{\pm\pm} = K_{[0]} \pm K_{[1]} + K_{[2]}, \qquad K_{+-} = K_{[0]} - K_{[2]}$$

    Attributes:
        activation: as it was given.
        point: the critical point.
        p_parallel: the exponent in $\chi_\parallel = 1 - p_\parallel/\ell + \cdots$.
        p_perp: the one in $\chi_\perp = 1 - p_\perp/\ell + \cdots$.
        kernel: how $K_{[0]} - K^*$ falls, or None if it stays.
        first: the leading $K_{[1]}$; its constant c_1 depends on the inputs.
        second: the part of $K_{[2]}$ that depends on the inputs by itself, with the constant c_2.
        driven: the part of $K_{[2]}$ that $K_{[1]}^2$ feeds, or None.
        limits: sentences that say how long these powers hold.
        layer: how a layer is made of the one below.
        values: of its symbols other than those of C_W and C_b.
    """

    activation: str
    point: CriticalPoint
    p_parallel: sp.Expr
    p_perp: sp.Expr
    kernel: DepthPower | None
    first: DepthPower
    second: DepthPower
    driven: DepthPower | None
    limits: tuple[str, ...]
    layer: Layer = DENSE
    values: tuple[tuple[str, sp.Expr], ...] = ()

    @property
    def leading(self) -> DepthPower:
        """The part of K_[2] that falls slower."""
        if self.driven is None or self.driven.exponent > self.second.exponent:
            return self.second
        return self.driven

    @property
    def angle_exponent(self) -> sp.Expr:
        r"""The p in $1 - \rho \propto K_{[2]}/K_{[0]} \propto \ell^{-p}$ at equal kernels."""
        vanishing = self.kernel is not None and self.point.K == 0
        return self.second.exponent - (self.kernel.exponent if vanishing and self.kernel else 0)

    @property
    def map(self) -> tuple[tuple[NearbyTerm, ...], ...]:
        """The recursions of K_[0], K_[1] and K_[2] that were solved."""
        return nearby_map(self.layer)

    def __repr__(self) -> str:
        return f"Nearby({self.activation[:60]}: K_1 ~ {self.first}, K_2 ~ {self.leading})"

    def __str__(self) -> str:
        K = "any" if self.point.K is None else _brief(self.point.K)
        numbers = (*self.point.variances, *self.values)
        lines = [
            f"{self.activation}: nearby inputs at K* = {K}, "
            + ", ".join(f"{name} = {_brief(value)}" for name, value in numbers)
            + of_layers(self.layer),
            *(f"  {line}" for line in map_text(self.layer).splitlines()),
            f"  chi_parallel = 1 - p_parallel/l + ..., p_parallel = {_brief(self.p_parallel)}",
            f"  chi_perp     = 1 - p_perp/l + ..., p_perp = {_brief(self.p_perp)}",
            f"K_0 {'stays' if self.kernel is None else f'- K* -> {self.kernel}'}",
            f"K_1 -> {self.first}",
            f"K_2 -> {self.second}",
        ]
        if self.driven is not None:
            lines[-1] += f"  and, fed by K_1^2, {self.driven}"
        kept = self.angle_exponent == 0
        angle = " stays" if kept else f" ~{_depth(self.angle_exponent)}"
        lines += [f"1 - correlation{angle}", "c_1 and c_2 depend on the inputs.", *self.limits]
        return "\n".join(lines)

    def _repr_latex_(self) -> str:
        rows = [] if self.kernel is None else [(r"K_{[0]} - K^*", self.kernel)]
        rows += [("K_{[1]}", self.first), ("K_{[2]}", self.leading)]
        body = r" \\ ".join(f"{name} &= {_latex(power)} + \\cdots" for name, power in rows)
        return f"$\\displaystyle \\begin{{aligned}}{body}\\end{{aligned}}$"

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries and strings."""
        powers = {
            "K_0": self.kernel,
            "K_1": self.first,
            "K_2": self.second,
            "K_2 driven": self.driven,
        }
        return {
            **SCHEMA,
            "activation": self.activation,
            **layer_entries(self.layer, self.values),
            "point": self.point.to_dict(),
            "map": map_text(self.layer).splitlines(),
            "p_parallel": text(self.p_parallel),
            "p_perp": text(self.p_perp),
            "asymptotes": {name: _entry(power) for name, power in powers.items()},
            "angle_exponent": text(self.angle_exponent),
            "limits": list(self.limits),
        }


def nearby(
    activation: ActivationLike,
    *,
    layer: Layer | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
    digits: int = DIGITS,
) -> Nearby:
    r"""How the kernel of two nearby inputs $x_\pm$ depends on depth at criticality.

    The many-input recursion of G is expanded about the midpoint of the inputs. To second order in
    their distance (PDLT 5.41–5.53),

    $$K_{[1]}' = \chi_\parallel K_{[1]}, \qquad
      K_{[2]}' = \chi_\perp K_{[2]} + h\, K_{[1]}^2, \qquad h = \tfrac12 \frac{d\chi_\perp}{dK}$$

    Args:
        activation: a name such as "tanh", or an expression in z as text or from SymPy.
        layer: how a layer is made of the one below, as in `criticality`.
        values: numbers for its symbols that are not solved for, such as {"xi": 0.8}.
        digits: how many digits of what is not exact.

    Raises:
        ActivationError: if the activation cannot be read.
        LayerError: if the layer cannot be read, or its recursions do not close.
        SolutionError: if it cannot be critical, or its kernel follows no power of the depth.

    >>> found = nearby("tanh")
    >>> found.p_parallel, found.p_perp, str(found.first), str(found.second)
    (2, 1, 'c_1 l^-2', 'c_2 l^-1')
    >>> str(found.driven)
    'c_1^2/2 l^-3'
    """
    maps = maps_of(layer, values)
    answer = criticality(activation, layer=maps.layer, values=values, digits=digits)
    if not answer.critical:
        raise SolutionError(
            f"{answer.activation[:60]!r} cannot be critical, so nearby inputs follow no power of "
            f"the depth. {answer.reasons[0]} Use `phase` with the C_W and C_b of your network."
        )
    point = answer.points[0]
    if point.K is not None and (point.p_perp is None or point.kernel_power is None):
        raise SolutionError(
            f"The kernel of {answer.activation[:60]!r} or its chi_perp follows no power of the "
            "depth at K* = " + text(point.K) + ". Nearby inputs then follow none either. "
            "Give another activation."
        )
    return _solved(answer.activation, point, _jumps(read_activation(activation), point), maps)


def _jumps(activation: Activation, point: CriticalPoint) -> bool:
    """Whether the slope jumps where the kernel has weight at any depth."""
    kinks = activation.kinks(1) if len(activation.pieces()) > 1 else ()
    return any(point.K != 0 or kink.position == 0 for kink in kinks)


def _solved(name: str, point: CriticalPoint, jumps: bool, maps: KernelMap) -> Nearby:
    c_1, c_2 = CONSTANTS
    fall = None if point.kernel_power is None else 1 / (point.kernel_power - 1)
    size = None if fall is None else (-fall / point.a_1) ** fall
    own = (_factor(1, (1, 0), maps), _factor(2, (0, 1), maps))
    parallel, perpendicular = (_decay(_series(one, point), fall, point) for one in own)
    fed = _series(_factor(2, (2, 0), maps), point)
    return Nearby(
        activation=name,
        point=point,
        p_parallel=parallel,
        p_perp=perpendicular,
        kernel=None if fall is None else DepthPower(fall, size),
        first=DepthPower(parallel, c_1),
        second=DepthPower(perpendicular, c_2),
        driven=_driven(fed, parallel, perpendicular, fall, size),
        limits=_limits(perpendicular, fall if point.K == 0 else 0, jumps),
        layer=maps.layer,
        values=maps.values,
    )


def _driven(
    series: Series,
    parallel: sp.Expr,
    perpendicular: sp.Expr,
    fall: sp.Expr | None,
    size: sp.Expr | None,
) -> DepthPower | None:
    r"""The solution of $K_2' = (1 - p_\perp/\ell) K_2 + s\,\ell^{-q}$ that goes as its source."""
    if not series or fall is None:
        return None
    power, factor, base = series[0]
    exponent = 2 * parallel + power * fall - 1
    amount = factor * base * size**power * CONSTANTS[0] ** 2
    gap = perpendicular - exponent
    return DepthPower(exponent, amount, 1) if gap == 0 else DepthPower(exponent, amount / gap)


def _limits(perpendicular: sp.Expr, fall: sp.Expr | None, jumps: bool) -> tuple[str, ...]:
    sentences = []
    if jumps:
        sentences.append(
            "The slope of the activation jumps, so that the next order in the distance is "
            "K_2^(3/2): this holds for l << sqrt(K_0/K_2). Then correlations go to 1."
        )
    if perpendicular < (fall or 0):
        sentences.append("The distance grows relative to the inputs: this holds while it is small.")
    return tuple(sentences)


@dataclass(frozen=True, slots=True)
class _Factor:
    """A number times a derivative by K of the next kernel, or of the perpendicular susceptibility.

    Attributes:
        perpendicular: whether it is that of the susceptibility.
        slope: which derivative.
        scale: the number.
    """

    perpendicular: bool
    slope: int
    scale: sp.Expr


def _factor(component: int, differences: tuple[int, int], maps: KernelMap) -> _Factor:
    """What multiplies a product of differences: its terms, as one factor of known expansion."""
    values = dict(maps.values)
    drawn, rest = [], sp.Integer(0)
    for term in nearby_map(maps.layer)[component]:
        if term.differences == differences:
            number = sp.Rational(*term.coefficient.as_integer_ratio())
            for name, power in term.hyperparameters:
                number *= values.get(name, 1) ** power
            if maps.weight in dict(term.hyperparameters):
                drawn.append((term.order == 1, term.slope, number))
            elif term.order is None:
                rest += number
    if len(drawn) == 1:
        ((perpendicular, slope, number),) = drawn
        own = maps.ntk if perpendicular else maps.metric
        scale = number / sum(term.factor for term in own if term.symbol == maps.weight)
        # A constant of χ_⊥ is its own, and one of dK'/dK is a multiple of K in the map.
        constant = [CONSTANT, FIELDS][slope] if slope + perpendicular == 1 else None
        kept = sum(t.factor for t in own if t.symbol is None and t.orders == constant)
        if rest == scale * kept:
            return _Factor(perpendicular, slope, scale)
    raise DerivationError(
        f"What multiplies {differences} in the recursion of {NAMES[component]} is no derivative "
        "of the kernel map. It is expanded from the recursion of G. This is a fault of symdlt; "
        "report it."
    )


def _series(factor: _Factor, point: CriticalPoint) -> Series:
    """A factor near the critical point: powers of ΔK, exact factors, numbers."""
    one = sp.Integer(1)
    if factor.perpendicular:
        known = [(sp.Integer(0), one), (point.perp_power, point.b_1)]
    else:
        known = [(one, one), (point.kernel_power, point.a_1)]
    n = factor.slope
    moved = [(p - n, factor.scale * sp.ff(p, n), x) for p, x in known if p is not None]
    return tuple(one for one in moved if one[1] != 0)


def _decay(series: Series, fall: sp.Expr | None, point: CriticalPoint) -> sp.Expr:
    r"""The p of a factor $1 - p/\ell$, with $\Delta K^{q-1} = -1/((q-1)\, a_1 \ell)$."""
    if fall is None or len(series) == 1 or series[1][0] * fall != 1:
        return sp.Integer(0)
    _, factor, number = series[1]
    ratio = sp.Integer(1) if number is point.a_1 else number / point.a_1
    return sp.factor(factor * fall * ratio)


def map_text(layer: Layer = DENSE) -> str:
    """The expanded recursions as text, a line for each difference."""
    lines = []
    for name, terms in zip(NAMES, nearby_map(layer), strict=True):
        joined = " + ".join(map(str, terms)).replace("+ -1 ", "- ").replace("+ -", "- ")
        lines.append(f"{name}[l+1] = {joined}")
    return "\n".join(lines)


def _depth(exponent: sp.Expr) -> str:
    """A power of l with a space before it; nothing if it is zero."""
    if exponent == 0:
        return ""
    power = _brief(-exponent)
    return f" l^{power}" if "/" not in power else f" l^({power})"


def _brief(value: sp.Expr) -> str:
    return brief(value, LONGEST, 15)


def _latex(power: DepthPower) -> str:
    depth = "" if power.exponent == 0 else rf"\,\ell^{{{sp.latex(-power.exponent)}}}"
    return str(sp.latex(power.coefficient)) + depth + (r" \log\ell" if power.log_power else "")


def _entry(power: DepthPower | None) -> dict[str, Any] | None:
    if power is None:
        return None
    return {
        "exponent": text(power.exponent),
        "coefficient": text(power.coefficient),
        "log_power": power.log_power,
    }
