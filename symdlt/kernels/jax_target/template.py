"""The layout of a kernel in JAX. `$name` stands for what `writing` puts there.

A name alone on its line is a block of lines at that indentation. The imports are what a template
reads; definitions of ours take the place of those of modules of ours.
"""

IMPORTS = """\
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
import jax
import jax.numpy as jnp
from jax.scipy.special import erf, erfc
from symdlt.kernels.jax_target.running.arcs import (
    erf_means, gelu_means, relu_means, wave_means
)
from symdlt.errors import KernelInputError
from symdlt.kernels.jax_target.running.calls import (
    Activation, Function, PerLayer, at_layers, derivatives_of,
    layer_count, precision, ratios
)
from symdlt.kernels.jax_target.running.depths import (
    DepthTable, refuse_widths, tensors_of_depths
)
from symdlt.kernels.jax_target.running.fields import (
    FieldTable, PairField, Values, joined, means_of_fields, means_of_pairs
)
from symdlt.kernels.jax_target.running.pairs import Means, checked_overlaps, places_of, whole
from symdlt.kernels.jax_target.running.pairs import overlaps as overlaps
from symdlt.kernels.jax_target.running.series import left_out, series_means
from symdlt.kernels.jax_target.running.smooth import Array, bounded_exp, root, trapezoid
"""

USE = """\
All functions are pure: jax.jit (with static_argnames=("depth",)), jax.vmap and jax.grad take them.
They compute in float64, which needs jax.config.update("jax_enable_x64", True); without it they warn
and compute in float32, as they do in silence for dtype=jnp.float32. Where a variance is exactly
zero, the derivative by this variance is left out.
"""

NOTATION_MANY = """\
Notation: s, s', s'', … are the activation and its derivatives (sk in identifiers), <…> is the mean
over z of covariance K = G, and the numbers 1, 2 stand for the samples x1, x2.
"""

EXAMPLE_ONE = """\
>>> jax.config.update("jax_enable_x64", True)
>>> layers = propagate(${first}1.0, 20, $hyperparameters)
>>> layers["G"].shape
(20,)"""

EXAMPLE_MANY = """\
>>> jax.config.update("jax_enable_x64", True)
>>> overlap, variances = overlaps(jnp.array([[1.0, 0.5], [0.2, -1.0]]))
>>> layers = propagate(${first}overlap, 3, $hyperparameters)
>>> layers["G"].shape
(3, 2, 2)"""

GIVEN = "derivatives_of(activation, {count})"
GIVEN_ARGUMENT = "activation: Activation,"
GIVEN_MEANING = """\
activation: sigma, or a tuple of it and its derivatives in order, acting elementwise; JAX
    differentiates what is not given. To jit it is static.
"""

PROPAGATE_ONE = '''\
def propagate(
    $argument
    overlap: Array | float,
    depth: int,
    *,
    $parameters
    widths: Sequence[float] | Array | None = None,
    step: float = 0.0625,
    shift: float = 0.0,
    dtype: Any = None,
) -> dict[str, Array]:
    """All tensors at the layers 1 … L for one input.

    Means are taken by a fixed rule, the trapezoidal one in z/sqrt(K). Its error is what changes
    with shift=0.5; steep or fast activations, or large K, need a smaller step.

    Args:
        $activation_meaning
        overlap: x.x/n_0, the mean square of the input.
        depth: the number of layers L; to jit it is static.
        $meanings
        widths: the hidden widths n_1 … n_(L-1), or None if they are equal.
        step: that of the rule, in standard deviations; a number of Python.
        shift: by what part of a step its nodes are moved.
        dtype: float64 if left out, or float32.

    Returns:
        For each tensor an array over the layers.

    Raises:
        KernelInputError: for shapes and types that do not fit. Numbers are not checked: what
            overflows is infinite, or not a number.
    """
    $functions_line
    dtype = precision(dtype)
    depth = layer_count(depth)
    $equal
    $given
    at = {name: at_layers(name, v, name in NEEDED, depth, dtype) for name, v in given.items()}
    layers = Hyperparameters(**at, r=ratios(widths, depth, dtype))
    start = jnp.asarray(overlap, dtype)
    if start.shape:
        raise KernelInputError(
            f"The overlap has shape {start.shape}. It is x.x/n_0, the mean square of one input. "
            "Give a number, or map over many with jax.vmap."
        )
    $rule = trapezoid(step, shift, dtype)

    def next_layer(
        below: dict[str, Array], h: Hyperparameters
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        $means_of_layer
        above = {"G": advance_g($metric_read)}
        for name, advance in RECURSIONS.items():
            gain, source = advance(h, m, below)
            above[name] = gain * below[name] + source
        return above, above

    known = first_layer(Hyperparameters(*(values[0] for values in layers)), start)
    first = {name: known.get(name, jnp.zeros((), dtype)) for name in ("G", *RECURSIONS)}
    later = Hyperparameters(*(values[1:] for values in layers))
    _, rest = jax.lax.scan(next_layer, first, later)
    $returned
'''

RETURNED = "return {name: jnp.concatenate([first[name][None], rest[name]]) for name in first}"

RETURNED_WITH_DEPTHS = """\
found = {name: jnp.concatenate([first[name][None], rest[name]]) for name in first}
below = {name: values[:-1] for name, values in found.items()}
m = jax.vmap(lambda h, at: means_of_fields(FIELDS, functions, h, at, rule))(later, below)
return found | tensors_of_depths(DEPTHS, $functions, found, m, later, rule)
"""


# What kernels for one input have in common, whatever the fields of their layers.
START_ONE = '''\
DERIVATIVES = $derivatives
HYPERPARAMETERS = $names
NEEDED = $needed


$activation


class Hyperparameters(NamedTuple):
    """Of layer l+1, and r = n_l/n_(l-1)."""

    $fields
    r: Array


'''

FIRST_LAYER_ONE = '''\
def first_layer(h: Hyperparameters, overlap: Array) -> dict[str, Array]:
    """The tensors that do not vanish at layer 1."""
    return {
        $first_layer
    }


'''

BODY_ONE = f'''\
{START_ONE}$plain_means


class Factors(NamedTuple):
    """Intermediates of a layer."""

    $factor_fields


def shared_factors(h: Hyperparameters, means: Array) -> Factors:
    """Common factors of the recursions, from the means."""
    $means
    $taylor_means
    $factors


{FIRST_LAYER_ONE}def advance_g(h: Hyperparameters, s: Sequence[Array], weights: Array) -> Array:
    """The variance K of layer l+1 from the activation at the nodes of layer l.

    $metric_equation
    """
    $metric_activations
    $metric_means
    return $metric


$recursions


Advance = Callable[[Hyperparameters, Factors, Mapping[str, Array]], tuple[Array, Array]]

RECURSIONS: dict[str, Advance] = $table


{PROPAGATE_ONE}'''

BODY_FIELDS_ONE = f"""\
{START_ONE}$means_tables


{FIRST_LAYER_ONE}$recursions


Advance = Callable[[Hyperparameters, Values, Values], tuple[Array, Array]]

RECURSIONS: dict[str, Advance] = $table

FIELDS: dict[str, FieldTable] = {{
    $fields_rows
}}


$depths_table


{PROPAGATE_ONE}"""

DEPTHS_ONE = """\
DEPTHS = DepthTable(
    states={
        $states
    },
    $noises
    $joint
    sums={
        $sums
    },
    kept={
        $kept
    },
    $field
    $scale
)
"""

MEANS_OF_LAYER = """\
z = root(below["G"]) * nodes
s = [function(z) for function in functions]
m = shared_factors(h, plain_means(s, weights))"""

MEANS_OF_FIELDS = "m = means_of_fields(FIELDS, functions, h, below, rule)"

BY_FUNCTION = """\
functions: dict[str, Sequence[Function]] = {
    $by_function
}"""

BODY_MANY = '''\
HYPERPARAMETERS = $names
NEEDED = $needed


$activation


class Layer(NamedTuple):
    """Hyperparameters of layer l+1."""

    $fields


def first_layer(h: Layer, $overlap: Array) -> dict[str, Array]:
    """The tensors at layer 1."""
    return {
        $first_layer
    }


$recursions


Advance = Callable[[Layer, Mapping[str, Array], Mapping[str, Array]], Array]
State = tuple[dict[str, Array], tuple[Array, ...]]

RECURSIONS: dict[str, Advance] = {
    $table
}


$series_error


def propagate(
    $argument
    overlap: Array,
    depth: int,
    *,
    $parameters
    variances: tuple[Array, Array] | None = None,
    $rule
    every_layer: bool = True,
    dtype: Any = None,
) -> dict[str, Array]:
    """Tensors at the layers 1 … L for all pairs of N and M inputs.

    $method

    Args:
        $activation_meaning
        overlap: x_i.y_j/n_0 of shape (N, M), as `overlaps(x, y)` gives it.
        depth: the number of layers L; to jit it is static.
        $meanings
        variances: x_i.x_i/n_0 and y_j.y_j/n_0, from `overlaps` too, or None if x and y are the
            same inputs.
        $rule_meaning
        every_layer: whether all layers are returned, or the last one alone.
        dtype: float64 if left out, or float32.

    Returns:
        For each tensor an array of shape (L, N, M), or (N, M) for the last layer alone.

    Raises:
        KernelInputError: for shapes and types that do not fit. Numbers are not checked: what
            overflows is infinite, or not a number.
    """
    dtype = precision(dtype)
    depth = layer_count(depth)
    $make_means
    $given
    layers = Layer(
        **{name: at_layers(name, v, name in NEEDED, depth, dtype) for name, v in given.items()}
    )
    pairs, own = checked_overlaps(overlap, variances, dtype)
    count, symmetric = len(pairs), $symmetric
    at = places_of(pairs.shape, symmetric)
    $same_input

    def next_layer(below: State, h: Layer) -> tuple[State, dict[str, Array] | None]:
        tensors, own = below
        $tables_of_layer
        above = {name: advance(h, tables, tensors) for name, advance in RECURSIONS.items()}
        $own_of_layer
        return (above, own), above if every_layer else None

    start = Layer(*(values[0] for values in layers))
    first = first_layer(start, pairs[at])
    state = first, tuple(first_layer(start, one)["G"] for one in own)
    later = Layer(*(values[1:] for values in layers))
    (last, _), rest = jax.lax.scan(next_layer, state, later)
    found = last
    if every_layer:
        found = {name: jnp.concatenate([first[name][None], rest[name]]) for name in first}
    return {name: whole(values, count, symmetric) for name, values in found.items()}
'''

SERIES_RULE = """\
degree: int = 64,
step: float = 0.1,
shift: float = 0.0,
"""

SERIES_MEANING = """\
degree: of the series; what it leaves out is bounded by `series_error`.
step: that of the trapezoidal rule for its coefficients, in standard deviations; its error
    grows with the slope of the activation times sqrt(K), and is in `series_error` too.
shift: by what part of a step its nodes are moved; what changes is the error of the rule.
"""

SERIES_METHOD = """\
<s s> and <s' s'> are series of fixed degree in the correlation, with coefficients that are
computed from the activation at each K_ii. Values where samples are the same have no such error.
The activation has to be smooth: kinks are not seen here.
"""

SERIES_MEANS = "series_means({functions}, {degrees}, step, shift, dtype)"

CLOSED_METHOD = """\
<s s> and <s' s'> have a closed form for this activation. Derivatives that are infinite where
samples are the same or opposite are left out there.
"""

SERIES_ERROR = '''\
def series_error(
    $argument
    K: Array,
    degree: int = 64,
    step: float = 0.1,
) -> tuple[Array, Array]:
    """Bounds of the errors of <s s> and <s' s'> by series and rule, for pairs.

    Args:
        $activation_meaning
        K: the covariances of a layer of shape (N, N), such as propagate(…)["G"][l].
        degree: as in `propagate`.
        step: as in `propagate`.
    """
    return left_out($functions, jnp.asarray(K), degree, step)
'''

RECURSION_MANY = '''\
$head
    """$told at all pairs.

    $equation
    """
    $entries
    $value
'''

THROUGH_ONE = {
    "same_input": "",
    "tables_of_layer": """\
kernel, slopes = means.pairs(tensors["G"], own[0], own[-1], at)
tables = {"s0_s0": kernel, "s1_s1": slopes}""",
    "own_of_layer": """\
own = tuple(advance_g(h, {"s0_s0": means.single(K)}, {}) for K in own)""",
}

THROUGH_FIELDS = {
    "same_input": "same = (at.first == at.second) & (variances is None)",
    "tables_of_layer": """\
tables, sides = means_of_pairs(FIELDS, means, h, tensors, own, at, same)""",
    "own_of_layer": """\
own = tuple(advance_g(h, side, {"G": K}) for side, K in zip(sides, own, strict=True))""",
}

MEANS_PAIRS = """\
means: dict[str, Means] = {
    $by_function
}"""

FIELDS_PAIRS = """\
FIELDS: dict[str, PairField] = {
    $rows
}"""

ROW_PAIRS = """\
"$name": PairField(
    covariance_$name,
    $function
    $scale
),"""
