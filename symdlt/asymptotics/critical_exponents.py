"""Critical exponents of every tensor, of dense layers and of those with a skip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Real

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.smooth_pieces import sides, smooth_pieces
from symdlt.asymptotics.kept_kernels import grown
from symdlt.asymptotics.power_laws import dense_exponents
from symdlt.asymptotics.skip_growth import skip_growth
from symdlt.asymptotics.skips import inserted, keeps_nothing, skip_of, slowed
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.asymptotics.stack_exponents import stack_exponents
from symdlt.definitions import (
    BOOK,
    DENSE,
    Correlator,
    Layer,
    Stack,
    at_uniform_input,
    read_layer_definition,
    windows_in,
)
from symdlt.errors import SolutionError, require
from symdlt.fixed_points import CriticalPoint, criticality
from symdlt.fixed_points.critical_points import SCALE_INVARIANT
from symdlt.fixed_points.kernel_map import KernelMap
from symdlt.fixed_points.position_modes import UNIFORM
from symdlt.fixed_points.stack_maps import rates_of
from symdlt.precision import NumberLike
from symdlt.symbols import lambda_b as LAMBDA_B
from symdlt.symbols import lambda_W as LAMBDA_W

# How the names of whole classes of activations start.
WHOLE = ("k*", SCALE_INVARIANT)


def exponents(
    activation: ActivationLike,
    tensors: Iterable[str | Correlator] | None = None,
    *,
    lambda_b: float | Fraction | sp.Expr | None = None,
    lambda_W: float | Fraction | sp.Expr | None = None,
    at_fixed_point: bool = False,
    layer: Layer | Stack | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
) -> AsymptoticSolution:
    r"""Solve the single-input recursions at criticality for large depth.

    Every recursion is expanded about the critical point and solved by $X \propto \ell^{-p}$; the
    powers come from the balance of its terms. Nothing is fitted.

    Args:
        activation: a name such as "tanh", an expression in z as text or from SymPy, or a whole
            class: "K*=0, odd", "K*=0, general" or "scale-invariant".
        tensors: names of tensors; the thirteen of the book if left out.
        lambda_b: $\widetilde\lambda_b$ as a rational number, a symbol if left out.
        lambda_W: $\widetilde\lambda_W$ in the same way.
        at_fixed_point: for K* > 0, the exact solution of a kernel that starts at K*, as `recipe`
            says, in place of one that comes to it.
        layer: the dense one; one of one weight with a skip, such as "z' = xi z + b + W s(z)"; or
            a chain of steps, such as "h = U z; z' = xi z + W s(h)", with a width of its own
            inside. Noise of all depths is counted; what that leaves unsolved stands in `unsolved`.
            Circular windows are those of an input that is the same at all positions.
        values: numbers for its other symbols, such as {"xi": 0.8}; with ξ = 0 it is the dense one.
            Of a chain of steps all but one variance of weights, that of z' itself if K* > 0; and
            learning rates, if they are known.

    Returns:
        Exponents, leading coefficients and dimensionless ratios (for odd activations and R, S,
        T, U those of ∞.30–∞.37). A tensor whose leading growth depends on the input, whose
        recursion is infinite, or that cancels to the last order that is tried, stands in `unsolved`
        with the reason.

    Raises:
        ActivationError: if the activation cannot be read.
        LayerError: if the layer cannot be read.
        SolutionError: if it has no critical point, no learning rate is positive, or the layer is of
            another kind.

    >>> solution = exponents("tanh")
    >>> [str(solution[name].exponent) for name in "RSTU"]
    ['-2', '-2', '-2', '0']
    >>> solution["V"].ratio, solution["V"].ratio_power, solution["V"].ratio_coefficient
    ('V/(n K^2)', 1, 2/3)
    >>> exponents("K*=0, general", ["F"])["F"].coefficient
    (a_1*lambda_b - lambda_W*sigma_1**2)/(a_1**2*(p_perp - 5))
    >>> skip = exponents("tanh", ["V"], layer="z' = xi z + b + W s(z)", values={"xi": 0.5})
    >>> skip["V"].ratio_coefficient
    5/8
    >>> exponents("relu", ["V"], layer="h = U z; z' = W s(h)", values={"C_U": 1})["V"].exact
    K**2*(l - 1)*(5*n + 2*n_h)/n_h
    """
    rates = {LAMBDA_B: _rate(lambda_b, "lambda_b"), LAMBDA_W: _rate(lambda_W, "lambda_W")}
    if all(rate == 0 for rate in rates.values()):
        raise SolutionError(
            "Both learning rates are zero, so there is no NTK and nothing to scale it by. "
            "lambda_b and lambda_W stand in the call. Leave one of them out."
        )
    require(tensors, Iterable | None, "a list of tensors", "Give names such as ['V', 'R'].")
    wanted = tuple(BOOK) if tensors is None else tuple(tensors)
    written = read_layer_definition(layer)
    if isinstance(written, Stack) and windows_in(written):
        plain = at_uniform_input(written)
        solution = exponents(
            activation,
            wanted,
            at_fixed_point=at_fixed_point,
            layer=plain,
            values=values,
            lambda_b=lambda_b,
            lambda_W=lambda_W,
        )
        others = "tensors of others are means over positions, which `propagate` has"
        told = (*solution.assumptions, f"{UNIFORM.format(written)}; {others}")
        return replace(solution, assumptions=told)
    if isinstance(written, Stack):
        of_stack = {symbol.name: rate for symbol, rate in rates.items() if rate is not None}
        return _of_steps(activation, wanted, written, values, of_stack, at_fixed_point)
    if (written == DENSE and not values) or keeps_nothing(written, values):
        return dense_exponents(activation, wanted, rates, at_fixed_point=at_fixed_point)
    maps = skip_of(written, values)
    answer = criticality(activation, layer=written, values=values)
    point = answer.points[0] if answer.critical else None
    if point is not None and point.K == 0 and at_fixed_point:
        return dense_exponents(activation, wanted, rates, at_fixed_point=True)  # which refuses
    if point is not None and point.K == 0:
        return _falling(activation, wanted, rates, maps, point)
    if point is not None and (point.K is None or at_fixed_point):
        return _staying(activation, wanted, rates, maps)
    raise SolutionError(
        f"With a skip, exponents are those of a kernel that falls to 0 or stays. That of "
        f"{answer.activation[:60]!r} does neither: {answer.reasons[0] if point is None else ''}"
        + ("" if point is None else "it comes to K* > 0.")
        + " Give at_fixed_point=True if K* > 0, or another activation."
    )


def _of_steps(
    activation: ActivationLike,
    wanted: Sequence[str | Correlator],
    layer: Stack,
    values: Mapping[str, NumberLike] | None,
    rates: Mapping[str, sp.Expr],
    at_fixed_point: bool,
) -> AsymptoticSolution:
    """Of a layer of several fields; learning rates are those of all its weights and biases."""
    require(values, Mapping | None, "values of symbols", 'Give them by name: {"C_U": 1}.')
    if isinstance(activation, str) and activation.strip().lower().startswith(WHOLE):
        raise SolutionError(
            f"{activation.strip()[:40]!r} is a whole class. Of layers of several fields, such as "
            f"{layer}, the solution is in numbers of one activation. Give one, such as 'tanh'."
        )
    names = rates_of(layer)
    if unknown := sorted({*rates} - {*names}):
        raise SolutionError(
            f"{', '.join(unknown)} stands in the call, and the layer {layer} has the learning "
            f"rates {', '.join(names)}. Give values to these, by their names in `values`."
        )
    numbers = {name: x for name, x in (values or {}).items() if name not in names}
    given = {name: _rate(x, name) for name, x in (values or {}).items() if name in names}
    known = {**rates, **{name: rate for name, rate in given.items() if rate is not None}}
    if all(known.get(name) == 0 for name in names):
        raise SolutionError(
            f"All learning rates of the layer {layer} are zero, so there is no NTK and nothing to "
            "scale it by. They stand in values. Leave one of them out."
        )
    own = read_activation(activation)
    return stack_exponents(own, wanted, layer, numbers, known, at_fixed_point=at_fixed_point)


def _falling(
    activation: ActivationLike,
    wanted: Sequence[str | Correlator],
    rates: Mapping[sp.Symbol, sp.Expr | None],
    maps: KernelMap,
    point: CriticalPoint,
) -> AsymptoticSolution:
    """With a skip, at K* = 0."""
    named = read_activation(activation)
    slopes = [side.series(1)[1] for side in sides(smooth_pieces(named))]
    if not is_zero(slopes[0] - slopes[1]):
        raise SolutionError(
            f"The slope of {named.name[:60]!r} jumps at zero, so that it is no line at small K "
            "and the sums over pairs of depths are others at each order. It was asked for with a "
            "skip. `propagate` counts all depths of a network."
        )
    dead = {symbol: 0 if rate == 0 else None for symbol, rate in rates.items()}
    dense = dense_exponents(activation, wanted, dead)
    points = point, criticality(activation).points[0]
    given = {symbol: rate for symbol, rate in rates.items() if rate}
    return inserted(slowed(dense, points, maps), given)


def _staying(
    activation: ActivationLike,
    wanted: Sequence[str | Correlator],
    rates: Mapping[sp.Symbol, sp.Expr | None],
    maps: KernelMap,
) -> AsymptoticSolution:
    """With a skip, where the kernel stays."""
    growth = skip_growth(activation, maps.layer, dict(maps.values))
    kept = growth.point.K is not None
    dense = dense_exponents(activation, wanted, rates, at_fixed_point=kept)
    return grown(dense, growth)


def _rate(value: object, name: str) -> sp.Expr | None:
    if value is None:
        return None
    number = sp.sympify(value) if isinstance(value, Real | sp.Expr) else None
    if number is None or not number.is_number or not number.is_nonnegative:
        raise SolutionError(
            f"{name} = {str(value)[:40]} is not a learning rate. "
            "It must be a number that is not negative. Give an int, a Fraction or a SymPy number."
        )
    return sp.Rational(str(value)) if number.is_Float else number
