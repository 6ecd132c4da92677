"""What `import symdlt` offers: every verb of the README, and what verbs take and give."""

import typing as _typing

from symdlt.activations import activation as activation
from symdlt.definitions import Layer as Layer
from symdlt.errors import SymdltError as SymdltError
from symdlt.forward import forward_equation as forward_equation
from symdlt.networks import BOOK as BOOK
from symdlt.networks import Correlator as Correlator
from symdlt.networks import Forest as Forest
from symdlt.networks import correlator_from as correlator_from
from symdlt.networks import correlators as correlators
from symdlt.networks import tensor as tensor
from symdlt.recursions import Recursion as Recursion
from symdlt.recursions import RecursionSystem as RecursionSystem
from symdlt.recursions import derive as derive
from symdlt.recursions import derive_system as derive_system
from symdlt.recursions import explain as explain
from symdlt.recursions import from_json as from_json
from symdlt.recursions import to_derivative_form as to_derivative_form
from symdlt.recursions import to_json as to_json
from symdlt.recursions import to_z_form as to_z_form

if _typing.TYPE_CHECKING:
    from symdlt.asymptotics import criticality as criticality
    from symdlt.asymptotics import exponents as exponents
    from symdlt.asymptotics import nearby as nearby
    from symdlt.asymptotics import phase as phase
    from symdlt.asymptotics import recipe as recipe
    from symdlt.kernels import kernel_for as kernel_for
    from symdlt.mlp import MLP as MLP
    from symdlt.mlp import Propagation as Propagation
    from symdlt.mlp import check as check
    from symdlt.mlp import check_exponents as check_exponents
    from symdlt.mlp import propagate as propagate
    from symdlt.sampling import NetworkEnsemble as NetworkEnsemble
    from symdlt.sampling import measure as measure
    from symdlt.training import GradientDescent as GradientDescent
    from symdlt.training import GradientFlow as GradientFlow
    from symdlt.training import TwoStep as TwoStep
    from symdlt.training import posterior as posterior
    from symdlt.training import predict as predict
    from symdlt.training import predict_infinite as predict_infinite
    from symdlt.training import projectors as projectors
    from symdlt.typesetting import document as document
    from symdlt.typesetting import to_latex as to_latex

# Loading these takes NumPy or SymPy, which `derive` does without.
_LATER = {
    "GradientDescent": "symdlt.training",
    "GradientFlow": "symdlt.training",
    "MLP": "symdlt.mlp",
    "NetworkEnsemble": "symdlt.sampling",
    "Propagation": "symdlt.mlp",
    "TwoStep": "symdlt.training",
    "check": "symdlt.mlp",
    "check_exponents": "symdlt.mlp",
    "criticality": "symdlt.asymptotics",
    "document": "symdlt.typesetting",
    "exponents": "symdlt.asymptotics",
    "kernel_for": "symdlt.kernels",
    "measure": "symdlt.sampling",
    "nearby": "symdlt.asymptotics",
    "phase": "symdlt.asymptotics",
    "posterior": "symdlt.training",
    "predict": "symdlt.training",
    "predict_infinite": "symdlt.training",
    "projectors": "symdlt.training",
    "propagate": "symdlt.mlp",
    "recipe": "symdlt.asymptotics",
    "to_latex": "symdlt.typesetting",
}
