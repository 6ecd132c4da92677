"""Trained outputs, and the NTK of two samples during training, drawn. They need matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.errors import TrainingError, require
from symdlt.networks.numbers import real_numbers
from symdlt.plotting import COLORS, drawing_axes, legend_beside
from symdlt.training.chains import Array
from symdlt.training.data import check_square
from symdlt.training.prediction import GaussianPrediction, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    Axes: TypeAlias = PlotAxes

# Convention: an ellipse of so many points looks round.
POINTS = 201
# Convention: the faintest of several curves is still seen.
PALEST = 0.25


def plot_prediction(
    prediction: Prediction | GaussianPrediction,
    x: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    output: int = 0,
    measured: ArrayLike | None = None,
    train: tuple[ArrayLike, ArrayLike] | None = None,
) -> Axes:
    """Draw trained outputs: their mean, and a band of one standard deviation to each side.

    At finite width the mean at infinite width is dashed; without a covariance there is no band.

    Args:
        prediction: what `predict`, `predict_infinite` or `posterior` returned.
        x: where the test samples are on the axis, of shape (N,); their numbers if left out.
        ax: where to draw; a new figure if left out.
        output: which neuron of the last layer.
        measured: outputs of trained networks, of shape (networks, N) or (networks, N, n_L); their
            mean and standard deviation are drawn as points with bars.
        train: places and targets of the training samples, drawn as crosses.

    Raises:
        InputError: for what are no real numbers.
        TrainingError: for other shapes, or an output that is not there.
        MissingLibraryError: if matplotlib is not installed.

    >>> from symdlt import MLP, predict_infinite
    >>> mlp = MLP(activation="erf", widths=[1], C_b=0.1, C_W=1.0, lambda_b=0.1, lambda_W=1.0)
    >>> found = predict_infinite(mlp, [[1.0], [-1.0]], [1.0, -1.0], [[-0.5], [0.5]])
    >>> ax = plot_prediction(found, x=[-0.5, 0.5])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('$x$', 'output')
    """
    advice = "Give what `predict`, `predict_infinite` or `posterior` returned."
    require(prediction, Prediction | GaussianPrediction, "a prediction", advice)
    samples, outputs = prediction.mean.shape
    if not (isinstance(output, int) and 0 <= output < outputs):
        raise TrainingError(
            f"There is no output {output!r}. It was asked for in a plot of {outputs} outputs. "
            "Give a number from 0."
        )
    places = np.arange(samples) if x is None else _line_of("x", x, samples)
    order = np.argsort(places)
    drawn, blue = drawing_axes(ax), COLORS[0]
    mean, deviation = prediction.mean[:, output], _deviation(prediction, output)
    if deviation is not None:
        band = (mean - deviation)[order], (mean + deviation)[order]
        drawn.fill_between(places[order], *band, color=blue, alpha=0.2, lw=0, label="one deviation")
    drawn.plot(places[order], mean[order], color=blue, label="mean")
    if isinstance(prediction, Prediction):
        infinite = prediction.infinite.mean[order, output]
        drawn.plot(places[order], infinite, "--k", lw=0.9, label="infinite width")
    if measured is not None:
        _draw_networks(drawn, places, measured, output)
    if train is not None:
        require(train, Sequence, "places and targets", "Give a pair of them.")
        if len(train) != 2:
            raise TrainingError(
                f"train has {len(train)} parts. It has the places and the targets of training "
                "samples. Give a pair of arrays."
            )
        _draw_targets(drawn, *train)
    drawn.set_xlabel("sample" if x is None else "$x$")
    drawn.set_ylabel(f"output {output}" if outputs > 1 else "output")
    legend_beside(drawn)
    return drawn


def _draw_networks(
    drawn: Axes, places: Array | NDArray[np.intp], measured: ArrayLike, output: int
) -> None:
    """Means of trained networks, with their standard deviations."""
    given = real_numbers("measured", measured, "an array of shape (networks, N)")
    networks = given[..., None] if given.ndim == 2 else given
    fits = networks.ndim == 3 and networks.shape[0] and networks.shape[1] == len(places)
    if not fits or networks.shape[2] <= output or not np.isfinite(networks).all():
        raise TrainingError(
            f"measured has the shape {given.shape}, or entries that are no finite numbers. It has "
            f"an output of each network for each of the {len(places)} samples: (networks, N), or "
            "(networks, N, n_L). Give for instance what `train_network` returns for each, stacked."
        )
    outputs = networks[:, :, output]
    drawn.errorbar(
        places,
        outputs.mean(axis=0),
        outputs.std(axis=0),
        fmt="o",
        mfc="none",
        color=COLORS[1],
        capsize=2,
        label="networks",
    )


def _draw_targets(drawn: Axes, *given: ArrayLike) -> None:
    """Places and targets of training samples."""
    where, targets = (real_numbers("train", part, "places and targets") for part in given)
    if where.size != targets.size:
        raise TrainingError(
            f"train has {where.size} places and {targets.size} targets. One cross is drawn "
            "for each. Give as many of both, those of one output."
        )
    drawn.plot(where.reshape(-1), targets.reshape(-1), "kx", label="training samples")


def _line_of(name: str, value: ArrayLike, count: int) -> Array:
    places = real_numbers(name, value, f"an array of shape ({count},)").reshape(-1)
    if places.size != count or not np.isfinite(places).all():
        raise TrainingError(
            f"{name} has {places.size} entries, or some that are no finite numbers. "
            f"It places {count} samples on an axis. "
            "Give one number for each."
        )
    return places


def _deviation(prediction: Prediction | GaussianPrediction, output: int) -> Array | None:
    """Standard deviations of one output, if known; 0 where 1/n makes a variance negative."""
    if isinstance(prediction, GaussianPrediction):
        return prediction.deviation
    if not prediction.covariance_parts:
        return None
    variances = prediction.covariance[:, :, output, output].diagonal()
    deviation: Array = np.sqrt(np.maximum(variances, 0.0))
    return deviation


def plot_ntk_ellipse(
    ntks: ArrayLike,
    ax: Axes | None = None,
    *,
    measured: ArrayLike | None = None,
    label: str | None = None,
) -> Axes:
    r"""Draw NTKs of two samples as ellipses: what they make of the unit circle.

    The axes of $\{H v : |v| = 1\}$ point along the eigenvectors of H and are as long as its
    eigenvalues, the rates at which training errors decay. At infinite width the ellipse stays
    where it is; at finite width it moves, and differs from network to network.

    Call it once for each width; colours differ.

    Args:
        ntks: of the theory, of shape (times, 2, 2) in the order of training, or (2, 2). Later
            ones are drawn darker.
        ax: where to draw; a new figure if left out.
        measured: NTKs of real networks, of shape (networks, times, 2, 2); drawn thin and dashed.
        label: what to call them in the legend.

    Raises:
        InputError: for what are no real numbers.
        TrainingError: for other shapes, matrices that are not symmetric, or infinite entries.
        MissingLibraryError: if matplotlib is not installed.

    >>> ax = plot_ntk_ellipse([[2.0, 1.0], [1.0, 2.0]])
    >>> len(ax.lines), ax.get_xlabel()
    (1, 'sample 0')
    """
    require(label, str | None, "a text for the legend", "Give one such as 'n = 100'.")
    theory = _check_ntks("ntks", ntks, "(times, 2, 2)", 3)
    networks: Array = np.empty(0)
    if measured is not None:
        networks = _check_ntks("measured", measured, "(networks, times, 2, 2)", 4)
    drawn = drawing_axes(ax)
    (last,) = drawn.plot(*_ellipse(theory[-1]), label=label)
    color = last.get_color()
    for ntk, alpha in _shaded(theory[:-1], len(theory)):
        drawn.plot(*_ellipse(ntk), color=color, alpha=alpha)
    for network in networks:
        for ntk, alpha in _shaded(network, len(network)):
            drawn.plot(*_ellipse(ntk), "--", color=color, alpha=alpha, lw=0.7)
    drawn.set_aspect("equal")
    drawn.set_xlabel("sample 0")
    drawn.set_ylabel("sample 1")
    if label is not None:
        drawn.legend()
    return drawn


def _shaded(ntks: Array, count: int) -> Iterator[tuple[Array, float]]:
    """NTKs with how opaque each is drawn, the last of so many fully."""
    return zip(ntks, np.linspace(1.0 if count == 1 else PALEST, 1.0, count), strict=False)


def _ellipse(ntk: Array) -> Array:
    angles = np.linspace(0.0, 2 * np.pi, POINTS)
    outline: Array = ntk @ [np.cos(angles), np.sin(angles)]
    return outline


def _check_ntks(name: str, value: ArrayLike, shape: str, axes: int) -> Array:
    given = real_numbers(name, value, f"an array of shape {shape}")
    ntks = given[None] if given.shape == (2, 2) and axes == 3 else given
    if ntks.ndim != axes or ntks.shape[-2:] != (2, 2) or not ntks.size:
        raise TrainingError(
            f"{name} has the shape {given.shape}. It has the NTK of two samples for each time: "
            f"{shape}. Give for instance trained_ntk(...)[:2, :2, 0, 0] for two training samples."
        )
    for ntk in ntks.reshape(-1, 2, 2):
        check_square(name, ntk)
    return ntks
