"""Documents of layers of any kind: what they compute, what symbols are, and the equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from symdlt.definitions import NAMED, AnyTensor, ascii_name
from symdlt.derivation.response.symbolic.glossary import (
    AVERAGES,
    EDGES,
    Glossary,
    head_of,
    marked,
)
from symdlt.derivation.response.symbolic.layer_equations import LayerEquations
from symdlt.derivation.stacks import StackRecursion
from symdlt.errors import LayerError
from symdlt.formats.latex.definitions import Defined, definition_latex, definitions_told
from symdlt.formats.latex.layers import layer_equation_latex, step_latex
from symdlt.formats.latex.lines import PRIMED, displayed, prose
from symdlt.formats.latex.marked_text import marked_latex
from symdlt.formats.latex.notation import Conventions, tensor_name
from symdlt.formats.latex.streams import layer_latex

LayerResult = LayerEquations | StackRecursion
Bodies = list[tuple[str, Callable[[], str]]]  # of each equation its label, and what prints it
Entries = Iterable[tuple[str, str]]

_LAYER = r"""\subsection*{Notation}
The preactivations of layer~$\ell$ are $z$, those of layer~$\ell+1$ are $z'$, with
%s
where weights and biases are drawn afresh in each layer, and $\sigma$ is the activation. Tensors of
layer~$\ell+1$ are given in those of layer~$\ell$. """

_FIELDS = r"""Angle brackets are expectations over the Gaussian fields of one neuron, with the
covariance that stands below them. A tensor with fields in front of its layer is that of these
fields in place of $z$, with $n_\ell$ in place of $n_{\ell-1}$. """

_EDGES = "edges stand above it in brackets"

_POSITIONS = "Each sample below a symbol stands at a position of its own. "


def layer_document(results: Sequence[LayerResult], use: Conventions) -> str:
    """The body of a document with results of one layer, all of one kind.

    Raises:
        LayerError: for results of several layers.
    """
    layers = list(dict.fromkeys(result.layer for result in results))
    if len(layers) > 1:
        raise LayerError(
            f"Results of the layers {' and '.join(map(repr, layers))} are no document. It says "
            "once what the layer computes. Give those of one layer."
        )
    many = not all(_is_single(result) for result in results)
    own = [(result.correlator, result.piece) for result in results]
    read = dict.fromkeys(need for result in results for need in _read(result))
    others = [need for need in read if need not in own and need[0].name not in ("G", "H")]
    text = _LAYER % displayed(layer_latex(layers[0]), use)
    text += "" if use.layers else PRIMED
    text += _POSITIONS * any(one.window for stream in layers[0].streams for one in stream.drawn)
    text += _FIELDS * any(isinstance(result, StackRecursion) for result in results)
    printed = [one for one, _ in (*own, *others)]
    text += definitions_told(printed, [*own, *read], use, many=many, inputs=False)
    items = [*_items(results, use)]
    body = prose(f"{text}\n{_list(items)}", use)
    if others:
        # Tensors of one correlator, as D and F, have one definition.
        each = dict.fromkeys(displayed(_defined(*one, use, many=many), use) for one in others)
        shown = "\n".join(each)
        body += f"Other tensors of layer~$\\ell$ that are read are defined by\n{shown}\n"
    return body + "\n" + "".join(_section(result, use) for result in results)


def layer_bodies(result: LayerResult, use: Conventions, most: int | None = None) -> Bodies:
    """The equations as lines of `align` bodies; of more than so many terms others are counted."""
    if isinstance(result, StackRecursion):
        return [(one.name, partial(step_latex, one, use, most)) for one in result.equations]
    labels = [*(f"{result.name}-{k}" for k in range(1, len(result.equations))), result.name]
    printed = [partial(layer_equation_latex, one, result, use, most) for one in result.equations]
    return list(zip(labels, printed, strict=True))


def _is_single(result: LayerResult) -> bool:
    return isinstance(result, StackRecursion) and result.single_input


def _read(result: LayerResult) -> Iterator[tuple[AnyTensor, int]]:
    """The tensors of layer ℓ that are read, with their pieces."""
    if isinstance(result, StackRecursion):
        yield from result.dependencies
        return
    for head in map(head_of, _symbols(result)):
        letter, correction, _ = head.partition(".1")
        one = letter if letter in NAMED else letter.removeprefix("Q")
        if one in NAMED:
            yield NAMED[one], int(bool(correction))


def _symbols(result: LayerEquations) -> list[str]:
    """The symbols of all equations, those of the left sides among them."""
    heads = [one.name.partition("[l+1]")[0] for one in result.equations]
    inside = (one.polynomial.terms for one in result.equations)
    names = [name for terms in inside for monomial, _ in terms for name, _ in monomial]
    kernel = ["G_12"] * any(name[0] == "<" for name in names)  # below means
    return list(dict.fromkeys([*heads, *names, *kernel]))


def _items(results: Sequence[LayerResult], use: Conventions) -> Iterator[tuple[str, str]]:
    """What symbols are, in LaTeX, each once."""
    known = {name for name, one in NAMED.items() if one.order} | {"G.1", "H.1"}
    constants = {ascii_name(symbol) for symbol in results[0].layer.symbols}
    told_averages = False
    for result in results:
        new = [*_meanings(result, known)]
        if not told_averages and any("M(" in text or "Q(" in text for _, text in new):
            told_averages = True
            new = [*AVERAGES, *new]
        for symbol, meaning in new:
            told = marked(symbol), f"{meaning.replace(EDGES, _EDGES)}."
            yield marked_latex(told[0], constants, use), marked_latex(told[1], constants, use)


def _meanings(result: LayerResult, known: set[str]) -> Entries:
    if isinstance(result, LayerEquations):
        glossary = result.glossary
        if glossary is None:  # of a saved result; what derives takes long to import
            from symdlt.derivation.response.symbolic.response_equations import layer_equations

            glossary = layer_equations(result.asked, result.layer).glossary
        assert glossary is not None
        return glossary.of(_symbols(result), known)
    steps = [equation.step for equation in result.equations]
    widths = {
        f"n_{ascii_name(step.below[0])}": f"the width of {' and '.join(map(marked, step.own))}"
        for step in reversed(steps)
        if not step.first
    }
    masks = {name: mask.meaning for step in reversed(steps) for name, mask in step.masks}
    glossary = Glossary(
        result.correlator, result.layer, (*widths.items(),), others=(*masks.items(),)
    )
    used = [
        ascii_name(symbol)
        for term in result.terms
        for symbol, power in zip(
            term.hyperparameters.symbols, term.hyperparameters.powers, strict=True
        )
        if power
    ]
    return glossary.of(["n", "n'", *widths, *masks, *used], known)


def _list(items: Sequence[tuple[str, str]]) -> str:
    rows = "\n".join(rf"\item[{symbol}] {meaning}" for symbol, meaning in items)
    return f"\\begin{{description}}\\sloppy\n{rows}\n\\end{{description}}\n"


def _defined(correlator: AnyTensor, piece: int, use: Conventions, *, many: bool) -> str:
    return definition_latex(Defined(correlator, piece, not many), use)


def _section(result: LayerResult, use: Conventions) -> str:
    title = tensor_name(result.correlator, result.piece, replace(use, layers=False))
    definition = _defined(result.correlator, result.piece, use, many=not _is_single(result))
    shown = "\n".join(displayed(body(), use) for _, body in layer_bodies(result, use))
    return (
        f"\\subsection*{{The tensor ${title}$}}\nIt is defined by\n{displayed(definition, use)}\n"
        f"and follows from\n{shown}\n\n"
    )
