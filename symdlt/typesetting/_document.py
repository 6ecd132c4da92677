"""Formulas and whole documents."""

from __future__ import annotations

from dataclasses import dataclass

from symdlt.forward import ForwardEquation, forward_equation
from symdlt.networks import BOOK, OBSERVABLES
from symdlt.recursions import FORMS, Recursion, RecursionSystem, derive
from symdlt.typesetting._forward import forward_latex
from symdlt.typesetting._notation import Conventions
from symdlt.typesetting._recursions import first_layer_latex, recursion_latex

Printable = Recursion | RecursionSystem | ForwardEquation

_PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage{amsmath}
\usepackage[a4paper,margin=25mm]{geometry}
\allowdisplaybreaks
\begin{document}
"""

_NOTATION = r"""\noindent Layer $\ell+1$ in terms of layer $\ell$. Angle brackets are expectations
over Gaussian preactivations with the kernel $K$ of layer $\ell$; $\sigma^{(k)}_{\delta}$ is a
derivative of the activation at sample $\delta$; $n_\ell$ is the width of layer $\ell$. """

_END = "\\end{document}\n"

_INSERTED = r"""A tensor with upper samples is the inverse of the kernel, and three or more inserted
preactivations between colons stand for their Wick-ordered product. """


@dataclass(frozen=True, slots=True)
class LatexDocument:
    """A document that pdflatex compiles.

    Attributes:
        source: the whole source text.
    """

    source: str

    def __repr__(self) -> str:
        return f"LatexDocument({self.source.count(chr(10))} lines)"

    def __str__(self) -> str:
        return self.source


def to_latex(what: Printable, *, conventions: Conventions | None = None) -> str:
    r"""Recursions or forward equations as an `align*` environment in the notation of PDLT.

    Args:
        what: what `derive`, `derive_system` or `forward_equation` returned.
        conventions: choices of notation.

    >>> from symdlt.recursions import derive
    >>> print(to_latex(derive("G", inputs="one"), conventions=Conventions(layers=False)))
    \begin{align*}
    K &= C_b +C_W\,\left\langle \sigma\sigma\right\rangle_{K}
    \end{align*}
    """
    use = conventions or Conventions()
    return "\\begin{align*}\n" + " \\\\\n".join(_bodies(what, use)) + "\n\\end{align*}"


def _bodies(what: Printable, use: Conventions) -> list[str]:
    if isinstance(what, ForwardEquation):
        return [forward_latex(what, use)]
    recursions = (what,) if isinstance(what, Recursion) else what.recursions
    return [recursion_latex(recursion, use) for recursion in recursions]


def document(what: Printable, *, conventions: Conventions | None = None) -> LatexDocument:
    """A complete document with the recursions, their first layer, and the notation.

    It compiles with pdflatex and the standard packages, at 10pt, without an overfull box.

    Args:
        what: what `derive`, `derive_system` or `forward_equation` returned.
        conventions: choices of notation.
    """
    use = conventions or Conventions()
    parts = [_PREAMBLE, _NOTATION]
    if isinstance(what, ForwardEquation):
        return LatexDocument(f"{_PREAMBLE}{to_latex(what, conventions=use)}\n{_END}")
    recursions = (what,) if isinstance(what, Recursion) else what.recursions
    if any(recursion.form == "z" for recursion in recursions):
        parts.append(_INSERTED)
    parts.append("\n")
    for recursion in recursions:
        parts.append(to_latex(recursion, conventions=use) + "\n")
        if recursion.first_layer:
            start = first_layer_latex(recursion, use)
            parts.append(f"with the first layer\n\\begin{{align*}}\n{start}\n\\end{{align*}}\n")
    return LatexDocument("".join([*parts, _END]))


def golden_files() -> dict[str, str]:
    """The LaTeX that is kept in the repository, by path relative to the root of a checkout."""
    files = {}
    for name in BOOK:
        for form in FORMS:
            files[f"{name}_{form}.tex"] = to_latex(derive(name, form=form))
    for name, forest in OBSERVABLES.items():
        files[f"forward_{name}.tex"] = to_latex(forward_equation(forest))
    return {f"tests/golden/latex/{name}": text + "\n" for name, text in sorted(files.items())}
