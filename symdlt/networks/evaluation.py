"""From a network and data to its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from math import prod
from reprlib import repr as short_repr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation
from symdlt.definitions import ODD, Network
from symdlt.derivation.response.site_kernels import overflow
from symdlt.errors import ActivationError, InfiniteMeanError, KernelError, LayerError
from symdlt.means.quadruples import TOLERANCES
from symdlt.networks.joined_functions import joined_program
from symdlt.networks.jumps import check_jumps
from symdlt.networks.layer_means import check_activation
from symdlt.networks.numbers import check_memory, real_numbers
from symdlt.networks.one_position import one_position_kernels, stays_at_one_position
from symdlt.networks.propagation import Propagation
from symdlt.networks.requests import (
    Blocks,
    asked_tensors,
    axes,
    check_blocks,
    check_data,
    check_learning_rates,
    check_network,
    check_running,
    is_all,
    overlaps,
)
from symdlt.networks.streams import check_streams, stream_tensors
from symdlt.networks.tasks import MOST_SAMPLES, plan, results
from symdlt.precision import TOLERANCE

# Of more samples, those in no block are not read: their overlaps would take more than 32 MB. Of
# fewer they are, so that a block has the bytes that it has among all. Convention.
MANY = 2000


@np.errstate(divide="warn", over="warn", invalid="warn", under="ignore")
def propagate(
    mlp: Network,
    x: ArrayLike,
    tensors: str | Iterable[str] = "all",
    *,
    blocks: Sequence[Sequence[int]] | None = None,
    executor: Executor | None = None,
    tolerance: float = TOLERANCE,
    progress: bool | None = None,
) -> Propagation:
    """The tensors of a network for given data, at every layer.

    Args:
        mlp: the network.
        x: data of shape (N, n_0), one row for each sample.
        tensors: names out of G H V B D A F P Q R S T U, the corrections G.1 H.1, and A3 N3 F3 Q3,
            which layers that keep neurons bring; or "all" of the former that can be had: tensors
            that kinks make infinite, or whose theory is not known for these layers, are left out
            then; asked for by name they are refused with the reason.
        blocks: lists of samples, one for each axis, if not all samples are wanted along it; two
            lists are enough for G, H and their corrections, which use the first two.
        executor: where the work is done; any executor of `concurrent.futures`, or one like it.
            The result is the same.
        tolerance: of means over four samples, relative to the product of their norms, and of means
            of softmax; from 1e-12 to 0.01.
        progress: True or False, or None to show it on a terminal only.

    Raises:
        LayerError: for a network of other layers than dense ones.
        ActivationError: if there are too few derivatives, or functions that are none, or where
            kinks or jumps make tensors infinite: for a jump, H of a sample with itself.
        InputError: for an argument of the wrong kind.
        KernelError: for numbers that cannot be used, overflow, and too little memory.
        UnknownTensorError: if there is no tensor of such a name.

    >>> from symdlt import MLP
    >>> mlp = MLP(activation="sin", widths=[50, 50], C_b=0.0, C_W=1.0)
    >>> propagate(mlp, [[1.0, 0.5, -0.5]], ["G", "V"])
    Propagation(3 layers, 1 sample, tensors=G V)
    """
    check_network(mlp)
    check_running(executor, progress)
    if isinstance(tensors, Iterable) and not isinstance(tensors, str | bytes | bytearray):
        tensors = list(tensors)
    names = asked_tensors(tensors)
    tolerance = _tolerance(tolerance)
    data = check_data(x, not mlp.is_dense)
    all_of_them = is_all(tensors)
    if not mlp.is_dense or any(name in ODD for name in names):
        sized = mlp.resized(n_0=data.shape[1], positions=data.shape[2:])
        names = _had(partial(check_streams, sized), names, all_of_them)
        propagated = partial(_of_streams, sized, data, blocks, tolerance, progress)
        try:
            return propagated(names)
        except InfiniteMeanError:
            if not all_of_them:
                raise
        return propagated(finite_tensors(sized, data, names, tolerance))
    check_learning_rates(mlp, names)
    # Functions that the user has not given can be given: of too few, none are left out.
    written = isinstance(mlp.activation, Activation)
    names = _had(partial(check_activation, mlp), names, all_of_them and written)
    asked = check_blocks(blocks, names, len(data))
    used = [*range(len(data))]
    if len(data) > MANY:
        used = sorted({sample for block in asked for sample in block})
    number = {sample: place for place, sample in enumerate(used)}
    chosen = tuple(tuple(number[sample] for sample in block) for block in asked)
    _check_size(mlp, names, chosen, len(used))
    overlap = overlaps(data[used])
    entries = [np.array(block) for block in chosen[:2]]
    names = _had(lambda some: check_jumps(mlp, overlap, some, entries), names, all_of_them)
    chosen = chosen[: max(axes(name) for name in names)]
    planned = plan(mlp, overlap, names, chosen, tolerance)
    by_name = {
        name: np.empty((mlp.depth, *(len(block) for block in chosen[: axes(name)])))
        for name in names
    }
    with closing(results([item.task for item in planned], executor, progress)) as parts:
        for item, part in zip(planned, parts, strict=True):
            for place, arrays in zip(item.places, part, strict=True):
                for name, array in arrays.items():
                    by_name[name][:, *place] = array
    return Propagation(by_name, mlp.widths, asked[: len(chosen)])


def _had(
    check: Callable[[tuple[str, ...]], object], names: tuple[str, ...], all_of_them: bool
) -> tuple[str, ...]:
    """The names, or if all are asked for those of them that a check does not refuse."""
    try:
        check(names)
    except (ActivationError, LayerError):
        had = tuple(name for name in names if all_of_them and _passes(check, name))
        if had in ((), names):
            raise
        return had
    return names


def _passes(check: Callable[[tuple[str, ...]], object], name: str) -> bool:
    try:
        check((name,))
    except (ActivationError, LayerError):
        return False
    return True


def finite_tensors(
    sized: Network, data: NDArray[np.float64], names: tuple[str, ...], tolerance: float
) -> tuple[str, ...]:
    """Of some tensors of a network with other layers than dense ones those that are finite.

    Which means a tensor takes depends on the definitions of layers alone: two inputs and three
    layers of each definition show what is infinite.

    Raises:
        InfiniteMeanError: if all are infinite.
    """
    shallow = sized.first_layers(of_each=3)
    return _had(partial(_of_streams, shallow, data[:2], None, tolerance, False), names, True)


def _of_streams(
    sized: Network,
    data: NDArray[np.float64],
    blocks: Sequence[Sequence[int]] | None,
    tolerance: float,
    progress: bool | None,
    names: tuple[str, ...],
) -> Propagation:
    """The tensors of a network with other layers than dense ones.

    Raises:
        InfiniteMeanError: if a mean that they take is infinite.
    """
    asked = check_blocks(blocks, names, len(data))
    _check_size(sized, names, asked, len(data))
    program = joined_program(sized, learning=not sized.missing_rates)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            if {*names} <= {"G", "H"} and stays_at_one_position(program):
                tensors = one_position_kernels(sized, program, data, names, tolerance, progress)
            else:
                tensors = stream_tensors(sized, overlaps(data), names, tolerance, progress)
    except InfiniteMeanError as reason:
        what = f"{' '.join(names)} of {sized!r} cannot be had."
        raise InfiniteMeanError(f"{what} {reason}") from reason
    for name, array in tensors.items():
        if not (finite := np.isfinite(array).reshape(sized.depth, -1).all(axis=1)).all():
            raise overflow(f"tensor {name}", int(finite.argmin()) + 1, sized.depth)
    layers = range(sized.depth)
    chosen = {name: a[np.ix_(layers, *asked[: axes(name)])] for name, a in tensors.items()}
    return Propagation(chosen, sized.widths, asked)


def _tolerance(tolerance: float) -> float:
    number = real_numbers("tolerance", tolerance, "a number such as 1e-7")
    low, high = TOLERANCES
    if number.ndim or not low <= number <= high:
        raise KernelError(
            f"tolerance is {short_repr(tolerance)}. It is an error relative to the size of a mean. "
            f"Give a number from {low:g} to {high:g}, such as 1e-7."
        )
    return float(number)


def _check_size(mlp: Network, names: Sequence[str], blocks: Blocks, samples: int) -> None:
    kept = sum(prod(len(block) for block in blocks[: axes(name)]) for name in names)
    together = min(MOST_SAMPLES, len({sample for block in blocks for sample in block}))
    working = 2 * sum(together ** axes(name) for name in names)
    check_memory(
        samples**2 + mlp.depth * (kept + working),
        "Give fewer samples, fewer tensors or layers, or only the blocks you need with blocks=.",
    )
