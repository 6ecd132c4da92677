"""Where the terms in the equations of a layer come from, told step by step."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from fractions import Fraction

from symdlt.algebra import Polynomial
from symdlt.derivation.response.symbolic.accounts import Way
from symdlt.derivation.response.symbolic.glossary import plain
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation, LayerEquations
from symdlt.derivation.response.symbolic.reason_texts import number_text
from symdlt.derivation.response.symbolic.response_equations import layer_equations
from symdlt.display import Explanation
from symdlt.errors import OrderError, SchemaError, require

COLUMNS = 90  # a convention: it fits beside a margin


def explain_equations(equations: LayerEquations, term: int | None = None) -> Explanation:
    """The account of one term, or of all terms.

    Args:
        equations: of a layer; where no accounts were recorded, they are derived again.
        term: its number, from 1 over all equations as they are printed; all if left out.

    Raises:
        OrderError: if there is no term of that number.
        SchemaError: for equations that are not those of their layer.
    """
    recorded = equations
    if any(one.account is None for one in equations.equations):
        recorded = layer_equations(equations.asked, equations.layer, recorded=True)
    glossary = recorded.glossary
    assert glossary is not None
    if recorded != equations:
        raise SchemaError(
            f"{equations!r} are not the equations that follow from the layer. An account is of "
            "what is derived. Derive them with `layer_equations`."
        )
    told = [one for equation in recorded.equations for one in _terms(equation)]
    chosen = range(1, len(told) + 1)
    if term is not None:
        require(term, int, "the number of a term", "Count the terms from 1.")
        if term not in chosen:
            raise OrderError(
                f"There is no term {term}. {equations!r} has terms 1 to {len(told)}, over all "
                "equations. Number them as they are printed."
            )
        chosen = range(term, term + 1)
    known: set[str] = set()
    parts = ["\n".join(wrapped(plain(line), "") for line in glossary.introduction)]
    for number in chosen:
        name, text, ways = told[number - 1]
        head = f"{name}, term {number} of {len(told)}: {text}"
        symbols = [one for way in ways for step in way for one in symbols_in(step.factor)]
        told_now = glossary.of([name, *symbols], known)
        new = [wrapped(plain(f"{symbol}: {meaning}."), "  ") for symbol, meaning in told_now]
        parts.append("\n".join([head, *new, *_lines(ways)]))
    return Explanation("\n\n".join(parts))


def _terms(equation: LayerEquation) -> Iterator[tuple[str, str, list[Way]]]:
    """The terms as they are printed, each with the ways in which it is made."""
    assert equation.account is not None
    ways = equation.account.ways()
    for text, product in zip(equation.terms, equation.products, strict=True):
        ((monomial, _),) = product.terms
        yield equation.name, text, ways[monomial]


def _lines(ways: list[Way]) -> Iterator[str]:
    """The account of a term, step by step."""
    for count, way in enumerate(ways, 1):
        yield f"Way {count} of {len(ways)}, contributing {contribution(way)}:"
        for number, step in enumerate(way, 1):
            factor = "" if step.factor == 1 else f" Factor: {number_text(step.factor)}."
            yield wrapped(f"{number}. {step.reason}.{factor}", "  ")
    if len(ways) > 1:
        yield f"Sum of the contributions: {sum(map(contribution, ways))}"


def symbols_in(factor: Polynomial) -> list[str]:
    """The symbols of a factor."""
    return [name for monomial, _ in factor.terms for name, _ in monomial]


def wrapped(text: str, indent: str) -> str:
    """A line of the account, in columns."""
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=indent,
        subsequent_indent=f"{indent}   ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def contribution(way: Way) -> Fraction:
    """The number that a way gives to its term: the product of those of its steps."""
    number = Fraction(1)
    for step in way:
        ((_, value),) = step.factor.terms
        number *= value
    return number
