"""Recursions of stacks for one input with their steps put into each other, as kernels need them."""

from __future__ import annotations

from collections.abc import Mapping

from symdlt.algebra import Polynomial
from symdlt.definitions import BOOK, ascii_name
from symdlt.derivation import StackRecursion, StepRecursion
from symdlt.derivation.response.symbolic.closed_systems import (
    FieldFactor,
    Read,
    ReadMean,
    ReadTensor,
)
from symdlt.derivation.response.symbolic.symbolic_means import symbol_named
from symdlt.derivation.stacks import FieldMean, FieldTensor, StepTerm, differentiate_slots

ONLY = 1  # the label of the one sample


class ComposedSteps:
    """A tensor of layer ℓ+1 as a polynomial in means and in tensors of layer ℓ.

    Args:
        recursion: for one input.

    Attributes:
        polynomial: the value, whose symbols are named as they are printed.
        reads: what the symbols of means and tensors stand for.
    """

    def __init__(self, recursion: StackRecursion) -> None:
        self._reads: dict[str, Read] = {}
        self._known: dict[tuple[int, str], Polynomial] = {}
        for equation in reversed(recursion.equations):
            value = Polynomial.number(0)
            for term in equation.terms:
                value = value + self._term(equation, term)
            self._known[equation.step.number, equation.name] = value
        self.polynomial = value

    @property
    def reads(self) -> Mapping[str, Read]:
        """What the symbols of the polynomial stand for."""
        symbols = {name for monomial, _ in self.polynomial.terms for name, _ in monomial}
        return {name: read for name, read in self._reads.items() if name in symbols}

    def _term(self, equation: StepRecursion, term: StepTerm) -> Polynomial:
        below = "n'" if equation.step.first else f"n_{ascii_name(equation.step.below[0])}"
        value = Polynomial.number(term.coefficient)
        value = value * (symbol_named("n") / symbol_named(below)) ** term.width_power
        for name, power in term.hyperparameters.named:
            value = value * symbol_named(name) ** power
        for mean in term.means:
            value = value * self._mean(equation, mean)
        for tensor in term.tensors:
            value = value * self._tensor(equation, tensor)
        return value

    def _mean(self, equation: StepRecursion, mean: FieldMean) -> Polynomial:
        """A mean of functions; a factor that is the field itself differentiates the others."""
        names = equation.step.below
        plain = next((slot for slot in mean.slots if not slot.function), None)
        if plain is None:
            text = mean.text(names, True) if mean.slots else "1"
            factors = (
                FieldFactor(names[slot.field], slot.function, slot.order, ONLY)
                for slot in mean.slots
            )
            self._reads[text] = ReadMean(tuple(factors))
            return symbol_named(text)
        place = mean.slots.index(plain)
        rest = (*mean.slots[:place], *mean.slots[place + 1 :])
        total = Polynomial.number(0)
        for slots, count in differentiate_slots(rest, (plain.label,)):
            total = total + self._mean(equation, FieldMean(slots)) * count
        kernel = FieldTensor(BOOK["G"], 0, (plain.field, plain.field), (0, 0))
        return total * self._tensor(equation, kernel)

    def _tensor(self, equation: StepRecursion, tensor: FieldTensor) -> Polynomial:
        name = tensor.text(equation.step.below, True)
        if not equation.step.first:
            return self._known[equation.step.number - 1, name]
        self._reads[name] = ReadTensor(name, (ONLY,) * tensor.correlator.axes)
        return symbol_named(name)
