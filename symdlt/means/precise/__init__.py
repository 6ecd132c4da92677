"""Gaussian means to any number of digits, by Gauss's rule on segments that disc arithmetic lays."""

from symdlt.means.precise.discs import ARRAYS as ARRAYS
from symdlt.means.precise.discs import Discs as Discs
from symdlt.means.precise.gaussian import GaussianMeans as GaussianMeans
from symdlt.means.precise.gaussian import gauss_rule as gauss_rule
from symdlt.means.precise.gaussian import nodes as nodes
from symdlt.means.precise.lengths import lengths as lengths
from symdlt.means.precise.named import gaussian_mean as gaussian_mean
from symdlt.means.precise.segments import DOUBLE as DOUBLE
from symdlt.means.precise.segments import WIDEST as WIDEST
from symdlt.means.precise.segments import MeanError as MeanError
from symdlt.means.precise.segments import ends_of as ends_of
from symdlt.means.precise.segments import log_sizes as log_sizes
from symdlt.means.precise.segments import segments as segments
