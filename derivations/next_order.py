"""All tensors up to the order 1/n^2 at criticality, and which of them reach the cutoff (∞.38).

The single-input recursions of the 103 tensors of order 1/n^2, of the thirteen below them, and of
the corrections of these are solved for odd activations of the K* = 0 class. The ratios depend on
one number, the share beta = lambda_b/(lambda_b + lambda_W sigma_1^2/(-a_1)) of the biases in the
NTK.
"""

from collections.abc import Sequence
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
BETA = sp.Symbol("beta")


def derive() -> RecursionSystem:
    """The recursions that are solved."""
    return derive_system(WANTED, inputs="one")


def in_shares(coefficient: Any) -> Any:
    """A coefficient of a ratio as a polynomial in beta."""
    symbols = {symbol.name: symbol for symbol in sp.sympify(coefficient).free_symbols}
    if not symbols:
        return coefficient
    values = {"lambda_b": BETA, "lambda_W": 1 - BETA, "a_1": -1, "sigma_1": 1}
    return sp.factor(coefficient.subs({symbols[name]: values[name] for name in symbols}))


def row(asymptote: Asymptote) -> str:
    """A line of the table in Markdown."""
    definition = _definition(tensor(asymptote.name.partition(".")[0]))
    coefficient = str(in_shares(asymptote.ratio_coefficient)).replace("**", "^").replace("*", " ")
    power = asymptote.ratio_power
    scale = f"ℓ^{power} / n^{asymptote.order}" if power else f"1 / n^{asymptote.order}"
    cells = (
        f"`{asymptote.name}`",
        *definition,
        str(asymptote.exponent),
        asymptote.ratio,
        coefficient.replace("beta", "β"),
        scale.replace("^1 ", " ").removesuffix("^1"),
        asymptote.cutoff,
    )
    return f"| {' | '.join(cells)} |"


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
        f"| {' | '.join(HEADS)} |",
        "|" + " --- |" * len(HEADS),
        *map(row, asymptotes),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(exponents("K*=0, odd", WANTED).tensors))
