"""Recursions of stacks in the notation of PDLT, with fields next to samples."""

from __future__ import annotations

from symdlt.definitions import BELOW
from symdlt.derivation.stacks import (
    FieldMean,
    FieldSlot,
    FieldTensor,
    StepRecursion,
    StepTerm,
)
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.layer_symbols import field_latex, indexed, letter_latex
from symdlt.formats.latex.notation import Conventions, power, symbol_text, tensor_text

ABOVE_LAYER, BELOW_LAYER = r"\ell+1", r"\ell"


def step_latex(recursion: StepRecursion, use: Conventions, most: int | None = None) -> str:
    r"""One equation as lines of an `align` body.

    Tensors of fields inside the layer are those of layer ℓ+1, with their fields in front of it, as
    in $V^{uuvv(\ell+1)}$.
    """
    fields = "" if recursion.step.last else _listed(recursion.fields, recursion.step.above)
    labels = None if recursion.single_input else recursion.samples
    head = tensor_text(recursion.correlator, recursion.piece, labels, ABOVE_LAYER, use, fields)
    return equation_latex(
        head, recursion.terms, lambda term: _summand(term, recursion, use), use, most
    )


def _summand(term: StepTerm, recursion: StepRecursion, use: Conventions) -> Summand:
    single = recursion.single_input
    prefix = [power(_ratio(recursion), term.width_power)] if term.width_power else []
    letters = zip(term.hyperparameters.symbols, term.hyperparameters.powers, strict=True)
    prefix += [
        power(symbol_text(name) + use.layer(ABOVE_LAYER), exponent)
        for name, exponent in letters
        if exponent
    ]
    tensors = tuple(_tensor(one, recursion, use) for one in term.tensors)
    family = (term.width_power, term.hyperparameters, term.tensors if single else ())
    means = tuple(_mean(mean, recursion, use) for mean in term.means)
    return Summand(term.coefficient, family, tuple(prefix), (), means, tensors)


def _ratio(recursion: StepRecursion) -> str:
    """The ratio of widths that a step brings."""
    below = (
        r"n_{\ell-1}" if recursion.step.first else f"n_{{{field_latex(recursion.step.below[0])}}}"
    )
    return rf"\left(\frac{{n_{{\ell}}}}{{{below}}}\right)"


def _tensor(one: FieldTensor, recursion: StepRecursion, use: Conventions) -> str:
    first = recursion.step.first
    fields = "" if first else _listed(one.fields, recursion.step.below)
    labels = None if recursion.single_input else one.samples
    layer = BELOW_LAYER if first else ABOVE_LAYER
    return tensor_text(one.correlator, one.piece, labels, layer, use, fields)


def _mean(mean: FieldMean, recursion: StepRecursion, use: Conventions) -> str:
    name = recursion.step.read[mean.slots[0].field]
    inside = "".join(_slot(slot, name, recursion.single_input, use) for slot in mean.slots)
    if mean.slots[0].masks:
        return rf"\left\langle {inside}\right\rangle"
    layer = BELOW_LAYER if recursion.step.first else ABOVE_LAYER
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
