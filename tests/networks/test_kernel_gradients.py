"""Gradients of tensors, against those of closed forms iterated on their own in many digits."""

import mpmath
import numpy as np
import pytest

from symdlt.errors import ActivationError, InputError, KernelError
from symdlt.networks import MLP, kernel_gradient

X = np.array([[0.6, -0.3, 1.1], [0.2, 0.9, -0.4]])
PARAMETERS = {
    "C_b": (0.1, 0.2, 0.3),
    "C_W": (1.2, 1.5, 1.1),
    "lambda_b": (0.3, 0.5, 0.2),
    "lambda_W": (0.7, 1.0, 0.9),
}
mp = mpmath.mp.clone()
mp.dps = 40


def relu(one, both, other):
    """Arc-cosine kernels: Cho and Saul (2009)."""
    size = mp.sqrt(one * other)
    angle = mp.acos(both / size) if both != size else mp.mpf(0)
    kernel = size * (mp.sin(angle) + (mp.pi - angle) * mp.cos(angle)) / (2 * mp.pi)
    return kernel, (mp.pi - angle) / (2 * mp.pi)


def erf(one, both, other):
    """Williams (1997)."""
    first, second = 1 + 2 * one, 1 + 2 * other
    kernel = 2 / mp.pi * mp.asin(2 * both / mp.sqrt(first * second))
    return kernel, 4 / mp.pi / mp.sqrt(first * second - 4 * both**2)


def sin(one, both, other):
    size = mp.exp(-(one + other) / 2)
    return size * mp.sinh(both), size * mp.cosh(both)


CLOSED = {"relu": relu, "erf": erf, "sin": sin}


def tensors(closed, i, j, x, parameters):
    """G_ij and H_ij at all layers."""
    dot = {
        (a, b): sum(p * q for p, q in zip(x[a], x[b], strict=True)) / len(x[a])
        for a, b in {(i, i), (i, j), (j, j)}
    }
    rows = list(zip(*(parameters[name] for name in PARAMETERS), strict=True))
    C_b, C_W, lambda_b, lambda_W = rows[0]
    K = {pair: C_b + C_W * value for pair, value in dot.items()}
    H = lambda_b + lambda_W * dot[i, j]
    found = [(K[i, j], H)]
    for C_b, C_W, lambda_b, lambda_W in rows[1:]:
        kernel, slope = closed(K[i, i], K[i, j], K[j, j])
        H = lambda_b + lambda_W * kernel + C_W * slope * H
        K = {(a, b): C_b + C_W * closed(K[a, a], K[a, b], K[b, b])[0] for a, b in K}
        found.append((K[i, j], H))
    return found


def exactly(values):
    return [mp.mpf(float(value)) for value in values]


def right_gradient(name, i, j, varied, place):
    """By differences in forty digits of G_ij and H_ij at all layers."""

    def moved(step):
        x = [exactly(row) for row in X]
        parameters = {key: exactly(value) for key, value in PARAMETERS.items()}
        if varied == "x":
            x[place[0]][place[1]] += step
        else:
            parameters[varied][place[0]] += step
        return tensors(CLOSED[name], i, j, x, parameters)

    step = mp.mpf(10) ** -13  # its square is the error: below that of doubles by ten digits
    up, down = moved(step), moved(-step)
    return [
        [float((a - b) / (2 * step)) for a, b in zip(high, low, strict=True)]
        for high, low in zip(up, down, strict=True)
    ]


@pytest.mark.parametrize("varied", ["x", *PARAMETERS])
@pytest.mark.parametrize("name", CLOSED)
def test_gradients_are_those_of_closed_forms(name, varied):
    mlp = MLP(activation=name, widths=[40, 30], **PARAMETERS)
    found = kernel_gradient(mlp, X, ["G", "H"], with_respect_to=varied)
    more = (2, 3) if varied == "x" else (3,)
    assert found["G"].shape == found["H"].shape == (3, 2, 2, *more)
    for i, j in [(0, 1), (1, 1), (1, 0)]:
        for place in np.ndindex(*more):
            right = np.array(right_gradient(name, i, j, varied, place))
            given = np.array([[found[t][layer, i, j][place] for t in "GH"] for layer in range(3)])
            assert np.abs(given - right).max() < 1e-11, (i, j, place)


def complex_tanh(K):
    """<tanh tanh> and <tanh' tanh'> of two samples, for complex K, by Gauss-Hermite sums."""
    y, weights = np.polynomial.hermite_e.hermegauss(180)
    weights = weights / np.sqrt(2 * np.pi)
    root = np.sqrt(K[0, 0])
    z = root * y[:, None]
    rest = np.sqrt(K[1, 1] - K[0, 1] ** 2 / K[0, 0])
    other = K[0, 1] / root * y[:, None] + rest * y[None, :]
    weight = weights[:, None] * weights
    slopes = [1 - np.tanh(value) ** 2 for value in (z, other)]
    kernel = np.sum(weight * np.tanh(z) * np.tanh(other))
    return kernel, np.sum(weight * slopes[0] * slopes[1])


def test_the_gradient_of_tanh_is_that_of_a_complex_step():
    step = 1e-30
    mlp = MLP(activation="tanh", widths=[40], C_b=0.1, C_W=1.2, lambda_b=0.3, lambda_W=0.7)
    found = kernel_gradient(mlp, X, ["G", "H"], with_respect_to="x")
    for place in np.ndindex(2, 3):
        x = X.astype(complex)
        x[place] += 1j * step
        overlap = x @ x.T / 3
        kernel, slope = complex_tanh(0.1 + 1.2 * overlap)
        ntk = 0.3 + 0.7 * kernel + 1.2 * slope * (0.3 + 0.7 * overlap[0, 1])
        assert abs(found["G"][1, 0, 1][place] - 1.2 * kernel.imag / step) < 1e-11
        assert abs(found["H"][1, 0, 1][place] - ntk.imag / step) < 1e-11


@pytest.mark.parametrize("varied", ["x", "C_b", "C_W"])
def test_the_four_point_vertex_of_one_input(varied):
    """<sin^2> and <sin^4> have closed forms, and d<sin^2>/dK = exp(-2 K)."""
    x, widths = [[0.8, -0.4]], [40, 30]
    C_b, C_W = (0.1, 0.2, 0.3), (1.2, 1.5, 1.1)

    def vertex(x, C_b, C_W):
        K, V = C_b[0] + C_W[0] * sum(v * v for v in x) / 2, mp.mpf(0)
        for layer, ratio in ((1, 0), (2, mp.mpf(30) / 40)):
            square = (1 - mp.exp(-2 * K)) / 2
            fourth = mp.mpf(3) / 8 - mp.exp(-2 * K) / 2 + mp.exp(-8 * K) / 8
            V = C_W[layer] ** 2 * (fourth - square**2 + ratio * mp.exp(-4 * K) * V)
            K = C_b[layer] + C_W[layer] * square
        return V

    mlp = MLP(activation="sin", widths=widths, C_b=C_b, C_W=C_W)
    found = kernel_gradient(mlp, x, "V", with_respect_to=varied, tolerance=1e-12)["V"]
    step = mp.mpf(10) ** -13
    for place in np.ndindex(*found.shape[5:]):
        sides = []
        for sign in (1, -1):
            given = {"x": exactly(x[0]), "C_b": exactly(C_b), "C_W": exactly(C_W)}
            given[varied][place[-1]] += sign * step
            sides.append(vertex(**given))
        right = float((sides[0] - sides[1]) / (2 * step))
        assert abs(found[2, 0, 0, 0, 0][place] - right) < 1e-9


def test_the_four_point_vertex_of_relu():
    """<relu^4> = 3 K^2/2 and <relu^2> = K/2, so that V = C_W^2 5 K^2/4 and then passes on C_W/2."""
    mlp = MLP(activation="relu", widths=[40, 20], C_b=0.1, C_W=2.0)
    found = kernel_gradient(mlp, [[1.0]], "V", with_respect_to="C_b")["V"][:, 0, 0, 0, 0]
    K, next_K = 2.1, 2.2
    right = [[0, 0, 0], [10 * K, 0, 0], [10 * next_K + 5 * K, 10 * next_K, 0]]
    assert np.abs(found - right).max() < 1e-9


def test_four_samples_change_as_what_propagate_gives():
    mlp = MLP(activation="sin", widths=[20, 30], C_b=0.1, C_W=1.3, lambda_b=0.2, lambda_W=0.8)
    found = kernel_gradient(mlp, X, ["F", "G.1"], with_respect_to="x", tolerance=1e-10)
    step = 1e-4
    for name, array in found.items():
        place = (1, 2)
        sides = []
        for sign in (2, 1, -1, -2):
            x = X.copy()
            x[place] += sign * step
            sides.append(mlp.propagate(x, [name], tolerance=1e-10)[name])
        right = (8 * (sides[1] - sides[2]) - (sides[0] - sides[3])) / (12 * step)
        assert np.abs(array[(..., *place)] - right).max() < 1e-6


def test_equal_samples_have_gradients_where_they_stay_equal():
    twice = [[0.6, -0.3], [0.6, -0.3]]
    mlp = MLP(activation="relu", widths=[40], **{k: v[:2] for k, v in PARAMETERS.items()})
    found = kernel_gradient(mlp, twice, "H", with_respect_to="C_b")["H"]
    alone = kernel_gradient(mlp, twice[:1], "H", with_respect_to="C_b")["H"]
    assert np.abs(found - alone).max() < 1e-14
    with pytest.raises(ActivationError, match="Samples 0 and 1 meet at layer 1"):
        kernel_gradient(mlp, twice, "H", with_respect_to="x")
    assert np.isfinite(kernel_gradient(mlp, twice, "G", with_respect_to="x")["G"]).all()


def test_parallel_samples_have_gradients_where_their_angle_stays():
    """H is homogeneous of degree one in each sample, as relu is and there are no biases."""
    mlp = MLP(activation="relu", widths=[40, 30], C_b=0, C_W=1.5, lambda_b=0, lambda_W=1)
    found = kernel_gradient(mlp, [[1.0, 0.5], [2.0, 1.0]], "H", with_respect_to="C_W")["H"]
    assert found[:, 0, 1] == pytest.approx(2 * found[:, 0, 0], rel=1e-13)
    # H_00 = (x.x)/n_0 (C_1 C_2 + C_1 C_3 + C_2 C_3)/4 at the third layer, and 2 C/4 = 0.75
    assert found[2, 0, 0] == pytest.approx(np.full(3, 0.625 * 0.75), rel=1e-13)
    with pytest.raises(ActivationError, match="Samples 0 and 1 meet"):
        kernel_gradient(mlp, [[1.0, 0.5], [2.0, 1.0]], "H", with_respect_to="x")


def test_a_zero_sample_at_a_kink_is_refused():
    mlp = MLP(activation="relu", widths=[40], C_b=0, C_W=1.5)
    with pytest.raises(KernelError, match="variance zero"):
        kernel_gradient(mlp, [[0.0, 0.0], [2.0, 1.0]], "G", with_respect_to="x")


def test_what_has_no_gradient_is_refused():
    mlp = MLP(activation="relu", widths=[40], C_b=0.0, C_W=2.0)
    with pytest.raises(InputError, match="It says what is varied"):
        kernel_gradient(mlp, X, with_respect_to="W")
    learning = MLP(activation="relu", widths=[40], C_b=0.0, C_W=2.0, lambda_b=1, lambda_W=1)
    with pytest.raises(ActivationError, match="four samples is infinite"):
        kernel_gradient(learning, X, "B", with_respect_to="x")
    with pytest.raises(KernelError, match="lambda_b is missing"):
        kernel_gradient(mlp, X, "H", with_respect_to="x")
    few = MLP(activation=[np.sin, np.cos], widths=[40], C_b=0.0, C_W=2.0)
    with pytest.raises(ActivationError, match="Gradients need 3"):
        kernel_gradient(few, X, "G", with_respect_to="x")
