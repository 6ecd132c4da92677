"""Averages in numbers: tensors contracted with what an algorithm makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from symdlt.definitions import Forest
from symdlt.training.algorithms import Algorithm, weights
from symdlt.training.averages import MODE, Average, averages
from symdlt.training.chains import Array
from symdlt.training.data import check_result
from symdlt.training.responses import Response, moved, responses
from symdlt.training.statistics import Statistics

OUTPUTS, NEURONS, AXES, FINAL = "OPQ", "IJK", "wxyz", "rst"
MODES = "abcdefghijkl"
# Powers of 1/n that count, in halves: to order 1/n.
MOST_POWER = 2


@dataclass(frozen=True, slots=True)
class TensorContraction:
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
        values: dict[str, Array] = {}
        for moving in product(responses(), repeat=outputs):
            if sum(response.power for response in moving) <= MOST_POWER:
                value = self.part(moving, order, self.statistics.propagator)
                name = max(moving, key=lambda response: response.power).name
                values[name] = values.get(name, 0.0) + value
        return values

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
        weighted = [self._weight(response) for response in moving]
        rests: dict[TensorContraction, Array] = {}
        for average, number in averages(moving, order).items():
            shape, value = self._rest(moving, weighted, average, carrier)
            scale = float(number) * len(self.targets) ** average.loops
            rests[shape] = rests.get(shape, 0.0) + scale * value
        outputs = sum(response.fixed for response in moving)
        total: Array = np.zeros((len(carrier),) * outputs + (len(self.targets),) * outputs)
        for shape, rest in rests.items():
            total += self._joined(shape, rest, outputs, carrier)
        total /= self.statistics.width**order
        return total

    @cached_property
    def _known(self) -> dict[Response, tuple[Array, bool]]:
        return {}

    def _weight(self, response: Response) -> tuple[Array, bool]:
        """The weights of a response along its modes, and whether an axis of outputs is before them.

        What outputs in the training set are short of does not reach the test outputs.
        """
        if response not in self._known:
            still, left = weights(self.algorithm, response, self.statistics.spectrum[0])
            if left is not None:
                tests = (len(self.statistics.propagator), *still.shape)
                still = np.concatenate([still - left, np.broadcast_to(still, tests)])
            self._known[response] = still, left is not None
        return self._known[response]

    def _rest(
        self,
        moving: tuple[Response, ...],
        weighted: list[tuple[Array, bool]],
        average: Average,
        carrier: Array,
    ) -> tuple[TensorContraction, Array]:
        """All factors of an average but the tensor of four axes, contracted in the modes.

        Outputs that are no axes of the tensor are carried over.
        """
        operands: list[tuple[Array, str]] = []
        letters = dict(enumerate(OUTPUTS))
        tensor, axes = "", ""
        for name, labels in average.tensors:
            if len(labels) > 2:
                tensor = name
                for label, axis in zip(labels, AXES, strict=True):
                    axes += axis if label >= MODE else letters[label]
                    if label >= MODE and letters.setdefault(label, axis) != axis:
                        operands.append((np.eye(self.statistics.train), letters[label] + axis))
        free = iter(MODES)
        for k, (response, (weight, decays)) in enumerate(zip(moving, weighted, strict=True)):
            modes = "".join(
                letters.setdefault(MODE * (k + 1) + mode, next(free)) for mode in response.modes
            )
            operands.append((weight, OUTPUTS[k] * decays + modes))
        gram = self.targets.T @ self.targets
        operands += [(gram, letters[a] + letters[b]) for a, b in average.grams]
        operands += [(self.targets, NEURONS[k] + letters[a]) for k, a in average.targets]
        operands += [(np.eye(len(self.targets)), NEURONS[i] + NEURONS[j]) for i, j in average.equal]
        for name, labels in average.tensors:
            if len(labels) == 2:
                part = [slice(self.statistics.train) if a >= MODE else slice(None) for a in labels]
                matrix = self.statistics.matrix(name)[part[0], part[1]]
                operands.append((matrix, "".join(letters[a] for a in labels)))
        present = set("".join(subscripts for _, subscripts in operands))
        outputs = sum(response.fixed for response in moving)
        for letter, final in zip(OUTPUTS[:outputs], FINAL, strict=False):
            if letter not in axes:
                operands.append((carrier, final + letter))
                present = present - {letter} | {final}
        rest = "".join(c for c in AXES + OUTPUTS + FINAL + NEURONS if c in present)
        return TensorContraction(tensor, axes, rest), _einsum(operands, rest)

    def _joined(self, shape: TensorContraction, rest: Array, outputs: int, carrier: Array) -> Array:
        """The rest contracted with its tensor, and carried over.

        The rest is rotated to samples, unless it depends on the mode of an output; then the tensor
        is, along that axis.
        """
        statistics = self.statistics
        result = FINAL[:outputs] + NEURONS[:outputs]
        if not shape.tensor:
            return _einsum([(rest, shape.rest)], result)
        for place, letter in enumerate(shape.rest):
            if letter in AXES:
                rest = _rotated(rest, place, statistics.basis[:, : statistics.train])
        tensor, letters = statistics.tensors[shape.tensor], result
        operands: list[tuple[Array, str]] = []
        for letter, final in zip(OUTPUTS, FINAL, strict=True):
            if letter in shape.axes:
                letters = letters.replace(final, letter)
                if letter in shape.rest:
                    tensor = _rotated(tensor, shape.axes.index(letter), statistics.basis.T)
                    operands.append((carrier, final + letter))
                else:
                    operands.append((carrier @ statistics.basis.T, final + letter))
        joined = _by_blocks(tensor, shape.axes, np.ascontiguousarray(rest), shape.rest, letters)
        return _einsum([(joined, letters), *operands], result)


def _by_blocks(tensor: Array, axes: str, rest: Array, subscripts: str, result: str) -> Array:
    """A contraction done for each index of the first axis of a tensor: it never needs a copy."""
    first, place = axes[0], subscripts.find(axes[0])
    blocks = (
        np.einsum(
            f"{axes[1:]},{subscripts.replace(first, '')}->{result.replace(first, '')}",
            block,
            rest if place < 0 else rest.take(k, place),
        )
        for k, block in enumerate(tensor)
    )
    if first not in result:
        return sum(blocks, np.zeros(()))
    return np.moveaxis(np.array(list(blocks)), 0, result.index(first))


def _rotated(array: Array, axis: int, matrix: Array) -> Array:
    turned: Array = np.moveaxis(np.tensordot(matrix, array, (1, axis)), 0, axis)
    return turned


def _einsum(operands: list[tuple[Array, str]], result: str) -> Array:
    subscripts = ",".join(letters for _, letters in operands)
    arrays = [array for array, _ in operands]
    total: Array = np.einsum(f"{subscripts}->{result}", *arrays, optimize="greedy")
    return total
