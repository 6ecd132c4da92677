r"""A plot of the plane of $C_W$ and $C_b$: ordered and chaotic networks, and how deep they see."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from reprlib import repr as short_repr
from typing import Any

import numpy as np

from symdlt.activations import activation as read_activation
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import continuous_pieces, is_range
from symdlt.fixed_points.fixed_kernels import ABOVE, BELOW
from symdlt.fixed_points.kernel_curve import KernelCurve

Array = Any

# On each side of the plane, a convention.
POINTS = 60
# Layers: kernels that have not come to rest by then show the network of that depth.
LAYERS = 300
# Layers: deeper networks than are built, and the line itself would be infinitely deep.
DEEPEST = 1e3


def plot_phase_plane(
    activation: Any,
    ax: Any = None,
    *,
    C_W: Sequence[float] = (0.5, 3.0),
    C_b: Sequence[float] = (0.0, 0.5),
    start: float = 1.0,
) -> Any:
    r"""Draw the correlation length $\xi_\perp = 1/|\log\chi_\perp|$ and the line $\chi_\perp = 1$.

    Args:
        activation: a name such as "tanh", or an expression in z as text or from SymPy.
        ax: an Axes of Matplotlib, or None for a new figure.
        C_W: the lowest and the highest.
        C_b: the lowest and the highest.
        start: the kernel of the first layer.

    Returns:
        The Axes.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite somewhere.
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
    with np.errstate(divide="ignore"):
        depth = np.log10(np.minimum(1 / abs(np.log(chi)), DEEPEST))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure().add_subplot()
    shades = ax.contourf(across, up, depth, levels=20)
    ax.figure.colorbar(shades, ax=ax, label=r"$\log_{10}\xi_\perp$")
    if np.nanmin(chi) < 1 < np.nanmax(chi):
        ax.contour(across, up, chi, levels=[1], colors="black")
    ax.set(xlabel="$C_W$", ylabel="$C_b$", title=f"{read.name[:40]}: black, $\\chi_\\perp = 1$")
    return ax


def chi_perp(curve: KernelCurve, C_W: Array, C_b: Array, start: float) -> Array:
    """What multiplies the distance of near inputs, for arrays of variances, by iteration.

    Not a number where the kernel leaves the range on which the means exist.
    """
    low, high = curve.scales
    grid, _ = curve.grid(min(low * BELOW, start / 10), max(high * ABOVE, start * 10))
    places = np.log(grid)
    kernel, slope = (
        np.log([max(getattr(curve.at(K), name), 1e-300) for K in grid]) for name in ("g", "d")
    )
    K = np.full(np.shape(C_W), float(start))
    with np.errstate(all="ignore"):
        for _ in range(LAYERS):
            K = C_b + C_W * np.exp(np.interp(np.log(K), places, kernel))
        chi = C_W * np.exp(np.interp(np.log(K), places, slope))
    return np.where(np.exp(places[-1]) > K, chi, np.nan)


def _check(ends: Any, name: str) -> None:
    if not is_range(ends, 0, sys.float_info.max):
        raise SolutionError(
            f"{short_repr(ends)} is not a range of {name}. It stands as {name} in the call. "
            "Give the lowest and the highest, such as (0.5, 3.0)."
        )
