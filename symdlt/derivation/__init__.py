"""Derivation: from the definition of a tensor and of a layer to its recursion.

    forward ─► contraction ─► expansion ─► evaluation ─► recursion

`forward_equation` writes an observable at layer ℓ+1 in those of layer ℓ, `contract_matching`
averages it over the new layer, `expand_in_width` expands in 1/n, and `derive` does all this and
collects the terms; `explain` tells where each of them comes from.
"""

from symdlt.derivation.brackets import differentiate as differentiate
from symdlt.derivation.contraction import ContractedMoment as ContractedMoment
from symdlt.derivation.contraction import Contraction as Contraction
from symdlt.derivation.contraction import contract_matching as contract_matching
from symdlt.derivation.evaluation import fallen as fallen
from symdlt.derivation.evaluation import lower_tensors as lower_tensors
from symdlt.derivation.expansion import Diagram as Diagram
from symdlt.derivation.expansion import LowerCumulant as LowerCumulant
from symdlt.derivation.expansion import WidthExpansion as WidthExpansion
from symdlt.derivation.expansion import expand_in_width as expand_in_width
from symdlt.derivation.forms import to_derivative_form as to_derivative_form
from symdlt.derivation.forms import to_z_form as to_z_form
from symdlt.derivation.forward import ForwardEquation as ForwardEquation
from symdlt.derivation.forward import StackForwardEquation as StackForwardEquation
from symdlt.derivation.forward import forward_equation as forward_equation
from symdlt.derivation.forward_terms import ANY as ANY
from symdlt.derivation.forward_terms import ForwardTerm as ForwardTerm
from symdlt.derivation.forward_terms import shared_neurons as shared_neurons
from symdlt.derivation.forward_terms import spelled_out as spelled_out
from symdlt.derivation.plain_text import powers_text as powers_text
from symdlt.derivation.provenance import Explainable as Explainable
from symdlt.derivation.provenance import explain as explain
from symdlt.derivation.provenance import term_of as term_of
from symdlt.derivation.recursion import FORMS as FORMS
from symdlt.derivation.recursion import Recursion as Recursion
from symdlt.derivation.recursion import derive as derive
from symdlt.derivation.recursion import replay as replay
from symdlt.derivation.sensitivities import Sensitivity as Sensitivity
from symdlt.derivation.sensitivities import SensitivityTerm as SensitivityTerm
from symdlt.derivation.sensitivities import sensitivity as sensitivity
from symdlt.derivation.stacks import StackRecursion as StackRecursion
from symdlt.derivation.stacks import StepRecursion as StepRecursion
from symdlt.derivation.system import RecursionSystem as RecursionSystem
from symdlt.derivation.system import derive_stack_system as derive_stack_system
from symdlt.derivation.system import derive_system as derive_system
from symdlt.derivation.terms import Bracket as Bracket
from symdlt.derivation.terms import Hyperparameters as Hyperparameters
from symdlt.derivation.terms import RecursionTerm as RecursionTerm
from symdlt.derivation.terms import TensorFactor as TensorFactor
from symdlt.derivation.terms import bracket_text as bracket_text
from symdlt.derivation.terms import piece_name as piece_name
from symdlt.derivation.terms import tensor_text as tensor_text
from symdlt.derivation.told import definition_text as definition_text
