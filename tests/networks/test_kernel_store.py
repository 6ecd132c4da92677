"""Kernels by blocks on the disk: what they are, and what a kill leaves."""

import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import combinations
from multiprocessing import get_all_start_methods, get_context

import numpy as np
import pytest

from symdlt import MLP, Network, propagate
from symdlt.errors import KernelError, MissingLibraryError
from symdlt.networks import KernelStore, store_kernels
from symdlt.networks.lots import lots

NET = MLP(activation="tanh", widths=[20, 20], C_b=0.1, C_W=1.2, lambda_b=0.1, lambda_W=1.0)
X = np.random.default_rng(3).standard_normal((120, 5))
# Room for 40 of the 120 samples in a task.
SMALL = 1.5e8 + 200 * 40**2


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr("symdlt.networks.kernel_store.LEAST_MEMORY", 0.0)


@pytest.mark.parametrize(("samples", "most"), [(7, 3), (20, 9), (100, 30), (57, 8), (500, 60)])
def test_every_two_samples_are_together_once(samples, most):
    together = np.zeros((samples, samples), dtype=int)
    for lot in lots(samples, most):
        assert lot.size <= most
        for a, b in combinations(lot.chunks, 2):
            together[slice(*a), slice(*b)] += 1
            together[slice(*b), slice(*a)] += 1
        for own in lot.own:
            together[slice(*own), slice(*own)] += 1
    assert (together == 1).all()


def test_one_task_if_memory_has_room():
    (lot,) = lots(10, 10)
    assert lot.samples == [*range(10)]


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor, ProcessPoolExecutor])
def test_blocks_are_the_kernels_of_all(tmp_path, executor):
    whole = NET.propagate(X, ["G", "H"])
    if executor is None:
        store = store_kernels(NET, X, tmp_path, memory=SMALL)
    else:
        with executor(2) as workers:
            store = store_kernels(NET, X, tmp_path, memory=SMALL, executor=workers)
    assert len(store.lots) > 3
    for name in store.names:
        np.testing.assert_allclose(store[name], whole[name][-1], rtol=0, atol=1e-13)
        assert np.array_equal(store[name], store[name].T)
    assert np.array_equal(np.load(tmp_path / "H.npy"), KernelStore.open(tmp_path)["H"])


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_what_was_killed_goes_on(tmp_path):
    """At twenty moments; in the end the bytes are those of a run that nobody killed."""
    done, kills = 0, 0
    for moment in np.sort(np.random.default_rng(0).uniform(0.0, 0.2, 20)):
        process = get_context("fork").Process(
            target=store_kernels, args=(NET, X, tmp_path / "killed"), kwargs={"memory": SMALL}
        )
        process.start()
        time.sleep(moment)
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        if (tmp_path / "killed" / "store.json").exists():
            store = KernelStore.open(tmp_path / "killed")
            left = len(store.lots) - len(store.missing)
            assert left >= done
            done = left
    assert kills
    times = {
        lot.number: store.mark(lot).stat().st_mtime_ns
        for lot in store.lots
        if lot not in store.missing
    }
    killed = store_kernels(NET, X, tmp_path / "killed", memory=SMALL)
    plain = store_kernels(NET, X, tmp_path / "plain", memory=SMALL)
    assert {n: (tmp_path / "killed" / "done" / str(n)).stat().st_mtime_ns for n in times} == times
    for name in ("G", "H"):
        assert killed.file(name).read_bytes() == plain.file(name).read_bytes()


@pytest.mark.slow
def test_a_worker_that_dies_loses_nothing(tmp_path):
    """All workers of a pool do at once; those of a cluster are replaced."""
    with (
        ProcessPoolExecutor(1, initializer=os._exit, initargs=(1,)) as workers,
        pytest.raises(KernelError, match="A worker of the executor died"),
    ):
        store_kernels(NET, X, tmp_path, memory=SMALL, executor=workers)
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
        ThreadPoolExecutor(1) as beside,
    ):
        killed = beside.submit(kill_later, next(iter(client.run(os.getpid).values())), tmp_path)
        store = store_kernels(NET, X, tmp_path, memory=SMALL, executor=executor)
        killed.result()
    np.testing.assert_allclose(store["H"], NET.propagate(X, ["H"])["H"][-1], rtol=0, atol=1e-13)


def kill_later(pid, folder):
    """Once some tasks are done."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline and not any((folder / "done").iterdir()):
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


def test_a_store_is_not_taken_for_another(tmp_path):
    store_kernels(NET, X, tmp_path, "G")
    other = MLP(activation="sin", widths=[20, 20], C_b=0.1, C_W=1.2)
    for net, x, names in ((other, X, "G"), (NET, X + 1.0, "G"), (NET, X, "H")):
        with pytest.raises(KernelError, match="another network, other data"):
            store_kernels(net, x, tmp_path, names)
    store_kernels(NET, X, tmp_path, "G", memory=1e9)


def test_functions_are_told_by_their_values(tmp_path):
    def net(*functions):
        return MLP(activation=functions, widths=[20], C_b=0.1, C_W=1.2)

    store_kernels(net(lambda z: np.tanh(z), lambda z: 1 - np.tanh(z) ** 2), X, tmp_path, "G")
    store_kernels(net(np.tanh, lambda z: 1 - np.tanh(z) ** 2), X, tmp_path, "G")
    with pytest.raises(KernelError, match="another network"):
        store_kernels(net(lambda z: np.sin(z), lambda z: np.cos(z)), X, tmp_path, "G")


@pytest.mark.parametrize("name", ["notes.txt", "G.npy"])
def test_files_of_others_are_not_touched(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(KernelError, match=f"has '{name}' in it, and no store"):
        store_kernels(NET, X, tmp_path, "G")
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "[]",
        "null",
        "{}",
        "\x00",
        '{"schema": 1, "samples": "a", "lot": 3, "names": ["G"]}',
        '{"schema": 99, "samples": 3, "lot": 3, "names": ["G"]}',
        '{"schema": 1, "samples": 3, "lot": 0, "names": ["G"]}',
        '{"schema": 1, "samples": 3, "lot": 3, "names": ["X"]}',
    ],
)
def test_headers_that_are_none(tmp_path, header):
    (tmp_path / "store.json").write_text(header)
    for opening in (KernelStore.open, lambda folder: store_kernels(NET, X, folder)):
        with pytest.raises(KernelError, match="There is no store of kernels in"):
            opening(tmp_path)


@pytest.mark.parametrize("content", [None, b"damaged", b""])
def test_kernels_that_are_lost_or_damaged(tmp_path, content):
    store = store_kernels(NET, X, tmp_path)
    store.file("H").unlink()
    if content is not None:
        store.file("H").write_bytes(content)
    for reading in (
        lambda: KernelStore.open(tmp_path),
        lambda: store_kernels(NET, X, tmp_path),
        lambda: store["H"],
    ):
        with pytest.raises(KernelError, match=r"is damaged: H\.npy"):
            reading()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system reserves nothing")
def test_a_full_disk_is_told_before_the_work(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"No space left on device: .*G\.npy"):
        store_kernels(NET, X, tmp_path)


def test_positions_take_memory_too(tmp_path):
    image = np.random.default_rng(0).standard_normal((40, 2, 4, 4))
    values = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.1, "lambda_W": 1.0}
    layers = ["z' = b + W[3x3] s(z)", "z' = b + W[all] s(z)"]
    net = Network("relu", [8], values, layers)
    memory = 1.5e8 + 160 * 16 * 30**2
    store = store_kernels(net, image, tmp_path, memory=memory)
    assert max(lot.size for lot in store.lots) <= 30
    np.testing.assert_allclose(store["H"], propagate(net, image, ["H"])["H"][-1], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tensors": "V"}, "A store holds G and H"),
        ({"memory": -1.0}, "It is in bytes"),
        ({"memory": 1.5e8 + 200 * 9}, "room for 3 of 120 samples"),
    ],
)
def test_what_is_refused(tmp_path, change, message):
    with pytest.raises(KernelError, match=message):
        store_kernels(NET, X, tmp_path / "new", **change)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(KernelError, match="There is no store of kernels in"):
        KernelStore.open(tmp_path / "nothing")
    store = store_kernels(NET, X, tmp_path, "G", memory=SMALL)
    with pytest.raises(KernelError, match="The store has no kernel 'H'"):
        store["H"]
    store.mark(store.lots[0]).unlink()
    assert repr(store).endswith(f"{len(store.lots) - 1} of {len(store.lots)} tasks done)")
    with pytest.raises(KernelError, match=r"1 of \d+ tasks are missing"):
        store["G"]


def test_regression(tmp_path):
    pytest.importorskip("scipy")
    store = store_kernels(NET, X, tmp_path)
    y = np.random.default_rng(0).standard_normal((80, 2))
    H = NET.propagate(X, ["H"])["H"][-1]
    expected = np.linalg.solve(H[:80, :80] + 0.1 * np.eye(80), y)
    np.testing.assert_allclose(store.solve("H", y, 0.1), expected, rtol=1e-9)
    with pytest.raises(KernelError, match="has a row for each"):
        store.solve("H", np.zeros((200, 1)))
    for ridge in (-1e3, np.nan):
        with pytest.raises(KernelError, match="A ridge is not negative"):
            store.solve("H", y, ridge)
    with pytest.raises(KernelError, match="all numbers are finite"):
        store.solve("H", np.full(3, np.inf))
    twins = store_kernels(NET, np.vstack([X, X[3] + 1e-9]), tmp_path / "twins", "H")
    with pytest.raises(KernelError, match="has no inverse"):
        twins.solve("H", np.ones(121))


def test_arrays_of_dask(tmp_path):
    pytest.importorskip("dask.array")
    store = store_kernels(NET, X, tmp_path, "G", memory=SMALL)
    lazy = store.to_dask("G", chunk=50)
    assert lazy.chunks[0] == (50, 50, 20)
    assert np.array_equal(lazy.compute(), store["G"])


def test_libraries_that_are_not_there(tmp_path, monkeypatch):
    store = store_kernels(NET, X, tmp_path, "G")
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(MissingLibraryError, match=r"needs scipy\.linalg, which"):
        store.solve("G", np.zeros(3))
    with pytest.raises(MissingLibraryError, match=r"needs dask.array, .*symdlt\[large\]"):
        store.to_dask("G")
