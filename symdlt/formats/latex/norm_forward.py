"""Forward equations of norms, between those of the steps of a layer, in the notation of PDLT."""

from __future__ import annotations

from functools import partial

from symdlt.definitions import Forest
from symdlt.derivation.norm_forward import NormForward, NormTerm
from symdlt.derivation.step_forward import StepForward
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.layer_symbols import field_latex, width_latex
from symdlt.formats.latex.notation import Conventions, power
from symdlt.formats.latex.stack_forward import (
    field_tree_latex,
    observable_latex,
    step_forward_latex,
)


def forward_equation_latex(
    equation: StepForward | NormForward, use: Conventions, most: int | None = None
) -> str:
    """One equation of a layer as lines of an `align` body.

    Args:
        equation: what to print.
        use: choices of notation.
        most: how many terms are printed at most; the others are counted.
    """
    if isinstance(equation, StepForward):
        return step_forward_latex(equation, use, most)
    head = observable_latex(equation.forest, equation.fields, equation.step.names, use)
    printed = partial(_summand, equation, use)
    body = equation_latex(head, equation.terms, printed, use, most)
    if equation.square is None:
        return body
    scale = power(_scale(equation, 0, use), -2)
    return f"{body} \\\\\n{equation_latex(scale, [equation.square], printed, use, None)}"


def _summand(equation: NormForward, use: Conventions, term: NormTerm) -> Summand:
    names, width = equation.step.names, width_latex(equation.step.width)
    prefix = [
        power(_scale(equation, v, use), term.scales.count(v)) for v in dict.fromkeys(term.scales)
    ]
    if term.width:
        prefix.append(rf"\frac{{1}}{{{power(width, term.width)}}}")
    fields: dict[str, list[str]] = {"i": [], "j": []}
    for field, (letter, k), v in term.read:
        place = (Forest(1), (field,)), (v,), [f"{letter}_{k}"]
        fields[letter].append(field_tree_latex(*place, names, use))
    prefix += fields["i"]
    if term.sums:
        prefix.append(rf"\sum_{{{','.join(f'{name[0]}_{name[1:]}' for name in term.sums)}}}")
    trees = tuple(
        field_tree_latex(
            tree,
            tuple(v for _, v in places),
            [f"{letter}_{k}" for (letter, k), _ in places],
            names,
            use,
        )
        for tree, places in term.trees
    )
    front = tuple(prefix)
    return Summand(term.number, front, front, (), tuple(fields["j"]), trees)


def _scale(equation: NormForward, vertex: int, use: Conventions) -> str:
    """What a field is multiplied with at a sample."""
    letter, _, of = equation.step.scale.partition("(")
    letter = letter if len(letter) == 1 else rf"\mathrm{{{letter}}}"
    named = f"^{{{field_latex(of.removesuffix(')'))}}}" if of else ""
    return f"{letter}_{{{use.samples((vertex,))}}}{named}"
