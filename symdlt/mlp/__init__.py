"""Networks in numbers: every tensor of given data, checked against real networks, and plotted.

`MLP` names a network, `propagate` gives its tensors at every layer as a `Propagation`, `check`
compares them with sampled networks, and `check_exponents` asymptotes with iterated tensors. The
recursions are in `symdlt.kernels`, generated.
"""

from symdlt.mlp._check import Comparison as Comparison
from symdlt.mlp._check import check as check
from symdlt.mlp._data import is_archive as is_archive
from symdlt.mlp._data import pack as pack
from symdlt.mlp._data import read_data as read_data
from symdlt.mlp._exponent_check import ExponentCheck as ExponentCheck
from symdlt.mlp._exponent_check import IteratedTensor as IteratedTensor
from symdlt.mlp._exponent_check import check_exponents as check_exponents
from symdlt.mlp._network import MLP as MLP
from symdlt.mlp._plots import plot_comparison as plot_comparison
from symdlt.mlp._plots import plot_depth as plot_depth
from symdlt.mlp._plots import plot_exponents as plot_exponents
from symdlt.mlp._plots import plot_ratio as plot_ratio
from symdlt.mlp._propagate import propagate as propagate
from symdlt.mlp._propagation import Layer as Layer
from symdlt.mlp._propagation import Propagation as Propagation
from symdlt.mlp._requests import TENSORS as TENSORS
