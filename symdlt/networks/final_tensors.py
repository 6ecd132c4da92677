"""The tensors of the last layer at sets of samples that have most of their samples in common."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import Network
from symdlt.networks.evaluation import propagate
from symdlt.networks.layer_means import check_activation
from symdlt.networks.requests import check_learning_rates, check_running, overlaps
from symdlt.networks.tasks import Task, is_one_task, results
from symdlt.precision import TOLERANCE

Array = NDArray[np.float64]


def final_tensors(
    net: Network,
    data: Array,
    names: Sequence[str],
    sets: Sequence[tuple[int, ...]],
    common: int,
    most: int,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> Generator[dict[str, Array], None, None]:
    """Tensors at the last layer, one set of samples after the other.

    Args:
        net: the network.
        data: of shape (N, n_0).
        names: the tensors.
        sets: samples by their numbers. The first of each are those that all have in common.
        common: how many these are.
        most: on how many axes at once there are others. Entries of tensors of four axes with more
            need not be computed, and are 0 then.
        executor: where the work is done, as in `propagate`.
        progress: True or False, or None to show it on a terminal only.

    Raises:
        KernelError, ActivationError: as for `propagate`.
    """
    check_running(executor, progress)
    largest = max(map(len, sets))
    if not (net.is_dense and is_one_task(largest, names)):
        for chosen in sets:
            propagation = propagate(
                net, data[[*chosen]], names, executor=executor, progress=progress
            )
            yield {name: array[-1] for name, array in propagation.tensors.items()}
        return
    check_learning_rates(net, names)
    check_activation(net, names)
    overlap = overlaps(data)
    tasks = []
    for chosen in sets:
        everything = tuple(range(len(chosen)))
        cuts = tuple((everything,) * kind for kind in (4, 2))
        wanted = needed_quadruples(common, len(chosen), most)
        part = overlap[np.ix_(chosen, chosen)]
        tasks.append(Task(net, part, tuple(names), wanted, cuts, TOLERANCE, last=True))
    with closing(results(tasks, executor, progress)) as parts:
        for task, (four, two) in zip(tasks, parts, strict=True):
            others = (np.indices((len(task.overlap),) * 4) >= common).sum(axis=0)
            zeroed = {name: np.where(others > most, 0.0, a[-1]) for name, a in four.items()}
            found_all = zeroed | {name: array[-1] for name, array in two.items()}
            yield {name: found_all[name] for name in names}


def needed_quadruples(common: int, samples: int, most: int) -> NDArray[np.intp] | None:
    """The quadruples with at most so many samples beyond those in common; nothing if that is all.

    Pairs are among them twice, for the corrections G.1 and H.1, which read tensors at these.

    >>> needed_quadruples(1, 2, 1).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]]
    """
    if samples == common or most >= 4:
        return None
    rows = np.array(list(combinations_with_replacement(range(samples), 4)), dtype=np.intp)
    twice = (rows[:, 0] == rows[:, 1]) & (rows[:, 2] == rows[:, 3])
    needed: NDArray[np.intp] = rows[((rows >= common).sum(axis=1) <= most) | twice]
    return needed
