"""`check`, its table and its command; the networks themselves are judged in tests/oracle."""

import numpy as np
import pytest

from symdlt import MLP, Network, check
from symdlt.cli import main
from symdlt.errors import InfiniteMeanError, InputError, KernelError, UnknownTensorError
from symdlt.networks import Comparison, read_data
from symdlt.sampling import sample_networks

HYPER = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.3, "lambda_W": 0.7}
SMALL = MLP(activation="tanh", widths=[8, 12], n_L=4, **HYPER)
X = [[1.0, 0.5, -0.3]]
NAMES = ["G", "H", "V", "B", "P", "U"]


@pytest.mark.montecarlo
def test_theory_and_networks_agree():
    compared = check(SMALL, X, NAMES, networks=2950, seed=1)
    assert compared.agrees
    assert (compared.networks, compared.extrapolated) == (3000, True)
    assert compared.names == ("G", "H", "V", "B", "P", "U")
    again = check(SMALL, X, NAMES, networks=3000, seed=1)
    assert all(np.array_equal(compared.measured[n], again.measured[n]) for n in NAMES)


@pytest.mark.montecarlo
def test_outputs_whose_neurons_are_read_grow_with_the_others():
    """The number of outputs enters V of fields of the last layer that are kept and read."""
    values = {"C_W": 1.0, "C_U": 0.8, "lambda_W": 1.0, "lambda_U": 0.7}
    network = Network("tanh", [8], values, ["z' = W z", "h = W s(z); z' = h + U s(h)"], n_L=8)
    assert check(network, [[1.0, 0.5]], ["G", "H", "B", "F"], networks=2000).agrees


def test_one_layer_with_fields_inside_is_refused_and_is_sampled_as_others_are():
    network = Network("sin", [], {"C_W": 1.0, "C_U": 1.0}, "u = U z; z' = W s(u)", n_L=400, n_0=1)
    with pytest.raises(KernelError, match="one layer that makes fields"):
        check(network, [[1.0]], "G")
    drawn = sample_networks(network, (np.sin,), [[1.0]], ["z"], 200, np.random.default_rng(0))
    assert np.mean(drawn["z"] ** 2) == pytest.approx((1 - np.exp(-2)) / 2, abs=0.02)


def test_another_network_is_told_apart():
    compared = check(SMALL, X, ["G", "H"], networks=4000)
    other = MLP(activation="sin", widths=[8, 12], **HYPER).propagate(X, ["G", "H"]).layer(3)
    wrong = Comparison(SMALL, other.tensors, compared.measured, compared.errors, 4000, True)
    assert compared.agrees
    with pytest.raises(UnknownTensorError, match="There is no 'V' here"):
        compared.z_scores("V")
    assert not wrong.agrees


def test_one_layer_is_exact_where_nothing_fluctuates():
    mlp = MLP(activation="tanh", widths=[], **HYPER)
    compared = check(mlp, X, ["H", "V", "A", "R"], networks=100)
    assert not compared.extrapolated
    for name in ("H", "A", "R"):
        assert np.abs(compared.z_scores(name)).max() < 1e-3


def test_table():
    values = {"G": np.array([[1.0, 0.5], [0.5, 2.0]])}
    measured = {"G": np.array([[1.2, 0.5], [0.5, 2.1]])}
    errors = {"G": np.array([[0.1, 0.1], [0.1, 0.1]])}
    table = Comparison(SMALL, values, measured, errors, 500, True).table().splitlines()
    assert table[:2] == [
        "tensor  samples  theory  measured  error      z  rms z",
        "G       0,0           1       1.2    0.1  +2.00   1.12",
    ]
    assert table[3] == "Layer 3, hidden widths 8 12; 500 networks and as many twice as wide."
    assert "1/n² = 0.02" in table[5]
    table = Comparison(SMALL, values, measured, errors, 500, False).table().splitlines()
    assert "relative order 1/n = 0.1" in table[5]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"mlp": 3}, InputError, "3 is not a network"),
        ({"networks": 0}, KernelError, "networks is 0"),
        ({"networks": True}, InputError, "True is not a whole number"),
        ({"networks": 1.5}, InputError, "1.5 is not a whole number"),
        ({"seed": -1}, KernelError, "seed is -1"),
        ({"seed": None}, InputError, "None is not a whole number"),
        ({"extrapolate": 1}, InputError, "1 is not a choice"),
        ({"x": [1.0]}, KernelError, "must be .N, n_0."),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        check(**{"mlp": SMALL, "x": X, "tensors": ["G"], **change})


COMMAND = ["check", "--activation", "tanh", "--tensors", "H,U", "--networks", "200"]


def test_command(tmp_path, capsys):
    np.save(tmp_path / "data.npy", np.array(X))
    arguments = ["--widths", "8", "--depth", "3", "--data", str(tmp_path / "data.npy")]
    assert main([*COMMAND, *arguments, "--C-W", "1,1.5,2"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("tensor  samples")
    assert "Layer 3, hidden widths 8 8; 200 networks" in captured.out
    assert captured.err == ""


def test_command_for_one_layer(tmp_path, capsys):
    np.savetxt(tmp_path / "data.txt", X)
    arguments = ["--depth", "1", "--data", str(tmp_path / "data.txt"), "--tensors", "G,H"]
    assert main([*COMMAND, *arguments]) == 0
    assert "Layer 1, hidden widths none; 200 networks" in capsys.readouterr().out


def test_command_says_by_its_exit_code_that_theory_and_networks_differ(tmp_path, capsys):
    np.savetxt(tmp_path / "data.txt", X)
    arguments = ["--widths", "1,1,1", "--data", str(tmp_path / "data.txt")]
    more = ["--networks", "20000", "--no-extrapolation", "--tensors", "U"]
    assert main([*COMMAND, *arguments, *more]) == 1
    assert "deviations of relative order 1/n = 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["--widths", "8,9", "--depth", "4", "--data", "x"],
            2,
            "--depth 4 does not fit 2 hidden",
        ),
        (["--widths", "8", "--depth", "0", "--data", "x"], 2, "--depth 0 does not fit 1 hidden"),
        (["--widths", "8,a", "--data", "x"], 2, "'8,a' are no whole numbers; give them as 32,64"),
        (["--widths", "8", "--data", "x", "--C-W", "1,"], 2, "'1,' are no numbers; give one"),
        (["--widths", "0", "--data", "x"], 1, "widths[0] is 0"),
        (["--data", "x"], 2, "give --widths, one for each layer but the last, or --depth 1"),
        (["--depth", "3", "--data", "x"], 2, "give --widths"),
        (["--depth", "1", "--widths", "8", "--data", "x"], 2, "does not fit 1 hidden widths"),
        (
            ["--widths", "8", "--data", "/nowhere/x"],
            1,
            "No data can be read from '/nowhere/x': No such",
        ),
    ],
)
def test_a_command_that_cannot_be_met(arguments, code, message, capsys):
    try:
        found = main([*COMMAND, *arguments])
    except SystemExit as stop:
        found = stop.code
    assert found == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"1, 2,3\n\n4 5 6\n", [[1, 2, 3], [4, 5, 6]]),
        (b"\xef\xbb\xbf1,2\r\n3,4\r\n", [[1, 2], [3, 4]]),
        (b"1\t2e-1", [[1, 0.2]]),
    ],
)
def test_data_are_read_from_text(tmp_path, content, rows):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    assert read_data(path).tolist() == rows


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\n \n", "it is empty"),
        (b"1,2\n\n3\n", "line 3 has another number of cells than line 1, 1 and not 2"),
        (b"a,b\n1,2\n", "line 1, 'a,b', has a cell that is no number; the names of columns"),
        (b"1;2\n3;4\n", "line 1, '1;2', has semicolons"),
        (b"1,5;2\n", "line 1, '1,5;2', has semicolons"),
        (b"1,,2\n3,,4\n", "line 1, '1,,2', has an empty cell"),
        (b"1,2\n3,\n", "line 2, '3,', has an empty cell"),
        (b"\x93NUMPY\x01", "reading magic string"),
        (b"\x93NUMPY\x01\x00\x04\x00((((", "Cannot parse header|EOF in multi-line"),
        (b"\xff\xfe", "codec can't decode"),
    ],
)
def test_what_is_no_data(tmp_path, content, message):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(KernelError, match=f"No data can be read from .*data.csv': .*(?:{message})"):
        read_data(path)


def test_files_without_numbers(tmp_path):
    np.save(tmp_path / "data.npy", np.array([None]), allow_pickle=True)
    for path in (tmp_path, tmp_path / "missing", tmp_path / "data.npy"):
        with pytest.raises(KernelError, match="No data can be read from"):
            read_data(path)


def test_what_kinks_hide_is_refused_by_name_and_left_out_of_all():
    relu = MLP(activation="relu", widths=[8], C_b=0.1, C_W=2, lambda_b=0.1, lambda_W=1, n_L=2)
    with pytest.raises(KernelError, match=r"^P cannot be measured for"):
        check(relu, [[1.0, 0.5]], ["G", "P"], networks=100)
    compared = check(relu, [[1.0, 0.5]], ["all"], networks=100)
    assert compared.left_out == tuple("PQRSTU")
    assert "Not compared, since not known or not seen: P Q R S T U." in str(compared)


def test_kinks_of_derivatives_that_layers_read_are_of_lower_order():
    """The slope of elu has the kink of relu, and P of its networks has delta functions."""
    values = {"C_b": 0.1, "C_W": 1.1, "lambda_b": 0.2, "lambda_W": 0.9}
    layers = ["z' = b + W z", "z' = b + W s'(z)", "z' = b + W s(z)"]
    compared = check(Network("elu", [8, 8], values, layers, n_L=2), [[1.0, 0.5]], networks=100)
    assert compared.left_out == tuple("PQRSTU")


def test_what_kinks_make_infinite_next_to_a_skip_is_left_out_of_all():
    values = {"xi": 0.7, "C_b": 0.0, "C_W": 1.0, "lambda_b": 0.1, "lambda_W": 1.0}
    layers = ["z' = b + W z", *["z' = xi z + b + W s(z)"] * 2]
    residual = Network("relu", [8, 8], values, layers, n_L=8)
    compared = check(residual, [[1.0, 0.5]], networks=100)
    assert compared.left_out == (*"PQRSTU",)
    assert {*compared.names} == {*"GHVABDF", "G.1", "H.1"}
    mixed = ["z' = b + W z", *["z' = xi z + b + W (s(z) + 1/2 z)"] * 2]
    with pytest.raises(InfiniteMeanError, match=r"H\.1 of Network"):
        check(Network("relu", [8, 8], values, mixed, n_L=8), [[1.0, 0.5]], ["H.1"], networks=100)


@pytest.mark.slow
def test_inputs_with_positions_say_their_width_to_layers_that_keep_their_neurons():
    values = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.3, "lambda_W": 0.7}
    layers = ["z' = b + W[3] z", "z' = b + W[mean] s(rmsnorm(z))"]
    normed = Network("tanh", [8], values, layers, n_L=4)
    x = np.random.default_rng(0).standard_normal((1, 3, 4))
    assert normed.width_of("rmsnorm(z)", 2) == 8
    assert (
        check(normed, x, networks=100).names == check(normed.resized(n_0=3), x, networks=100).names
    )


def test_a_constant_activation_has_tensors_that_are_exactly_zero():
    """σ = c: only biases fluctuate, G = C_b + C_W c², and what is learned does not."""
    options = {"C_b": 0.25, "C_W": 2.0, "lambda_b": 0.5, "lambda_W": 2.0, "n_L": 3}
    mlp = MLP(activation="3/2", widths=[20, 20], **options)
    x = [[1.0, 0.5, -0.3], [0.2, -1.0, 0.8]]
    result = mlp.propagate(x)
    assert (result["G"][1:] == 0.25 + 2.0 * 1.5**2).all()
    assert (result["H"][1:] == 0.5 + 2.0 * 1.5**2).all()
    assert all((result[name][1:] == 0.0).all() for name in result if name not in "GH")
    compared = check(mlp, x[:1], networks=100)
    assert compared.agrees
    assert np.abs(compared.z_scores("A")).max() < 1e-3


def test_constant_factors_are_taken_out_of_means_of_polynomials():
    options = {"widths": [20, 20], "C_b": 0.2, "C_W": 0.5, "lambda_b": 0.5, "lambda_W": 1.0}
    x = [[1.0, 0.5, -0.3], [0.2, -1.0, 0.8]]
    text = MLP(activation="z + z**2/4", **options).propagate(x)
    zero = np.zeros_like
    functions = [lambda z: z + z**2 / 4, lambda z: 1 + z / 2, lambda z: zero(z) + 0.5, zero, zero]
    listed = MLP(activation=[*functions, zero], **options).propagate(x)
    for name in text:
        scale = np.abs(listed[name]).max()
        np.testing.assert_allclose(text[name], listed[name], rtol=0, atol=1e-6 * scale)


def test_small_outputs_are_judged_by_their_own_size():
    """With inputs of size 1e-6, V is of order 1e-24; a theory ten times as large is seen."""
    mlp = MLP(activation="sin", widths=[8], C_b=0.0, C_W=1.0, n_L=4)
    compared = check(mlp, [[1e-6, 2e-6]], ["V"], networks=2000)
    assert compared.agrees
    assert np.abs(compared.z_scores("V")).max() > 1e-3
    wrong = Comparison(
        mlp,
        {"V": 10 * compared.theory["V"]},
        compared.measured,
        compared.errors,
        2000,
        True,
        norms=compared.norms,
    )
    assert not wrong.agrees


def test_sampling_stops_at_the_error_that_is_asked_for():
    """Of G one part in a hundred takes few networks; all of them give less than that."""
    mlp = MLP(activation="sin", widths=[8, 8], C_b=0.1, C_W=1.0, lambda_b=0.1, lambda_W=1, n_L=4)
    full = check(mlp, X, ["G", "H"], networks=4000)
    found = check(mlp, X, ["G", "H"], networks=4000, error=0.05)
    assert found.networks < full.networks == 4000
    assert found.agrees
    for name in found.names:
        assert found.errors[name].max() <= 0.05 * np.abs(found.theory[name]).max()
    assert check(mlp, X, ["G"], networks=400, error=1e-9).networks == 400
    assert check(mlp, X, ["G"], networks=400, error=1e-9, extrapolate=False).networks == 400


@pytest.mark.parametrize("error", [0, -0.1, float("nan"), "x", [0.1]])
def test_what_is_no_error(error):
    with pytest.raises((KernelError, InputError), match="error is"):
        check(SMALL, X, ["G"], networks=100, error=error)
