"""Recursions as text for docstrings, in the notation of the kernels."""

from __future__ import annotations

import textwrap
from collections import Counter
from fractions import Fraction
from math import factorial

from symdlt.derivation import Bracket, Recursion, RecursionTerm, powers_text
from symdlt.kernels.generator.representation import Mean

WIDTH = 92  # what 100 columns leave in the docstring of a function


def mean_of(bracket: Bracket) -> tuple[Mean, int]:
    r"""The Taylor mean of a bracket and the k! by which the bracket exceeds it.

    Inserted z's with their inverse kernels are derivatives, by Gaussian integration by parts:
    $\langle F :\!z^{\gamma_1}\cdots z^{\gamma_k}\!:\rangle = \langle\partial^k F\rangle$.

    >>> mean_of(Bracket(((0, 0), (0, 0)), (0, 0)))
    (Mean(d2<s s>), 2)
    """
    count = len(bracket.inserted)
    return Mean(tuple(sorted(order for _, order in bracket.factors)), count), factorial(count)


def taylor_coefficient(term: RecursionTerm) -> Fraction:
    """The coefficient of a term whose brackets are written as Taylor means."""
    number = term.coefficient
    for bracket in term.brackets:
        number *= mean_of(bracket)[1]
    return number


def equation(recursion: Recursion) -> tuple[str, ...]:
    """The recursion, one term a line.

    >>> from symdlt.derivation import derive
    >>> for line in equation(derive("V", inputs="one", form="z")):
    ...     print(line)
    V[l+1] =
      - C_W^2 <s s>^2
      + C_W^2 <s s s s>
      + r C_W^2 d2<s s>^2 V
    """
    lines = [f"{recursion.name}[l+1] ="]
    for term in recursion.terms:
        number = taylor_coefficient(term)
        text = f"{'-' if number < 0 else '+'} {_term_text(term, abs(number))}"
        lines += textwrap.wrap(
            text, WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
        )
    return tuple(lines if recursion.terms else [*lines, "  0"])


def _term_text(term: RecursionTerm, number: Fraction) -> str:
    parts = [] if number == 1 else [str(number)]
    parts += powers_text([("r", term.width_ratio)])
    parts += powers_text(term.hyperparameters.named)
    parts += powers_text(Counter(mean_of(b)[0].text for b in term.brackets).items())
    parts += powers_text(Counter(t.name for t in term.tensors).items())
    return " ".join(parts) or "1"
