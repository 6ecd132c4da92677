"""An activation as smooth pieces: their values to any number of digits, their series at zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from symdlt.activations.activation import Activation
from symdlt.activations.grammar import parse
from symdlt.activations.nodes import Node
from symdlt.activations.pieces import Piece, pieces
from symdlt.activations.series import Jet, derivatives, series
from symdlt.activations.sympy_form import Z, expression


@dataclass(frozen=True, slots=True)
class SmoothPiece(Piece):
    """A piece of an activation, whose values can be had to any number of digits.

    Attributes:
        values: the function and its derivative at a number of mpmath.
    """

    values: Jet

    @property
    def slope(self) -> sp.Expr | None:
        """The number a of a piece a z, or None if it is another function."""
        function = sp.expand(expression(self.node))
        slope = function.coeff(Z, 1)
        return None if slope.has(Z) or sp.expand(function - slope * Z) != 0 else slope

    @property
    def constant(self) -> bool:
        """Whether it is a constant."""
        return not sp.expand(expression(self.node)).has(Z)

    def upto(self, order: int) -> SmoothPiece:
        """The same piece, whose values go up to another derivative."""
        return replace(self, values=derivatives(self.node, order))

    def series(self, order: int) -> list[sp.Expr]:
        """Its Taylor coefficients at zero as exact numbers."""
        return series(self.node, order)


def smooth_pieces(activation: Activation) -> tuple[SmoothPiece, ...]:
    """The pieces of an activation.

    Raises:
        ActivationError: if it is not real, or it cannot be told where a condition changes.
    """
    activation.to_sympy()
    return smooth(parse(activation.text))


def smooth(node: Node) -> tuple[SmoothPiece, ...]:
    """The smooth pieces of a function.

    Raises:
        ActivationError: if it cannot be told where a condition changes.
    """
    return tuple(SmoothPiece(p.start, p.node, derivatives(p.node, 1)) for p in pieces(node))


def straight_slopes(parts: tuple[SmoothPiece, ...]) -> tuple[sp.Expr, sp.Expr] | None:
    """The slopes below and above zero of what is straight on both sides, if it is, and continuous.

    A constant has none.
    """
    if any(piece.start not in (-sp.oo, 0) for piece in parts):
        return None
    slopes = [piece.slope for piece in parts]
    if None in slopes or all(slope == 0 for slope in slopes):
        return None
    return slopes[0], slopes[-1]


def sides(parts: tuple[SmoothPiece, ...]) -> tuple[SmoothPiece, SmoothPiece]:
    """The pieces to the left and to the right of zero."""
    left = [piece for piece in parts if piece.start < 0][-1]
    return left, [piece for piece in parts if piece.start <= 0][-1]
