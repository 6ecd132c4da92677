"""What kernels for many inputs share; the definitions are copied into each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from numbers import Integral
from reprlib import repr as short_repr
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.codegen._runtime_input import (
    MOST_BYTES,
    PerLayer,
    per_layer,
    real_numbers,
    refuse_large_variance,
    width_ratios,
)
from symdlt.codegen._runtime_tuples import closed_samples, fill, independent_tuples
from symdlt.means._closed import PairTables
from symdlt.means._grids import (
    TINY,
    Array,
    Function,
    KernelInputError,
    check_callable,
)
from symdlt.means._layer_means import LayerMeans
from symdlt.means._pairs import Indices

Tables = Mapping[str, Array]
Samples = tuple[Indices, ...]

SLICE = 1 << 15
LARGEST_OVERLAP = 1.0 + 0.5e-10
ROUGH = 1e-9
VAST = 10**300


class Layer(NamedTuple):
    """Hyperparameters of layer l+1, and r = n_l/n_(l-1)."""

    C_b: float
    C_W: float
    lambda_b: float
    lambda_W: float
    r: float


class Recursion(NamedTuple):
    """How a tensor of layer l+1 follows from means and tensors of layer l."""

    advance: Callable[[Layer, Tables, Tables, Samples], Array]
    needs: tuple[str, ...]
    means: tuple[tuple[int, ...], ...]
    hyperparameters: tuple[str, ...]
    symmetries: tuple[tuple[int, ...], ...]

    @property
    def axes(self) -> int:
        """Two, or four."""
        return len(self.symmetries[0])


class Problem(NamedTuple):
    """Checked input: what to compute, the layers 1 … L, and tuples of samples by tensor.

    The orders of all means that are read stand next to the names of their tables.
    """

    recursions: dict[str, Recursion]
    activation: tuple[Function, ...]
    overlap: Array
    layers: list[Layer]
    chosen: Indices | None
    tuples: dict[str, Indices]
    means: tuple[tuple[int, ...], ...]
    tables: list[str]
    everywhere: Samples


def checked_problem(
    recursions: Mapping[str, Recursion],
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
    if not isinstance(depth, Integral) or isinstance(depth, bool) or depth < 1:
        raise KernelInputError(
            f"The depth is {short_repr(depth)}. It is the number of layers L. "
            "Give a positive integer."
        )
    used = {name for one in kept.values() for name in one.hyperparameters}
    refuse_large(kept, len(dots), int(depth), samples)
    values = [per_layer(name, v, int(depth), name in used) for name, v in hyperparameters.items()]
    ratios = [1.0, *width_ratios(widths, int(depth)).tolist()]
    layers = [Layer(*row) for row in zip(*values, ratios, strict=True)]
    refuse_large_variance(layers[0].C_b, layers[0].C_W, float(dots.diagonal().max()))
    four = {name: one for name, one in kept.items() if one.axes == 4}
    chosen = None if samples is None else closed_samples(samples, len(dots))
    tuples = {
        name: independent_tuples(one.symmetries, len(dots), chosen) for name, one in four.items()
    }
    means = tuple(sorted({mean for one in kept.values() for mean in one.means}))
    tables = list(map(table_name, means))
    pairs = all_pairs(len(dots))
    return Problem(kept, functions, dots, layers, chosen, tuples, means, tables, pairs)


@lru_cache(maxsize=8)
def all_pairs(count: int) -> Samples:
    """The numbers of both samples of all pairs."""
    return np.ix_(*[np.arange(count)] * 2)


def needed_recursions(
    recursions: Mapping[str, Recursion], tensors: Iterable[str] | None
) -> dict[str, Recursion]:
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


def checked_functions(
    activation: Sequence[Function], count: int, names: list[str]
) -> tuple[Function, ...]:
    """Sigma and the derivatives that are needed."""
    given = tuple(activation) if isinstance(activation, Iterable) else (activation,)
    if len(given) < count:
        raise KernelInputError(
            f"The activation is given by {len(given)} functions. The tensors {' '.join(names)} "
            f"need {count}: sigma and its first {count - 1} derivatives. Give them in order."
        )
    check_callable(given)
    return given[:count]


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
    kept: Mapping[str, Recursion], count: int, depth: int, samples: Indices | None
) -> None:
    """Refuse what would not fit into memory."""
    sizes = [count**one.axes for one in kept.values()]
    tables = {mean for one in kept.values() for mean in one.means}
    work = sum(count ** len(mean) for mean in tables)
    four = max((one.axes for one in kept.values()), default=2) == 4
    listed = (50 if samples is None else 8) * count**4 * four
    needed = 8 * (depth * sum(sizes) + work + listed)
    if needed > MOST_BYTES:
        raise KernelInputError(
            f"{len(kept)} tensors of {count} samples at {short_repr(depth)} layers would take "
            f"about {min(needed, VAST) / 1e9:.2g} GB of memory, and this kernel takes "
            f"{MOST_BYTES / 1e9:.2g} GB at most. Give fewer samples or layers, ask for fewer "
            "tensors, or go block by block with the samples of a block alone."
        )


def layers_of(
    problem: Problem,
    means: LayerMeans,
    first_layer: Callable[[Layer, Array], dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> dict[str, Array]:
    """All tensors at all layers, with the layer as the first axis."""
    for name, given in (("means", means), ("after_layer", after_layer)):
        if given is not None and not callable(given):
            raise KernelInputError(
                f"{name} is {short_repr(given)}. Give a function, or leave it out."
            )
    result = empty_layers(problem)
    first = first_layer(problem.layers[0], problem.overlap)
    for name, one in problem.recursions.items():
        if name in first or name not in problem.tuples:
            result[name][0] = first.get(name, 0.0)
        else:
            fill(result[name][0], problem.tuples[name], one.symmetries, 0.0)
        if name in first and not np.isfinite(first[name]).all():
            raise KernelInputError(f"{name} overflows at layer 1. Give smaller learning rates.")
    advance = partial(advance_all, problem, means)
    if not problem.tuples:
        advance = partial(advance_pairs, problem, pair_tables_of(problem, means))
    for layer, h in enumerate(problem.layers[1:], 1):
        below = {name: values[layer - 1] for name, values in result.items()}
        above = {name: values[layer] for name, values in result.items()}
        try:
            advance(h, below, above)
        except KernelInputError as reason:
            refuse_overflow(problem, result, layer)
            raise located(problem, result, reason, layer) from reason
        if after_layer is not None:
            after_layer(layer + 1)
    refuse_overflow(problem, result, len(problem.layers))
    return result


def pair_tables_of(problem: Problem, means: LayerMeans) -> PairTables:
    """What gives the means of all pairs; ours do not check again that K is a covariance."""
    if hasattr(means, "pair_tables"):
        tables: PairTables = means.pair_tables(problem.means)
        return tables
    return partial(tables_of_means, problem, means)


def tables_of_means(problem: Problem, means: LayerMeans, K: Array) -> list[Array]:
    """All means that the recursions read."""
    found = means(K, problem.means, problem.chosen)
    shapes = [np.shape(table) for table in found] if isinstance(found, (list, tuple)) else None
    if shapes != [(len(K),) * len(orders) for orders in problem.means]:
        raise KernelInputError(
            f"The means returned {short_repr(found)} for the orders {short_repr(problem.means)}. "
            "They return a list with a table for each, of shape (N, N) or (N, N, N, N). "
            "Give for instance SmoothMeans(activation) of symdlt.means."
        )
    return list(found)


def empty_layers(problem: Problem) -> dict[str, Array]:
    """Room for all tensors; that of pairs is one piece, which the system gives again and again."""
    depth, count = len(problem.layers), len(problem.overlap)
    pairs = [name for name in problem.recursions if name not in problem.tuples]
    room = dict(zip(pairs, np.empty((len(pairs), depth, count, count)), strict=True))
    return {
        name: np.full((depth, *(count,) * 4), math.nan) if name in problem.tuples else room[name]
        for name in problem.recursions
    }


def located(
    problem: Problem, result: Tables, reason: KernelInputError, layer: int
) -> KernelInputError:
    """An error with the layer that it happened below."""
    start, largest = (float(result["G"][at].diagonal().max()) for at in (0, layer - 1))
    return KernelInputError(
        f"{reason} This happened on the way to layer {layer + 1} of {len(problem.layers)}; the "
        f"largest variance K is {largest:.3g} at layer {layer} and {start:.3g} at layer 1. Where K "
        "grows or decays, C_W is not at its critical value."
    )


def refuse_overflow(problem: Problem, result: Tables, done: int) -> None:
    """Name the first tensor over pairs that is not finite; it never becomes finite again."""
    last = (values[done - 1].ravel() for values in result.values())
    if problem.tuples or all(math.isfinite(values @ values) for values in last):
        return
    for layer, (name, values) in product(range(done), result.items()):
        if not np.isfinite(values[layer]).all():
            reason = KernelInputError(f"{name} overflows.")
            raise located(problem, result, reason, max(layer, 1))


def advance_pairs(
    problem: Problem, tables: PairTables, h: Layer, below: Tables, above: Mapping[str, Array]
) -> None:
    """Write the tensors of the next layer, all of them over pairs."""
    named = dict(zip(problem.tables, tables(below["G"]), strict=True))
    for name, one in problem.recursions.items():
        above[name][...] = one.advance(h, named, below, problem.everywhere)


def table_name(orders: tuple[int, ...]) -> str:
    """The name of a table of means: s0_s2 for <s s''>."""
    return "_".join(f"s{order}" for order in orders)


def advance_all(
    problem: Problem, means: LayerMeans, h: Layer, below: Tables, above: Mapping[str, Array]
) -> None:
    """Write the tensors of the next layer."""
    found = tables_of_means(problem, means, below["G"])
    named = dict(zip(problem.tables, found, strict=True))
    for name, one in problem.recursions.items():
        if name not in problem.tuples:
            above[name][...] = one.advance(h, named, below, problem.everywhere)
            wrong = not np.isfinite(above[name][known_pairs(problem, one)]).all()
        else:
            wrong = False
            rows = problem.tuples[name]
            for start in range(0, len(rows), SLICE):
                part = rows[start : start + SLICE]
                values = one.advance(h, named, below, tuple(part.T))
                wrong = wrong or not np.isfinite(values).all()
                fill(above[name], part, one.symmetries, values)
        if wrong:
            raise KernelInputError(f"{name} overflows.")


def known_pairs(problem: Problem, one: Recursion) -> NDArray[np.bool_]:
    """The pairs at which the tensors that a recursion needs are computed."""
    count = len(problem.overlap)
    if problem.chosen is None or not any(name in problem.tuples for name in one.needs):
        return np.ones((count, count), dtype=bool)
    known = np.zeros((count, count), dtype=bool)
    i, j, k, m = problem.chosen.T
    twice = (i == j) & (k == m)
    known[i[twice], k[twice]] = known[k[twice], i[twice]] = True
    return known
