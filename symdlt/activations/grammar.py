"""Reading activation functions: a small grammar, no evaluation of anything that is typed in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, reduce

from symdlt.activations.functions import FUNCTIONS, TABLE, known_name, suggestion
from symdlt.activations.nodes import Node, Z, check_size, degree, joined, negative, rational
from symdlt.errors import ActivationError, require

CASES = ("piecewise", "where")
NAMES = tuple(sorted((*FUNCTIONS, *CASES)))
CONSTANTS = {"pi": "pi", "E": "e"}
VARIABLES = ("z", "x")
EXTREMA = ("max", "min")
# Bounds against texts that are made to exhaust memory or the stack, far beyond any activation.
LONGEST = 500
DEEPEST = 60  # a bound: brackets in brackets
HIGHEST = 200  # a bound: the degree, powers of powers multiplied out
MOST_DIGITS = 40  # of one number
HIGHEST_EXPONENT = 99  # of ten, in a number such as 1e99

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<=|>=|[-+*/^()<>,&|]))"
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def parse(text: str) -> Node:
    """Read a function of one variable z (or x).

    The grammar has numbers, + - * / ** (or ^), parentheses, pi, E and the functions of the table
    in `functions`, in any case, with or without underscores. An exponent is a number. max and min
    have two or more arguments. Cases are written where(z < 1, a, b) or
    piecewise((a, z < 1), (b, z < 2), (c, True)), their conditions with < <= > >= & and |.

    Args:
        text: for instance "tanh(z) - tanh(2*z)/8".

    Raises:
        ActivationError: with the position of what cannot be read.

    >>> parse("z").kind
    'variable'
    >>> parse("__import__('os')")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    symdlt.errors.ActivationError: Cannot read "'" in an activation. It stands at position 11 of
    "__import__('os')". Write numbers, + - * / **, parentheses, z, pi, E, the functions abs ...
    where, and activations by name as in gelu(z/2).
    """
    require(text, str, "the text of an activation", "Write one such as 'tanh(z)'.")
    if len(text) > LONGEST:
        raise ActivationError(
            f"The activation has {len(text)} characters. It starts with {text[:20]!r}. "
            f"Write it with at most {LONGEST}."
        )
    node = _read(text, dict.fromkeys(VARIABLES, Z))
    check_size(node)
    if degree(node) > HIGHEST:
        raise ActivationError(
            f"The activation {text[:60]!r} holds a power beyond {HIGHEST}. "
            "Such numbers do not fit into memory when they are nested. Use smaller powers."
        )
    if len({t.text for t in _tokens(text) if t.text in VARIABLES}) > 1:
        raise ActivationError(
            f"The activation {text[:60]!r} has two variables, x and z. "
            "It must be a function of one preactivation. Use one of them only."
        )
    return node


@cache
def rule(text: str) -> Node:
    """A form or a slope of the table as a function of its variables u and v."""
    return _read(text, {name: Node("variable", name=name) for name in "uv"})


def _read(text: str, variables: Mapping[str, Node]) -> Node:
    return _Reader(text, _tokens(text), variables).whole()


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[_Token, ...]:
    tokens, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if not match or match.lastgroup is None:
            blank = len(text[place:]) - len(text[place:].lstrip())
            raise _unreadable(text, text[place + blank], place + blank)
        kind = match.lastgroup
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        place = match.end()
    return (*tokens, _Token("end", "", end))


def _unreadable(text: str, what: str, position: int, hint: str = "") -> ActivationError:
    shown = repr(what) if what else "the end"
    return ActivationError(
        f"Cannot read {shown} in an activation. It stands at position {position} of "
        f"{text[:60]!r}. {hint}Write numbers, + - * / **, parentheses, z, pi, E, the functions "
        f"{' '.join(NAMES)}, and activations by name as in gelu(z/2)."
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


@dataclass(slots=True)
class _Reader:
    """A recursive descent; each method reads what its name says and leaves its place behind it."""

    text: str
    tokens: tuple[_Token, ...]
    variables: Mapping[str, Node]
    place: int = 0
    depth: int = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def take(self, *texts: str) -> str:
        """The next token if it is one of these, which is then behind, or an empty text."""
        text = self.token.text
        if not text or text not in texts:
            return ""
        self.place += 1
        return text

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise self.problem(self.token)

    def problem(self, token: _Token, hint: str = "") -> ActivationError:
        return _unreadable(self.text, token.text, token.position, hint)

    def nested(self, read: Callable[[], Node]) -> Node:
        """What stands one level deeper."""
        if self.depth == DEEPEST:
            raise ActivationError(
                f"The activation is nested more than {DEEPEST} deep. That is reached at position "
                f"{self.token.position}. Write it with fewer parentheses."
            )
        self.depth += 1
        node = read()
        self.depth -= 1
        return node

    def whole(self) -> Node:
        node = self.sum()
        if self.token.kind != "end":
            raise self.problem(self.token)
        return node

    def sum(self) -> Node:
        node = self.product()
        while sign := self.take("+", "-"):
            node = joined(node, sign, self.product())
        return node

    def product(self) -> Node:
        node = self.signed()
        while sign := self.take("*", "/"):
            node = joined(node, sign, self.signed())
        return node

    def signed(self) -> Node:
        sign = self.take("+", "-")
        if not sign:
            return self.power()
        node = self.nested(self.signed)
        return negative(node) if sign == "-" else node

    def power(self) -> Node:
        base = self.atom()
        token = self.token
        if not self.take("**", "^"):
            return base
        exponent = rational(self.nested(self.signed))
        if exponent is None:
            raise ActivationError(
                f"An exponent is not a number of moderate size. It stands after position "
                f"{token.position} of {self.text[:60]!r}. Write exp(...) for other powers."
            )
        return Node("power", (base,), exponent)

    def atom(self) -> Node:
        token = self.token
        if token.kind == "end":
            raise self.problem(token)
        self.place += 1
        if token.kind == "number":
            return Node("number", (), self._number(token))
        if token.text == "(":
            return self.nested(self._enclosed)
        if token.text in self.variables:
            return self.variables[token.text]
        if token.text in CONSTANTS:
            return Node("constant", (), name=CONSTANTS[token.text])
        lower = token.text.lower()
        name = lower if lower in CASES else known_name(token.text) if token.kind == "name" else ""
        if not name:
            raise self.problem(token, suggestion(token.text) if token.kind == "name" else "")
        self.expect("(")
        if name in CASES:
            return self.nested(self._where if name == "where" else self._piecewise)
        return self.nested(lambda: self._call(name, token))

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

    def _enclosed(self) -> Node:
        node = self.sum()
        self.expect(")")
        return node

    def _call(self, name: str, token: _Token) -> Node:
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.expect(")")
        function = TABLE[name]
        if name in EXTREMA and len(arguments) > 1:
            return reduce(lambda a, b: Node("call", (a, b), name=name), arguments)
        if function.second and len(arguments) == 1:
            arguments.append(rule(function.second))
        if len(arguments) != function.arguments:
            wanted = (
                "one" if function.arguments == 1 else "one or two" if function.second else "two"
            )
            raise ActivationError(
                f"The function {name} has {_counted(len(arguments))}. It stands at position "
                f"{token.position} of {self.text[:60]!r}. Give "
                f"{wanted}{' or more' * (name in EXTREMA)}."
            )
        return _called(name, *arguments)

    def _where(self) -> Node:
        condition = self._condition()
        self.expect(",")
        first = self.sum()
        self.expect(",")
        second = self.sum()
        self.expect(")")
        return condition.choose(first, second)

    def _piecewise(self) -> Node:
        """Pairs (value, condition); the condition of the last is True."""
        cases: list[tuple[Node, _Condition]] = []
        while True:
            self.expect("(")
            value = self.sum()
            self.expect(",")
            if self.take("True"):
                break
            cases.append((value, self._condition()))
            self.expect(")")
            self.expect(",")
        self.expect(")")
        self.expect(")")
        for case, condition in reversed(cases):
            value = condition.choose(case, value)
        return value

    def _condition(self) -> _Condition:
        condition = self._comparison()
        while sign := self.take("&", "|"):
            condition = condition.joined("max" if sign == "&" else "min", self._comparison())
        return condition

    def _comparison(self) -> _Condition:
        if self._compares_inside():
            self.place += 1
            condition = self._condition()
            self.expect(")")
            return condition
        first = self.sum()
        token = self.token
        sign = self.take("<", "<=", ">", ">=")
        if not sign:
            raise self.problem(token)
        less, more = (first, self.sum()) if sign in ("<", ">=") else (self.sum(), first)
        return _Condition(joined(less, "-", more), "=" in sign)

    def _compares_inside(self) -> bool:
        """Whether an opening parenthesis holds a comparison, not a number."""
        depth = 0
        for token in self.tokens[self.place :]:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                return False
            if depth == 1 and token.text in ("<", "<=", ">", ">="):
                return True
        return False


def _counted(number: int) -> str:
    return "one argument" if number == 1 else f"{number} arguments"


def _called(name: str, *arguments: Node) -> Node:
    """A call, or what it stands for if it is no function of its own."""
    if TABLE[name].kept:
        return Node("call", arguments, name=name)
    node = _read(TABLE[name].form, dict(zip("uv", arguments, strict=False)))
    check_size(node)
    return node
