"""The NTK of two samples in the course of training, drawn. This needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.errors import TrainingError, require
from symdlt.networks.numbers import real_numbers
from symdlt.networks.plots import drawing_axes
from symdlt.training.data import check_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    Axes: TypeAlias = PlotAxes
Array = NDArray[Any]

# Convention: an ellipse of so many points looks round.
POINTS = 201
# Convention: the faintest of several curves is still seen.
PALEST = 0.25


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
