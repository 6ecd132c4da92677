"""Gaussian means of activations over many samples, in NumPy and nothing else."""

from symdlt.means._closed import closed_pair_means
from symdlt.means._coincident import merged_means
from symdlt.means._grids import KernelInputError, choose_step, rescaled_step
from symdlt.means._kinked import has_infinite_pair, kinked_pair_means, meeting_jumps
from symdlt.means._kinked_quadruples import has_infinite_mean, kinked_quadruple_means
from symdlt.means._layer_means import ClosedMeans, KinkedMeans, LayerMeans, SmoothMeans
from symdlt.means._pairs import pair_means
from symdlt.means._quadruples import quadruple_means
from symdlt.means._relu_quadruples import relu_quadruple_means

__all__ = [
    "ClosedMeans",
    "KernelInputError",
    "KinkedMeans",
    "LayerMeans",
    "SmoothMeans",
    "choose_step",
    "closed_pair_means",
    "has_infinite_mean",
    "has_infinite_pair",
    "kinked_pair_means",
    "kinked_quadruple_means",
    "meeting_jumps",
    "merged_means",
    "pair_means",
    "quadruple_means",
    "relu_quadruple_means",
    "rescaled_step",
]
