"""Real networks at initialisation, sampled and differentiated: the oracle of the theory.

Nothing of the theory enters: no forward equation, no recursion, no expansion in the width. Networks
are drawn, differentiated exactly, and averaged, so that what is measured can judge what is derived.
"""

from symdlt.errors import SamplingError
from symdlt.sampling.ensemble import (
    WEIGHT_LAWS,
    NetworkEnsemble,
    NetworkParameters,
    draw_parameters,
)
from symdlt.sampling.measurement import Measurement, TensorName, measure
from symdlt.sampling.observables import evaluate_networks, sample_networks
from symdlt.sampling.tensors import TENSORS, TensorPattern
from symdlt.sampling.trees import OBSERVABLES, Tree

__all__ = [
    "OBSERVABLES",
    "TENSORS",
    "WEIGHT_LAWS",
    "Measurement",
    "NetworkEnsemble",
    "NetworkParameters",
    "SamplingError",
    "TensorName",
    "TensorPattern",
    "Tree",
    "draw_parameters",
    "evaluate_networks",
    "measure",
    "sample_networks",
]
