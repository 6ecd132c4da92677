"""Text and LaTeX of terms: sums, a coefficient and factors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from symdlt.algebra.factors import Delta, Factor
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
    split_fraction,
    superscript,
)

# Convention: what a `repr` shows stays on one line, and beyond so many terms is a number.
_SHORT = 100
# Convention: f''' is still easy to count, f'''' is not.
_MOST_PRIMES = 3


class Printed(Protocol):
    """What a term has to be printed: the `Term` of an expression is one."""

    @property
    def sums(self) -> tuple[Index, ...]:
        """The dummy indices."""

    @property
    def coefficient(self) -> Polynomial:
        """The exact coefficient."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The deltas and tensors."""


def shortened(text: str) -> str:
    """Cut a text that is longer than a line."""
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


@dataclass(slots=True)
class Writer:
    """Writes terms in plain characters, and remembers pieces that come back in later terms."""

    factors: dict[tuple[object, ...], str] = field(default_factory=dict)
    coefficients: dict[Polynomial, tuple[bool, str]] = field(default_factory=dict)
    sums: dict[tuple[Index, ...], str] = field(default_factory=dict)

    def sum(self, terms: Iterable[Printed]) -> str:
        """Write terms one after the other."""
        return join_signed(self.term(term) for term in terms)

    def term(self, term: Printed) -> tuple[bool, str]:
        """Write a term without its sign, and tell the sign."""
        pieces = self.summed(term.sums, term.factors)
        return self.product(term.coefficient, pieces, bool(term.factors))

    def product(
        self, coefficient: Polynomial, pieces: list[str], follows: bool
    ) -> tuple[bool, str]:
        """Write pieces behind a coefficient; a coefficient 1 is left out if a factor follows."""
        known = self.coefficients.get(coefficient)
        if known is None:
            known = self.coefficients[coefficient] = self.coefficient(coefficient)
        negative, number = known
        return negative, " ".join(pieces if number == "1" and follows else [number, *pieces])

    def summed(self, sums: tuple[Index, ...], factors: Iterable[Factor]) -> list[str]:
        """Write factors behind a sum sign, equal neighbours as one power."""
        written = self.powers([self.factor(factor) for factor in factors])
        if not sums:
            return written
        text = self.sums.get(sums)
        if text is None:
            text = self.sums[sums] = self.sum_sign(sums)
        return [text, *written]

    def powers(self, texts: Iterable[str]) -> list[str]:
        """Write equal neighbours as one power."""
        written: list[str] = []
        counts: list[int] = []
        for text in texts:
            if written and written[-1] == text:
                counts[-1] += 1
            else:
                written.append(text)
                counts.append(1)
        return [
            text if count == 1 else text + self.power(count)
            for text, count in zip(written, counts, strict=True)
        ]

    def factor(self, factor: Factor) -> str:
        """Write a factor, known by its head object and the names of its indices."""
        if isinstance(factor, Delta):
            key: tuple[object, ...] = (factor.left.name, factor.right.name)
        else:
            key = (id(factor.head), *[index.name for index in factor.indices])
        text = self.factors.get(key)
        if text is None:
            text = self.factors[key] = self.new_factor(factor)
        return text

    def new_factor(self, factor: Factor) -> str:
        """Write a factor that has not been met before."""
        if isinstance(factor, Delta):
            return self.letter("δ", 0, None, factor.indices)
        head = factor.head
        if head.kind is not Kind.AVERAGE:
            of = argument(head)
            return self.letter(head.name, head.order, head.layer, factor.indices, of=of)
        legs = iter(factor.indices)
        inside = [
            self.letter(m.name, m.order, None, tuple(next(legs) for _ in m.slots[1:]))
            for m in head.members
        ]
        return self.bracket(" ".join(inside), head.layer)

    def coefficient(self, coefficient: Polynomial) -> tuple[bool, str]:
        """Write a coefficient, with a sign only if it is one monomial."""
        if len(coefficient.terms) != 1:
            return False, f"({coefficient})"
        negative = coefficient.terms[0][1] < 0
        return negative, str(-coefficient if negative else coefficient)

    def sum_sign(self, sums: tuple[Index, ...]) -> str:
        """Write the sum sign with its indices."""
        return f"Σ_{braced(' '.join(index.name for index in sums))}"

    def power(self, power: int) -> str:
        """Write the power of what stands before."""
        return superscript(power)

    def letter(
        self,
        name: str,
        order: int,
        layer: Layer | None,
        indices: tuple[Index, ...],
        transposed: bool = False,
        of: str = "",
    ) -> str:
        """Write a name with its derivative, its field, its layer and its indices."""
        foot = f"_{braced(subscript(indices))}" if indices else ""
        return f"{name}{primes(order)}{of}{layer_text(layer)}{foot}{'ᵀ' if transposed else ''}"

    def bracket(self, inside: str, layer: Layer | None) -> str:
        """Write an average with its layer."""
        return f"⟨{inside}⟩{layer_text(layer)}"

    def trace(self, inside: str) -> str:
        """Write a trace."""
        return f"tr({inside})"

    def group(self, inside: str, indices: tuple[Index, ...] = ()) -> str:
        """Write a product in parentheses, with indices."""
        return f"({inside})" + (f"_{braced(subscript(indices))}" if indices else "")


@dataclass(slots=True)
class LatexWriter(Writer):
    """Writes terms in LaTeX."""

    def coefficient(self, coefficient: Polynomial) -> tuple[bool, str]:
        """Write a coefficient, with a sign only if it is one monomial."""
        pieces = [(v < 0, monomial_latex(m, magnitude(v))) for m, v in coefficient.terms]
        return pieces[0] if len(pieces) == 1 else (False, rf"\left({join_signed(pieces)}\right)")

    def sum_sign(self, sums: tuple[Index, ...]) -> str:
        """Write the sum sign with its indices."""
        return rf"\sum_{{{' '.join([name_latex(index.name) for index in sums])}}}"

    def power(self, power: int) -> str:
        """Write the power of what stands before."""
        return f"{{}}^{{{power}}}"

    def letter(
        self,
        name: str,
        order: int,
        layer: Layer | None,
        indices: tuple[Index, ...],
        transposed: bool = False,
        of: str = "",
    ) -> str:
        """Write a name with its derivative and layer raised, and its indices lowered."""
        above = r"\prime" * order if order <= _MOST_PRIMES else primes(order)
        above += "" if layer is None else f"({layer_latex(layer)})"
        above += r"\top" if transposed else ""
        stem = f"{{{name_latex(name)}}}" if "_" in name or "'" in name else name_latex(name)
        foot = f"_{{{subscript(indices, name_latex)}}}" if indices else ""
        field = f"({name_latex(of[1:-1])})" if of else ""
        return stem + (f"^{{{above}}}" if above else "") + field + foot

    def bracket(self, inside: str, layer: Layer | None) -> str:
        """Write an average with its layer."""
        raised = "" if layer is None else f"^{{({layer_latex(layer)})}}"
        return rf"\left\langle {inside} \right\rangle{raised}"

    def trace(self, inside: str) -> str:
        """Write a trace."""
        return rf"\operatorname{{tr}}\left({inside}\right)"

    def group(self, inside: str, indices: tuple[Index, ...] = ()) -> str:
        """Write a product in parentheses, with indices."""
        foot = f"_{{{subscript(indices, name_latex)}}}" if indices else ""
        return rf"\left({inside}\right){foot}"


def primes(order: int) -> str:
    """Write the order of a derivative."""
    return "'" * order if order <= _MOST_PRIMES else f"[{order}]"


def head_label(head: Head) -> str:
    """Write a tensor without its indices."""
    if head.kind is Kind.AVERAGE:
        inside = " ".join(m.name + primes(m.order) for m in head.members)
        return f"⟨{inside}⟩{layer_text(head.layer)}"
    return head.name + primes(head.order) + argument(head) + layer_text(head.layer)


def argument(head: Head) -> str:
    """Write the field that an activation is of, unless that is z."""
    return f"({head.members[0].name})" if head.kind is Kind.ACTIVATION and head.members else ""


def layer_text(layer: Layer | None) -> str:
    """Write a layer as a raised bracket."""
    return "" if layer is None else f"^({layer})"


def subscript(indices: tuple[Index, ...], write: Callable[[str], str] = str) -> str:
    """Write neuron indices, then a semicolon, then the others."""
    runs = groupby(indices, key=lambda index: index.species is Species.SAMPLE)
    return ";".join(" ".join(write(index.name) for index in run) for _, run in runs)


def braced(text: str) -> str:
    """Put braces around all but single characters."""
    return text if len(text) == 1 else f"{{{text}}}"


def layer_latex(layer: Layer) -> str:
    """Write a layer in LaTeX.

    >>> print(layer_latex("ℓ-1"), layer_latex(12))
    \\ell-1 12
    """
    symbol, offset = split_layer(layer)
    if not symbol:
        return str(offset)
    return name_latex(symbol) + (f"{offset:+d}" if offset else "")


def name_latex(name: str) -> str:
    """Write a name in LaTeX, with its digits and what follows '_' lowered.

    >>> print(name_latex("i1"), name_latex("n_{ℓ-1}"), name_latex("C_W"), name_latex("x1_a'"))
    i_{1} n_{\\ell-1} C_{W} x_{1,a}'
    """
    if name.isdigit():
        return name
    if name.endswith(")"):  # a normalised field, or a mask with its rate
        head, _, inside = name[:-1].partition("(")
        return f"{name_latex(head)}({inside if '/' in inside else name_latex(inside)})"
    if name.endswith("]"):  # weights with a window
        head, _, window = name[:-1].partition("[")
        return rf"{name_latex(head)}[\text{{{window}}}]"
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


def monomial_latex(monomial: Monomial, value: Number) -> str:
    """Write a positive multiple of a monomial as one fraction."""

    def power(name: str, degree: int) -> str:
        letter = name_latex(name)
        if degree == 1:
            return letter
        return (f"{{{letter}}}" if letter.endswith("'") else letter) + f"^{{{degree}}}"

    above, below = split_fraction(monomial, value, power)
    return rf"\frac{{{above}}}{{{' '.join(below)}}}" if below else above
