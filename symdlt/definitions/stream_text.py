"""Streams as the statements that make them: the short form of a layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from symdlt.algebra import Polynomial
from symdlt.definitions.branches import ascii_name
from symdlt.definitions.masks import DROPOUT, PRUNE
from symdlt.definitions.streams import Drawn, Factor, Stream
from symdlt.errors import LayerError


def stack_text(streams: Iterable[Stream]) -> str:
    """The statements of fields, with those that have no name of their own where they are read.

    Raises:
        LayerError: for a constant that is no number times symbols.
    """
    inline: dict[str, str] = {}
    statements = []
    for stream in streams:
        if "(" in stream.name or (stream.score and "." in stream.name):
            inline[stream.name] = _made(stream, inline)
        else:
            statements.append(f"{stream.name} = {_made(stream, inline)}")
    return "; ".join(statements)


def _made(stream: Stream, inline: Mapping[str, str]) -> str:
    """What makes a field."""
    if stream.mask:
        return f"{PRUNE if stream.mask.shared else DROPOUT}({stream.mask.rate})"
    if stream.score:
        return ".".join(stream.score)
    if stream.norm:
        ((_, factor),) = stream.kept
        return f"{stream.norm}({_read(factor, inline)})"
    kept = [_product(constant, [_read(factor, inline)]) for constant, factor in stream.kept]
    text = " + ".join([*kept, *(_summand(drawn, inline) for drawn in stream.drawn)])
    return text.replace("+ -", "- ")


def _summand(drawn: Drawn, inline: Mapping[str, str]) -> str:
    """Biases, or weights with what they read."""
    letter = ascii_name(drawn.tensor.name) + (f"[{drawn.window}]" if drawn.window else "")
    if drawn.function is None:
        return _product(drawn.coefficient, [letter])
    terms = [(c, [_read(one, inline) for one in factors]) for c, factors in drawn.function.terms]
    if len(terms) == 1:
        ((constant, factors),) = terms
        return _product(constant, [letter, *factors])
    inside = " + ".join(_product(constant, factors) for constant, factors in terms)
    return f"{letter} ({inside.replace('+ -', '- ')})"


def _read(factor: Factor, inline: Mapping[str, str]) -> str:
    """A function of a field, or the field."""
    text = inline.get(factor.field, factor.field)
    return text if factor.function is None else f"{factor.function}{chr(39) * factor.order}({text})"


def _product(constant: Polynomial, words: list[str]) -> str:
    """A product in the short form, its constant first.

    Raises:
        LayerError: for a constant that is no number times symbols.
    """
    terms = constant.terms or (((), 0),)  # zero has none
    if len(terms) != 1 or any(power < 0 for _, power in terms[0][0]):
        raise LayerError(
            f"The constant {constant} of a layer is no product of a number and of symbols. It "
            f"stands in front of {' '.join(words)}. Give the whole a name of its own."
        )
    ((monomial, number),) = terms
    named = [ascii_name(name) for name, power in monomial for _ in range(power)]
    front = [] if abs(number) == 1 else [str(abs(Fraction(number)))]
    return "-" * (number < 0) + " ".join([*front, *named, *words])
