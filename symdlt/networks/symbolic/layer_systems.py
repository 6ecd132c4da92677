"""The equations of a layer as a closed system, for its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from symdlt.algebra import Polynomial
from symdlt.definitions import BOOK, Correlator, Layer, Stack
from symdlt.errors import KernelError
from symdlt.kernels.generator.layer_systems import LayerSystem, SystemEquation
from symdlt.networks.symbolic.layer_equations import LayerEquation
from symdlt.networks.symbolic.response_equations import (
    LayerDerivation,
    readable_layer,
    readable_tensor,
)
from symdlt.networks.symbolic.symbolic_response import symbol_named

OVERLAP = symbol_named("overlap")


def layer_system(tensors: Iterable[str | Correlator], layer: Layer | Stack | str) -> LayerSystem:
    """The equations of some tensors, and of all that they need.

    Args:
        tensors: names or correlators, of the book.
        layer: a layer that closes on its last one; layer 1 has the biases and the weights of its
            last statement, which read the input.

    Raises:
        KernelError: for a layer with a skip, whose tensors need pairs of depths.
        LayerError: for a layer that `layer_equations` does not take.

    >>> layer_system(["F"], "u = U z; v = V z; z' = b + W s(u) v").names
    ('G', 'H', 'F')
    """
    definition = readable_layer(layer)
    left: list[str | Correlator] = ["G", *tensors]
    if later := [one for one in left if isinstance(one, str) and "." in one]:
        raise KernelError(
            f"{' '.join(later)} of the layer {definition} have no kernel file. Those of layers of "
            "several streams have leading orders. Ask `propagate` for corrections of order 1/n."
        )
    equations: dict[str, SystemEquation] = {}
    fields: tuple[SystemEquation, ...] = ()
    while left:
        correlator = readable_tensor(left.pop())
        if correlator.name in equations:
            continue
        derivation = LayerDerivation(correlator, definition, False)
        equation, *others = derivation.equations()
        if others:
            raise _refused(definition, correlator.name)
        equations[correlator.name] = one = _of_tensor(derivation, equation)
        left += sorted(one.needs)
        if correlator.name == "G":
            fields = tuple(_fields(derivation))
    return LayerSystem(definition, tuple(_in_dependency_order(equations)), fields)


def _in_dependency_order(equations: dict[str, SystemEquation]) -> Iterator[SystemEquation]:
    """Each equation behind those of the tensors that it needs; else as the book has them."""
    left, done = [name for name in BOOK if name in equations], set[str]()
    while left:
        name = next(name for name in left if equations[name].needs <= {*done, name})
        left.remove(name)
        done.add(name)
        yield equations[name]


def _refused(layer: Layer | Stack, name: str) -> KernelError:
    return KernelError(
        f"{name} of the layer {layer} has no kernel file. The layer keeps z on its neurons, which "
        "are read again at every depth, so that tensors need pairs of depths, at a cost that grows "
        "with the square of their number; a kernel file reads the last layer alone. `propagate` of "
        "a `Network` of such layers has all thirteen tensors, and `layer_equations` the equations."
    )


def _of_tensor(derivation: LayerDerivation, equation: LayerEquation) -> SystemEquation:
    correlator = derivation.correlator
    first = Polynomial.number(0)
    if correlator.pairs == 1:
        top = derivation.program.fields[derivation.top]
        for branch in (*top.biases, *top.branches):
            size: Any = branch.rate if correlator.forest.edges else branch.variance
            first = first + (size if branch.site is None else size * OVERLAP)
    samples = tuple(map(int, derivation.samples))
    return _equation(derivation, equation, correlator.name, samples, first, correlator.symmetries)


def _fields(derivation: LayerDerivation) -> Iterator[SystemEquation]:
    """The covariances of the fields inside a layer."""
    zero, names = Polynomial.number(0), derivation.texts.names
    samples = tuple(map(int, derivation.samples))
    for field in derivation.inside:
        covariance = zero + derivation.means.kernels[field, field][0, 1]
        ends = " ".join(f"{names[field]}_{sample}" for sample in samples)
        equation = LayerEquation(f"<{ends}>", covariance)
        yield _equation(derivation, equation, names[field], samples, zero, ((0, 1), (1, 0)))


def _equation(
    derivation: LayerDerivation,
    equation: LayerEquation,
    name: str,
    samples: tuple[int, ...],
    first: Polynomial,
    symmetries: tuple[tuple[int, ...], ...],
) -> SystemEquation:
    symbols = [symbol for monomial, _ in equation.polynomial.terms for symbol, _ in monomial]
    known = derivation.means.read
    reads = {symbol: known[symbol] for symbol in dict.fromkeys(symbols) if symbol in known}
    text = tuple(str(equation).splitlines())
    terms = tuple(product.terms[0] for product in equation.products)
    return SystemEquation(name, samples, text, terms, reads, first.terms, symmetries)
