"""The derivatives of an activation, piece by piece, as lines of NumPy or a library like it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from symdlt.activations import Activation
from symdlt.activations.sympy_form import expression
from symdlt.kernels.generator.expressions import (
    Coefficients,
    Formula,
    Multiple,
    Raised,
    Sum,
    Symbol,
    factored,
    symbols,
)
from symdlt.kernels.generator.python.calculus import Definition, Derivatives, derivatives
from symdlt.kernels.generator.python.printer import assignment_lines, expression_text

# Longer arguments of functions get a line and a name of their own.
LONGEST_ARGUMENT = 50


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a library spells what stands in the table of functions as NumPy code.

    Attributes:
        library: its name in code; what NumPy has it has by the same name.
        argument: what makes an array of the argument z.
        constant: an array like z of one number.
        others: code that it spells otherwise, by the code for NumPy.
    """

    library: str
    argument: str
    constant: str
    others: Mapping[str, str]

    def spelled(self, code: str) -> str:
        """Code for NumPy as code for this library.

        >>> Dialect("jnp", "", "", {"erf({})": "special.erf({})"}).spelled("np.where({}, 1.0, {})")
        'jnp.where({}, 1.0, {})'
        """
        return self.others.get(code, re.sub(r"\bnp\.", f"{self.library}.", code))


NUMPY = Dialect("np", "np.asarray(z, np.float64)", "np.full(np.shape(z), {})", {})


@dataclass(frozen=True, slots=True)
class PieceCode:
    """A smooth piece of an activation on an interval.

    Attributes:
        start: where it starts, perhaps minus infinity.
        end: where it ends, perhaps infinity.
        derivatives: the piece and its derivatives.
    """

    start: float
    end: float
    derivatives: Derivatives


def pieces_code(what: Activation, order: int) -> list[PieceCode]:
    """The smooth pieces of an activation with derivatives up to an order, from left to right."""
    pieces = what.pieces()
    starts = [float(piece.start) for piece in pieces]
    parts = []
    for number, piece in enumerate(pieces):
        function = expression(piece.node)
        code = derivatives(function, order)
        if code.definitions and len(pieces) > 1:
            code = derivatives(function, order, f"_{number}")
        parts.append(PieceCode(starts[number], [*starts, inf][number + 1], code))
    return parts


def single_function(parts: Sequence[PieceCode], order: int, dialect: Dialect = NUMPY) -> str:
    """The source of one derivative on its own."""
    body = _Body(parts, dialect)
    lines = [f"    return {body.order('value', order)}"]
    start = "    value = "
    if lines[0] == "    return value" and body.lines[-1].startswith(start):
        lines = [f"    return {body.lines.pop().removeprefix(start)}"]
    return "\n".join([f"def s{order}(z: Array) -> Array:", *body.lines, *lines, ""])


def joint_function(parts: Sequence[PieceCode], orders: int, dialect: Dialect = NUMPY) -> str:
    """The source of a function that returns any number of orders, from the lowest on."""
    body = _Body(parts, dialect)
    names: list[str] = []
    for order in range(orders):
        value = body.order(f"s{order}", order)
        if value != f"s{order}":
            body.lines.append(f"    s{order} = {value}")
        names.append(f"s{order}")
        shown = f"({', '.join(names)}{',' * (order == 0)})"
        if order + 1 < orders:
            body.lines += [f"    if count <= {order + 1}:", f"        return {shown}"]
        else:
            body.lines.append(f"    return {shown}\n")
    head = "def activation(z: Array, count: int) -> tuple[Array, ...]:"
    return "\n".join([head, *body.lines])


def guard_function(part: PieceCode) -> str:
    """The source of a function that returns what must not vanish, or must be positive."""
    body = _Body([part], NUMPY)
    values = [
        body.polynomial(part, f"guard_{definition.name}", definition.arguments[0])
        for definition in part.derivatives.definitions
        if definition.guard
    ]
    head = "def guards(z: Array) -> tuple[Array, ...]:"
    return "\n".join([head, *body.lines, f"    return ({', '.join(values)},)\n"])


@dataclass(slots=True)
class _Body:
    """The lines of a function, each name defined before it is used, and only once."""

    parts: Sequence[PieceCode]
    dialect: Dialect
    lines: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=lambda: {"z"})
    values: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines.append(f"    z = {self.dialect.argument}")

    def order(self, target: str, order: int) -> str:
        """A derivative as text that fits on a line."""
        values = []
        for number, part in enumerate(self.parts):
            name = f"{target}_{number}" if len(self.parts) > 1 else target
            values.append(self.polynomial(part, name, part.derivatives.orders[order]))
        constant = not any(key for p in self.parts for key in p.derivatives.orders[order])
        if constant and len(set(values)) == 1:
            return self.dialect.constant.format(values[0])
        text = values[-1]
        for part, value in zip(self.parts[-2::-1], values[-2::-1], strict=True):
            chosen = self.dialect.spelled("np.where(z < {!r}, {}, {})")
            text = chosen.format(part.end, value, text)
        return "1.0 * z" if text == "z" else text

    def polynomial(self, part: PieceCode, target: str, polynomial: Coefficients) -> str:
        """A number, a name, or the target, after lines that compute it."""
        formula = self._ready(part, polynomial)
        text = expression_text(formula, {})
        if text in self.known or not symbols(formula):
            return text
        if text not in self.values:
            self.lines += assignment_lines(target, formula, {})
            self.values[text] = target
        return self.values[text]

    def _ready(self, part: PieceCode, polynomial: Coefficients) -> Formula:
        """A polynomial with common factors taken out, all it needs defined."""
        names = [part.derivatives.variable, *(d.name for d in part.derivatives.definitions)]
        places = {name: place for place, name in enumerate(names)}
        formula = factored(polynomial, lambda name: (places[name], name))
        for name in sorted(symbols(formula), key=lambda name: places[name]):
            self._define(part, name)
        return self._spelled(formula)

    def _define(self, part: PieceCode, name: str) -> None:
        if name in self.known:
            return
        if name == part.derivatives.variable:
            self.lines.append(f"    {name} = {self.dialect.spelled(_clipped(part))}")
        else:
            self._generator(part, next(d for d in part.derivatives.definitions if d.name == name))
        self.known.add(name)

    def _generator(self, part: PieceCode, definition: Definition) -> None:
        code = self.dialect.spelled(definition.code)
        texts = []
        # a library may do without the last arguments
        for place, argument in enumerate(definition.arguments[: code.count("{")]):
            formula = self._ready(part, argument)
            text = expression_text(formula, {})
            if len(text) > LONGEST_ARGUMENT:
                text = f"{definition.name}_argument{place or ''}"
                self.lines += assignment_lines(text, formula, {})
            texts.append(text)
        self.lines.append(f"    {definition.name} = {code.format(*texts)}")

    def _spelled(self, formula: Formula) -> Formula:
        """An expression with squares, fourth powers and so on as names of their own."""
        if isinstance(formula, Sum):
            return Sum(tuple(self._product(term) for term in formula.terms))
        return self._product(formula)

    def _product(self, product: Multiple) -> Multiple:
        factors: list[Symbol | Raised | Sum] = []
        for factor in product.factors:
            if isinstance(factor, Raised):
                factors += self._binary(factor.base.name, factor.exponent)
            elif isinstance(factor, Sum):
                factors.append(Sum(tuple(self._product(term) for term in factor.terms)))
            else:
                factors.append(factor)
        return Multiple(product.coefficient, tuple(factors))

    def _binary(self, name: str, exponent: int) -> list[Symbol]:
        squares = [Symbol(name)] if exponent % 2 else []
        lower, power = name, 2
        while power <= exponent:
            square = f"{name}_p{power}"
            if square not in self.known:
                self.lines.append(f"    {square} = {lower} * {lower}")
                self.known.add(square)
            if exponent & power:
                squares.append(Symbol(square))
            lower, power = square, 2 * power
        return squares


def _clipped(part: PieceCode) -> str:
    """The variable kept within the interval, beyond which the piece may overflow."""
    text = "z" if part.start == -inf else f"np.maximum(z, {part.start!r})"
    return text if part.end == inf else f"np.minimum({text}, {part.end!r})"
