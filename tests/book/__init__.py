"""The theory's recursions as its book states them: an independent truth to test against.

`RECURSIONS` maps each of the thirteen names G H V A B D F P Q R S T U to a function

    f(lower, bracket, hyper, r, form="derivative") -> array over the samples

where `lower` maps the same names to the arrays of the layer below ("G" is K, "H" is Θ),
`bracket(factors, inserted=())` is ⟨Π σ^{(k)}(z_δ) Π z_β⟩_K for factors (δ, k), `hyper` maps
C_b, C_W, lambda_b, lambda_W to numbers and r = n_ℓ/n_{ℓ-1}. Entries may be floats, fractions or
SymPy expressions (object arrays). `form="z"` inserts z's and inverts K, as the book prints it.

`CORRELATORS` gives the edges and the matching behind each name, its vertices being the axes in
order; `first_layer` the arrays to start from, `step` all thirteen tensors of the next layer.
"""

from .correlators import CORRELATORS as CORRELATORS
from .correlators import first_layer as first_layer
from .recursions import RECURSIONS as RECURSIONS
from .recursions import step as step
