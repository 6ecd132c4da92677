"""How single symbols are written: conventions, samples, tensors, hyperparameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symdlt.networks import Correlator
from symdlt.recursions import TensorFactor

_PAIRED = frozenset("VA")


@dataclass(frozen=True, slots=True)
class Conventions:
    r"""Choices of notation; the defaults are those of PDLT.

    Attributes:
        layers: write the layer on every symbol, $V^{(\ell)}$ instead of $V$.
        kernel: the letter of the leading metric.
        frozen_ntk: the letter of the leading NTK mean.
        width: how many points a line may take.

    >>> Conventions(layers=False).layer("\\ell")
    ''
    """

    layers: bool = True
    kernel: str = "K"
    frozen_ntk: str = r"\Theta"
    width: float = 440.0

    def layer(self, layer: str) -> str:
        """The superscript of a layer."""
        return f"^{{({layer})}}" if self.layers else ""


def sample(label: int) -> str:
    """The sample of a label.

    >>> sample(2)
    '\\\\delta_{2}'
    """
    return rf"\delta_{{{label}}}"


def samples_text(labels: Iterable[int]) -> str:
    """Samples one after another."""
    return "".join(sample(label) for label in labels)


def tensor_text(
    correlator: Correlator, piece: int, labels: tuple[int, ...] | None, layer: str, use: Conventions
) -> str:
    """A tensor, with its samples unless there is only one input."""
    above = _pieces(correlator, piece, layer, use)
    below = "" if labels is None else f"_{{{_subscript(correlator, labels)}}}"
    return _letter(correlator, piece, use) + below + above


def factor_text(factor: TensorFactor, labels: tuple[int, ...] | None, use: Conventions) -> str:
    """A tensor of layer ℓ in a term."""
    return tensor_text(factor.correlator, factor.piece, labels, r"\ell", use)


def _letter(correlator: Correlator, piece: int, use: Conventions) -> str:
    if piece == 0:
        return {"G": use.kernel, "H": use.frozen_ntk}.get(correlator.symbol, correlator.symbol)
    return correlator.symbol


def _pieces(correlator: Correlator, piece: int, layer: str, use: Conventions) -> str:
    marks = ""
    if correlator.symbol == "X":
        edges = correlator.name.split("_")[1:]
        marks += f"[{','.join(edges)}]" if edges else ""
    marks += rf"\{{{piece}\}}" if piece else ""
    marks += f"({layer})" if use.layers else ""
    return f"^{{{marks}}}" if marks else ""


def _subscript(correlator: Correlator, labels: tuple[int, ...]) -> str:
    if correlator.symbol in _PAIRED or (correlator.symbol == "X" and not correlator.forest.edges):
        pairs = zip(labels[::2], labels[1::2], strict=True)
        return "".join(f"({samples_text(pair)})" for pair in pairs)
    return samples_text(labels)


def sigma(order: int, subscript: str) -> str:
    """A derivative of the activation."""
    primes = "'" * order if order < 4 else f"^{{({order})}}"
    return rf"\sigma{primes}" + (f"_{{{subscript}}}" if subscript else "")


def power(text: str, exponent: int) -> str:
    r"""A factor to a power, bracketed where it has a superscript of its own.

    >>> power("K^{(1)}", 2)
    '\\left(K^{(1)}\\right)^{2}'
    """
    if exponent == 1:
        return text
    bare = "^" not in text and "'" not in text
    return f"{text}^{{{exponent}}}" if bare else rf"\left({text}\right)^{{{exponent}}}"


def rational(numerator: int, denominator: int) -> str:
    """A positive rational number; 1 is left out."""
    if denominator != 1:
        return rf"\frac{{{numerator}}}{{{denominator}}}"
    return "" if numerator == 1 else str(numerator)
