"""Derivatives of an activation as polynomials in elementary functions that do not overflow.

An expression becomes a polynomial in generators such as z, tanh u, 1 - tanh^2 u or exp(-u^2), whose
derivatives are again such polynomials. Quotients of exponentials are written in the sigmoid s and
1 - s, which are never large and never both small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import sympy as sp
from sympy.polys.domains import EXRAW
from sympy.polys.rings import PolyRing

from symdlt.activations.functions import FUNCTIONS
from symdlt.activations.sympy_form import Z
from symdlt.errors import ActivationError
from symdlt.kernels.generator.expressions import Coefficients, monomial
from symdlt.kernels.generator.python.exponentials import (
    MOST_TERMS,
    check_size,
    exponentials,
    grows,
    grows_below,
    quotient,
)

# Room below the largest double for the products of constants with values.
HIGHEST_CONSTANT = 1e200
# Coefficients that are zero come out of evaluation with 30 digits as about 1e-30 of the largest.
NEGLIGIBLE = 1e-25
# What a sigmoid is made of; the bound is below the logarithm of the largest double.
DECAY = "np.exp(np.minimum({}, 700.0))"
_U = sp.Symbol("u", real=True)


@dataclass(frozen=True, slots=True)
class Definition:
    """A generator as code.

    Attributes:
        name: its identifier.
        code: a template with a place for each argument.
        arguments: polynomials in earlier generators.
        guard: what its first argument must be: "positive", "not zero", or "" for anything.
    """

    name: str
    code: str
    arguments: tuple[Coefficients, ...]
    guard: str


@dataclass(frozen=True, slots=True)
class Derivatives:
    """A smooth function and its derivatives.

    Attributes:
        variable: the identifier of z.
        definitions: the generators, each after those it needs.
        orders: the function and its derivatives as polynomials in the generators.
    """

    variable: str
    definitions: tuple[Definition, ...]
    orders: tuple[Coefficients, ...]


def derivatives(function: Any, order: int, suffix: str = "") -> Derivatives:
    """Differentiate a smooth expression in z.

    Args:
        function: a SymPy expression.
        order: how often.
        suffix: what all identifiers end in.

    Raises:
        ActivationError: if it is not real, holds functions without a rule, or grows too large.

    >>> found = derivatives(sp.tanh(2 * Z), 2)
    >>> [definition.name for definition in found.definitions], dict(found.orders[1])
    (['tanh', 'sech2'], {(('sech2', 1),): Fraction(2, 1)})
    """
    return _Tower(suffix).derivatives(function, order)


@dataclass(frozen=True, slots=True)
class _Generator:
    symbol: Any
    code: str
    arguments: tuple[Any, ...]
    derivative: Callable[[], Any]
    guard: str = ""


class _Tower:
    """The generators met so far; `read` writes an expression in them."""

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix
        self.z = sp.Symbol("z" + suffix)
        self.generators: dict[Any, _Generator] = {}
        self.known: dict[Any, Any] = {}
        self.slopes: dict[Any, Any] = {self.z: sp.Integer(1)}

    def derivatives(self, function: Any, order: int) -> Derivatives:
        value = self.read(function)
        slopes = self._closure(value)
        ring = PolyRing([self.z, *self.generators], EXRAW)
        ringed = {symbol: _element(ring, slope) for symbol, slope in slopes.items()}
        orders = [_element(ring, value)]
        for _ in range(order):
            parts = (orders[-1].diff(ring(g)) * slope for g, slope in ringed.items())
            orders.append(_sized(sum(parts, ring.zero)))
        definitions = tuple(
            Definition(
                g.symbol.name,
                g.code,
                tuple(_numerical(_element(ring, argument)) for argument in g.arguments),
                g.guard,
            )
            for g in self.generators.values()
        )
        return Derivatives(self.z.name, definitions, tuple(map(_numerical, orders)))

    def _closure(self, function: Any) -> dict[Any, Any]:
        """The derivatives of all generators that any derivative of a function can hold."""
        slopes: dict[Any, Any] = {}
        waiting = sorted(function.free_symbols, key=str)
        while waiting:
            symbol = waiting.pop()
            if symbol not in slopes:
                slopes[symbol] = self.slope(symbol)
                waiting += sorted(slopes[symbol].free_symbols, key=str)
        return dict(sorted(slopes.items(), key=lambda item: str(item[0])))

    def slope(self, symbol: Any) -> Any:
        if symbol not in self.slopes:
            self.slopes[symbol] = self.generators[symbol].derivative()
        return self.slopes[symbol]

    def differentiated(self, function: Any) -> Any:
        """The derivative of an expression in generators."""
        symbols = sorted(function.free_symbols, key=str)
        return sp.Add(*(function.diff(symbol) * self.slope(symbol) for symbol in symbols))

    def generator(
        self,
        name: str,
        code: str,
        arguments: tuple[Any, ...],
        derivative: Callable[[Any], Any],
        guard: str = "",
    ) -> Any:
        """A new generator, or the one that has the same code and arguments."""
        key = (code, arguments)
        if key not in self.known:
            names = {symbol.name for symbol in self.generators}
            numbered = (f"{name}{k}{self.suffix}" for k in range(2, len(names) + 3))
            free = next(n for n in (name + self.suffix, *numbered) if n not in names)
            symbol = sp.Symbol(free)
            self.generators[symbol] = _Generator(
                symbol, code, arguments, lambda: derivative(symbol), guard
            )
            self.known[key] = symbol
        return self.known[key]

    def read(self, e: Any) -> Any:
        """A SymPy expression in z, written in generators."""
        if e not in self.known:
            self.known[e] = self._read(e)
        return self.known[e]

    def _read(self, e: Any) -> Any:
        if not e.has(Z):
            return _constant(e)
        if e == Z:
            return self.z
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if isinstance(e, sp.Pow) and e.exp.is_Rational:
            return self._power(e.base, e.exp)
        if len(e.args) == 1:
            return self._call(e.func, e.args[0])
        raise _unknown(e)

    def _sum(self, e: Any) -> Any:
        """A sum; 1 + erf(u) is erfc(-u), and exp(u) - 1 is expm1(u), to keep their digits."""
        constant, rest = e.as_independent(Z, as_Add=True)
        factor, function = rest.as_independent(Z, as_Add=False)
        if isinstance(function, sp.erf) and constant in (factor, -factor):
            return constant * self._call(sp.erfc, -constant / factor * function.args[0])
        if isinstance(function, sp.exp) and constant == -factor:
            (u,) = function.args
            rise = ("np.expm1({})", (self.read(u),), self._chain(sp.exp, u))
            return factor * self.generator("rise", *rise)
        if isinstance(function, sp.erfc) and constant == -2 * factor:
            return -factor * self._call(sp.erfc, -function.args[0])
        return sp.Add(*map(self.read, e.args))

    def _product(self, e: Any) -> Any:
        lower = [f for f in e.args if isinstance(f, sp.Pow) and grows_below(f)]
        if lower:
            rest = sp.Mul(*(f for f in e.args if f not in lower))
            if not grows(rest):
                return self.read(rest) * sp.Mul(*map(self.read, lower))
            return self._quotient(rest, [(f.base, int(-f.exp)) for f in lower])
        return sp.Mul(*map(self.read, e.args))

    def _power(self, base: Any, exponent: Any) -> Any:
        if grows_below(base**exponent):
            return self._quotient(sp.Integer(1), [(base, int(-exponent))])
        inner = self.read(base)
        whole = sp.floor(exponent)
        power = self._whole_power(inner, int(whole))
        part = exponent - whole
        if part == 0:
            return power
        code = "np.sqrt({})" if part == sp.Rational(1, 2) else f"({{}}) ** {float(part)!r}"

        def slope(root: Any) -> Any:
            return part * root * self.inverse(inner) * self.differentiated(inner)

        return power * self.generator("root", code, (inner,), slope, "positive")

    def _whole_power(self, inner: Any, exponent: int) -> Any:
        if exponent < 0:
            return self.inverse(inner) ** -exponent
        if inner.is_Add and exponent > 1:
            slope = partial(self.differentiated, inner)
            return self.generator("base", "{}", (inner,), lambda _: slope()) ** exponent
        return inner**exponent

    def inverse(self, inner: Any) -> Any:
        return self.generator(
            "inverse",
            "1.0 / ({})",
            (inner,),
            lambda q: -(q**2) * self.differentiated(inner),
            "not zero",
        )

    def _call(self, function: Any, u: Any) -> Any:
        if function is sp.log:
            return self._logarithm(u)
        if function is sp.tanh:
            return self._tanh(u)
        if function is sp.exp:
            constant, u = u.as_independent(Z, as_Add=True)
            e = self.generator(
                "exp", FUNCTIONS["exp"].numpy, (self.read(u),), self._chain(sp.exp, u)
            )
            return _constant(sp.exp(constant)) * e
        inner = self.read(u)
        name = function.__name__
        if function in (sp.erf, sp.erfc):
            bell = self.read(sp.exp(sp.expand(-(u**2))))
            chain = self._chain(function, u)
            short = "error" if function is sp.erf else "tail"
            return self.generator(short, FUNCTIONS[name].numpy, (inner, bell), chain)
        if name not in FUNCTIONS or not FUNCTIONS[name].numpy:
            raise _unknown(function(u))
        return self.generator(name, FUNCTIONS[name].numpy, (inner,), self._chain(function, u))

    def _chain(self, function: Any, u: Any) -> Callable[[Any], Any]:
        """The chain rule, with the outer derivative that SymPy knows."""

        def slope(_: Any) -> Any:
            outer = self.read(function(_U).diff(_U).subs(_U, u))
            return outer * self.differentiated(self.read(u))

        return slope

    def _tanh(self, u: Any) -> Any:
        """Tanh, whose derivative is its own generator; of a logarithm it is a quotient."""

        def slope() -> Any:
            if isinstance(u, sp.log):
                return self.read(u.diff(Z))
            return self.differentiated(self.read(u))

        def sech2(t: Any) -> Any:
            return self.generator("sech2", "1.0 - {0} * {0}", (t,), lambda p: -2 * t * p * slope())

        if isinstance(u, sp.log):
            square = u.args[0] ** 2
            code, inner = "{}", self.read((square - 1) / (square + 1))
        else:
            code, inner = FUNCTIONS["tanh"].numpy, self.read(u)
        return self.generator("tanh", code, (inner,), lambda t: sech2(t) * slope())

    def _logarithm(self, u: Any) -> Any:
        if isinstance(u, sp.Pow) and u.exp == -1:
            return -self._logarithm(u.base)
        terms = exponentials(u)
        if len(terms) == 2 and all(c.is_positive and not c.has(Z) for c in terms.values()):
            return self.generator(
                "softplus",
                "np.logaddexp({}, {})",
                tuple(self.read(v + sp.log(c)) for v, c in terms.items()),
                lambda _: self.read(u.diff(Z) / u),
            )
        inner = self.read(u)
        return self.generator(
            "log",
            FUNCTIONS["log"].numpy,
            (inner,),
            lambda _: self.inverse(inner) * self.differentiated(inner),
            "positive",
        )

    def _sigmoids(self, u: Any) -> tuple[Any, Any]:
        """The sigmoid s of u, and 1 - s."""
        inner = self.read(u)
        decay = self.generator("decay", DECAY, (-inner,), _no_slope)
        s = self.generator(
            "sigmoid", "1.0 / (1.0 + {})", (decay,), lambda s: s * r * self.differentiated(inner)
        )
        r = self.generator(
            "rest", "{} * {}", (decay, s), lambda r: -s * r * self.differentiated(inner)
        )
        return s, r

    def _quotient(self, upper: Any, lower: list[tuple[Any, int]]) -> Any:
        """A quotient with exponentials in its denominators, by s : (1 - s) = exp(u) : 1."""
        parts = quotient(upper, lower)
        if parts is None:
            powers = [self._whole_power(self.read(base), -k) for base, k in lower]
            return self.read(upper) * sp.Mul(*powers)
        ratio, width = parts.ratio, parts.width
        s, r = self._sigmoids(parts.u + sp.log(ratio or 1))
        terms = []
        for m, c in parts.upper.items():
            inside = min(max(m, 0), width)
            factor = self.read(c * sp.exp(parts.u * (m - inside)))
            terms.append(factor * (ratio or 1) ** -inside * s**inside * r ** (width - inside))
        result = sp.Add(*terms)
        for p, k in zip(parts.lower, parts.powers, strict=True):
            if ratio is None:
                mixed = sp.Add(*(self.read(c) * s**m * r ** (max(p) - m) for m, c in p.items()))
                result *= self.inverse(mixed) ** k
            else:
                result *= p[0] ** -k
        return result


def _no_slope(symbol: Any) -> Any:
    raise AssertionError(f"{symbol} stands in no polynomial")


def _constant(e: Any) -> Any:
    value = e.evalf(30)
    if not (value.is_Float or value.is_Rational) or abs(value) > HIGHEST_CONSTANT:
        raise ActivationError(
            f"The activation holds {str(e)[:60]}, which is not a real number of moderate size. "
            "Its values must be real numbers. Give a real function of a real variable."
        )
    return e


def _unknown(e: Any) -> ActivationError:
    return ActivationError(
        f"There is no rule to evaluate {str(e)[:60]} of the activation. "
        "Rewrite it in other functions, abs(z) for sqrt(z**2)."
    )


def _element(ring: Any, e: Any) -> Any:
    check_size(e)
    return ring.from_expr(e)


def _sized(element: Any) -> Any:
    if len(element) > MOST_TERMS:
        raise ActivationError(
            f"A derivative of the activation has {len(element)} terms. At most {MOST_TERMS} are "
            "evaluated. Give a function with fewer factors, or ask for fewer derivatives."
        )
    return element


def _numerical(element: Any) -> Coefficients:
    names = [symbol.name for symbol in element.ring.symbols]
    numbers = {powers: c if c.is_Rational else c.evalf(30) for powers, c in element.terms()}
    largest = max(map(abs, numbers.values()), default=0)
    return {
        monomial(dict(zip(names, powers, strict=True))): Fraction(float(c))
        for powers, c in numbers.items()
        if c.is_Rational or abs(c) > NEGLIGIBLE * largest
    }
