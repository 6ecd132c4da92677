"""Laws of a single weight or bias: symmetric, so given by their even cumulants."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from symdlt.algebra.names import check_symbol, refusal
from symdlt.algebra.polynomial import ONE, ZERO, Number, Polynomial, as_polynomial, check_values
from symdlt.errors import IndexStructureError

ORTHOGONAL = "orthogonal"
_FAMILIES = ("gaussian", "uniform", "truncated normal", "signs", "sparse", "listed", ORTHOGONAL)


@dataclass(frozen=True, slots=True)
class Law:
    """A symmetric law with mean zero; `cumulant(2)` is its variance.

    Make one with `gaussian`, `uniform`, `truncated_normal`, `signs`, `sparse`, `orthogonal`,
    `from_cumulants` or `from_moments`.

    Attributes:
        name: which family the law belongs to.
        scale: the variance (of the untruncated normal for a truncated one).
        listed: the cumulants given one by one, as (order, value).
        cutoff: where a truncated normal is cut, in standard deviations.
        hazard: the symbol for twice the density at the cut over the mass inside it, or "" if its
            number is put in.
        density: the part of a sparse law's draws that is not zero.
    """

    name: str
    scale: Polynomial
    listed: tuple[tuple[int, Polynomial], ...] = ()
    cutoff: Fraction = Fraction(0)
    hazard: str = ""
    density: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.name not in _FAMILIES or not isinstance(self.scale, Polynomial):
            raise refusal(
                (self.name, self.scale), "a law", "`Law`", "Use a function such as `gaussian`."
            )
        check_not_negative(self.scale, "variance", f"a {self.name} law")

    @property
    def is_gaussian(self) -> bool:
        """Tell whether all cumulants beyond the variance vanish."""
        return self.name == "gaussian"

    def allows(self, size: int) -> bool:
        """Tell whether blocks of a size can contribute to a moment."""
        return size == 2 if self.is_gaussian else size % 2 == 0

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Order laws by what they are made of."""
        listed = tuple((order, str(value)) for order, value in self.listed)
        given = str(self.cutoff), self.hazard, str(self.density)
        return (self.name, str(self.scale), listed, *given)

    def cumulant(self, order: int) -> Polynomial:
        """Return the cumulant of one order; odd ones vanish.

        Raises:
            IndexStructureError: a list of cumulants ends before the order.

        >>> print(uniform(Polynomial.symbol("v")).cumulant(4))
        -6 v²/5
        """
        if not isinstance(order, int) or order < 1:
            raise IndexStructureError(
                f"There is no cumulant of order {order!r}. "
                f"It was asked of a {self.name} law. "
                "Orders start at 1, and the second is the variance."
            )
        if order % 2:
            return ZERO
        if self.is_gaussian:
            return self.scale if order == 2 else ZERO
        if self.name == "uniform":
            return cumulant_from_moments(self._uniform_moment, order)
        if self.name == ORTHOGONAL:
            return self._entry_of_orthogonal(order)
        if self.name == "signs":
            return cumulant_from_moments(lambda k: self.scale ** (k // 2), order)
        if self.name == "sparse":
            return cumulant_from_moments(self._sparse_moment, order)
        if self.name == "truncated normal":
            return cumulant_from_moments(self._truncated_moment, order)
        return self._listed_cumulant(order)

    def substitute(self, values: Mapping[str, Polynomial | Number]) -> "Law":
        """Put numbers or polynomials in the place of the constants that the law is made of.

        Raises:
            IndexStructureError: the hazard of a truncated normal is among them.
        """
        check_values(values)
        if self.hazard and self.hazard in values:
            raise IndexStructureError(
                f"The hazard {self.hazard} of a truncated normal law is only known by its name. "
                f"It was to be replaced by {as_polynomial(values[self.hazard])}. "
                "Take the expectation first and substitute then."
            )
        listed = tuple((order, value.substitute(values)) for order, value in self.listed)
        return replace(self, scale=self.scale.substitute(values), listed=listed)

    def _listed_cumulant(self, order: int) -> Polynomial:
        top = self.listed[-1][0]
        if order > top:
            raise IndexStructureError(
                f"The law lists its cumulants up to order {top} only. "
                f"A block of {order} equal weights needs the cumulant of order {order}. "
                "List it too, with the value 0 if it is to be dropped."
            )
        return dict(self.listed).get(order, ZERO)

    def _entry_of_orthogonal(self, order: int) -> Polynomial:
        if order == 2:
            return self.scale
        raise IndexStructureError(
            "The entries of an orthogonal matrix are not independent, and have no cumulants of "
            f"their own beyond the variance. That of order {order} was asked for. Tensors of "
            "networks with orthogonal weights come from `propagate`, for a `Stack`."
        )

    def _sparse_moment(self, order: int) -> Polynomial:
        half = order // 2
        return self.scale**half * math.prod(range(1, order, 2)) / self.density ** (half - 1)

    def _uniform_moment(self, order: int) -> Polynomial:
        return (self.scale * 3) ** (order // 2) * Fraction(1, order + 1)

    def _truncated_moment(self, order: int) -> Polynomial:
        moment, number = ONE, Fraction(hazard_value(self.cutoff))
        hazard = Polynomial.symbol(self.hazard) if self.hazard else as_polynomial(number)
        for step in range(2, order + 1, 2):
            edge = hazard * self.cutoff ** (step - 1)
            moment = moment * (step - 1) - edge
        return moment * self.scale ** (order // 2)


def check_not_negative(value: Polynomial, what: str, place: str) -> None:
    """Refuse a negative number; the sign of a symbol is not known."""
    if len(value.terms) == 1 and value.terms[0][0] == () and value.terms[0][1] < 0:
        raise IndexStructureError(
            f"The {what} {value} is negative. "
            f"It was given to {place}. "
            "Give 0, a positive number or a symbol."
        )


def cumulant_from_moments(moment: Callable[[int], Polynomial], order: int) -> Polynomial:
    r"""Solve $m_k = \sum_j \binom{k-1}{j-1} \kappa_j m_{k-j}$ for the last cumulant.

    The recursion is that of P. J. Smith, The American Statistician 49 (1995), 217.
    """
    cumulants: dict[int, Polynomial] = {}
    for k in range(2, order + 1, 2):
        rest = moment(k)
        for j in range(2, k, 2):
            rest = rest - cumulants[j] * moment(k - j) * math.comb(k - 1, j - 1)
        cumulants[k] = rest
    return cumulants[order]


def gaussian(variance: Polynomial | Number) -> Law:
    """Make the Gaussian law of a given variance.

    >>> gaussian(1).cumulant(2), gaussian(1).cumulant(4)
    (Polynomial(1), Polynomial(0))
    """
    return Law("gaussian", as_polynomial(variance))


def orthogonal(variance: Polynomial | Number) -> Law:
    """Make the law of a matrix with Haar measure whose entries have a given variance.

    Its rows, or if there are more of them its columns, are orthogonal and of one length.

    >>> orthogonal(1).cumulant(2)
    Polynomial(1)
    """
    return Law(ORTHOGONAL, as_polynomial(variance))


def uniform(variance: Polynomial | Number) -> Law:
    r"""Make the uniform law on $[-\sqrt{3v}, \sqrt{3v}]$, of variance v."""
    return Law("uniform", as_polynomial(variance))


def signs(variance: Polynomial | Number) -> Law:
    r"""Make the law of two values, $\pm\sqrt v$, of variance v.

    >>> print(signs(Polynomial.symbol("v")).cumulant(4))
    -2 v²
    """
    return Law("signs", as_polynomial(variance))


def sparse(variance: Polynomial | Number, density: Number = Fraction(1, 2)) -> Law:
    """Make a law of which a part is zero, and the others are Gaussian, of a given variance.

    Raises:
        IndexStructureError: for a density that is not above 0 and at most 1.

    >>> print(sparse(Polynomial.symbol("v"), Fraction(1, 4)).cumulant(4))
    9 v²
    """
    if not isinstance(density, int | float | Fraction) or not 0 < density <= 1:
        raise IndexStructureError(
            f"A law cannot have the density {density!r}. It was given to `sparse`, as the part of "
            "draws that is not zero. Give a number above 0, and at most 1."
        )
    return Law("sparse", as_polynomial(variance), density=Fraction(density))


def truncated_normal(scale: Polynomial | Number, cutoff: Number = 2, hazard: str = "q") -> Law:
    r"""Make a normal law of variance `scale` cut at ±`cutoff` standard deviations.

    Its moments obey $m_k = (k-1) m_{k-2} - c^{k-1} q$ in units of the scale, with
    $q = 2\varphi(c)/(2\Phi(c)-1)$, which stays a symbol; `hazard_value` gives its number. Laws
    with other cuts need hazards of other names; with an empty name the number itself is put in.

    >>> print(truncated_normal(1).cumulant(2))
    -2 q + 1
    """
    check_cutoff(cutoff, "truncated_normal")
    if hazard != "":
        check_symbol(hazard, "the hazard of `truncated_normal`")
    variance = as_polynomial(scale)
    if any(name == hazard for monomial, _ in variance.terms for name, _ in monomial):
        raise IndexStructureError(
            f"The name {hazard!r} stands for the hazard and for a constant in the scale. "
            "Both were given to `truncated_normal`. "
            "Give the hazard another name, as in hazard='q_2'."
        )
    return Law("truncated normal", variance, (), Fraction(cutoff), hazard)


def check_cutoff(cutoff: object, place: str) -> None:
    """Refuse a cut that is no positive number, or one at which the hazard is 0 or infinite."""
    # Convention: far wider than any cut in use, and far from where floats over- or underflow.
    if not isinstance(cutoff, int | float | Fraction) or not 1e-6 <= cutoff <= 1e6:
        raise IndexStructureError(
            f"A normal law cannot be cut at {cutoff!r} standard deviations. "
            f"The cut was given to `{place}`. "
            "Give a positive number such as 2."
        )


def hazard_value(cutoff: Number = 2) -> float:
    """Return the number that the symbol of a truncated normal stands for.

    >>> round(hazard_value(2), 6)
    0.113129
    """
    check_cutoff(cutoff, "hazard_value")
    density = math.exp(-(float(cutoff) ** 2) / 2) / math.sqrt(2 * math.pi)
    return 2 * density / math.erf(float(cutoff) / math.sqrt(2))


def from_cumulants(cumulants: Mapping[int, Polynomial | Number]) -> Law:
    """Make a law from its even cumulants; orders left out below the highest one are zero.

    Only the variance is checked for its sign, so that a law may be cut off after some order.

    >>> from_cumulants({2: 1, 4: -2}).cumulant(4)
    Polynomial(-2)
    """
    listed = _even_orders(cumulants, "cumulants")
    return Law("listed", dict(listed).get(2, ZERO), listed)


def from_moments(moments: Mapping[int, Polynomial | Number]) -> Law:
    """Make a law from its even moments, every one up to the highest.

    >>> signs = from_moments({2: 1, 4: 1, 6: 1})
    >>> [str(signs.cumulant(order)) for order in (2, 4, 6)]
    ['1', '-2', '16']
    """
    known = dict(_even_orders(moments, "moments"))
    for order, value in known.items():
        check_not_negative(value, "moment", f"`from_moments` for order {order}")
    for order in range(2, max(known) + 1, 2):
        if order not in known:
            raise IndexStructureError(
                f"The moment of order {order} is missing. "
                f"Moments were given for the orders {tuple(sorted(known))}. "
                "Give every even moment up to the highest."
            )
    return from_cumulants({k: cumulant_from_moments(known.__getitem__, k) for k in known})


def _even_orders(
    values: Mapping[int, Polynomial | Number], what: str
) -> tuple[tuple[int, Polynomial], ...]:
    if not isinstance(values, Mapping):
        raise refusal(
            values, f"a mapping of {what}", "a symmetric law", "Give one such as {2: 1, 4: 3}."
        )
    orders = list(values)
    if not orders or any(not isinstance(k, int) or k < 2 or k % 2 for k in orders):
        raise IndexStructureError(
            f"The orders {tuple(orders)} are not even orders from 2 up. "
            f"They were given as the {what} of a symmetric law. "
            "Give a value for 2, and for 4, 6, … where needed; odd orders vanish."
        )
    return tuple((order, as_polynomial(values[order])) for order in sorted(orders))
