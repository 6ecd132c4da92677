"""Stochastic forward equations: an observable at layer ℓ+1 from observables at layer ℓ."""

from symdlt.forward._equation import ANY as ANY
from symdlt.forward._equation import ForwardEquation as ForwardEquation
from symdlt.forward._equation import ForwardTerm as ForwardTerm
from symdlt.forward._equation import forward_equation as forward_equation
from symdlt.forward._equation import shared_neurons as shared_neurons
from symdlt.forward._equation import spelled_out as spelled_out
