"""Kernels of more samples than memory holds: computed by blocks, kept in files others read.

A task takes the kernels of some chunks of samples with each other, and each chunk with itself
comes with every task it is in. So few tasks should share a chunk, and each pair of chunks should
be in one task alone. Finite projective planes do that: of $q^2 + q + 1$ chunks, as many tasks have
$q + 1$ each, and every two chunks are together in one (O. Veblen and W. H. Bussey 1906). All tasks
together then take $1 + 1/q$ times the pairs that there are.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, as_completed
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise, product
from math import isqrt
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt._version import VERSION
from symdlt.activations import Activation
from symdlt.definitions import Network
from symdlt.display import ShownAsText
from symdlt.errors import KernelError
from symdlt.files import write_whole
from symdlt.networks.evaluation import propagate
from symdlt.networks.numbers import real_numbers
from symdlt.networks.requests import asked_tensors, axes, check_data, check_network, check_running
from symdlt.progress import track
from symdlt.tables import library

Array = NDArray[np.float64]

# The version of the format.
SCHEMA = 1
HEADER = "store.json"
# Measured, G and H: bytes that a task takes for each pair of its samples, and as many more for each
# layer.
BYTES, BYTES_EACH = 80.0, 40.0
# Measured: what Python and its libraries take.
INTERPRETER = 1.5e8
# Convention: below this memory nothing useful is done.
LEAST_MEMORY = 2e8


@dataclass(frozen=True, slots=True, eq=False)
class Lot:
    """Chunks of samples whose kernels with each other are one task.

    Attributes:
        number: of the task.
        chunks: the first sample of each chunk, and that after its last.
        own: those of them whose kernel with itself this task writes.
    """

    number: int
    chunks: tuple[tuple[int, int], ...]
    own: frozenset[tuple[int, int]]

    @property
    def samples(self) -> list[int]:
        """The samples of all chunks, in their order."""
        return [sample for chunk in self.chunks for sample in range(*chunk)]

    @property
    def size(self) -> int:
        """How many samples it has."""
        return sum(end - start for start, end in self.chunks)


@dataclass(frozen=True, eq=False, repr=False)
class KernelStore(ShownAsText):
    """Kernels of the last layer in a folder: a file of NumPy for each, and what is known of them.

    `store["H"]` is an array of shape (N, N) on the disk, read as it is used. Other programs read
    `H.npy` by `numpy.load(…, mmap_mode="r")`.

    Attributes:
        folder: where it is.
        names: the kernels.
        samples: N.
        lots: the tasks that they are made by.
    """

    folder: Path
    names: tuple[str, ...]
    samples: int
    lots: tuple[Lot, ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> KernelStore:
        """The store in a folder, be it complete or not.

        Raises:
            KernelError: if there is none.
        """
        path = Path(folder)
        try:
            header = json.loads((path / HEADER).read_text())
            samples, size, names = header["samples"], header["lot"], tuple(header["names"])
        except (OSError, ValueError, KeyError, TypeError) as reason:
            raise KernelError(
                f"There is no store of kernels in {str(path)!r}: {short_repr(str(reason))}. "
                "Make one with store_kernels."
            ) from reason
        return cls(path, names, samples, tuple(lots(samples, size)))

    @property
    def missing(self) -> list[Lot]:
        """The tasks that are not done yet."""
        return [lot for lot in self.lots if not self.mark(lot).exists()]

    def mark(self, lot: Lot) -> Path:
        """The file that tells that a task is done."""
        return self.folder / "done" / str(lot.number)

    def file(self, name: str) -> Path:
        """The file of a kernel."""
        return self.folder / f"{name}.npy"

    def __getitem__(self, name: str) -> np.memmap[Any, Any]:
        """A kernel of shape (N, N), on the disk.

        Raises:
            KernelError: if there is no such kernel, or not all of it yet.
        """
        if name not in self.names:
            raise KernelError(
                f"The store has no kernel {short_repr(name)}. It has {' '.join(self.names)}."
            )
        if self.missing:
            raise KernelError(
                f"{len(self.missing)} of {len(self.lots)} tasks are missing in "
                f"{str(self.folder)!r}. Call store_kernels again, as before, to go on."
            )
        return np.load(self.file(name), mmap_mode="r")  # type: ignore[no-any-return]

    def to_dask(self, name: str, chunk: int = 2000) -> Any:
        """A kernel as an array of dask, in square chunks.

        Raises:
            MissingLibraryError: if dask is not installed.
        """
        return library("dask.array", "large").from_array(self[name], chunks=(chunk, chunk))

    def solve(self, name: str, right: ArrayLike, ridge: float = 0.0) -> Array:
        r"""Kernel regression: $(K_{AA} + \rho)^{-1} y$ for the first samples of a kernel.

        By Cholesky's decomposition in place, so that one matrix of these samples is in memory.

        Args:
            name: the kernel, "H" for training of all layers, "G" for Bayesian inference.
            right: y, of shape (N_A,) or (N_A, n_L), for the first N_A samples.
            ridge: ρ.

        Raises:
            KernelError: if the matrix is not positive, or right does not fit.
            MissingLibraryError: if SciPy is not installed.
        """
        linalg = library("scipy.linalg", "large")
        known = real_numbers("right", right, "targets, one for each training sample")
        if known.ndim not in (1, 2) or not 0 < len(known) <= self.samples:
            raise KernelError(
                f"right has the shape {known.shape}. It has a row for each of the first samples of "
                f"the store, which has {self.samples}. Give N_A targets, or an array (N_A, n_L)."
            )
        matrix = np.array(self[name][: len(known), : len(known)])
        matrix.ravel()[:: len(known) + 1] += ridge
        try:
            factor = linalg.cho_factor(matrix.T, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError as reason:
            raise KernelError(
                f"{name} of the first {len(known)} samples has no inverse: {reason}. "
                "Leave out duplicated samples, or give a ridge."
            ) from reason
        found: Array = linalg.cho_solve(factor, known, check_finite=False)
        return found

    def __repr__(self) -> str:
        done = len(self.lots) - len(self.missing)
        return (
            f"KernelStore({str(self.folder)!r}, {' '.join(self.names)}, {self.samples} samples, "
            f"{done} of {len(self.lots)} tasks done)"
        )


def store_kernels(
    net: Network,
    x: ArrayLike,
    folder: str | os.PathLike[str],
    tensors: str | Iterable[str] = ("G", "H"),
    *,
    memory: float = 2e9,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> KernelStore:
    """The kernel and the NTK of the last layer for many samples, in files.

    What is interrupted, or killed at any moment, goes on where it was when called again: no task
    that is done is done twice, and files have the same bytes as if it had not been.

    Args:
        net: the network.
        x: data of shape (N, n_0), one row for each sample.
        folder: where to put them; made if it is not there.
        tensors: "G", "H", or both.
        memory: bytes that each task may take.
        executor: where the tasks are done; its workers write into the same folder.
        progress: True or False, or None to show it on a terminal only.

    Raises:
        KernelError: if the folder has kernels of something else, for too little memory, and as for
            `propagate`.

    >>> from tempfile import TemporaryDirectory
    >>> from symdlt import MLP
    >>> net = MLP(activation="tanh", widths=[50], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> with TemporaryDirectory() as folder:
    ...     store = store_kernels(net, x, folder)
    ...     bool(np.allclose(store["G"], net.propagate(x, ["G"])["G"][-1], rtol=0, atol=1e-13))
    True
    """
    check_network(net)
    check_running(executor, progress)
    data = check_data(x, not net.is_dense)
    names = asked_tensors([tensors] if isinstance(tensors, str) else [*tensors])
    if any(axes(name) != 2 or "." in name for name in names):
        raise KernelError(
            f"A store holds G and H, and {' '.join(names)} were asked for. "
            "Tensors of more axes are had in blocks by propagate(…, blocks=…)."
        )
    store = _opened(Path(folder), net, data, names, _most_samples(memory, net.depth))
    missing = store.missing
    work = [float(lot.size) ** 2 for lot in missing]
    if executor is None:
        for lot in track(missing, "storing kernels, task", progress, work):
            _fill(store, lot, net, data[lot.samples])
        return store
    waiting = [executor.submit(_fill, store, lot, net, data[lot.samples]) for lot in missing]
    try:
        done = as_completed(waiting)
        for _ in track(range(len(waiting)), "storing kernels, task", progress, work):
            next(done).result()
    except (BrokenExecutor, CancelledError) as reason:
        raise KernelError(
            f"A task was not done: {str(reason) or type(reason).__name__}. A worker of the "
            "executor died, as for want of memory, or the executor was shut down. What is done is "
            f"kept in {str(store.folder)!r}: call store_kernels again with a new executor, less "
            "memory or fewer workers."
        ) from reason
    finally:
        for future in waiting:
            future.cancel()
    return store


def _most_samples(memory: float, depth: int) -> int:
    """How many samples a task may have."""
    number = real_numbers("memory", memory, "a number of bytes such as 2e9")
    if number.ndim or not LEAST_MEMORY <= number < np.inf:
        raise KernelError(
            f"memory is {short_repr(memory)}. It is in bytes. "
            f"Give a number of at least {LEAST_MEMORY:g}, such as 2e9."
        )
    return isqrt(int((float(number) - INTERPRETER) / (BYTES + BYTES_EACH * depth)))


def _opened(
    folder: Path, net: Network, data: Array, names: tuple[str, ...], most: int
) -> KernelStore:
    """The store in a folder, which is made if there is none."""
    digest = _digest(net, data, names)
    if (folder / HEADER).exists():
        header = json.loads((folder / HEADER).read_text())
        if header.get("digest") != digest:
            raise KernelError(
                f"The folder {str(folder)!r} has the kernels {short_repr(header.get('names'))} of "
                f"{header.get('network')!r}: another network, other data, or another version of "
                "symdlt. Give another folder, or remove this one."
            )
        return KernelStore.open(folder)
    (folder / "done").mkdir(parents=True, exist_ok=True)
    for stale in (folder / "done").iterdir():
        stale.unlink()
    for name in names:
        shape = (len(data), len(data))
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float64, shape).flush()
    header = {
        "schema": SCHEMA,
        "version": VERSION,
        "network": repr(net),
        "digest": digest,
        "names": names,
        "samples": len(data),
        "lot": most,
    }
    write_whole(folder / HEADER, json.dumps(header, indent=1))
    return KernelStore.open(folder)


def _digest(net: Network, data: Array, names: tuple[str, ...]) -> str:
    """A text that tells whether a store is that of a network and of data."""
    given = net.activation
    functions = (
        repr(given.to_sympy())
        if isinstance(given, Activation)
        else [getattr(one, "__qualname__", repr(type(one))) for one in given]
    )
    parts = [VERSION, functions, net.widths, net.values, list(map(repr, net.layers)), net.inner]
    text = json.dumps([*parts, data.shape, names])
    return hashlib.sha256(text.encode() + np.ascontiguousarray(data).tobytes()).hexdigest()


def _fill(store: KernelStore, lot: Lot, net: Network, data: Array) -> None:
    """Compute a task, write it, and mark it as done when it is on the disk."""
    found = propagate(net, data, store.names, progress=False)
    ends = np.cumsum([0, *(end - start for start, end in lot.chunks)]).tolist()
    places = [slice(*pair) for pair in pairwise(ends)]
    for name in store.names:
        last = found[name][-1]
        target = np.load(store.file(name), mmap_mode="r+")
        for a, b in combinations_with_replacement(range(len(places)), 2):
            if a == b and lot.chunks[a] not in lot.own:
                continue
            block = last[places[a], places[b]]
            target[slice(*lot.chunks[a]), slice(*lot.chunks[b])] = block
            target[slice(*lot.chunks[b]), slice(*lot.chunks[a])] = block.T
        target.flush()
    write_whole(store.mark(lot), b"")


def lots(samples: int, most: int) -> Iterator[Lot]:
    """The tasks for some samples, of which each has at most so many.

    >>> [lot.chunks for lot in lots(4, 10)]
    [((0, 4),)]
    >>> [[start for start, _ in lot.chunks] for lot in lots(7, 3)][:3]
    [[4, 5, 6], [1, 3, 4], [2, 3, 6]]
    """
    if samples <= most:
        chunks, members = [(0, samples)], [[0]]
    else:
        order = next(
            (q for q in range(2, samples) if _is_prime(q) and _largest(samples, q) <= most), 0
        )
        if not order:
            raise KernelError(
                f"So little memory has room for {most} of {samples} samples at a time. "
                "Give more memory, or fewer samples."
            )
        points = [*_points(order)]
        parts = [samples * part // len(points) for part in range(len(points) + 1)]
        chunks = [*pairwise(parts)]
        members = [
            [k for k, point in enumerate(points) if _is_on(point, line, order)] for line in points
        ]
    seen: set[int] = set()
    for number, some in enumerate(members):
        own = frozenset(chunks[k] for k in some if k not in seen)
        seen.update(some)
        yield Lot(number, tuple(chunks[k] for k in some), own)


def _largest(samples: int, order: int) -> int:
    """How many samples a task has at most in a projective plane of an order."""
    return (order + 1) * -(-samples // (order**2 + order + 1))


def _points(order: int) -> Iterator[tuple[int, int, int]]:
    """The points of the projective plane over the numbers modulo a prime; lines are alike."""
    numbers = range(order)
    yield from ((1, a, b) for a, b in product(numbers, repeat=2))
    yield from ((0, 1, a) for a in numbers)
    yield (0, 0, 1)


def _is_on(point: tuple[int, ...], line: tuple[int, ...], order: int) -> bool:
    return sum(a * b for a, b in zip(point, line, strict=True)) % order == 0


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % k for k in range(2, isqrt(number) + 1))
