"""Streams: what a layer computes one after the other, each with fresh weights and biases."""

from __future__ import annotations

from dataclasses import dataclass

from symdlt.algebra import ORTHOGONAL, Head, Polynomial
from symdlt.definitions.masks import Mask
from symdlt.definitions.windows import Window
from symdlt.errors import IndexStructureError

UNIT = Polynomial.number(1)
BELOW = "z"  # the field that a layer reads of the layer below
ABOVE = "z'"  # the field that it makes
RMS_NORM, LAYER_NORM = "rmsnorm", "layernorm"
NORMS = (RMS_NORM, LAYER_NORM)


@dataclass(frozen=True, slots=True, order=True)
class Factor:
    """A function of one field at one neuron.

    Attributes:
        field: the name of the field.
        function: the name of the activation, s for that of the network; None for the field itself.
        order: which derivative of the activation.
    """

    field: str
    function: str | None = None
    order: int = 0

    def __str__(self) -> str:
        if self.function is None:
            return self.field
        return f"{self.function}{chr(39) * self.order}({self.field})"


@dataclass(frozen=True, slots=True)
class SiteFunction:
    """A sum of products of functions of fields, all at one neuron: φ of a branch.

    Attributes:
        terms: constants, each with the factors that it multiplies.
    """

    terms: tuple[tuple[Polynomial, tuple[Factor, ...]], ...]

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields that it reads."""
        return frozenset(factor.field for _, factors in self.terms for factor in factors)


@dataclass(frozen=True, slots=True)
class Drawn:
    r"""Fresh biases $b_i$, or fresh weights and what they read, $\sum_j W_{ij} φ_j$.

    Attributes:
        tensor: the random tensor, with its law.
        rate: the learning rate of its parameters.
        function: φ, with all constants; None for biases.
        coefficient: the constant in front of biases.
        window: the positions that weights read; None for the one that they make.
    """

    tensor: Head
    rate: Polynomial
    function: SiteFunction | None
    coefficient: Polynomial = UNIT
    window: Window | None = None

    @property
    def variance(self) -> Polynomial:
        """The second cumulant of its entries."""
        assert self.tensor.law is not None
        return self.tensor.law.cumulant(2)

    @property
    def orthogonal(self) -> bool:
        """Whether the weights are an orthogonal matrix."""
        return self.tensor.law is not None and self.tensor.law.name == ORTHOGONAL

    @property
    def fourth(self) -> Polynomial | None:
        """The fourth cumulant of its entries, None if the law does not tell."""
        assert self.tensor.law is not None
        try:
            return self.tensor.law.cumulant(4)
        except IndexStructureError:
            return None


@dataclass(frozen=True, slots=True)
class Stream:
    r"""One field of a layer: $h_i = \sum c\,f_i + b_i + \sum_j W_{ij} φ_j$.

    Given all fields before it the drawn part is Gaussian, and independent from neuron to neuron.
    Only a field itself can be kept for the field to be so too; the sampler takes any function.

    Attributes:
        name: the name of the field.
        kept: constants with functions of earlier fields at the same neuron, which are added.
        drawn: the fresh weights and biases.
        norm: of a field that is another one over its length: $z/\sqrt{\frac1n\sum_j z_j^2}$, or
            with the mean over the neurons taken away before.
        mask: of a field that is no function of others, but zero or one at random.
    """

    name: str
    kept: tuple[tuple[Polynomial, Factor], ...]
    drawn: tuple[Drawn, ...]
    norm: str | None = None
    mask: Mask | None = None


def functions_in(stream: Stream) -> tuple[str, ...]:
    """The names of the activations that a stream reads."""
    factors = [factor for _, factor in stream.kept]
    for drawn in stream.drawn:
        terms = () if drawn.function is None else drawn.function.terms
        factors += [factor for _, product in terms for factor in product]
    return tuple(dict.fromkeys(factor.function for factor in factors if factor.function))
