"""What kernels for many inputs compute, from checked input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from reprlib import repr as short_repr
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.checks import (
    MOST_BYTES,
    PerLayer,
    checked_depth,
    checked_functions,
    checked_layers,
    real_numbers,
    refuse_large_variance,
)
from symdlt.kernels.numpy_target.tuples import closed_samples, independent_tuples
from symdlt.means import TINY, Array, Function, Indices, KernelInputError, Triangle, triangle

Tables = Mapping[str, Array]
Samples = tuple[Indices, ...]

PAIR = 2  # axes of tensors that are computed whole; of others there are tuples
LARGEST_OVERLAP = 1.0 + 0.5e-10  # the root of 1 + 1e-10: overlaps rounded by others still pass
ROUGH = 1e-9  # asymmetry, and negative eigenvalues, relative to the diagonal: the same allowance
VAST = 10**300  # the largest number of bytes to be shown as a float


class TensorRecursion(NamedTuple):
    """How a tensor of layer l+1 follows from means and tensors of layer l.

    Its first argument is the kernel's named tuple of the hyperparameters of layer l+1 and r.
    It is local if it is symmetric, and reads symmetric tables at its own pair of samples alone.
    In a layer of several fields each mean is over one of these, with the numbers of functions.
    """

    advance: Callable[[Any, Tables, Tables, Samples], Array]
    needs: tuple[str, ...]
    means: tuple[tuple[int, ...], ...]
    hyperparameters: tuple[str, ...]
    symmetries: tuple[tuple[int, ...], ...]
    local: bool
    fields: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def axes(self) -> int:
        """Two, or four; three of an odd tensor."""
        return len(self.symmetries[0])


class Problem(NamedTuple):
    """Checked input: what to compute, the layers 1 … L, and tuples of samples by tensor.

    The orders of all means that are read stand next to the names of their tables. Where all is
    local, only the pairs i <= j are computed.
    """

    recursions: dict[str, TensorRecursion]
    activation: tuple[Function, ...]
    overlap: Array
    layers: list[Any]
    chosen: Indices | None
    tuples: dict[str, Indices]
    means: tuple[tuple[int, ...], ...]
    tables: list[str]
    corner: Triangle | None


def checked_problem(
    recursions: Mapping[str, TensorRecursion],
    layer: Callable[..., Any],
    first_layer: Callable[[Any, Any], dict[str, Any]],
    variances: Sequence[str],
    activation: Sequence[Function],
    overlap: Array,
    depth: int,
    hyperparameters: Mapping[str, PerLayer | None],
    widths: Sequence[float] | Array | None,
    tensors: Iterable[str] | None,
    samples: Indices | None,
) -> Problem:
    """Refuse what no kernel can use, and prepare the rest."""
    kept = needed_recursions(recursions, tensors)
    orders = {order for one in kept.values() for mean in one.means for order in mean}
    functions = checked_functions(activation, max(orders, default=0) + 1, list(kept))
    dots = checked_overlap(overlap)
    depth = checked_depth(depth)
    used = {name for one in kept.values() for name in one.hyperparameters}
    refuse_large(kept, len(dots), depth, samples)
    values = checked_layers(hyperparameters, variances, used, widths, depth)
    layers = [layer(*row) for row in zip(*values.values(), strict=True)]
    refuse_large_variance(
        lambda x, h: first_layer(layer(**h), x)["G"],
        float(dots.diagonal().max()),
        layers[0]._asdict(),
        variances,
    )
    tupled = {name: one for name, one in kept.items() if one.axes > PAIR}
    chosen = None if samples is None else closed_samples(samples, len(dots))
    symmetries = dict.fromkeys(one.symmetries for one in tupled.values())
    rows = {ways: independent_tuples(ways, len(dots), chosen) for ways in symmetries}
    tuples = {name: rows[one.symmetries] for name, one in tupled.items()}
    means = tuple(sorted({mean for one in kept.values() for mean in one.means}))
    tables = list(map(table_name, means))
    corner = triangle(len(dots)) if all(one.local for one in kept.values()) else None
    layers = [layer(*map(np.float64, one)) for one in layers]  # whose powers overflow to infinity
    return Problem(kept, functions, dots, layers, chosen, tuples, means, tables, corner)


def needed_recursions(
    recursions: Mapping[str, TensorRecursion], tensors: Iterable[str] | None
) -> dict[str, TensorRecursion]:
    """The recursions of the tensors and of all that they need."""
    asked = recursions if tensors is None else tensors
    listed = list(asked) if isinstance(asked, Iterable) else [asked]
    names = [asked] if isinstance(asked, str) else listed
    unknown = [name for name in names if not isinstance(name, str) or name not in recursions]
    if unknown:
        raise KernelInputError(
            f"The tensors {short_repr(unknown)} are not known. This kernel computes "
            f"{' '.join(recursions)}. Ask for some of these."
        )
    wanted = set(names)
    reached = {"G"}
    while wanted:
        reached |= wanted
        wanted = {need for name in wanted for need in recursions[name].needs} - reached
    return {name: one for name, one in recursions.items() if name in reached}


def checked_overlap(overlap: Array) -> Array:
    """The matrix x_i.x_j/n_0 of all inputs."""
    dots = real_numbers("overlap", overlap)
    if dots.ndim != 2 or dots.shape[0] != dots.shape[1] or not dots.size:
        raise KernelInputError(
            f"The overlap has shape {dots.shape}. It is the matrix x_i.x_j/n_0 of N inputs. "
            "Give an array of shape (N, N) with N at least 1, such as x @ x.T / n_0."
        )
    with np.errstate(all="ignore"):
        if (dots == dots.T).all() and no_negative_eigenvalue(dots):
            return dots
        scale = LARGEST_OVERLAP * np.sqrt(dots.diagonal())
        bound = np.outer(scale, scale)
        possible = np.isfinite(scale).all() and (np.abs(dots) <= bound).all()
        if possible and not (dots == dots.T).all():
            possible = (np.abs(dots - dots.T) <= ROUGH * bound).all()
            dots = 0.5 * (dots + dots.T)
    if not possible:
        raise KernelInputError(
            "The overlap is not that of real inputs: it has entries that are not finite, negative "
            "on the diagonal, larger than |x_i| |x_j|/n_0, or not symmetric. It is the matrix "
            "x_i.x_j/n_0. Give x @ x.T / n_0 of finite inputs."
        )
    if not no_negative_eigenvalue(dots):
        raise KernelInputError(
            "The overlap has a negative eigenvalue. No inputs have such overlaps. It is the matrix "
            "x_i.x_j/n_0. Give x @ x.T / n_0, with all its digits."
        )
    return dots


def no_negative_eigenvalue(overlap: Array) -> bool:
    """Whether a symmetric matrix is finite and, up to rounding, a covariance."""
    even = overlap.copy()
    even.ravel()[:: len(even) + 1] += ROUGH * overlap.diagonal() + TINY
    try:
        return bool(np.isfinite(np.linalg.cholesky(even).diagonal()).all())
    except np.linalg.LinAlgError:
        return False


def refuse_large(
    kept: Mapping[str, TensorRecursion], count: int, depth: int, samples: Indices | None
) -> None:
    """Refuse what would not fit into memory."""
    sizes = [count**one.axes for one in kept.values()]
    tables = {mean for one in kept.values() for mean in one.means}
    work = sum(count ** len(mean) for mean in tables)
    most = max((one.axes for one in kept.values()), default=PAIR)
    listed = (50 if samples is None else 8) * count**most * (most > PAIR)
    if all(one.local for one in kept.values()):
        listed = depth * sum(sizes) // 2 + 4 * count**2
    needed = 8 * (depth * sum(sizes) + work + listed)
    if needed > MOST_BYTES:
        raise KernelInputError(
            f"{len(kept)} tensors of {count} samples at {short_repr(depth)} layers would take "
            f"about {min(needed, VAST) / 1e9:.2g} GB of memory, and this kernel takes "
            f"{MOST_BYTES / 1e9:.2g} GB at most. Give fewer samples or layers, ask for fewer "
            "tensors, or go block by block with the samples of a block alone."
        )


def table_name(orders: tuple[int, ...]) -> str:
    """The name of a table of means: s0_s2 for <s s''>."""
    return "_".join(f"s{order}" for order in orders)
