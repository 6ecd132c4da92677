"""The layout of a kernel in NumPy. `$name` stands for what `writing` puts there.

A name alone on its line is a block of lines at that indentation. The imports are what a kernel in
this package needs; in a file that stands alone the definitions take the place of those of ours.
"""

IMPORTS = """\
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
import numpy as np
from symdlt.kernels.numpy_target.checks import (
    PerLayer, checked_depth, checked_functions, checked_layers, refuse_large_variance
)
from symdlt.kernels.numpy_target.depth_layers import (
    Depths, MeansOfLayer, NoiseMeans, layers_with_depths
)
from symdlt.kernels.numpy_target.depths_of_one import (
    DepthsOfOne, Step, depths_of_one, refuse_many_pairs
)
from symdlt.kernels.numpy_target.fields import (
    Field, FieldMeans, Values, joined, means_of_fields, means_over_layers, with_constant
)
from symdlt.kernels.numpy_target.joint_means import refuse_unequal
from symdlt.kernels.numpy_target.layers import layers_of
from symdlt.kernels.numpy_target.position_depths import depths_with_positions
from symdlt.kernels.numpy_target.position_layers import (
    Moved, Positions, SumOfMoved, asked_outside, checked_readout, inputs_read,
    layers_with_positions
)
from symdlt.kernels.numpy_target.positions import GridWindow
from symdlt.kernels.numpy_target.problem import (
    TensorRecursion, Samples, Tables, checked_problem
)
from symdlt.kernels.numpy_target.quadrature import (
    Quadrature, check_finite, checked_overlap_of_one, refuse_many_layers, scan, variances
)
from symdlt.kernels.numpy_target.tuples import diagonal, mask_mean
from symdlt.means import (
    Array, ClosedMeans, Function, Indices, KernelInputError as KernelInputError,
    KinkedMeans, LayerMeans, SmoothMeans
)
"""

SINE = ">>> sine = [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]"

EXAMPLE_ONE = """\
$sine
>>> layers = propagate((2 * sine)[:$count], 1.0, 20, $hyperparameters)
>>> layers["G"].shape
(20,)"""

# What kernels for one input have in common, whatever the fields of their layers.
START_ONE = '''\
DERIVATIVES = $derivatives
ARRAYS = $arrays
HYPERPARAMETERS = $names
VARIANCES = $variances
NEEDED = $needed


$activation
$kinks


class Hyperparameters(NamedTuple):
    """Of layer l+1, one value for each l = 1 … L-1, and r = n_l/n_(l-1)."""

    $fields
    r: Array


'''

FIRST_LAYER_ONE = '''\
$first_layer_head
    """The tensors that do not vanish at layer 1."""
    return {
        $first_layer
    }


'''

PROPAGATE_ONE = '''\
RECURSIONS: dict[str, Advance] = $table


def propagate(
    activation: Sequence[Function],
    overlap: float,
    depth: int,
    *,
    $parameters
    widths: Sequence[float] | Array | None = None,
) -> dict[str, Array]:
    """All tensors at the layers 1 … L for one input.

    The means are taken by the trapezoidal rule in z/sqrt(K), see `choose_rule`.

    Args:
        activation: sigma and its derivatives in order, DERIVATIVES of them, acting elementwise.
        overlap: x.x/n_0, the mean square of the input.
        depth: the number of layers L.
        $meanings
        widths: the hidden widths n_1 … n_(L-1), or None if they are equal.

    Returns:
        For each tensor an array over the layers.

    Raises:
        KernelInputError: for input that is not of this form, an activation that is not smooth,
            and overflow.
    """
    activation = checked_functions(activation, DERIVATIVES + 1)
    overlap = checked_overlap_of_one(overlap)
    depth = checked_depth(depth)
    refuse_many_layers(depth, ARRAYS)
    $given
    layers = checked_layers(given, VARIANCES, NEEDED, widths, depth)
    $equal
    at_first = {name: layers[name][0] for name in HYPERPARAMETERS}
    refuse_large_variance(lambda x, h: first_layer(x, **h)["G"], overlap, at_first, VARIANCES)
    with np.errstate(all="ignore"):
        first = first_layer(overlap, **at_first)
        for name, value in first.items():
            check_finite(name, np.array([value]), np.array([first["G"]]))
        if depth == 1:
            return {name: np.array([first.get(name, 0.0)]) for name in ("G", *$tensors)}
        h = Hyperparameters(**{name: np.array(value[1:]) for name, value in layers.items()})
'''

ITERATE_ONE = """\
        result, below = {"G": K}, {"G": K[:-1]}
        for name, advance in RECURSIONS.items():
            gain, source = advance(h, m, below)
            result[name] = scan(gain, source, first.get(name, 0.0))
            check_finite(name, result[name], K)
            below[name] = result[name][:-1]
        $skips
    return result
"""

BODY_ONE = f'''\
{START_ONE}$plain_means


class Factors(NamedTuple):
    """Intermediates, one value a layer."""

    $factor_fields


def shared_factors(h: Hyperparameters, means: Array) -> Factors:
    """Common factors of the recursions, from the table of means."""
    $means
    $taylor_means
    $factors


{FIRST_LAYER_ONE}def advance_g(s: Sequence[Array], weights: Array, $metric_arguments) -> float:
    """The variance K of layer l+1 from the activation at the nodes of layer l.

    $metric_equation
    """
    $metric_activations
    $metric_means
    return $metric


$recursions


Advance = Callable[[Hyperparameters, Factors, Mapping[str, Array]], tuple[Array, Array]]

{PROPAGATE_ONE}        quadrature = Quadrature(activation, plain_means)
        K = variances(quadrature, advance_g, first["G"], $metric_values)
        m = shared_factors(h, quadrature.means(K[:-1]))
{ITERATE_ONE}'''

BODY_FIELDS_ONE = f"""\
{START_ONE}$means_tables


{FIRST_LAYER_ONE}$recursions


FIELDS: dict[str, FieldMeans] = {{
    $fields_rows
}}

$depths_table

Advance = Callable[[Hyperparameters, Values, Values], tuple[Array, Array]]

{PROPAGATE_ONE}        functions: dict[str, Sequence[Function]] = {{
            $by_function
        }}
        K, m = means_over_layers(FIELDS, functions, advance_g, first["G"], h)
{ITERATE_ONE}"""

DEPTHS_ONE = """\
SUMS: dict[str, Step] = {
    $sums
}

DEPTHS = DepthsOfOne(
    states={
        $states
    },
    noises={
        $noises
    },
    $joint
    sums=SUMS,
    kept={
        $kept
    },
    $field
    $scale
)
"""

NOTATION_MANY = """\
Notation: s, s', s'', … are the activation and its derivatives (sk in identifiers), <…> is the mean
over z of covariance K = G, the numbers 1, 2, … stand for the samples x1, x2, …, and n/n' is
r = n_l/n_(l-1) with the hidden widths n_1 … n_(L-1). A tensor that starts at order 1/n^m is
returned without its factor n_(l-1)^-m, a piece X.j without n_(l-1)^-j besides.
"""

EXAMPLE_POSITIONS = """\
$sine
>>> x = np.linspace(-1.0, 1.0, $numbers).reshape$shape
>>> overlap = np.tensordot(x, x, (1, 1)) / 2
>>> layers = propagate($functions, overlap, 3, readout="all", $hyperparameters)
>>> layers["G"][-1].shape
(1, 1)"""

EXAMPLE_MANY = """\
$sine
>>> x = np.array([[1.0, 0.5], [0.2, -1.0]])
>>> layers = propagate(
...     $functions, x @ x.T / 2, 3, $hyperparameters
... )
>>> layers["G"].shape
(3, 2, 2)"""

BODY_MANY = '''\
DERIVATIVES = $derivatives
HYPERPARAMETERS = $names
VARIANCES = $variances


$activation
$kinks


class Layer(NamedTuple):
    """Hyperparameters of layer l+1, and r = n_l/n_(l-1)."""

    $fields
    r: float


def first_layer(h: Layer, $overlaps) -> dict[str, Array]:
    """The tensors that do not vanish at layer 1."""
    return {
        $first_layer
    }


$recursions


RECURSIONS: dict[str, TensorRecursion] = {
    $table
}


$fields_table


def propagate(
    activation: Sequence[Function],
    overlap: Array,
    depth: int,
    *,
    $parameters
    widths: Sequence[float] | Array | None = None,
    tensors: Iterable[str] | None = None,
    $choice
    tolerance: float = 1e-7,
    means: LayerMeans | None = None,
    after_layer: Callable[[int], object] | None = None,
) -> dict[str, $kind]:
    """Tensors at the layers 1 … L for N inputs.

    Means over two samples are right to about double precision, those over four to a tolerance.

    Args:
        activation: sigma and its derivatives in order, acting elementwise; how many are needed
            depends on the tensors, and DERIVATIVES are enough for all.
        $given_overlap
        depth: the number of layers L.
        $meanings
        widths: the hidden widths n_1 … n_(L-1), or None if they are equal.
        tensors: the names of those wanted, all of RECURSIONS if left out.
        $choice_meaning
        tolerance: of means over four samples, in units of the norms of the functions.
        means: called with K, the orders of all means and the samples, for their tables; if left
            out, they are taken here. If it has a method pair_tables, as those of symdlt.means have,
            this gives those of G and H alone.
        after_layer: called with the number of each layer that is done.

    Returns:
        $returned

    Raises:
        KernelInputError: for input that is not of this form, an activation that is not smooth,
            overflow, and what would not fit into memory.
    """
    $positions
    problem = checked_problem(
        RECURSIONS,
        Layer,
        $first_layer_alike,
        VARIANCES,
        activation,
        $overlap,
        depth,
        $given
        widths,
        $tensors,
        $samples,
    )
    $advance
'''

# What kernels have whose samples are all alike, and those that have positions.
SAMPLES = {
    "choice": "samples: Indices | None = None,",
    "choice_meaning": """\
samples: tuples of four samples, of shape (Q, 4), if tensors of four axes are wanted only
    there; they are not a number elsewhere.""",
    "given_overlap": "overlap: x_i.x_j/n_0 for all inputs, of shape (N, N).",
    "kind": "Array",
    "returned": """\
For each tensor, and all that it needs, an array of shape (L, N, N) or (L, N, N, N, N).""",
    "positions": "",
    "overlap": "overlap",
    "tensors": "tensors",
    "samples": "samples",
}
POSITIONS = {
    "choice": "readout: str | None = None,",
    "choice_meaning": """\
readout: what the last layer reads of all positions, with the weights of the layer: "all",
    with weights of each position, or "mean"; left out, it has the window of the others.""",
    "given_overlap": """\
overlap: x_i.x_j/n_0 for all inputs at all pairs of their positions, of shape
    (N, P, N, P), on a plane (N, P, Q, N, P, Q).""",
    "kind": "list[Array]",
    "returned": """\
For each tensor, and all that it needs, an array for each layer. Its axes are the sample and
its positions in that layer, as those of the overlap, two times or four times; behind a
readout there are no positions.""",
    "positions": """\
positions = Positions(WINDOWS, OVERLAPS, PARTS, checked_readout(readout, WINDOWS)$inside)
inputs = inputs_read(overlap, positions, checked_depth(depth) == 1)""",
    "overlap": "inputs.overlap",
    "tensors": "tensors",
    "samples": "None",
}

ADVANCE = """\
$taken
$by_function
$layer_means
with np.errstate(all="ignore"):
    $layers
"""

TAKEN = "taken = $means if means is None else means"

BY_FUNCTION = """\
by_function: dict[str, LayerMeans] = {
    $by_function
}
ones = {
    $ones
}"""

# The means of a layer, and what goes through all: layers of z alone or of fields, those with a
# skip, those with windows, and those with both.
NAMED_MEANS = "named = partial(means_of_fields, problem, FIELDS, by_function, ones)"
LAYER_MEANS = "layer_means = MeansOfLayer(FIELDS, by_function, ones)"
LINEAR_MEANS = "layer_means = MeansOfLayer(FIELDS, {}, {})"
LAYERS = "return layers_of(problem, taken, first_layer, after_layer)"
LAYERS_OF_FIELDS = "return layers_of(problem, taken, first_layer, after_layer, named)"
LAYERS_WITH_DEPTHS = """\
return layers_with_depths(problem, DEPTHS, layer_means, taken, first_layer, after_layer)"""
LAYERS_WITH_POSITIONS = """\
return layers_with_positions(
    problem, inputs, positions, layer_means, first_layer, after_layer
)"""
DEPTHS_WITH_POSITIONS = """\
return depths_with_positions(
    problem, DEPTHS, inputs, positions, layer_means, first_layer, after_layer
)"""

FIELDS = """\
FIELDS: dict[str, Field] = {
    $rows
}"""

PARTS = """\
WINDOWS = $windows

OVERLAPS = $overlaps

PARTS: dict[str, SumOfMoved] = {
    $rows
}

$inside"""

ROW_PARTS = """\
"$tensor": SumOfMoved(
    $layer
    $readout
),"""

ROW_FIELD = """\
"$name": Field(
    covariance_$name,
    "$functions",
    $reads
    $scale
),"""

DEPTHS = """\
STATES: dict[str, TensorRecursion] = {
    $rows
}

NOISES: dict[str, NoiseMeans] = {
    $noises
}

DEPTHS = Depths(
    STATES,
    NOISES,
    sums={
        $sums
    },
    kept={
        $kept
    },
    $field
    $scale
)"""

ROW_NOISE = """\
"$tensor": NoiseMeans(
    $later
    $joint
    observed=$observed,
),"""

MEANS_SMOOTH = "SmoothMeans(problem.activation, tolerance)"
MEANS_CLOSED = "ClosedMeans(problem.activation, *FAMILY, tolerance)"
MEANS_ODD = "SmoothMeans(with_constant(problem.activation), tolerance)"
MEANS_KINKED = "KinkedMeans(problem.activation, KINKS, tolerance)"

RECURSION_MANY = '''\
def $name(h: Layer, means: Tables, below: Tables, x: Samples) -> Array:
    """$told at $where.

    $equation
    """
    $samples
    $entries
    $value
'''

ROW_MANY = """\
"$tensor": TensorRecursion(
    advance_$name,
    $needs
    $means
    $hyperparameters
    $symmetries
    local=$local,
    $fields
),"""
