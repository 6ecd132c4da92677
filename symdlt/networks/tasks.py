"""Independent pieces of work: groups of samples whose tensors no other samples enter."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import Activation
from symdlt.activations.activation import kinks_of
from symdlt.definitions import Network
from symdlt.errors import KernelError
from symdlt.kernels import many_inputs, single_input
from symdlt.means import KernelInputError
from symdlt.networks.layer_means import (
    derivatives_of,
    functions,
    has_vanishing_tensors,
    layer_means,
)
from symdlt.networks.requests import WITHOUT_LEARNING, Blocks, axes
from symdlt.networks.workers import errors_of_workers, submitted
from symdlt.progress import LAYERS_FROM, Progress, track

Array = NDArray[np.float64]
Cut: TypeAlias = tuple[tuple[int, ...], ...]
Place: TypeAlias = tuple[slice, ...]
AfterLayer: TypeAlias = Callable[[int], object]
AfterBlock: TypeAlias = Callable[[float], object]

# Bytes: samples are one task, in which nothing is computed twice, if its arrays take no more.
# Measured, tanh, V at ten layers: 24 samples in groups of four 19.6 s, in one task 1.9 s.
TOGETHER = 2**30
# Measured: arrays of one entry a quadruple that a task has at once, besides its results, and how
# many more for each tensor.
ARRAYS, ARRAYS_EACH = 12, 3
# Convention: of more samples, one task takes four groups of six, or two of twelve.
MOST_SAMPLES = 24
# How many tolerances a variance may be below zero: errors are about one.
SLACK = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Tensors of a few samples, computed from nothing but their overlaps.

    Attributes:
        mlp: the network.
        overlap: overlaps of the samples.
        names: the tensors.
        samples: if given, the quadruples of samples, (Q, 4), at which alone tensors are needed.
        cuts: which samples are wanted along each axis; one tuple of axes for each result.
        tolerance: of four-sample means.
        last: whether the last layer alone is wanted.
    """

    mlp: Network
    overlap: Array
    names: tuple[str, ...]
    samples: NDArray[np.intp] | None
    cuts: tuple[Cut, ...]
    tolerance: float
    last: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A task and where each of its cuts goes in the whole result."""

    task: Task
    places: tuple[Place, ...]


def plan(
    mlp: Network, overlap: Array, names: Sequence[str], blocks: Blocks, tolerance: float
) -> list[Planned]:
    """Divide the work, in a way that depends on the samples alone.

    A tensor at four samples depends on these four only. Few samples are one task. Of many, the
    list of each axis is cut into groups, and a task has one group for each axis; tasks with the
    same groups in another order are one.
    """
    used = tuple(sorted({sample for block in blocks for sample in block}))
    two = tuple(name for name in names if name in ("G", "H"))
    corrections = tuple(name for name in names if name in ("G.1", "H.1"))
    four = tuple(name for name in names if axes(name) == 4)
    if is_one_task(len(used), names):
        kinds = [kind for kind in (4, 2) if any(axes(name) == kind for name in names)]
        return [_whole(mlp, overlap, tuple(names), [blocks[:k] for k in kinds], tolerance)]
    planned = [_whole(mlp, overlap, two, [blocks[:2]], tolerance)] if two else []
    for kind, kept in ((2, corrections), (4, four)):
        if kept:
            planned += _grouped(mlp, overlap, kept, blocks[:kind], tolerance)
    return planned


def is_one_task(samples: int, names: Sequence[str]) -> bool:
    """Whether some tensors of so many samples go together."""
    four = sum(axes(name) == 4 for name in names)
    if not four:
        return samples <= MOST_SAMPLES
    return 8 * (ARRAYS + ARRAYS_EACH * four) * samples**4 <= TOGETHER


def _whole(
    mlp: Network, overlap: Array, names: tuple[str, ...], wanted: list[Blocks], tolerance: float
) -> Planned:
    used = tuple(sorted({sample for blocks in wanted for block in blocks for sample in block}))
    cuts = tuple(tuple(_positions(block, used) for block in blocks) for blocks in wanted)
    places = tuple(tuple(slice(0, len(block)) for block in blocks) for blocks in wanted)
    return Planned(Task(mlp, overlap[np.ix_(used, used)], names, None, cuts, tolerance), places)


def _grouped(
    mlp: Network, overlap: Array, names: tuple[str, ...], blocks: Blocks, tolerance: float
) -> list[Planned]:
    size = MOST_SAMPLES // len(blocks)
    orders: dict[Cut, list[tuple[Cut, Place]]] = {}
    for place in product(*(_equal_parts(len(block), size) for block in blocks)):
        groups = tuple(block[part] for block, part in zip(blocks, place, strict=True))
        orders.setdefault(tuple(sorted(groups)), []).append((groups, place))
    planned = []
    for key, members in orders.items():
        used = tuple(sorted({sample for group in key for sample in group}))
        task = Task(
            mlp,
            overlap[np.ix_(used, used)],
            names,
            quadruples(tuple(_positions(group, used) for group in key)),
            tuple(tuple(_positions(group, used) for group in groups) for groups, _ in members),
            tolerance,
        )
        planned.append(Planned(task, tuple(place for _, place in members)))
    return planned


def _equal_parts(length: int, most: int) -> list[slice]:
    count = -(-length // most)
    ends = [length * part // count for part in range(count + 1)]
    return [slice(*part) for part in pairwise(ends)]


def _positions(block: tuple[int, ...], used: tuple[int, ...]) -> tuple[int, ...]:
    place = {sample: position for position, sample in enumerate(used)}
    return tuple(place[sample] for sample in block)


def quadruples(groups: Cut) -> NDArray[np.intp]:
    """The samples of one choice from each group, as quadruples; the kernel adds what they need.

    >>> quadruples(((0,), (1, 2))).tolist()
    [[0, 0, 1, 1], [0, 0, 2, 2]]
    """
    rows = {tuple(sorted(choice * (4 // len(choice)))) for choice in product(*groups)}
    return np.array(sorted(rows), dtype=np.intp)


def run(
    task: Task, after_layer: AfterLayer | None = None, after_block: AfterBlock | None = None
) -> list[dict[str, Array]]:
    """Compute a task: for each cut its tensors, with the layers along the first axis.

    Raises:
        KernelError: if the kernel refuses the numbers.
    """
    if _is_simple(task):
        arrays = _one_sample(task)
    else:
        arrays = _many_samples(task, task.names, after_layer, after_block)
    _check_variances(arrays, task.tolerance)
    depth = task.mlp.depth
    layers = [depth - 1] if task.last else range(depth)
    return [
        {name: arrays[name][np.ix_(layers, *cut)] for name in task.names if axes(name) == len(cut)}
        for cut in task.cuts
    ]


def _check_variances(arrays: dict[str, Array], tolerance: float) -> None:
    """Refuse a V of one pair of samples, n times the variance of their metric, below zero.

    Its errors are up to the tolerance times what it is the difference of.
    """
    if "V" not in arrays or "G" not in arrays:
        return
    variances = np.einsum("lijij->lij", arrays["V"])
    single = np.einsum("lii->li", arrays["G"])
    sizes = single[:, :, None] * single[:, None] + np.nanmax(np.abs(variances), initial=0.0)
    wrong = variances < -SLACK * tolerance * sizes
    if wrong.any():
        layer, i, j = np.argwhere(wrong)[0].tolist()
        raise KernelError(
            f"V of the pair of samples {i} and {j} is {variances[layer, i, j]:.3g} at layer "
            f"{layer + 1}. It is a variance, and never negative: means over four samples of the "
            "activation came out wrong. Give a smaller tolerance, a smoother activation, or one "
            "that oscillates more slowly."
        )


def _is_simple(task: Task) -> bool:
    """Whether the kernel for a single input can do it, which takes all layers at once."""
    given = task.mlp.activation
    enough = not isinstance(given, Activation) and len(given) > single_input.DERIVATIVES
    smooth = isinstance(given, Activation) and not kinks_of(given)
    four = any(axes(name) == 4 for name in task.names)
    return len(task.overlap) == 1 and four and (enough or smooth)


def _one_sample(task: Task) -> dict[str, Array]:
    """By the kernel for one input; where its equal steps are too coarse, by that for many.

    This one knows from the text of an activation where it is narrow, and has panels there.
    """
    try:
        leading = _leading_of_one(task)
    except KernelError as refused:
        if not isinstance(task.mlp.activation, Activation):
            raise
        try:
            return _many_samples(task, task.names)
        except KernelError:
            raise refused from None
    corrections = tuple(name for name in task.names if name.endswith(".1"))
    return (_many_samples(task, corrections) if corrections else {}) | leading


def _leading_of_one(task: Task) -> dict[str, Array]:
    mlp, zero = task.mlp, (0.0,) * task.mlp.depth
    with _errors_of_ours():
        leading = single_input.propagate(
            functions(mlp, single_input.DERIVATIVES),
            float(task.overlap[0, 0]),
            mlp.depth,
            C_b=mlp.C_b,
            C_W=mlp.C_W,
            lambda_b=mlp.lambda_b or zero,
            lambda_W=mlp.lambda_W or zero,
            widths=mlp.widths,
        )
    return {name: a.reshape(-1, *(1,) * axes(name)) for name, a in leading.items()}


def _many_samples(
    task: Task,
    names: tuple[str, ...],
    after_layer: AfterLayer | None = None,
    after_block: AfterBlock | None = None,
) -> dict[str, Array]:
    mlp, count = task.mlp, derivatives_of(names)
    learning = any(name not in WITHOUT_LEARNING for name in names)
    zero_slopes = has_vanishing_tensors(mlp, task.overlap, learning)
    with _errors_of_ours():
        tensors = many_inputs.propagate(
            functions(mlp, count),
            task.overlap,
            mlp.depth,
            C_b=mlp.C_b,
            C_W=mlp.C_W,
            lambda_b=mlp.lambda_b,
            lambda_W=mlp.lambda_W,
            widths=mlp.widths,
            tensors=names,
            samples=task.samples,
            means=layer_means(mlp, count, task.tolerance, zero_slopes, after_block),
            after_layer=after_layer,
        )
    return tensors


class _Watch:
    """What part of a task is done, in layers and within them; the first one costs nothing.

    Told by the percent: what is done before the first tells little of how long the rest takes.
    """

    def __init__(self, told: Progress, layers: int) -> None:
        self.told, self.layers, self.finished, self.percent = told, layers, -1, -1

    def after_layer(self, _: int) -> None:
        """Another layer is done, the first one before all others."""
        self.finished += 1
        self.after_block(0.0)

    def after_block(self, part: float) -> None:
        """Some part of the layer that is next is done."""
        done = (max(self.finished, 0) + part) / self.layers
        if int(100.0 * done) > self.percent:
            self.percent = int(100.0 * done)
            self.told.reach(self.percent / 100.0, f"{self.percent} %")


@contextmanager
def _errors_of_ours() -> Iterator[None]:
    """What kernels and means refuse, as an error of the tree."""
    try:
        yield
    except KernelInputError as reason:
        raise KernelError(str(reason)) from reason


def results(
    tasks: Sequence[Task], executor: Executor | None, progress: bool | None
) -> Generator[list[dict[str, Array]], None, None]:
    """The results of all tasks in order; what has not begun is cancelled if one fails.

    Raises:
        ActivationError: if the functions of an activation cannot be sent to another process.
        KernelError: if the executor is shut down, or a worker has died.
        InputError: if the executor returns no futures.
    """
    if executor is None and len(tasks) == 1 and not _is_simple(tasks[0]):
        with Progress("propagating", 1.0, progress, LAYERS_FROM) as told:
            watch = _Watch(told, max(tasks[0].mlp.depth - 1, 1))
            yield run(tasks[0], watch.after_layer, watch.after_block)
        return
    if executor is None:
        weights = [_work(task) for task in tasks]
        yield from map(run, track(tasks, "propagating, task", progress, weights))
        return
    waiting: deque[Future[list[dict[str, Array]]]] = deque()
    weights = [*map(_work, tasks)]
    try:
        with errors_of_workers(tasks[0].mlp.activation):
            for task in tasks:
                waiting.append(submitted(executor, run, task))
            for _ in track(range(len(waiting)), "propagating, task", progress, weights):
                yield waiting[0].result()
                waiting.popleft()
    finally:
        for future in waiting:
            future.cancel()


def _work(task: Task) -> float:
    """How tasks compare: by the number of pairs or quadruples of samples that they take means of.

    Of a few samples, what comes with every call counts most.
    """
    if task.samples is not None:
        return float(len(task.samples))
    samples, four = len(task.overlap), any(axes(name) == 4 for name in task.names)
    return float(comb(samples + 3, 4) if four else comb(samples + 1, 2))
