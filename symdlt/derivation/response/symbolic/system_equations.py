"""An equation of a layer with what its symbols stand for, as kernels are made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from symdlt.algebra import Polynomial
from symdlt.algebra.polynomial import Monomial
from symdlt.derivation.response.symbolic.closed_systems import (
    Read,
    ReadMask,
    ReadNoise,
    ReadTensor,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.layer_derivation import LayerDerivation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation
from symdlt.derivation.response.symbolic.window_sums import with_parts_over_positions

Term = tuple[Monomial, Fraction | int]


def system_equation(
    derivation: LayerDerivation,
    equation: LayerEquation,
    name: str,
    samples: tuple[int, ...],
    first: Polynomial,
    symmetries: tuple[tuple[int, ...], ...],
    inputs: str,
) -> SystemEquation:
    """One equation of a derivation.

    Args:
        derivation: of what it is.
        equation: the equation.
        name: of the tensor, the field or the state that it is of.
        samples: on each axis.
        first: the value at layer 1.
        symmetries: the permutations of the axes that leave it unchanged.
        inputs: "one" or "many".

    Raises:
        KernelError: for terms that read a sample where it is, and at a position of a window.
    """
    reads: dict[str, Read] = {}
    equation = _without_masks(equation, derivation.means.read, inputs == "one")
    products = [product.terms[0] for product in equation.products]
    expanded = [tuple(_expanded(derivation, *product, reads)) for product in products]
    terms = tuple(term for some in expanded for term in some)
    for monomial, _ in terms:
        for symbol, _ in monomial:
            if symbol in derivation.means.read:
                reads[symbol] = derivation.means.read[symbol]
    text = tuple(str(equation).splitlines())
    one = SystemEquation(name, samples, text, terms, reads, first.terms, symmetries)
    labels = derivation.texts.labels
    if not labels.windows:
        return one
    lines = [line for line, some in zip(text[1:], expanded, strict=False) for _ in some]
    return with_parts_over_positions(one, lines, labels, derivation.layer)


def _without_masks(equation: LayerEquation, reads: Mapping[str, Read], one: bool) -> LayerEquation:
    """An equation with the numbers that means of masks of one draw, or at one sample, are."""
    numbers = {
        symbol: read.of_one
        for symbol, read in reads.items()
        if isinstance(read, ReadMask) and (one or read.shared)
    }
    return LayerEquation(equation.name, equation.polynomial.substitute(numbers))


def _expanded(
    derivation: LayerDerivation, monomial: Monomial, number: Fraction | int, reads: dict[str, Read]
) -> Iterator[Term]:
    """A term with the entries of tables in place of a symbol of noise, in which it is linear."""
    noises = [symbol for symbol, _ in monomial if symbol in derivation.means.noises]
    if not noises:
        yield monomial, number
        return
    (noise,) = noises
    rest = {symbol: power for symbol, power in monomial}
    assert rest.pop(noise) == 1, monomial
    for entry, times in derivation.tables.entries(derivation.noise_met(noise)).items():
        named = _symbol(entry)
        reads[named] = entry
        yield tuple(sorted((rest | {named: 1}).items())), times * number


def _symbol(entry: ReadNoise | ReadTensor) -> str:
    """A symbol for an entry of a table."""
    later = isinstance(entry, ReadNoise) and entry.later
    return f"{entry.name}[{','.join(map(str, entry.samples))}]{'^m' * later}"
