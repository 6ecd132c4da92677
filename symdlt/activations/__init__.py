"""Activation functions of one preactivation: read, expanded in series, cut at their kinks.

`activation` reads one; `ACTIVATIONS` lists the names. Each function that an activation can be
made of is one entry of the table in `functions`.
"""

from symdlt.activations.activation import Activation as Activation
from symdlt.activations.activation import activation as activation
from symdlt.activations.functions import ACTIVATIONS as ACTIVATIONS
