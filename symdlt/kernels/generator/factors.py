"""The means of one-input recursions: each once, and named with what they are multiplied by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symdlt.derivation import Recursion
from symdlt.kernels.generator.equations import mean_of, taylor_coefficient
from symdlt.kernels.generator.gaussian_mean import Means, centred
from symdlt.kernels.generator.hyperparameters import Hyperparameter
from symdlt.kernels.generator.representation import Mean, SharedFactor, variable

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
