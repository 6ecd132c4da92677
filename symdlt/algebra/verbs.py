"""Verbs: pure functions from expressions to expressions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace as replace_fields

from symdlt.algebra.contraction import contract_term
from symdlt.algebra.expression import Expression, add_all, as_expression, single
from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head, Moments
from symdlt.algebra.index import Index, Size
from symdlt.algebra.names import refusal
from symdlt.algebra.polynomial import Number, Polynomial, as_polynomial, check_values
from symdlt.algebra.term import Term, rename_dummies, sum_term
from symdlt.errors import IndexStructureError


def contract(expression: Expression | Polynomial | Number) -> Expression:
    """Carry out Kronecker deltas and count sums that nothing depends on, term by term.

    >>> from symdlt.algebra import constant, delta, neurons
    >>> i, j = neurons("i j", "n")
    >>> print(contract((delta(i, j) * delta(i, j) * constant("s", i)(i)).sum(i)))
    s_j
    """
    return Expression(tuple(contract_term(term) for term in as_expression(expression).terms))


def canonicalize(expression: Expression | Polynomial | Number) -> Expression:
    """Bring an expression into canonical form: contracted, collected, sorted and renamed.

    >>> from symdlt.algebra import constant, neurons
    >>> i, j = neurons("i j", "n")
    >>> s = constant("s", i)
    >>> len(canonicalize((s(i) * s(j)).sum(j) + (s(j) * s(i)).sum(j)).terms)
    1
    """
    result = Expression(as_expression(expression).canonical_terms)
    object.__setattr__(result, "_canonical", result.terms)
    return result


def sum_over(expression: Expression | Polynomial | Number, *indices: Index) -> Expression:
    """Sum over indices; a constant summand gives the sizes of their ranges.

    >>> from symdlt.algebra import neurons
    >>> print(sum_over(1, *neurons("i j", "n")))
    n²
    """
    return as_expression(expression).sum(*indices)


def product(factors: Iterable[Expression | Polynomial | Number]) -> Expression:
    """Multiply expressions.

    >>> print(product([2, 3]))
    6
    """
    if not isinstance(factors, Iterable):
        raise refusal(factors, "a collection of factors", "`product`", "Give one such as [x, y].")
    result = as_expression(1)
    for factor in factors:
        result = result * as_expression(factor)
    return result


def substitute(
    expression: Expression | Polynomial | Number, values: Mapping[str, Polynomial | Number]
) -> Expression:
    """Put numbers or polynomials in the place of constants and widths.

    Names that do not occur are passed over, so that one set of values serves many expressions. A
    width that is also the size of ranges can only become a positive integer or another width.

    >>> from symdlt.algebra import symbol
    >>> print(substitute(as_expression(symbol("C_W") * symbol("n")), {"n": 3}))
    3 C_W
    """
    check_values(values)
    sizes = {name: _read_size(value) for name, value in values.items()}
    terms = as_expression(expression).terms
    return Expression(tuple(_substitute_term(term, values, sizes) for term in terms))


def replace(
    expression: Expression | Polynomial | Number, head: Head, rule: Callable[..., Expression]
) -> Expression:
    """Replace every tensor of one head by what the rule makes of its indices.

    An expression without the head comes back as it is.

    Raises:
        IndexStructureError: the expression has a tensor that looks like the head and is another.

    >>> from symdlt.algebra import constant, neurons
    >>> i, j = neurons("i j", "n")
    >>> s, t = constant("s", i), constant("t", i)
    >>> print(replace((s(i) * s(i)).sum(i), s, lambda k: t(k) + 1))
    n + 2 Σ_i t_i + Σ_i t_i²
    """
    if not isinstance(head, Head):
        raise refusal(head, "a tensor", "`replace`", "Give a head such as x, not x(i) or 'x'.")
    if not callable(rule):
        raise refusal(rule, "a rule", "`replace`", "Give a function of the indices of the tensor.")
    terms = as_expression(expression).terms
    check_meant(terms, head)
    return add_all(_replace_in_term(term, head, rule) for term in terms)


def check_meant(terms: Iterable[Term], head: Head) -> None:
    """Refuse a head that does not occur where another does that prints the same."""
    heads = {f.head for term in terms for f in term.factors if isinstance(f, Tensor)}
    if head in heads:
        return
    if any(
        (head.kind, head.name, head.layer, head.order, head.members)
        == (other.kind, other.name, other.layer, other.order, other.members)
        for other in heads
    ):
        raise IndexStructureError(
            f"{head!r} does not occur, but another tensor that prints the same does. "
            "The head was given to `replace`. "
            "Replace the very tensor that stands in the expression: slots, symmetry and law "
            "must agree too."
        )


def _replace_in_term(term: Term, head: Head, rule: Callable[..., Expression]) -> Expression:
    result = as_expression(term.coefficient)
    sums = term.sums
    for factor in term.factors:
        piece = single(factor)
        if isinstance(factor, Tensor) and factor.head == head:
            piece = as_expression(rule(*factor.indices))
            term_names = {index.name for index in term.indices()}
            piece = Expression(tuple(rename_dummies(t, term_names) for t in piece.terms))
        result = result * piece
    terms = result.terms
    for index in sums:
        terms = tuple(sum_term(each, index) for each in terms)
    return Expression(terms)


def _read_size(value: Polynomial | Number) -> Size:
    polynomial = as_polynomial(value)
    if len(polynomial.terms) == 1:
        ((monomial, number),) = polynomial.terms
        if not monomial and number.denominator == 1 and number > 0:
            return int(number)
        if number == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]
    return None


def _substitute_term(
    term: Term, values: Mapping[str, Polynomial | Number], sizes: Mapping[str, Size]
) -> Term:
    def resize(size: Size) -> Size:
        if not isinstance(size, str) or size not in values:
            return size
        if sizes[size] is None:
            raise IndexStructureError(
                f"The width {size} cannot become {as_polynomial(values[size])}. "
                "It is the size of a range in the expression. "
                "Substitute a positive integer or the name of another width."
            )
        return sizes[size]

    def move(index: Index) -> Index:
        return replace_fields(index, size=resize(index.size))

    def change(factor: Factor) -> Factor:
        if isinstance(factor, Delta):
            return Delta(move(factor.left), move(factor.right))
        head = _substitute_head(factor.head, values, resize)
        return Tensor(head, tuple(move(i) for i in factor.indices))

    return Term(
        tuple(move(index) for index in term.sums),
        term.coefficient.substitute(values),
        tuple(change(factor) for factor in term.factors),
    )


def _substitute_head(
    head: Head, values: Mapping[str, Polynomial | Number], resize: Callable[[Size], Size]
) -> Head:
    return replace_fields(
        head,
        slots=tuple(replace_fields(slot, size=resize(slot.size)) for slot in head.slots),
        law=head.law and head.law.substitute(values),
        members=tuple(_substitute_head(member, values, resize) for member in head.members),
        moments=head.moments and _substitute_moments(head.moments, values, resize),
    )


def _substitute_moments(
    moments: Moments,
    values: Mapping[str, Polynomial | Number],
    resize: Callable[[Size], Size],
) -> Moments:
    mean = moments.mean and _substitute_head(moments.mean, values, resize)
    return Moments(_substitute_head(moments.covariance, values, resize), mean)
