"""Plain text of recursions, one term a line, in ASCII."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from symdlt.definitions import FIELD, ascii_name
from symdlt.derivation.recursion import Recursion, piece_name
from symdlt.derivation.terms import Bracket, TensorFactor, Term

_DUMMIES = "abcdefghpqrstuvw"


def recursion_text(recursion: Recursion) -> str:
    """The recursion as text: s is σ, primes are derivatives, z^ an inserted dual z."""
    labels = "" if recursion.single_input else sample_text(recursion.samples)
    lines = [f"{recursion.name}{labels}[{recursion.at or 'l+1'}] ="]
    lines += [f"  {_signed(term)}" for term in recursion.terms] or ["  0"]
    return "\n".join(lines)


def _signed(term: Term) -> str:
    text = term_text(term)
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def term_text(term: Term) -> str:
    """One term with its coefficient."""
    number = term.coefficient
    parts = [] if abs(number) == 1 else [str(abs(number))]
    parts += _powers([("(n/n')", term.width_ratio)])
    parts += _powers(term.hyperparameters.named)
    single = is_single(term)
    parts += _powers(Counter(bracket_text(b, single) for b in term.brackets).items())
    parts += _powers(Counter(tensor_text(t, single) for t in term.tensors).items())
    if term.overlap:
        parts.append("(x.x)/n0" if single else "(x_{}.x_{})/n0".format(*term.overlap))
    return ("-" if number < 0 else "") + (" ".join(parts) or "1")


def factor_texts(
    number: Fraction, symbols: tuple[str, ...], exponents: tuple[int, ...]
) -> list[str]:
    """A number and powers of the symbols of a layer, 1 left out."""
    names = map(ascii_name, symbols)
    return ([] if number == 1 else [str(number)]) + _powers(zip(names, exponents, strict=True))


def is_single(term: Term) -> bool:
    """Whether every sample of the term is the one input 0."""
    labels = {s for b in term.brackets for s, _ in b.factors}
    labels |= {s for t in term.tensors for s in t.samples} | set(term.overlap)
    return labels <= {0}


def bracket_text(bracket: Bracket, single: bool) -> str:
    """The bracket as text, for instance <s'_1 s_2 z^a>."""
    parts = [
        function_text(order) + ("" if single else f"_{sample}") for sample, order in bracket.factors
    ]
    inserted = ["z^" if single else f"z^{sample_text((s,))[1:]}" for s in bracket.inserted]
    if len(inserted) > 1:
        inserted = [f":{' '.join(inserted)}:"]
    return f"<{' '.join(parts + inserted)}>"


def tensor_text(factor: TensorFactor, single: bool) -> str:
    """The tensor with its samples."""
    return piece_name(factor.correlator, factor.piece) + (
        "" if single else sample_text(factor.samples)
    )


def sample_text(samples: tuple[int, ...]) -> str:
    """Subscript of samples; dummies are letters."""
    texts = [_DUMMIES[-1 - s] if s < 0 else str(s) for s in samples]
    return "_" + ("" if all(len(text) == 1 for text in texts) else ",").join(texts)


def function_text(order: int) -> str:
    """A derivative of σ, or z itself."""
    return "z" if order == FIELD else f"s{primes(order)}"


def primes(order: int) -> str:
    """The mark of a derivative of σ."""
    return "'" * order if order < 4 else f"^({order})"


def _powers(items: Iterable[tuple[str, int]]) -> list[str]:
    return [name if power == 1 else f"{name}^{power}" for name, power in items if power]
