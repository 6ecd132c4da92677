"""Branches of a layer, and the ways in which two vertices can take them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from symdlt.algebra import Head, Kind, Polynomial
from symdlt.algebra.names import GREEK
from symdlt.definitions.short_form import WIDTH

FIELD = -1  # the order of z itself among the derivatives of σ, whose own order is 0


@dataclass(frozen=True, slots=True)
class Branch:
    r"""One summand of a layer: a constant, a random tensor, and a function of a field below.

    Attributes:
        tensor: weights or biases, drawn afresh; None where the neuron of layer ℓ is kept.
        function: what is read of layer ℓ, an activation or the preactivation itself; None for
            biases.
        coefficient: the constant in front.
        rate: the learning rate of the tensor's parameters.
    """

    tensor: Head | None
    function: Head | None
    coefficient: Polynomial
    rate: Polynomial

    @property
    def variance(self) -> Polynomial:
        """The second cumulant of its random tensor's entries, zero where it has none."""
        law = None if self.tensor is None else self.tensor.law
        return Polynomial.number(0) if law is None else law.cumulant(2)

    @property
    def summed(self) -> bool:
        """Whether it is a sum over the neurons of layer ℓ."""
        return self.tensor is not None and self.function is not None

    @property
    def kept(self) -> bool:
        """Whether it stays on its neuron of layer ℓ, as a skip does."""
        return self.tensor is None

    @property
    def order(self) -> int:
        """The derivative of σ that it reads, `FIELD` for the preactivation itself."""
        if self.function is None or self.function.kind is Kind.PREACTIVATION:
            return FIELD
        return self.function.order

    @property
    def words(self) -> tuple[str, ...]:
        """The names it is written with in the short form, for instance W and s(z)."""
        parts = [] if self.coefficient == 1 else [_factor_words(self.coefficient)]
        parts += [] if self.tensor is None else [ascii_name(self.tensor.name)]
        if self.function is not None:
            primes = "'" * self.order
            parts.append("z" if self.order == FIELD else f"s{primes}(z)")
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class Way:
    r"""One way for two vertices that share their neuron to be averaged over a new layer.

    Attributes:
        code: its letter, the tensor's in capitals for two factors that are contracted and small
            for an edge whose parameter is new; or what stays on its neuron.
        how: "contracted", "edge" or "kept".
        branches: the numbers of the branches that the two vertices take.
        orders: the derivatives of σ that the two read.
        number: the rational factor that comes with it.
        powers: the powers of the layer's symbols that come with it.
        summed: whether it brings a sum over neurons of layer ℓ, with a factor 1/n.
    """

    code: str
    how: str
    branches: tuple[int, int]
    orders: tuple[int, int]
    number: Fraction
    powers: tuple[int, ...]
    summed: bool


class AveragedBranch(Protocol):
    """A summand of a layer, for what is told of its average."""

    @property
    def tensor(self) -> Head | None:
        """Its random tensor, if it has one."""

    @property
    def summed(self) -> bool:
        """Whether it is a sum over the neurons below."""


class Averaged(Hashable, Protocol):
    """What an average over fresh weights and biases is taken of: a layer, or a step of one."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The constants."""

    @property
    def branches(self) -> Sequence[AveragedBranch]:
        """The summands."""

    @property
    def ways(self) -> Mapping[str, Way]:
        """The ways to average two vertices on one neuron, by their code."""


def names_in(factor: Polynomial) -> tuple[str, ...]:
    """The symbols of a constant, but for the width."""
    return tuple(name for m, _ in factor.terms for name, _ in m if name != WIDTH)


@lru_cache(maxsize=256)
def ascii_name(name: str) -> str:
    """Spell the Greek letters of a name.

    >>> ascii_name("λ_W"), ascii_name("ξ")
    ('lambda_W', 'xi')
    """
    return "".join(GREEK.get(letter, letter) for letter in name)


def _factor_words(coefficient: Polynomial) -> str:
    """A constant of the short form: factors with blanks between them."""
    ((monomial, number),) = coefficient.terms
    parts = [] if number == 1 else [str(number)]
    for name, power in monomial:
        parts += [ascii_name(name)] * power
    return " ".join(parts)
