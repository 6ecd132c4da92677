"""Plain text of equations and of the factors in their terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def fields_text(names: Sequence[str]) -> str:
    """The fields of a tensor or tree behind its name; of several that are the same, one.

    >>> fields_text("uuvv"), fields_text(["h", "h"]), fields_text(["h_a", "z"])
    ('uuvv', 'h', '(h_a,z)')
    """
    told = names if len(set(names)) > 1 else names[:1]
    plain = len(told) == 1 or all(len(name) == 1 for name in told)
    return "".join(told) if plain else f"({','.join(told)})"


def powers_text(items: Iterable[tuple[str, int]]) -> list[str]:
    """Factors and their powers, those to the power zero left out."""
    return [name if power == 1 else f"{name}^{power}" for name, power in items if power]
