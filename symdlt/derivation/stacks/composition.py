"""The steps of a layer put into each other, over whatever means and tensors are taken to be."""

from __future__ import annotations

from functools import reduce
from operator import add, mul
from typing import Generic, Protocol, Self, TypeVar

from symdlt.definitions import BOOK, SiteStep
from symdlt.derivation.stacks.evaluation import differentiate_slots
from symdlt.derivation.stacks.recursion import StackRecursion, StepRecursion
from symdlt.derivation.stacks.terms import FieldMean, FieldTensor, StepTerm


class Value(Protocol):
    """What tensors are: it is added and multiplied."""

    def __add__(self, other: Self, /) -> Self: ...
    def __mul__(self, other: Self, /) -> Self: ...


T = TypeVar("T", bound=Value)


class Reading(Protocol[T]):
    """What the parts of a term are taken to be."""

    def factor(self, step: SiteStep, term: StepTerm) -> T:
        """Its number, and its symbols and widths."""
        ...

    def mean(self, step: SiteStep, mean: FieldMean, kernel: T) -> T:
        """A Gaussian mean of functions of one field, which has that kernel."""
        ...

    def tensor(self, step: SiteStep, tensor: FieldTensor) -> T:
        """A tensor of the layer below."""
        ...


class Composition(Generic[T]):
    """Tensors of layer ℓ+1 in those of layer ℓ, of one layer that is a chain of steps.

    Args:
        reading: what numbers, means and the tensors of layer ℓ are.
        nothing: what a tensor without terms is.
    """

    def __init__(self, reading: Reading[T], nothing: T) -> None:
        self._reading, self._nothing = reading, nothing
        self._known: dict[tuple[int, str], T] = {}
        self._means: dict[tuple[int, FieldMean], T] = {}

    def __call__(self, recursion: StackRecursion) -> T:
        """The value of a tensor, whose recursion is for one input; or for several that are equal.

        Masks of which each input has a draw tell these apart.
        """
        for equation in reversed(recursion.equations):
            place = equation.step.number, equation.name
            if place not in self._known:
                self._known[place] = self._value(equation)
        return self._known[place]

    def _value(self, equation: StepRecursion) -> T:
        values = (self._term(equation.step, term) for term in equation.terms)
        return reduce(add, values, self._nothing)

    def _term(self, step: SiteStep, term: StepTerm) -> T:
        means = (self._mean(step, mean) for mean in term.means)
        tensors = (self._tensor(step, tensor) for tensor in term.tensors)
        return reduce(mul, (*means, *tensors), self._reading.factor(step, term))

    def _mean(self, step: SiteStep, mean: FieldMean) -> T:
        place = step.number, mean
        if place not in self._means:
            self._means[place] = self._computed(step, mean)
        return self._means[place]

    def _computed(self, step: SiteStep, mean: FieldMean) -> T:
        """A mean of functions; a factor that is the field itself differentiates the others."""
        field = mean.slots[0].field
        if mean.slots[0].masks:
            return self._reading.mean(step, mean, self._nothing)
        kernel = self._tensor(step, FieldTensor(BOOK["G"], 0, (field, field), (0, 0)))
        plain = next((slot for slot in mean.slots if not slot.function), None)
        if plain is None:
            return self._reading.mean(step, mean, kernel)
        place = mean.slots.index(plain)
        others = (*mean.slots[:place], *mean.slots[place + 1 :])
        total = self._nothing
        for slots, count in differentiate_slots(others, (plain.label,)):
            total = reduce(add, (self._mean(step, FieldMean(slots)),) * count, total)
        return total * kernel

    def _tensor(self, step: SiteStep, tensor: FieldTensor) -> T:
        if step.first:
            return self._reading.tensor(step, tensor)
        return self._known[step.number - 1, tensor.text(step.below, True)]
