"""Recursions in the notation of PDLT."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from symdlt.derivation import Bracket, Hyperparameters, Recursion, RecursionTerm, TensorFactor
from symdlt.formats.latex.grouping import Summand, equation_latex
from symdlt.formats.latex.notation import Conventions, power, sigma, symbol_text, tensor_text

Dummies = dict[int, tuple[int, int]]
Factors = tuple[tuple[int, int], ...]


def recursion_latex(recursion: Recursion, use: Conventions, most: int | None = None) -> str:
    """The recursion as lines of an `align` body.

    Args:
        recursion: what to print.
        use: choices of notation.
        most: how many terms are printed at most; the others are counted.
    """
    return _equation(recursion, recursion.terms, r"\ell+1", replace(use, at=recursion.at), most)


def first_layer_latex(recursion: Recursion, use: Conventions) -> str:
    """The value at layer 1 as lines of an `align` body."""
    return _equation(recursion, recursion.first_layer, "1", use)


def head_of(recursion: Recursion, layer: str, use: Conventions) -> str:
    """The tensor of the left-hand side."""
    labels = None if recursion.single_input else recursion.samples
    return tensor_text(recursion.correlator, recursion.piece, labels, layer, use)


def _equation(
    recursion: Recursion,
    terms: tuple[RecursionTerm, ...],
    layer: str,
    use: Conventions,
    most: int | None = None,
) -> str:
    head = head_of(recursion, layer, use)
    return equation_latex(
        head, terms, lambda term: _summand(term, recursion, layer, use), use, most
    )


def _summand(term: RecursionTerm, recursion: Recursion, layer: str, use: Conventions) -> Summand:
    single = recursion.single_input
    dummies = _dummies(term, recursion, use)
    inserted = sum(len(bracket.inserted) for bracket in term.brackets)
    prefix = _prefix(term.width_ratio, term.hyperparameters, layer, use)
    prefix += (_sum(dummies, use),) if dummies else ()
    return Summand(
        term.coefficient,
        (term.width_ratio, term.hyperparameters, inserted, term.tensors if single else ()),
        prefix,
        _inverse_kernels(dummies, use),
        tuple(_bracket(bracket, dummies, single, use) for bracket in term.brackets),
        (*_tensors(term, dummies, single, use), *_overlap(term, single, use)),
        power(use.kernel + use.layer(r"\ell"), inserted) if single and inserted else "",
    )


@lru_cache(maxsize=1024)
def _prefix(
    width_ratio: int, hyperparameters: Hyperparameters, layer: str, use: Conventions
) -> tuple[str, ...]:
    ratio = r"\left(\frac{n_{\ell}}{n_{\ell-1}}\right)"
    symbols = map(symbol_text, hyperparameters.symbols)
    names = (ratio, *(name + use.layer(layer) for name in symbols))
    exponents = (width_ratio, *hyperparameters.powers)
    pairs = zip(names, exponents, strict=True)
    return tuple(power(name, exponent) for name, exponent in pairs if exponent)


def _dummies(term: RecursionTerm, recursion: Recursion, use: Conventions) -> Dummies:
    """For each dummy the two summed samples of its inverse kernel, numbered after the others.

    Without a letter of samples they count down from -1: bare numbers cannot be summed over.
    """
    if recursion.form == "derivative" or recursion.single_input:
        return {}
    inserted = list(dict.fromkeys(s for b in term.brackets for s in b.inserted))
    count = len(inserted)
    if not use.sample:
        return {dummy: (-1 - k, -1 - count - k) for k, dummy in enumerate(inserted)}
    start = max(recursion.samples) + 1
    return {dummy: (start + k, start + count + k) for k, dummy in enumerate(inserted)}


def _sum(dummies: Dummies, use: Conventions) -> str:
    labels = sorted((label for pair in dummies.values() for label in pair), key=abs)
    first, last = (use.samples((label,)) for label in (labels[0], labels[-1]))
    between = r",\ldots," if len(labels) > 2 else ","
    return rf"\sum_{{{first}{between}{last}\in\mathcal{{D}}}}"


def _inverse_kernels(dummies: Dummies, use: Conventions) -> tuple[str, ...]:
    layer = r"_{(\ell)}" if use.layers else ""
    return tuple(use.kernel + f"^{{{use.samples(pair)}}}" + layer for pair in dummies.values())


def _tensors(
    term: RecursionTerm, dummies: Dummies, single: bool, use: Conventions
) -> tuple[str, ...]:
    return tuple(
        tensor_text(t.correlator, t.piece, None if single else _summed(t, dummies), r"\ell", use)
        for t in term.tensors
    )


def factor_latex(factor: TensorFactor, use: Conventions) -> str:
    """A tensor of layer ℓ with its samples."""
    return tensor_text(factor.correlator, factor.piece, factor.samples, r"\ell", use)


def _summed(factor: TensorFactor, dummies: Dummies) -> tuple[int, ...]:
    """The samples of a tensor, each dummy by the number of the sample it is summed with."""
    if not dummies:
        return factor.samples
    return tuple(dummies[s][1] if s < 0 else s for s in factor.samples)


def _overlap(term: RecursionTerm, single: bool, use: Conventions) -> tuple[str, ...]:
    if not term.overlap:
        return ()
    below = ["" if single else f";{use.samples((label,))}" for label in term.overlap]
    return (r"\frac{1}{n_0}", r"\sum_{j}", *(f"x_{{j{label}}}" for label in below))


def _bracket(bracket: Bracket, dummies: Dummies, single: bool, use: Conventions) -> str:
    inserted = bracket.inserted
    labels = inserted if single else tuple(dummies[label][0] for label in inserted)
    return bracket_text(bracket.factors, labels, single, use)


@lru_cache(maxsize=1 << 14)
def bracket_text(
    factors: Factors, inserted: tuple[int, ...], single: bool, use: Conventions
) -> str:
    """A Gaussian expectation of activations and inserted preactivations."""
    inside = _inserted(inserted, single, use) + "".join(
        sigma(order, "" if single else use.samples((label,))) for label, order in factors
    )
    kernel = use.kernel + use.layer(r"\ell")
    return rf"\left\langle {inside}\right\rangle_{{{kernel}}}"


def _inserted(labels: tuple[int, ...], single: bool, use: Conventions) -> str:
    count = len(labels)
    if not count:
        return ""
    if single:
        zs = "z" if count == 1 else f"z^{{{count}}}"
        kernel = use.kernel + use.layer(r"\ell")
    else:
        zs = "".join(f"z_{{{use.samples((label,))}}}" for label in labels)
        kernel = f"{use.kernel}_{{{use.samples(labels)}}}" + use.layer(r"\ell")
    if count == 2:
        return rf"\bigl({zs}-{kernel}\bigr)"
    return zs if count == 1 else rf"{{:}}{zs}{{:}}"
