"""Slow and plain evaluation of the recursions of a stack, term by term and index by index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from symdlt.definitions import BELOW
from symdlt.derivation.stacks import StackRecursion, StepRecursion

Index = tuple[int, ...]


class StackValues:
    """The tensors of all fields inside one layer, at any index, and that of the layer above.

    Args:
        recursion: for many inputs, or for one.
        lower: of tensors of layer ℓ by name, what gives an entry at an index.
        mean: the mean of pairs ((function, order), sample) over one field, given its name and
            its kernel as a function of two samples.
        hyper: the symbols of the layer by name.
        ratios: the ratios of widths as they are printed, "(n/n')" and such.
    """

    def __init__(
        self,
        recursion: StackRecursion,
        lower: Mapping[str, Callable[[Index], Any]],
        mean: Callable[..., Any],
        hyper: Mapping[str, Any],
        ratios: Mapping[str, Any],
    ) -> None:
        self.recursion, self.lower, self.mean = recursion, lower, mean
        self.hyper, self.ratios = hyper, ratios
        self.equations = {(one.step.number, one.name): one for one in recursion.equations}
        self.entry = cache(self._entry)

    def value(self, index: Index) -> Any:
        """The tensor of the layer above at an index."""
        return self._of(self.recursion.equations[0], index)

    def _entry(self, site: int, name: str, index: Index) -> Any:
        if site < 0:
            return self.lower[name](index)
        return self._of(self.equations[site, name], index)

    def _of(self, equation: StepRecursion, index: Index) -> Any:
        names, below = equation.step.below, equation.step.number - 1
        places = dict(zip(equation.samples, index, strict=True))
        if equation.single_input:
            places = {equation.samples[0]: index[0]}
        parts = []
        for term in equation.terms:
            number = term.coefficient * self.ratios[equation.ratio] ** term.width_power
            for name, power in term.hyperparameters.named:
                number *= self.hyper[name] ** power
            for one in term.tensors:
                own = self.name(one, names)
                number *= self.entry(below, own, tuple(places[s] for s in one.samples))
            for mean in term.means:
                field = equation.step.read[mean.slots[0].field]
                kernel = "G" if names == (BELOW,) else f"G^{field}"
                number *= self.mean(
                    field,
                    tuple(((s.function, s.order), places[s.sample]) for s in mean.slots),
                    lambda a, b, kernel=kernel: self.entry(below, kernel, tuple(sorted((a, b)))),
                )
            parts.append(number)
        while len(parts) > 1:  # two and two: long polynomials are not gone through for each term
            parts = [sum(parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return parts[0] if parts else 0

    @staticmethod
    def name(one: Any, names: tuple[str, ...]) -> str:
        """The tensor as its equation is named."""
        return one.text(names, single=True)
