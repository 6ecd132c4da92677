"""Formulas, whole documents, and what notebooks show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from symdlt.algebra import as_expression
from symdlt.definitions import BOOK, DENSE, OBSERVABLES
from symdlt.derivation import (
    FORMS,
    ForwardEquation,
    Recursion,
    RecursionSystem,
    StackForwardEquation,
    derive,
    forward_equation,
)
from symdlt.errors import require
from symdlt.formats.latex.definitions import Defined, definition_latex, definitions_told
from symdlt.formats.latex.forward import forward_latex
from symdlt.formats.latex.layer_documents import (
    Bodies,
    LayerResult,
    layer_bodies,
    layer_document,
)
from symdlt.formats.latex.lines import PRIMED, displayed, prose
from symdlt.formats.latex.norm_forward import forward_equation_latex
from symdlt.formats.latex.notation import Conventions, renamed, symbol_text, tensor_name
from symdlt.formats.latex.recursions import first_layer_latex, head_of, recursion_latex
from symdlt.formats.latex.streams import layer_latex

Printable = Recursion | RecursionSystem | ForwardEquation | StackForwardEquation | LayerResult

# By convention: what fits on a screen, and the tensors of the book.
MOST_TERMS = 12
MOST_RECURSIONS = 13  # those of the book; more of them nobody reads in a cell

_PREAMBLE = r"""\documentclass[10pt,fleqn]{article}
\usepackage{amsmath,amssymb}
\usepackage[a4paper,textwidth=%spt,vmargin=25mm]{geometry}
\setlength{\mathindent}{0pt}
\setlength{\parindent}{0pt}
\allowdisplaybreaks
\begin{document}
"""

_END = "\\end{document}\n"

_RECURSION_NOTATION = r"""\subsection*{Notation}
Each tensor of layer $\ell+1$ is given in terms of those of layer $\ell$, whose width is $n_\ell$.
Angle brackets are expectations over Gaussian preactivations $z$ with the covariance $%s$ of
layer~$\ell$; $\sigma$, $\sigma'$, \ldots, $\sigma^{(4)}$, \ldots{} are the activation and its
derivatives at %s. %s"""

_DENSE = r"""Biases and weights have the variances $C_b$ and $C_W/n_{\ell}$ and the learning
rates $\lambda_b$ and $\lambda_W/n_{\ell}$. """

_INVERSE = r"""A kernel with upper samples is the inverse of the kernel on the data set
$\mathcal{D}$. """

_WICK = r"""Preactivations between colons are Wick-ordered, that is, orthogonal to all polynomials
of lower degree; for three, ${:}z_1z_2z_3{:} = z_1z_2z_3 - %sz_3 - %sz_2 - %sz_1$. """

_FORWARD_NOTATION = r"""\subsection*{Stochastic forward equation}
A hat marks what still depends on the weights and biases of one network. Sums over neurons
$j$ run from $1$ to~$n_\ell$; primes are derivatives of the activation $\sigma$ at the
preactivation of the neuron and sample in the subscript. Subscripts are neurons, and after the
semicolon samples; $\delta$ of two neurons is $1$ where they are equal and otherwise $0$. $W$ are
the weights of layer~$\ell+1$, of the variance $C_W/n_\ell$; its learning rates are $\lambda_b$ for
biases and $\lambda_W/n_\ell$ for weights. """

_STACK_FORWARD = r"""\subsection*{Stochastic forward equations}
The preactivations of layer~$\ell$ are $z$, those of layer~$\ell+1$ are $z'$, with
%s
A hat marks what depends on the weights and biases of one network, as fields do. Trees with fields
in front of their layer are those of these fields in place of $z$, in the order of their subscripts,
and of one field if there is one alone. Sums over neurons $j$ run over those of the fields that are
read, of which there are $n_\ell$ of~$z$; primes are derivatives of functions at these fields.
Subscripts are neurons, and after the semicolon samples; $\delta$ of two neurons is $1$ where they
are equal and otherwise $0$. A letter $\lambda$ is the learning rate of the biases below it, and of
weights the one over the width that they read. """

_FORWARD_WINDOWS = r"""Samples stand at positions: $\delta+q$ is the position that the weights of
the offset $q$ read for the one of~$\delta$, sums over $q$ run over all offsets of a window, and
beyond the edge are zeros where it is padded with them. """

_FORWARD_NORMS = r"""A field that is normalised is multiplied with $c$, one over its length. What is
$\mathrm{centred}$ has its mean over the neurons taken away. """

_FORWARD_PRIME = r"""The prime of the left side says that it is of layer~$\ell+1$. """

_FORWARD_EDGES = r"""The superscript of $\widehat{X}$ lists the edges of a tree; its subscripts are
numbered from~$0$. """


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


def to_latex(
    what: Printable, *, conventions: Conventions | None = None, numbered: bool = False
) -> str:
    r"""Recursions or forward equations as `align*` environments in the notation of PDLT.

    Terms with the same prefactors stand in one pair of brackets. Lines are broken by estimated
    widths, so that none is wider than the conventions allow.

    Args:
        what: what `derive`, `derive_system` or `forward_equation` returned; of a stack, one
            environment for each of its fields.
        conventions: choices of notation.
        numbered: one number and one label an equation, as in `\eqref{eq:V}`.

    Raises:
        InputError: for what is none of these, or conventions that are none.

    >>> from symdlt.derivation import derive
    >>> print(to_latex(derive("G", inputs="one"), conventions=Conventions(layers=False)))
    \begin{align*}
    K^{\prime} &= C_b + C_W \left\langle \sigma\sigma\right\rangle_{K}
    \end{align*}
    """
    use = _checked(what, conventions)
    return "\n".join(
        displayed(body(), use, label if numbered else "") for label, body in bodies(what, use)
    )


def bodies(what: Printable, use: Conventions, most: int | None = None) -> Bodies:
    """The equations as lines of `align` bodies; of more than so many terms others are counted."""
    if isinstance(what, LayerResult):
        return layer_bodies(what, use, most)
    if isinstance(what, StackForwardEquation):
        printed = [partial(forward_equation_latex, one, use, most) for one in what.equations]
        return [(f"forward-{k}", one) for k, one in enumerate(printed, 1)]
    if isinstance(what, ForwardEquation):
        return [("forward", partial(forward_latex, what, use, most))]
    return [(one.name, partial(recursion_latex, one, use, most)) for one in _recursions(what)]


def document(
    what: Printable | Sequence[LayerResult], *, conventions: Conventions | None = None
) -> LatexDocument:
    """A complete document: notation, then definition, recursion and first layer of each tensor.

    Of a layer of several streams, or with a skip, what it computes and what all symbols are.

    It compiles with pdflatex and the standard packages, at 10pt, without an overfull box.

    Args:
        what: what `derive`, `derive_system`, `layer_equations` or `forward_equation` returned; of
            a stack also several of these.
        conventions: choices of notation.

    Raises:
        InputError: for what is none of these, or conventions that are none.
        LayerError: for several results of different layers.

    >>> from symdlt.derivation import derive
    >>> document(derive("B")).source.count("vanishes in the first layer")
    1
    """
    use = _checked_conventions(conventions)
    preamble = _PREAMBLE % f"{use.points + 10:g}"
    results = [what] if isinstance(what, LayerResult) else what
    if isinstance(results, list | tuple) and results:
        for each in results:
            require(each, LayerResult, "a result of a layer", "Give what `derive` returned of it.")
        return LatexDocument(preamble + layer_document(results, use) + _END)
    _checked(what, conventions)
    if isinstance(what, StackForwardEquation):
        shown = to_latex(what, conventions=use)
        notation = _STACK_FORWARD % displayed(layer_latex(what.layer), use)
        notation += _FORWARD_EDGES if r"\widehat{X}" in shown else ""
        drawn = (one for stream in what.layer.streams for one in stream.drawn)
        notation += _FORWARD_WINDOWS if any(one.window for one in drawn) else ""
        notation += _FORWARD_NORMS if any(one.norm for one in what.layer.streams) else ""
        notation += "" if use.layers else PRIMED
        return LatexDocument(f"{preamble}{prose(notation, use)}\n{shown}\n{_END}")
    if isinstance(what, ForwardEquation):
        body = forward_latex(what, use)
        notation = _FORWARD_NOTATION + (_FORWARD_EDGES if r"\widehat{X}" in body else "")
        notation += "" if use.layers else _FORWARD_PRIME
        notation = prose(notation, use)
        return LatexDocument(f"{preamble}{notation}\n{displayed(body, use)}\n{_END}")
    assert isinstance(what, Recursion | RecursionSystem)
    recursions = _recursions(what)
    sections = [_section(recursion, use) for recursion in recursions]
    return LatexDocument(
        "".join([preamble, prose(_notation(recursions, use), use), "\n", *sections, _END])
    )


def _checked(what: object, conventions: Conventions | None) -> Conventions:
    advice = (
        "Give what `derive`, `derive_system`, `layer_equations` or `forward_equation` returned."
    )
    require(what, Printable, "a recursion, equations of a layer or a forward equation", advice)
    return _checked_conventions(conventions)


def _checked_conventions(conventions: Conventions | None) -> Conventions:
    if conventions is not None:
        require(conventions, Conventions, "a choice of notation", "Give `Conventions(...)`.")
    return conventions or Conventions()


def _recursions(what: Recursion | RecursionSystem) -> tuple[Recursion, ...]:
    return (what,) if isinstance(what, Recursion) else what.recursions


def _notation(recursions: tuple[Recursion, ...], use: Conventions) -> str:
    """What a reader must know of the symbols that occur."""
    many = not all(recursion.single_input for recursion in recursions)
    where = "the sample in their subscript" if many else "the one input"
    text = _RECURSION_NOTATION % (use.kernel, where, _layers(recursions))
    text += "" if use.layers else PRIMED
    inserted = [len(b.inserted) for r in recursions for t in r.terms for b in t.brackets]
    tensors = [(r.correlator, r.piece) for r in recursions]
    tensors += [need for recursion in recursions for need in recursion.dependencies]
    inputs = any(term.overlap for r in recursions for term in r.first_layer)
    own = [r.correlator for r in recursions]
    text += definitions_told(own, tensors, use, many=many, inputs=inputs)
    if many and any(inserted):
        text += _INVERSE
    if max(inserted, default=0) > 2:
        text += _WICK % tuple(f"{use.kernel}_{{{pair}}}" for pair in (12, 13, 23))
    return text + "\n"


def _layers(recursions: tuple[Recursion, ...]) -> str:
    """What is said of the layer: the laws of the dense one, or all of another."""
    said = []
    for layer in dict.fromkeys(recursion.layer for recursion in recursions):
        if layer == DENSE:
            said.append(_DENSE)
            continue
        said.append(rf"The preactivations of layer~$\ell+1$ are ${layer.expression.latex()}$. ")
        for branch in layer.branches:
            if branch.tensor is not None and branch.tensor.law is not None:
                variance = as_expression(branch.tensor.law.cumulant(2)).latex()
                said.append(
                    f"${symbol_text(branch.tensor.name)}$ has the variance ${variance}$ and the "
                    f"learning rate ${as_expression(branch.rate).latex()}$. "
                )
    return "".join(said)


def _section(recursion: Recursion, use: Conventions) -> str:
    title = tensor_name(recursion.correlator, recursion.piece, replace(use, layers=False))
    defined = Defined(recursion.correlator, recursion.piece, recursion.single_input)
    symbol = renamed(head_of(recursion, "1", use), use)
    start = f"It vanishes in the first layer, ${symbol}=0$."
    if recursion.first_layer:
        start = f"In the first layer\n{displayed(first_layer_latex(recursion, use), use)}"
    return (
        f"\\subsection*{{The tensor ${title}$}}\nIt is defined by\n"
        f"{displayed(definition_latex(defined, use), use)}\nand has the recursion\n"
        f"{to_latex(recursion, conventions=use)}\n{start}\n\n"
    )


def golden_files() -> dict[str, str]:
    """The LaTeX that is kept in the repository, by path relative to the root of a checkout."""
    files = {}
    for name in BOOK:
        for form in FORMS:
            files[f"{name}_{form}.tex"] = to_latex(derive(name, form=form))
    for name, forest in OBSERVABLES.items():
        files[f"forward_{name}.tex"] = to_latex(forward_equation(forest))
    return {f"tests/golden/latex/{name}": text + "\n" for name, text in sorted(files.items())}


def notebook_latex(what: Printable) -> str:
    """Display mathematics of a dozen terms an equation at most; `to_latex` gives it all."""
    printed = bodies(what, Conventions(), MOST_TERMS)
    shown = (body() for _, body in printed[:MOST_RECURSIONS])
    parts = [f"\\begin{{aligned}}{body}\\end{{aligned}}" for body in shown]
    if len(parts) < len(printed):
        parts.append(rf"\cdots\ \text{{({len(printed) - len(parts)} more recursions)}}")
    body = parts[0] if len(parts) == 1 else _column(parts)
    return f"$\\displaystyle {body}$"


def _column(parts: list[str]) -> str:
    return "\\begin{array}{l}" + " \\\\[1ex]\n".join(parts) + "\\end{array}"
