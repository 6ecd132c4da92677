"""What a step of a layer adds up: fresh weights and biases, what they read, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from symdlt.algebra import Head
from symdlt.definitions.windows import Window

Monomial = tuple[Fraction, tuple[int, ...]]  # a number, and the powers of the symbols


@dataclass(frozen=True, slots=True, order=True)
class SiteFactor:
    """A function of one field at a neuron.

    Attributes:
        field: the number of the field among those of its site; masks come behind them.
        function: the name of the activation; empty for the field itself, `MASK` for a mask.
        order: which derivative of it.
    """

    field: int
    function: str
    order: int = 0

    @property
    def slope(self) -> tuple[SiteFactor, ...]:
        """Its derivative along its field: none for the field itself, whose slope is 1."""
        return (replace(self, order=self.order + 1),) if self.function else ()


SiteProduct = tuple[SiteFactor, ...]


@dataclass(frozen=True, slots=True)
class SiteBranch:
    """Fresh biases of a field, weights and the function that they read, or a field that is kept.

    Attributes:
        field: the number of the field that it is a summand of.
        tensor: the random tensor; None for a field that stays on its neuron.
        products: of weights, the products that their function is a sum of, with what multiplies
            each; the field that is kept; none for biases.
        coefficient: what multiplies biases, or the field that is kept.
        rate: the learning rate of its parameters, for weights without the width under it, nor the
            number of positions; None for a field that is kept.
        window: the positions that weights read.
    """

    field: int
    tensor: Head | None
    products: tuple[tuple[Monomial, SiteProduct], ...]
    coefficient: Monomial
    rate: Monomial | None = None
    window: Window | None = None

    @property
    def summed(self) -> bool:
        """Whether it is a sum over neurons."""
        return bool(self.products) and self.tensor is not None
