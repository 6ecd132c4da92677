"""Trapezoidal grids for means over a standard Gaussian, and the choice of their step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import KernelInputError as KernelInputError

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

# Where sums end, in standard deviations: exp(-x^2/2) is 2e-22 there.
REACH = 10.0
# Where sums end that have to see whether REACH suffices: exp(-x^2/2) is 5e-32 there.
FAR = 12.0
# The golden part of a step: of all numbers the farthest from simple fractions, at which
# aliased frequencies of both grids could agree.
SHIFT = 0.5 * (math.sqrt(5.0) - 1.0)
# The coarsest step that is tried; convention, as tests lower it.
FIRST_STEP = 0.5
# A bit less than the step that choose_step finds for slow functions, 0.46 (measured).
GAUSSIAN_STEP = 0.43
# The finest step: 20 000 nodes within REACH. A bound of the work; convention.
LEAST_STEP = 1e-3
# Steps of the fixed set are 9 % apart: little is lost, and tables are found again.
STEPS_PER_OCTAVE = 8
# Half of all digits: with errors exp(-c/h), half a step that is right to 1e-8 has 1e-16.
AGREEMENT = 1e-8
# What a step may still move means by: rounding of sums, with room for that of the functions.
VERIFIED = 1e-12
# The last digit of a float, for which a step is extrapolated.
TARGET = 1e-16
# Of the norm, between nodes: what a function has beyond the grid; products have its square.
RESOLVED = 1e-7
# Of the largest norm: what is added to the size of each function before an error is called large,
# as functions near zero keep rounding errors of larger ones they are made of. Convention.
QUIET = 1e-3
# Counts as zero: its square, 1e-300, is still a float.
TINY = 1e-150
# Tables with more rows are not kept: sixteen with a few hundred nodes are tens of MB.
KEPT_TERMS = 1024
# Its cube is still a float, so that products of functions that grow do not overflow; convention.
LARGEST_VARIANCE = 1e100
# The first step, in parts of the shortest panel on which an activation is known to vary by little:
# steps found for tanh, sin, erf, and bumps on them are 0.13 to 0.37 of it.
SEEN = 0.4
# Where functions are looked at between nodes: in no simple ratio, as nodes are, and some near zero,
# where activations bend. Convention.
PROBES = (-2.71, -1.43, -0.61, -0.11, 0.0047, 0.031, 0.29, 1.13)


class Grid(NamedTuple):
    """Nodes x and weights w with sum(w f(x)) the mean of f over a standard Gaussian.

    The last nodes are the probes; they have no weight. Row r of misfits gives, from the values of
    f at all nodes, how much f differs at probe r from what the other nodes say it is there.
    """

    nodes: Array
    weights: Array
    misfits: Array


def trapezoid(step: float, reach: float = REACH, shift: float = 0.0) -> tuple[Array, Array]:
    """The truncated trapezoidal rule, which converges geometrically for smooth functions.

    L. N. Trefethen and J. A. C. Weideman, SIAM Review 56, 2014, tell why and how fast.
    """
    half = math.ceil(reach / step)
    nodes: Array = step * (np.arange(-half, half + 1, dtype=np.float64) + shift)
    weights: Array = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


@lru_cache(maxsize=64)
def probed_grid(step: float) -> Grid:
    """The grid of a step with its probes.

    What a grid cannot resolve it takes for something slower. A function that it does resolve is
    given between the nodes, once multiplied by exp(-x^2/4), by its cardinal series (Whittaker).
    """
    nodes, weights = trapezoid(step)
    probes = np.array(PROBES)
    series = np.sinc((probes[:, None] - nodes) / step) * np.exp(-0.25 * nodes**2)
    misfits = np.hstack([series, np.diag(-np.exp(-0.25 * probes**2))])
    return Grid(np.concatenate([nodes, probes]), np.concatenate([weights, 0.0 * probes]), misfits)


@lru_cache(maxsize=64)
def moved_grid(step: float) -> tuple[Array, Array]:
    """The grid moved by the golden part of its step; it also ends earlier, to test the tails."""
    return trapezoid(step, REACH, SHIFT)


def hermite_table(step: float, terms: int) -> Array:
    """The rows of misfits, then those that give the normalised Hermite coefficients."""
    nodes, weights, misfits = probed_grid(step)
    skip = len(misfits)
    table = np.empty((skip + terms, nodes.size))
    table[:skip] = misfits
    table[skip] = weights
    table[skip + 1] = nodes * weights
    for m in range(2, terms):
        row = table[skip + m]
        np.multiply(nodes, table[skip + m - 1], out=row)
        row -= math.sqrt(m - 1.0) * table[skip + m - 2]
        row /= math.sqrt(m)
    return table


def whole_table(step: float, terms: int) -> Array:
    """The same, kept for the next call if it is not large."""
    return (kept_table if terms <= KEPT_TERMS else hermite_table)(step, terms)


kept_table = lru_cache(maxsize=16)(hermite_table)


def check_callable(activation: Sequence[Function]) -> None:
    """Refuse what is no list of functions."""
    listed = isinstance(activation, Sequence) and len(activation)
    if not listed or not all(callable(function) for function in activation):
        raise KernelInputError(
            f"The activation is {activation!r}. Its members are called with arrays. "
            "Give sigma, sigma', sigma'', … as functions in a list."
        )


def evaluate(function: Function, order: int, z: Array) -> Array:
    """A derivative of the activation at z."""
    try:
        returned = function(z)
    except (TypeError, ValueError) as reason:
        raise KernelInputError(
            f"Derivative {order} of the activation cannot be called with an array: {reason}. "
            f"It was called with float64 of shape {z.shape}. "
            "Give functions that act on each element of an array, such as those of NumPy."
        ) from reason
    return evaluated(returned, order, z)


def evaluated(returned: object, order: int, z: Array) -> Array:
    """What a derivative of the activation returned at z."""
    try:
        value = np.asarray(returned)
    except ValueError:
        value = np.array(None)
    masked = isinstance(returned, np.ma.MaskedArray)
    if value.shape not in ((), z.shape) or value.dtype.kind not in "fiub" or masked:
        raise KernelInputError(
            f"Derivative {order} of the activation returned {'a masked array, ' * masked}"
            f"{value.dtype} of shape {value.shape}. "
            f"It was called with float64 of shape {z.shape}. "
            "Give functions that act on each element of an array of reals."
        )
    full = value if value.shape == z.shape else np.full(z.shape, value)
    return full.astype(np.float64, copy=False)


def check_positive(name: str, number: object) -> None:
    """Refuse what is no finite positive number."""
    if not (isinstance(number, Real) and 0.0 < float(number) < math.inf):
        raise KernelInputError(f"The {name} is {number!r}. Give a finite positive number.")


class Unrelated:
    """A function in a list that is no derivative of the one before, as where another list begins.

    Args:
        function: what it calls.
    """

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, z: Array) -> Array:
        """The values at z."""
        return self.function(z)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unrelated) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)


def choose_step(
    activation: Sequence[Function], variance: float, powers: int = 2, first: float = FIRST_STEP
) -> float:
    """The coarsest step at which means of products of up to `powers` functions are right.

    The unit is the standard deviation. For a smooth function the error of a step h is exp(-c/h)
    or smaller. Steps are lowered from the first by factors of sqrt(2) until no mean moves by more
    than 1e-8 of the mean absolute value when the grid is moved. How far they moved gives c, and
    with it the step between h and h/2 that reaches 1e-16. That step is tested in turn.
    """
    check_callable(activation)
    if not (isinstance(variance, Real) and 0.0 <= variance <= LARGEST_VARIANCE):
        raise KernelInputError(
            f"The variance is {variance!r}. It is that of one input of the activation. "
            f"Give a number that is not negative, at most {LARGEST_VARIANCE:g}."
        )
    if not (isinstance(powers, Integral) and powers > 0):
        raise KernelInputError(
            f"The number of powers is {powers!r}. It is how many functions are multiplied. "
            "Give 1, 2, 3, …."
        )
    check_positive("first step", first)
    with np.errstate(all="ignore"):
        first = min(first, seen_step(activation, variance))
        if first <= LEAST_STEP:
            raise too_narrow(activation, variance)
        return searched_step(activation, variance, powers, first)


def known_ends(activation: Sequence[Function], root: float) -> Array | None:
    """Where panels end on which the activation varies by little, at a standard deviation.

    Functions of a known text have an attribute that tells: `ends`. Of others nothing is known.
    """
    ends = getattr(activation[0], "ends", None)
    places: Array | None = ends(root) if ends and TINY < root < 1.0 / TINY else None
    return places


def seen_step(activation: Sequence[Function], variance: float) -> float:
    """The coarsest step that meets the activation wherever its text says that it varies."""
    root = math.sqrt(variance)
    ends = known_ends(activation, root)
    if ends is None:
        return math.inf
    return SEEN * float(np.diff(ends).min()) / root


def too_narrow(activation: Sequence[Function], variance: float) -> KernelInputError:
    """The error for what no grid of equal steps meets."""
    ends = known_ends(activation, math.sqrt(variance))
    assert ends is not None
    place = int(np.diff(ends).argmin())
    return KernelInputError(
        f"The activation varies within {ends[place + 1] - ends[place]:.2g} about z = "
        f"{ends[place]:.4g}, which is too narrow for sums with equal steps at variance "
        f"{variance:.3g}. Give a wider bump or step, or a smaller variance; or take "
        "kinked_pair_means, whose panels end there."
    )


def searched_step(
    activation: Sequence[Function], variance: float, powers: int, first: float
) -> float:
    """The search of choose_step."""
    step, moved = first, 1.0
    while step > LEAST_STEP:
        before, moved = moved, max(farthest(activation, variance, powers, step), TARGET)
        if moved <= AGREEMENT:
            rate = max(math.log(before / moved) / (1.0 - math.sqrt(0.5)), TARGET)
            tried = rounded(step / (1.0 + min(1.0, math.log(moved / TARGET) / rate)))
            if (
                farthest(activation, variance, powers, tried) <= VERIFIED
                and resolved(activation, variance, tried)
                and derivatives_agree(activation, variance, tried)
            ):
                return tried
        step /= math.sqrt(2.0)
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge at variance {variance:.3g}. "
        f"Steps of {step:.2g} standard deviations are too coarse for products of {powers}. "
        "Give an activation without kinks, jumps or rounding noise, one that grows or oscillates "
        "more slowly, or a smaller variance."
    )


def rescaled_step(step: float, variance: float, other: float) -> float:
    """A guess of the step for another variance from the step for a variance.

    The reciprocal step is that of the Gaussian plus that of the activation, which is proportional
    to the standard deviation. The guess is for pair_means, which tests it.
    """
    for name, number in (("step", step), ("variance", variance), ("other variance", other)):
        check_positive(name, number)
    own = max(0.0, 1.0 / step - 1.0 / GAUSSIAN_STEP)
    return rounded(1.0 / (1.0 / GAUSSIAN_STEP + own * math.sqrt(other / variance)))


def rounded(step: float) -> float:
    """The next lower step of a fixed set, so that tables are used again."""
    return math.exp2(math.floor(STEPS_PER_OCTAVE * math.log2(step)) / STEPS_PER_OCTAVE)


def farthest(activation: Sequence[Function], variance: float, powers: int, step: float) -> float:
    """How far any mean moves with the grid, relative to the mean absolute value.

    A function near a zero of its own keeps the rounding errors of larger ones that it is made of.
    """
    nodes, weights = trapezoid(step, FAR)
    values = with_one(activation, variance, nodes)
    choices = np.array(list(combinations_with_replacement(range(len(values)), powers)))
    products = np.prod(values[choices], axis=1)
    moved, others = moved_grid(step)
    means, sizes = products @ weights, np.abs(products) @ weights
    again = np.prod(with_one(activation, variance, moved)[choices], axis=1) @ others
    moves = np.abs(means - again)
    norms = np.sqrt(values**2 @ weights)
    noise = np.append(np.full(len(norms) - 1, QUIET * norms[:-1].max()), 0.0)
    for factor in range(powers):
        rest = np.prod(norms[np.delete(choices, factor, axis=1)], axis=1)
        sizes += noise[choices[:, factor]] * rest
    if not np.isfinite(moves).all():
        raise KernelInputError(
            f"The Gaussian means of the activation overflow at variance {variance:.3g}. "
            f"Products of {powers} of its derivatives are averaged. "
            "Give a smaller variance or a tamer activation that is finite everywhere."
        )
    return float(np.max(moves / np.maximum(sizes, TINY), initial=0.0))


def with_one(activation: Sequence[Function], variance: float, nodes: Array) -> Array:
    """The activation, its derivatives and the constant one, one row for each."""
    return np.vstack([all_values(activation, variance, nodes), np.ones_like(nodes)])


def all_values(activation: Sequence[Function], variance: float, nodes: Array) -> Array:
    """The activation and its derivatives, one row for each."""
    z = math.sqrt(variance) * nodes
    return np.array([evaluate(function, k, z) for k, function in enumerate(activation)])


def resolved(activation: Sequence[Function], variance: float, step: float) -> bool:
    """Whether each function lies where the other nodes say at every probe."""
    nodes, weights, misfits = probed_grid(step)
    values = all_values(activation, variance, nodes)
    norms = np.sqrt(values**2 @ weights)
    return bool((np.abs(misfits @ values.T) <= RESOLVED * norms + TINY).all())


def derivatives_agree(activation: Sequence[Function], variance: float, step: float) -> bool:
    """Test each derivative against the one before, if both grids agree on what to compare.

    By parts, which is Stein's lemma, E[(x-1) e^x f] = sqrt(K) E[e^x f'].
    """
    (left, right, size), (again, other, _) = (
        tilted_sides(activation, variance, *grid)
        for grid in (trapezoid(step, FAR), moved_grid(step))
    )
    if np.any(np.maximum(np.abs(left - again), np.abs(right - other)) > AGREEMENT * size):
        return False
    wrong = ~(np.abs(left - right) <= 1e-6 * size)
    wrong &= np.array([not isinstance(each, Unrelated) for each in activation[1:]], dtype=bool)
    if wrong.any():
        order = int(np.argmax(wrong)) + 1
        raise KernelInputError(
            f"Function {order} of the activation is not the derivative of function {order - 1}. "
            f"Integration by parts fails for z of variance {variance:.3g}. "
            "Give sigma, sigma', sigma'', … in order; jumps and kinks are not allowed."
        )
    return True


def tilted_sides(
    activation: Sequence[Function], variance: float, nodes: Array, weights: Array
) -> tuple[Array, Array, Array]:
    """Both sides of the integration by parts for each derivative, and their absolute size."""
    values = all_values(activation, variance, nodes)
    tilted = weights * np.exp(nodes - 0.5)
    left, right = (nodes - 1.0) * values[:-1], math.sqrt(variance) * values[1:]
    size = np.abs(left) @ tilted + np.abs(right) @ tilted
    return left @ tilted, right @ tilted, size
