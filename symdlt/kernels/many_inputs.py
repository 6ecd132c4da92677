"""The committed kernel for many inputs, under its public name."""

from symdlt.kernels.generated.many_inputs import *  # noqa: F403
