"""What `import symdlt` offers: every verb of the README, and what verbs take and give."""

import typing as _typing

from symdlt.activations import activation as activation
from symdlt.definitions import BOOK as BOOK
from symdlt.definitions import Correlator as Correlator
from symdlt.definitions import Forest as Forest
from symdlt.definitions import Layer as Layer
from symdlt.definitions import Network as Network
from symdlt.definitions import Stack as Stack
from symdlt.definitions import correlator_from as correlator_from
from symdlt.definitions import correlators as correlators
from symdlt.definitions import tensor as tensor
from symdlt.derivation import Recursion as Recursion
from symdlt.derivation import RecursionSystem as RecursionSystem
from symdlt.derivation import StackRecursion as StackRecursion
from symdlt.derivation import derive as derive
from symdlt.derivation import derive_system as derive_system
from symdlt.derivation import explain as explain
from symdlt.derivation import forward_equation as forward_equation
from symdlt.derivation import sensitivity as sensitivity
from symdlt.derivation import to_derivative_form as to_derivative_form
from symdlt.derivation import to_z_form as to_z_form
from symdlt.errors import SymdltError as SymdltError
from symdlt.formats import draw as draw
from symdlt.formats import from_json as from_json
from symdlt.formats import to_json as to_json

if _typing.TYPE_CHECKING:
    from symdlt.asymptotics import exponents as exponents
    from symdlt.asymptotics import optimal_aspect_ratio as optimal_aspect_ratio
    from symdlt.asymptotics import skip_growth as skip_growth
    from symdlt.fixed_points import critical_line as critical_line
    from symdlt.fixed_points import criticality as criticality
    from symdlt.fixed_points import gain as gain
    from symdlt.fixed_points import nearby as nearby
    from symdlt.fixed_points import phase as phase
    from symdlt.fixed_points import plot_criticality as plot_criticality
    from symdlt.fixed_points import plot_phase_plane as plot_phase_plane
    from symdlt.fixed_points import recipe as recipe
    from symdlt.formats.latex import document as document
    from symdlt.formats.latex import to_latex as to_latex
    from symdlt.kernels import kernel_for as kernel_for
    from symdlt.means.precise import gaussian_mean as gaussian_mean
    from symdlt.networks import MLP as MLP
    from symdlt.networks import Propagation as Propagation
    from symdlt.networks import check as check
    from symdlt.networks import check_exponents as check_exponents
    from symdlt.networks import critical_value as critical_value
    from symdlt.networks import kernel_gradient as kernel_gradient
    from symdlt.networks import layer_equations as layer_equations
    from symdlt.networks import layer_phase as layer_phase
    from symdlt.networks import plot_comparison as plot_comparison
    from symdlt.networks import plot_correlations as plot_correlations
    from symdlt.networks import plot_depth as plot_depth
    from symdlt.networks import plot_exponents as plot_exponents
    from symdlt.networks import plot_ratio as plot_ratio
    from symdlt.networks import propagate as propagate
    from symdlt.sampling import NetworkEnsemble as NetworkEnsemble
    from symdlt.sampling import measure as measure
    from symdlt.training import GradientDescent as GradientDescent
    from symdlt.training import GradientFlow as GradientFlow
    from symdlt.training import TwoStep as TwoStep
    from symdlt.training import plot_ntk_ellipse as plot_ntk_ellipse
    from symdlt.training import plot_prediction as plot_prediction
    from symdlt.training import posterior as posterior
    from symdlt.training import predict as predict
    from symdlt.training import predict_infinite as predict_infinite
    from symdlt.training import projectors as projectors

# Loading these takes NumPy or SymPy, which `derive` does without.
_LATER = {
    "GradientDescent": "symdlt.training",
    "GradientFlow": "symdlt.training",
    "MLP": "symdlt.networks",
    "NetworkEnsemble": "symdlt.sampling",
    "Propagation": "symdlt.networks",
    "TwoStep": "symdlt.training",
    "check": "symdlt.networks",
    "check_exponents": "symdlt.networks",
    "critical_line": "symdlt.fixed_points",
    "critical_value": "symdlt.networks",
    "criticality": "symdlt.fixed_points",
    "document": "symdlt.formats.latex",
    "exponents": "symdlt.asymptotics",
    "gain": "symdlt.fixed_points",
    "gaussian_mean": "symdlt.means.precise",
    "kernel_for": "symdlt.kernels",
    "kernel_gradient": "symdlt.networks",
    "layer_equations": "symdlt.networks",
    "layer_phase": "symdlt.networks",
    "measure": "symdlt.sampling",
    "nearby": "symdlt.fixed_points",
    "optimal_aspect_ratio": "symdlt.asymptotics",
    "phase": "symdlt.fixed_points",
    "plot_comparison": "symdlt.networks",
    "plot_correlations": "symdlt.networks",
    "plot_criticality": "symdlt.fixed_points",
    "plot_depth": "symdlt.networks",
    "plot_exponents": "symdlt.networks",
    "plot_ntk_ellipse": "symdlt.training",
    "plot_phase_plane": "symdlt.fixed_points",
    "plot_prediction": "symdlt.training",
    "plot_ratio": "symdlt.networks",
    "posterior": "symdlt.training",
    "predict": "symdlt.training",
    "predict_infinite": "symdlt.training",
    "projectors": "symdlt.training",
    "propagate": "symdlt.networks",
    "recipe": "symdlt.fixed_points",
    "skip_growth": "symdlt.asymptotics",
    "to_latex": "symdlt.formats.latex",
}
