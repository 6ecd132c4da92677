"""Kernels of more samples than memory holds: computed by blocks, kept in files others read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise
from math import isqrt, prod
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt._version import VERSION
from symdlt.activations import Activation
from symdlt.definitions import Network, canonical_name, program_of
from symdlt.display import ShownAsText
from symdlt.errors import KernelError, require
from symdlt.files import write_whole
from symdlt.networks.evaluation import propagate
from symdlt.networks.lots import Lot, lots
from symdlt.networks.numbers import SINGULAR, real_numbers
from symdlt.networks.one_position import stays_at_one_position
from symdlt.networks.requests import asked_tensors, axes, check_data, check_network, check_running
from symdlt.networks.workers import errors_of_workers, submitted
from symdlt.progress import track
from symdlt.tables import library

Array = NDArray[np.float64]

# The version of the format.
SCHEMA = 1
HEADER = "store.json"
# An empty file that is there from the first moment on.
BEGUN = ".begun"
# Measured, G and H: bytes that a task takes for each pair of its samples, and as many more for each
# layer.
BYTES, BYTES_EACH = 80.0, 40.0
# Measured: what Python and its libraries take.
INTERPRETER = 1.5e8
# Convention: below this memory nothing useful is done.
LEAST_MEMORY = 2e8
# Where functions are looked at, to tell a network from another.
PLACES = np.linspace(-3.0, 3.0, 61)


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
        header = _header(path)
        store = cls(path, tuple(header["names"]), header["samples"], ())
        for name in store.names:
            store.checked_file(name)
        return replace(store, lots=tuple(lots(store.samples, header["lot"])))

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

    def checked_file(self, name: str) -> np.memmap[Any, Any]:
        """The file of a kernel, mapped for reading.

        Raises:
            KernelError: if it is not there, or not as it was made.
        """
        try:
            kernel = np.load(self.file(name), mmap_mode="r")
            if (kernel.shape, kernel.dtype) != ((self.samples,) * 2, np.float64):
                raise ValueError(f"it holds an array {kernel.shape} of {kernel.dtype}")
        except (OSError, ValueError, EOFError) as reason:
            raise KernelError(
                f"The store in {str(self.folder)!r} is damaged: {self.file(name).name}: {reason}. "
                "Remove the folder, and call store_kernels again."
            ) from reason
        return kernel  # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> np.memmap[Any, Any]:
        """A kernel of shape (N, N), on the disk.

        Raises:
            KernelError: if there is no such kernel, or not all of it yet.
        """
        name = canonical_name(name)
        if name not in self.names:
            raise KernelError(
                f"The store has no kernel {short_repr(name)}. It has {' '.join(self.names)}."
            )
        if self.missing:
            raise KernelError(
                f"{len(self.missing)} of {len(self.lots)} tasks are missing in "
                f"{str(self.folder)!r}. Call store_kernels again, as before, to go on."
            )
        return self.checked_file(name)

    def to_dask(self, name: str, chunk: int = 2000) -> Any:
        """A kernel as an array of dask, in square chunks.

        Raises:
            KernelError: if the chunks have no size.
            MissingLibraryError: if dask is not installed.
        """
        require(chunk, int, "a number of samples", "Give one such as 2000.")
        if chunk < 1:
            raise KernelError(f"chunk is {chunk}. It is a number of samples. Give 2000 or so.")
        return library("dask.array", "large").from_array(self[name], chunks=(chunk, chunk))

    def solve(self, name: str, right: ArrayLike, ridge: float = 0.0) -> Array:
        r"""Kernel regression: $(K_{AA} + \rho)^{-1} y$ for the first samples of a kernel.

        By Cholesky's decomposition in place, so that one matrix of these samples is in memory.

        Args:
            name: the kernel, "H" for training of all layers, "G" for Bayesian inference.
            right: y, of shape (N_A,) or (N_A, n_L), for the first N_A samples.
            ridge: ρ.

        Raises:
            KernelError: if the matrix is singular or not positive, or right does not fit.
            MissingLibraryError: if SciPy is not installed.
        """
        linalg = library("scipy.linalg", "large")
        known = real_numbers("right", right, "targets, one for each training sample")
        if known.ndim not in (1, 2) or not 0 < len(known) <= self.samples:
            raise KernelError(
                f"right has the shape {known.shape}. It has a row for each of the first samples of "
                f"the store, which has {self.samples}. Give N_A targets, or an array (N_A, n_L)."
            )
        added = real_numbers("ridge", ridge, "a number such as 1e-3")
        if added.ndim or not 0.0 <= added < np.inf or not np.isfinite(known).all():
            raise KernelError(
                f"ridge is {short_repr(ridge)}, and right has {known.size} numbers. A ridge is not "
                "negative, and all numbers are finite. Correct them."
            )
        matrix = np.array(self[name][: len(known), : len(known)])
        matrix.ravel()[:: len(known) + 1] += float(added)
        try:
            factor = linalg.cho_factor(matrix.T, overwrite_a=True, check_finite=False)
            ends = factor[0].diagonal()
            if not ends.min() > SINGULAR**0.5 * ends.max():
                raise linalg.LinAlgError("it is singular up to rounding")
        except linalg.LinAlgError as reason:
            raise KernelError(
                f"{name} of the first {len(known)} samples has no inverse: {reason}. "
                "Leave out duplicated samples, or give a ridge."
            ) from reason
        solution: Array = linalg.cho_solve(factor, known, check_finite=False)
        return solution

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
        OSError: with the name of a file that cannot be written, as on a full disk.

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
    names = asked_tensors(tensors)
    if any(axes(name) != 2 or "." in name for name in names):
        raise KernelError(
            f"A store holds G and H. Asked for: {' '.join(names)}. "
            "Tensors of more axes are had in blocks by propagate(…, blocks=…)."
        )
    store = _opened(Path(folder), net, data, names, _most_samples(memory, net, data))
    missing = store.missing
    work = [float(lot.size) ** 2 for lot in missing]
    if executor is None:
        for lot in track(missing, "storing kernels, task", progress, work):
            _fill(store, lot, net, data[lot.samples])
        return store
    waiting: list[Future[None]] = []
    try:
        with errors_of_workers(net.activation):
            for lot in missing:
                waiting.append(submitted(executor, _fill, store, lot, net, data[lot.samples]))
            done = as_completed(waiting)
            for _ in track(range(len(waiting)), "storing kernels, task", progress, work):
                next(done).result()
    finally:
        for future in waiting:
            future.cancel()
    return store


def _most_samples(memory: float, net: Network, data: Array) -> int:
    """How many samples a task may have.

    Of positions, pairs go at one offset, or else all of them are pairs of their own.
    """
    number = real_numbers("memory", memory, "a number of bytes such as 2e9")
    if number.ndim or not LEAST_MEMORY <= number < np.inf:
        raise KernelError(
            f"memory is {short_repr(memory)}. It is in bytes. "
            f"Give a number of at least {LEAST_MEMORY:g}, such as 2e9."
        )
    places = prod(data.shape[2:])
    if places > 1:
        sized = net.resized(n_0=data.shape[1], positions=data.shape[2:])
        program = program_of(sized, learning=not sized.missing_rates)
        places = places if stays_at_one_position(program) else places**2
    each = (BYTES + BYTES_EACH * net.depth) * places
    return isqrt(int((float(number) - INTERPRETER) / each))


def _opened(
    folder: Path, net: Network, data: Array, names: tuple[str, ...], most: int
) -> KernelStore:
    """The store in a folder, which is made if there is none."""
    digest = _digest(net, data, names)
    if (folder / HEADER).exists():
        header = _header(folder)
        if header.get("digest") != digest:
            raise KernelError(
                f"The folder {str(folder)!r} has the kernels {' '.join(header['names'])} of "
                f"{header.get('network')!r}: another network, other data, or another version of "
                "symdlt. Give another folder, or remove this one."
            )
        return KernelStore.open(folder)
    store = KernelStore(folder, names, len(data), tuple(lots(len(data), most)))
    shape, size = (len(data), len(data)), 8 * len(data) ** 2
    _claim(folder)
    (folder / "done").mkdir(exist_ok=True)
    for stale in (folder / "done").iterdir():
        stale.unlink()
    for name in names:
        made = np.lib.format.open_memmap(store.file(name), "w+", np.float64, shape)
        _reserve(store.file(name), made.offset + size)
        made.flush()
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
    return store


def _header(folder: Path) -> dict[str, Any]:
    """What is known of a store.

    Raises:
        KernelError: if there is none, or it is none of ours.
    """
    try:
        header = json.loads((folder / HEADER).read_text("utf-8"))
        whole = [type(header[key]) is int and header[key] > 0 for key in ("samples", "lot")]
        if header["schema"] != SCHEMA or not all(whole) or not {*header["names"]} <= {"G", "H"}:
            raise ValueError(f"its header is none of version {SCHEMA}")
    except (OSError, ValueError, LookupError, TypeError) as reason:
        raise KernelError(
            f"There is no store of kernels in {str(folder)!r}: {type(reason).__name__}: {reason}. "
            "Make one with store_kernels, in a folder that is empty or not there yet."
        ) from reason
    return header  # type: ignore[no-any-return]


def _claim(folder: Path) -> None:
    """Make a folder ours, which one with files of others is not.

    Raises:
        KernelError: if it has any, and no mark that a store was begun there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    others = [path.name for path in folder.iterdir()]
    if others and BEGUN not in others:
        raise KernelError(
            f"The folder {str(folder)!r} has {min(others)!r} in it, and no store. Kernels go into "
            "a folder of their own. Give one that is empty or not there yet."
        )
    (folder / BEGUN).touch()


def _reserve(file: Path, size: int) -> None:
    """Take the room of a file on the disk, where systems can: a full one is no time for signals."""
    if hasattr(os, "posix_fallocate"):
        try:
            with file.open("r+b") as opened:
                os.posix_fallocate(opened.fileno(), 0, size)
        except OSError as reason:
            raise type(reason)(reason.errno, reason.strerror, str(file)) from reason


def _digest(net: Network, data: Array, names: tuple[str, ...]) -> str:
    """A text that tells whether a store is that of a network and of data."""
    given = net.activation
    functions = (
        repr(given.to_sympy())
        if isinstance(given, Activation)
        else [np.asarray(one(PLACES)).tolist() for one in given]
    )
    parts = [VERSION, functions, net.widths, net.values, list(map(repr, net.layers)), net.inner]
    text = json.dumps([*parts, data.shape, names])
    return hashlib.sha256(text.encode() + np.ascontiguousarray(data).tobytes()).hexdigest()


def _fill(store: KernelStore, lot: Lot, net: Network, data: Array) -> None:
    """Compute a task, write it, and mark it as done when it is on the disk."""
    propagation = propagate(net, data, store.names, progress=False)
    ends = np.cumsum([0, *(end - start for start, end in lot.chunks)]).tolist()
    places = [slice(*pair) for pair in pairwise(ends)]
    for name in store.names:
        last = propagation[name][-1]
        target = np.load(store.file(name), mmap_mode="r+")
        for a, b in combinations_with_replacement(range(len(places)), 2):
            if a == b and lot.chunks[a] not in lot.own:
                continue
            block = last[places[a], places[b]]
            target[slice(*lot.chunks[a]), slice(*lot.chunks[b])] = block
            target[slice(*lot.chunks[b]), slice(*lot.chunks[a])] = block.T
        target.flush()
    write_whole(store.mark(lot), b"")
