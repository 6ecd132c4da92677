"""A reader of recursions printed for one input and without layers: LaTeX to a sum of products.

It knows the grammar of formulas (products, brackets, fractions, powers) and nothing of how they are
printed.
"""

import re
from collections import Counter
from fractions import Fraction

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+|\S")
_SPACE = re.compile(r"\\begin\{align\*\}|\\end\{align\*\}|\\\\|&|\\q?quad|\\times|\\,|\\ ")
_SIGMA = re.compile(r"\\sigma('*)(?:\^\{\((\d+)\)\})?")
_INSERTED = {"": 0, "z": 1, r"\bigl(z^{2}-K\bigr)": 2}
_WICK_ORDERED = re.compile(r"\{:\}z\^\{(\d+)\}\{:\}")
_RATIO = r"\frac{n_{\ell}}{n_{\ell-1}}"


def read_equation(latex):
    """The left-hand side as an atom, and the right-hand side as {monomial: coefficient}."""
    text = _SPACE.sub(" ", latex)
    left, right = text.split("=", 1)
    (head,) = read_sum(left)
    ((atom, _),) = head
    return atom, read_sum(right)


def read_sum(text):
    reader = Reader(text)
    total = reader.total()
    assert not reader.peek(), f"{reader.peek()} is left over"
    return total


class Reader:
    """A cursor over the tokens of a formula."""

    def __init__(self, text):
        self.tokens = _TOKEN.findall(text.replace(_RATIO, "r"))
        self.place = 0

    def peek(self):
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *expected):
        token = self.peek()
        assert token, "the formula ends too early"
        assert not expected or token in expected, f"{token} where one of {expected} was due"
        self.place += 1
        return token

    def total(self):
        """A sum of signed products, up to a closing delimiter."""
        result = Counter()
        while True:
            sign = Fraction(-1 if self.peek() == "-" else 1)
            if self.peek() in ("+", "-"):
                self.take()
            for monomial, number in self.product().items():
                result[monomial] += sign * number
            if self.peek() not in ("+", "-"):
                return {m: n for m, n in result.items() if n}

    def product(self):
        result = {(): Fraction(1)}
        while self.peek() and self.peek() not in ("+", "-", "}", ")", "]", r"\right", r"\Bigr"):
            result = multiply(result, self.factor())
        return result

    def factor(self):
        token = self.take()
        if token.isdigit():
            return {(): Fraction(int(token))}
        if token in (r"\frac", r"\tfrac"):
            above, below = self.group(), self.group()
            ((monomial, number),) = below.items()
            return multiply(above, {tuple((a, -p) for a, p in monomial): 1 / number})
        if token == r"\Bigl":
            self.take("[")
            inside = self.total()
            self.take(r"\Bigr")
            self.take("]")
            return inside
        if token == r"\left" and self.peek() == "(":
            self.take()
            inside = self.total()
            self.take(r"\right")
            self.take(")")
            return power(inside, self.exponent())
        if token == r"\left":
            return self.bracket()
        return self.symbol(token)

    def group(self):
        self.take("{")
        inside = self.total()
        self.take("}")
        return inside

    def raw(self):
        """The text of a group in braces, or of a single token."""
        first = self.take()
        if first != "{":
            return first
        depth, text = 1, ""
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")
            text += token if depth else ""
        return text

    def exponent(self):
        if self.peek() != "^":
            return 1
        self.take()
        return int(self.raw())

    def bracket(self):
        self.take(r"\langle")
        text = ""
        while self.tokens[self.place : self.place + 2] != [r"\right", r"\rangle"]:
            text += self.take()
        self.take(r"\right")
        self.take(r"\rangle")
        self.take("_")
        assert self.raw() == "K"
        return power({((bracket_atom(text), 1),): Fraction(1)}, self.exponent())

    def symbol(self, name):
        below = above = ""
        while self.peek() in ("_", "^"):
            if self.take() == "_":
                assert not below
                below = self.raw()
            else:
                assert not above
                above = self.raw()
        if above.isdigit():
            return {(((name, below, ""), int(above)),): Fraction(1)}
        return {(((name, below, above), 1),): Fraction(1)}


def bracket_atom(text):
    """The orders of the derivatives and the number of inserted preactivations."""
    orders = tuple(int(order or len(primes)) for primes, order in _SIGMA.findall(text))
    inserted = _SIGMA.sub("", text)
    ordered = _WICK_ORDERED.fullmatch(inserted)
    return "bracket", orders, int(ordered[1]) if ordered else _INSERTED[inserted]


def multiply(first, second):
    result = Counter()
    for a, p in first.items():
        for b, q in second.items():
            exponents = Counter(dict(a))
            for atom, exponent in b:
                exponents[atom] += exponent
            monomial = tuple(sorted(((x, e) for x, e in exponents.items() if e), key=repr))
            result[monomial] += p * q
    return dict(result)


def power(base, exponent):
    result = {(): Fraction(1)}
    for _ in range(exponent):
        result = multiply(result, base)
    return result
