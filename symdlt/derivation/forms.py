"""The two forms of a recursion, related by Gaussian integration by parts."""

from __future__ import annotations

from dataclasses import replace

from symdlt.derivation.brackets import differentiate
from symdlt.derivation.recursion import Recursion, collect
from symdlt.derivation.symmetry import relabelled
from symdlt.derivation.terms import Bracket, RecursionTerm
from symdlt.errors import require


def to_derivative_form(recursion: Recursion) -> Recursion:
    r"""Trade the inserted z's of a recursion for derivatives, by Gaussian integration by parts.

    $$\langle z^{\gamma} F\rangle_K\, X_{\ldots\gamma\ldots}
      = \sum_{\delta}\langle\partial_\delta F\rangle_K\, X_{\ldots\delta\ldots}$$

    Args:
        recursion: what `derive` returned.

    Raises:
        InputError: for what is no recursion.

    >>> from symdlt.derivation import derive
    >>> to_derivative_form(derive("T", form="z")) == derive("T")
    True
    """
    require(recursion, Recursion, "a recursion", "Give what `derive` returned.")
    if recursion.form == "derivative":
        return recursion
    collected: dict[tuple[object, ...], RecursionTerm] = {}
    for term in recursion.terms:
        for image in _without_insertions(term):
            old = collected.get(image.key)
            if old:
                image = replace(
                    image,
                    coefficient=image.coefficient + old.coefficient,
                    origins=tuple(dict.fromkeys(old.origins + image.origins)),
                )
            collected[image.key] = image
    terms = sorted((t for t in collected.values() if t.coefficient), key=lambda t: t.sort_key)
    return replace(recursion, form="derivative", terms=tuple(terms))


def _without_insertions(term: RecursionTerm) -> list[RecursionTerm]:
    """Replace the first inserted z of a term by derivatives, until there is none."""
    position = next((k for k, b in enumerate(term.brackets) if b.inserted), None)
    if position is None:
        return [relabelled(term, {})]
    bracket = term.brackets[position]
    label, rest = bracket.inserted[0], bracket.inserted[1:]
    images = []
    for sample in sorted({sample for sample, _ in bracket.factors}):
        tensors = tuple(t.at({label: sample} if label < 0 else {}) for t in term.tensors)
        for factors, count in differentiate(bracket.factors, (sample,)):
            brackets = list(term.brackets)
            brackets[position] = Bracket(factors, rest)
            images += _without_insertions(
                replace(
                    term,
                    coefficient=term.coefficient * count,
                    brackets=tuple(brackets),
                    tensors=tensors,
                )
            )
    return images


def to_z_form(recursion: Recursion) -> Recursion:
    """Trade the derivatives that came from cumulants for inserted z's and inverse kernels.

    Which derivatives these are is known from the provenance of the terms.

    Args:
        recursion: what `derive` returned.

    Raises:
        InputError: for what is no recursion.

    >>> from symdlt.derivation import derive
    >>> to_z_form(derive("V")) == derive("V", form="z")
    True
    """
    require(recursion, Recursion, "a recursion", "Give what `derive` returned.")
    if recursion.form == "z":
        return recursion
    diagrams = dict.fromkeys(d for term in recursion.terms for d in term.origins)
    terms = collect(tuple(diagrams), recursion.samples, "z")
    return replace(recursion, form="z", terms=terms)
