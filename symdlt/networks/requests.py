"""What is asked for: tensors, data, and blocks of samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from numbers import Integral
from reprlib import repr as short_repr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.definitions import (
    BOOK,
    NAMED,
    ODD,
    AnyTensor,
    Network,
    functions_in,
    named_tensor,
    split_subleading,
)
from symdlt.errors import (
    ActivationError,
    InputError,
    KernelError,
    UnknownTensorError,
    require,
)
from symdlt.networks.numbers import real_numbers

Array = NDArray[np.float64]
Blocks = tuple[tuple[int, ...], ...]

TENSORS = (*BOOK, "G.1", "H.1")
KNOWN = (*TENSORS, *ODD)  # odd tensors are no part of "all": most networks have none
WITHOUT_LEARNING = ("G", "V", "G.1", "A3")


def named(name: str) -> AnyTensor:
    """The tensor of a name in `KNOWN`, of which that may be a correction."""
    return NAMED[name.partition(".")[0]]


def axes(name: str) -> int:
    """The number of sample axes of a tensor of `KNOWN`."""
    return named(name).axes


def asked_tensors(tensors: str | Iterable[str]) -> tuple[str, ...]:
    """The names that are asked for, each once, in the order of `KNOWN`.

    Raises:
        UnknownTensorError: if there is no tensor, or no kernel, of such a name.
        InputError: if it is no name or list of names.
    """
    if isinstance(tensors, str):
        names = [tensors]
    elif isinstance(tensors, Iterable) and not isinstance(tensors, bytes | bytearray):
        names = list(tensors)
    else:
        names = []
    if not names:
        raise InputError(
            f"tensors is {short_repr(tensors)}. It tells what to compute. "
            f"Give 'all', or names such as ['G', 'V'], out of {' '.join(KNOWN)}."
        )
    if is_all(names):
        return TENSORS
    asked = {_canonical(name) for name in names}
    return tuple(name for name in KNOWN if name in asked)


def is_all(tensors: str | Iterable[str]) -> bool:
    """Whether "all" are asked for."""
    names = [tensors] if isinstance(tensors, str) else tensors
    return any(isinstance(name, str) and name == "all" for name in names)


def _canonical(name: str) -> str:
    base, piece = split_subleading(name)
    canonical = named_tensor(base).name + (f".{piece}" if piece else "")
    if canonical not in KNOWN:
        raise UnknownTensorError(
            f"There is no kernel of {canonical} for many inputs. There are those of "
            f"{' '.join(KNOWN)}. For one input, `symdlt kernel {canonical} --inputs one -o "
            "my_kernel.py` generates it."
        )
    return canonical


def check_network(network: Network) -> None:
    """Refuse what is no network with an activation, if its layers read one.

    Raises:
        InputError: for what is no network.
        ActivationError: if there is no activation.
    """
    advice = "Give an MLP(activation=…, widths=…, C_b=…, C_W=…)."
    require(network, Network, "a network", advice)
    streams = (stream for layer in network.layers for stream in layer.streams)
    if network.activation == () and any("s" in functions_in(stream) for stream in streams):
        raise ActivationError(f"{network!r} has no activation. Its tensors depend on one. {advice}")


def check_running(executor: object, progress: object) -> None:
    """Refuse what runs no work, and what is no choice of whether to show progress.

    Raises:
        InputError: with what to give.
    """
    advice = "Give a ThreadPoolExecutor, a ProcessPoolExecutor or one like them."
    require(executor, Executor | None, "an executor", advice)
    require(progress, bool | None, "a choice", "Give True, False or None.")


def check_learning_rates(mlp: Network, names: Sequence[str]) -> None:
    """Refuse tensors of the NTK of a network without learning rates."""
    needing = [name for name in names if name not in WITHOUT_LEARNING]
    for symbol in ("lambda_b", "lambda_W"):
        if needing and getattr(mlp, symbol) is None:
            raise KernelError(
                f"{symbol} is missing. The learning rates are in the definition of "
                f"{' '.join(needing)}. Give {symbol} to the MLP; only "
                f"{' '.join(WITHOUT_LEARNING)} can be had without."
            )


def check_data(x: ArrayLike, positions: bool = False) -> Array:
    """The data as an array (N, n_0) of finite numbers; with positions their axes follow.

    Raises:
        InputError: if they are no real numbers.
        KernelError: if they have another shape, no samples, or are not finite.
    """
    data = real_numbers("x", x, "an array of shape (N, n_0), one row for each sample")
    if data.ndim != 2 and not (positions and data.ndim > 2):
        hint = "Give x[None, :] for one sample, or x[:, None] for samples of one component."
        raise KernelError(
            f"x has the shape {data.shape}. It must be (N, n_0), one row for each of N samples. "
            + (hint if data.ndim == 1 else "Give x.reshape(N, -1).")
        )
    if not data.size:
        raise KernelError(
            f"x has the shape {data.shape}. There is no sample, or no component, in it. "
            "Give at least one row of at least one number."
        )
    if not np.isfinite(data).all():
        place = tuple(np.argwhere(~np.isfinite(data))[0].tolist())
        raise KernelError(
            f"x[{', '.join(map(str, place))}] is {data[place]}. Data must be finite. "
            "Remove the sample or correct the value."
        )
    return data


def overlaps(data: Array) -> Array:
    """The overlaps of the samples, (1/n_0) sum_j x_j x_j, at all positions if there are any.

    Raises:
        KernelError: if they overflow.
    """
    data = np.moveaxis(data, 1, -1).reshape(-1, data.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        products: Array = data @ data.T / data.shape[1]
    if not np.isfinite(products).all():
        raise KernelError(
            f"The overlaps x.x/n_0 overflow. The data reach {np.abs(data).max():.3g}. "
            "Scale them down."
        )
    return products


def check_blocks(
    blocks: Sequence[Sequence[int]] | None, names: Sequence[str], samples: int
) -> Blocks:
    """One list of samples for each axis; all samples if none is given.

    Raises:
        InputError: if they are no lists of whole numbers.
        KernelError: if there are too few of them, or samples that do not exist.
    """
    most = max(axes(name) for name in names)
    if blocks is None:
        return (tuple(range(samples)),) * most
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise InputError(
            f"blocks is {short_repr(blocks)}. It holds one list of samples for each axis. "
            "Give for instance ([0, 1], [0, 1], [0, 1], [2])."
        )
    lists = tuple(_sample_list(place, block, samples) for place, block in enumerate(blocks))
    if len(lists) != most:
        raise KernelError(
            f"blocks has {len(lists)} lists of samples. The tensors {' '.join(names)} have up to "
            f"{most} axes. Give {most} lists; tensors with two axes use the first two."
        )
    return lists


def _sample_list(place: int, block: object, samples: int) -> tuple[int, ...]:
    if isinstance(block, Iterable) and not isinstance(block, str):
        members = list(block)
        if members and all(isinstance(i, Integral) and not isinstance(i, bool) for i in members):
            if all(0 <= i < samples for i in members) and len(set(members)) == len(members):
                return tuple(map(int, members))
            raise KernelError(
                f"blocks[{place}] is {short_repr(members)}. The samples are 0 to {samples - 1}, "
                "and each stands once in a list. Correct the list."
            )
    raise InputError(
        f"blocks[{place}] is {short_repr(block)}. It is a list of samples, by their numbers. "
        "Give for instance [0, 1]."
    )
