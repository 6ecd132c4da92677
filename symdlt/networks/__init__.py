"""Observables of a network as forests, and the tensors of their statistics.

`Forest` is an observable, `Correlator` a forest with a perfect matching: one tensor. `tensor`
finds it by name, `correlator_from` by its edges, and `correlators` lists a whole order.
`activation` reads an activation function.
"""

from symdlt.activations import ACTIVATIONS as ACTIVATIONS
from symdlt.activations import Activation as Activation
from symdlt.activations import activation as activation
from symdlt.networks._correlators import BOOK as BOOK
from symdlt.networks._correlators import Correlator as Correlator
from symdlt.networks._correlators import correlators as correlators
from symdlt.networks._correlators import identify as identify
from symdlt.networks._correlators import place as place
from symdlt.networks._forests import DDNTK_I as DDNTK_I
from symdlt.networks._forests import DDNTK_II as DDNTK_II
from symdlt.networks._forests import DNTK as DNTK
from symdlt.networks._forests import NTK as NTK
from symdlt.networks._forests import OBSERVABLES as OBSERVABLES
from symdlt.networks._forests import PREACTIVATION as PREACTIVATION
from symdlt.networks._forests import Forest as Forest
from symdlt.networks._names import correlator_from as correlator_from
from symdlt.networks._names import parse_pairs as parse_pairs
from symdlt.networks._names import split_subleading as split_subleading
from symdlt.networks._names import tensor as tensor
from symdlt.networks._names import vertex_labels as vertex_labels
