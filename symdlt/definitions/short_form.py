"""The short form of layers: one line of text, read into the index language."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from symdlt.algebra import (
    Expression,
    Polynomial,
    activation,
    as_expression,
    biases,
    neurons,
    preactivations,
    sample,
    symbol,
    weights,
)
from symdlt.algebra.names import GREEK
from symdlt.errors import LayerError

WIDTH = "n_ℓ"
AROUND = "; \t\n\r"  # marks between statements say nothing before the first and behind the last
_LETTERS = {name: letter for letter, name in GREEK.items()}
_FIELD = re.compile(r"(?P<s>s)(?P<primes>'*)\(\s*z\s*\)|z")
# Fractions, and decimals, which are read as the fractions that they write. No letter stands close
# behind: of 1e-3 z a bias e and -3 z would be read.
NUMBER = r"(?:\d+/0*[1-9]\d*|\d+(?:\.\d*)?|\.\d+)(?![.\w])"
_WORD = re.compile(rf"\s*({_FIELD.pattern}|{NUMBER}|[^\W\d]\w*)")
DIVISOR = r"(?:\d+(?:\.\d*)?|\.\d+)(?![.\w])"  # no fraction, so that z/2/3 is a sixth
DIVISION = re.compile(rf"\s*/\s*(?P<number>{DIVISOR})")


def read_layer(text: str) -> Expression:
    """Read a layer such as "z' = xi z + b + W s(z)".

    A summand is a product, its factors apart by blanks. Before a field, `z` or `s(z)`, a name
    that begins with a capital letter stands for weights and a sum over the neurons below;
    without a field the last name stands for biases. Other names are constants, Greek letters by
    their names. What is divided by a number is so many times less: z/2 is 1/2 z.

    Raises:
        LayerError: with the place that cannot be read.

    >>> print(read_layer("z' = xi z + W s(z)"))
    Σ_j W^(ℓ+1)_{i j} σ^(ℓ)_{j;δ} + ξ z^(ℓ)_{i;δ}
    """
    text = text.strip(AROUND)
    head, equals, body = text.partition("=")
    if not equals or head.split() != ["z'"] or not body.strip():
        raise _refused(text, "does not begin with z' =")
    result = as_expression(0)
    size = WIDTH if _has_skip(text, body) else "n_{ℓ+1}"
    for sign, summand in _summands(text, body):
        result = result + _summand(text, summand, size) * sign
    return result


def _summands(text: str, body: str) -> list[tuple[int, list[str]]]:
    """The summands with their signs, each as its words."""
    pieces = re.split(r"([+-])", body)
    if pieces[0].strip():
        pieces = ["", "+", *pieces]
    signs, bodies = pieces[1::2], pieces[2::2]
    return [
        (1 if sign == "+" else -1, _words(text, piece))
        for sign, piece in zip(signs, bodies, strict=True)
    ]


def _words(text: str, summand: str) -> list[str]:
    words, place = [], 0
    stripped = summand.rstrip()
    while place < len(stripped):
        match = _WORD.match(stripped, place)
        if match is None:
            raise _refused(text, cannot_read(stripped[place:]))
        words.append(match[1])
        place = match.end()
        while division := DIVISION.match(stripped, place):
            words.insert(0, reciprocal(division["number"], partial(_refused, text)))
            place = division.end()
    if not words:
        raise _refused(text, "has an empty summand")
    return words


def _is_weight(word: str) -> bool:
    return word[0].isascii() and word[0].isupper()


def _has_skip(text: str, body: str) -> bool:
    """Whether a field stands without weights, so that both layers have the same neurons."""
    return any(
        _FIELD.fullmatch(words[-1]) and not any(map(_is_weight, words[:-1]))
        for _, words in _summands(text, body)
    )


def _summand(text: str, words: list[str], rows: str) -> Expression:
    (i,), (j,), δ = neurons("i", rows), neurons("j", WIDTH), sample("δ")
    *names, last = words
    field = _FIELD.fullmatch(last)
    if any(_FIELD.fullmatch(name) for name in names):
        raise _refused(text, "has a summand in which a field is not the last factor")
    drawn = [name for name in names if _is_weight(name)] if field else [last]
    if len(drawn) > 1:
        raise _refused(text, f"multiplies the weights {' and '.join(drawn)}")
    constant = Polynomial.number(1)
    for name in names:
        if name not in drawn:
            constant = constant * constant_named(name)
    if not field:
        if not last[0].isalpha():
            raise _refused(text, f"has the summand {last}, which is not random")
        return biases("ℓ+1", rows, name=greek(last))(i) * constant
    z = preactivations("ℓ")
    function = activation("σ", z).derivative(len(field["primes"])) if field["s"] else z
    if not drawn:
        return function(i, δ) * constant
    W = weights("ℓ+1", rows, WIDTH, name=greek(drawn[0]))
    return (W(i, j) * function(j, δ)).sum(j) * constant


def constant_named(word: str) -> Polynomial:
    """A number, or a symbol."""
    if is_number(word):
        return Polynomial.number(Fraction(word))
    return symbol(greek(word))


def cannot_read(rest: str) -> str:
    """What is told of a text that stops to be one of a layer."""
    told = f"cannot be read at {rest.strip()[:20]!r}"
    if rest.strip()[:1] == "/":
        told += ": only numbers divide. Give one over a constant a name of its own"
    return told


def reciprocal(word: str, refused: Callable[[str], LayerError]) -> str:
    """One over a number, as a fraction."""
    if not Fraction(word):
        raise refused("divides by zero")
    return str(1 / Fraction(word))


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    return word[0].isdigit() or word[0] == "."


def greek(word: str) -> str:
    """A Greek letter for its name at the head of a word, as in xi or lambda_2."""
    head, mark, tail = word.partition("_")
    return _LETTERS.get(head, head) + mark + tail


def _refused(text: str, why: str) -> LayerError:
    return LayerError(
        f"The layer {text[:80]!r} {why}. A layer is written as its preactivation. "
        'Write one such as "z\' = b + W s(z)" or "z\' = xi z + b + W s(z)".'
    )
