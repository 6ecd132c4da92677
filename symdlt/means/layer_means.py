"""All means that a layer takes, over pairs and quadruples, for each kind of activation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from symdlt.means.blocks import Together
from symdlt.means.closed import check_family, closed_pair_means, closed_pair_tables
from symdlt.means.correlations import correlations
from symdlt.means.grids import (
    Array,
    Function,
    KernelInputError,
    check_callable,
    evaluate,
    known_ends,
    seen_step,
)
from symdlt.means.kinked import kinked_pair_means
from symdlt.means.kinked_quadruples import kinked_quadruple_means
from symdlt.means.layers import KernelByKernel
from symdlt.means.pairs import check_orders, pair_means
from symdlt.means.panels import checked_kinks
from symdlt.means.quadruples import check_together, checked_tolerance, quadruple_means
from symdlt.means.relu_quadruples import (
    dependent_quadruples,
    has_relu_form,
    relu_quadruple_means,
)
from symdlt.means.spectra import Tasks
from symdlt.means.triangle import Indices, PairTables, Step, Triangle, packed_tables

Orders = tuple[int, ...]
Kink = tuple[float, Sequence[float]]
LayerMeans = Callable[[Array, Sequence[Orders], Indices | None], list[Array]]

SIDES = (1e-3, 1.0, 7.0)
# Orders a + b of a fourth derivative of <f' f'>, from which on delta functions lose digits.
STEEP = 6
# Delta functions grow like s^-p; s^p down to this is accepted. Convention.
LOST = 1e-10
# By convention: finer equal steps are thousands of nodes where panels take some hundred.
EQUAL_STEPS = 4e-3
# In standard deviations: panels of what is straight are twice as long at least.
STRAIGHT = 1.0
# Samples of a larger correlation are the same: a few roundings below one.
COINCIDENT_RHO = 1.0 - 1e-15


class SmoothMeans:
    """Means for a smooth activation; those of pairs by Mehler's formula.

    Where functions of a known text vary faster than nodes at equal steps can follow, panels end.
    What is set as after_block is told which part of the means of four of a layer is done.
    """

    def __init__(
        self,
        activation: Sequence[Function],
        tolerance: float = 1e-7,
        together: Together | None = None,
    ) -> None:
        check_callable(activation)
        check_together(together)
        self.after_block: Callable[[float], object] | None = None
        self.activation = tuple(activation)
        self.tolerance = checked_tolerance(tolerance)
        self.together = together

    def __call__(
        self, K: Array, orders: Sequence[Orders], samples: Indices | None = None
    ) -> list[Array]:
        """The tables of means of some orders, N×N for two and N×N×N×N for four."""
        if self.is_narrow(largest_variance(K)):
            return self._panels(K, orders, samples)
        pairs, fours = two_and_four(orders)
        known: dict[Orders, Array] = {}
        if pairs:
            check_orders(len(self.activation), pairs)
            tables = pair_means(self.activation, K, pairs)
            known |= dict(zip(pairs, tables, strict=True))
        if fours:
            tables = quadruple_means(
                self.activation,
                K,
                fours,
                samples,
                self.tolerance,
                self.together,
                after_block=self.after_block,
            )
            known |= dict(zip(fours, tables, strict=True))
        return [known[tuple(order)] for order in orders]

    def between(
        self, K: Array, orders: Sequence[Orders], samples: Indices, half: int
    ) -> list[Array]:
        """Means of four, the first two at samples before half and the others from it on."""
        if self.is_narrow(largest_variance(K)):
            return self._panels(K, orders, samples)
        return quadruple_means(
            self.activation, K, orders, samples, self.tolerance, self.together, half
        )

    def pair_tables(self, orders: Tasks, steps: Sequence[Step] = ()) -> PairTables:
        """What gives the means of pairs i <= j, for K that are known to be covariances.

        It is called layer by layer. Steps make of <f f> at single samples the next variances.
        """
        smooth = KernelByKernel(self.activation, orders, steps)
        if not hasattr(self.activation[0], "ends"):
            return smooth
        general = packed_tables(lambda K: self(K, orders))

        def tables(K: Array, corner: Triangle) -> list[Array]:
            return (general if self.is_narrow(float(K.take(corner.diagonal).max())) else smooth)(
                K, corner
            )

        return tables

    def is_narrow(self, variance: float) -> bool:
        """Whether panels are taken, by the largest variance."""
        if not hasattr(self.activation[0], "ends"):
            return False
        return seen_step(self.activation, variance) < EQUAL_STEPS

    @property
    def _panels(self) -> KinkedMeans:
        return KinkedMeans(self.activation, [], self.tolerance)


class ClosedMeans(SmoothMeans):
    """Means for an activation whose means over pairs have a closed form."""

    def __init__(
        self,
        activation: Sequence[Function],
        family: str,
        parameters: Mapping[str, float] | None = None,
        tolerance: float = 1e-7,
        together: Together | None = None,
    ) -> None:
        super().__init__(activation, tolerance, together)
        self.family = family
        self.parameters = parameters or {}
        check_family(family, self.parameters)

    def __call__(
        self, K: Array, orders: Sequence[Orders], samples: Indices | None = None
    ) -> list[Array]:
        """The tables of means of some orders."""
        pairs, fours = two_and_four(orders)
        tables = closed_pair_means(self.family, K, pairs, **self.parameters) if pairs else []
        known: dict[Orders, Array] = dict(zip(pairs, tables, strict=True))
        if fours:
            known |= dict(zip(fours, super().__call__(K, fours, samples), strict=True))
        return [known[tuple(order)] for order in orders]

    def pair_tables(self, orders: Tasks, steps: Sequence[Step] = ()) -> PairTables:
        """What gives the means of pairs i <= j, for K that are known to be covariances.

        It is called layer by layer. Steps make of <f f> at single samples the next variances.
        """
        return closed_pair_tables(self.family, orders, **self.parameters)


class KinkedMeans:
    """Means for an activation with kinks, as limits of those of a smoothed one.

    With zero_slopes, means with derivatives at samples of variance zero are zero, which is right
    where the tensors that they multiply vanish; without it they are refused at a kink. The square
    is that of kinked_quadruple_means.
    """

    def __init__(
        self,
        activation: Sequence[Function],
        kinks: Sequence[Kink],
        tolerance: float = 1e-7,
        zero_slopes: bool = False,
        square: float | None = None,
    ) -> None:
        checked = checked_kinks(activation, kinks)
        self.activation = tuple(activation)
        self.kinks = list(zip(checked.places.tolist(), checked.jumps.tolist(), strict=True))
        self.tolerance = checked_tolerance(tolerance)
        self.zero_slopes, self.square = zero_slopes, square
        self.slopes = slopes_of(self.activation, self.kinks)

    def __call__(
        self, K: Array, orders: Sequence[Orders], samples: Indices | None = None
    ) -> list[Array]:
        """The tables of means of some orders."""
        pairs, fours = two_and_four(orders)
        check_orders(len(self.activation), pairs)
        refuse_lost_digits(self.kinks, K, pairs)
        if self.slopes is None or not self.is_straight(largest_variance(K)):
            tables = kinked_pair_means(self.activation, self.kinks, K, pairs, self.zero_slopes)
            tables += self.general_tables(K, fours, samples)
        else:
            tables = self.relu_family(K, pairs, fours, samples)
        known: dict[Orders, Array] = dict(zip([*pairs, *fours], tables, strict=True))
        return [known[tuple(order)] for order in orders]

    def pair_tables(self, orders: Tasks, steps: Sequence[Step] = ()) -> PairTables:
        """What gives the means of pairs i <= j, for K that are known to be covariances.

        It is called layer by layer. Steps make of <f f> at single samples the next variances.
        """
        general = packed_tables(lambda K: self(K, orders))
        if self.slopes is None or any(a + b >= STEEP for a, b in orders):
            return general
        left, right = self.slopes
        closed = closed_pair_tables("relu", orders, left=left, right=right)

        def tables(K: Array, corner: Triangle) -> list[Array]:
            usual = not self.zero_slopes or bool(K.take(corner.diagonal).all())
            usual = usual and self.is_straight(float(K.take(corner.diagonal).max()))
            return closed(K, corner) if usual else general(K, corner)

        return tables

    def is_straight(self, variance: float) -> bool:
        """Whether the text, if known, has nothing between the places where slopes were taken."""
        if not hasattr(self.activation[0], "ends"):
            return True
        root = math.sqrt(variance)
        ends = known_ends(self.activation, root)
        return root == 0.0 or (ends is not None and bool(np.diff(ends).min() > STRAIGHT * root))

    def relu_family(
        self,
        K: Array,
        pairs: Sequence[tuple[int, int]],
        fours: Sequence[Orders],
        samples: Indices | None,
    ) -> list[Array]:
        """All means in closed form; the function itself vanishes at samples of variance zero."""
        assert self.slopes is not None
        left, right = self.slopes
        zero = np.zeros(0, dtype=np.intp)
        if self.zero_slopes:
            zero = np.flatnonzero(correlations(K).roots == 0.0)
            K = np.array(K, dtype=np.float64)
            K[zero, zero] = 1.0
        tables = closed_pair_means("relu", K, pairs, left=left, right=right) if pairs else []
        tables += self.relu_tables(K, fours, left, right, samples)
        for table in tables if zero.size else ():
            for axis in range(table.ndim):
                np.moveaxis(table, axis, 0)[zero] = 0.0
        return tables

    def relu_tables(
        self,
        K: Array,
        fours: Sequence[Orders],
        left: float,
        right: float,
        samples: Indices | None,
    ) -> list[Array]:
        """Means over quadruples; by the general method where samples nearly depend on each other.

        So are derivatives of the delta function, which corrections have.
        """
        general = [four for four in fours if not has_relu_form(four)]
        named = dict(zip(general, self.general_tables(K, general, samples), strict=True))
        closed = [four for four in fours if has_relu_form(four)]
        named |= {four: relu_quadruple_means(K, four, left, right) for four in closed}
        weak = dependent_quadruples(K) if closed else np.zeros((0, 4), dtype=np.intp)
        if samples is not None:
            wanted = set(map(tuple, np.sort(samples, axis=1).tolist()))
            weak = weak[[tuple(row) in wanted for row in np.sort(weak, axis=1).tolist()]]
        if weak.size:
            better = self.general_tables(K, closed, weak)
            for four, one in zip(closed, better, strict=True):
                np.copyto(named[four], one, where=~np.isnan(one))
        return [named[four] for four in fours]

    def general_tables(
        self, K: Array, fours: Sequence[Orders], samples: Indices | None
    ) -> list[Array]:
        """Means over quadruples, as those of any function with kinks."""
        if not fours:
            return []
        return kinked_quadruple_means(
            self.activation,
            self.kinks,
            K,
            fours,
            samples,
            self.tolerance,
            self.zero_slopes,
            self.square,
        )


def largest_variance(K: Array) -> float:
    """That of a kernel, once it is checked."""
    return float(correlations(K).roots.max()) ** 2


def refuse_lost_digits(kinks: Sequence[Kink], K: Array, pairs: Sequence[tuple[int, int]]) -> None:
    """Refuse fourth derivatives of <f' f'> where samples are alike but not the same.

    Delta functions of two samples grow like a power of 1/s, with s^2 = 1 - rho^2, and nearly
    cancel; what rounding leaves of them grows like two powers more.
    """
    first = min((k for _, jumps in kinks for k, jump in enumerate(jumps) if jump), default=0)
    powers = [a + b + 1 - 2 * first for a, b in pairs if a + b >= STEEP]
    if not powers or max(powers) < 1:
        return
    given = correlations(K)
    s = np.sqrt((1.0 - given.rho) * (1.0 + given.rho))
    least = LOST ** (1.0 / max(powers))
    alike = np.argwhere((s < least) & (np.abs(given.rho) < COINCIDENT_RHO))
    if alike.size:
        i, j = alike[0].tolist()
        raise KernelInputError(
            f"Samples {i} and {j} have a correlation of {given.rho[i, j]:.12g}. The activation has "
            "kinks, whose delta functions cancel to the last digits for samples so much alike. "
            "Give them as equal, or ask for tensors without fourth derivatives: not for H.1."
        )


def two_and_four(orders: Sequence[Sequence[int]]) -> tuple[list[tuple[int, int]], list[Orders]]:
    """Those of pairs, and those of quadruples."""
    listed = isinstance(orders, Sequence) and all(isinstance(order, Sequence) for order in orders)
    if not listed or any(len(order) not in (2, 4) for order in orders):
        raise KernelInputError(
            f"The orders are {orders!r}. They are a list with two or four numbers for each mean. "
            "Give one such as [(0, 0), (0, 0, 1, 1)]."
        )
    pairs = [(order[0], order[1]) for order in orders if len(order) == 2]
    return pairs, [tuple(order) for order in orders if len(order) == 4]


def slopes_of(activation: Sequence[Function], kinks: Sequence[Kink]) -> tuple[float, float] | None:
    """The slopes below and above zero of a function that is straight on both sides, if it is."""
    if [float(place) for place, _ in kinks] != [0.0]:
        return None
    right = np.array(SIDES)
    slopes = []
    for z in (-right, right):
        values = evaluate(activation[0], 0, z) / z
        if np.ptp(values) > 1e-14 * np.abs(values).max():
            return None
        slopes.append(float(values[1]))
    return slopes[0], slopes[1]
