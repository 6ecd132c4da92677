"""Recursions in the notation of kernels: as text, and for one input in means that are shared."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from symdlt.derivation import Bracket, Recursion, RecursionTerm, powers_text
from symdlt.kernels.generator.gaussian_mean import Means, centred
from symdlt.kernels.generator.hyperparameters import Hyperparameter
from symdlt.kernels.generator.representation import Mean, SharedFactor, variable

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


SUSCEPTIBILITIES = {"chi_s1_s1": "chi_perp", "chi_d2_s0_s0": "chi_parallel"}
ALWAYS_KNOWN = (Mean((1, 1)), Mean((0, 0), 2))

Scaled = tuple[Mean, Fraction]


def representatives(means: Iterable[Mean]) -> dict[Mean, Scaled]:
    """For each mean the first one proportional to it, and the proportion.

    >>> representatives([Mean((0, 1), 1), Mean((0, 0), 2)])[Mean((0, 1), 1)][0]
    Mean(d2<s s>)
    """
    first: dict[tuple[Scaled, ...], Scaled] = {}
    known: dict[Mean, Scaled] = {}
    for mean in sorted(set(means), key=lambda m: (len(m.plain), m)):
        leading = mean.plain[0][1]
        shape = tuple((part, number / leading) for part, number in mean.plain)
        if len(shape) == 1:
            known[mean] = (shape[0][0], leading)
            continue
        chosen, scale = first.setdefault(shape, (mean, leading))
        known[mean] = (chosen, leading / scale)
    return known


@dataclass(frozen=True, slots=True)
class LocalTerm:
    """A term with its brackets as means: powers of hyperparameters, r, tensors, number."""

    hyperparameters: tuple[tuple[str, int], ...]
    width_ratio: int
    tensors: tuple[str, ...]
    means: Means
    coefficient: Fraction

    def named(
        self,
        parameters: Sequence[Hyperparameter],
        known: dict[Mean, Scaled],
        shared: dict[str, SharedFactor],
    ) -> tuple[Counter[str], Fraction]:
        """The factors by name, and the number: a pair of σ's takes its C_W or λ_W with it.

        Args:
            parameters: those of the layer.
            known: from `representatives`.
            shared: where the intermediates are collected.
        """
        pairs = {one.name: one.pair for one in reversed(parameters) if one.pair} | {"": ""}
        number = self.coefficient
        left = Counter(dict(self.hyperparameters))
        powers: Counter[str] = Counter({"r": self.width_ratio})
        for mean in self.means:
            chosen, scale = known[mean]
            number *= scale
            taken = ""
            if len(mean.orders) == 2:
                taken = next(name for name in pairs if left[name] > 0 or not name)
                left[taken] -= bool(taken)
            name = pairs[taken] + chosen.name
            name = SUSCEPTIBILITIES.get(name, name)
            shared[name] = SharedFactor(name, taken, chosen)
            powers[name] += 1
        powers.update(left)
        powers.update(self.tensors)
        return powers, number


def local_terms(recursion: Recursion) -> tuple[LocalTerm, ...]:
    """The terms of a recursion, with central moments where means would nearly cancel."""
    groups: dict[
        tuple[tuple[tuple[str, int], ...], int, tuple[str, ...]], dict[Means, Fraction]
    ] = {}
    for term in recursion.terms:
        tensors = tuple(sorted(variable(t.name) for t in term.tensors))
        rest = (term.hyperparameters.named, term.width_ratio, tensors)
        means = tuple(sorted(mean_of(bracket)[0] for bracket in term.brackets))
        group = groups.setdefault(rest, {})
        group[means] = group.get(means, Fraction(0)) + taylor_coefficient(term)
    return tuple(
        LocalTerm(*rest, means, number)
        for rest, group in groups.items()
        for means, number in centred(group).items()
    )
