"""The predicted 1/n corrections against ensembles of real networks, trained to convergence."""

import json

import numpy as np
import pytest

from symdlt import MLP
from symdlt.training import GradientDescent, GradientFlow, predict

from .ensembles import RESULTS

STORED = json.loads(RESULTS.read_text())
WORST, TYPICAL = 4.0, 1.5


def predicted(record):
    """The predicted coefficients of 1/n in the order of the file, and the mean in the limit."""
    told, task = record["configuration"], record["configuration"]["task"]
    hyper = dict(told["architecture"])
    y, widths = np.array(task["y"]), [1] * (hyper.pop("depth") - 1)
    net = MLP(widths=widths, n_L=y.shape[1], **hyper)
    trained = GradientDescent(told["eta"]) if told["algorithm"] == "gd" else GradientFlow()
    found = predict(net, task["x_train"], y, task["x_test"], trained)
    size = found.correction.size
    covariance = found.covariance_correction.transpose(2, 0, 3, 1).reshape(size, size)
    return {"mean": found.correction.T.ravel(), "covariance": covariance}, found.infinite.mean.T


def scores(record):
    """How far measured coefficients are from the predicted ones, in standard errors."""
    ours, limit = predicted(record)
    assert record["limit"]["mean"] == pytest.approx(limit.ravel(), abs=2e-6)
    for name, coefficients in ours.items():
        measured, error = (np.array(record[name][part]) for part in ("c1", "c1_error"))
        yield name, (measured - coefficients) / error


@pytest.mark.parametrize("name", sorted(STORED))
def test_corrections_are_those_of_real_networks(name):
    for part, z in scores(STORED[name]):
        assert np.abs(z).max() < WORST, part
        assert np.sqrt((z**2).mean()) < TYPICAL * (1 + 1 / np.sqrt(z.size)), part


def test_corrections_are_seen():
    """Most corrections are many standard errors, so that the comparison says something."""
    for part in ("mean", "covariance"):
        seen = [
            np.abs(np.divide(record[part]["c1"], record[part]["c1_error"])).max()
            for record in STORED.values()
        ]
        assert min(seen) > 7
