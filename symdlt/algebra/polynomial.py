"""Exact coefficients: Laurent polynomials in named constants and widths."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from symdlt.algebra.names import check_symbol, refusal
from symdlt.errors import IndexStructureError

Monomial = tuple[tuple[str, int], ...]
Number = int | Fraction

# Places in the order that are kept, of monomials that sums meet again; 100 MB. For memory only.
RANKS = 1 << 17

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """A sum of rational multiples of monomials, kept sorted and without zeros.

    Build one with `Polynomial.number`, `Polynomial.symbol` and arithmetic.

    >>> n = Polynomial.symbol("n")
    >>> print((n - 1) * n / n**3)
    1/n - 1/n²
    """

    terms: tuple[tuple[Monomial, Number], ...]

    @staticmethod
    def number(value: Number) -> "Polynomial":
        """Make a constant polynomial."""
        check_exact(value)
        return Polynomial((((), as_exact(value)),)) if value else ZERO

    @staticmethod
    def symbol(name: str) -> "Polynomial":
        """Make the polynomial that is one named constant."""
        check_symbol(name, "`symbol`")
        return Polynomial(((((name, 1),), 1),))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Polynomial):
            return self.terms == other.terms
        if isinstance(other, int | Fraction):
            return self.terms == Polynomial.number(other).terms
        return NotImplemented

    def __hash__(self) -> int:
        if not self.terms:
            return 0
        return hash(self.terms[0][1]) if self.terms[0][0] == () else hash(self.terms)

    def __add__(self, other: "Polynomial | Number") -> "Polynomial":
        if not isinstance(other, Polynomial | int | Fraction):
            return NotImplemented
        more = as_polynomial(other)
        if not self.terms or not more.terms:
            return self if self.terms else more
        return gather((*self.terms, *more.terms))

    __radd__ = __add__

    def __neg__(self) -> "Polynomial":
        return Polynomial(tuple((monomial, -value) for monomial, value in self.terms))

    def __sub__(self, other: "Polynomial | Number") -> "Polynomial":
        if not isinstance(other, Polynomial | int | Fraction):
            return NotImplemented
        return self + -as_polynomial(other)

    def __rsub__(self, other: Number) -> "Polynomial":
        return as_polynomial(other) - self

    def __mul__(self, other: "Polynomial | Number") -> "Polynomial":
        if not isinstance(other, Polynomial):  # asked first: for Fraction it takes a microsecond
            if not isinstance(other, int | Fraction):
                return NotImplemented
            if not other:
                return ZERO
            return Polynomial(tuple([(m, as_exact(v * other)) for m, v in self.terms]))
        if self is ONE or other is ONE:
            return other if self is ONE else self
        if len(self.terms) == 1:
            return _times_term(other, *self.terms[0])
        if len(other.terms) == 1:
            return _times_term(self, *other.terms[0])
        return gather(
            [(multiply_monomials(m, k), v * w) for m, v in self.terms for k, w in other.terms]
        )

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> "Polynomial":
        if not isinstance(exponent, int):
            raise refusal(exponent, "a power", f"the coefficient {self}", "Give 0, ±1, ±2, ….")
        if exponent < 0:
            return self.inverse() ** -exponent
        result = ONE
        for _ in range(exponent):
            result = result * self
        return result

    def __truediv__(self, other: "Polynomial | Number") -> "Polynomial":
        if not isinstance(other, Polynomial | int | Fraction):
            return NotImplemented
        return self * as_polynomial(other).inverse()

    def __rtruediv__(self, other: Number) -> "Polynomial":
        if not isinstance(other, int | Fraction):
            return NotImplemented
        return self.inverse() * other

    def inverse(self) -> "Polynomial":
        """Invert a monomial.

        Raises:
            IndexStructureError: the polynomial is zero or has more than one term.
        """
        if not self.terms:
            raise IndexStructureError(
                "Cannot divide by 0. "
                "The division was asked of an exact coefficient. "
                "Divide by numbers other than 0, by constants or by widths."
            )
        if len(self.terms) != 1:
            raise IndexStructureError(
                f"Cannot divide by {self}, which is not a single monomial. "
                "The division was asked of an exact coefficient. "
                "Divide by numbers, constants and widths one at a time."
            )
        ((monomial, value),) = self.terms
        below = tuple((name, -power) for name, power in monomial)
        return Polynomial(((below, as_exact(Fraction(1) / value)),))

    def substitute(self, values: Mapping[str, "Polynomial | Number"]) -> "Polynomial":
        """Put numbers or polynomials in the place of symbols; others are passed over.

        >>> n = Polynomial.symbol("n")
        >>> print((n**2 - n).substitute({"n": 4}))
        12
        """
        check_values(values)
        pieces: list[tuple[Monomial, Number]] = []
        for monomial, value in self.terms:
            kept = tuple((name, power) for name, power in monomial if name not in values)
            piece = Polynomial(((kept, value),))
            for name, power in monomial:
                if name in values:
                    piece = piece * as_polynomial(values[name]) ** power
            pieces += piece.terms
        return gather(pieces)

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
        return Fraction(self.terms[0][1])

    def __str__(self) -> str:
        return join_signed((v < 0, write_monomial(m, magnitude(v))) for m, v in self.terms)

    def __repr__(self) -> str:
        text = str(self)
        return f"Polynomial({text if len(text) <= 60 else text[:57] + '...'})"


ZERO = Polynomial(())
ONE = Polynomial((((), 1),))


def as_polynomial(value: Polynomial | Number) -> Polynomial:
    """Read a number as a constant polynomial.

    Raises:
        IndexStructureError: the value is not exact.
    """
    if isinstance(value, Polynomial):
        return value
    return Polynomial.number(value)


def check_exact(value: object) -> None:
    """Refuse what is no exact number."""
    if not isinstance(value, int | Fraction):
        raise IndexStructureError(
            f"{value!r} is not an exact value. It was given where a number or a symbol belongs. "
            "Give an int, a Fraction, or `symbol(name)`."
        )


def check_values(values: object) -> None:
    """Refuse what does not give values to names."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise refusal(
            values, "a mapping from names", "`substitute`", "Give one such as {'n': 4, 'C_W': 2}."
        )


def as_exact(value: Number) -> Number:
    """Write whole numbers as int, which is faster, and others as Fraction."""
    return value if type(value) is int or value.denominator != 1 else int(value)


def gather(terms: Iterable[tuple[Monomial, Number]]) -> Polynomial:
    """Add up the values of equal monomials and sort what is left."""
    values: dict[Monomial, Number] = {}
    for monomial, value in terms:
        values[monomial] = values.get(monomial, 0) + value
    kept = [(monomial, as_exact(value)) for monomial, value in values.items() if value]
    if len(kept) > 1:
        kept.sort(key=_term_key)
    return Polynomial(tuple(kept))


def _times_term(polynomial: Polynomial, monomial: Monomial, value: Number) -> Polynomial:
    """A polynomial times one term: no two of its terms become equal."""
    many = polynomial.terms if value == 1 else (polynomial * value).terms
    if not monomial:
        return Polynomial(many)
    kept = [(multiply_monomials(one, monomial), number) for one, number in many]
    if len(kept) > 1:
        kept.sort(key=_term_key)
    return Polynomial(tuple(kept))


def _term_key(term: tuple[Monomial, Number]) -> tuple[object, ...]:
    return _rank(term[0])


@lru_cache(maxsize=RANKS)
def _rank(monomial: Monomial) -> tuple[object, ...]:
    """Sort by falling total degree, then by name and falling power."""
    falling = tuple([(name, -power) for name, power in monomial])
    return (sum([power for _, power in falling]), falling)


def multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    """Add the powers of two monomials name by name."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    if 0 in powers.values():
        return tuple(sorted([each for each in powers.items() if each[1]]))
    return tuple(sorted(powers.items()))


def falling_factorial(base: Polynomial, count: int) -> Polynomial:
    r"""Multiply out $b(b-1)\cdots(b-c+1)$, the number of ways to place c things apart.

    >>> print(falling_factorial(Polynomial.symbol("n"), 3))
    n³ - 3 n² + 2 n
    """
    if not isinstance(count, int) or count < 0:
        raise refusal(count, "a number of things", "`falling_factorial`", "Give 0, 1, 2, ….")
    base = as_polynomial(base)
    shift = next((value for monomial, value in base.terms if not monomial), 0)
    powers: list[Number] = [1]
    for step in range(count):
        scaled = [(shift - step) * power for power in powers]
        powers = [a + b for a, b in zip([*scaled, 0], [0, *powers], strict=True)]
    variable = [term for term in base.terms if term[0]]
    if len(variable) != 1:
        return sum_powers(Polynomial(tuple(variable)), powers)
    ((monomial, scale),) = variable
    terms: list[tuple[Monomial, Number]] = [((), powers[0])]
    for k, power in enumerate(powers[1:], start=1):
        terms.append((tuple([(name, k * degree) for name, degree in monomial]), power * scale**k))
    return gather(terms)


def sum_powers(variable: Polynomial, powers: list[Number]) -> Polynomial:
    """Add up coefficients times the powers of a variable, lowest first."""
    result = ZERO
    for power in reversed(powers):
        result = result * variable + power
    return result


def magnitude(value: Number) -> Number:
    """Drop the sign of a number."""
    return -value if value < 0 else value


def write_monomial(monomial: Monomial, value: Number) -> str:
    """Write a positive multiple of a monomial as one fraction."""
    above, below = split_fraction(monomial, value, lambda name, power: name + superscript(power))
    if not below:
        return above
    return f"{above}/{below[0]}" if len(below) == 1 else f"{above}/({' '.join(below)})"


def split_fraction(
    monomial: Monomial, value: Number, power: Callable[[str, int], str]
) -> tuple[str, list[str]]:
    """Write what is above the bar of a positive multiple of a monomial, and list what is below."""
    above = [str(value.numerator)] if value.numerator != 1 else []
    below = [str(value.denominator)] if value.denominator != 1 else []
    for name, degree in monomial:
        (above if degree > 0 else below).append(power(name, abs(degree)))
    return " ".join(above) or "1", below


def superscript(power: int) -> str:
    """Write a power in raised digits, and the first power as nothing."""
    return "" if power == 1 else str(power).translate(_SUPERSCRIPT)


def join_signed(pieces: Iterable[tuple[bool, str]]) -> str:
    """Join (is negative, text) pieces with their signs between them."""
    text: list[str] = []
    for negative, piece in pieces:
        text.append((" - " if negative else " + ") if text else ("-" if negative else ""))
        text.append(piece)
    return "".join(text) or "0"
