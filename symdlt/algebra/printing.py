"""Text and LaTeX of expressions, from their canonical form."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from symdlt.algebra.expression import Expression
from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head, Kind
from symdlt.algebra.index import Index, Species
from symdlt.algebra.layer_labels import Layer, split_layer
from symdlt.algebra.names import GREEK
from symdlt.algebra.polynomial import (
    Monomial,
    Number,
    Polynomial,
    join_signed,
    magnitude,
    superscript,
)
from symdlt.algebra.term import Term

_SHORT = 100


def to_text(expression: Expression) -> str:
    """Write an expression in plain characters."""
    return join_signed(term_text(term) for term in printed_terms(expression))


def printed_terms(expression: Expression) -> Iterator[Term]:
    """Go through the canonical terms, with a coefficient that stands alone cut at its signs."""
    for term in expression.canonical_terms:
        if term.factors:
            yield term
        else:
            yield from (Term((), Polynomial((piece,))) for piece in term.coefficient.terms)


def to_short_text(expression: Expression) -> str:
    """Write at most a line, and only the number of terms when there are many."""
    if len(expression.terms) > 200:
        return f"Expression({len(expression.terms)} terms)"
    text = to_text(expression)
    return f"Expression({text if len(text) <= _SHORT else text[: _SHORT - 1] + '…'})"


def short_term_text(term: Term) -> str:
    """Write a term as it stands, not brought into canonical form, in at most a line."""
    negative, text = term_text(term)
    text = "-" + text if negative else text
    return f"Term({text if len(text) <= _SHORT else text[: _SHORT - 1] + '…'})"


def to_latex(expression: Expression) -> str:
    """Write an expression in LaTeX."""
    writer = LatexWriter()
    return join_signed(writer.term(term) for term in printed_terms(expression))


@dataclass(slots=True)
class LatexWriter:
    """Writes terms in LaTeX and remembers the pieces that come back in later terms."""

    factors: dict[tuple[object, ...], str] = field(default_factory=dict)
    coefficients: dict[Polynomial, tuple[bool, str]] = field(default_factory=dict)
    sums: dict[tuple[Index, ...], str] = field(default_factory=dict)

    def term(self, term: Term) -> tuple[bool, str]:
        """Write a term without its sign, and tell the sign."""
        known = self.coefficients.get(term.coefficient)
        if known is None:
            known = self.coefficients[term.coefficient] = coefficient_latex(term.coefficient)
        negative, coefficient = known
        pieces = [] if coefficient == "1" and term.factors else [coefficient]
        if term.sums:
            pieces.append(self.sum(term.sums))
        pieces += powers(term.factors, self.factor, latex_power)
        return negative, " ".join(pieces)

    def sum(self, indices: tuple[Index, ...]) -> str:
        """Write the sum sign with its indices."""
        text = self.sums.get(indices)
        if text is None:
            names = " ".join([name_latex(index.name) for index in indices])
            text = self.sums[indices] = rf"\sum_{{{names}}}"
        return text

    def factor(self, factor: Factor) -> str:
        """Write a factor, known by its head object and the names of its indices."""
        if isinstance(factor, Delta):
            key: tuple[object, ...] = (factor.left.name, factor.right.name)
        else:
            key = (id(factor.head), *[index.name for index in factor.indices])
        text = self.factors.get(key)
        if text is None:
            text = self.factors[key] = factor_latex(factor)
        return text


def term_text(term: Term) -> tuple[bool, str]:
    """Write a term without its sign, and tell the sign."""
    negative, coefficient = coefficient_text(term.coefficient)
    pieces = [] if coefficient == "1" and term.factors else [coefficient]
    if term.sums:
        pieces.append(f"Σ_{braced(' '.join(index.name for index in term.sums))}")
    pieces += powers(term.factors, factor_text, superscript)
    return negative, " ".join(pieces)


def powers(
    factors: tuple[Factor, ...],
    write: Callable[[Factor], str],
    raised: Callable[[int], str],
) -> list[str]:
    """Write equal neighbours among the factors as one power."""
    written: list[str] = []
    counts: list[int] = []
    for factor in factors:
        text = write(factor)
        if written and written[-1] == text:
            counts[-1] += 1
        else:
            written.append(text)
            counts.append(1)
    return [
        text if count == 1 else text + raised(count)
        for text, count in zip(written, counts, strict=True)
    ]


def coefficient_text(coefficient: Polynomial) -> tuple[bool, str]:
    """Write a coefficient that may have several terms, with a sign only for one."""
    if len(coefficient.terms) != 1:
        return False, f"({coefficient})"
    negative = coefficient.terms[0][1] < 0
    return negative, str(-coefficient if negative else coefficient)


def factor_text(factor: Factor) -> str:
    """Write one factor in plain characters."""
    if isinstance(factor, Delta):
        return f"δ_{braced(subscript(factor.indices))}"
    head = factor.head
    if head.kind is Kind.AVERAGE:
        legs = iter(factor.indices)
        inside = " ".join(
            member_text(m, tuple(next(legs) for _ in m.slots[1:])) for m in head.members
        )
        return f"⟨{inside}⟩{layer_text(head)}"
    name = head_name(head) + layer_text(head)
    return name + (f"_{braced(subscript(factor.indices))}" if factor.indices else "")


def member_text(member: Head, legs: tuple[Index, ...]) -> str:
    """Write one function inside an average."""
    return head_name(member) + (f"_{braced(subscript(legs))}" if legs else "")


def head_name(head: Head) -> str:
    """Write the letter of a head with the primes of its derivative."""
    return head.name + ("'" * head.order if head.order <= 3 else f"[{head.order}]")


def layer_text(head: Head) -> str:
    """Write the layer of a head as a raised bracket."""
    return "" if head.layer is None else f"^({head.layer})"


def subscript(indices: tuple[Index, ...], write: Callable[[str], str] = str) -> str:
    """Write neuron indices, then a semicolon, then the others."""
    runs = groupby(indices, key=lambda index: index.species is Species.SAMPLE)
    return ";".join(" ".join(write(index.name) for index in run) for _, run in runs)


def braced(text: str) -> str:
    """Put braces around all but single characters."""
    return text if len(text) == 1 else f"{{{text}}}"


def factor_latex(factor: Factor) -> str:
    """Write one factor in LaTeX."""
    if isinstance(factor, Delta):
        return rf"\delta_{{{subscript(factor.indices, name_latex)}}}"
    head = factor.head
    if head.kind is Kind.AVERAGE:
        return average_latex(factor)
    return head_latex(head, head.layer) + (
        f"_{{{subscript(factor.indices, name_latex)}}}" if factor.indices else ""
    )


def average_latex(factor: Tensor) -> str:
    """Write an average as angle brackets with its layer raised."""
    legs = iter(factor.indices)
    inside = []
    for member in factor.head.members:
        indices = tuple(next(legs) for _ in member.slots[1:])
        foot = f"_{{{subscript(indices, name_latex)}}}" if indices else ""
        inside.append(head_latex(member, None) + foot)
    layer = factor.head.layer
    raised = "" if layer is None else f"^{{({layer_latex(layer)})}}"
    return rf"\left\langle {' '.join(inside)} \right\rangle{raised}"


def head_latex(head: Head, layer: Layer | None) -> str:
    """Write the letter of a head with its derivative and layer raised."""
    above = r"\prime" * head.order if head.order <= 3 else f"[{head.order}]"
    above += "" if layer is None else f"({layer_latex(layer)})"
    name = name_latex(head.name)
    name = f"{{{name}}}" if "_" in name or "'" in name else name
    return name + (f"^{{{above}}}" if above else "")


def layer_latex(layer: Layer) -> str:
    """Write a layer in LaTeX.

    >>> print(layer_latex("ℓ-1"), layer_latex(12))
    \\ell-1 12
    """
    symbol, offset = split_layer(layer)
    if not symbol:
        return str(offset)
    return name_latex(symbol) + (f"{offset:+d}" if offset else "")


def latex_power(power: int) -> str:
    """Write a power in LaTeX; the first power is not written."""
    return "" if power == 1 else f"{{}}^{{{power}}}"


def name_latex(name: str) -> str:
    """Write a name in LaTeX, with its digits and what follows '_' lowered.

    >>> print(name_latex("i1"), name_latex("n_{ℓ-1}"), name_latex("C_W"), name_latex("x1_a'"))
    i_{1} n_{\\ell-1} C_{W} x_{1,a}'
    """
    bare = name.rstrip("'")
    stem, *below = bare.split("_")
    letters = stem.rstrip("0123456789")
    lowered = [greek(part.strip("{}")) for part in (stem[len(letters) :], *below) if part]
    head = greek(letters)
    if len(letters) > 1 and letters.isascii():
        head = rf"\mathrm{{{head}}}"
    return head + (f"_{{{','.join(lowered)}}}" if lowered else "") + name[len(bare) :]


def greek(text: str) -> str:
    """Spell Greek letters as LaTeX commands."""
    spelled = "".join(f"\\{GREEK[c]} " if c in GREEK else c for c in text).strip()
    return spelled.replace(r"\ell -", r"\ell-").replace(r"\ell +", r"\ell+")


def coefficient_latex(coefficient: Polynomial) -> tuple[bool, str]:
    """Write a coefficient in LaTeX, with a sign only if it is one monomial."""
    if len(coefficient.terms) != 1:
        return False, rf"\left({polynomial_latex(coefficient)}\right)"
    ((monomial, value),) = coefficient.terms
    return value < 0, monomial_latex(monomial, magnitude(value))


def polynomial_latex(coefficient: Polynomial) -> str:
    """Write a Laurent polynomial in LaTeX."""
    return join_signed((v < 0, monomial_latex(m, magnitude(v))) for m, v in coefficient.terms)


def monomial_latex(monomial: Monomial, value: Number) -> str:
    """Write a positive multiple of a monomial as one fraction."""
    above = [str(value.numerator)] if value.numerator != 1 else []
    below = [str(value.denominator)] if value.denominator != 1 else []
    for name, power in monomial:
        letter = name_latex(name)
        raised = f"^{{{abs(power)}}}" if abs(power) != 1 else ""
        if raised and letter.endswith("'"):
            letter = f"{{{letter}}}"
        (above if power > 0 else below).append(letter + raised)
    top = " ".join(above) or "1"
    return rf"\frac{{{top}}}{{{' '.join(below)}}}" if below else top
