"""The committed kernel for one input, under its public name."""

from symdlt.kernels.generated.single_input import *  # noqa: F403
