"""`propagate`: requests, blocks and executors. One sample is computed by the committed kernel."""

import math
import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from multiprocessing import current_process
from types import SimpleNamespace

import numpy as np
import pytest

import symdlt.networks.tasks as tasks
from symdlt import BOOK, MLP, Network, progress, propagate
from symdlt.algebra import from_cumulants
from symdlt.definitions import Stack
from symdlt.errors import ActivationError, InputError, KernelError, LayerError, UnknownTensorError
from symdlt.kernels import single_input
from symdlt.networks import TENSORS
from symdlt.progress import track

SINE = [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]
HYPER = {"C_b": 0.1, "C_W": [1.0, 1.2, 0.9], "lambda_b": 0.3, "lambda_W": [1.0, 0.5, 0.7]}
MLP3 = MLP(activation="sin(z)", widths=[32, 48], **HYPER)
X = np.array([[1.0, 0.5, -0.3]])
MASKED = np.ma.masked_array([[1.0, 0.5], [0.2, 0.1]], mask=[[0, 0], [0, 1]])


@pytest.mark.parametrize("activation", ["sin(z)", SINE])
def test_one_sample_is_the_kernel_of_one_input(activation):
    found = MLP(activation=activation, widths=[32, 48], **HYPER).propagate(X, list(BOOK))
    expected = single_input.propagate(SINE, float(X[0] @ X[0] / 3), 3, widths=[32, 48], **HYPER)
    assert {*found} == {*expected}
    for name, values in expected.items():
        assert found[name].shape == (3,) + (1,) * BOOK[name].axes
        np.testing.assert_allclose(found[name].ravel(), values, rtol=1e-12, atol=1e-15)


def test_tensors_without_learning_rates():
    mlp = MLP(activation="tanh", widths=[8], C_b=0.1, C_W=1.0)
    assert mlp.propagate(X, ["V", "G"]).names == ("G", "V")
    with pytest.raises(KernelError, match=r"lambda_b is missing. .* definition of H A"):
        mlp.propagate(X, ["G", "A", "H"])


def test_all_may_stand_in_a_list():
    for names in (["all"], ["V", "all"]):
        assert MLP3.propagate(X, names).names == MLP3.propagate(X).names


@pytest.mark.parametrize("tolerance", [np.float32(1e-3), np.array(1e-3), Fraction(1, 1000)])
def test_a_tolerance_is_any_real_number(tolerance):
    x, mlp = [[1.0, 0.5], [0.2, 0.1]], MLP(activation="sin", widths=[9], C_b=0.1, C_W=1.0)
    found, expected = (mlp.propagate(x, "V", tolerance=t)["V"] for t in (tolerance, 1e-3))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("x", [X, np.eye(2)], ids=len)
def test_variances_too_large_are_blamed_on_what_makes_them_so(x):
    for change, remedy in (({"C_b": 1e308}, "a smaller C_b"), ({"C_W": 1e200}, "a smaller C_W")):
        mlp = MLP(
            activation="tanh", widths=[8, 8], **{**HYPER, "C_W": 1.0, "lambda_W": 1, **change}
        )
        with pytest.raises(KernelError, match=f"of layer 1 is .* too large .* {remedy}"):
            mlp.propagate(x, ["V"])


def test_other_names_of_the_same_tensor():
    assert MLP3.propagate(X, ["X4_02_13", "B"]).names == ("B",)


def entries(overlap, name, layer):
    """An invention that tells all axes, samples, layers and tensors apart."""
    o = overlap * (1 + layer + len(name) * ord(name[0]) % 13)
    if name[0] in "GH":
        return o
    found = o[:, :, None, None] + 2 * o[:, None, :, None] + np.cos(o)[None, :, None, :] * o**3
    # V of a pair with itself is a variance, which `propagate` checks
    return found + 1e6 if name == "V" else found


def invented_kernel(activation, overlap, depth, *, tensors, samples, means, after_layer, **hyper):
    found = {
        name: np.stack([entries(overlap, name, layer) for layer in range(depth)])
        for name in tensors
    }
    if samples is not None:
        kept = {tuple(multiset) for multiset in samples.tolist()}
        for array in found.values():
            for entry in product(range(len(overlap)), repeat=array.ndim - 1):
                padded = tuple(sorted(entry * (2 if len(entry) == 2 else 1)))
                if padded not in kept:
                    array[:, *entry] = np.nan
    return found


@pytest.fixture
def invented(monkeypatch):
    module = SimpleNamespace(propagate=invented_kernel)
    monkeypatch.setattr(tasks, "many_inputs", module)


ALL = ["G", "H", "V", "F", "G.1", "H.1"]


def compare(result, overlap, blocks, names=ALL):
    assert {*result} == {*names}
    for name in names:
        axes = 2 if name[0] in "GH" else 4
        whole = np.stack([entries(overlap, name, layer) for layer in range(3)])
        np.testing.assert_array_equal(result[name], whole[np.ix_(range(3), *blocks[:axes])])


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize("samples", [2, 16, 17, pytest.param(21, marks=pytest.mark.slow)])
def test_all_samples(samples):
    x = np.random.default_rng(samples).normal(size=(samples, 3))
    compare(MLP3.propagate(x, ALL), x @ x.T / 3, [range(samples)] * 4)


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize(
    "blocks",
    [
        ([0, 1], [0, 1], [0, 1], [2]),
        ([5], [3], [1], [0]),
        (range(10), range(10), range(10), [11, 10]),
        ([0, 2, 4, 6, 8], [1], range(20), [7, 3]),
    ],
)
def test_blocks_are_parts_of_the_whole(blocks):
    x = np.random.default_rng(1).normal(size=(20, 3))
    result = MLP3.propagate(x, ALL, blocks=blocks)
    assert result.blocks == tuple(map(tuple, blocks))
    compare(result, x @ x.T / 3, [list(block) for block in blocks])


@pytest.mark.usefixtures("invented")
def test_two_lists_are_enough_for_two_axes():
    x = np.random.default_rng(1).normal(size=(20, 3))
    names = ["G", "G.1"]
    result = MLP3.propagate(x, names, blocks=([3, 4], [11, 0]))
    compare(result, x @ x.T / 3, [[3, 4], [11, 0]], names)


class Later(Executor):
    """It runs a task when its result is asked for, and keeps count of what was cancelled."""

    def __init__(self):
        self.futures = []

    def submit(self, function, /, *arguments):
        future = Future()
        self.futures.append(future)
        original = future.result

        def result(timeout=None):
            future.set_running_or_notify_cancel()
            future.set_result(function(*arguments))
            return original()

        future.result = result
        return future


@pytest.mark.usefixtures("invented")
def test_the_result_does_not_depend_on_the_executor():
    x = np.random.default_rng(2).normal(size=(10, 3))
    alone = MLP3.propagate(x, ALL)
    with ThreadPoolExecutor(3) as threads:
        for executor in (threads, Later()):
            shared = MLP3.propagate(x, ALL, executor=executor)
            assert all(np.array_equal(alone[name], shared[name]) for name in ALL)


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize("stop", [KeyboardInterrupt, KernelError])
def test_what_has_not_begun_is_cancelled_when_one_task_stops(stop, monkeypatch):
    executor, run = Later(), tasks.run

    def stopping(task):
        if task.names == ("G.1", "H.1"):
            raise stop
        return run(task)

    monkeypatch.setattr(tasks, "run", stopping)
    monkeypatch.setattr(tasks, "TOGETHER", 0)
    with pytest.raises(stop):
        MLP3.propagate(np.eye(17), ALL, executor=executor)
    first, *others = executor.futures
    assert first.done()
    assert not first.cancelled()
    assert len(others) > 5
    assert all(future.cancelled() for future in others[1:])


def test_processes_take_text_and_refuse_closures():
    alone = MLP3.propagate(X, ["V", "U"])
    with ProcessPoolExecutor(1) as processes:
        shared = MLP3.propagate(X, ["V", "U"], executor=processes)
        assert all(np.array_equal(alone[name], shared[name]) for name in alone)
        closures = MLP(activation=SINE, widths=[32, 48], **HYPER)
        with pytest.raises(ActivationError, match=r"cannot be sent to another process: .*lambda"):
            closures.propagate(X, ["V"], executor=processes)


def dying(z):
    if current_process().name != "MainProcess":
        os._exit(1)
    return np.sin(z)


def minus_sine(z):
    return -np.sin(z)


def test_a_worker_that_dies():
    mlp = MLP(activation=[dying, np.cos, minus_sine], widths=[8], C_b=0.1, C_W=1.0)
    with ProcessPoolExecutor(1) as processes:
        for _ in range(2):
            with pytest.raises(KernelError, match=r"A task was not done: .*terminated abruptly"):
                mlp.propagate(X, ["V"], executor=processes)


class Careless(Executor):
    def submit(self, function, /, *arguments):
        return function(*arguments)


class Cancelling(Executor):
    def submit(self, function, /, *arguments):
        future = Future()
        future.cancel()
        return future


@pytest.mark.parametrize(
    ("executor", "error", "message"),
    [
        (Careless(), InputError, "is not a future. It was returned by `submit`"),
        (Cancelling(), KernelError, "A task was not done: CancelledError. A worker"),
        (Executor(), KernelError, "The executor takes no work: NotImplementedError"),
    ],
)
def test_executors_that_do_not_work(executor, error, message):
    with pytest.raises(error, match=message):
        MLP3.propagate(X, ["V"], executor=executor)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_that_is_shut_down(kind):
    executor = kind(1)
    executor.shutdown()
    with pytest.raises(KernelError, match="takes no work: cannot schedule new futures after shut"):
        MLP3.propagate(X, ["V"], executor=executor)


def test_samples_in_no_block_are_not_read():
    """Of 200 000 samples the overlaps alone would take 320 GB."""
    x = np.random.default_rng(0).standard_normal((200_000, 2))
    blocks = ([7, 199_999], [5], [7], [31])
    found = MLP3.propagate(x, ["G", "V"], blocks=blocks)
    few = MLP3.propagate(x[[5, 7, 31, 199_999]], ["G", "V"])
    assert found.blocks == tuple(map(tuple, blocks))
    cut = np.ix_(range(3), [1, 3], [0], [1], [2])
    np.testing.assert_allclose(found["V"], few["V"][cut], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["G"], few["G"][np.ix_(range(3), [1, 3], [0])], rtol=1e-12)


def test_a_cluster():
    distributed = pytest.importorskip("distributed")
    alone = MLP3.propagate(X, ["V"])
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        shared = MLP3.propagate(X, ["V"], executor=client.get_executor())
    assert np.array_equal(alone["V"], shared["V"])


def test_progress_goes_to_stderr(capsys):
    MLP3.propagate(X, "V", progress=True)
    MLP3.propagate(X, "V")
    captured = capsys.readouterr()
    assert captured.out == ""
    line = "propagating, task 1/1"
    assert captured.err == f"\r{line}\r{' ' * len(line)}\r"


def test_progress_leaves_the_terminal_clean_when_work_stops(capsys):
    def stop():
        for _ in track([1, 2], "working", progress=True):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert capsys.readouterr().err == "\rworking 1/2\r" + " " * 11 + "\r"


class Clock:
    """A clock that work moves on."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("seconds", "said"), [(0.01, ""), (2.0, "counting: about 38 s left\n")])
def test_a_long_wait_is_announced_where_nobody_watches(seconds, said, monkeypatch, capsys):
    monkeypatch.setattr(progress, "TOLD_FROM", 10.0)
    monkeypatch.setattr(progress, "perf_counter", clock := Clock())
    for _ in track(range(20), "counting", weights=[1.0] * 20):
        clock.now += seconds
    assert capsys.readouterr().err == said
    for _ in track(range(20), "counting", progress=False):
        clock.now += seconds
    assert not capsys.readouterr().err


def test_what_is_left_counts_the_work_of_what_is_left(monkeypatch, capsys):
    monkeypatch.setattr(progress, "perf_counter", clock := Clock())
    for cost in track([0, 1, 1, 6], "layer", True, weights=[0, 1, 1, 6]):
        clock.now += 10.0 * cost
    texts = [part.strip() for part in capsys.readouterr().err.split("\r")]
    assert [text for text in texts if text] == [
        "layer 1/4",
        "layer 2/4",
        "layer 3/4, about 70 s left",
        "layer 4/4, about 60 s left",
    ]


def test_a_leap_is_not_told_by_its_first_step(monkeypatch, capsys):
    """Of two thousand samples and four layers the first took a hundredth part for all of it."""
    monkeypatch.setattr(progress, "TOLD_FROM", 10.0)
    monkeypatch.setattr(progress, "perf_counter", clock := Clock())
    with progress.Progress("propagating", 1.0, None) as told:
        watch = tasks._Watch(told, 4)
        watch.after_layer(1)
        clock.now = 1.0
        watch.after_layer(2)
        assert not capsys.readouterr().err
        clock.now = 6.0
        watch.after_layer(3)
    assert capsys.readouterr().err == "propagating: about 6 s left\n"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"mlp": "tanh"}, InputError, "'tanh' is not a network"),
        ({"x": [1.0, 2.0, 3.0]}, KernelError, r"shape \(3,\). It must be \(N, n_0\).*x\[None, :\]"),
        ({"x": np.zeros((2, 2, 2))}, KernelError, r"x.reshape\(N, -1\)"),
        ({"x": np.zeros((0, 3))}, KernelError, r"\(0, 3\). There is no sample"),
        ({"x": []}, KernelError, r"shape \(0,\)"),
        ({"x": np.zeros((2, 0))}, KernelError, "or no component"),
        ({"x": [[1.0, np.nan]]}, KernelError, r"x\[0, 1\] is nan. Data must be finite"),
        ({"x": [[1.0, 2.0], [np.inf, 0.0]]}, KernelError, r"x\[1, 0\] is inf"),
        ({"x": [[1.0], [2.0, 3.0]]}, InputError, "in rows of one length"),
        ({"x": [["a"]]}, InputError, r"x is \[\['a'\]\]"),
        ({"x": [[1j]]}, InputError, "real numbers"),
        ({"x": None}, InputError, "x is None"),
        ({"x": [[1e200, 0.0]]}, KernelError, "overlaps x.x/n_0 overflow. The data reach 1e.200"),
        ({"tensors": "Y"}, UnknownTensorError, "There is no tensor 'Y'"),
        ({"tensors": ["G", 3]}, InputError, "3 is not the name of a tensor"),
        ({"tensors": []}, InputError, r"tensors is \[\]"),
        ({"tensors": None}, InputError, "tensors is None"),
        ({"tensors": "V.1"}, UnknownTensorError, "There is no kernel of V.1 for many inputs"),
        ({"tensors": "X6"}, UnknownTensorError, "symdlt kernel X6 --inputs one -o my_kernel.py"),
        ({"blocks": 3}, InputError, "blocks is 3"),
        ({"blocks": ([0], [0])}, KernelError, "blocks has 2 lists .* up to 4 axes"),
        ({"blocks": ([0], [0], [0], [1])}, KernelError, r"blocks\[3\] is \[1\]. The samples are 0"),
        ({"blocks": ([0, 0], [0], [0], [0])}, KernelError, "each stands once"),
        ({"blocks": ([0.0], [0], [0], [0])}, InputError, r"blocks\[0\] is \[0.0\]"),
        ({"blocks": ([], [0], [0], [0])}, InputError, r"blocks\[0\] is \[\]"),
        ({"executor": 4}, InputError, "4 is not an executor"),
        ({"progress": "yes"}, InputError, "'yes' is not a choice"),
        ({"tensors": b"G"}, InputError, "tensors is b'G'. It tells what to compute"),
        ({"tensors": [b"G"]}, InputError, "b'G' is not the name of a tensor"),
        ({"x": MASKED}, InputError, "x is a masked array. What is masked has no value"),
        ({"x": list(MASKED)}, InputError, "x is a masked array"),
        ({"x": [[np.longdouble("1e4000")]]}, KernelError, r"x\[0, 0\] is inf"),
        ({"x": [[1e150, 0.0]]}, KernelError, r"layer 1 is 5e\+299, .* Give smaller inputs, or"),
        ({"x": [[1e150], [1.0]]}, KernelError, r"layer 1 is 1e\+300, .* Give smaller inputs, or"),
        ({"tolerance": 0.0}, KernelError, "tolerance is 0.0"),
        ({"tolerance": 1e-13}, KernelError, "tolerance is 1e-13. .* from 1e-12 to 0.01"),
        ({"tolerance": np.float32(0.5)}, KernelError, "tolerance is np.float32.0.5.. .* to 0.01"),
        ({"tolerance": np.array([1e-5])}, KernelError, "tolerance is array"),
        ({"tolerance": "x"}, InputError, "tolerance is 'x'"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_words(change, error, message):
    given = {"mlp": MLP3, "x": X, "tensors": ["V"], **change}
    with pytest.raises(error, match=message):
        propagate(**given)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (SINE[:2], "is given by 2 functions. The tensors V need 3: sigma and its first 2"),
        ([np.sin] * 4, "Function 1 of the activation is not the derivative of function 0"),
        ([math.sin, math.cos, *SINE[2:]], "Function 0 of the activation"),
        ([np.sum, *SINE[1:]], "Function 0 of the activation"),
        ([lambda z: np.ma.sin(z), *SINE[1:]], "Function 0 of the activation returns a masked"),
    ],
)
def test_functions_that_are_no_activation_are_refused(functions, message):
    with pytest.raises(ActivationError, match=message):
        MLP(activation=functions, widths=[32, 48], **HYPER).propagate(X, ["V"])


def test_kinks_are_named():
    mlp = MLP(activation="relu(z - 1)", widths=[8], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
    message = "R S T U of .* derivative of order 1 jumps at z = 1"
    with pytest.raises(ActivationError, match=message):
        mlp.propagate(X, [name for name in TENSORS if name != "H.1"])


@pytest.mark.parametrize(
    ("activation", "without"),
    [
        ("relu(z - 1)", "R S T U"),
        ("sign(z)", "H A B D F P Q R S T U H.1"),
        ("elu", ""),
        ("sin", ""),
    ],
)
def test_all_are_those_that_can_be_had(activation, without):
    mlp = MLP(activation=activation, widths=[8], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
    result = mlp.propagate(X, ["V", "all"])
    assert result.names == tuple(name for name in TENSORS if name not in without.split())
    assert np.array_equal(result["V"], mlp.propagate(X, iter(["V"]))["V"])


def test_functions_that_are_not_given_are_asked_for():
    two = MLP(activation=(np.tanh, lambda z: 1 / np.cosh(z) ** 2), widths=[8, 8], **HYPER)
    with pytest.raises(ActivationError, match="is given by 2 functions"):
        two.propagate(X)


def test_all_of_other_layers_are_those_that_can_be_had():
    values = {"C_b": 0.1, "C_W": 1.0, "lambda_b": 0.1, "lambda_W": 1.0}
    unknown = Stack("z' = b + W s(z)", laws={"W": lambda variance: from_cumulants({2: variance})})
    network = Network("sin", [8, 8], values, ["z' = b + W z", unknown, "z' = b + W s(z)"])
    assert propagate(network, X).names == TENSORS[:-2]
    with pytest.raises(LayerError, match=r"G.1 cannot be had: the law of the weights W has no"):
        propagate(network, X, ["G.1"])
    normed = Network("sin", [8], values, ["z' = b + W z", "z' = b + W s(rmsnorm(z))"])
    assert propagate(normed, X).names == TENSORS


def test_kernels_refuse_in_an_error_of_ours():
    hyper = {"C_b": 0, "C_W": 1e30, "lambda_b": 0, "lambda_W": 1}
    mlp = MLP(activation="z**3", widths=[8] * 9, **hyper)
    with pytest.raises(KernelError, match="overflow"):
        mlp.propagate(X, ["V"])


def test_memory_is_estimated_first():
    with pytest.raises(KernelError, match=r"take about .* GB of memory. .* only the blocks"):
        MLP3.propagate(np.ones((1000, 2)), ["V"])
    with pytest.raises(KernelError, match=r"take about .* GB of memory"):
        MLP3.propagate(np.ones((10**6, 1)), ["G"])


@pytest.mark.parametrize("activation", ["tanh(1000*z)", "tanh(z) + tanh(1000*z)/10"])
def test_one_sample_of_what_is_steep_at_one_place(activation):
    """Against sums over panels about zero; the grids of the kernel for one input are too coarse."""
    edges = np.concatenate([-np.geomspace(12.0, 1e-4, 400), np.geomspace(1e-4, 12.0, 400)])
    x, w = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(edges)[:, None]
    z = edges[:-1, None] + half * (1.0 + x)
    density = half * w * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    steep = np.tanh(1000.0 * z)
    s, slope = {
        "tanh(1000*z)": (steep, 1000.0 * (1.0 - steep**2)),
        "tanh(z) + tanh(1000*z)/10": (
            np.tanh(z) + steep / 10.0,
            1.0 - np.tanh(z) ** 2 + 100.0 * (1.0 - steep**2),
        ),
    }[activation]
    square, fourth, slopes = (float((f * density).sum()) for f in (s**2, s**4, slope**2))
    net = MLP(activation=activation, widths=[10], C_b=0.0, C_W=1.0, lambda_b=0.0, lambda_W=1.0)
    found = net.propagate([[1.0]], ["G", "H", "V"])
    assert found["G"][-1].item() == pytest.approx(square, rel=1e-10)
    assert found["H"][-1].item() == pytest.approx(square + slopes, rel=1e-9)
    assert found["V"][-1].item() == pytest.approx(fourth - square**2, abs=1e-7 * fourth)
