"""Sums of products that remember how they were made: the numbers of a derivation with an account.

An `Account` is added and multiplied as a polynomial is. Its terms are words, one letter after the
other: the factors that were multiplied, and the reasons that were noted between them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from symdlt.algebra import Polynomial
from symdlt.algebra.polynomial import Monomial, gather

Letter: TypeAlias = str | Polynomial  # a reason, or a factor that is one product
Word: TypeAlias = tuple[Letter, ...]
Value: TypeAlias = "Account | Polynomial | Fraction | int"
UNIT = Polynomial.number(1)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a derivation.

    Attributes:
        reason: what is done.
        factor: what it brings, one product.
    """

    reason: str
    factor: Polynomial


Way: TypeAlias = tuple[Step, ...]


class Account:
    r"""A sum of words.

    Args:
        words: the summands, some of them perhaps alike.

    >>> a, b = Polynomial.symbol("a"), Polynomial.symbol("b")
    >>> twice = Account.noted("a first step") * a * (b + 2)
    >>> print(twice.value)
    a b + 2 a
    >>> for (way,) in twice.ways().values():
    ...     print([(step.reason, str(step.factor)) for step in way])
    [('a first step', 'a b')]
    [('a first step', '2 a')]
    """

    __slots__ = ("words",)

    def __init__(self, words: Iterable[Word]) -> None:
        self.words = tuple(words)

    @classmethod
    def noted(cls, reason: str) -> Account:
        """A reason, to be multiplied with what it is the reason of."""
        return cls([(reason,)])

    @classmethod
    def of(cls, value: Value) -> Account:
        """An account of what has none."""
        if isinstance(value, Account):
            return value
        whole = value if isinstance(value, Polynomial) else Polynomial.number(value)
        return cls((Polynomial((term,)),) for term in whole.terms)

    @property
    def value(self) -> Polynomial:
        """What it amounts to."""
        numbers: defaultdict[Monomial, Fraction | int] = defaultdict(int)
        for word in self.words:
            ((product, number),) = value_of(word).terms
            numbers[product] += number
        return gather(numbers.items())

    def ways(self) -> dict[Monomial, list[Way]]:
        """Of each product the ways in which it is made; ways that are alike are one."""
        alike: defaultdict[Monomial, Counter[Way]] = defaultdict(Counter)
        for word in self.words:
            ((product, _),) = value_of(word).terms
            alike[product][_steps(word)] += 1
        return {
            product: [_times(way, count) for way, count in counts.items()]
            for product, counts in alike.items()
        }

    def __add__(self, other: Value) -> Account:
        if not isinstance(other, Account | Polynomial | Fraction | int):
            return NotImplemented
        return Account(self.words + Account.of(other).words)

    __radd__ = __add__

    def __mul__(self, other: Value) -> Account:
        if not isinstance(other, Account | Polynomial | Fraction | int):
            return NotImplemented
        return _product(self, Account.of(other))

    def __rmul__(self, other: Value) -> Account:
        if not isinstance(other, Account | Polynomial | Fraction | int):
            return NotImplemented
        return _product(Account.of(other), self)

    def __neg__(self) -> Account:
        return self * -1

    def __pow__(self, power: int) -> Account:
        """A product with itself, some times."""
        return reduce(_product, [self] * power)

    def __truediv__(self, other: Polynomial) -> Account:
        """Divide by one product; its place is behind the first reason."""
        if not isinstance(other, Polynomial):
            return NotImplemented
        inverse = UNIT / other
        return Account((*word[:1], inverse, *word[1:]) for word in self.words)

    def __bool__(self) -> bool:
        return bool(self.words)


def _product(left: Account, right: Account) -> Account:
    for one, other in ((left, right), (right, left)):
        if one.words == ((UNIT,),):
            return other
    return Account(word + other for word in left.words for other in right.words)


def value_of(word: Word) -> Polynomial:
    """The product of all factors of a word."""
    value = UNIT
    for letter in word:
        if isinstance(letter, Polynomial):
            value = value * letter
    return value


def _steps(word: Word) -> Way:
    """Each reason with the product of the factors up to the next one."""
    steps: list[Step] = []
    before = UNIT  # factors before the first reason are of its step
    for letter in word:
        if isinstance(letter, str):
            steps.append(Step(letter, UNIT if steps else before))
        elif steps:
            steps[-1] = Step(steps[-1].reason, steps[-1].factor * letter)
        else:
            before = before * letter
    return tuple(steps)


def _times(way: Way, count: int) -> Way:
    """A way that is found several times, with their number at its last step."""
    *first, last = way
    return (*first, Step(last.reason, last.factor * count))
