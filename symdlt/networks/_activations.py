"""Activation functions: by name, as text, or as SymPy expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from reprlib import repr as short_repr
from typing import Any

from symdlt.errors import ActivationError, require
from symdlt.networks._activation_text import FUNCTIONS, Node, parse

ACTIVATIONS = {
    "tanh": "tanh(z)",
    "sin": "sin(z)",
    "erf": "erf(z)",
    "atan": "atan(z)",
    "linear": "z",
    "relu": "relu(z)",
    "leaky_relu": "relu(z) - relu(-z)/100",
    "elu": "relu(z) + exp(-relu(-z)) - 1",
    "selu": "1.0507009873554805*(relu(z) + 1.6732632423543772*(exp(-relu(-z)) - 1))",
    "gelu": "z*(1 + erf(z/sqrt(2)))/2",
    "swish": "z*sigmoid(z)",
    "silu": "z*sigmoid(z)",
    "mish": "z*tanh(log(1 + exp(z)))",
    "softplus": "log(1 + exp(z))",
    "softsign": "z/(1 + abs(z))",
    "sigmoid": "sigmoid(z)",
}


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation function of one preactivation.

    Attributes:
        name: a name of `ACTIVATIONS`, or the text itself.
        text: its definition.

    Raises:
        ActivationError: if the text cannot be read; it says where.

    >>> activation("tanh").taylor(3)
    (0, 1, 0, -2)
    >>> activation("z + z**2/2").derivatives(2)
    (z**2/2 + z, z + 1, 1)
    >>> activation("1.5*tanh(z")
    Traceback (most recent call last):
        ...
    symdlt.errors.ActivationError: Cannot read the end in an activation. It stands at position 10 of
    '1.5*tanh(z'. Write numbers, + - * / **, parentheses, z, pi, E and the functions abs atan cos
    cosh erf exp log relu sigmoid sin sinh sqrt tanh.
    """

    name: str
    text: str

    def __post_init__(self) -> None:
        require(self.name, str, "the name of an activation", "Give one such as 'tanh'.")
        parse(self.text)

    def __repr__(self) -> str:
        text = self.text if self.name == self.text else f"{self.name}: {self.text}"
        return f"Activation({text if len(text) <= 60 else text[:57] + '...'})"

    def __str__(self) -> str:
        return self.text

    @property
    def kinked(self) -> bool:
        """Whether the function has a kink at zero, as relu and elu have."""
        from symdlt.networks._activation_series import KinkError

        try:
            self.taylor(1)
        except KinkError:
            return True
        except ActivationError:
            return False
        return False

    def to_sympy(self) -> Any:
        """The function as a SymPy expression in the real symbol z."""
        import sympy as sp

        return _expression(parse(self.text), sp.Symbol("z", real=True))

    def derivatives(self, order: int) -> tuple[Any, ...]:
        """The function and its derivatives up to an order, as SymPy expressions in z."""
        import sympy as sp

        _check_order(order)
        found = [self.to_sympy()]
        for _ in range(order):
            found.append(sp.diff(found[-1], sp.Symbol("z", real=True)))
        return tuple(found)

    def taylor(self, order: int) -> tuple[Any, ...]:
        r"""The derivatives $\sigma_0, \sigma_1, \ldots$ at zero as exact SymPy numbers.

        $$\sigma(z) = \sum_p \frac{\sigma_p}{p!} z^p \qquad (∞.27)$$

        Args:
            order: the highest p.

        Raises:
            ActivationError: if the function is not finite at zero, or has a kink there.
        """
        _check_order(order)
        from sympy import factorial

        from symdlt.networks._activation_series import series

        coefficients = series(parse(self.text), order)
        return tuple(c * factorial(p) for p, c in enumerate(coefficients))


def _check_order(order: int) -> None:
    if type(order) is not int or order < 0:
        raise ActivationError(
            f"An activation has no derivative of order {short_repr(order)}. "
            "It was asked for as the highest one. Give 0, 1, 2, …."
        )


def activation(what: Any) -> Activation:
    """An activation from its name, its text, or a SymPy expression in one symbol.

    Args:
        what: for instance "gelu", "sin(z) + (1 - cos(z))/3", or `sympy.tanh(x)`.

    Raises:
        ActivationError: if it is none of these.

    >>> activation("swish")
    Activation(swish: z*sigmoid(z))
    """
    if isinstance(what, Activation):
        return what
    if isinstance(what, str):
        name = what.strip()
        if name.isidentifier() and name not in ("x", "z") and name not in ACTIVATIONS:
            raise ActivationError(
                f"There is no activation {name[:40]!r}. Known are {' '.join(ACTIVATIONS)}. "
                "Give one of these or an expression in z such as 'sin(z) + z/2'."
            )
        return Activation(name, ACTIVATIONS.get(name, name))
    if getattr(what, "free_symbols", None) is None or not hasattr(what, "subs"):
        raise ActivationError(
            f"An activation cannot be made of {type(what).__name__}. "
            "It is a name, a text, or a SymPy expression in one symbol. "
            "Give for instance 'tanh' or 'sin(z) + z/2'."
        )
    return _from_sympy(what)


def _from_sympy(expression: Any) -> Activation:
    from sympy import Symbol, sstr

    symbols = sorted(expression.free_symbols, key=str)
    if len(symbols) > 1:
        names = ", ".join(map(str, symbols))
        raise ActivationError(
            f"The activation has the symbols {names}. It must be a function of one preactivation. "
            "Substitute numbers for the parameters."
        )
    renamed = expression.subs({symbol: Symbol("z") for symbol in symbols})
    text = sstr(renamed)
    return Activation(text, text)


def _expression(node: Node, z: Any) -> Any:
    import sympy as sp

    if node.kind == "variable":
        return z
    if node.kind == "number":
        return sp.Rational(node.number.numerator, node.number.denominator)
    if node.kind == "constant":
        return {"pi": sp.pi, "e": sp.E}[node.name]
    parts = [_expression(child, z) for child in node.children]
    if node.kind in ("add", "multiply"):
        return reduce(add if node.kind == "add" else mul, parts)
    if node.kind == "divide":
        return parts[0] / parts[1]
    if node.kind == "power":
        return parts[0] ** sp.Rational(node.number.numerator, node.number.denominator)
    assert node.name in FUNCTIONS
    if node.name == "relu":
        return sp.Max(0, parts[0])
    if node.name == "abs":
        return sp.Abs(parts[0])
    return 1 / (1 + sp.exp(-parts[0])) if node.name == "sigmoid" else getattr(sp, node.name)(*parts)
