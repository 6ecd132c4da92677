"""Streams: what a layer computes one after the other, each with fresh weights and biases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symdlt.algebra import ORTHOGONAL, Head, Polynomial
from symdlt.combinatorics import connected_components
from symdlt.definitions.masks import Mask
from symdlt.definitions.windows import Window
from symdlt.errors import IndexStructureError

UNIT = Polynomial.number(1)
BELOW = "z"  # the field that a layer reads of the layer below
ABOVE = "z'"  # the field that it makes
RMS_NORM, LAYER_NORM = "rmsnorm", "layernorm"
NORMS = (RMS_NORM, LAYER_NORM)
# Of the scores of one position, over the positions that they are with, or those up to its own.
SOFTMAX, CAUSAL_SOFTMAX = "softmax", "causal softmax"
SOFTMAXES = (SOFTMAX, CAUSAL_SOFTMAX)
HEADS = "heads"  # where widths are given by the names of fields, the number of heads

_EARLIER = re.compile(r"(?P<field>[^\[]+)\[\s*-\s*(?P<steps>[1-9]\d*)\s*\]")


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
        score: of a field at pairs of positions (p, r), the names of two others, q and k: the sum
            of $q_p k_r$ over the neurons of a head, over the root of their number; of one with
            itself over their number.
    """

    name: str
    kept: tuple[tuple[Polynomial, Factor], ...]
    drawn: tuple[Drawn, ...]
    norm: str | None = None
    mask: Mask | None = None
    score: tuple[str, str] | None = None

    @property
    def read(self) -> frozenset[str]:
        """The names of all fields that it reads, at whatever step."""
        functions = [each.function.fields for each in self.drawn if each.function]
        kept = {factor.field for _, factor in self.kept}
        return frozenset(kept.union(self.score or (), *functions))


def earlier_step(name: str) -> tuple[str, int]:
    """The field that a name is of, and how many steps before it is read.

    >>> earlier_step("z'[-1]"), earlier_step("u")
    (("z'", 1), ('u', 0))
    """
    match = _EARLIER.fullmatch(name)
    return (match["field"].strip(), int(match["steps"])) if match else (name, 0)


def is_recurrent(streams: Iterable[Stream]) -> bool:
    """Whether fields are read at earlier steps, so that weights are used at several."""
    return any(earlier_step(name)[1] for stream in streams for name in stream.read)


def has_dropout(streams: Iterable[Stream]) -> bool:
    """Whether each sample has a draw of its own of some mask."""
    return any(stream.mask is not None and not stream.mask.shared for stream in streams)


def short_names(streams: Iterable[Stream]) -> dict[str, str]:
    """The names of the fields; masks without one are told by their kind, and numbered."""
    names: dict[str, str] = {}
    for stream in streams:
        own = stream.name
        if stream.mask and "(" in own:
            kind = own.partition("(")[0]
            taken = sum(name.rstrip("0123456789") == kind for name in names.values())
            own = f"{kind}{taken + 1}" if taken else kind
        names[stream.name] = own
    return names


def at_pairs(streams: Iterable[Stream]) -> frozenset[str]:
    """The fields at pairs of positions: scores, and what keeps them."""
    names: set[str] = set()
    for stream in streams:
        if stream.score or names & {factor.field for _, factor in stream.kept}:
            names.add(stream.name)
    return frozenset(names)


def sites_of(streams: Sequence[Stream]) -> tuple[tuple[str, ...], ...]:
    """The fields that share their neurons, in the order of the first of each, z before all.

    Masks stand behind the fields that they multiply, wherever they are drawn.
    """
    masks = [stream.name for stream in streams if stream.mask]
    names = (BELOW, *(one.name for one in streams if not one.mask), *masks)
    links = [[names.index(name) for name in fields] for fields in _together(streams) if fields]
    sites = connected_components(range(len(names)), links)
    return tuple(tuple(names[k] for k in site) for site in sites)


def _together(streams: Iterable[Stream]) -> list[set[str]]:
    """Which fields have the same neurons: those that are added, multiplied, or make one score."""
    groups: list[set[str]] = []
    for stream in streams:
        groups.append({stream.name, *(earlier_step(one.field)[0] for _, one in stream.kept)})
        groups.append({*(stream.score or (stream.name,))})
        for drawn in stream.drawn:
            read = drawn.function.fields if drawn.function else ()
            groups.append({earlier_step(name)[0] for name in read})
    return groups


def functions_in(stream: Stream) -> tuple[str, ...]:
    """The names of the activations that a stream reads."""
    factors = [factor for _, factor in stream.kept]
    for drawn in stream.drawn:
        terms = () if drawn.function is None else drawn.function.terms
        factors += [factor for _, product in terms for factor in product]
    return tuple(dict.fromkeys(factor.function for factor in factors if factor.function))
