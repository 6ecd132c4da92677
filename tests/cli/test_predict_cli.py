"""`symdlt predict` gives what `predict` gives, and refuses in words what it cannot read."""

import json

import numpy as np
import pytest

from symdlt import MLP, GradientDescent, GradientFlow, predict
from symdlt.cli import main
from symdlt.training import TwoStep, predict_infinite

X = np.array([[1.0, 0.5], [0.2, -1.0]])
Y = np.array([[1.0], [-0.5]])
X_TEST = np.array([[0.6, 0.1]])
HYPER = {"C_b": 0.0, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": 1.0}
SIN = MLP(activation="sin", widths=[30, 30], **HYPER)
COMMAND = ["predict", "--train", "train.npz", "--test", "test.npz", "--activation", "sin"]
WIDTHS = ["--widths", "2*30"]
RELU = ["--activation", "relu"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("train.npz", x=X, y=Y)
    np.savez("test.npz", x=X_TEST)
    np.savez("objects.npz", x=np.array([None]), y=Y)
    np.save("x.npy", X)
    np.savetxt("x_test.csv", X_TEST, delimiter=",")
    np.savetxt("y.txt", Y)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "train.npz").read_bytes()[:100])


@pytest.mark.parametrize(
    ("arguments", "algorithm"),
    [
        (["--algorithm", "gd", "--eta", "0.1"], GradientDescent(0.1)),
        (["--algorithm", "gd", "--eta", "0.1", "--steps", "7"], GradientDescent(0.1, 7)),
        (["--algorithm", "gd", "--eta", "0.1,0.3"], GradientDescent([0.1, 0.3])),
        (["--time", "2.5"], GradientFlow(2.5)),
        (["--algorithm", "two-step"], TwoStep()),
        ([], GradientFlow()),
    ],
)
def test_the_table_is_that_of_predict(arguments, algorithm, capsys):
    assert main([*COMMAND, *WIDTHS, *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{predict(SIN, X, Y, X_TEST, algorithm)}\n"
    assert captured.err == ""


@pytest.mark.parametrize("infinite", [[], ["--infinite"]])
def test_a_ridge_is_handed_on(infinite, capsys):
    assert main([*COMMAND, *WIDTHS, "--ridge", "1/4", *infinite]) == 0
    expected = (predict_infinite if infinite else predict)(SIN, X, Y, X_TEST, ridge=0.25)
    assert capsys.readouterr().out == f"{expected}\n"


def test_hyperparameters_are_handed_on(capsys):
    options = ["--C_b", "0.2", "--C_W", "1.5", "--lambda_b", "0.3", "--lambda-W", "1,1,2"]
    assert main([*COMMAND, *WIDTHS, *options, "--no-covariance"]) == 0
    hyper = {"C_b": 0.2, "C_W": 1.5, "lambda_b": 0.3, "lambda_W": [1, 1, 2]}
    net = MLP(activation="sin", widths=[30, 30], **hyper)
    expected = predict(net, X, Y, X_TEST, covariance=False)
    assert capsys.readouterr().out == f"{expected}\n"


def test_json_and_npz_hold_all_parts(capsys):
    expected = predict(SIN, X, Y, X_TEST).arrays()
    assert main([*COMMAND, *WIDTHS, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert main([*COMMAND, *WIDTHS, "-o", "out.npz"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "wrote out.npz" in captured.err
    with np.load("out.npz") as saved:
        assert set(printed) == set(saved) == set(expected)
        for name, array in expected.items():
            np.testing.assert_array_equal(saved[name], array)
            np.testing.assert_array_equal(printed[name], array)


@pytest.mark.parametrize("widths", [["--widths", "3x1"], ["--widths", "1,1,1"], ["--depth", "4"]])
def test_infinite_width(widths, capsys):
    given = [*widths, *(["--widths", "5"] if "--depth" in widths else [])]
    assert main([*COMMAND, *RELU, *given, "--infinite"]) == 0
    net = MLP(activation="relu", widths=[1, 1, 1], **HYPER)
    expected = predict_infinite(net, X, Y, X_TEST)
    names, line = capsys.readouterr().out.splitlines()
    assert names.split() == ["sample", "output", "infinite", "deviation"]
    numbers = [expected.mean[0, 0], expected.deviation[0]]
    assert line.split() == ["0", "0", *(f"{number:.6g}" for number in numbers)]


def test_infinite_width_in_json(capsys):
    assert main([*COMMAND, *RELU, *WIDTHS, "--infinite", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"infinite_mean", "infinite_covariance"}


def test_data_in_other_files(capsys):
    assert main([*COMMAND, *WIDTHS]) == 0
    files = ["--train", "x.npy", "--targets", "y.txt", "--test", "x_test.csv"]
    assert main([*COMMAND, *WIDTHS, *files]) == 0
    first, second = np.split(np.array(capsys.readouterr().out.splitlines()), 2)
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "give --widths, one for each layer but the last, or --depth 1"),
        (["--widths", "3*"], 2, "'3*' are no whole numbers; give them as 32,64, or 3*100"),
        (["--widths", "99999*2"], 2, "'99999*2' are no whole numbers"),
        ([*WIDTHS, "--depth", "2"], 2, "--depth 2 does not fit 2 hidden widths"),
        ([*WIDTHS, "--eta", "0.1"], 2, "--eta belongs to --algorithm gd"),
        ([*WIDTHS, "--algorithm", "gd"], 2, "needs its step size, as --eta 0.1"),
        (
            [*WIDTHS, "--algorithm", "two-step", "--time", "1"],
            2,
            "--time belongs to --algorithm fl",
        ),
        ([*WIDTHS, "--train", "x.npy"], 2, "'x.npy' has no targets, it is no npz with x and y"),
        ([*WIDTHS, "--format", "json", "-o", "a.npz"], 2, "json does not go into a npz"),
        ([*WIDTHS, "--train", "no.npz"], 1, "from 'no.npz': No such file or directory. Give an"),
        ([*WIDTHS, "--train", "test.npz"], 1, "'test.npz': it has no array 'y', only ['x']."),
        ([*WIDTHS, "--train", "cut.npz"], 1, "from 'cut.npz': "),
        ([*WIDTHS, "--train", "objects.npz"], 1, "from 'objects.npz': Object arrays cannot be"),
        ([*WIDTHS, "--targets", "x_test.csv"], 1, "y_train has the shape (1, 2)."),
        ([*WIDTHS, "--test", "y.txt"], 1, "x_train has 2 columns and x_test 1."),
        ([*WIDTHS, *RELU], 1, "The activation 'relu' has a kink."),
        ([*WIDTHS, "--time", "nan"], 1, "time is nan."),
        ([*WIDTHS, "--algorithm", "gd", "--eta", "99"], 1, "The step size 99.0 is too large"),
        ([*WIDTHS, "-o", "no/out.npz"], 1, "cannot write 'no/out.npz': No such file"),
    ],
)
def test_a_prediction_that_cannot_be_made(arguments, code, message, capsys):
    try:
        found = main([*COMMAND, *arguments])
    except SystemExit as stop:
        found = stop.code
    assert found == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
