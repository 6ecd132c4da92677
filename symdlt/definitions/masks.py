"""Masks: random factors of zero or one at each neuron, as dropout draws them."""

from __future__ import annotations

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
