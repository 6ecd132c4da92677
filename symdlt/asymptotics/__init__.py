"""Asymptotics: how every tensor of a critical network scales with its depth."""

from symdlt.asymptotics.asymptotes import Asymptote as Asymptote
from symdlt.asymptotics.classes import CLASSES as CLASSES
from symdlt.asymptotics.power_laws import exponents as exponents
from symdlt.asymptotics.solution import AsymptoticSolution as AsymptoticSolution
