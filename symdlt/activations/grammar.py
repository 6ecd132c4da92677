"""Reading activation functions: a small grammar, no evaluation of anything that is typed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from symdlt.errors import ActivationError, require

UNARY = (
    *("abs", "atan", "cos", "cosh", "erf", "erfc", "exp", "heaviside", "log"),
    *("relu", "sigmoid", "sign", "sin", "sinh", "sqrt", "tanh"),
)
BINARY = ("elu", "leaky_relu")
EXTREMA = ("max", "min")
CASES = ("where", "piecewise")
FUNCTIONS = tuple(sorted((*UNARY, *BINARY, *EXTREMA, *CASES)))
CAPITALS = ("Abs", "Heaviside", "Max", "Min", "Piecewise")
CONSTANTS = {"pi": "pi", "E": "e"}
VARIABLES = ("z", "x")
LONGEST = 500
DEEPEST = 60
HIGHEST = 200
MOST_DIGITS = 40
HIGHEST_EXPONENT = 99

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<=|>=|[-+*/^()<>,&|]))"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of an expression.

    Attributes:
        kind: "number", "constant", "variable", "add", "multiply", "divide", "power", "call", or
            "where".
        children: the operands; of "where" u, a and b, for a where u < 0 and b elsewhere.
        number: of a number, or the exponent of a power.
        name: of a constant or a function.
    """

    kind: str
    children: tuple[Node, ...] = ()
    number: Fraction = Fraction(0)
    name: str = ""


ONE = Node("number", (), Fraction(1))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def parse(text: str) -> Node:
    """Read a function of one variable z (or x).

    The grammar has numbers, + - * / ** (or ^), parentheses, pi, E and the functions of
    `FUNCTIONS`, also as SymPy spells them. An exponent is a number. Two arguments have
    leaky_relu(z, slope) and elu(z, alpha), two or more max and min. Cases are written
    where(z < 1, a, b) or piecewise((a, z < 1), (b, z < 2), (c, True)), their conditions with
    < <= > >= & and |.

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
    cos cosh elu erf erfc exp heaviside leaky_relu log max min piecewise relu sigmoid sign sin sinh
    sqrt tanh where.
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
class _Condition:
    """The condition u < 0, or its negation."""

    u: Node
    negated: bool

    def choose(self, first: Node, second: Node) -> Node:
        """The first where the condition holds, the second elsewhere."""
        return Node("where", (self.u, *((second, first) if self.negated else (first, second))))

    def joined(self, joint: str, other: _Condition) -> _Condition:
        """Both (max) or either (min), up to the points where a condition changes."""
        sides = tuple(negative(c.u) if c.negated else c.u for c in (self, other))
        return _Condition(Node("call", sides, name=joint), False)


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
        return (negative(node) if token.text == "-" else node), place

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
            return Node("number", (), self._number(token)), place + 1
        if token.text == "(":
            return self._enclosed(place + 1, depth + 1)
        if token.text in VARIABLES:
            return Node("variable"), place + 1
        if token.text in CONSTANTS:
            return Node("constant", (), name=CONSTANTS[token.text]), place + 1
        name = token.text.lower() if token.text in CAPITALS else token.text
        if name in FUNCTIONS and self.tokens[place + 1].text == "(":
            return self._call(name, place + 2, depth + 1)
        raise self.problem(self.tokens[place + 1] if name in FUNCTIONS else token)

    def _number(self, token: _Token) -> Fraction:
        digits, _, exponent = token.text.lower().partition("e")
        if abs(int(exponent or 0)) > HIGHEST_EXPONENT:
            raise ActivationError(
                f"The number {token.text[:60]} is out of range. It stands at position "
                f"{token.position} of {self.text[:60]!r}. "
                f"Write numbers from 1e-{HIGHEST_EXPONENT} to 1e{HIGHEST_EXPONENT}."
            )
        if sum(c.isdigit() for c in digits) > MOST_DIGITS:
            raise self.problem(token)
        return Fraction(token.text)

    def _call(self, name: str, place: int, depth: int) -> tuple[Node, int]:
        if name == "where":
            condition, place = self._condition(place, depth)
            first, place = self.sum(self._expect(",", place), depth)
            second, place = self.sum(self._expect(",", place), depth)
            return condition.choose(first, second), self._expect(")", place)
        if name == "piecewise":
            node, place = self._cases(place, depth)
            return node, self._expect(")", place)
        start = place - 2
        arguments, place = self._listed(place, depth)
        if name in EXTREMA and len(arguments) > 1:
            return reduce(lambda a, b: Node("call", (a, b), name=name), arguments), place
        if len(arguments) != (1 if name in UNARY else 2):
            raise ActivationError(
                f"The function {name} has {_counted(len(arguments))}. It stands at position "
                f"{self.tokens[start].position} of {self.text[:60]!r}. Give "
                f"{'one' if name in UNARY else 'two'}{' or more' * (name in EXTREMA)}."
            )
        return _function(name, *arguments), place

    def _listed(self, place: int, depth: int) -> tuple[list[Node], int]:
        node, place = self.sum(place, depth)
        nodes = [node]
        while self.tokens[place].text == ",":
            node, place = self.sum(place + 1, depth)
            nodes.append(node)
        return nodes, self._expect(")", place)

    def _cases(self, place: int, depth: int) -> tuple[Node, int]:
        """Pairs (value, condition); the condition of the last is True."""
        cases: list[tuple[Node, _Condition]] = []
        while True:
            value, place = self.sum(self._expect("(", place), depth)
            place = self._expect(",", place)
            if self.tokens[place].text == "True":
                place = self._expect(")", place + 1)
                break
            condition, place = self._condition(place, depth)
            cases.append((value, condition))
            place = self._expect(",", self._expect(")", place))
        for case, condition in reversed(cases):
            value = condition.choose(case, value)
        return value, place

    def _condition(self, place: int, depth: int) -> tuple[_Condition, int]:
        condition, place = self._comparison(place, depth)
        while self.tokens[place].text in ("&", "|"):
            joint = "max" if self.tokens[place].text == "&" else "min"
            other, place = self._comparison(place + 1, depth)
            condition = condition.joined(joint, other)
        return condition, place

    def _comparison(self, place: int, depth: int) -> tuple[_Condition, int]:
        if self._compares_inside(place):
            condition, place = self._condition(place + 1, depth + 1)
            return condition, self._expect(")", place)
        first, place = self.sum(place, depth)
        sign = self.tokens[place]
        if sign.text not in ("<", "<=", ">", ">="):
            raise self.problem(sign)
        second, place = self.sum(place + 1, depth)
        less, more = (first, second) if sign.text in ("<", ">=") else (second, first)
        return _Condition(_joined(less, "-", more), "=" in sign.text), place

    def _compares_inside(self, place: int) -> bool:
        """Whether an opening parenthesis holds a comparison, not a number."""
        depth = 0
        for token in self.tokens[place:]:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                return False
            if depth == 1 and token.text in ("<", "<=", ">", ">="):
                return True
        return False

    def _expect(self, sign: str, place: int) -> int:
        if self.tokens[place].text != sign:
            raise self.problem(self.tokens[place])
        return place + 1

    def _enclosed(self, place: int, depth: int) -> tuple[Node, int]:
        node, place = self.sum(place, depth)
        return node, self._expect(")", place)

    def _check(self, token: _Token, depth: int) -> None:
        if depth > DEEPEST:
            raise ActivationError(
                f"The activation is nested more than {DEEPEST} deep. "
                f"That is reached at position {token.position}. Write it with fewer parentheses."
            )


def _counted(number: int) -> str:
    return "one argument" if number == 1 else f"{number} arguments"


def _function(name: str, *arguments: Node) -> Node:
    if name == "heaviside":
        return Node("where", (*arguments, Node("number"), ONE))
    if name == "sign":
        return Node("where", (*arguments, negative(ONE), ONE))
    return Node("call", arguments, name=name)


def negative(node: Node) -> Node:
    """Minus a function."""
    return Node("multiply", (Node("number", (), Fraction(-1)), node))


def _joined(first: Node, sign: str, second: Node) -> Node:
    if sign == "-":
        return Node("add", (first, negative(second)))
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
