"""Real networks in plain NumPy, many at once: drawn, differentiated by backpropagation, trained.

Parameters are a list of layers, each a pair of biases (count, n, 1) and weights (count, n, m).
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

HANDOVER = 1e-4
STEPS = 100_000


def _tanh(z):
    value = np.tanh(z)
    return value, 1 - value * value


def _sin(z):
    return np.sin(z), np.cos(z)


def _linear(z):
    return z, np.ones_like(z)


_GRID = np.arange(-10 * 256, 10 * 256 + 1) / 256
_NORMAL = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in _GRID])


def _gelu(z):
    """z Φ(z): Φ from the nearest of a grid by its Taylor series about z, right to 1e-14."""
    nearest = np.rint(np.clip(z, -10, 10) * 256).astype(int)
    d = z - nearest / 256
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    square = z * z
    series = 1 + d * (z / 2 + d * ((square - 1) / 6 + d * z * (square - 3) / 24))
    normal = _NORMAL[nearest + 10 * 256] + density * d * series
    return z * normal, normal + z * density


ACTIVATIONS = {"tanh": _tanh, "sin": _sin, "gelu": _gelu, "linear": _linear}


@dataclass(frozen=True, slots=True)
class Task:
    """Rows are samples; y has a column for each output."""

    x_train: tuple
    y: tuple
    x_test: tuple

    @property
    def inputs(self):
        """Training inputs, then test inputs, in columns."""
        return np.array([*self.x_train, *self.x_test]).T

    @property
    def targets(self):
        """Outputs × training samples."""
        return np.array(self.y).T


@dataclass(frozen=True, slots=True)
class Architecture:
    activation: str
    depth: int
    C_b: float
    C_W: float
    lambda_b: float
    lambda_W: float

    def layers(self, task, width):
        return (len(task.x_train[0]), *(width,) * (self.depth - 1), len(task.y[0]))

    def draw(self, task, width, count, rng):
        """Biases and weights of each layer, of shapes (count, n, 1) and (count, n, m)."""
        sizes = self.layers(task, width)
        return [
            (
                math.sqrt(self.C_b) * rng.standard_normal((count, n, 1)),
                math.sqrt(self.C_W / m) * rng.standard_normal((count, n, m)),
            )
            for m, n in pairwise(sizes)
        ]


def forward(activation, parameters, x):
    """Outputs z, what goes into each layer, and σ' of each hidden layer."""
    (bias, weight), *above = parameters
    signals, slopes = [np.broadcast_to(x, (len(bias), *x.shape))], []
    z = bias + weight @ signals[0]
    for bias, weight in above:
        signal, slope = ACTIVATIONS[activation](z)
        signals.append(signal)
        slopes.append(slope)
        z = bias + weight @ signal
    return z, signals, slopes


def tangent_kernel(architecture, parameters, x):
    """z and H of each network, samples running faster than outputs, and the last hidden signal."""
    z, signals, slopes = forward(architecture.activation, parameters, x)
    count, outputs, samples = z.shape
    size = outputs * samples
    gradient = np.broadcast_to(np.eye(outputs)[:, None, :], (count, outputs, samples, outputs))
    kernel = np.zeros((count, outputs, samples, outputs, samples))
    for layer in reversed(range(len(parameters))):
        signal, rows = signals[layer], gradient.reshape(count, size, -1)
        metric = architecture.lambda_b + architecture.lambda_W / signal.shape[1] * (
            signal.swapaxes(1, 2) @ signal
        )
        overlap = (rows @ rows.swapaxes(1, 2)).reshape(kernel.shape)
        kernel += overlap * metric[:, None, :, None, :]
        if layer:
            below = (rows @ parameters[layer][1]).reshape(count, outputs, samples, -1)
            gradient = below * slopes[layer - 1].swapaxes(1, 2)[:, None]
    return z.reshape(count, size), kernel.reshape(count, size, size), signals[-1]


def velocity(architecture, parameters, task):
    """z − y on the training set, and dθ/dt of gradient flow."""
    z, signals, slopes = forward(architecture.activation, parameters, np.array(task.x_train).T)
    error = delta = z - task.targets
    rates = []
    for layer in reversed(range(len(parameters))):
        signal = signals[layer]
        rates.append(
            (
                -architecture.lambda_b * delta.sum(axis=2, keepdims=True),
                (-architecture.lambda_W / signal.shape[1] * delta) @ signal.swapaxes(1, 2),
            )
        )
        if layer:
            delta = (parameters[layer][1].swapaxes(1, 2) @ delta) * slopes[layer - 1]
    return error, rates[::-1]


def moved(parameters, rates, step):
    return [
        (bias + step * bias_rate, weight + step * weight_rate)
        for (bias, weight), (bias_rate, weight_rate) in zip(parameters, rates, strict=True)
    ]


def euler_step(architecture, parameters, rates, task, step):
    """A step of gradient descent."""
    return moved(parameters, rates, step)


def runge_kutta_step(architecture, parameters, rates, task, step):
    """A step of gradient flow, of order four."""
    total = moved(parameters, rates, step / 6)
    for reach, share in ((step / 2, step / 3), (step / 2, step / 3), (step, step / 6)):
        rates = velocity(architecture, moved(parameters, rates, reach), task)[1]
        total = moved(total, rates, share)
    return total


ALGORITHMS = {"gd": euler_step, "flow": runge_kutta_step}


def train(architecture, parameters, task, algorithm, step, tolerance):
    """Train until no |z − y| exceeds `tolerance`."""
    for _ in range(STEPS):
        error, rates = velocity(architecture, parameters, task)
        largest = np.abs(error).max()
        if largest <= tolerance:
            return parameters
        if not largest < 1e3:
            break
        parameters = ALGORITHMS[algorithm](architecture, parameters, rates, task, step)
    raise ArithmeticError(f"Training does not converge: |z - y| is {largest:.3g}.")


def split(task, z, kernel):
    """z_A, z_B, H_AA, H_BA, with outputs × samples in one axis."""
    outputs, samples, trained = len(task.y[0]), task.inputs.shape[1], len(task.y)
    index = np.arange(outputs * samples).reshape(outputs, samples)
    a, b = index[:, :trained].ravel(), index[:, trained:].ravel()
    return z[..., a], z[..., b], kernel[..., a[:, None], a], kernel[..., b[:, None], a]


def linearisation(task, z, kernel):
    """The linearised network at the end of training: what is even and what is odd in z."""
    z_train, z_test, within, across = split(task, z, kernel)
    projector = np.linalg.solve(within, across.swapaxes(-1, -2)).swapaxes(-1, -2)
    even = projector @ task.targets.ravel()
    return even, z_test - (projector @ z_train[..., None])[..., 0]


def prediction(architecture, parameters, task):
    """What the network will say on the test inputs: the rest of its training is linear.

    With |z − y| = ε the kernel still changes by O(ε/n), hence the prediction by O(ε²/n).
    """
    z, kernel, _ = tangent_kernel(architecture, parameters, task.inputs)
    return sum(linearisation(task, z, kernel))
