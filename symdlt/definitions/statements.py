"""Statements of a stack: the right side of one field, read as sums of products of sums."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, count

from symdlt.algebra import Polynomial
from symdlt.definitions.masks import MASKS
from symdlt.definitions.short_form import (
    DIVISOR,
    NUMBER,
    cannot_read,
    constant_named,
    is_number,
    reciprocal,
)
from symdlt.definitions.streams import BELOW, NORMS, Factor, earlier_step
from symdlt.errors import LayerError

_TOKEN = re.compile(
    r"\s*(?:(?P<score>[^\W\dA-Z]\w*\.[^\W\dA-Z]\w*)|"
    rf"(?P<name>[^\W\d]\w*'*(?:\[[^\]]*\])?)|(?P<number>{NUMBER})|(?P<mark>[()+-])"
    rf"|(?P<division>/\s*{DIVISOR}))"
)
_ALIASES = {"x": BELOW}  # the field below, as it is written where layers follow each other


@dataclass(frozen=True, slots=True)
class StatementProduct:
    """One product: a number, names that are no fields, and factors."""

    number: Fraction
    names: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()

    def __mul__(self, other: StatementProduct) -> StatementProduct:
        return StatementProduct(
            self.number * other.number, self.names + other.names, self.factors + other.factors
        )


class StatementReader:
    """Reads the right side of a statement: sums of products of sums."""

    def __init__(
        self,
        body: str,
        known: set[str],
        refused: Callable[[str], LayerError],
        make: Callable[[list[list[StatementProduct]], str | None], str],
        mask: Callable[[str, Fraction], str],
        score: Callable[[str, str], str],
    ) -> None:
        self.known, self.refused = known, refused
        self.make, self.mask, self.score = make, mask, score
        self.tokens: list[str] = []
        place = 0
        while place < len(body.rstrip()):
            match = _TOKEN.match(body, place)
            if match is None:
                raise refused(cannot_read(body[place:]))
            self.tokens.append(match[0].strip())
            place = match.end()
        self.place = 0

    def summands(self) -> list[list[StatementProduct]]:
        """The summands of the statement, each with its brackets multiplied out."""
        products = self._sum()
        if self.place < len(self.tokens):
            raise self.refused(f"has {self.tokens[self.place]!r} out of place")
        return products

    @property
    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def _sum(self) -> list[list[StatementProduct]]:
        summands = []
        sign = -1 if self._next == "-" else 1
        if self._next in ("+", "-"):
            self._take()
        while True:
            summands.append([StatementProduct(Fraction(sign)) * one for one in self._product()])
            if self._next not in ("+", "-"):
                return summands
            sign = -1 if self._take() == "-" else 1

    def _product(self) -> list[StatementProduct]:
        products = [StatementProduct(Fraction(1))]
        start = self.place
        while self._next and self._next not in ("+", "-", ")"):
            factor = self._factor_behind(products)
            products = [one * other for one in products for other in factor]
            while self._next[:1] == "/":
                part = StatementProduct(Fraction(reciprocal(self._take()[1:], self.refused)))
                products = [one * part for one in products]
        if self.place == start:
            raise self.refused("has an empty summand")
        return products

    def _factor_behind(self, before: list[StatementProduct]) -> list[StatementProduct]:
        """A factor, which is a field of its own if it is V s(z) or (V s(z) + z) right behind W."""
        if not all(weights_in(one) and not one.factors for one in before):
            return self._factor()
        if self._next == "(":
            self._take()
            inside = self._sum()
            self._close()
        elif self._next[:1].isupper():
            inside = [self._product()]
        else:
            return self._factor()
        products = [one for summand in inside for one in summand]
        return [_alone(self.make(inside, None))] if any(map(weights_in, products)) else products

    def _factor(self) -> list[StatementProduct]:
        word = self._take()
        if word[0] == "/":
            raise self.refused(cannot_read(word))
        if word == "(":
            inner = [one for summand in self._sum() for one in summand]
            self._close()
            return inner
        if is_number(word):
            return [StatementProduct(Fraction(word))]
        name = word.rstrip("'")
        if "." in word:
            return [_alone(self.score(*(self._known(part) for part in word.split("."))))]
        field, steps = earlier_step(word)
        if steps and not word[0].isupper():
            return [_alone(f"{field}[-{steps}]")]
        if word in MASKS:
            return [_alone(self._masked(word))]
        if self._next == "(" and not name[0].isupper():
            if word in self.known:
                raise self.refused(
                    f"has a bracket after {word}, which is a field and no function. Put the "
                    f"bracket first, as in (1 + {word}) {word}"
                )
            self._take()
            inside = [] if self._next in ("", ")") else self._sum()
            if not any(one.factors for summand in inside for one in summand):
                words = [word for summand in inside for one in summand for word in one.names]
                raise self._unknown(words[0] if words else "nothing")
            self._close()
            if name in NORMS:
                if word != name:
                    raise self.refused(f"has {word} of a field, which reads the others too")
                return [_alone(self.make(inside, word))]
            field = self.make(inside, None)
            return [
                StatementProduct(Fraction(1), (), (Factor(field, name, len(word) - len(name)),))
            ]
        if word in self.known or word in _ALIASES:
            return [_alone(self._known(word))]
        if word != name or ("[" in word and not word[0].isupper()):
            raise self.refused(f"has {word}, which is no field that was made before")
        return [StatementProduct(Fraction(1), (word,))]

    def _masked(self, name: str) -> str:
        """The field of a mask, whose rate stands in brackets."""
        bracket, rate = self._take() if self._next else "", self._take() if self._next else ""
        if bracket != "(" or not rate or not is_number(rate) or not 0 <= Fraction(rate) < 1:
            raise self.refused(
                f"has {name} without the part of the neurons that is dropped, a number from 0 up "
                f"to below 1, as in {name}(0.1) s(z)"
            )
        self._close()
        return self.mask(name, Fraction(rate))

    def _known(self, word: str) -> str:
        """The field of a name."""
        if word not in self.known and word not in _ALIASES:
            raise self._unknown(word)
        return _ALIASES.get(word, word)

    def _unknown(self, word: str) -> LayerError:
        return self.refused(
            f"reads {word} before it is made. Fields that can be read here are "
            f"{', '.join(sorted(self.known))}"
        )

    def _close(self) -> None:
        if self._next != ")":
            raise self.refused("has a bracket that is not closed")
        self._take()


def weights_in(product: StatementProduct) -> list[str]:
    """The names of weights among those of a product."""
    return [name for name in product.names if name[0].isupper()]


def _alone(field: str) -> StatementProduct:
    """A field itself."""
    return StatementProduct(Fraction(1), (), (Factor(field),))


def field_of(summands: list[list[StatementProduct]]) -> str | None:
    """The name of a field that stands alone."""
    products = [one for summand in summands for one in summand]
    if len(products) == 1 and products[0].number == 1 and not products[0].names:
        factors = products[0].factors
        if len(factors) == 1 and factors[0].function is None:
            return factors[0].field
    return None


def free_name(summands: list[list[StatementProduct]], taken: set[str]) -> str:
    """A name for a field without one: the letter of its first weights, small, if it is free."""
    letters = (name for summand in summands for one in summand for name in weights_in(one))
    letter = next((name[0].lower() for name in letters), "h")
    names = chain([letter], (f"{letter}{k}" for k in count(2)))
    return next(name for name in names if name not in taken)


def constant_of(product: StatementProduct) -> Polynomial:
    """The number and the symbols of a product."""
    constant = Polynomial.number(product.number)
    for name in product.names:
        constant = constant * constant_named(name)
    return constant
