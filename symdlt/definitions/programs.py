"""A network as a program: all fields of all layers, one after the other, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symdlt.algebra import ORTHOGONAL, Head
from symdlt.definitions.masks import MASK, Mask
from symdlt.definitions.streams import SOFTMAXES
from symdlt.definitions.windows import Grid, Sources

INPUT = -1  # the input, as a field that is read and as the site of its neurons
ROOT, NUMBER = "root", "number"  # by which sums over the neurons of a head are divided
Factors = tuple[tuple[int, str | None, int], ...]
Function = tuple[tuple[float, Factors], ...]


@dataclass(frozen=True, slots=True)
class ProgramBranch:
    r"""Fresh weights $\sum_j W_{ij} φ_j$, or fresh biases, with the numbers of a layer.

    Attributes:
        tensor: what is drawn.
        entry_variance: the variance of one entry.
        entry_fourth: the fourth cumulant of one entry, None if its law does not tell.
        entry_rate: the learning rate of one entry.
        shape: of the tensor: the neurons it makes, and for weights those that it sums over.
        site: whose neurons are summed over; None for biases.
        function: φ, as numbers with factors (field, activation, derivative); for biases the number
            in front.
        sources: of each offset of a window, and each position that is made, the positions over
            which the mean is read; None if each position reads itself.
        shared: the layer and the name of a tensor that several branches have; None if it has one.
        fixed: of a sum over the neurons of a head, with nothing that is drawn, by what it is
            divided: `ROOT` of their number, so that it is Gaussian at infinite width as one with
            weights is, or the `NUMBER`, so that it is its mean.
    """

    tensor: Head
    entry_variance: float
    entry_fourth: float | None
    entry_rate: float
    shape: tuple[int, ...]
    site: int | None
    function: Function
    sources: Sources | None = None
    shared: tuple[int, str] | None = None
    fixed: str = ""

    @property
    def variance(self) -> float:
        """$C_W$, of a weight times what is summed over; $C_b$ of biases, with what is in front."""
        return self._scale * self.entry_variance

    @property
    def rate(self) -> float:
        """$λ_W$, the learning rate of a weight times what it sums over; $λ_b$ of biases."""
        return self._scale * self.entry_rate

    @property
    def orthogonal(self) -> bool:
        """Whether the weights are an orthogonal matrix."""
        return self.tensor.law is not None and self.tensor.law.name == ORTHOGONAL

    @property
    def _scale(self) -> float:
        if self.site is not None:
            return self.shape[1]
        return sum(number for number, _ in self.function) ** 2


@dataclass(frozen=True, slots=True)
class ProgramField:
    """One field: functions that stay on its neurons, fresh biases, fresh weights.

    Attributes:
        site: which neurons it has; fields of one site are functions of the same neuron.
        width: how many neurons.
        kept: what stays on its neurons, a function of earlier fields of the site.
        biases: fresh biases.
        branches: fresh weights and what they read.
        norm: how what is kept is normalised over the neurons, if it is.
        grid: of the positions, at which it has the same neurons.
        mask: of a field of random factors of zero or one.
        places: of each function that is kept the positions at which it is read, as of a window of
            one offset; none if it is kept where it is.
        heads: of a field of scores the number of heads, 0 if it is not known.
    """

    site: int
    width: int
    kept: Function
    biases: tuple[ProgramBranch, ...]
    branches: tuple[ProgramBranch, ...]
    norm: str | None = None
    grid: Grid = ()
    mask: Mask | None = None
    places: tuple[Sources, ...] = ()
    heads: int = 0

    @property
    def drawn(self) -> tuple[ProgramBranch, ...]:
        """All that is drawn, weights before biases, each the last one first."""
        both = (*reversed(self.branches), *reversed(self.biases))
        return tuple(branch for branch in both if not branch.fixed)


@dataclass(frozen=True, slots=True)
class Program:
    """All fields of a network in the order in which they are computed.

    Attributes:
        fields: the fields; earlier ones are known by their number.
        tops: of each layer 1, …, L the number of its preactivation.
        below: of each layer the width of the layer below it.
        grid: of the positions of the input.
    """

    fields: tuple[ProgramField, ...]
    tops: tuple[int, ...]
    below: tuple[int, ...]
    grid: Grid = ()

    @property
    def factors(self) -> Iterable[tuple[int, str | None, int]]:
        """All factors of all functions."""
        for field in self.fields:
            for function in (field.kept, *(branch.function for branch in field.branches)):
                for _, factors in function:
                    yield from factors

    @property
    def names(self) -> tuple[str, ...]:
        """The activations that it reads, s for that of the network, in alphabetical order."""
        apart = (None, MASK, *SOFTMAXES)
        return tuple(sorted({str(name) for _, name, _ in self.factors if name not in apart}))

    @property
    def moves_positions(self) -> bool:
        """Whether fields are kept at other positions than they are made at."""
        return any(field.places for field in self.fields)
