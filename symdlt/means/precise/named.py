"""Gaussian means by name: of one function, or of two at correlated samples."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from numbers import Integral, Rational, Real
from reprlib import repr as short_repr
from typing import TypeAlias

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy.core.evalf import PrecisionExhausted

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.finiteness import check_poles
from symdlt.activations.grammar import parse
from symdlt.activations.nodes import Node
from symdlt.activations.smooth_pieces import smooth
from symdlt.activations.sympy_form import Z, check_real, expression
from symdlt.errors import ActivationError, InputError, SolutionError
from symdlt.means.precise.formulas import (
    NoClosedFormError,
    closed_pieces,
    mean_of_one,
    mean_of_two,
    tidy,
)
from symdlt.means.precise.segments import DOUBLE, MeanError
from symdlt.means.precise.sums import moved, one_sample, two_samples
from symdlt.precision import NumberLike, rounded

# More digits than that take minutes, as those of criticality do.
MOST_DIGITS = 100
# Digits of the terms of a formula; if their sum has none of these, it is zero.
CANCELLED = 2000
NAMES = ("pi", "E")
Functions: TypeAlias = "ActivationLike | Sequence[ActivationLike]"
Mean: TypeAlias = "NumberLike | Sequence[NumberLike] | NDArray[np.float64]"
Covariance: TypeAlias = "Sequence[Sequence[NumberLike]] | NDArray[np.float64]"
# The variance, or the three different entries of a covariance.
Entries = tuple[sp.Expr, ...]
ONE = Node("number", (), Fraction(1))


def gaussian_mean(
    functions: Functions,
    *,
    mean: Mean = 0,
    variance: NumberLike | None = None,
    covariance: Covariance | None = None,
    digits: int = DOUBLE,
) -> float | sp.Expr:
    r"""The mean of f(z) for z ~ N(m, v), or of f(z_1) g(z_2) for two correlated samples.

    $$\langle f \rangle = \int \frac{dz}{\sqrt{2\pi v}}\, e^{-(z-m)^2/2v} f(z)$$

    Args:
        functions: an activation, by name or as an expression in z, or a pair of them.
        mean: m, or a pair of means. Numbers, texts such as "1/3", or letters and SymPy
            expressions, which are real.
        variance: v, of one function; letters are positive.
        covariance: of a pair, two rows of two.
        digits: how many digits of the mean; those of a pair without a closed form are always
            about 13 of its norms. A float is the decimal number that it prints as.

    Returns:
        A float, a SymPy number for more than 15 digits, or a SymPy formula if any of the means
        and variances is a letter or holds one.

    Raises:
        ActivationError: if a function cannot be read, or is not finite somewhere.
        InputError: for an argument of the wrong kind.
        SolutionError: for a covariance that is none, a mean that diverges or takes too many
            nodes, and for a formula that is not known.

    >>> gaussian_mean("sin(z)", mean="m", variance="v")
    exp(-v/2)*sin(m)
    >>> gaussian_mean("relu", mean=0, variance="v")
    sqrt(2)*sqrt(v)/(2*sqrt(pi))
    >>> round(gaussian_mean("tanh", mean=0.3, variance=2), 12)
    0.143215019349
    >>> gaussian_mean(("sin", "cos"), mean=("m", 0), covariance=[["a", "c"], ["c", "b"]])
    exp(-a/2)*exp(-b/2)*exp(c)*sin(m)/2 + exp(-a/2)*exp(-b/2)*exp(-c)*sin(m)/2
    """
    if type(digits) is not int or not 1 <= digits <= MOST_DIGITS:
        raise InputError(
            f"digits is {short_repr(digits)}. It is how many a mean is wanted to. "
            f"Give a whole number from 1 to {MOST_DIGITS}."
        )
    given, means, entries = _read(functions, mean, variance, covariance)
    nodes = [parse(str(read_activation(one))) for one in given]
    for node in nodes:
        check_real(expression(node))
    if any(number.free_symbols for number in (*means, *entries)):
        return _formula(nodes, means, entries)
    _check_variances(entries)
    try:
        return _value(nodes, means, entries, digits)
    except OverflowError as reason:
        raise MeanError(
            "The Gaussian mean is beyond the range of floating point. The function grows fast. "
            "Give a smaller variance, or more than 15 digits, which have no such range."
        ) from reason


def _read(
    functions: Functions,
    mean: Mean,
    variance: NumberLike | None,
    covariance: Covariance | None,
) -> tuple[list[ActivationLike], list[sp.Expr], Entries]:
    """One or two functions, their means, and the variance or the three entries of K."""
    if not isinstance(functions, tuple | list):
        if covariance is not None or variance is None:
            raise InputError(
                "One function needs the variance of its sample. A covariance belongs to two "
                "functions. Give variance=1, for instance."
            )
        return [functions], [_exact("mean", mean)], (_exact("variance", variance),)
    if variance is not None or len(functions) != 2:
        raise InputError(
            f"functions is {short_repr(functions)}. A list has two functions of two samples, "
            "with a covariance and no variance. Give one function with a variance, or two."
        )
    both = isinstance(mean, int) and mean == 0
    means = [0, 0] if both else _pair("mean", mean)
    return list(functions), [_exact("mean", one) for one in means], _covariance(covariance)


def _pair(what: str, given: object) -> list[object]:
    if isinstance(given, str | bytes) or not isinstance(given, Collection) or len(given) != 2:
        raise InputError(
            f"{what} is {short_repr(given)}. Two functions have two samples. Give two entries."
        )
    return list(given)


def _covariance(given: object) -> Entries:
    rows = [_pair("covariance", row) for row in _pair("covariance", given)]
    one, both, again, other = (_exact("covariance", entry) for row in rows for entry in row)
    if both != again:
        raise SolutionError(
            f"The covariance {short_repr(given)} is not symmetric. It stands as covariance in the "
            "call. Give rows [[a, c], [c, b]]."
        )
    return one, both, other


def _exact(what: str, given: object) -> sp.Expr:
    """A number or a letter as an exact real SymPy expression."""
    if isinstance(given, str):
        text = given.strip()
        if text.isidentifier() and text not in NAMES:
            return sp.Symbol(text)
        try:
            number = expression(parse(text))
        except ActivationError:
            number = None
        if number is not None and number.is_finite and not number.free_symbols:
            return number
    elif isinstance(given, bool):
        pass
    elif isinstance(given, Integral | Rational):
        return sp.Rational(int(given.numerator), int(given.denominator))
    elif isinstance(given, Real):
        if float(given) - float(given) == 0:
            return sp.Rational(repr(float(given)))
    elif isinstance(given, sp.Expr):
        real = given.is_extended_real is not False and not given.has(sp.oo, sp.zoo, sp.nan)
        if real and given.has(sp.Float):
            return sp.nsimplify(given, rational=True)
        if real:
            return given
    raise InputError(
        f"The {what} is {short_repr(given)}. Means and covariances are finite real numbers or "
        "letters. Give one such as 0.3, '1/3' or 'm', or a SymPy expression."
    )


def _check_variances(entries: Entries) -> None:
    one, other = entries[0], entries[-1]
    room = one * other - entries[1] ** 2 if len(entries) == 3 else sp.Integer(0)
    if any(number.is_negative for number in (one, other, room)):
        shown = ", ".join(str(entry)[:30] for entry in entries)
        raise SolutionError(
            f"There is no Gaussian of the covariance {shown}. It stands as variance or covariance "
            "in the call. Give variances that are not negative, and a covariance not beyond the "
            "square root of their product."
        )


def _formula(nodes: list[Node], means: list[sp.Expr], entries: Entries) -> sp.Expr:
    """In letters of our own whose signs are known, which are replaced at the end."""
    m = [sp.Dummy("m", real=True) for _ in means]
    K = [sp.Dummy("v", positive=True) for _ in entries]
    if len(K) == 3:
        K[1] = sp.Dummy("c", real=True)
    functions = [closed_pieces(node) for node in nodes]
    if len(nodes) == 1:
        mean = mean_of_one(functions[0], m[0], K[0])
    else:
        mean = mean_of_two((functions[0], functions[1]), (m[0], m[1]), (K[0], K[1], K[2]))
    given = dict(zip([*m, *K], [*means, *entries], strict=True))
    return tidy(mean).subs(given)


def _value(
    nodes: list[Node], means: list[sp.Expr], entries: Entries, digits: int
) -> float | sp.Float:
    if len(nodes) == 1:
        return _of_one(nodes[0], means[0], entries[0], digits)
    one, both, other = entries
    if one == 0 or other == 0 or one * other == both**2:
        return _of_one(*_one_of_two(nodes, means, entries), digits)
    try:
        return _shown(_formula(nodes, means, entries), digits)
    except NoClosedFormError:
        moved_both = moved(nodes[0], _node(means[0])), moved(nodes[1], _node(means[1]))
        for node in moved_both:
            check_poles(smooth(node))
        K = float(one), float(both), float(other)
        return two_samples(moved_both, K)


def _one_of_two(
    nodes: list[Node], means: list[sp.Expr], entries: Entries
) -> tuple[Node, sp.Expr, sp.Expr]:
    """Two samples that depend on each other, or of which one is fixed, as functions of one."""
    one, both, other = entries
    zero, own = _node(sp.Integer(0)), 0 if one else 1
    variance = one or other
    slope = both / variance if variance else sp.Integer(0)
    scales = [ONE, ONE]
    scales[1 - own] = _node(slope) if slope else zero
    moved_both = [
        moved(node, _node(mean), scale)
        for node, mean, scale in zip(nodes, means, scales, strict=True)
    ]
    return Node("multiply", (moved_both[0], moved_both[1])), sp.Integer(0), variance


def _of_one(node: Node, mean: sp.Expr, variance: sp.Expr, digits: int) -> float | sp.Float:
    shifted = moved(node, _node(mean))
    if variance == 0:
        check_poles(smooth(shifted))
        return _shown(expression(shifted, {"z": sp.Integer(0)}), digits)
    try:
        return _shown(_formula([node], [mean], (variance,)), digits)
    except NoClosedFormError:
        check_poles(smooth(shifted))
        function = expression(shifted)
        odd = function == -function.subs(Z, -Z)
        value = sp.Integer(0) if odd else one_sample(shifted, variance, digits)
        return float(value) if digits <= DOUBLE else rounded(value, digits)


def _node(number: sp.Expr) -> Node:
    if number.is_Rational:
        return Node("number", (), Fraction(int(number.p), int(number.q)))
    return parse(str(number))


def _shown(exact: sp.Expr, digits: int) -> float | sp.Float:
    """A formula without letters as a number."""
    try:
        number = exact.evalf(max(digits, DOUBLE) + 5, maxn=CANCELLED, strict=True)
    except PrecisionExhausted:
        number = sp.Integer(0)
    if not number.is_Float or number.is_finite is False:
        if number == 0:
            return 0.0 if digits <= DOUBLE else sp.Float(0, digits)
        raise MeanError(
            "The Gaussian mean diverges. The function grows as fast as the Gaussian falls. "
            "Give a smaller variance."
        )
    if digits > DOUBLE:
        return sp.Float(number, digits)
    value = float(number)
    if value - value != 0:
        raise OverflowError
    return value
