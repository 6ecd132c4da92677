r"""The map of the kernel of two nearby inputs, expanded from the many-input recursion of G.

With the midpoint kernel $K_{[0]} = \tfrac14(K_{++} + 2K_{+-} + K_{--})$ and the differences
$K_{[1]} = \tfrac12(K_{++} - K_{--})$ and $K_{[2]} = \tfrac14(K_{++} - 2K_{+-} + K_{--})$, of first
and second order in the distance of the inputs (PDLT §5.1),

$$K_{\pm\pm} = K_{[0]} \pm K_{[1]} + K_{[2]}, \qquad K_{+-} = K_{[0]} - K_{[2]}$$
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

from symdlt.definitions import DENSE, FIELD, Layer
from symdlt.derivation import Bracket, derive
from symdlt.errors import DerivationError
from symdlt.fixed_points.number_text import power_text

Powers = tuple[int, int]
Symbols = tuple[tuple[str, int], ...]
Derivatives = dict[Powers, Fraction]
Expansion = dict[Powers, Derivatives]

# Where there is no mean; `FIELD` twice is the mean of the square of z.
CONSTANT = (FIELD - 1, FIELD - 1)
# In the distance of the inputs, of which the two differences have these degrees.
ORDER = 2
DEGREES = (1, 2)
BASIS: dict[str, dict[Powers, Fraction]] = {
    "++": {(1, 0): Fraction(1), (0, 1): Fraction(1)},
    "--": {(1, 0): Fraction(-1), (0, 1): Fraction(1)},
    "+-": {(0, 1): Fraction(-1)},
}
PROJECTIONS: tuple[dict[str, Fraction], ...] = (
    {"++": Fraction(1, 4), "--": Fraction(1, 4), "+-": Fraction(1, 2)},
    {"++": Fraction(1, 2), "--": Fraction(-1, 2)},
    {"++": Fraction(1, 4), "--": Fraction(1, 4), "+-": Fraction(-1, 2)},
)


@dataclass(frozen=True, slots=True, order=True)
class NearbyTerm:
    r"""One term of the map.

    $$c\, C_b^i\, C_W^j \cdots K_{[1]}^p K_{[2]}^q\,
      \frac{d^n}{dK^n}\langle\sigma^{(m)}\sigma^{(m)}\rangle_{K_{[0]}}$$

    Attributes:
        differences: p and q.
        hyperparameters: the symbols of the layer that multiply it, with their powers.
        order: m, `FIELD` for K_[0] itself, or None if there is no mean.
        slope: n.
        coefficient: c.
    """

    differences: Powers
    hyperparameters: Symbols
    order: int | None
    slope: int
    coefficient: Fraction

    def __str__(self) -> str:
        number = "" if self.coefficient == 1 else f"{self.coefficient} "
        words = [power_text(name, power) for name, power in self.hyperparameters]
        if self.order == FIELD:
            words.append("K_0")
        elif self.order is not None:
            primes = "'" * self.order if self.order < 4 else f"^({self.order})"
            mean = f"<s{primes} s{primes}>"
            derivative = "d/dK" if self.slope == 1 else f"d^{self.slope}/dK^{self.slope}"
            words.append(f"{derivative} {mean}" if self.slope else mean)
        for name, power in zip(("K_1", "K_2"), self.differences, strict=True):
            words += [power_text(name, power)] if power else []
        return number + " ".join(words)


@lru_cache(maxsize=32)
def nearby_map(layer: Layer = DENSE) -> tuple[tuple[NearbyTerm, ...], ...]:
    r"""The next layer's $K_{[0]}$, $K_{[1]}$ and $K_{[2]}$, to second order in the distance.

    >>> print(*map(str, nearby_map()[1]))
    C_W d/dK <s s> K_1
    >>> print(*map(str, nearby_map()[2]), sep=" + ")
    C_W <s' s'> K_2 + 1/2 C_W d/dK <s' s'> K_1^2
    >>> print(*map(str, nearby_map(Layer("z' = xi z + b + W s(z)"))[1]), sep=" + ")
    C_W d/dK <s s> K_1 + xi^2 K_1
    """
    entries = {name: _entry(name, layer) for name in BASIS}
    components = []
    for projection in PROJECTIONS:
        sums: dict[tuple[Powers, Symbols], Derivatives] = {}
        for name, weight in projection.items():
            for key, derivatives in entries[name].items():
                _add(sums.setdefault(key, {}), derivatives, weight)
        terms = [
            NearbyTerm(differences, hyper, order, slope, number)
            for (differences, hyper), derivatives in sums.items()
            for order, slope, number in _means(derivatives)
        ]
        components.append(tuple(sorted(terms, key=_place)))
    return tuple(components)


def _place(term: NearbyTerm) -> tuple[int, int, bool, bool, int, Symbols]:
    p, q = term.differences
    mean = term.order not in (None, FIELD)
    first = term.differences == (0, 0) and term.order is None  # the bias, before all means
    degree = DEGREES[0] * p + DEGREES[1] * q
    return degree, p, not first, not mean, term.slope, term.hyperparameters


def _entry(name: str, layer: Layer) -> dict[tuple[Powers, Symbols], Derivatives]:
    """One entry of the next layer's kernel, by powers of differences and of hyperparameters."""
    recursion = derive("G", inputs="many", layer=layer)
    signs = dict(zip(recursion.samples, name, strict=True))
    terms: dict[tuple[Powers, Symbols], Derivatives] = {}
    for term in recursion.terms:
        symbols = tuple(one for one in term.hyperparameters.named if one[1])
        names = [tensor.correlator.name for tensor in term.tensors]
        if names not in ([], ["G"]) or term.width_ratio or len(names) + len(term.brackets) > 1:
            raise DerivationError(
                f"The recursion of G has the term {term!r}, where only the kernel should stand. "
                "It is expanded for two nearby inputs. This is a fault of symdlt; report it."
            )
        if names:
            pair = "".join(signs[sample] for sample in term.tensors[0].samples)
            expanded = {(0, 0): {(FIELD, FIELD): Fraction(1)}}
            expanded |= {key: {CONSTANT: number} for key, number in BASIS[_sorted(pair)].items()}
        elif term.brackets:
            expanded = _expanded(term.brackets[0], signs)
        else:
            expanded = {(0, 0): {CONSTANT: Fraction(1)}}
        for differences, derivatives in expanded.items():
            target = terms.setdefault((differences, symbols), {})
            _add(target, derivatives, term.coefficient)
    return terms


def _sorted(pair: str) -> str:
    return "+-" if pair == "-+" else pair


def _expanded(bracket: Bracket, signs: Mapping[int, str]) -> Expansion:
    r"""A bracket at two samples about both at the midpoint, where each factor has its derivative.

    The density of a Gaussian obeys $\partial/\partial K_{ab} = \tfrac12\partial_a\partial_b$, so
    that the mean changes by $\exp(\tfrac12\sum_{ab}\delta K_{ab}\,\partial_a\partial_b)$.
    """
    (first, a), (second, b) = bracket.factors
    step: Expansion = {}
    for left, x in ((first, (1, 0)), (second, (0, 1))):
        for right, y in ((first, (1, 0)), (second, (0, 1))):
            pair = signs[left] + signs[right]
            for differences, number in BASIS[_sorted(pair)].items():
                _add(
                    step.setdefault(differences, {}),
                    {(x[0] + y[0], x[1] + y[1]): Fraction(1, 2)},
                    number,
                )
    power: Expansion = {(0, 0): {(a, b): Fraction(1)}}
    total: Expansion = {}
    for k in range(ORDER + 1):
        for differences, derivatives in power.items():
            _add(total.setdefault(differences, {}), derivatives, Fraction(1))
        power = _multiplied(power, step, Fraction(1, k + 1))
    return total


def _multiplied(first: Expansion, second: Expansion, scale: Fraction) -> Expansion:
    product: Expansion = {}
    for (p, q), left in first.items():
        for (r, s), right in second.items():
            if DEGREES[0] * (p + r) + DEGREES[1] * (q + s) <= ORDER:
                target = product.setdefault((p + r, q + s), {})
                for (i, j), number in left.items():
                    _add(target, {(i + k, j + m): n for (k, m), n in right.items()}, number * scale)
    return product


def _add(target: Derivatives, added: Derivatives, scale: Fraction) -> None:
    for key, number in added.items():
        target[key] = target.get(key, Fraction(0)) + scale * number


def _means(derivatives: Derivatives) -> list[tuple[int | None, int, Fraction]]:
    r"""A sum of $\langle\sigma^{(i)}\sigma^{(j)}\rangle_K$ as derivatives of means of squares.

    $$\frac{d^n}{dK^n}\langle\sigma^{(m)}\sigma^{(m)}\rangle_K \leftrightarrow
      (xy)^m \big(\tfrac12(x+y)^2\big)^n$$

    where x and y stand for the derivatives of the two factors.
    """
    rest: Derivatives = {}
    for (i, j), number in derivatives.items():
        key = (max(i, j), min(i, j))
        rest[key] = rest.get(key, Fraction(0)) + number
    means: list[tuple[int | None, int, Fraction]] = []
    for key, order in ((CONSTANT, None), ((FIELD, FIELD), FIELD)):
        if number := rest.pop(key, Fraction(0)):
            means.append((order, 0, number))
    while rest := {key: number for key, number in rest.items() if number}:
        highest = max(rest)
        order, slope = highest[1], (highest[0] - highest[1]) // 2
        square = _square(order, slope)
        number = rest[highest] / square[highest]
        _add(rest, square, -number)
        means.append((order, slope, number))
    return means


def _square(order: int, slope: int) -> Derivatives:
    """A derivative of the mean of a square, in means of products."""
    products: Derivatives = {}
    for k in range(2 * slope + 1):
        i, j = order + k, order + 2 * slope - k
        _add(
            products, {(max(i, j), min(i, j)): Fraction(comb(2 * slope, k), 2**slope)}, Fraction(1)
        )
    return products
