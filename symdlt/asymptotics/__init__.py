"""Asymptotics: how every tensor of a critical network scales with its depth."""

from symdlt.asymptotics.asymptotes import Asymptote as Asymptote
from symdlt.asymptotics.classes import CLASSES as CLASSES
from symdlt.asymptotics.critical_exponents import exponents as exponents
from symdlt.asymptotics.skip_growth import SkipGrowth as SkipGrowth
from symdlt.asymptotics.skip_growth import skip_growth as skip_growth
from symdlt.asymptotics.solution import AsymptoticSolution as AsymptoticSolution
