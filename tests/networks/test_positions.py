"""Networks with positions against iterations over all labels, sample and position alike."""

from fractions import Fraction

import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, check, predict, predict_infinite, propagate
from symdlt.algebra import from_cumulants, signs
from symdlt.definitions import Stack, Window, ascii_name
from symdlt.errors import LayerError
from symdlt.means import SmoothMeans

VALUES = {"C_b": 0.1, "C_W": 1.3, "lambda_b": 0.2, "lambda_W": 0.7}


def chain(z):
    """tanh and its first four derivatives, as polynomials in tanh."""
    t = np.tanh(z)
    s = 1 - t**2
    return t, s, -2 * t * s, s * (6 * t**2 - 2), s * t * (16 - 24 * t**2)


MEANS = SmoothMeans(tuple(lambda z, k=k: chain(z)[k] for k in range(5)), 1e-10)
C_b, C_W, lambda_b, lambda_W = 0.1, 1.3, 0.2, 0.7


def matrices(text, positions):
    """What each offset of a window reads, as matrices over positions; by hand."""
    if text == "all":
        return [row[None] for row in np.eye(positions)]
    if text == "mean":
        return [np.full((1, positions), 1 / positions)]
    first, *rest = (part.strip() for part in text.split(","))
    size, outputs = int(first), range(0, positions, 2 if "stride 2" in rest else 1)
    found = []
    for offset in range(size):
        matrix = np.zeros((len(outputs), positions))
        for row, start in enumerate(outputs):
            at = start + offset - (size - 1) // 2
            if "zero" not in rest or 0 <= at < positions:
                matrix[row, at % positions] = 1
        found.append(matrix)
    return found


def layer(text):
    return f"z' = b + W[{text}] s(z)"


def over_labels(matrix, samples):
    return np.kron(np.eye(samples), matrix)


def iterated(windows, x):
    """K, Θ, V and G.1 of all labels, by the recursions of dense layers and means over windows.

    That of G.1 has an eighth of all fourth derivatives of σσ with V.
    """
    samples, n_0, positions = x.shape
    rows = x.transpose(0, 2, 1).reshape(samples * positions, n_0)
    K, H = rows @ rows.T / n_0, np.zeros((samples * positions,) * 2)
    V, later = np.zeros((len(K),) * 4), 0 * K
    for depth, text in enumerate(windows):
        reads = [over_labels(m, samples) for m in matrices(text, positions)]
        positions = len(reads[0]) // samples
        if depth == 0:
            squares, moved, spread, shift = K, 0 * K, V, later
        else:
            squares, slopes, bent = MEANS(K, [(0, 0), (1, 1), (0, 2)])
            (four,) = MEANS(K, [(0, 0, 0, 0)])
            moved = slopes * H
            shift = corrected(K, V, later)
            diagonal = np.einsum("aacd->acd", V)
            half = (
                slopes[:, :, None, None] * V
                + 0.5 * bent.T[:, :, None, None] * diagonal[:, None]
                + 0.5 * bent[:, :, None, None] * diagonal[None]
            )
            half = half.transpose(2, 3, 0, 1)
            diagonal = np.einsum("aacd->acd", half)
            spread = (
                slopes[:, :, None, None] * half
                + 0.5 * bent.T[:, :, None, None] * diagonal[:, None]
                + 0.5 * bent[:, :, None, None] * diagonal[None]
            ).transpose(2, 3, 0, 1)
            spread = spread + four - squares[:, :, None, None] * squares
        count = len(reads)
        H = lambda_b + sum(A @ (lambda_W * squares + C_W * moved) @ A.T for A in reads) / count
        K = C_b + C_W * sum(A @ squares @ A.T for A in reads) / count
        later = C_W * sum(A @ shift @ A.T for A in reads) / count
        V = sum(np.einsum("ax,by,xycd->abcd", A, A, spread) for A in reads)
        V = sum(np.einsum("cx,dy,abxy->abcd", A, A, V) for A in reads) * (C_W / count) ** 2
        shape = (samples, positions) * 2
        yield (
            np.einsum("apbp->ab", K.reshape(shape)) / positions,
            np.einsum("apbp->ab", H.reshape(shape)) / positions,
            np.einsum("apbpcqdq->abcd", V.reshape(shape * 2)) / positions**2,
            np.einsum("apbp->ab", later.reshape(shape)) / positions,
        )


def corrected(K, V, later):
    """<σσ> at order 1/n: what it takes of G.1 and of V at its two labels."""
    orders = [(j, k) for j in range(5) for k in range(5) if j + k in (2, 4)]
    known = dict(zip(orders, MEANS(K, orders), strict=True))
    found = np.zeros_like(K)
    for a, b in np.ndindex(K.shape):
        ends = a, b
        for first, second in np.ndindex(2, 2):
            count = first + second
            mean = known[2 - count, count][a, b]
            found[a, b] += 0.5 * mean * later[ends[first], ends[second]]
        for legs in np.ndindex(2, 2, 2, 2):
            mean = known[4 - sum(legs), sum(legs)][a, b]
            found[a, b] += 0.125 * mean * V[tuple(ends[leg] for leg in legs)]
    return found


@pytest.mark.parametrize(
    "windows",
    [
        ("3", "3", "3", "all"),
        slow(("2", "3, zero", "2, zero, stride 2", "all")),
        swept(("3, zero", "2, stride 2", "mean")),
        ("1", "3", "mean"),
    ],
)
def test_kernels_and_v_by_labels(windows):
    """With equal widths; what is returned is the mean over the positions of each pair."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    first, *others = windows
    layers = [f"z' = b + W[{first}] z", *map(layer, others)]
    network = Network("tanh", [20] * (len(layers) - 1), VALUES, layers)
    names = ["G", "H", "V", "G.1"]
    found = propagate(network, x, names, tolerance=1e-10)
    for depth, expected in enumerate(iterated(windows, x)):
        for name, one in zip(names, expected, strict=True):
            np.testing.assert_allclose(found[name][depth], one, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("activation", ["tanh", swept("relu")])
@pytest.mark.parametrize(
    "middle",
    [
        ["z' = b + W[3x3, stride 2] s(z)"],
        slow(["z' = z + b + W[3x2, zero] s(layernorm(z))"]),
        ["u = U[3x3] z; v = V z; z' = b + W s(u) v", "z' = b + W[2x2, valid] s(z)"],
        slow(["h = U[3x3] s(rmsnorm(z)); z' = z + W s(h)"]),
    ],
)
def test_kernels_at_one_position_are_those_of_all_pairs(activation, middle):
    """K and Θ alone take pairs at one position; with V all pairs of positions are taken."""
    layers = ["z' = b + W[3x3, zero] z", *middle, "z' = b + W[all] s(z)"]
    values = VALUES | {"C_U": 1.2, "C_V": 0.9, "lambda_U": 0.4, "lambda_V": 0.3}
    symbols = {ascii_name(name) for text in layers for name in Stack(text).symbols}
    values = {name: value for name, value in values.items() if name in symbols}
    network = Network(activation, [9] * (len(layers) - 1), values, layers)
    x = np.random.default_rng(0).standard_normal((2, 2, 2, 3))
    alone, whole = (propagate(network, x, names) for names in (["G", "H"], ["G", "H", "V"]))
    for name in "GH":
        np.testing.assert_allclose(alone[name], whole[name], rtol=1e-12)


@pytest.mark.slow
def test_kernels_of_images():
    """(N P)² numbers would be 10 GB."""
    layers = ["z' = b + W[3x3] z", "z' = b + W[3x3] s(z)", "z' = b + W[all] s(z)"]
    network = Network("relu", [9, 9], VALUES, layers)
    x = np.random.default_rng(0).standard_normal((100, 1, 18, 20))
    K = propagate(network, x, "G")["G"][-1]
    first = C_b + C_W * (x**2).mean(axis=(1, 2, 3))
    expected = C_b + C_W / 2 * (C_b + C_W / 2 * first)
    np.testing.assert_allclose(np.diag(K), expected, rtol=1e-12)


def test_one_position_is_a_dense_network():
    layers = ["z' = b + W z", "z' = b + W s(z)", "z' = b + W[all] s(z)"]
    x = np.random.default_rng(0).standard_normal((2, 3))
    dense = Network("tanh", [9, 9], VALUES, [layers[0], layers[1], layers[1]])
    names = [*"GHVABDF"]
    found = propagate(Network("tanh", [9, 9], VALUES, layers), x[..., None], names)
    for name in names:
        np.testing.assert_allclose(found[name], propagate(dense, x, name)[name], rtol=1e-7)


def test_pointwise_layers_and_a_mean_of_equal_positions():
    """Data that are the same everywhere make the network that reads one position."""
    x = np.random.default_rng(0).standard_normal((2, 3))
    dense = Network("tanh", [9], VALUES, ["z' = b + W z", "z' = b + W s(z)"])
    same = Network("tanh", [9], VALUES, ["z' = b + W[3] z", "z' = b + W[mean] s(z)"])
    repeated = np.repeat(x[..., None], 4, axis=2)
    for name in "GHVBF":
        expected = propagate(dense, x, name)[name]
        np.testing.assert_allclose(propagate(same, repeated, name)[name], expected, atol=1e-7)


def test_translations_of_the_data_change_nothing():
    layers = ["z' = b + W[3x2] z", "z' = b + W[2x2] s(z)", "z' = b + W[all] s(z)"]
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 2))
    network = Network("sin", [9, 9], VALUES, layers)
    moved = np.roll(x, (2, 1), axis=(2, 3))
    for name in "GHVD":
        both = [propagate(network, data, name)[name] for data in (x, moved)]
        np.testing.assert_allclose(both[0], both[1], rtol=1e-9, atol=1e-12)


def test_training_of_convolutions():
    layers = ["z' = b + W[3] z", "z' = b + W[3] s(z)", "z' = b + W[mean] s(z)"]
    network = Network("relu", [20, 20], VALUES, layers)
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((4, 2, 5)), rng.standard_normal((2, 2, 5))
    y = rng.standard_normal(4)
    H = propagate(network, np.concatenate([train, test]), "H")["H"][-1]
    expected = H[4:, :4] @ np.linalg.solve(H[:4, :4], y)
    found = predict_infinite(network, train, y, test)
    np.testing.assert_allclose(found.mean.ravel(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("layers", "shape", "message"),
    [
        (["z' = W[3] z", "z' = W s(z)"], (2, 3), "A window has 1 axes"),
        (["z' = W[3x3] z", "z' = W s(z)"], (2, 3, 4), "A window has 2 axes"),
        (["z' = W[7, valid] z", "z' = W s(z)"], (2, 3, 4), "does not fit into 4"),
        (["z' = W[2, pool 3] z", "z' = W s(z)"], (2, 3, 4), "pools 3 positions"),
        (["z' = W z", "z' = z + W[2, stride 2] s(z)"], (2, 3, 4), "joins positions of"),
        (["z' = W z", "u = U z; v = V[all] z; z' = W u v"], (2, 3, 4), "joins positions of"),
    ],
)
def test_windows_that_do_not_fit_are_refused(layers, shape, message):
    values = {name: 1.0 for text in layers for name in Stack(text).symbols if name[0] == "C"}
    network = Network("tanh", [5], values, layers, n_L=5)
    with pytest.raises(LayerError, match=message):
        propagate(network, np.ones(shape), "G")


@pytest.mark.parametrize(
    "text", ["", "0", "3, 0", "all, stride 2", "3x", "mirror", "stride 0", "1001"]
)
def test_what_is_no_window_is_refused(text):
    with pytest.raises(LayerError, match="is no window"):
        Window.read(text)


def test_corrections_of_equal_positions_are_those_of_a_dense_network():
    x = np.random.default_rng(0).standard_normal((2, 3))
    dense = ["z' = b + W z", "z' = b + W s(z)", "z' = b + W s(z)"]
    same = ["z' = b + W[3] z", "z' = b + W[2] s(z)", "z' = b + W[mean] s(z)"]
    for name in ("G.1", "H.1"):
        found = [
            propagate(Network("tanh", [9, 9], VALUES, layers), data, name)[name]
            for layers, data in ((dense, x), (same, np.repeat(x[..., None], 4, axis=2)))
        ]
        np.testing.assert_allclose(found[0], found[1], atol=1e-12)


@pytest.mark.parametrize(("norm", "window"), [("z", "3"), ("layernorm(z)", "3, stride 2")])
def test_fourth_cumulants_of_windows_are_those_of_their_sums(norm, window):
    """On equal positions weights add up: of three, κ_4/κ_2² is a third of that of one."""
    x = np.random.default_rng(0).standard_normal((2, 3))
    one_third = {2: 1, 4: Fraction(-2, 3)}
    found = []
    for law, mark, at_end, data in (
        (lambda v: from_cumulants({k: c * v ** (k // 2) for k, c in one_third.items()}), "", "", x),
        (signs, f"[{window}]", "[mean]", np.repeat(x[..., None], 4, axis=2)),
    ):
        hidden = Stack(f"z' = b + W{mark} s({norm})", laws={"W": law})
        layers = ["z' = b + W z".replace("W", "W[3]" if mark else "W"), hidden]
        network = Network("tanh", [9, 9], VALUES, [*layers, f"z' = b + W{at_end} s(z)"])
        found.append(propagate(network, data, ["G.1", "H.1"]))
    for name in ("G.1", "H.1"):
        np.testing.assert_allclose(found[0][name], found[1][name], atol=1e-12)
    pooled = Stack("z' = b + W[3, pool 2] s(z)", laws={"W": signs})
    layers = ["z' = b + W[3] z", pooled, "z' = b + W[all] s(z)"]
    with pytest.raises(LayerError, match="read means over positions"):
        propagate(Network("tanh", [5, 5], VALUES, layers), np.ones((1, 2, 4)), "G.1")


@pytest.mark.slow
@pytest.mark.montecarlo
def test_corrections_of_sampled_convolutions_with_signs():
    conv = Stack("z' = z + b + W[2, zero] s(z)", laws={"W": signs})
    layers = ["z' = b + W[2] z", conv, conv, "z' = b + W[all] s(z)"]
    network = Network("swish", [12] * 3, VALUES, layers, n_L=6)
    x = np.random.default_rng(1).standard_normal((2, 2, 3))
    comparison = check(network, x, ["G.1", "H.1"], networks=20_000, seed=2)
    print(comparison)
    assert comparison.agrees


def test_training_of_convolutions_at_finite_width():
    """The mean moves by what is of order 1/n; at a large width it is that of infinite width."""
    layers = ["z' = b + W[2] z", "z' = b + W[2] s(z)", "z' = b + W[all] s(z)"]
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((2, 2, 2)), rng.standard_normal((1, 2, 2))
    y = rng.standard_normal(2)
    moved = []
    for width in (50, 100):
        network = Network("tanh", [width, width], VALUES, layers)
        found = predict(network, train, y, test, covariance=False)
        moved.append(found.mean - predict_infinite(network, train, y, test).mean)
    np.testing.assert_allclose(moved[0], 2 * moved[1], rtol=1e-9)
