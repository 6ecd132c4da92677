"""Reading activation functions: a small grammar, no evaluation of anything that is typed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from symdlt.errors import ActivationError, require

FUNCTIONS = (
    *("abs", "atan", "cos", "cosh", "erf", "exp", "log"),
    *("relu", "sigmoid", "sin", "sinh", "sqrt", "tanh"),
)
CONSTANTS = {"pi": "pi", "E": "e"}
VARIABLES = ("z", "x")
LONGEST = 500
DEEPEST = 60
HIGHEST = 200
MOST_DIGITS = 40

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|[-+*/^()]))"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of an expression.

    Attributes:
        kind: "number", "constant", "variable", "add", "multiply", "divide", "power", or "call".
        children: the operands.
        number: of a number, or the exponent of a power.
        name: of a constant or a function.
    """

    kind: str
    children: tuple[Node, ...] = ()
    number: Fraction = Fraction(0)
    name: str = ""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def parse(text: str) -> Node:
    """Read a function of one variable z (or x).

    The grammar has numbers, + - * / ** (or ^), parentheses, pi, E and the functions of
    `FUNCTIONS`. An exponent is a number.

    Args:
        text: for instance "tanh(z) - tanh(2*z)/8".

    Raises:
        ActivationError: with the position of what cannot be read.

    >>> parse("z").kind
    'variable'
    >>> parse("__import__('os')")
    Traceback (most recent call last):
        ...
    symdlt.errors.ActivationError: Cannot read "'" in an activation. It stands at position 11 of
    "__import__('os')". Write numbers, + - * / **, parentheses, z, pi, E and the functions abs atan
    cos cosh erf exp log relu sigmoid sin sinh sqrt tanh.
    """
    require(text, str, "the text of an activation", "Write one such as 'tanh(z)'.")
    if len(text) > LONGEST:
        raise ActivationError(
            f"The activation has {len(text)} characters. It starts with {text[:20]!r}. "
            f"Write it with at most {LONGEST}."
        )
    reader = _Reader(text, _tokens(text))
    node, place = reader.sum(0, 0)
    token = reader.tokens[place]
    if token.kind != "end":
        raise reader.problem(token)
    if _degree(node) > HIGHEST:
        raise ActivationError(
            f"The activation {text[:60]!r} holds a power beyond {HIGHEST}. "
            "Such numbers do not fit into memory when they are nested. Use smaller powers."
        )
    names = {t.text for t in reader.tokens if t.text in VARIABLES}
    if len(names) > 1:
        raise ActivationError(
            f"The activation {text[:60]!r} has two variables, x and z. "
            "It must be a function of one preactivation. Use one of them only."
        )
    return node


def _tokens(text: str) -> tuple[_Token, ...]:
    tokens, place, end = [], 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if not found or found.lastgroup is None:
            blank = len(text[place:]) - len(text[place:].lstrip())
            raise _unreadable(text, text[place + blank], place + blank)
        kind = found.lastgroup
        tokens.append(_Token(kind, found[kind], found.start(kind)))
        place = found.end()
    return (*tokens, _Token("end", "", end))


def _unreadable(text: str, what: str, position: int) -> ActivationError:
    shown = repr(what) if what else "the end"
    return ActivationError(
        f"Cannot read {shown} in an activation. It stands at position {position} of "
        f"{text[:60]!r}. Write numbers, + - * / **, parentheses, z, pi, E and the functions "
        f"{' '.join(FUNCTIONS)}."
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """A recursive descent; every method takes a place and returns a node and the next place."""

    text: str
    tokens: tuple[_Token, ...]

    def problem(self, token: _Token) -> ActivationError:
        return _unreadable(self.text, token.text, token.position)

    def sum(self, place: int, depth: int) -> tuple[Node, int]:
        return self._chain(place, depth, "+-", self.product)

    def product(self, place: int, depth: int) -> tuple[Node, int]:
        return self._chain(place, depth, "*/", self.signed)

    def _chain(
        self,
        place: int,
        depth: int,
        signs: str,
        operand: Callable[[int, int], tuple[Node, int]],
    ) -> tuple[Node, int]:
        node, place = operand(place, depth)
        while self.tokens[place].text and self.tokens[place].text in signs:
            sign = self.tokens[place].text
            other, place = operand(place + 1, depth)
            node = _joined(node, sign, other)
        return node, place

    def signed(self, place: int, depth: int) -> tuple[Node, int]:
        token = self.tokens[place]
        if token.text not in ("+", "-"):
            return self.power(place, depth)
        self._check(token, depth)
        node, place = self.signed(place + 1, depth + 1)
        return (_negative(node) if token.text == "-" else node), place

    def power(self, place: int, depth: int) -> tuple[Node, int]:
        base, place = self.atom(place, depth)
        token = self.tokens[place]
        if token.text not in ("**", "^"):
            return base, place
        self._check(token, depth)
        above, place = self.signed(place + 1, depth + 1)
        exponent = _rational(above)
        if exponent is None:
            raise ActivationError(
                f"An exponent is not a number of moderate size. It stands after position "
                f"{token.position} of {self.text[:60]!r}. Write exp(...) for other powers."
            )
        return Node("power", (base,), exponent), place

    def atom(self, place: int, depth: int) -> tuple[Node, int]:
        token = self.tokens[place]
        self._check(token, depth)
        if token.kind == "number":
            if sum(c.isdigit() for c in token.text) > MOST_DIGITS:
                raise self.problem(token)
            return Node("number", (), Fraction(token.text)), place + 1
        if token.text == "(":
            return self._enclosed(place + 1, depth + 1)
        if token.text in VARIABLES:
            return Node("variable"), place + 1
        if token.text in CONSTANTS:
            return Node("constant", (), name=CONSTANTS[token.text]), place + 1
        name = token.text.lower() if token.text == "Abs" else token.text
        if name in FUNCTIONS and self.tokens[place + 1].text == "(":
            argument, place = self._enclosed(place + 2, depth + 1)
            return Node("call", (argument,), name=name), place
        raise self.problem(self.tokens[place + 1] if name in FUNCTIONS else token)

    def _enclosed(self, place: int, depth: int) -> tuple[Node, int]:
        node, place = self.sum(place, depth)
        if self.tokens[place].text != ")":
            raise self.problem(self.tokens[place])
        return node, place + 1

    def _check(self, token: _Token, depth: int) -> None:
        if depth > DEEPEST:
            raise ActivationError(
                f"The activation is nested more than {DEEPEST} deep. "
                f"That is reached at position {token.position}. Write it with fewer parentheses."
            )


def _negative(node: Node) -> Node:
    return Node("multiply", (Node("number", (), Fraction(-1)), node))


def _joined(first: Node, sign: str, second: Node) -> Node:
    if sign == "-":
        return Node("add", (first, _negative(second)))
    return Node({"+": "add", "*": "multiply", "/": "divide"}[sign], (first, second))


def _rational(node: Node) -> Fraction | None:
    """The value of an exponent, or None if it is no rational number of moderate size."""
    if node.kind == "number":
        return node.number
    parts = [_rational(child) for child in node.children]
    if node.kind not in ("add", "multiply", "divide") or None in parts:
        return None
    first, second = (part for part in parts if part is not None)
    if node.kind == "divide":
        return first / second if second else None
    return first + second if node.kind == "add" else first * second


def _degree(node: Node) -> Fraction:
    """A bound on how high the powers in an expression get when it is multiplied out."""
    inner = [_degree(child) for child in node.children] or [Fraction(1)]
    if node.kind == "power":
        size = max(abs(node.number), Fraction(node.number.denominator))
        return inner[0] * max(size, Fraction(1))
    return sum(inner, Fraction(0)) if node.kind in ("multiply", "divide") else max(inner)
