"""Gaussian means of smooth activations over many samples, in NumPy and nothing else."""

from symdlt.means._grids import KernelInputError, choose_step, rescaled_step
from symdlt.means._pairs import pair_means

__all__ = ["KernelInputError", "choose_step", "pair_means", "rescaled_step"]
