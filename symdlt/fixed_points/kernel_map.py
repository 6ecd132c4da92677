r"""The maps of the kernel and of small differences, read off the recursions of G and H.

For any layer the recursion of G is a sum of numbers times symbols of the layer times Gaussian
means, and so is what multiplies H in its own. Of the symbols one multiplies a constant, the bias,
and one the means that are not of z itself, the weight. With numbers for all others,

$$K' = \beta\, C_{bias} + C_{weight}\, g(K) + g_0(K), \qquad
  \chi_\parallel = \frac{\partial K'}{\partial K}, \qquad
  \chi_\perp = C_{weight}\, d(K) + d_0(K)$$

Those of the dense layer are $\beta = 1$, $g = \langle\sigma\sigma\rangle_K$,
$d = \langle\sigma'\sigma'\rangle_K$ and $g_0 = d_0 = 0$.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import add

import sympy as sp

from symdlt.definitions import DENSE, FIELD, Layer, layer_of_one_stream
from symdlt.derivation import Recursion, RecursionTerm, derive
from symdlt.errors import DerivationError, SolutionError
from symdlt.precision import AnyPrecision, number

Orders = tuple[int, ...]
Triple = tuple[AnyPrecision, ...]

# A constant, and K itself, which is the mean of the square of z.
CONSTANT: Orders = ()
FIELDS: Orders = (FIELD, FIELD)


@dataclass(frozen=True, slots=True)
class MapTerm:
    """A term of the kernel map, or of what multiplies H.

    Attributes:
        factor: an exact number: its coefficient times the values of symbols that were given.
        symbol: the bias or the weight, if one of them multiplies it.
        orders: the derivatives of the activation in its Gaussian mean; `FIELDS` for K itself.
    """

    factor: sp.Expr
    symbol: str | None
    orders: Orders


@dataclass(frozen=True, slots=True)
class KernelMap:
    """The maps of a layer at leading order.

    Attributes:
        layer: of which.
        bias: the symbol that multiplies a constant, or None.
        weight: the symbol that multiplies means.
        metric: the terms of the next kernel.
        ntk: the terms of the perpendicular susceptibility.
        products: the products of derivatives of which Gaussian means are needed.
        values: of its other symbols, that are in the factors of the terms.
    """

    layer: Layer
    bias: str | None
    weight: str
    metric: tuple[MapTerm, ...]
    ntk: tuple[MapTerm, ...]
    products: tuple[Orders, ...]
    values: tuple[tuple[str, sp.Expr], ...] = ()

    @property
    def kernel(self) -> Orders:
        """The derivatives in the mean that the weight multiplies in the kernel."""
        products = {term.orders for term in self.metric if term.symbol == self.weight}
        if len(products) != 1:
            raise _fault(f"{self.weight} before {len(products)} means, and not one")
        return products.pop()

    def parts(self, bias: sp.Expr | float, weight: sp.Expr | float) -> tuple[sp.Expr, ...]:
        """The next kernel as a constant, a multiple of K, and one of the mean square of σ.

        Args:
            bias: the value of the symbol before the constant.
            weight: that of the symbol before means.

        >>> kernel_map("z' = xi z + b + W s(z)", {"xi": sp.Rational(1, 2)}).parts(3, 5)
        (3, 1/4, 5)
        """
        values, sums = {self.bias: bias, self.weight: weight, None: 1}, [sp.Integer(0)] * 3
        for term in self.metric:
            place = (CONSTANT, FIELDS).index(term.orders) if term.orders != self.kernel else 2
            sums[place] += term.factor * values[term.symbol]
        return tuple(sums)

    def at(self, K: AnyPrecision, means: Iterable[tuple[AnyPrecision, ...]]) -> KernelNumbers:
        """The numbers at one K from the means of `products`, each with the powers 0, 1, 2 of z²/K.

        Args:
            K: the variance.
            means: those of the products.

        >>> kernel_map().at(2, ((2, 6, 30), (1, 1, 3)))
        KernelNumbers(g=2, g_1=1.0, g_2=0.0, d=1, d_1=0.0)
        """
        read: dict[Orders, Triple] = {CONSTANT: (1, 0, 0), FIELDS: (K, 1, 0)}
        for orders, mean in zip(self.products, means, strict=True):
            read[orders] = mean[0], *_derivatives(K, mean)
        g, g_1, g_2 = _total(self.metric, self.weight, read)
        d, d_1, _ = _total(self.ntk, self.weight, read)
        kept, moved = (_total(terms, None, read) for terms in (self.metric, self.ntk))
        constant = _total(self.metric, self.bias, read)[0] if self.bias else 0
        return KernelNumbers(g, g_1, g_2, d, d_1, constant, kept, moved)


@dataclass(frozen=True, slots=True)
class KernelNumbers:
    """The kernel map and the susceptibilities at one K, for any bias and weight.

    Attributes:
        g: what the weight multiplies in the next kernel.
        g_1: its first derivative by K.
        g_2: its second derivative.
        d: what it multiplies in the perpendicular susceptibility.
        d_1: its first derivative.
        constant: what the bias multiplies.
        kept: the rest of the next kernel, and its derivatives.
        moved: the rest of the perpendicular susceptibility, and its derivatives.
    """

    g: AnyPrecision
    g_1: AnyPrecision
    g_2: AnyPrecision
    d: AnyPrecision
    d_1: AnyPrecision
    constant: AnyPrecision = field(default=1, repr=False)
    kept: Triple = field(default=(0, 0, 0), repr=False)
    moved: Triple = field(default=(0, 0, 0), repr=False)

    def next_kernel(self, bias: AnyPrecision, weight: AnyPrecision) -> AnyPrecision:
        """The kernel of the next layer."""
        return self.constant * bias + weight * self.g + self.kept[0]

    def chi_parallel(self, weight: AnyPrecision) -> AnyPrecision:
        """What multiplies a small change of the kernel."""
        return weight * self.g_1 + self.kept[1]

    def chi_perp(self, weight: AnyPrecision) -> AnyPrecision:
        """What multiplies the NTK."""
        return weight * self.d + self.moved[0]

    @property
    def critical_weight(self) -> AnyPrecision:
        """The weight at which the perpendicular susceptibility is 1."""
        return (1 - self.moved[0]) / self.d

    def critical_bias(self, K: AnyPrecision) -> AnyPrecision:
        """The bias at which K is then a fixed point; without one, by how much it is none."""
        return (K - self.next_kernel(0, self.critical_weight)) / (self.constant or 1)

    def allowed(self, K: AnyPrecision) -> bool:
        """Whether neither of them is negative."""
        rest = 1 - self.moved[0]
        return bool(rest > 0 and 0 < rest * self.g <= (K - self.kept[0]) * self.d)

    @property
    def mismatch(self) -> AnyPrecision:
        """The parallel susceptibility less 1, where the perpendicular one is 1."""
        rest = 1 - self.moved[0]
        return rest * self.g_1 / self.d + self.kept[1] - 1 if self.d else 0 * self.d

    @property
    def newton_step(self) -> AnyPrecision:
        """How far the next zero of the mismatch is to be sought, by Newton's iteration.

        The mismatch times d is $(1 - d_0)\\,g' - (1 - g_0')\\,d$.
        """
        (_, f_1, f_2), (e, e_1, _) = self.kept, self.moved
        value = self.d - self.g_1 + (e * self.g_1 - f_1 * self.d)
        moved = f_1 * self.d_1 + f_2 * self.d - e * self.g_2 - e_1 * self.g_1
        # Where every K can be critical, of scale-invariant functions, both are zero.
        return value / (self.g_2 - self.d_1 + moved) if value else value


def kernel_map(
    layer: Layer | str = DENSE, values: Mapping[str, sp.Expr] | None = None
) -> KernelMap:
    """The maps of the single-input theory at leading order.

    Args:
        layer: how preactivations are made of those below.
        values: exact numbers for symbols of the layer, but for the bias and the weight.

    Raises:
        LayerError: for a layer whose recursions do not close.
        SolutionError: if it is not clear which symbols are the bias and the weight.

    >>> kernel_map("z' = b + 1/2 V s(z)").weight
    'C_V'
    """
    return _kernel_map(layer_of_one_stream(layer), tuple(sorted((values or {}).items())))


@lru_cache(maxsize=32)
def _kernel_map(layer: Layer, values: tuple[tuple[str, sp.Expr], ...]) -> KernelMap:
    metric, ntk = (derive(name, inputs="one", layer=layer) for name in ("G", "H"))
    own = [term for term in ntk.terms if "H" in _names(term)]
    kernel, slope = (
        [_map_term(term, dict(values), recursion) for term in terms]
        for recursion, terms in ((metric, metric.terms), (ntk, own))
    )
    terms = [*kernel, *slope]
    constants = _symbols(term for term in kernel if term.orders == CONSTANT)
    weights = _symbols(term for term in terms if term.orders not in (CONSTANT, FIELDS))
    others = _symbols(term for term in terms if term.orders == FIELDS)
    others += _symbols(term for term in slope if term.orders == CONSTANT)
    if len(constants) > 1 or len(weights) != 1 or others or set(constants) & set(weights):
        raise _undetermined(layer, sorted({*constants, *weights, *others}))
    products = dict.fromkeys(t.orders for t in terms if t.orders not in (CONSTANT, FIELDS))
    if any(order not in (0, 1) for orders in products for order in orders):
        raise SolutionError(
            f"The layer {layer} reads a derivative of its activation. Critical points are sought "
            "for layers that read the activation itself. Write the layer with s(z), and give the "
            "derivative as the activation."
        )
    bias = constants[0] if constants else None
    return KernelMap(layer, bias, weights[0], tuple(kernel), tuple(slope), tuple(products), values)


def _symbols(terms: Iterable[MapTerm]) -> list[str]:
    return list(dict.fromkeys(term.symbol for term in terms if term.symbol is not None))


def _names(term: RecursionTerm) -> list[str]:
    return [tensor.correlator.name for tensor in term.tensors]


def _map_term(term: RecursionTerm, values: Mapping[str, sp.Expr], recursion: Recursion) -> MapTerm:
    """A term of a recursion with the symbols that have values replaced by them."""
    others = [name for name in _names(term) if name not in (recursion.name, "G")]
    brackets = [tuple(order for _, order in bracket.factors) for bracket in term.brackets]
    brackets += [FIELDS for name in _names(term) if name == "G"]
    mixed = any(FIELD in orders and orders != FIELDS for orders in brackets)
    if others or mixed or term.width_ratio or len(brackets) > 1:
        raise _fault(f"the term {term!r} in the recursion of {recursion.name}")
    factor = sp.Rational(*term.coefficient.as_integer_ratio())
    unknown = []
    for name, power in term.hyperparameters.named:
        if name in values:
            factor *= values[name] ** power
        elif power:
            unknown += [name] * power
    if len(unknown) > 1:
        raise _undetermined(recursion.layer, unknown)
    return MapTerm(factor, next(iter(unknown), None), brackets[0] if brackets else CONSTANT)


def _undetermined(layer: Layer, symbols: Sequence[str]) -> SolutionError:
    left = ", ".join(dict.fromkeys(symbols)) or "nothing"
    return SolutionError(
        f"For the layer {layer} it is not clear what to solve for: {left} is left in its kernel "
        "map. A critical point is where the bias, which multiplies a constant there, and one "
        "weight, which multiplies the activation and not z, have the right values. Give values for "
        "all other symbols."
    )


def _fault(what: str) -> DerivationError:
    return DerivationError(
        f"There is {what}, which the kernel map does not have. It is read off the recursions of G "
        "and H. This is a fault of symdlt; report it."
    )


def _total(terms: Sequence[MapTerm], symbol: str | None, read: Mapping[Orders, Triple]) -> Triple:
    """The sum of the means, with their derivatives, that a symbol multiplies, or none does."""
    total: Triple | None = None
    for term in terms:
        if term.symbol == symbol:
            mean = read[term.orders]
            if term.factor != 1:
                double = isinstance(read[FIELDS][0], float)
                scale = float(term.factor) if double else number(term.factor)
                mean = (scale * mean[0], scale * mean[1], scale * mean[2])
            total = mean if total is None else tuple(map(add, total, mean))
    return (0, 0, 0) if total is None else total


def _derivatives(
    K: AnyPrecision, mean: tuple[AnyPrecision, ...]
) -> tuple[AnyPrecision, AnyPrecision]:
    r"""The first two derivatives of a Gaussian mean by its variance.

    The density obeys the heat equation, so that with the Hermite polynomials

    $$\frac{d^n}{dK^n} \langle f \rangle_K
      = \frac{\langle f\, \mathrm{He}_{2n}(z/\sqrt K) \rangle_K}{(2K)^n}$$

    Args:
        K: the variance.
        mean: that of f, and those with z²/K and its square.
    """
    constant, square, fourth = mean
    return (
        (square - constant) / (2 * K),
        (fourth - 6 * square + 3 * constant) / (2 * K) / (2 * K),
    )
