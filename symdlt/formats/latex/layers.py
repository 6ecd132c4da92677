"""Equations of layers of any kind, and recursions of stacks, in the notation of PDLT."""

from __future__ import annotations

import re
from fractions import Fraction

from symdlt.algebra import Polynomial
from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import BELOW, ascii_name
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation, LayerEquations
from symdlt.derivation.stacks import (
    FieldMean,
    FieldSlot,
    FieldTensor,
    StepRecursion,
    StepTerm,
)
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.layer_symbols import (
    ABOVE,
    LAYER,
    constant_latex,
    field_latex,
    indexed,
    letter_latex,
    symbol_latex,
    width_latex,
)
from symdlt.formats.latex.lines import product_text
from symdlt.formats.latex.notation import Conventions, power, symbol_text, tensor_text

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


def step_latex(recursion: StepRecursion, use: Conventions, most: int | None = None) -> str:
    r"""One equation as lines of an `align` body.

    Tensors of fields inside the layer are those of layer ℓ+1, with their fields in front of it, as
    in $V^{uuvv(\ell+1)}$.
    """
    fields = "" if recursion.step.last else _listed(recursion.fields, recursion.step.above)
    labels = None if recursion.single_input else recursion.samples
    head = tensor_text(recursion.correlator, recursion.piece, labels, ABOVE, use, fields)
    return equation_latex(
        head, recursion.terms, lambda term: _step_summand(term, recursion, use), use, most
    )


def _step_summand(term: StepTerm, recursion: StepRecursion, use: Conventions) -> Summand:
    single = recursion.single_input
    prefix = [power(_step_ratio(recursion), term.width_power)] if term.width_power else []
    letters = zip(term.hyperparameters.symbols, term.hyperparameters.powers, strict=True)
    prefix += [
        power(symbol_text(name) + use.layer(ABOVE), exponent)
        for name, exponent in letters
        if exponent
    ]
    tensors = tuple(_tensor(one, recursion, use) for one in term.tensors)
    family = (term.width_power, term.hyperparameters, term.tensors if single else ())
    means = tuple(_mean(mean, recursion, use) for mean in term.means)
    return Summand(term.coefficient, family, tuple(prefix), (), means, tensors)


def _step_ratio(recursion: StepRecursion) -> str:
    """The ratio of widths that a step brings."""
    below = (
        r"n_{\ell-1}" if recursion.step.first else f"n_{{{field_latex(recursion.step.below[0])}}}"
    )
    return rf"\left(\frac{{n_{{\ell}}}}{{{below}}}\right)"


def _tensor(one: FieldTensor, recursion: StepRecursion, use: Conventions) -> str:
    first = recursion.step.first
    fields = "" if first else _listed(one.fields, recursion.step.below)
    labels = None if recursion.single_input else one.samples
    layer = LAYER if first else ABOVE
    return tensor_text(one.correlator, one.piece, labels, layer, use, fields)


def _mean(mean: FieldMean, recursion: StepRecursion, use: Conventions) -> str:
    name = recursion.step.read[mean.slots[0].field]
    inside = "".join(_slot(slot, name, recursion.single_input, use) for slot in mean.slots)
    if mean.slots[0].masks:
        return rf"\left\langle {inside}\right\rangle"
    layer = LAYER if recursion.step.first else ABOVE
    marks = "" if name == BELOW else field_latex(name)
    kernel = use.kernel + use.layer(layer)
    if marks:
        kernel = f"{use.kernel}^{{{marks}{f'({use.number(layer)})' if use.layers else ''}}}"
    return rf"\left\langle {inside}\right\rangle_{{{kernel}}}"


def _slot(slot: FieldSlot, name: str, single: bool, use: Conventions) -> str:
    """A function of a field, the field itself, or a mask."""
    at = indexed(field_latex(name), "" if single else use.samples((slot.sample,)))
    if not slot.function or slot.masks:
        return at
    return f"{letter_latex(slot.function, slot.order)}({at})"


def _listed(fields: tuple[int, ...], names: tuple[str, ...]) -> str:
    """The fields of the axes; of several that are the same, one."""
    own = [field_latex(names[field]) for field in fields]
    return own[0] if len(set(own)) == 1 else "".join(own)
