"""Large-width expansion: coincident neurons, lower cumulants, and powers of 1/n."""

from symdlt.expansion._brackets import differentiate as differentiate
from symdlt.expansion._diagrams import Diagram as Diagram
from symdlt.expansion._diagrams import LowerCumulant as LowerCumulant
from symdlt.expansion._diagrams import WidthExpansion as WidthExpansion
from symdlt.expansion._diagrams import expand_in_width as expand_in_width
