"""Recursions of stacks for one input with their steps put into each other, as kernels need them."""

from __future__ import annotations

from collections.abc import Mapping

from symdlt.algebra import Polynomial
from symdlt.definitions import SiteStep, ascii_name
from symdlt.derivation import StackRecursion
from symdlt.derivation.response.symbolic.closed_systems import (
    FieldFactor,
    Read,
    ReadMean,
    ReadTensor,
)
from symdlt.derivation.response.symbolic.symbolic_means import symbol_named
from symdlt.derivation.stacks import Composition, FieldMean, FieldTensor, StepTerm

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
        self.polynomial = Composition(self, Polynomial.number(0))(recursion)

    @property
    def reads(self) -> Mapping[str, Read]:
        """What the symbols of the polynomial stand for."""
        symbols = {name for monomial, _ in self.polynomial.terms for name, _ in monomial}
        return {name: read for name, read in self._reads.items() if name in symbols}

    def factor(self, step: SiteStep, term: StepTerm) -> Polynomial:
        """The number of a term, its symbols and ratios of widths."""
        below = "n'" if step.first else f"n_{ascii_name(step.below[0])}"
        value = Polynomial.number(term.coefficient)
        value = value * (symbol_named("n") / symbol_named(below)) ** term.width_power
        for name, power in term.hyperparameters.named:
            value = value * symbol_named(name) ** power
        return value

    def mean(self, step: SiteStep, mean: FieldMean, kernel: Polynomial) -> Polynomial:
        """A mean as a symbol, which is read at the field that it is of."""
        del kernel
        names = step.below
        text = mean.text(names, True)
        factors = (
            FieldFactor(names[slot.field], slot.function, slot.order, ONLY) for slot in mean.slots
        )
        self._reads[text] = ReadMean(tuple(factors))
        return symbol_named(text)

    def tensor(self, step: SiteStep, tensor: FieldTensor) -> Polynomial:
        """A tensor of layer ℓ as a symbol."""
        name = tensor.text(step.below, True)
        self._reads[name] = ReadTensor(name, (ONLY,) * tensor.correlator.axes)
        return symbol_named(name)
