"""Why the parts of a covariance are there, noted by what derives them for an account of terms."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from symdlt.derivation.response.site_averages import Edges, Leg, Pair, Read, SiteAverage, Slope
from symdlt.derivation.response.site_functions import Vertex


class KeptPair(NamedTuple):
    """A conditional covariance moves with that of the fields that are kept."""

    above: Pair
    below: Pair


class KeptMean(NamedTuple):
    """A mean over neurons is that of the fields that are kept: what is fresh has no mean."""

    above: SiteAverage
    below: SiteAverage


class ReadAverage(NamedTuple):
    """A conditional covariance moves with an average that weights read.

    The weights are contracted, or, if they are fresh, have the edge between the two vertices.
    """

    pair: Pair
    branch: int
    average: SiteAverage
    fresh: bool


class OwnNoise(NamedTuple):
    """An average moves by the noise of its own neurons."""

    average: SiteAverage


class OwnMean(NamedTuple):
    """The mean of an average moves by more than the means of the covariances that it reads."""

    average: SiteAverage


class SlopeOf(NamedTuple):
    """An average moves with the law of its neurons."""

    average: SiteAverage
    slope: Slope


class SameNeuron(NamedTuple):
    """The noises of two averages meet at one neuron: the mean of both, less that of each."""

    left: SiteAverage
    right: SiteAverage
    apart: bool


class EdgeBelow(NamedTuple):
    """An edge inside a mean is one of the fields that it reads: their NTK."""

    legs: Pair


class FieldMeets(NamedTuple):
    """A field that stands in a mean itself meets another one: their covariance."""

    legs: Pair


class LengthMoves(NamedTuple):
    """A conditional covariance moves with the length by which its first leg is normalised."""

    pair: Pair
    below: int
    inside: Edges


class MeanMoves(NamedTuple):
    """An average moves with the mean over neurons that is taken from a field it reads."""

    average: SiteAverage
    leg: Leg
    below: int
    inside: Edges


class OrthogonalWeights(NamedTuple):
    """Orthogonal weights of one field at two neurons are not independent.

    Each of the two pairs has a leg at either neuron; edges of each can be inside it.
    """

    field: int
    branch: int
    pairs: tuple[tuple[Vertex, Vertex], tuple[Vertex, Vertex]]
    edges: tuple[Edges, Edges]


class Curvature(NamedTuple):
    """The mean of an average moves with two conditional covariances that fluctuate together."""

    average: SiteAverage
    first: Pair
    second: Pair
    inside: Edges


class OwnNeuron(NamedTuple):
    """The neuron whose function is averaged is itself in a covariance that the function reads."""

    average: SiteAverage
    pair: Pair


class FourthCumulant(NamedTuple):
    """Four legs read weights of one neuron below, which have a fourth cumulant.

    Attributes:
        average: what reads the legs.
        legs: the four.
        weights: the field and the number of the branch; None for those of the layer below.
    """

    average: SiteAverage
    legs: tuple[Leg, ...]
    weights: Read | None


class SecondOrder(NamedTuple):
    """What a norm adds to means, as lengths and means over neurons fluctuate to second order.

    Attributes:
        what: which part, one of the constants below.
        leg: the normalised field, or the field that reads it.
    """

    what: str
    leg: Leg


# Parts of `SecondOrder`: of covariances, and of averages of which the neuron itself is a part.
LENGTH_AND_PAIR, LENGTH_SQUARED, MEAN_SQUARED = "length and pair", "length²", "mean²"
OWN_LENGTH, AS_COVARIANCE = "own length", "own length, less that of covariances"
OWN_MEAN, MEAN_AND_PAIR, MEANS, SHIFT = "own mean", "mean and pair", "means", "mean and length"


class MeanBelow(NamedTuple):
    """The mean of a conditional covariance of the layer below: its correction."""

    pair: Pair
    edges: Edges


class CovarianceBelow(NamedTuple):
    """Two conditional covariances of the layer below fluctuate together: its tensor."""

    left: Pair
    right: Pair
    edges: Edges


class NoiseBelow(NamedTuple):
    """A conditional covariance of the layer below has met the noise of an average."""

    average: SiteAverage
    pair: Pair


class KernelOf(NamedTuple):
    """A kernel, or with an edge an NTK, of a field has a part of weights, of biases or of a skip.

    Attributes:
        field: of which the kernel is.
        part: the branch of weights; BIASES, or KEPT.
        edge: whether it is an NTK.
        fresh: whether the edge is a new parameter.
        other: another field of the neurons with which it is, by what the field keeps.
    """

    field: int
    part: int
    edge: bool
    fresh: bool = False
    other: int | None = None


# Conventions, where others have the number of a branch.
BIASES, KEPT = -1, -2

Reason: TypeAlias = (
    KeptPair
    | KeptMean
    | ReadAverage
    | OwnNoise
    | OwnMean
    | SlopeOf
    | SameNeuron
    | EdgeBelow
    | FieldMeets
    | LengthMoves
    | MeanMoves
    | OrthogonalWeights
    | Curvature
    | OwnNeuron
    | FourthCumulant
    | SecondOrder
    | MeanBelow
    | CovarianceBelow
    | NoiseBelow
)
