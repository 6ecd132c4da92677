"""Real networks at initialisation, sampled and differentiated: the oracle of the theory.

Nothing of the theory enters: no forward equation, no recursion, no expansion in the width. Networks
are drawn, differentiated exactly, and averaged, so that what is measured can judge what is derived.
"""

from symdlt.errors import SamplingError as SamplingError
from symdlt.sampling.ensemble import WEIGHT_LAWS as WEIGHT_LAWS
from symdlt.sampling.ensemble import NetworkEnsemble as NetworkEnsemble
from symdlt.sampling.ensemble import NetworkParameters as NetworkParameters
from symdlt.sampling.ensemble import draw_parameters as draw_parameters
from symdlt.sampling.measurement import Measurement as Measurement
from symdlt.sampling.measurement import TensorName as TensorName
from symdlt.sampling.measurement import measure as measure
from symdlt.sampling.observables import evaluate_networks as evaluate_networks
from symdlt.sampling.observables import sample_networks as sample_networks
from symdlt.sampling.tensors import TENSORS as TENSORS
from symdlt.sampling.tensors import TensorPattern as TensorPattern
from symdlt.sampling.trees import OBSERVABLES as OBSERVABLES
from symdlt.sampling.trees import Tree as Tree
