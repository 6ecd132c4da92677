"""Recursions: what `derive` returns, its terms, its forms, and closed systems of them."""

from symdlt.recursions._explain import explain as explain
from symdlt.recursions._forms import to_derivative_form as to_derivative_form
from symdlt.recursions._forms import to_z_form as to_z_form
from symdlt.recursions._json import from_json as from_json
from symdlt.recursions._json import to_dict as to_dict
from symdlt.recursions._json import to_json as to_json
from symdlt.recursions._recursion import FORMS as FORMS
from symdlt.recursions._recursion import Recursion as Recursion
from symdlt.recursions._recursion import derive as derive
from symdlt.recursions._recursion import piece_name as piece_name
from symdlt.recursions._recursion import replay as replay
from symdlt.recursions._system import RecursionSystem as RecursionSystem
from symdlt.recursions._system import derive_system as derive_system
from symdlt.recursions._terms import Bracket as Bracket
from symdlt.recursions._terms import Hyperparameters as Hyperparameters
from symdlt.recursions._terms import TensorFactor as TensorFactor
from symdlt.recursions._terms import Term as Term
