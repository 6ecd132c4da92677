"""Exact coefficients: Laurent polynomials in named constants and widths."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from symdlt.errors import IndexStructureError

Monomial = tuple[tuple[str, int], ...]
Number = int | Fraction

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of rational multiples of monomials, kept sorted and without zeros.

    Build one with `Polynomial.number`, `Polynomial.symbol` and arithmetic.

    >>> n = Polynomial.symbol("n")
    >>> print((n - 1) * n / n**3)
    1/n - 1/n²
    """

    terms: tuple[tuple[Monomial, Fraction], ...]

    @staticmethod
    def number(value: Number) -> "Polynomial":
        """Make a constant polynomial."""
        return Polynomial((((), Fraction(value)),)) if value else ZERO

    @staticmethod
    def symbol(name: str) -> "Polynomial":
        """Make the polynomial that is one named constant."""
        return Polynomial(((((name, 1),), Fraction(1)),))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: "Polynomial | Number") -> "Polynomial":
        return gather((*self.terms, *as_polynomial(other).terms))

    __radd__ = __add__

    def __neg__(self) -> "Polynomial":
        return Polynomial(tuple((monomial, -value) for monomial, value in self.terms))

    def __sub__(self, other: "Polynomial | Number") -> "Polynomial":
        return self + -as_polynomial(other)

    def __rsub__(self, other: Number) -> "Polynomial":
        return as_polynomial(other) - self

    def __mul__(self, other: "Polynomial | Number") -> "Polynomial":
        if not isinstance(other, Polynomial):
            return Polynomial(tuple((m, v * other) for m, v in self.terms)) if other else ZERO
        if self == ONE:
            return other
        if other == ONE:
            return self
        return gather(
            (multiply_monomials(m, k), v * w) for m, v in self.terms for k, w in other.terms
        )

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> "Polynomial":
        if exponent < 0:
            return self.inverse() ** -exponent
        result = ONE
        for _ in range(exponent):
            result = result * self
        return result

    def __truediv__(self, other: "Polynomial | Number") -> "Polynomial":
        return self * as_polynomial(other).inverse()

    def inverse(self) -> "Polynomial":
        """Invert a monomial.

        Raises:
            IndexStructureError: the polynomial has no term or more than one.
        """
        if len(self.terms) != 1:
            raise IndexStructureError(
                f"Cannot divide by {self}, which is not a single monomial. "
                "The division was asked of an exact coefficient. "
                "Divide by numbers, constants and widths one at a time."
            )
        ((monomial, value),) = self.terms
        return Polynomial(((tuple((name, -power) for name, power in monomial), 1 / value),))

    def substitute(self, values: Mapping[str, "Polynomial | Number"]) -> "Polynomial":
        """Put numbers or polynomials in the place of symbols.

        >>> n = Polynomial.symbol("n")
        >>> print((n**2 - n).substitute({"n": 4}))
        12
        """
        total = ZERO
        for monomial, value in self.terms:
            kept = tuple((name, power) for name, power in monomial if name not in values)
            piece = Polynomial(((kept, value),))
            for name, power in monomial:
                if name in values:
                    piece = piece * as_polynomial(values[name]) ** power
            total = total + piece
        return total

    def as_fraction(self) -> Fraction:
        """Read a polynomial without symbols as a number.

        Raises:
            IndexStructureError: symbols are left.
        """
        if not self.terms:
            return Fraction(0)
        if len(self.terms) > 1 or self.terms[0][0]:
            raise IndexStructureError(
                f"{self} is not a number. "
                "A value was asked of a coefficient in which symbols are left. "
                "Substitute a number for each of them first."
            )
        return self.terms[0][1]

    def __str__(self) -> str:
        return join_signed(
            (value < 0, write_monomial(monomial, abs(value))) for monomial, value in self.terms
        )

    def __repr__(self) -> str:
        text = str(self)
        return f"Polynomial({text if len(text) <= 60 else text[:57] + '...'})"


ZERO = Polynomial(())
ONE = Polynomial((((), Fraction(1)),))


def as_polynomial(value: Polynomial | Number) -> Polynomial:
    """Read a number as a constant polynomial."""
    return value if isinstance(value, Polynomial) else Polynomial.number(value)


def gather(terms: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    """Add up the values of equal monomials and sort what is left."""
    found: dict[Monomial, Fraction] = {}
    for monomial, value in terms:
        found[monomial] = found.get(monomial, 0) + value  # type: ignore[assignment]
    kept = [(monomial, value) for monomial, value in found.items() if value]
    kept.sort(key=lambda item: monomial_key(item[0]))
    return Polynomial(tuple(kept))


def monomial_key(monomial: Monomial) -> tuple[object, ...]:
    """Sort by falling total degree, then by name and falling power."""
    degree = -sum(power for _, power in monomial)
    return (degree, tuple((name, -power) for name, power in monomial))


def multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    """Add the powers of two monomials name by name."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def falling_factorial(base: Polynomial, count: int) -> Polynomial:
    r"""Multiply out $b(b-1)\cdots(b-c+1)$, the number of ways to place c things apart.

    >>> print(falling_factorial(Polynomial.symbol("n"), 3))
    n³ - 3 n² + 2 n
    """
    result = ONE
    for step in range(count):
        result = result * (base - step)
    return result


def write_monomial(monomial: Monomial, value: Fraction) -> str:
    """Write a positive multiple of a monomial as one fraction."""
    above = [str(value.numerator)] if value.numerator != 1 else []
    below = [str(value.denominator)] if value.denominator != 1 else []
    for name, power in monomial:
        (above if power > 0 else below).append(name + superscript(abs(power)))
    top = " ".join(above) or "1"
    if not below:
        return top
    return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({' '.join(below)})"


def superscript(power: int) -> str:
    """Write a power in raised digits, and the first power as nothing."""
    return "" if power == 1 else str(power).translate(_SUPERSCRIPT)


def join_signed(pieces: Iterable[tuple[bool, str]]) -> str:
    """Join (is negative, text) pieces with their signs between them."""
    text = ""
    for negative, piece in pieces:
        text += (" - " if negative else " + ") if text else ("-" if negative else "")
        text += piece
    return text or "0"
