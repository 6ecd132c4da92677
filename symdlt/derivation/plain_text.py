"""Plain text of equations and of the factors in their terms."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from symdlt.definitions import ascii_name


def equation_text(head: str, terms: Iterable[str]) -> str:
    """An equation as text, one line for each term, or 0 where there is none."""
    lines = [f"  - {text[1:]}" if text.startswith("-") else f"  + {text}" for text in terms]
    return "\n".join([f"{head} =", *(lines or ["  0"])])


def factor_texts(
    number: Fraction, symbols: tuple[str, ...], exponents: tuple[int, ...]
) -> list[str]:
    """A number and powers of the symbols of a layer, 1 left out."""
    names = map(ascii_name, symbols)
    return ([] if number == 1 else [str(number)]) + powers_text(zip(names, exponents, strict=True))


def powers_text(items: Iterable[tuple[str, int]]) -> list[str]:
    """Factors and their powers, those to the power zero left out."""
    return [name if power == 1 else f"{name}^{power}" for name, power in items if power]
