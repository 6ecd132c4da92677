"""Averages in numbers: tensors contracted with what an algorithm makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.networks import Forest
from symdlt.training._algorithms import Algorithm
from symdlt.training._averages import MODE, Average, averages
from symdlt.training._data import check_result
from symdlt.training._responses import Response, moved, responses
from symdlt.training._statistics import Statistics

Array = NDArray[Any]
OUTPUTS, NEURONS, AXES, FINAL = "OPQ", "IJK", "wxyz", "rst"
MODES = "abcdefghijkl"
MOST_POWER = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rest of an average hangs on its tensor of four axes.

    Attributes:
        tensor: its name, or nothing if the average has none.
        axes: a letter for each of its axes, that of an output or one of `AXES`.
        rest: the letters of what it is contracted with.
    """

    tensor: str
    axes: str
    rest: str


@dataclass(frozen=True, eq=False)
class Training:
    """A training set and an algorithm, in the modes of the mean training NTK.

    Attributes:
        statistics: those at initialisation.
        targets: y of shape (n_L, modes).
        algorithm: how the network is trained.
    """

    statistics: Statistics
    targets: Array
    algorithm: Algorithm

    def moment(self, outputs: int, order: int) -> dict[str, Array]:
        r"""The mean of an output, or of the product of two, at one order in 1/n.

        What is left out is the mean at infinite width: of order 1, and no part of a response.

        Args:
            outputs: 1 or 2.
            order: 0 or 1.

        Returns:
            For the name of what moves the outputs, an array over test samples, then neurons:
            (N, n_L) for one output, (N, N, n_L, n_L) for two.
        """
        found: dict[str, Array] = {}
        for moving in product(responses(), repeat=outputs):
            if sum(response.power for response in moving) <= MOST_POWER:
                value = self.part(moving, order, self.statistics.propagator)
                name = max(moving, key=lambda response: response.power).name
                found[name] = found.get(name, 0.0) + value
        return found

    def observable(self, tree: Forest) -> Array:
        """The 1/n correction of the mean of an NTK or dNTK in the course of training.

        Returns:
            An array over all samples along each axis, then neurons.
        """
        parts = [self.part((response,), 1, self.statistics.basis) for response in moved(tree)]
        total: Array = np.sum(parts, axis=0)
        return total

    def part(self, moving: tuple[Response, ...], order: int, carrier: Array) -> Array:
        """The average of some responses at one order in 1/n.

        Args:
            moving: the responses.
            order: 0 or 1.
            carrier: what carries modes and test outputs over to what is asked for.
        """
        with np.errstate(all="ignore"):
            return check_result("prediction", self._part(moving, order, carrier))

    def _part(self, moving: tuple[Response, ...], order: int, carrier: Array) -> Array:
        weights = [self._weight(response) for response in moving]
        rests: dict[Shape, Array] = {}
        for average, number in averages(moving, order).items():
            shape, value = self._rest(moving, weights, average)
            scale = float(number) * len(self.targets) ** average.loops
            rests[shape] = rests.get(shape, 0.0) + scale * value
        outputs = sum(response.fixed for response in moving)
        total: Array = np.zeros((len(carrier),) * outputs + (len(self.targets),) * outputs)
        for shape, rest in rests.items():
            total += self._joined(shape, rest, outputs, carrier)
        total /= self.statistics.width**order
        return total

    def _weight(self, response: Response) -> tuple[Array, bool]:
        """The weights of a response along its modes, and whether an axis of outputs is before them.

        An output in the training set decays while it is moved; what it is short of at the end of
        training does not reach the test outputs.
        """
        values, _ = self.statistics.spectrum
        count = len(response.modes)
        h = {
            mode: values.reshape((-1,) + (1,) * (count - 1 - k))
            for k, mode in enumerate(response.modes)
        }
        shape = (len(values),) * count
        still = np.broadcast_to(self.algorithm.weight(response, h), shape)
        if self.algorithm.finished or response.fixed > 1:
            return still, False
        outer = values.reshape((-1,) + (1,) * count)
        left = np.broadcast_to(self.algorithm.weight(response, h, outer), (len(values), *shape))
        tests = len(self.statistics.propagator)
        return np.concatenate([still - left, np.broadcast_to(still, (tests, *shape))]), True

    def _rest(
        self, moving: tuple[Response, ...], weights: list[tuple[Array, bool]], average: Average
    ) -> tuple[Shape, Array]:
        """All factors of an average but the tensor of four axes, contracted in the modes."""
        letters = dict(enumerate(OUTPUTS))
        free = iter(MODES)
        operands: list[tuple[Array, str]] = []
        for k, (response, (weight, decays)) in enumerate(zip(moving, weights, strict=True)):
            for mode in response.modes:
                letters[MODE * (k + 1) + mode] = next(free)
            modes = "".join(letters[MODE * (k + 1) + mode] for mode in response.modes)
            operands.append((weight, OUTPUTS[k] * decays + modes))
        gram = self.targets.T @ self.targets
        operands += [(gram, letters[a] + letters[b]) for a, b in average.grams]
        operands += [(self.targets, NEURONS[k] + letters[a]) for k, a in average.targets]
        operands += [(np.eye(len(self.targets)), NEURONS[i] + NEURONS[j]) for i, j in average.equal]
        tensor, axes = "", ""
        for name, labels in average.tensors:
            if len(labels) == 2:
                part = [slice(self.statistics.train) if a >= MODE else slice(None) for a in labels]
                matrix = self.statistics.matrix(name)[part[0], part[1]]
                operands.append((matrix, "".join(letters[a] for a in labels)))
            else:
                tensor = name
                axes = "".join(
                    AXES[place] if a >= MODE else letters[a] for place, a in enumerate(labels)
                )
                one = np.eye(self.statistics.train)
                operands += [
                    (one, AXES[place] + letters[a]) for place, a in enumerate(labels) if a >= MODE
                ]
        present = set("".join(subscripts for _, subscripts in operands))
        rest = "".join(c for c in AXES + OUTPUTS + NEURONS if c in present)
        return Shape(tensor, axes, rest), _einsum(operands, rest)

    def _joined(self, shape: Shape, rest: Array, outputs: int, carrier: Array) -> Array:
        """The rest contracted with its tensor, and carried over.

        The rest is taken from modes to samples, which costs a power of N less than to take the
        tensor from samples to modes.
        """
        statistics = self.statistics
        letters, final = OUTPUTS[:outputs], FINAL[:outputs] + NEURONS[:outputs]
        carriers = dict.fromkeys(letters, carrier)
        operands = [(rest, shape.rest)]
        if shape.tensor:
            modes = [c for c in shape.axes if c in AXES]
            vectors = [(statistics.spectrum[1], c.upper() + c) for c in modes]
            sampled = "".join(c.upper() if c in modes else c for c in shape.rest)
            rest = _einsum([*operands, *vectors], sampled)
            every, train = np.arange(len(statistics.basis)), np.arange(statistics.train)
            chosen = np.ix_(*(train if c in modes else every for c in shape.axes))
            tensor = statistics.tensors[shape.tensor][chosen]
            for axis, c in enumerate(shape.axes):
                if c in shape.rest and c in letters:
                    turned = np.tensordot(statistics.basis, tensor, (0, axis))
                    tensor = np.moveaxis(turned, 0, axis)
                elif c in letters:
                    carriers[c] = carrier @ statistics.basis.T
            joined = [(tensor, shape.axes.upper()), (rest, sampled)]
            operands = [(_einsum(joined, letters + NEURONS[:outputs]), letters + NEURONS[:outputs])]
        operands += [(carriers[c], u + c) for u, c in zip(FINAL, letters, strict=False)]
        return _einsum(operands, final)


def _einsum(operands: list[tuple[Array, str]], result: str) -> Array:
    subscripts = ",".join(letters for _, letters in operands)
    arrays = [array for array, _ in operands]
    found: Array = np.einsum(f"{subscripts}->{result}", *arrays, optimize="greedy")
    return found
