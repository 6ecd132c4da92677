"""Data for training, checked: samples, targets, kernels, and networks that are not predicted."""

from __future__ import annotations

from numbers import Real
from reprlib import repr as short_repr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.algebra import Polynomial
from symdlt.definitions import Network, has_dropout, outputs_are_read
from symdlt.errors import TrainingError, require
from symdlt.networks.numbers import real_numbers
from symdlt.training.chains import Array

# Half of the digits of a double: matrices that users compute themselves lose that many.
SYMMETRIC = 1e-8


def check_samples(x_train: ArrayLike, x_test: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """Training samples followed by test samples, and how many the former are.

    Axes of positions may follow the one of the components.

    Raises:
        TrainingError: if they are no two tables of samples with as many columns.
        KernelError: if they are not finite numbers.
    """
    tables = []
    for name, x in (("x_train", x_train), ("x_test", x_test)):
        table = real_numbers(name, x, "a table with one row for each sample")
        if table.ndim < 2 or not table.size:
            raise TrainingError(
                f"{name} has the shape {table.shape}. It has one row for each sample, of the shape "
                f"(samples, n_0). Give {name}.reshape(1, -1) for one sample."
            )
        tables.append(check_finite(name, table))
    columns = [table.shape[1:] for table in tables]
    if columns[0] != columns[1]:
        counts = [" x ".join(map(str, shape)) for shape in columns]
        raise TrainingError(
            f"x_train has {counts[0]} columns and x_test {counts[1]}. "
            "Both are inputs of the same network. Give samples of one length n_0."
        )
    return np.vstack(tables), len(tables[0])


def check_targets(y: ArrayLike, samples: int | None = None, outputs: int | None = None) -> Array:
    """Targets of shape (N, n_L).

    Args:
        y: of shape (N, n_L), or (N,) for one output.
        samples: N, if it is known.
        outputs: n_L, if it is known.

    Raises:
        TrainingError: if the shape is another one.
        KernelError: if they are not finite numbers.
    """
    given = real_numbers("y_train", y, "a table with one row for each training sample")
    table = given[:, None] if given.ndim == 1 else given
    wanted = table.shape if table.ndim == 2 else (0, 0)
    rows, columns = samples or wanted[0], outputs or wanted[1]
    if table.ndim != 2 or not table.size or table.shape != (rows, columns):
        raise TrainingError(
            f"y_train has the shape {given.shape}. It has one row for each training sample and a "
            f"column for each output of the network, n_L of them: ({rows or 'samples'}, "
            f"{columns or 'n_L'}). Give such a table, or a network of that n_L."
        )
    return check_finite("y_train", table)


def check_square(name: str, value: ArrayLike) -> Array:
    """A symmetric matrix over samples.

    Raises:
        TrainingError: if it is none.
        KernelError: if its entries are not finite numbers.
    """
    matrix = real_numbers(name, value, "a matrix over samples")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise TrainingError(
            f"{name} has the shape {matrix.shape}. It is a matrix over samples, those of training "
            "first. Give one of shape (N, N)."
        )
    check_finite(name, matrix)
    if not np.allclose(matrix, matrix.T, rtol=SYMMETRIC, atol=SYMMETRIC * abs(matrix).max()):
        raise TrainingError(
            f"{name} is not symmetric. Its entries are inner products of two samples. "
            f"Give ({name} + {name}.T) / 2 if only rounding made the difference."
        )
    return matrix


def check_ridge(ridge: float) -> float:
    r"""The ridge of training: how strongly each training output is relieved by an offset.

    Each training output is $z_{i\alpha} + \sqrt\rho\, \xi_{i\alpha}$ with the ridge ρ and a
    parameter $\xi_{i\alpha}$ of its own, which starts at 0 and learns at the rate 1. Its NTK is
    $H_{\alpha\alpha'} + \rho\,\delta_{\alpha\alpha'}$. As outputs are linear in ξ, higher
    differentials do not know of it.

    Raises:
        InputError: if it is no number.
        TrainingError: if it is negative or not finite.
    """
    require(ridge, Real, "a ridge", "Give 0 or a positive number.")
    if not 0.0 <= float(ridge) < np.inf:
        raise TrainingError(
            f"ridge is {ridge}. It is added to the eigenvalues of the training NTK. "
            "Give 0 or a positive number."
        )
    return float(ridge)


def check_finite(name: str, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The table, if all of its numbers are finite.

    Raises:
        TrainingError: if not, with the place of the first that is not.
    """
    bad = ~np.isfinite(table)
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise TrainingError(
            f"{name} is {short_repr(table[place].item())} at {place}. Numbers are finite. "
            "Leave out or repair that sample."
        )
    return table


def check_result(what: str, value: Array) -> Array:
    """A result, if all of its numbers are finite.

    Raises:
        TrainingError: if training or data were so extreme that numbers overflow.
    """
    if not np.isfinite(value).all():
        raise TrainingError(
            f"The {what} overflows. Training diverges at these step sizes, or the numbers given "
            "are too large or too small. Give smaller steps, or rescale inputs and targets."
        )
    return value


def refuse_outputs_that_are_read(net: Network) -> None:
    """Outputs whose four legs at one neuron are more than a sum over pairs.

    Raises:
        TrainingError: if the network has such.
    """
    if outputs_are_read(net):
        raise TrainingError(
            f"The last layer of {net!r} keeps neurons that others read. The mean dNTK of such "
            "outputs does not vanish, and is not in the prediction. End with a dense layer, as in "
            'layers=[…, "z\' = b + W s(z)"].'
        )


def refuse_laws_of_outputs(net: Network) -> None:
    """Independent entries of the last layer, whose fourth cumulant joins four legs at one output.

    Raises:
        TrainingError: if there are such, other than Gaussian ones.
    """
    for drawn in net.layers[-1].streams[-1].drawn:
        if not (drawn.orthogonal or drawn.fourth == Polynomial.number(0)):
            raise TrainingError(
                f"{drawn.tensor.name} of the last layer of {net!r} has no Gaussian law. Its fourth "
                "cumulant joins outputs and NTKs of one neuron, which is not in the prediction. "
                "Make it Gaussian, or use predict_infinite; other layers may have any law."
            )


def refuse_sums_over_outputs(net: Network) -> None:
    """Fields of the last layer that are as many as outputs, and read, or normalised, on the way.

    Raises:
        TrainingError: if there are such; neurons of a skip are as many as those below.
    """
    if outputs_are_read(net) and not (net.depth > 1 and net.keeps(net.depth)):
        raise TrainingError(
            f"The last layer of {net!r} sums over neurons that its outputs keep. There are n_L of "
            "them, so that at infinite width below the sums are still random. End with a dense "
            'layer, as in layers=[…, "z\' = b + W s(z)"].'
        )


def refuse_dropout(net: Network) -> None:
    """Masks that are others in each step.

    Raises:
        TrainingError: if the network has such.
    """
    if any(has_dropout(layer.streams) for layer in net.layers):
        raise TrainingError(
            f"{net!r} has dropout. It is drawn anew in each step of training, and the tensors are "
            "those of one draw. Predict the network without it, or with prune(…), whose neurons "
            "stay away."
        )
