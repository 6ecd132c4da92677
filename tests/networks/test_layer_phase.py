"""Fixed points and susceptibilities of layers of any kind, against maps written out."""

import mpmath
import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, critical_value, criticality, layer_phase, phase, propagate
from symdlt.errors import InputError, LayerError, SolutionError

GATE = "u = U z; v = V z; z' = b + W sigmoid(u) v"
THREE = "u = U z; v = V z; w = T z; z' = W s(u) s(v) s(w)"
C_B = 0.01
RESIDUAL = "z' = xi z + b + W s(z)"
# The trapezoidal rule, for functions that are analytic near the real line.
NODES = np.linspace(-10, 10, 401)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def mean(function, K):
    return WEIGHTS @ function(np.sqrt(K) * NODES)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def slope_of_sigmoid(z):
    return sigmoid(z) * (1 - sigmoid(z))


def derivative(function, at, step=1e-4):
    """By a central difference of the fourth order."""
    values = [function(at + k * step) for k in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


@pytest.mark.parametrize(("activation", "C_W", "C_b"), [("tanh", 1.5, 0.1), ("gelu", 1.2, 0.3)])
def test_dense_layers_have_the_phase_of_dense_networks(activation, C_W, C_b):
    found = layer_phase("z' = b + W s(z)", activation, {"C_W": C_W, "C_b": C_b})
    expected = phase(activation, C_W, C_b)
    for name in ("K", "chi_parallel", "chi_perp", "xi_parallel", "xi_perp"):
        assert getattr(found, name) == pytest.approx(float(getattr(expected, name)), rel=1e-9)


def test_a_gate():
    """K' = C_b + C_W C_V K <sigmoid^2> at C_U K; two inputs part by both fields."""
    C_U, C_V, C_W, C_b = 1.3, 0.8, 2.5, 0.2
    values = {"C_U": C_U, "C_V": C_V, "C_W": C_W, "C_b": C_b}
    found = layer_phase(GATE, "tanh", values)

    def image(K):
        return C_b + C_W * C_V * K * mean(lambda z: sigmoid(z) ** 2, C_U * K)

    K = found.K
    both = mean(lambda z: sigmoid(z) ** 2, C_U * K)
    bent = mean(lambda z: slope_of_sigmoid(z) ** 2, C_U * K)
    assert image(K) == pytest.approx(K, rel=1e-10)
    assert found.chi_parallel == pytest.approx(derivative(image, K), rel=1e-9)
    assert found.chi_perp == pytest.approx(C_W * C_V * (both + C_U * K * bent), rel=1e-10)


def test_inputs_with_masks_of_their_own_part():
    """Of ReLU the covariance is the arc-cosine kernel, whose slope is an angle."""
    layer = "z' = b + W dropout(1/2) s(z)"
    found = layer_phase(layer, "relu", {"C_b": 0.1, "C_W": 0.8})
    rho = 1.0
    for _ in range(200):
        angle = np.pi - np.arccos(rho)
        rho = (0.1 + 0.8 * 0.5 * (np.sqrt(1 - rho**2) + rho * angle) / (2 * np.pi)) / 0.5
    assert (found.K, found.chi_parallel) == pytest.approx((0.5, 0.8), rel=1e-12)
    assert found.covariance == pytest.approx(0.5 * rho, rel=1e-10)
    assert found.chi_perp == pytest.approx(0.8 * angle / (2 * np.pi), rel=1e-10)
    assert "of two inputs, each with masks" in str(found)
    pruned = layer_phase(layer.replace("dropout", "prune"), "relu", {"C_b": 0.1, "C_W": 0.8})
    assert (pruned.K, pruned.covariance, pruned.chi_perp) == pytest.approx((0.5, 0.5, 0.8))
    assert "masks" not in str(pruned)


@pytest.mark.parametrize(
    ("activation", "C_W", "K"),
    [("relu", 0.1, 0.0), ("relu", 3.0, np.inf), ("softplus", 4.0, np.inf)],
)
def test_inputs_with_masks_of_their_own_at_the_ends(activation, C_W, K):
    """Their correlation goes to that of ReLU, which softplus is at large kernels."""
    found = layer_phase("z' = W dropout(1/2) s(z)", activation, {"C_W": C_W})
    assert (found.K, found.covariance) == (K, K)
    assert "masks" not in str(found)
    rho = 1.0
    for _ in range(200):
        angle = np.pi - np.arccos(rho)
        rho = (np.sqrt(1 - rho**2) + rho * angle) / (2 * np.pi)
    slopes = C_W, C_W * angle / (2 * np.pi)
    assert (found.chi_parallel, found.chi_perp) == pytest.approx(slopes, rel=1e-8)


@pytest.mark.parametrize(
    ("bias", "C_W", "covariance"), [("", 0.6, 0), ("b + ", 0.6, 0.1 / (1 - 0.6)), ("", 1.0, 1)]
)
def test_covariances_of_masks_may_stay_where_kernels_grow(bias, C_W, covariance):
    layer, values = f"z' = {bias}W dropout(1/2) z", {"C_W": C_W} | ({"C_b": 0.1} if bias else {})
    found = layer_phase(layer, "tanh", values)
    assert (found.K, found.covariance) == pytest.approx((np.inf, covariance), rel=1e-10)
    assert (found.chi_parallel, found.chi_perp) == pytest.approx((2 * C_W, C_W), rel=1e-8)


@pytest.mark.parametrize(
    ("layer", "values", "expected"),
    [
        # The correlation r comes to r (C_b + 2 C_W) = C_b + C_W 2/π arcsin(r), which is 0.035.
        (
            "z' = z + b + W dropout(1/2) s(z)",
            {"C_b": 0.1, "C_W": 2},
            (np.inf, np.inf, 1, 1),
        ),
        # It goes from r to r 2/π arcsin(r/2), so that biases alone stay.
        slow(
            "u = U dropout(1/2) z; v = V z; z' = b + W s(u) v",
            {"C_b": 0.1, "C_W": 2, "C_U": 1, "C_V": 1},
            (np.inf, 0.1, 2, 0),
        ),
        # The covariance grows as a power of the depth that is below one, and K as the depth.
        ("z' = z + W dropout(1/2) s(rmsnorm(z))", {"C_W": 2}, (np.inf, np.inf, 1, 1)),
    ],
)
def test_covariances_where_functions_of_growing_kernels_saturate(layer, values, expected):
    found = layer_phase(layer, "tanh", values)
    slopes = (found.K, found.covariance, found.chi_parallel, found.chi_perp)
    assert slopes == pytest.approx(expected, abs=1e-7)


def test_slopes_behind_masks_are_known_where_terms_cancel():
    found = layer_phase("z' = W dropout(1/2) z s(z)", "tanh", {"C_W": 3})
    assert (found.K, found.chi_parallel) == pytest.approx((np.inf, 6), rel=1e-5)


@pytest.mark.parametrize("bias", ["b + ", ""])
def test_inputs_with_masks_part_as_two_samples_do(bias):
    """By many layers of two equal inputs."""
    layer = f"h = U dropout(1/4) z; z' = xi z + {bias}W dropout(1/3) s(h)"
    values = {"C_W": 0.8, "C_U": 1.5, "xi": 0.6} | ({"C_b": 0.1} if bias else {})
    found = layer_phase(layer, "tanh", values)
    layers = [f"z' = {bias}W z", *[layer] * 60]
    G = propagate(Network("tanh", [9] * 60, values, layers, n_L=9), [[1.0], [1.0]], "G")["G"]
    assert G[-1, 0, 0] == pytest.approx(found.K, rel=1e-9)
    apart = G[:, 0, 1] - found.covariance
    assert apart[-1] == pytest.approx(0, abs=1e-10)
    assert apart[31] / apart[30] == pytest.approx(found.chi_perp, rel=2e-3)


def test_a_block():
    """K' = ξ² K + C_W <σσ> at C_U <σσ>; slopes are products."""
    C_U, C_W, xi = 1.1, 1.6, 0.3
    found = layer_phase(
        "h = U s(z); z' = xi z + W s(h)", "tanh", {"C_U": C_U, "C_W": C_W, "xi": xi}
    )

    def square(z):
        return np.tanh(z) ** 2

    def slope(z):
        return (1 - np.tanh(z) ** 2) ** 2

    def image(K):
        return xi**2 * K + C_W * mean(square, C_U * mean(square, K))

    K = found.K
    product = C_U * mean(slope, K) * C_W * mean(slope, C_U * mean(square, K))
    assert image(K) == pytest.approx(K, rel=1e-10)
    assert found.chi_parallel == pytest.approx(derivative(image, K), rel=1e-8)
    assert found.chi_perp == pytest.approx(xi**2 + product, rel=1e-10)


def test_a_norm_forgets_the_kernel():
    found = layer_phase("z' = b + W s(rmsnorm(z))", "tanh", {"C_W": 1.6, "C_b": 0.1})
    assert found.chi_parallel == 0.0
    assert found.xi_parallel == 0.0
    K = 0.1 + 1.6 * mean(lambda z: np.tanh(z) ** 2, 1.0)
    slope = 1.6 * mean(lambda z: (1 - np.tanh(z) ** 2) ** 2, 1.0) / K
    assert pytest.approx(K, rel=1e-10) == found.K
    assert found.chi_perp == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize(
    ("activation", "xi"),
    [
        ("relu", 0.6),
        swept("relu", 0.9),
        slow("tanh", 0.9),
        swept("tanh", 0.6),
        swept("sin", 0.9),
        swept("sin", 0.6),
    ],
)
def test_critical_weights_of_residual_networks(activation, xi):
    found = critical_value("z' = xi z + W s(z)", activation, {"xi": xi}, "C_W")
    dense = float(criticality(activation).points[0].C_W)
    assert found.values["C_W"] == pytest.approx((1 - xi**2) * dense, rel=1e-6)


def test_a_critical_line():
    """tanh at C_b = 0.05 has C_W = 1.7609546; a skip scales both variances."""
    found = critical_value(RESIDUAL, "tanh", {"xi": 0.8, "C_b": 0.05 * 0.36}, "C_W")
    assert found.values["C_W"] == pytest.approx(0.36 * 1.7609546, rel=1e-7)
    assert found.chi_perp == pytest.approx(1, abs=1e-9)
    assert "over inf layers" in str(found)


def test_kernels_that_vanish_and_grow():
    assert layer_phase("z' = W s(z)", "tanh", {"C_W": 0.5}).K == 0.0
    assert float("inf") == layer_phase("z' = z + W s(z)", "relu", {"C_W": 0.6}).K
    assert layer_phase("z' = z + W s(z)", "relu", {"C_W": 0.6}).chi_perp == pytest.approx(1.3)


@pytest.mark.parametrize(
    ("activation", "C_b", "C_W", "start", "expected"),
    [
        ("tanh", 0, 1, 1.0, (0, 1, 1)),
        swept("100*tanh(z/100)", 0, 1, 1.0, (0, 1, 1)),
        swept("max(-1, min(z, 1))", 0, 1, 1.0, (0, 1, 1)),
        ("elu", 0, 1, 1.0, (0, 1, 1)),
        ("relu", 0.1, 2, 1.0, (np.inf, 1, 1)),
        ("softplus", 0.1, 4, 1.0, (np.inf, 2, 2)),
        ("z**2", 0, 1, 0.01, (0, 0, 0)),
        ("z**2", 0, 1, 10.0, (np.inf, np.inf, np.inf)),
    ],
)
def test_where_kernels_hardly_move_is_no_fixed_point(activation, C_b, C_W, start, expected):
    """As `phase` has it, which decides by series at both ends."""
    found = layer_phase("z' = b + W s(z)", activation, {"C_b": C_b, "C_W": C_W}, start=start)
    assert (found.K, found.chi_parallel, found.chi_perp) == pytest.approx(expected, abs=1e-9)
    exact = phase(activation, C_W, C_b, start=start)
    assert tuple(map(float, (exact.K, exact.chi_parallel, exact.chi_perp))) == expected
    assert found.xi_perp == pytest.approx(
        {0: 0.0, 1: np.inf, 2: 1 / np.log(2), np.inf: 0.0}[expected[2]]
    )


def test_a_block_that_normalises_first_grows_without_end():
    layer = "z' = z + W s(U rmsnorm(z))"
    found = layer_phase(layer, "tanh", {"C_W": 1, "C_U": 1})
    assert (found.K, found.chi_parallel, found.chi_perp) == (np.inf, 1, 1)


def test_a_gate_whose_slope_grows_with_the_kernel():
    """<tanh tanh> of u goes to 1, and <tanh' tanh'> times the kernel of v grows as its root."""
    layer = "u = U z; v = V z; z' = b + W s(u) v"
    found = layer_phase(layer, "tanh", {"C_W": 5, "C_U": 1, "C_V": 1, "C_b": 0.1})
    assert found.K == found.chi_perp == np.inf
    assert found.chi_parallel == pytest.approx(5, abs=1e-8)


def test_slopes_at_infinity_are_known_where_terms_cancel():
    """z tanh(z) is |z| there, and z^2 s s'' of large kernels cancels with what else there is."""
    found = layer_phase("z' = b + W z s(z)", "tanh", {"C_W": 1.2, "C_b": 0.1})
    slopes = (found.K, found.chi_parallel, found.chi_perp)
    assert slopes == pytest.approx((np.inf, 1.2, 1.2), rel=1e-5)  # as SLOPED has it


@pytest.mark.parametrize("layer", ["z' = b + W sign(z)", "z' = b + W sign(z) cos(z)"])
def test_functions_that_jump_tear_near_inputs_apart(layer):
    with pytest.raises(SolutionError, match="jumps, so that <sigma' sigma'> and chi_perp diverge"):
        layer_phase(layer, "tanh", {"C_W": 1, "C_b": 0.1})


@pytest.mark.parametrize(
    ("layer", "values", "start", "error", "message"),
    [
        ("z' = z + b", {"C_b": 1}, 1.0, LayerError, "has no weights"),
        ("z' = W s(z)", {}, 1.0, LayerError, "do not fit the layer"),
        ("z' = W s(z)", {"C_W": 1.0}, -1.0, SolutionError, "is not a kernel to start from"),
        (THREE, {"C_U": 1, "C_V": 1, "C_T": 1, "C_W": 1e3}, 1.0, SolutionError, "swings"),
    ],
)
def test_what_cannot_be_solved_is_refused(layer, values, start, error, message):
    """Of three gates K' = C_W (1 + 4K)^(-3/2), which is steeper than -1 at large K."""
    with pytest.raises(error, match=message):
        layer_phase(layer, "exp(-z**2)", values, start=start)


@pytest.mark.parametrize(("C_W", "reason"), [(1e16, r"beyond 1e\+12"), (1e200, "swings")])
def test_kernels_beyond_those_that_are_sought_are_refused(C_W, reason):
    with pytest.raises(SolutionError, match=reason):
        layer_phase("z' = b + W s(z)", "tanh", {"C_W": C_W, "C_b": 0.1})


@pytest.mark.slow
def test_a_jump_is_no_critical_value():
    """K' = C_W K <gelu^2> at K: below some C_W kernels from 1 vanish, above they grow."""
    gate = "u = U z; v = V z; z' = W s(u) v"
    with pytest.raises(SolutionError, match="makes chi_perp 1"):
        critical_value(gate, "gelu", {"C_U": 1, "C_V": 1}, "C_W")
    sigmoid_gate = critical_value(gate, "sigmoid", {"C_U": 1, "C_V": 1}, "C_W", start=1e-6)
    assert sigmoid_gate.values["C_W"] == pytest.approx(4, rel=1e-4)


def test_a_symbol_has_a_name():
    with pytest.raises(InputError, match="is not a symbol"):
        critical_value("z' = b + W s(z)", "tanh", {"C_b": 0}, 3)


def test_no_critical_value_is_said():
    with pytest.raises(SolutionError, match="makes chi_perp 1"):
        critical_value("z' = z + W s(z)", "relu", {}, "C_W")


@pytest.mark.parametrize(("C_W", "start"), [(0.18, 0.2), (0.1802, 0.05)])
def test_two_fixed_points_near_each_other_are_found(C_W, start):
    """Of exp K = C_b + C_W e^(2K), which the lower branch of Lambert's W solves."""
    K = C_B - mpmath.lambertw(-2 * C_W * mpmath.exp(2 * C_B)).real / 2
    found = layer_phase("z' = b + W s(z)", "exp", {"C_W": C_W, "C_b": C_B}, start=start)
    assert pytest.approx(float(K), rel=1e-9) == found.K
    assert found.chi_parallel == pytest.approx(2 * (float(K) - C_B), rel=1e-6)


@pytest.mark.parametrize("C_W", [0.1803, 1.0])
def test_kernels_that_explode(C_W):
    found = layer_phase("z' = b + W s(z)", "exp", {"C_W": C_W, "C_b": C_B}, start=0.05)
    assert found.K == found.chi_parallel == found.chi_perp == np.inf
