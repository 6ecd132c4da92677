"""Asymptotics: how every tensor of a critical network scales with its depth."""

from symdlt.asymptotics.aspect_ratio import AspectRatio as AspectRatio
from symdlt.asymptotics.aspect_ratio import mutual_information as mutual_information
from symdlt.asymptotics.aspect_ratio import optimal_aspect_ratio as optimal_aspect_ratio
from symdlt.asymptotics.asymptotes import Asymptote as Asymptote
from symdlt.asymptotics.classes import CLASSES as CLASSES
from symdlt.asymptotics.critical_exponents import exponents as exponents
from symdlt.asymptotics.skip_growth import SkipGrowth as SkipGrowth
from symdlt.asymptotics.skip_growth import skip_growth as skip_growth
from symdlt.asymptotics.solution import AsymptoticSolution as AsymptoticSolution
