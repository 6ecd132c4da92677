"""Masks: random factors of zero or one at each neuron, as dropout draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

DROPOUT, PRUNE = "dropout", "prune"
MASKS = (DROPOUT, PRUNE)
MASK = "mask"  # convention: where other factors of a program have the name of an activation


@dataclass(frozen=True, slots=True)
class Mask:
    r"""Factors $m_j$ that are $1/(1-p)$, or with the probability p zero, so that their mean is one.

    Attributes:
        rate: p.
        shared: whether one draw is that of all samples; else each sample has a draw of its own.
    """

    rate: Fraction
    shared: bool

    @property
    def kept(self) -> Fraction:
        """The part of the neurons that is not dropped."""
        return 1 - self.rate

    @property
    def meaning(self) -> str:
        """What it is in words, with formulas between back quotes."""
        draws = "one draw for all samples" if self.shared else "a draw for each sample"
        power = "(1-k)`" if self.shared else "(d-k)` of `k` factors at `d` different samples"
        return (
            f"a factor at each neuron, `{1 / self.kept}` with the probability `{self.kept}` and "
            f"else zero, {draws}: means of `k` factors are `({self.kept})^{power}"
        )

    def mean(self, samples: Sequence[int]) -> Fraction:
        r"""The mean of a product of factors at one neuron, each at its sample.

        $$\Bigl\langle \prod_{a=1}^k m_a \Bigr\rangle = (1-p)^{d-k}$$

        of k factors, d of them different draws.

        >>> Mask(Fraction(1, 2), shared=False).mean([1, 1, 2]), DROPOUT
        (Fraction(2, 1), 'dropout')
        """
        draws = 1 if self.shared else len({*samples})
        return self.kept ** (draws - len(samples))
