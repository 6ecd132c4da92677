r"""Recursions of layers that are chains of steps as series, in what the kernel of z is.

Put into each other, the steps give a tensor of layer ℓ+1 as a polynomial in learning rates and
tensors of layer ℓ, whose coefficients are functions of K alone: the kernels of the fields inside
are, and so are Gaussian means over these fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import factorial
from operator import mul
from typing import Generic

from symdlt.activations.rings import E
from symdlt.definitions import BOOK, SiteStep, ascii_name
from symdlt.derivation.stacks import (
    Composition,
    FieldMean,
    FieldTensor,
    StackRecursion,
    StepTerm,
)
from symdlt.errors import SolutionError
from symdlt.fixed_points.laurent import Laurent, composed
from symdlt.fixed_points.moments import gaussian_moments

# Functions of one field by their names, each with the number of its derivatives.
Functions = tuple[tuple[str, int], ...]
# Powers of the learning rates, and names of the tensors of layer ℓ.
Key = tuple[tuple[int, ...], tuple[str, ...]]
Means = Callable[[Functions, Laurent[E]], Laurent[E]]


@dataclass(frozen=True, slots=True)
class Graded(Generic[E]):
    """A polynomial in learning rates and tensors of layer ℓ, with series as coefficients.

    Attributes:
        parts: the coefficient of each product of these.
    """

    parts: Mapping[Key, Laurent[E]]

    def __add__(self, other: Graded[E]) -> Graded[E]:
        sums = dict(self.parts)
        for key, series in other.parts.items():
            sums[key] = sums[key] + series if key in sums else series
        return Graded(sums)

    def __mul__(self, other: Graded[E]) -> Graded[E]:
        sums: dict[Key, Laurent[E]] = {}
        for (powers, tensors), first in self.parts.items():
            for (more, others), second in other.parts.items():
                total = tuple(a + b for a, b in zip(powers, more, strict=True))
                key = total, tuple(sorted((*tensors, *others)))
                product = first * second
                sums[key] = sums[key] + product if key in sums else product
        return Graded(sums)


@dataclass(frozen=True, slots=True)
class StepSeries(Generic[E]):
    """What the parts of steps are as series, for `Composition`.

    Attributes:
        symbols: values of the symbols of the layer but for learning rates, and under the name of
            its first field the ratio of the width of z to that of each site.
        rates: the names of the learning rates.
        means: Gaussian means of functions of a field with that kernel.
        kernel: K.
        one: the number 1.
    """

    symbols: Mapping[str, E]
    rates: tuple[str, ...]
    means: Means[E]
    kernel: Laurent[E]
    one: Laurent[E]

    @property
    def plain(self) -> Key:
        """The key of what has no learning rates and no tensors."""
        return (0,) * len(self.rates), ()

    @property
    def composition(self) -> Composition[Graded[E]]:
        """What puts the steps of a layer into each other."""
        nothing: Graded[E] = Graded({})
        return Composition(self, nothing)

    def factor(self, step: SiteStep, term: StepTerm) -> Graded[E]:
        """The number of a term, its symbols and ratios of widths, at equal widths of z."""
        one = self.one.coefficients[0]
        value = one * term.coefficient.numerator / term.coefficient.denominator
        powers = dict.fromkeys(self.rates, 0)
        for name, power in term.hyperparameters.named:
            if name in powers:
                powers[name] = power
            else:
                value = reduce(mul, (self.symbols[name],) * power, value)
        if term.width_power and not step.first:
            ratio = self.symbols[ascii_name(step.below[0])]
            value = reduce(mul, (ratio,) * term.width_power, value)
        return Graded({(tuple(powers.values()), ()): self.one.scaled(value)})

    def mean(self, step: SiteStep, mean: FieldMean, kernel: Graded[E]) -> Graded[E]:
        """A Gaussian mean as a series, or the number that one of a mask is."""
        if mean.slots[0].masks:
            _, mask = step.masks[mean.slots[0].field - len(step.below)]
            number = mask.mean([slot.sample for slot in mean.slots])
            unit = self.one.coefficients[0]
            value = unit * number.numerator / number.denominator
            return Graded({self.plain: self.one.scaled(value)})
        functions = tuple(sorted((slot.function, slot.order) for slot in mean.slots))
        return Graded({self.plain: self.means(functions, kernel.parts[self.plain])})

    def tensor(self, step: SiteStep, tensor: FieldTensor) -> Graded[E]:
        """A tensor of layer ℓ: the series of the kernel, or itself."""
        if tensor.correlator == BOOK["G"] and not tensor.piece:
            return Graded({self.plain: self.kernel})
        powers, _ = self.plain
        return Graded({(powers, (tensor.text(step.below, True),)): self.one})


def highest_derivative(recursions: Iterable[StackRecursion]) -> int:
    """The highest derivative of a function in a mean; a field beside them brings one more."""
    means = (mean for one in recursions for term in one.terms for mean in term.means)
    return max(
        (
            max(slot.order for slot in mean.slots) + sum(not slot.function for slot in mean.slots)
            for mean in means
        ),
        default=0,
    )


class SmallKernelMeans(Generic[E]):
    r"""Gaussian means of smooth functions of a field whose kernel is small, by its moments.

    $$\Bigl\langle \prod_a f_a \Bigr\rangle_\kappa = \sum_k (2k-1)!!\,\kappa^k\,[z^{2k}]
      \prod_a f_a(z)$$

    Args:
        derivatives: of each function by its name, those at zero: f(0), f'(0), f''(0), …
    """

    def __init__(self, derivatives: Mapping[str, Sequence[E]]) -> None:
        self._derivatives = derivatives
        self._known: dict[tuple[Functions, int], tuple[E, ...]] = {}

    def __call__(self, functions: Functions, kernel: Laurent[E]) -> Laurent[E]:
        """The mean as a series in what the kernel is one in.

        Raises:
            SolutionError: if the kernel of the field does not vanish with K.
        """
        constant = kernel.coefficients[0]
        if constant != 0 * constant:
            raise SolutionError(
                "a field inside the layer has a kernel where z has none, by a function that is not "
                "zero at zero. Means of small kernels are of fields that all have one. Subtract "
                "the value at zero."
            )
        place = functions, len(kernel.coefficients)
        if place not in self._known:
            self._known[place] = self._moments(*place)
        return composed(self._known[place], kernel)

    def _moments(self, functions: Functions, length: int) -> tuple[E, ...]:
        """The coefficients of powers of κ."""
        factors = (
            [self._derivatives[name][order + j] / factorial(j) for j in range(2 * length - 1)]
            for name, order in functions
        )
        return gaussian_moments(factors, length)
