"""Results as tables of pandas and arrays of xarray: the same numbers, with names."""

import sys

import numpy as np
import pytest

from symdlt import MLP, check, exponents, predict_infinite
from symdlt.errors import MissingLibraryError
from symdlt.training import GaussianPrediction, Prediction

HYPER = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.3, "lambda_W": 0.7}
NETWORK = MLP(activation="sin", widths=[20, 50], **HYPER)
X = [[1.0, 0.5], [0.2, -1.0]]


def test_axes_of_tensors_have_names():
    pytest.importorskip("xarray")
    result = NETWORK.propagate(X, ["G", "V"])
    data = result.to_xarray()
    assert data["V"].dims == ("layer", "sample_1", "sample_2", "sample_3", "sample_4")
    assert data["V"].sel(layer=3, sample_1=1).values.tolist() == result["V"][2, 1].tolist()
    assert data.attrs["widths"] == [20, 50]


def test_every_entry_of_a_comparison_is_a_row():
    pytest.importorskip("pandas")
    compared = check(NETWORK, X, ["G", "V"], networks=200)
    frame = compared.to_pandas()
    assert len(frame) == 4 + 16
    row = frame[(frame.tensor == "V") & (frame.samples == (0, 0, 1, 1))].iloc[0]
    assert row.theory == compared.theory["V"][0, 0, 1, 1]
    assert row.z == compared.z_scores("V")[0, 0, 1, 1]


def test_predictions_have_a_row_for_each_output():
    pytest.importorskip("pandas")
    infinite = predict_infinite(NETWORK, X, [1.0, -1.0], [[0.5, 0.0], [0.0, 0.5]])
    frame = infinite.to_pandas()
    assert frame.columns.tolist() == ["sample", "output", "infinite", "deviation"]
    np.testing.assert_array_equal(frame.deviation, infinite.deviation)


def test_a_negative_variance_has_no_deviation():
    infinite = GaussianPrediction(np.array([[1.0], [2.0]]), np.eye(2))
    parts = {"output": -2 * np.eye(2)[:, :, None, None]}
    found = Prediction(infinite, {"NTK": np.zeros((2, 1))}, parts)
    assert np.isnan(found.columns()["deviation"]).all()
    assert str(found).splitlines()[1].split()[-1] == "-"


def test_exponents_are_sympy_numbers():
    pytest.importorskip("pandas")
    frame = exponents("tanh", ["V", "R"]).to_pandas().set_index("name")
    assert frame.loc["R", "exponent"] == -2
    assert frame.loc["V", "ratio"] == "V/(n K^2)"


@pytest.mark.parametrize("name", ["pandas", "xarray"])
def test_without_the_libraries(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    convert = {"pandas": exponents("tanh", ["V"]).to_pandas}
    convert["xarray"] = NETWORK.propagate(X, "G").to_xarray
    with pytest.raises(MissingLibraryError, match=r"pip install 'symdlt\[tables\]'"):
        convert[name]()
