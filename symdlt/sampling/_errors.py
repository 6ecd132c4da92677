"""The error of this package."""

from symdlt.errors import SymdltError


class SamplingError(SymdltError, ValueError):
    """An ensemble, an input or a sample size that the sampler cannot use."""
