"""Asymptotics: how every tensor of a critical network scales with its depth."""

from symdlt.asymptotics._classes import CLASSES as CLASSES
from symdlt.asymptotics._critical_line import LinePoint as LinePoint
from symdlt.asymptotics._critical_line import critical_line as critical_line
from symdlt.asymptotics._critical_points import Criticality as Criticality
from symdlt.asymptotics._critical_points import CriticalPoint as CriticalPoint
from symdlt.asymptotics._criticality import criticality as criticality
from symdlt.asymptotics._exponents import exponents as exponents
from symdlt.asymptotics._gain import gain as gain
from symdlt.asymptotics._nearby import Nearby as Nearby
from symdlt.asymptotics._nearby import Power as Power
from symdlt.asymptotics._nearby import nearby as nearby
from symdlt.asymptotics._phase import phase as phase
from symdlt.asymptotics._phase_plane import plot_phase_plane as plot_phase_plane
from symdlt.asymptotics._phase_result import FixedKernel as FixedKernel
from symdlt.asymptotics._phase_result import Phase as Phase
from symdlt.asymptotics._recipe import LayerRecipe as LayerRecipe
from symdlt.asymptotics._recipe import Recipe as Recipe
from symdlt.asymptotics._recipe import recipe as recipe
from symdlt.asymptotics._solution import Asymptote as Asymptote
from symdlt.asymptotics._solution import AsymptoticSolution as AsymptoticSolution
