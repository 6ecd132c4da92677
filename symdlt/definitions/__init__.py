"""Definitions: observables as forests, their tensors, and how a layer is made of the one below.

`Forest` is an observable, `Correlator` a forest with a perfect matching: one tensor. `tensor`
finds it by name, `correlator_from` by its edges, and `correlators` lists a whole order. `Layer` is
the definition of a layer in the index language, `DENSE` that of a fully-connected network, and
`Network` layers with widths, an activation and the values of their symbols.
"""

from symdlt.definitions.branches import FIELD as FIELD
from symdlt.definitions.branches import Averaged as Averaged
from symdlt.definitions.branches import Branch as Branch
from symdlt.definitions.branches import Way as Way
from symdlt.definitions.branches import ascii_name as ascii_name
from symdlt.definitions.branches import names_in as names_in
from symdlt.definitions.forests import DDNTK_I as DDNTK_I
from symdlt.definitions.forests import DDNTK_II as DDNTK_II
from symdlt.definitions.forests import DNTK as DNTK
from symdlt.definitions.forests import NTK as NTK
from symdlt.definitions.forests import OBSERVABLES as OBSERVABLES
from symdlt.definitions.forests import PREACTIVATION as PREACTIVATION
from symdlt.definitions.forests import Forest as Forest
from symdlt.definitions.layers import DENSE as DENSE
from symdlt.definitions.layers import RESIDUAL as RESIDUAL
from symdlt.definitions.layers import Layer as Layer
from symdlt.definitions.layers import dense_layer as dense_layer
from symdlt.definitions.layers import function_text as function_text
from symdlt.definitions.layers import layer_of_one_stream as layer_of_one_stream
from symdlt.definitions.layers import primes as primes
from symdlt.definitions.masks import MASK as MASK
from symdlt.definitions.masks import Mask as Mask
from symdlt.definitions.names import canonical_name as canonical_name
from symdlt.definitions.names import correlator_from as correlator_from
from symdlt.definitions.names import named_tensor as named_tensor
from symdlt.definitions.names import parse_pairs as parse_pairs
from symdlt.definitions.names import split_subleading as split_subleading
from symdlt.definitions.names import tensor as tensor
from symdlt.definitions.names import vertex_labels as vertex_labels
from symdlt.definitions.network import Network as Network
from symdlt.definitions.network import read_layer_definition as read_layer_definition
from symdlt.definitions.norm_steps import SCALES as SCALES
from symdlt.definitions.norm_steps import NormStep as NormStep
from symdlt.definitions.norm_steps import free_letter as free_letter
from symdlt.definitions.odd_tensors import ALONE as ALONE
from symdlt.definitions.odd_tensors import NAMED as NAMED
from symdlt.definitions.odd_tensors import ODD as ODD
from symdlt.definitions.odd_tensors import PAIR as PAIR
from symdlt.definitions.odd_tensors import AnyTensor as AnyTensor
from symdlt.definitions.odd_tensors import OddTensor as OddTensor
from symdlt.definitions.odd_tensors import place_odd as place_odd
from symdlt.definitions.outputs import outputs_are_read as outputs_are_read
from symdlt.definitions.program_layers import program_of as program_of
from symdlt.definitions.programs import INPUT as INPUT
from symdlt.definitions.programs import NUMBER as NUMBER
from symdlt.definitions.programs import ROOT as ROOT
from symdlt.definitions.programs import Factors as Factors
from symdlt.definitions.programs import Function as Function
from symdlt.definitions.programs import Program as Program
from symdlt.definitions.programs import ProgramBranch as ProgramBranch
from symdlt.definitions.programs import ProgramField as ProgramField
from symdlt.definitions.scores import (
    scores_without_fluctuations as scores_without_fluctuations,
)
from symdlt.definitions.short_form import WIDTH as WIDTH
from symdlt.definitions.site_branches import SiteBranch as SiteBranch
from symdlt.definitions.site_branches import SiteFactor as SiteFactor
from symdlt.definitions.site_branches import SiteProduct as SiteProduct
from symdlt.definitions.site_steps import SiteStep as SiteStep
from symdlt.definitions.stacks import Stack as Stack
from symdlt.definitions.step_chains import is_chain as is_chain
from symdlt.definitions.step_chains import keeps_inside as keeps_inside
from symdlt.definitions.step_chains import steps_of as steps_of
from symdlt.definitions.streams import ABOVE as ABOVE
from symdlt.definitions.streams import BELOW as BELOW
from symdlt.definitions.streams import CAUSAL_SOFTMAX as CAUSAL_SOFTMAX
from symdlt.definitions.streams import HEADS as HEADS
from symdlt.definitions.streams import LAYER_NORM as LAYER_NORM
from symdlt.definitions.streams import NORMS as NORMS
from symdlt.definitions.streams import SOFTMAX as SOFTMAX
from symdlt.definitions.streams import SOFTMAXES as SOFTMAXES
from symdlt.definitions.streams import Factor as Factor
from symdlt.definitions.streams import SiteFunction as SiteFunction
from symdlt.definitions.streams import Stream as Stream
from symdlt.definitions.streams import functions_in as functions_in
from symdlt.definitions.streams import has_dropout as has_dropout
from symdlt.definitions.streams import is_recurrent as is_recurrent
from symdlt.definitions.tensors import BOOK as BOOK
from symdlt.definitions.tensors import Correlator as Correlator
from symdlt.definitions.tensors import correlators as correlators
from symdlt.definitions.tensors import identify as identify
from symdlt.definitions.tensors import place as place
from symdlt.definitions.uniform_inputs import at_uniform_input as at_uniform_input
from symdlt.definitions.uniform_inputs import windows_in as windows_in
from symdlt.definitions.uniform_inputs import without_windows as without_windows
from symdlt.definitions.windows import ALL as ALL
from symdlt.definitions.windows import Grid as Grid
from symdlt.definitions.windows import Window as Window
