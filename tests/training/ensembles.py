"""Ensembles of real networks, trained: mean and covariance of their predictions, in units of 1/n.

Plain NumPy and no theory of finite width: networks are drawn, differentiated by backpropagation and
trained, many at once. Only the limit n → ∞, where measured coefficients are counted from, is taken
from K and Θ. `python -m tests.training.ensembles NAME…` measures configurations, such as
tanh-2-gd-two, and adds them to `ensembles.json` next to this file; without names it prints what is
there as a table.

A prediction has a spread of order one and the effect sought is of order 1/n. Three things make it
visible. Networks come in pairs whose readout differs in sign: z → −z at initialisation with the
same NTK, so that the mean of a pair has no part odd in z. Each trained network is compared with its
own linearisation, z_B − H_BA H_AA⁻¹ (z_A − y), which differs by O(1/n). Linearisations need no
training, so that many more of them tell their own mean and covariance, again as differences: from
infinite width at the same z, and for one hidden layer, where E[H] = Θ, from the first order in H.
"""

import json
import sys
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from .networks import (
    HANDOVER,
    Architecture,
    Task,
    linearisation,
    prediction,
    split,
    tangent_kernel,
    train,
)

RESULTS = Path(__file__).with_name("ensembles.json")
WIDTHS = (16, 32, 64)
LINEAR_GROUP, TRAINED_GROUP = 16, 6


@dataclass(frozen=True, slots=True)
class Limit:
    """Infinite width."""

    mean: np.ndarray
    covariance: np.ndarray
    residual: np.ndarray
    weights: np.ndarray
    largest: float

    def first_order(self, task, kernel):
        """The change of the mean linear in H, zero for H = Θ."""
        samples = task.inputs.shape[1]
        index = np.arange(kernel.shape[-1]).reshape(-1, samples)[:, : len(task.y)].ravel()
        return self.residual @ (kernel[..., index] @ self.weights)[..., None]

    @classmethod
    @lru_cache
    def of(cls, architecture, task):
        """From K and Θ; `residual` takes the outputs z to z_B − Θ_BA Θ_AA⁻¹ z_A."""
        from symdlt import MLP

        hyper = asdict(architecture)
        name, depth = hyper.pop("activation"), hyper.pop("depth")
        name = "z" if name == "linear" else name
        metric = MLP(activation=name, widths=[1] * (depth - 1), **hyper)
        layer = metric.propagate(task.inputs.T, ["G", "H"]).layer(depth)
        one = np.eye(len(task.y[0]))
        kernel, ntk = np.kron(one, layer["G"]), np.kron(one, layer["H"])
        columns = np.eye(len(kernel))
        mean, residual = linearisation(task, columns, np.broadcast_to(ntk, (len(ntk), *ntk.shape)))
        within = split(task, columns, ntk)[2]
        largest = float(np.linalg.eigvalsh(within)[-1])
        weights = np.linalg.solve(within, task.targets.ravel())
        return cls(mean[0], residual.T @ kernel @ residual, residual.T, weights, largest)


@dataclass(slots=True)
class Average:
    """Mean and its standard error, of samples that come in groups."""

    count: int = 0
    total: np.ndarray | float = 0.0
    squares: np.ndarray | float = 0.0

    def add(self, samples):
        self.count += len(samples)
        self.total = self.total + samples.sum(axis=0)
        self.squares = self.squares + (samples**2).sum(axis=0)

    @property
    def mean(self):
        return self.total / self.count

    @property
    def error(self):
        variance = self.squares / self.count - self.mean**2
        return np.sqrt(variance / (self.count - 1))


def outer(vectors):
    return vectors[:, :, None] * vectors[:, None, :]


def groups(count, size):
    for start in range(0, count, size):
        yield min(size, count - start)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is measured; `step` is η h_max, with the largest eigenvalue h_max of Θ_AA."""

    name: str
    architecture: Architecture
    task: Task
    algorithm: str
    step: float = 0.5
    widths: tuple = WIDTHS
    pairs: tuple = (2000, 2000, 2000)
    linearised: tuple = (100_000, 100_000, 100_000)
    seed: int = 1

    @property
    def eta(self):
        """The learning rate, or the step of the integrator."""
        return self.step / Limit.of(self.architecture, self.task).largest


@lru_cache
def measure_linearised(architecture, task, seed, width, count):
    """Mean and covariance of linearised networks, less those at infinite width."""
    limit = Limit.of(architecture, task)
    rng = np.random.default_rng([seed, width, 0])
    means, covariances = Average(), Average()
    one = np.eye(len(task.y[0]))
    for size in groups(count, max(LINEAR_GROUP, 50_000 // width**2)):
        parameters = architecture.draw(task, width, size, rng)
        z, kernel, signal = tangent_kernel(architecture, parameters, task.inputs)
        even, odd = linearisation(task, z, kernel)
        given = architecture.C_b + architecture.C_W / width * (signal.swapaxes(1, 2) @ signal)
        given = np.einsum("ij,epq->eipjq", one, given).reshape(kernel.shape)
        conditional = limit.residual @ given @ limit.residual.T - limit.covariance
        # H of one hidden layer has the mean Θ exactly.
        known = limit.first_order(task, kernel)[..., 0] if architecture.depth == 2 else 0.0
        means.add(even - limit.mean - known)
        spread = outer(even - limit.mean) + outer(odd) - outer(z @ limit.residual.T)
        covariances.add(spread + conditional)
    return means, covariances


def measure_trained(configuration, width, count):
    """Mean and covariance of trained networks, less those of their linearisations."""
    architecture, task, eta = configuration.architecture, configuration.task, configuration.eta
    limit = Limit.of(architecture, task)
    rng = np.random.default_rng([configuration.seed, width, 1])
    means, covariances = Average(), Average()
    for size in groups(count, max(TRAINED_GROUP, 30_000 // width**2)):
        parameters = architecture.draw(task, width, size, rng)
        z, kernel, _ = tangent_kernel(architecture, parameters, task.inputs)
        even, odd = linearisation(task, z, kernel)
        both = [(np.concatenate([b, b]), np.concatenate([w, w])) for b, w in parameters]
        for readout in both[-1]:
            readout[size:] *= -1
        trained = train(architecture, both, task, configuration.algorithm, eta, HANDOVER)
        plus, minus = np.split(prediction(architecture, trained, task), 2)
        half, shift = (plus - minus) / 2, (plus + minus) / 2 - limit.mean
        means.add(shift - (even - limit.mean))
        covariances.add(outer(shift) - outer(even - limit.mean) + outer(half) - outer(odd))
    return means, covariances


@dataclass(frozen=True, slots=True)
class Measured:
    """n × (mean − limit) and n × (covariance − limit) at one width, with standard errors."""

    width: int
    mean: np.ndarray
    mean_error: np.ndarray
    covariance: np.ndarray
    covariance_error: np.ndarray


def measure(configuration, place):
    width, count = configuration.widths[place], configuration.linearised[place]
    architecture, task = configuration.architecture, configuration.task
    parts = (
        measure_linearised(architecture, task, configuration.seed, width, count),
        measure_trained(configuration, width, configuration.pairs[place]),
    )
    shift = sum(means.mean for means, _ in parts)
    second = sum(covariances.mean for _, covariances in parts)
    errors = [np.sqrt(sum(part[k].error ** 2 for part in parts)) for k in (0, 1)]
    covariance = second - np.outer(shift, shift)
    return Measured(width, width * shift, width * errors[0], width * covariance, width * errors[1])


@dataclass(frozen=True, slots=True)
class Coefficients:
    """c₁ + c₂/n through the values at several widths, weighted with their errors."""

    c1: np.ndarray
    c1_error: np.ndarray
    c2: np.ndarray
    c2_error: np.ndarray
    chi_square: np.ndarray

    @classmethod
    def through(cls, widths, values, errors):
        inverse = 1 / np.array(widths, float).reshape(-1, *(1,) * (values.ndim - 1))
        weight = 1 / errors**2
        s0, s1, s2 = ((weight * inverse**k).sum(axis=0) for k in range(3))
        y0, y1 = ((weight * values * inverse**k).sum(axis=0) for k in range(2))
        determinant = s0 * s2 - s1**2
        c1, c2 = (s2 * y0 - s1 * y1) / determinant, (s0 * y1 - s1 * y0) / determinant
        chi_square = (weight * (values - c1 - c2 * inverse) ** 2).sum(axis=0)
        return cls(c1, np.sqrt(s2 / determinant), c2, np.sqrt(s0 / determinant), chi_square)


def results(configuration, log=lambda text: None):
    """Every number of one configuration, as JSON takes them."""
    limit = Limit.of(configuration.architecture, configuration.task)
    measured = []
    for place, width in enumerate(configuration.widths):
        measured.append(measure(configuration, place))
        log(f"{configuration.name}, width {width}")
    return {
        "configuration": {**asdict(configuration), "eta": configuration.eta},
        "limit": {"mean": plain(limit.mean), "covariance": plain(limit.covariance)},
        "measured": [table(one) for one in measured],
        "mean": table(fitted(measured, "mean")),
        "covariance": table(fitted(measured, "covariance")),
    }


def fitted(measured, name):
    values, errors = (
        np.array([getattr(one, part) for one in measured]) for part in (name, f"{name}_error")
    )
    return Coefficients.through([one.width for one in measured], values, errors)


def plain(array):
    return np.vectorize(lambda x: float(f"{x:.6g}"))(array).tolist()


def table(record):
    return {one.name: plain(getattr(record, one.name)) for one in fields(record)}


TWO = Task(
    x_train=((1.0, 0.8, -0.6), (-0.5, 1.2, 0.9)),
    y=((1.0,), (-0.6,)),
    x_test=((0.9, -0.7, 1.1), (0.3, 1.0, 0.2)),
)
THREE = Task(
    x_train=((1.2, -0.4, 0.9, 1.1), (-1.0, 1.1, 0.5, -0.9), (0.8, 1.0, -1.3, 0.4)),
    y=((0.9, -0.4), (-0.7, 0.8), (0.3, 0.6)),
    x_test=((0.5, 1.1, 0.7, -1.2), (1.2, 0.2, -0.4, 1.0)),
)
TASKS = {"two": TWO, "three": THREE}
HYPERPARAMETERS = {
    "tanh": (0.0, 1.0, 0.3, 1.0),
    "gelu": (0.17, 1.98, 0.3, 1.0),
    "sin": (0.0, 1.0, 0.3, 1.0),
}
PAIRS = {
    ("gd", 2): (8000, 8000, 8000),
    ("gd", 3): (6000, 4000, 4000),
    ("gd", 4): (4000, 3000, 2500),
    ("flow", 2): (3000, 3000, 3000),
    ("flow", 3): (2000, 1500, 1500),
    ("flow", 4): (1500, 1000, 800),
}
LINEARISED = {
    2: (200_000, 200_000, 300_000),
    3: (200_000, 200_000, 300_000),
    4: (200_000, 150_000, 200_000),
}


EFFORT = {"tanh-2-gd-two": 4, "tanh-3-gd-two": 3}


def named(name):
    """The configuration called activation-depth-algorithm-task, as in tanh-2-gd-two."""
    activation, depth, algorithm, task = name.split("-")
    architecture = Architecture(activation, int(depth), *HYPERPARAMETERS[activation])
    effort = EFFORT.get(name, 1)
    pairs, linearised = (
        tuple(effort * count for count in counts)
        for counts in (PAIRS[algorithm, int(depth)], LINEARISED[int(depth)])
    )
    return Configuration(
        name, architecture, TASKS[task], algorithm, pairs=pairs, linearised=linearised
    )


def markdown(found):
    """A row for each prediction, test inputs running faster than outputs."""
    yield "| configuration | prediction | mean | 1/n | variance | 1/n |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, record in found.items():
        parts = []
        for part, pick in (("mean", np.array), ("covariance", np.diag)):
            limits, values, errors = (
                pick(numbers)
                for numbers in (record["limit"][part], record[part]["c1"], record[part]["c1_error"])
            )
            parts.append(zip(limits, values, errors, strict=True))
        for place, ((m, m1, dm), (v, v1, dv)) in enumerate(zip(*parts, strict=True)):
            figures = f"{m:.4f} | {m1:.3f} ± {dm:.3f} | {v:.4f} | {v1:.3f} ± {dv:.3f}"
            yield f"| {name} | {place} | {figures} |"


def main(names):
    for name in names:
        found = results(named(name), lambda text: print(text, flush=True))
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(dict(sorted({**stored, name: found}.items()))) + "\n")
    if not names:
        print(*markdown(json.loads(RESULTS.read_text())), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
