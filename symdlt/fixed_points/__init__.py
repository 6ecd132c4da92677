"""Fixed points of the kernel: criticality, phases, nearby inputs, recipes.

All of it follows from the recursions of the metric and of the NTK for one input, and from that of
the metric for two: `criticality` finds where both susceptibilities are 1, `phase` where a network
off criticality goes.
"""

from symdlt.fixed_points.critical_lines import LinePoint as LinePoint
from symdlt.fixed_points.critical_lines import critical_line as critical_line
from symdlt.fixed_points.critical_points import Criticality as Criticality
from symdlt.fixed_points.critical_points import CriticalPoint as CriticalPoint
from symdlt.fixed_points.gains import gain as gain
from symdlt.fixed_points.nearby_inputs import DepthPower as DepthPower
from symdlt.fixed_points.nearby_inputs import Nearby as Nearby
from symdlt.fixed_points.nearby_inputs import nearby as nearby
from symdlt.fixed_points.phase_result import FixedKernel as FixedKernel
from symdlt.fixed_points.phase_result import Phase as Phase
from symdlt.fixed_points.phases import phase as phase
from symdlt.fixed_points.plots import plot_criticality as plot_criticality
from symdlt.fixed_points.plots import plot_phase_plane as plot_phase_plane
from symdlt.fixed_points.recipes import LayerRecipe as LayerRecipe
from symdlt.fixed_points.recipes import Recipe as Recipe
from symdlt.fixed_points.recipes import recipe as recipe
from symdlt.fixed_points.stack_recipes import DrawnRecipe as DrawnRecipe
from symdlt.fixed_points.stack_recipes import StackRecipe as StackRecipe
from symdlt.fixed_points.universality import criticality as criticality
