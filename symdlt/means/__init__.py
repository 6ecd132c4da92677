"""Gaussian means of activations over many samples, in NumPy and nothing else."""

from symdlt.means.closed import closed_pair_means
from symdlt.means.coincident import merged_means
from symdlt.means.grids import (
    AGREEMENT,
    FAR,
    FIRST_STEP,
    LARGEST_VARIANCE,
    LEAST_STEP,
    QUIET,
    TINY,
    VERIFIED,
    Array,
    Function,
    KernelInputError,
    Unrelated,
    check_callable,
    choose_step,
    derivatives_agree,
    evaluate,
    moved_grid,
    rescaled_step,
    seen_step,
    trapezoid,
)
from symdlt.means.kinked import has_infinite_pair, kinked_pair_means, meeting_jumps
from symdlt.means.kinked_quadruples import has_infinite_mean, kinked_quadruple_means
from symdlt.means.layer_means import ClosedMeans, KinkedMeans, LayerMeans, SmoothMeans
from symdlt.means.pairs import pair_means
from symdlt.means.quadruples import asked_for, quadruple_means
from symdlt.means.relu_quadruples import relu_quadruple_means
from symdlt.means.softmax import softmax_means
from symdlt.means.triangle import Indices, PairTables, Triangle, packed_tables, triangle
from symdlt.means.two_planes import Planes, by_samples, pairs_of, plane_means, plane_step, planes

__all__ = [
    "AGREEMENT",
    "FAR",
    "FIRST_STEP",
    "LARGEST_VARIANCE",
    "LEAST_STEP",
    "QUIET",
    "TINY",
    "VERIFIED",
    "Array",
    "ClosedMeans",
    "Function",
    "Indices",
    "KernelInputError",
    "KinkedMeans",
    "LayerMeans",
    "PairTables",
    "Planes",
    "SmoothMeans",
    "Triangle",
    "Unrelated",
    "asked_for",
    "by_samples",
    "check_callable",
    "choose_step",
    "closed_pair_means",
    "derivatives_agree",
    "evaluate",
    "has_infinite_mean",
    "has_infinite_pair",
    "kinked_pair_means",
    "kinked_quadruple_means",
    "meeting_jumps",
    "merged_means",
    "moved_grid",
    "packed_tables",
    "pair_means",
    "pairs_of",
    "plane_means",
    "plane_step",
    "planes",
    "quadruple_means",
    "relu_quadruple_means",
    "rescaled_step",
    "seen_step",
    "softmax_means",
    "trapezoid",
    "triangle",
]
