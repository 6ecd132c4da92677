"""Exact finite-width statistics in rational arithmetic, from the definitions alone.

`cumulant(network, samples, edges, matching, order=None)` is the joint cumulant of the trees of
any forest, as the coefficient of the deltas of a perfect matching and as a polynomial in the
inverse widths {(a_1, a_2, …): coefficient of n_1^{-a_1} n_2^{-a_2} …}. `moment` is the same for
the mean of the product. The `Network` has polynomial activations, one for each sample if wanted,
and any number of `Layer`s on top of a first one given by its `metric` K and its `ntk` Θ; at the
second layer any activation degree is cheap, above it keep the sum of the degrees near 8.

`second_layer` gives the list of coefficients of 1, 1/n_1, 1/n_1², … for a network of two layers,
`leading` picks the two leading coefficients of a tensor at the third: the piece made at the layer
itself (1/n_2) and the inherited one (1/n_1). `mean` is the exact Gaussian bracket, `bracket_of`
binds it to a layer; `random_network` and `stacked` draw small rational networks from seeds.

`deep_linear_moment`, `relu_metric_moment` and `polynomial_metric_moment` are E[Ĝ^p] for one input
by a route of their own, at any depth; `metric_cumulant` turns them into the cumulants V, X6, …

`literal.write_out` has every weight and bias of a tiny network as a variable: `expectation` is
what `moment` is checked against, and `Realisation` evaluates trees at given parameters.
"""

from .chains import deep_linear_moment as deep_linear_moment
from .chains import metric_cumulant as metric_cumulant
from .chains import polynomial_metric_moment as polynomial_metric_moment
from .chains import relu_metric_moment as relu_metric_moment
from .draws import bracket_of as bracket_of
from .draws import random_network as random_network
from .draws import stacked as stacked
from .gaussian import Rows as Rows
from .gaussian import matrix as matrix
from .gaussian import mean as mean
from .moments import cumulant as cumulant
from .moments import leading as leading
from .moments import moment as moment
from .moments import second_layer as second_layer
from .network import Layer as Layer
from .network import Network as Network
from .network import matched as matched
from .widths import WidthPolynomial as WidthPolynomial
from .widths import evaluate as evaluate
