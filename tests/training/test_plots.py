"""Plots carry the numbers they are made of, and Axes are given back."""

import sys

import numpy as np
import pytest

from symdlt.errors import InputError, MissingLibraryError, TrainingError
from symdlt.training import GaussianPrediction, Prediction, plot_ntk_ellipse, plot_prediction

H = np.array([[[1.0, 0.5], [0.5, 1.0]], [[2.0, 0.0], [0.0, 3.0]]])


def radii(line):
    lengths = np.hypot(*line.get_xydata().T)
    return [lengths.min(), lengths.max()]


def test_semi_axes_are_eigenvalues(ax):
    assert plot_ntk_ellipse(H, ax, label="n = 3") is ax
    last, first = ax.get_lines()
    np.testing.assert_allclose(radii(first), [0.5, 1.5], rtol=1e-3)
    np.testing.assert_allclose(radii(last), [2.0, 3.0], rtol=1e-3)
    assert first.get_alpha() < (last.get_alpha() or 1.0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["n = 3"]


def test_each_network_and_time_has_an_ellipse_of_the_same_colour(ax):
    plot_ntk_ellipse(H[0], ax, measured=np.stack([H, 2 * H, 3 * H]))
    theory, *measured = ax.get_lines()
    assert len(measured) == 6
    assert {line.get_color() for line in measured} == {theory.get_color()}
    np.testing.assert_allclose(radii(measured[-1]), [6.0, 9.0], rtol=1e-3)
    assert ax.get_legend() is None
    plot_ntk_ellipse(H[1], ax)
    assert ax.get_lines()[-1].get_color() != theory.get_color()


@pytest.mark.usefixtures("ax")
def test_a_new_figure_is_made_if_no_axes_are_given():
    assert plot_ntk_ellipse(H).get_xlabel() == "sample 0"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"ntks": None}, InputError, "ntks is None"),
        ({"ntks": np.eye(3)}, TrainingError, r"ntks has the shape \(3, 3\)"),
        ({"ntks": H[:0]}, TrainingError, r"ntks has the shape \(0, 2, 2\)"),
        ({"ntks": [[1, 2], [3, 4]]}, TrainingError, "ntks is not symmetric"),
        ({"ntks": [[1, np.nan], [3, 4]]}, TrainingError, "ntks is nan"),
        ({"measured": H}, TrainingError, r"measured has the shape \(2, 2, 2\)"),
        ({"measured": "x"}, InputError, "measured is 'x'"),
        ({"label": 3}, InputError, "3 is not a text for the legend"),
    ],
)
def test_what_cannot_be_drawn(arguments, error, message):
    with pytest.raises(error, match=message):
        plot_ntk_ellipse(**{"ntks": H, **arguments})


def test_no_axes(ax):
    with pytest.raises(InputError, match="3 is not an Axes"):
        plot_ntk_ellipse(H, 3)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'symdlt\[plot\]'"):
        plot_ntk_ellipse(H)


INFINITE = GaussianPrediction(np.array([[1.0], [2.0], [3.0]]), np.diag([1.0, 4.0, 9.0]))
PART = np.array([[0.5], [0.0], [-0.5]])
FINITE = Prediction(INFINITE, {"NTK": PART}, {"output": -np.ones((3, 3, 1, 1))})


def test_means_with_a_band(ax):
    assert plot_prediction(FINITE, [2.0, 0.0, 1.0], ax, train=([0.5], [[2.5]])) is ax
    mean, infinite, crosses = (line.get_xydata() for line in ax.get_lines())
    assert mean.tolist() == [[0, 2], [1, 2.5], [2, 1.5]]
    assert infinite[:, 1].tolist() == [2, 3, 1]
    assert crosses.tolist() == [[0.5, 2.5]]
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices
    assert heights[:, 1].max() == pytest.approx(2.5 + 8**0.5)


def test_trained_networks_are_points_with_their_scatter(ax):
    networks = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    plot_prediction(INFINITE, ax=ax, measured=networks)
    (points,) = ax.containers
    assert points.lines[0].get_ydata().tolist() == [2.0, 2.0, 2.0]
    assert points.lines[1][1].get_ydata().tolist() == [3.0, 2.0, 3.0]


@pytest.mark.usefixtures("ax")
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"prediction": 3}, InputError, "3 is not a prediction"),
        ({"output": 1}, TrainingError, "There is no output 1"),
        ({"x": [1.0]}, TrainingError, "x has 1 entries"),
        ({"measured": [[1.0, 2.0]]}, TrainingError, r"measured has the shape \(1, 2\)"),
        ({"x": [1.0, np.inf, 2.0]}, TrainingError, "no finite numbers"),
        ({"measured": np.empty((0, 3))}, TrainingError, r"measured has the shape \(0, 3\)"),
        ({"train": 5}, InputError, "5 is not places and targets"),
        ({"train": [1.0]}, TrainingError, "train has 1 parts"),
        ({"train": ([1.0], [1.0, 2.0])}, TrainingError, "train has 1 places and 2 targets"),
    ],
)
def test_predictions_that_cannot_be_drawn(arguments, error, message):
    with pytest.raises(error, match=message):
        plot_prediction(**{"prediction": FINITE, **arguments})


def test_without_a_covariance_there_is_no_band(ax):
    plot_prediction(Prediction(INFINITE, {"NTK": PART}, {}), ax=ax)
    assert not ax.collections
