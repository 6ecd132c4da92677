"""Asymptotics: how every tensor of a critical network scales with its depth."""

from symdlt.asymptotics._classes import CLASSES as CLASSES
from symdlt.asymptotics._exponents import exponents as exponents
from symdlt.asymptotics._solution import Asymptote as Asymptote
from symdlt.asymptotics._solution import AsymptoticSolution as AsymptoticSolution
