"""Networks in numbers: every tensor of given data, checked against real networks, and plotted.

`MLP` names a network, `propagate` gives its tensors at every layer as a `Propagation`, `check`
compares them with sampled networks, and `check_exponents` asymptotes with iterated tensors. The
recursions are in `symdlt.kernels`, generated.
"""

from symdlt.derivation.response.symbolic.layer_equations import LayerEquation as LayerEquation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquations as LayerEquations
from symdlt.derivation.response.symbolic.response_equations import (
    layer_equations as layer_equations,
)
from symdlt.networks.comparison import AGREEMENT as AGREEMENT
from symdlt.networks.comparison import Comparison as Comparison
from symdlt.networks.comparison import check as check
from symdlt.networks.evaluation import propagate as propagate
from symdlt.networks.exponent_check import ExponentCheck as ExponentCheck
from symdlt.networks.exponent_check import IteratedTensor as IteratedTensor
from symdlt.networks.exponent_check import check_exponents as check_exponents
from symdlt.networks.files import is_archive as is_archive
from symdlt.networks.files import pack as pack
from symdlt.networks.files import read_data as read_data
from symdlt.networks.kernel_gradients import kernel_gradient as kernel_gradient
from symdlt.networks.kernel_store import KernelStore as KernelStore
from symdlt.networks.kernel_store import store_kernels as store_kernels
from symdlt.networks.layer_phase import LayerPhase as LayerPhase
from symdlt.networks.layer_phase import critical_value as critical_value
from symdlt.networks.layer_phase import layer_phase as layer_phase
from symdlt.networks.mlp import MLP as MLP
from symdlt.networks.parametrisations import PARAMETRISATIONS as PARAMETRISATIONS
from symdlt.networks.parametrisations import FrameworkLayer as FrameworkLayer
from symdlt.networks.parametrisations import framework_layers as framework_layers
from symdlt.networks.parametrisations import from_framework as from_framework
from symdlt.networks.parametrisations import network_parameters as network_parameters
from symdlt.networks.parametrisations import to_framework as to_framework
from symdlt.networks.plots import plot_comparison as plot_comparison
from symdlt.networks.plots import plot_correlations as plot_correlations
from symdlt.networks.plots import plot_depth as plot_depth
from symdlt.networks.plots import plot_exponents as plot_exponents
from symdlt.networks.plots import plot_ratio as plot_ratio
from symdlt.networks.propagation import LayerTensors as LayerTensors
from symdlt.networks.propagation import Propagation as Propagation
from symdlt.networks.requests import TENSORS as TENSORS
from symdlt.networks.truncated import truncated_recursion as truncated_recursion
from symdlt.networks.truncated import truncation_text as truncation_text
