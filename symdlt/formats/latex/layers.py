"""Equations of layers of any kind in the notation of PDLT."""

from __future__ import annotations

import re
from fractions import Fraction

from symdlt.algebra import Polynomial
from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import ascii_name
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation, LayerEquations
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.layer_symbols import (
    ABOVE,
    LAYER,
    constant_latex,
    symbol_latex,
    width_latex,
)
from symdlt.formats.latex.lines import product_text
from symdlt.formats.latex.notation import Conventions, power

_WIDTH = re.compile(r"P|n(?:'|_.+)?")


def layer_equation_latex(
    equation: LayerEquation, of: LayerEquations, use: Conventions, most: int | None = None
) -> str:
    r"""One equation of a layer as lines of an `align` body.

    What a letter with a Q is the part of, in which both averages fluctuate together, has Q above.
    The layer of all equations says which symbols are constants.
    """
    name, above, _ = equation.name.partition("[l+1]")
    head = symbol_latex(name, ABOVE if above else LAYER, use)
    constants = {ascii_name(symbol) for symbol in of.layer.symbols}
    return equation_latex(
        head, equation.products, lambda term: _summand(term, constants, use), use, most
    )


def _summand(term: Polynomial, constants: set[str], use: Conventions) -> Summand:
    ((monomial, number),) = term.terms
    widths = [each for each in monomial if each[0] not in constants and _WIDTH.fullmatch(each[0])]
    own = [each for each in monomial if each[0] in constants]
    sums = [each for each in monomial if each[0].startswith("sum_")]
    others = [each for each in monomial if each not in (*widths, *own, *sums)]
    prefix = [_ratio(widths)] if widths else []
    prefix += [power(constant_latex(name, use.layer(ABOVE)), exponent) for name, exponent in own]
    prefix += [rf"\sum_{{{name.removeprefix('sum_')}}}" for name, _ in sums]
    means = [each for each in others if each[0][0] == "<"]
    tensors = [each for each in others if each[0][0] != "<"]
    return Summand(
        Fraction(number),
        (*widths, *own, *sums) or monomial,  # brackets with nothing in front of them say nothing
        tuple(prefix),
        (),
        _factors(means, use),
        _factors(tensors, use),
    )


def _factors(monomial: list[tuple[str, int]], use: Conventions) -> tuple[str, ...]:
    """Each factor as often as its power says; printing collects them again."""
    ordered = sorted(monomial, key=lambda each: (each[0].islower(), _samples(each[0]), each[0]))
    return tuple(
        symbol_latex(name, LAYER, use) for name, exponent in ordered for _ in range(exponent)
    )


def _samples(name: str) -> list[str]:
    """The samples of a symbol in their order."""
    return re.findall(r"_(\w+)", name)


def _ratio(widths: Monomial | list[tuple[str, int]]) -> str:
    """A ratio of widths."""
    over = [power(width_latex(name), exponent) for name, exponent in widths if exponent > 0]
    under = [power(width_latex(name), -exponent) for name, exponent in widths if exponent < 0]
    above, below = product_text(over) or "1", product_text(under)
    return rf"\left(\frac{{{above}}}{{{below}}}\right)" if under else above
