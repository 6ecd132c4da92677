"""Activation functions: by name, as text, or as SymPy expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, TypeAlias

from symdlt.activations.functions import ACTIVATIONS, known_name, suggestion
from symdlt.activations.grammar import VARIABLES, parse
from symdlt.errors import ActivationError, require

if TYPE_CHECKING:
    import sympy as sp

    from symdlt.activations.closed_family import Family
    from symdlt.activations.pieces import Kink, Piece

# Derivatives whose kinks are looked for: closed forms go as far. Convention.
SMOOTH = 12
# What an activation is read from.
ActivationLike: TypeAlias = "Activation | str | sp.Expr"


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
    >>> activation("1.5*tanh(z")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    symdlt.errors.ActivationError: Cannot read the end in an activation. It stands at position 10 of
    '1.5*tanh(z'. Write numbers, + - * / **, parentheses, z, pi, E, the functions abs ... where, and
    activations by name as in gelu(z/2).
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
        """Whether the function or its slope jumps somewhere, as relu and sign do, and elu does not.

        Raises:
            ActivationError: if that cannot be told; see `kinks`.

        >>> from symdlt.activations import activation
        >>> texts = ("relu", "max(z - 1, 0)", "elu", "abs(z)*tanh(z)")
        >>> [activation(text).kinked for text in texts]
        [True, True, False, False]
        """
        return bool(self.kinks(1))

    def to_sympy(self) -> sp.Expr:
        """The function as a SymPy expression in the real symbol z.

        Raises:
            ActivationError: if it is not real.
        """
        from symdlt.activations.sympy_form import real_expression

        return real_expression(parse(self.text))

    def derivatives(self, order: int) -> tuple[sp.Expr, ...]:
        """The function and its derivatives up to an order, as SymPy expressions in z."""
        from symdlt.activations.sympy_form import Z

        _check_order(order)
        orders = [self.to_sympy()]
        for _ in range(order):
            orders.append(orders[-1].diff(Z))
        return tuple(orders)

    def taylor(self, order: int) -> tuple[sp.Expr, ...]:
        r"""The derivatives $\sigma_0, \sigma_1, \ldots$ at zero as exact SymPy numbers.

        $$\sigma(z) = \sum_p \frac{\sigma_p}{p!} z^p \qquad (∞.27)$$

        Args:
            order: the highest p.

        Raises:
            ActivationError: if the function is not finite at zero, or has a kink there.
        """
        _check_order(order)
        from sympy import factorial

        from symdlt.activations.series import series

        coefficients = series(parse(self.text), order)
        return tuple(c * factorial(p) for p, c in enumerate(coefficients))

    def pieces(self) -> tuple[Piece, ...]:
        """The smooth pieces of the function, from left to right.

        Raises:
            ActivationError: if it cannot be told where a condition changes.
        """
        from symdlt.activations.pieces import pieces

        return pieces(parse(self.text))

    def kinks(self, order: int) -> tuple[Kink, ...]:
        """The points where a derivative up to an order jumps, with all these jumps.

        Args:
            order: the highest derivative.

        Raises:
            ActivationError: if they cannot be found, or a piece is not smooth up to its ends.

        >>> activation("elu(z, 2)").kinks(3)
        (Kink(position=0, jumps=(0, -1, -2, -2)),)
        >>> activation("gelu").kinks(3)
        ()
        """
        _check_order(order)
        from symdlt.activations.pieces import kinks

        return kinks(parse(self.text), order)

    def closed_family(self) -> Family | None:
        """The family of `symdlt.means` whose means have a closed form, and its parameters, if any.

        It is read off the expression: sums of erf, of z erf, of exponentials, sines and cosines of
        several scales, each with a polynomial, multiplied out. None as well for kinks, and where
        the terms nearly cancel.

        >>> activation("z*(1 + erf(3*z))/2").closed_family()
        ('gelu', {'terms': ((0.23570226039551584, 4.242640687119285),)})
        >>> activation("sin(z) + sin(15*z)/10").closed_family()
        ('exponential', {'circular': ((1.0, 1.0, 0.0), (15.0, 0.1, 0.0))})
        >>> activation("tanh").closed_family() is None
        True
        """
        from symdlt.activations.closed_family import closed_family

        return closed_family(parse(self.text))


def _check_order(order: int) -> None:
    if type(order) is not int or order < 0:
        raise ActivationError(
            f"An activation has no derivative of order {short_repr(order)}. "
            "It was asked for as the highest one. Give 0, 1, 2, …."
        )


def activation(what: ActivationLike) -> Activation:
    """An activation from its name, its text, or a SymPy expression in one symbol.

    Args:
        what: for instance "gelu", "sin(z) + (1 - cos(z))/3", or `sympy.tanh(x)`.

    Raises:
        ActivationError: if it is none of these.

    >>> activation("swish"), activation("LeakyReLU")
    (Activation(swish: z*sigmoid(z)), Activation(leaky_relu: leaky_relu(z, 1/100)))
    """
    if isinstance(what, Activation):
        return what
    if isinstance(what, str):
        name = what.strip()
        if not name.isidentifier() or name in VARIABLES:
            return Activation(name, name)
        known = known_name(name)
        if known not in ACTIVATIONS:
            raise ActivationError(
                f"There is no activation {name[:40]!r}. {suggestion(name[:40])}Known are "
                f"{' '.join(ACTIVATIONS)}. "
                "Give one of these or an expression in z such as 'sin(z) + z/2'."
            )
        return Activation(known, ACTIVATIONS[known])
    if getattr(what, "free_symbols", None) is None or not hasattr(what, "subs"):
        raise ActivationError(
            f"An activation cannot be made of {type(what).__name__}. "
            "It is a name, a text, or a SymPy expression in one symbol. "
            "Give for instance 'tanh' or 'sin(z) + z/2'."
        )
    from symdlt.activations.sympy_form import text_of

    text = text_of(what)
    return Activation(text, text)


@cache
def kinks_of(what: Activation) -> tuple[tuple[float, tuple[float, ...]], ...]:
    """The kinks as means take them: where they are, and by how much σ, σ', … jump there.

    Those of derivatives that are not asked for count as well: sums for smooth functions are wrong.
    """
    return tuple(
        (float(kink.position), tuple(float(jump) for jump in kink.jumps))
        for kink in what.kinks(SMOOTH)
    )
