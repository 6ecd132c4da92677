"""Recursions in the notation of PDLT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from symdlt.recursions import Bracket, Recursion, Term
from symdlt.typesetting._lines import broken_lines, estimated_width
from symdlt.typesetting._notation import (
    Conventions,
    factor_text,
    power,
    rational,
    sample,
    samples_text,
    sigma,
    tensor_text,
)


def recursion_latex(recursion: Recursion, use: Conventions, most: int | None = None) -> str:
    """The recursion as lines of an `align` body, the first with the left-hand side."""
    labels = None if recursion.single_input else recursion.samples
    head = tensor_text(recursion.correlator, recursion.piece, labels, r"\ell+1", use)
    shown = recursion.terms if most is None else recursion.terms[:most]
    lines = list(_lines(shown, recursion, head, use))
    if len(shown) < len(recursion.terms):
        lines.append(rf"+ \cdots\ \text{{({len(recursion.terms) - len(shown)} more terms)}}")
    return _align(head, lines)


def first_layer_latex(recursion: Recursion, use: Conventions) -> str:
    """The value at layer 1 as lines of an `align` body."""
    labels = None if recursion.single_input else recursion.samples
    head = tensor_text(recursion.correlator, recursion.piece, labels, "1", use)
    terms = recursion.first_layer
    return _align(head, list(_lines(terms, recursion, head, use, "1")))


def _lines(
    terms: tuple[Term, ...], recursion: Recursion, head: str, use: Conventions, layer: str = ""
) -> Iterator[str]:
    parts = [
        (_sign(term, first=k == 0), term_factors(term, recursion, use, layer or r"\ell+1"))
        for k, term in enumerate(terms)
    ]
    return broken_lines(parts, estimated_width(head) + 25.0, use.width)


def _align(head: str, lines: list[str]) -> str:
    first, *rest = lines or ["0"]
    return " \\\\\n".join([f"{head} &= {first.strip()}", *(f"&\\quad {x.strip()}" for x in rest)])


def _sign(term: Term, *, first: bool) -> str:
    if term.coefficient < 0:
        return "-"
    return "" if first else "+"


def term_factors(
    term: Term, recursion: Recursion, use: Conventions, layer: str = r"\ell+1"
) -> list[str]:
    """The factors of a term, in the order in which they are printed."""
    single = recursion.single_input
    dummies = _dummy_samples(term, recursion)
    number = abs(term.coefficient)
    parts = [rational(number.numerator, number.denominator)]
    if term.width_ratio:
        ratio = r"\left(\frac{n_{\ell}}{n_{\ell-1}}\right)"
        parts.append(ratio + (f"^{{{term.width_ratio}}}" if term.width_ratio > 1 else ""))
    names = ("C_b", "C_W", r"\lambda_b", r"\lambda_W")
    for name, exponent in zip(names, term.hyperparameters.powers, strict=True):
        if exponent:
            parts.append(power(name + use.layer(layer), exponent))
    if dummies:
        parts.append(_sum(dummies))
    parts += _powers(_bracket(b, dummies, single, use) for b in term.brackets)
    parts += [
        use.kernel + f"^{{{sample(low)}{sample(high)}}}" + (r"_{(\ell)}" if use.layers else "")
        for low, high in dummies.values()
    ]
    parts += _powers(
        factor_text(
            t, None if single else tuple(dummies[s][1] if s < 0 else s for s in t.samples), use
        )
        for t in term.tensors
    )
    if term.overlap:
        below = ("", "") if single else tuple(f";{sample(s)}" for s in term.overlap)
        parts.append(rf"\frac{{1}}{{n_0}}\sum_{{j}} x_{{j{below[0]}}} x_{{j{below[1]}}}")
    inserted = sum(len(b.inserted) for b in term.brackets) if single else 0
    if inserted:
        kernel = power(use.kernel + use.layer(r"\ell"), inserted)
        parts.append(rf"\frac{{1}}{{{kernel}}}")
    return [part for part in parts if part] or ["1"]


def _powers(texts: Iterable[str]) -> list[str]:
    return [power(text, count) for text, count in Counter(texts).items()]


def _dummy_samples(term: Term, recursion: Recursion) -> dict[int, tuple[int, int]]:
    """For each dummy the two summed samples of its inverse kernel, numbered after the others."""
    dummies = sorted({s for t in term.tensors for s in t.samples if s < 0}, reverse=True)
    start = max(recursion.samples) + 1
    count = len(dummies)
    return {d: (start + k, start + count + k) for k, d in enumerate(dummies)}


def _sum(dummies: dict[int, tuple[int, int]]) -> str:
    labels = sorted(label for pair in dummies.values() for label in pair)
    listed = [sample(label) for label in labels]
    inside = ",".join(listed) if len(listed) < 3 else rf"{listed[0]},\ldots,{listed[-1]}"
    return rf"\sum_{{{inside}\in\mathcal{{D}}}}"


def _bracket(
    bracket: Bracket, dummies: dict[int, tuple[int, int]], single: bool, use: Conventions
) -> str:
    inside = _inserted(bracket, dummies, single, use)
    inside += "".join(sigma(order, "" if single else sample(s)) for s, order in bracket.factors)
    kernel = use.kernel + use.layer(r"\ell")
    return rf"\left\langle {inside}\right\rangle_{{{kernel}}}"


def _inserted(
    bracket: Bracket, dummies: dict[int, tuple[int, int]], single: bool, use: Conventions
) -> str:
    count = len(bracket.inserted)
    if not count:
        return ""
    kernel = use.kernel + use.layer(r"\ell")
    if single:
        plain = {1: "z", 2: rf"\left(z^{{2}}-{kernel}\right)"}
        return plain.get(count, rf"{{:}}z^{{{count}}}{{:}}")
    labels = [dummies[s][0] for s in bracket.inserted]
    zs = "".join(f"z_{{{sample(label)}}}" for label in labels)
    if count == 1:
        return zs
    if count == 2:
        pair = f"{use.kernel}_{{{samples_text(labels)}}}" + use.layer(r"\ell")
        return rf"\left({zs}-{pair}\right)"
    return rf"{{:}}{zs}{{:}}"
