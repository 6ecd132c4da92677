"""All tensors up to the order 1/n^2 at criticality, and which of them reach the cutoff (∞.38).

The single-input recursions of the 103 tensors of order 1/n^2, of the thirteen below them, and of
the corrections of these are solved for odd activations of the K* = 0 class. The ratios depend on
one number, the share beta = lambda_b/(lambda_b + lambda_W sigma_1^2/(-a_1)) of the biases in the
NTK.

With the argument 3 it goes one order further: the 1971 tensors of order 1/n^3 alone, in shorter
lines. Two of these know one more number of the activation, s_5 = sigma_5/(sigma_1 a_1^2).
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp

from symdlt import BOOK, Correlator, RecursionSystem, correlators, derive_system, tensor
from symdlt.asymptotics import Asymptote, exponents

HEADS = ("tensor", "edges", "matched", "p", "ratio", "coefficient", "scale", "cutoff")
CORRECTIONS = (*(f"{name}.1" for name in BOOK), "G.2", "H.2")
WANTED = (*BOOK, *correlators(2), *CORRECTIONS)
PARTS = {
    "Order 1/n": [name for name in BOOK if BOOK[name].pairs == 2],
    "Order 1/n^2": [correlator.name for correlator in correlators(2)],
    "Corrections": CORRECTIONS,
}
SHORT_HEADS = ("tensor", "p", "coefficient", "scale")
BETA, FIFTH = sp.symbols("beta s_5")


def derive() -> RecursionSystem:
    """The recursions that are solved."""
    return derive_system(WANTED, inputs="one")


def in_shares(coefficient: Any) -> Any:
    """A coefficient of a ratio as a polynomial in beta, and in s_5."""
    symbols = {symbol.name: symbol for symbol in sp.sympify(coefficient).free_symbols}
    if not symbols:
        return coefficient
    values = {"lambda_b": BETA, "lambda_W": 1 - BETA, "a_1": -1, "sigma_1": 1}
    values["sigma_5"] = FIFTH
    return sp.factor(coefficient.subs({symbols[name]: values[name] for name in symbols}))


def row(asymptote: Asymptote) -> str:
    """A line of the table in Markdown."""
    return _line(
        f"`{asymptote.name}`",
        *_definition(tensor(asymptote.name.partition(".")[0])),
        asymptote.exponent,
        asymptote.ratio,
        _coefficient(asymptote),
        _scale(asymptote),
        asymptote.cutoff,
    )


def short_row(asymptote: Asymptote) -> str:
    """A line of the table of the order 1/n^3."""
    coefficient, scale = _coefficient(asymptote), _scale(asymptote)
    return _line(f"`{asymptote.name}`", asymptote.exponent, coefficient, scale)


def _line(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _coefficient(asymptote: Asymptote) -> str:
    coefficient = str(in_shares(asymptote.ratio_coefficient)).replace("**", "^").replace("*", " ")
    return coefficient.replace("beta", "β")


def _scale(asymptote: Asymptote) -> str:
    power, logs, order = asymptote.ratio_power, asymptote.log_power, asymptote.order
    factors = [f"ℓ^{power}"] if power else []
    factors += [f"(log ℓ)^{logs}"] if logs else []
    scale = f"{' '.join(factors) or 1} / n^{order}"
    return scale.replace("^1 ", " ").removesuffix("^1")


def _definition(correlator: Correlator) -> tuple[str, str]:
    forest, pairs = correlator.forest, correlator.matching
    edges, matched = (" ".join(f"{u}{v}" for u, v in links) for links in (forest.edges, pairs))
    return edges or "none", matched


def page(asymptotes: Sequence[Asymptote]) -> str:
    """A table for each part, with how many tensors reach the cutoff."""
    known = {asymptote.name: asymptote for asymptote in asymptotes}
    return "\n\n".join(_part(title, [known[name] for name in PARTS[title]]) for title in PARTS)


def _part(title: str, asymptotes: Sequence[Asymptote]) -> str:
    at, below, above = (
        sum(a.cutoff == where for a in asymptotes) for where in ("at", "below", "above")
    )
    lines = [
        f"### {title}",
        "",
        f"{len(asymptotes)} tensors: {at} at the cutoff, {below} below it, {above} above it.",
        "",
        *_table(HEADS, map(row, asymptotes)),
    ]
    return "\n".join(lines)


def _table(heads: Sequence[Any], lines: Iterable[str]) -> list[str]:
    return [_line(*heads), "|" + " --- |" * len(heads), *lines]


def further_page(asymptotes: Sequence[Asymptote]) -> str:
    """How many tensors of order 1/n^3 have which scale, and a table for each number of edges."""
    parts = {
        edges: sorted(
            (a for a in asymptotes if (a.pairs, a.edges) == (4, edges)), key=lambda a: a.name
        )
        for edges in range(8)
    }
    counts = {edges: Counter(map(_scale, part)) for edges, part in parts.items()}
    powers = {_scale(a): a.ratio_power for part in parts.values() for a in part}
    scales = sorted(powers, key=lambda scale: (-powers[scale], scale))
    summary = _table(
        ["edges", "tensors", *scales],
        (
            _line(edges, len(part), *(counts[edges][scale] or "" for scale in scales))
            for edges, part in parts.items()
        ),
    )
    total = _line(
        "all", sum(map(len, parts.values())), *map(sum(counts.values(), Counter()).get, scales)
    )
    texts = ["\n".join([*summary, total])]
    for edges, part in parts.items():
        texts.append(
            "\n".join([f"### e = {edges}", "", *_table(SHORT_HEADS, map(short_row, part))])
        )
    return "\n\n".join(texts)


if __name__ == "__main__":
    if sys.argv[1:] == ["3"]:
        print(further_page(exponents("K*=0, odd", correlators(3)).tensors))
    else:
        print(page(exponents("K*=0, odd", WANTED).tensors))
