r"""Heads of attention: neurons that read the same scores.

All neurons of a head have its scores, so that what they are averaged to fluctuates as one. Over n
neurons in H heads, averages of functions F and G of the fields at one neuron have the covariance

$$\mathrm{cov}(M(F), M(G)) = \tfrac1n\,[⟨FG⟩ - ⟨F\hat G⟩] + \tfrac1H\,[⟨F\hat G⟩ - ⟨F⟩⟨G⟩] ,$$

with $\hat G$ at another neuron of the same head: a copy of each field, of the same law, which is
correlated with the fields themselves by the scores in them alone.

Scores themselves are sums over the d neurons of a head. Their noise is not shared by heads, and is
in the law of the scores, which is Gaussian as d grows; what is left of it is smaller by 1/d.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from symdlt.definitions import ROOT, Program
from symdlt.derivation.response.site_functions import Terms
from symdlt.derivation.response.site_means import Array, SiteMeans


class Heads:
    """Which neurons are in heads, and copies of their fields.

    Args:
        program: the network.
        means: at one neuron, whose grids are those of all fields, and of their copies behind them.

    Attributes:
        numbers: of sites whose neurons read scores, how many heads there are.
        summed: the sites that are summed over within heads.
    """

    def __init__(self, program: Program, means: SiteMeans) -> None:
        self.means = means
        self.count = len(program.fields)
        self.numbers = {field.site: field.heads for field in program.fields if field.heads}
        self.summed: set[int | None] = set()
        self.scores: list[dict[int, float]] = []  # of each field the scores in it
        self.copied: set[int] = set()
        self.met = 0, 0  # how many copies and covariances there were when they were joined
        for number, field in enumerate(program.fields):
            fixed = [branch for branch in field.branches if branch.fixed == ROOT]
            self.summed |= {branch.site for branch in fixed}
            inside = defaultdict(float, {number: 1.0} if fixed else {})
            for constant, ((kept, _, _), *_) in field.kept:
                for score, factor in self.scores[kept].items():
                    inside[score] += constant * factor
            self.scores.append(dict(inside))

    def other_neuron(self, terms: Terms) -> Terms:
        """A function of the fields at one neuron, at another neuron of the same head."""
        fields = {of for factors, _ in terms for _, of, _, _ in factors}
        fields |= {of for _, links in terms for f, _, g, _ in links for of in (f, g)}
        copies = {of: of if of in self.scores[of] else self.count + of for of in fields}
        self._add_copies({of for of in fields if copies[of] != of})
        return {
            (
                tuple((vertex, copies[of], name, order) for vertex, of, name, order in factors),
                tuple((copies[f], u, copies[g], v) for f, u, g, v in links),
            ): number
            for (factors, links), number in terms.items()
        }

    def _add_copies(self, fields: set[int]) -> None:
        """The covariances of copies with all fields and copies of their neurons that are known.

        A field that is known later than that meets the copies that were made before.
        """
        self.copied |= fields
        means = self.means
        if self.met == (len(self.copied), len(means.kernels)):
            return
        for known, between in ((means.kernels, means.kernel), (means.ntks, means.ntk)):
            pairs = [(f, g) for f, g in known if f < self.count]
            for one, other in {*pairs, *(pair[::-1] for pair in pairs)}:
                if one in self.copied:
                    self._add_copy(known, between, one, other)
        self.met = len(self.copied), len(means.kernels)

    def _add_copy(
        self,
        known: dict[tuple[int, int], Array],
        between: Callable[[int, int], Array],
        one: int,
        other: int,
    ) -> None:
        """The covariance of the copy of a field with another one, and with its copy."""
        meets = [
            a * b * between(s, t)
            for s, a in self.scores[one].items()
            for t, b in self.scores[other].items()
        ]
        if meets:
            known[self.count + one, other] = sum(meets[1:], meets[0])
        if one >= other and other in self.copied:
            known[self.count + one, self.count + other] = known[one, other]
