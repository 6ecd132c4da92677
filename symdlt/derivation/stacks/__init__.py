"""Recursions of layers of several streams, at any order in 1/n.

A layer without skips is a chain of steps. Each is a layer with labels, whose fields stand where
elsewhere samples stand alone: `contract_step` averages over its weights, the expansion in 1/n is
that of a layer of one field, and `derive_stack` goes through the steps.
"""

from symdlt.derivation.stacks.composition import Composition as Composition
from symdlt.derivation.stacks.composition import Reading as Reading
from symdlt.derivation.stacks.contraction import contract_step as contract_step
from symdlt.derivation.stacks.evaluation import differentiate_slots as differentiate_slots
from symdlt.derivation.stacks.recursion import StackRecursion as StackRecursion
from symdlt.derivation.stacks.recursion import StepRecursion as StepRecursion
from symdlt.derivation.stacks.recursion import derive_stack as derive_stack
from symdlt.derivation.stacks.recursion import step_expansion as step_expansion
from symdlt.derivation.stacks.terms import FieldMean as FieldMean
from symdlt.derivation.stacks.terms import FieldSlot as FieldSlot
from symdlt.derivation.stacks.terms import FieldTensor as FieldTensor
from symdlt.derivation.stacks.terms import StepTerm as StepTerm
