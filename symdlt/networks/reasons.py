"""Why the parts of a covariance are there, noted by what derives them for an account of terms."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from symdlt.networks.site_averages import Edges, Pair, SiteAverage, Slope


class KeptPair(NamedTuple):
    """A conditional covariance moves with that of the fields that are kept."""

    above: Pair
    below: Pair


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
    """

    field: int
    part: int
    edge: bool
    fresh: bool = False


# Conventions, where others have the number of a branch.
BIASES, KEPT = -1, -2

Reason: TypeAlias = (
    KeptPair
    | ReadAverage
    | OwnNoise
    | SlopeOf
    | SameNeuron
    | EdgeBelow
    | FieldMeets
    | CovarianceBelow
    | NoiseBelow
)
