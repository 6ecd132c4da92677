"""The family with closed Gaussian means that an activation belongs to, read off its expression.

An expression is multiplied out into terms z^n exp(k z) erf(b z) with numbers as coefficients, if
it has no others: products of exponentials add their k, sines are exponentials of imaginary k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import mpmath
import numpy as np
from mpmath.ctx_mp import MPContext

from symdlt.activations.nodes import Node
from symdlt.precision import Precise

# Enough that equal scales are equal, and sums that vanish do, once they are rounded to floats.
CONTEXT = MPContext()
CONTEXT.dps = 40  # twice those of a double, and some for what cancels
VANISHING = 1e-30  # ten digits above the rounding of 40
# More terms than these are no faster than quadrature, as all pairs of them are summed.
MOST_TERMS, MOST_DEGREE = 12, 12
# Exponentials and sines of numbers take as many bits as their arguments have before the point.
MOST_ARGUMENT = 1e6
# Squares of scales, and of their reciprocals with a variance, are floats.
LEAST_SCALE, LARGEST_SCALE = 1e-100, 1e100
# Below this share of its terms a sum has lost a digit and more.
SHARE = 0.1

# (n, k, b) of z^n exp(k z) erf(b z), without the last factor if b is zero.
Term = tuple[int, mpmath.mpc, Precise]
Sum = dict[Term, mpmath.mpc]
# Numbers of its parameters: coefficients by power, or rows.
Rows = dict[str, tuple[tuple[float, ...], ...]]
Family: TypeAlias = tuple[str, dict[str, tuple[float, ...] | tuple[tuple[float, ...], ...]]]
Key = TypeVar("Key")
CONSTANT: Term = (0, CONTEXT.mpc(0), CONTEXT.mpf(0))
LINEAR: Term = (1, CONTEXT.mpc(0), CONTEXT.mpf(0))


def closed_family(node: Node) -> Family | None:
    """The name of a family of closed means with its parameters, if the function is of one.

    None also where its terms nearly cancel, so that their means do not give it to all digits.
    """
    terms = multiplied_out(node)
    family = None if terms is None else family_of(terms)
    numbers = [] if family is None else [x for one in family[1].values() for x in np.ravel(one)]
    return family if all(map(math.isfinite, numbers)) else None


def multiplied_out(node: Node) -> Sum | None:
    """The terms of a function, or None if it has others."""
    if node.kind == "variable":
        return {LINEAR: CONTEXT.mpc(1)}
    if node.kind in ("number", "constant"):
        return {CONSTANT: CONTEXT.mpc(value_of(node))}
    if node.kind not in ("add", "multiply", "divide", "power", "call"):
        return None
    parts = []
    for child in node.children:
        part = multiplied_out(child)
        if part is None:
            return None
        parts.append(part)
    if node.kind == "add":
        return added(parts)
    if node.kind == "multiply":
        return times(*parts)
    if node.kind == "power":
        return raised(parts[0], node)
    if node.kind == "divide":
        lower = constant(parts[1])
        return times(parts[0], {CONSTANT: 1 / lower}) if lower else None
    return called(node.name, parts[0]) if len(parts) == 1 else None


def value_of(node: Node) -> Precise:
    """The value of a number or a constant."""
    if node.kind == "constant":
        return +(CONTEXT.pi if node.name == "pi" else CONTEXT.e)
    return CONTEXT.mpf(node.number.numerator) / node.number.denominator


def constant(terms: Sum) -> mpmath.mpc | None:
    """The value of what does not depend on z, else None."""
    return terms.get(CONSTANT, CONTEXT.mpc(0)) if terms.keys() <= {CONSTANT} else None


def added(sums: Iterable[Mapping[Key, mpmath.mpc]]) -> dict[Key, mpmath.mpc]:
    """A sum, without the terms that vanish."""
    total: dict[Key, mpmath.mpc] = {}
    sizes: dict[Key, Precise] = {}
    for terms in sums:
        for key, value in terms.items():
            total[key] = total.get(key, 0) + value
            sizes[key] = max(sizes.get(key, 0), abs(value))
    return {key: value for key, value in total.items() if abs(value) > VANISHING * sizes[key]}


def times(first: Sum, second: Sum) -> Sum | None:
    """A product, unless it has two error functions in one term, or too many terms."""
    if len(first) * len(second) > MOST_TERMS**2:
        return None
    products = []
    for (n, k, b), value in first.items():
        for (m, other, c), factor in second.items():
            if b and c:
                return None
            products.append({(n + m, k + other, b or c): value * factor})
    return added(products)


def raised(base: Sum, node: Node) -> Sum | None:
    """A power: of a number, or of a sum to a small whole number."""
    number, exponent = constant(base), node.number
    if number is not None:
        if not number or (number.real < 0 and exponent.denominator != 1):
            return None
        return {CONSTANT: number ** value_of(Node("number", (), exponent))}
    if exponent.denominator != 1 or not 0 <= exponent <= MOST_DEGREE:
        return None
    power: Sum | None = {CONSTANT: CONTEXT.mpc(1)}
    for _ in range(int(exponent)):
        power = None if power is None else times(power, base)
    return power


def called(name: str, inner: Sum) -> Sum | None:
    """A function of b z + c."""
    if not inner.keys() <= {CONSTANT, LINEAR}:
        return None
    slope, shift = (inner.get(key, CONTEXT.mpc(0)).real for key in (LINEAR, CONSTANT))
    if abs(shift) > MOST_ARGUMENT:
        return None
    if not slope:
        return called_at(name, shift)
    if name in ("sin", "cos", "sinh", "cosh", "exp"):
        turn = CONTEXT.mpc(0, 1) if name in ("sin", "cos") else CONTEXT.mpc(1)
        there, back = CONTEXT.exp(turn * shift), CONTEXT.exp(-turn * shift)
        weights = {
            "exp": (1, 0),
            "sin": (1 / (2 * turn), -1 / (2 * turn)),
            "sinh": (0.5, -0.5),
        }.get(name, (0.5, 0.5))
        ahead, behind = (0, turn * slope, CONSTANT[2]), (0, -turn * slope, CONSTANT[2])
        return added([{ahead: weights[0] * there}, {behind: weights[1] * back}])
    if name in ("erf", "erfc") and not shift:
        sign = CONTEXT.mpc(1 if (slope > 0) == (name == "erf") else -1)
        tail = {(0, CONSTANT[1], abs(slope)): sign}
        return tail if name == "erf" else added([{CONSTANT: CONTEXT.mpc(1)}, tail])
    return None


def called_at(name: str, place: Precise) -> Sum | None:
    """A function at a number."""
    if name == "sqrt" or name == "log":
        if place < 0 or (name == "log" and not place):
            return None
    elif name not in ("sin", "cos", "sinh", "cosh", "exp", "erf", "erfc", "atan", "tanh"):
        return None
    # Some functions change the precision of their context while they work, which is shared here.
    own = CONTEXT.clone()
    return {CONSTANT: CONTEXT.mpc(CONTEXT.convert(getattr(own, name)(own.convert(place))))}


def family_of(terms: Sum) -> Family | None:
    """The family of a sum of terms."""
    kinds: dict[str, dict[int | Precise, mpmath.mpc]] = {}
    for (n, k, b), value in terms.items():
        if b:
            if k or n > 1:
                return None
            kinds.setdefault("gelu" if n else "erf", {})[b] = value.real
        elif not k:
            kinds.setdefault("polynomial", {})[n] = value.real
        elif n or (k.real and k.imag):
            return None
        else:
            kinds.setdefault("circular" if k.imag else "hyperbolic", {})[k.real or k.imag] = value
    straight = kinds.pop("polynomial", {})
    if max(straight, default=0) > MOST_DEGREE or sum(map(len, kinds.values())) > MOST_TERMS:
        return None
    if not kinds:
        return ("polynomial", {"coefficients": polynomial(straight)}) if straight else None
    if kinds.keys() <= {"circular", "hyperbolic"}:
        rows = {name: waves(name, weights) for name, weights in kinds.items()}
        # Cosines are less their value 1 at zero.
        straight = added([straight, *({0: row[2]} for one in rows.values() for row in one)])
        return benign("exponential", floats(rows), straight)
    if len(kinds) > 1:
        return None
    ((name, weights),) = kinds.items()
    if name == "gelu":
        # z erf(b z) = 2/s gelu(s z) - z with s = sqrt(2) b.
        root = CONTEXT.sqrt(2)
        straight = added([straight, *({1: -weight} for weight in weights.values())])
        weights = {root * b: root * weight / b for b, weight in weights.items()}
    return benign(name, floats({"terms": [(w, b) for b, w in weights.items()]}), straight)


def polynomial(straight: Mapping[int, Precise]) -> tuple[float, ...]:
    """Coefficients by power."""
    return tuple(float(straight.get(n, 0)) for n in range(max(straight) + 1))


def waves(kind: str, weights: Mapping[Precise, mpmath.mpc]) -> list[tuple[Precise, ...]]:
    """Rows of scale, odd and even, from the coefficients of exponentials."""
    rows = []
    for scale in sorted({abs(k) for k in weights}):
        ahead, behind = (CONTEXT.mpc(weights.get(k, 0)) for k in (scale, -scale))
        odd = (ahead - behind).real if kind == "hyperbolic" else (behind - ahead).imag
        size = VANISHING * (abs(ahead) + abs(behind))
        rows.append((scale, *(x if abs(x) > size else 0 for x in (odd, (ahead + behind).real))))
    return rows


def floats(rows: Mapping[str, list[tuple[Precise, ...]]]) -> Rows:
    """The same in floats."""
    return {name: tuple(tuple(map(float, row)) for row in one) for name, one in rows.items()}


def benign(name: str, rows: Rows, straight: Mapping[int, Precise]) -> Family | None:
    """The family, unless its terms nearly cancel in a Taylor coefficient, or far from zero.

    Means of a sum such as z - sin(z) have fewer digits than it has at small z.
    """
    coefficients = polynomial(straight) if straight else ()
    scales = [abs(row[kind == "terms"]) for kind, one in rows.items() for row in one]
    if not all(LEAST_SCALE <= scale <= LARGEST_SCALE for scale in scales):
        return None
    series = [derivatives_at_zero(name, kind, row) for kind, one in rows.items() for row in one]
    series += [
        [math.factorial(n) * value * (n == m) for m in range(MOST_DEGREE + 1)]
        for n, value in enumerate(coefficients)
    ]
    far = [weight * scale if name == "gelu" else weight for weight, scale in rows.get("terms", ())]
    if any(cancels(column) for column in [*zip(*series, strict=True), far]):
        return None
    return name, rows | ({"coefficients": coefficients} if straight else {})


def cancels(numbers: Sequence[Precise]) -> bool:
    """Whether a sum is small next to its terms."""
    return bool(abs(sum(numbers)) < SHARE * sum(map(abs, numbers)))


def derivatives_at_zero(name: str, kind: str, row: Sequence[float]) -> list[Precise]:
    """Derivatives of a term, the value of which at zero counts as none."""
    orders = range(MOST_DEGREE + 1)
    scale = CONTEXT.mpf(row[kind == "terms"])
    if name == "exponential":
        _, odd, even = row
        sign = 1 if kind == "hyperbolic" else -1
        return [0.0, *(scale**n * (odd if n % 2 else even) * sign ** (n // 2) for n in orders[1:])]
    weight, _ = row
    if name == "erf":
        return [weight * scale**n * erf_derivative(n) for n in orders]
    # gelu(z) = z/2 + z erf(z/sqrt 2)/2
    inner = [0.0, 1.0, *(0.5 ** (n / 2) * erf_derivative(n) for n in orders[1:])]
    return [weight * scale**n * 0.5 * n * inner[n] for n in orders]


def erf_derivative(order: int) -> float:
    """The derivative of erf at zero, from the series of exp(-z^2)."""
    if order % 2 == 0:
        return 0.0
    half = (order - 1) // 2
    size = math.factorial(order - 1) / math.factorial(half)
    return float((-1) ** half * size * 2.0 / math.sqrt(math.pi))
