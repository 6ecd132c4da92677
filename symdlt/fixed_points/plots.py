r"""Plots of the plane of $C_W$ and $C_b$: ordered and chaotic networks, and what is between."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.errors import SolutionError, require
from symdlt.fixed_points.arguments import continuous_pieces, is_range
from symdlt.fixed_points.fixed_kernels import ABOVE, BELOW
from symdlt.fixed_points.kernel_curve import KernelCurve
from symdlt.fixed_points.kernel_map import KernelNumbers
from symdlt.fixed_points.universality import criticality
from symdlt.formats.latex import Conventions, renamed
from symdlt.plotting import drawing_axes, legend_beside, mark_of, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    Axes: TypeAlias = PlotAxes
Array = NDArray[np.float64]

# On each side of the plane, a convention.
POINTS = 60
# Layers: kernels that have not come to rest by then show the network of that depth.
LAYERS = 300
# The colour where there is nothing to be drawn, none of the map's.
DIVERGED = "0.8"
# Larger variances are not built, a convention.
LARGEST = 20.0
# Points on a critical line, evenly in log K and again in K, a convention: it looks smooth.
LINE = 150
# Means have thirteen digits; a C_b that is smaller is their error.
ROUNDING = 1e-10
# Layers: deeper networks than are built, and the line itself would be infinitely deep.
DEEPEST = 1e3


def plot_phase_plane(
    activation: ActivationLike,
    ax: Axes | None = None,
    *,
    C_W: Sequence[float] = (0.5, 3.0),
    C_b: Sequence[float] = (0.0, 0.5),
    start: float = 1.0,
    conventions: Conventions | None = None,
) -> Axes:
    r"""Draw the correlation length $\xi_\perp = 1/|\log\chi_\perp|$ and the line $\chi_\perp = 1$.

    Args:
        activation: a name such as "tanh", or an expression in z as text or from SymPy.
        ax: an Axes of Matplotlib, or None for a new figure.
        C_W: the lowest and the highest.
        C_b: the lowest and the highest.
        start: the kernel of the first layer.
        conventions: letters of C_W and C_b.

    Returns:
        The Axes.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite somewhere.
        MissingLibraryError: if matplotlib is not installed.
        SolutionError: if its Gaussian means diverge, or it jumps, or a range is unusable.

    >>> from symdlt.errors import SolutionError
    >>> try:
    ...     plot_phase_plane("tanh", C_W=(2.0, 1.0))
    ... except SolutionError as reason:
    ...     print("a range goes upwards")
    a range goes upwards
    """
    for ends, name in ((C_W, "C_W"), (C_b, "C_b"), ((0, start), "start")):
        _check(ends, name)
    read = read_activation(activation)
    columns, rows = (np.linspace(ends[0], ends[1], POINTS) for ends in (C_W, C_b))
    across, up = np.meshgrid(columns, rows)
    chi = chi_perp(KernelCurve(continuous_pieces(read)), across, up, start)
    if not np.isfinite(chi).any():
        raise SolutionError(
            f"The kernels of {read.name[:60]!r} grow without bound, or do not come to rest, "
            f"everywhere from C_W = {C_W[0]:g} to {C_W[1]:g}. They were to be drawn. "
            "Give another range."
        )
    with np.errstate(divide="ignore"):
        depth = np.log10(np.minimum(1 / abs(np.log(chi)), DEEPEST))
    drawn = drawing_axes(ax)
    from matplotlib.ticker import MaxNLocator

    shades = drawn.contourf(across, up, depth, levels=20, cmap="cividis")
    bar = drawn.figure.colorbar(shades, ax=drawn, label=r"$\log_{10}\xi_\perp$")
    bar.locator = MaxNLocator(6)
    bar.update_ticks()
    if np.nanmin(chi) < 1 < np.nanmax(chi):
        drawn.contour(across, up, chi, levels=[1], colors="white")
    title = f"{read.name[:40]}: white, $\\chi_\\perp = 1$"
    if np.isnan(chi).any():
        drawn.set_facecolor(DIVERGED)
        title += "; grey, no fixed kernel"
    drawn.set_title(title)
    return _named(drawn, conventions)


def plot_criticality(
    activations: Iterable[ActivationLike],
    ax: Axes | None = None,
    *,
    C_b: Sequence[float] = (0.0, 0.5),
    conventions: Conventions | None = None,
) -> Axes:
    r"""Draw the lines $\chi_\perp = 1$ of activations, and on them their critical points.

    Each fixed kernel K has one C_W and one C_b; `critical_line` solves for K at a given C_b.

    Args:
        activations: names such as "tanh", or expressions in z as text or from SymPy.
        ax: an Axes of Matplotlib, or None for a new figure.
        C_b: the lowest and the highest that is drawn.
        conventions: letters of C_W and C_b.

    Returns:
        The Axes.

    Raises:
        ActivationError: if one cannot be read, or is not finite somewhere.
        MissingLibraryError: if matplotlib is not installed.
        SolutionError: if Gaussian means diverge, or it jumps, or the range is unusable.

    >>> from symdlt.errors import SolutionError
    >>> try:
    ...     plot_criticality(["tanh"], C_b=(1.0, 0.0))
    ... except SolutionError as reason:
    ...     print("a range goes upwards")
    a range goes upwards
    """
    _check(C_b, "C_b")
    require(activations, Iterable, "activations", 'Give a list such as ["tanh", "gelu"].')
    listed = [activations] if isinstance(activations, str) else list(activations)
    drawn = drawing_axes(ax)
    for place, one in enumerate(listed):
        read, mark = read_activation(one), mark_of("", place)
        curve = KernelCurve(continuous_pieces(read))
        low, high = curve.scales
        grid, _ = curve.grid(low * BELOW, max(high * ABOVE, 10 * C_b[1]))
        weights, biases = _line(curve, np.array(grid))
        near = np.flatnonzero((biases >= C_b[0]) & (biases <= C_b[1]))
        if near.size:
            first, last = max(near[0] - 1, 0), min(near[-1] + 1, len(grid) - 1)
            low, high = grid[first], grid[last]
            dense = np.union1d(np.geomspace(low, high, LINE), np.linspace(low, high, LINE))
            weights, biases = _line(curve, dense)
        inside = (biases >= C_b[0]) & (biases <= C_b[1]) & (weights <= LARGEST)
        line = np.where(inside, weights, np.nan), np.where(inside, biases, np.nan)
        drawn.plot(*line, label=read.name[:40], markevery=[], **mark)
        for point in criticality(one).points:
            if C_b[0] <= float(point.C_b) <= C_b[1]:
                drawn.plot(float(point.C_W), float(point.C_b), ls="", clip_on=False, **mark)
    legend_beside(drawn)
    return _named(drawn, conventions)


def _line(curve: KernelCurve, K: Array) -> tuple[Array, Array]:
    """C_W and C_b where K is a fixed point with chi_perp = 1."""
    numbers = [(one, curve.at(one)) for one in K.tolist()]
    weights, biases = np.array(
        [(at.critical_weight, at.critical_bias(one)) if at.d else (inf, inf) for one, at in numbers]
    ).T
    # Rounding takes C_b of a scale-invariant activation, which is 0, to either side.
    return weights, np.where(abs(biases) < ROUNDING * K, 0.0, biases)


def _named(ax: Axes, conventions: Conventions | None) -> Axes:
    use = Conventions() if conventions is None else conventions
    require(use, Conventions, "a choice of notation", "Give `Conventions(...)`.")
    ax.set_xlabel(f"${readable(renamed('C_W', use))}$")
    ax.set_ylabel(f"${readable(renamed('C_b', use))}$")
    return ax


def chi_perp(curve: KernelCurve, C_W: Array, C_b: Array, start: float) -> Array:
    """What multiplies the distance of near inputs, for arrays of variances, by iteration.

    Not a number where the kernel leaves the range on which the means exist.
    """
    low, high = curve.scales
    grid, _ = curve.grid(min(low * BELOW, start / 10), max(high * ABOVE, start * 10))
    places = np.log(grid)
    tables = [
        np.log([max(getattr(curve.at(K), name), 1e-300) for K in grid]) for name in ("g", "d")
    ]

    def at(K: Array) -> KernelNumbers:
        g, d = (np.exp(np.interp(np.log(K), places, table)) for table in tables)
        return replace(curve.at(grid[0]), g=g, d=d)

    K: Array = np.full(np.shape(C_W), float(start))
    with np.errstate(all="ignore"):
        for _ in range(LAYERS):
            K = np.asarray(at(K).next_kernel(C_b, C_W))
        chi = at(K).chi_perp(C_W)
    return np.where(np.exp(places[-1]) > K, chi, np.nan)


def _check(ends: Sequence[float], name: str) -> None:
    if not is_range(ends, 0, sys.float_info.max):
        raise SolutionError(
            f"{short_repr(ends)} is not a range of {name}. It stands as {name} in the call. "
            "Give the lowest and the highest, such as (0.5, 3.0)."
        )
