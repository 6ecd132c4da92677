"""Asymptotics: recursions solved at large depth, with exponents and ratios derived from them."""

from symdlt.asymptotics._odd_class import Asymptote as Asymptote
from symdlt.asymptotics._odd_class import AsymptoticSolution as AsymptoticSolution
from symdlt.asymptotics._odd_class import exponents as exponents
