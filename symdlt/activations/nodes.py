"""Expressions as trees: what a text becomes when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symdlt.errors import ActivationError

# Beyond any activation; a tree of that size is still worked through in a second or two.
LARGEST = 2000


@dataclass(frozen=True, slots=True)
class Node:
    """A node of an expression.

    Attributes:
        kind: "number", "constant", "variable", "add", "multiply", "divide", "power", "call", or
            "where".
        children: the operands; of "where" u, a and b, for a where u < 0 and b elsewhere.
        number: of a number, or the exponent of a power.
        name: of a variable, a constant or a function.
    """

    kind: str
    children: tuple[Node, ...] = ()
    number: Fraction = Fraction(0)
    name: str = ""


Z = Node("variable", name="z")
ONE = Node("number", (), Fraction(1))


def negative(node: Node) -> Node:
    """Minus a function."""
    return Node("multiply", (Node("number", (), Fraction(-1)), node))


def joined(first: Node, sign: str, second: Node) -> Node:
    """Two functions with one of + - * / between them."""
    if sign == "-":
        return Node("add", (first, negative(second)))
    return Node({"+": "add", "*": "multiply", "/": "divide"}[sign], (first, second))


def rational(node: Node) -> Fraction | None:
    """The value of an exponent, or None if it is no rational number of moderate size."""
    if node.kind == "number":
        return node.number
    parts = [rational(child) for child in node.children]
    if node.kind not in ("add", "multiply", "divide") or None in parts:
        return None
    first, second = (part for part in parts if part is not None)
    if node.kind == "divide":
        return first / second if second else None
    return first + second if node.kind == "add" else first * second


def degree(node: Node) -> Fraction:
    """A bound on how high the powers in an expression get when it is multiplied out."""
    inner = [degree(child) for child in node.children] or [Fraction(1)]
    if node.kind == "power":
        size = max(abs(node.number), Fraction(node.number.denominator))
        return inner[0] * max(size, Fraction(1))
    return sum(inner, Fraction(0)) if node.kind in ("multiply", "divide") else max(inner)


def check_size(node: Node) -> None:
    """Refuse what has too many parts.

    Raises:
        ActivationError: if it has.
    """
    if _size(node) > LARGEST:
        raise ActivationError(
            f"The activation has more than {LARGEST} parts. It has so many when the functions that "
            "stand for others, such as gelu, are written out. Nest fewer of them."
        )


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.children))
