"""Kernel IR: what a kernel computes, before it is text in any language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial

from symdlt.expansion import differentiate


@dataclass(frozen=True, slots=True, order=True)
class Mean:
    r"""A Gaussian mean $\frac{1}{k!}\langle\partial^k(\sigma^{(a)}\sigma^{(b)}\cdots)\rangle_K$.

    Attributes:
        orders: the derivative orders a, b, …, ascending.
        derivatives: k.
        groups: if given, the σ's in groups whose joint central moment is meant; k is then 0.

    >>> mean = Mean((0, 0), 2)
    >>> mean.name, mean.text, [(m.name, str(number)) for m, number in mean.plain]
    ('d2_s0_s0', 'd2<s s>', [('s0_s2', '1'), ('s1_s1', '1')])
    >>> central(((1, 1), (0, 0))).text
    "<s s; s' s'>"
    """

    orders: tuple[int, ...]
    derivatives: int = 0
    groups: tuple[tuple[int, ...], ...] = ()

    def __repr__(self) -> str:
        return f"Mean({self.text})"

    @property
    def name(self) -> str:
        """The mean as an identifier."""
        body = "_".join(f"s{order}" for order in self.orders)
        if self.groups:
            return "c_" + "__".join(Mean(group).name for group in self.groups)
        return f"d{self.derivatives}_{body}" if self.derivatives else body

    @property
    def text(self) -> str:
        """The mean as it stands in equations."""
        groups = self.groups or (self.orders,)
        body = "; ".join(" ".join(sigma(order) for order in group) for group in groups)
        return f"d{self.derivatives}<{body}>" if self.derivatives else f"<{body}>"

    @property
    def plain(self) -> tuple[tuple[Mean, Fraction], ...]:
        """The sum of means without outer derivatives that it equals."""
        return _plain(self)


@lru_cache(maxsize=1 << 12)
def _plain(mean: Mean) -> tuple[tuple[Mean, Fraction], ...]:
    if mean.groups:
        return ((mean, Fraction(1)),)
    factors = tuple((0, order) for order in mean.orders)
    images = differentiate(factors, (0,) * mean.derivatives)
    return tuple(
        (Mean(tuple(order for _, order in image)), Fraction(count, factorial(mean.derivatives)))
        for image, count in images
    )


def central(groups: Iterable[tuple[int, ...]]) -> Mean:
    """The joint central moment of products of σ's."""
    ordered = tuple(sorted(groups))
    return Mean(tuple(sorted(order for group in ordered for order in group)), 0, ordered)


def sigma(order: int) -> str:
    """A derivative of the activation in plain text."""
    return "s" + ("'" * order if order < 4 else f"^({order})")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named quantity."""

    name: str


@dataclass(frozen=True, slots=True)
class Power:
    """A named quantity to a power above one."""

    base: Symbol
    exponent: int


@dataclass(frozen=True, slots=True)
class Product:
    """A number times factors; no factors for a constant."""

    coefficient: Fraction
    factors: tuple[Symbol | Power | Sum, ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """Two or more products, or none for zero."""

    terms: tuple[Product, ...]


Expression = Product | Sum


@dataclass(frozen=True, slots=True)
class Cost:
    """Operations of a straight evaluation."""

    multiplications: int = 0
    additions: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.multiplications + other.multiplications, self.additions + other.additions)


def cost(expression: Expression) -> Cost:
    """The operations of an expression as it is written; signs are free.

    >>> x = Symbol("x")
    >>> cost(Sum((Product(Fraction(2), (Power(x, 2),)), Product(Fraction(1)))))
    Cost(multiplications=2, additions=1)
    """
    if isinstance(expression, Sum):
        inner = sum((cost(term) for term in expression.terms), Cost())
        return inner + Cost(0, max(len(expression.terms) - 1, 0))
    total = Cost(max(len(expression.factors) - 1, 0))
    if abs(expression.coefficient) != 1 and expression.factors:
        total += Cost(1)
    for factor in expression.factors:
        if isinstance(factor, Power):
            total += Cost(factor.exponent - 1)
        elif isinstance(factor, Sum):
            total += cost(factor)
    return total


def symbols(expression: Expression) -> frozenset[str]:
    """The names that an expression reads."""
    if isinstance(expression, Sum):
        return frozenset(name for term in expression.terms for name in symbols(term))
    found: set[str] = set()
    for factor in expression.factors:
        if isinstance(factor, Sum):
            found |= symbols(factor)
        else:
            found.add(factor.base.name if isinstance(factor, Power) else factor.name)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class SharedFactor:
    """An intermediate that several recursions use: a hyperparameter, if any, times a mean.

    Attributes:
        name: its identifier.
        hyperparameter: "C_W", "lambda_W", or "" for the bare mean.
        mean: the mean.
    """

    name: str
    hyperparameter: str
    mean: Mean

    @property
    def text(self) -> str:
        """The factor as it stands in equations."""
        return f"{self.hyperparameter} {self.mean.text}".strip()


@dataclass(frozen=True, slots=True)
class TensorFunction:
    """The recursion of one tensor, X[l+1] = gain X[l] + source.

    Attributes:
        tensor: its name.
        variable: its identifier.
        equation: the recursion, term by term, as text.
        gain: what multiplies the tensor itself.
        source: all the rest.
    """

    tensor: str
    variable: str
    equation: tuple[str, ...]
    gain: Expression
    source: Expression

    @property
    def cost(self) -> Cost:
        """Operations a layer, the step of the recursion itself included."""
        return cost(self.gain) + cost(self.source) + Cost(1, 1)


@dataclass(frozen=True, slots=True)
class KernelModule:
    """Everything a kernel computes.

    Attributes:
        plain: the means that are integrated, each once.
        factors: the intermediates made of them.
        metric: the recursion of the kernel K itself, which is not linear.
        metric_equation: the same as text.
        functions: the other recursions, in dependency order.
        first: the tensors that do not vanish at layer 1, with their values there.
        hyperparameters: the names that occur.
        derivatives: how many derivatives of σ are needed.
    """

    plain: tuple[Mean, ...]
    factors: tuple[SharedFactor, ...]
    metric: Expression
    metric_equation: tuple[str, ...]
    functions: tuple[TensorFunction, ...]
    first: tuple[tuple[str, Expression], ...]
    hyperparameters: tuple[str, ...]
    derivatives: int

    def __repr__(self) -> str:
        return (
            f"KernelModule({1 + len(self.functions)} tensors, {len(self.plain)} means, "
            f"{len(self.factors)} factors)"
        )
