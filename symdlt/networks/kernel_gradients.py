"""Derivatives of the tensors of a network by its inputs and hyperparameters.

The derived recursions are differentiated, and run forward from layer to layer beside themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short_repr
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation
from symdlt.activations.activation import kinks_of
from symdlt.derivation import (
    Recursion,
    RecursionTerm,
    SensitivityTerm,
    TensorFactor,
    derive_system,
    piece_name,
    sensitivity,
)
from symdlt.errors import ActivationError, InputError, KernelError, require
from symdlt.means import KernelInputError, LayerMeans, has_infinite_mean, meeting_jumps
from symdlt.networks.jumps import check_jumps
from symdlt.networks.layer_means import check_activation, layer_means
from symdlt.networks.mlp import MLP
from symdlt.networks.numbers import check_memory
from symdlt.networks.requests import (
    asked_tensors,
    axes,
    check_data,
    check_learning_rates,
    overlaps,
)
from symdlt.progress import track

Array: TypeAlias = NDArray[np.float64]
Orders: TypeAlias = tuple[int, ...]
Operand: TypeAlias = tuple[Array, str]

HYPERPARAMETERS = ("C_b", "C_W", "lambda_b", "lambda_W")
VARIED = "p"
AXES = "abcdefgh"
# Correlations at 1 change by rounding alone, about 1e-16 a layer, where samples stay parallel.
AT_REST = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """What terms are evaluated with at one layer: of values and of what varies.

    Attributes:
        samples: how many there are.
        numbers: the hyperparameters of the layer by name, and the ratio of widths below.
        means: tables of means by the orders of their derivatives.
        tensors: those of the layer below by name, and the overlaps of inputs as "x".
        varied: the derivatives of all these by name, parameters along axis 0.
    """

    samples: int
    numbers: Mapping[str, float]
    means: Mapping[Orders, Array]
    tensors: Mapping[str, Array]
    varied: Mapping[str, Array]


def kernel_gradient(
    mlp: MLP,
    x: ArrayLike,
    tensors: str | Iterable[str] = ("G",),
    *,
    with_respect_to: str,
    tolerance: float = 1e-7,
    progress: bool | None = None,
) -> dict[str, Array]:
    r"""The derivatives of tensors at every layer, by inputs or by a hyperparameter of each layer.

    A bracket changes with the kernel by Price's theorem, so that the derivative of a recursion is
    one of the same kind; see `symdlt.derivation.sensitivity`. No finite differences are taken.

    Args:
        mlp: the network, of L layers.
        x: data of shape (N, n_0).
        tensors: as in `propagate`, such as "G", the kernel, and "H", the NTK. Tensors of four
            samples take N^4 numbers for each parameter.
        with_respect_to: "x", "C_b", "C_W", "lambda_b" or "lambda_W".
        tolerance: of means over four samples.
        progress: True or False, or None to show it on a terminal only.

    Returns:
        For each tensor an array with its own axes first, (L, N, N) for G and H, and then those of
        what is varied: (N, n_0) for "x", and (L,) for hyperparameters, one of each layer. Their
        sum over the last axis is the derivative by a number that all layers share.

    Raises:
        ActivationError: if there are too few derivatives, or kinks make a derivative infinite.
        InputError: for an argument of the wrong kind.
        KernelError: for numbers that cannot be used, and too little memory.
        UnknownTensorError: if there is no tensor of such a name.

    >>> mlp = MLP(activation="erf", widths=[50], C_b=0.0, C_W=[1.0, 2.0])
    >>> gradient = kernel_gradient(mlp, [[1.0, 0.5]], "G", with_respect_to="C_W")
    >>> gradient["G"].shape, gradient["G"][0, 0, 0]
    ((2, 1, 1, 2), array([0.625, 0.   ]))
    """
    require(mlp, MLP, "a network", "Give an MLP(activation=…, widths=…, C_b=…, C_W=…).")
    require(progress, bool | None, "a choice", "Give True, False or None.")
    names = asked_tensors(tensors)
    if with_respect_to not in ("x", *HYPERPARAMETERS):
        raise InputError(
            f"with_respect_to is {short_repr(with_respect_to)}. It says what is varied. "
            f"Give 'x' or one of {', '.join(HYPERPARAMETERS)}."
        )
    check_learning_rates(mlp, names)
    data = check_data(x)
    samples = len(data)
    check_activation(mlp, names)
    overlap = overlaps(data)
    check_jumps(mlp, overlap, names, [np.array(range(samples))] * 2)
    parameters = samples * (samples + 1) // 2 if with_respect_to == "x" else mlp.depth
    check_memory(
        (1 + parameters + data.size) * mlp.depth * sum(samples ** axes(name) for name in names),
        "Give fewer samples, fewer tensors or fewer layers.",
    )
    system = derive_system(names)
    try:
        with np.errstate(all="ignore"):
            steps = _steps(mlp, overlap, system.recursions, with_respect_to, tolerance, progress)
            by_step = {name: np.array([step[name] for step in steps]) for name in names}
    except KernelInputError as reason:
        raise KernelError(str(reason)) from reason
    gradients = {name: np.moveaxis(array, 1, -1) for name, array in by_step.items()}
    if with_respect_to == "x":
        gradients = {name: _by_inputs(array, data) for name, array in gradients.items()}
    for name, array in gradients.items():
        if not np.isfinite(array).all():
            raise KernelError(
                f"The derivative of {name} overflows. It grows from layer to layer. "
                "Give fewer layers, or smaller data or hyperparameters."
            )
    return gradients


def _by_inputs(gradient: Array, data: Array) -> Array:
    """From derivatives by overlaps (x_a·x_b)/n_0, a <= b along the last axis, to those by x."""
    count, width = data.shape
    a, b = np.triu_indices(count)
    whole = np.zeros((*gradient.shape[:-1], count, count))
    whole[..., a, b] += gradient
    whole[..., b, a] += gradient
    result: Array = whole @ data / width
    return result


def _steps(
    mlp: MLP,
    overlap: Array,
    recursions: Sequence[Recursion],
    varied: str,
    tolerance: float,
    progress: bool | None,
) -> list[dict[str, Array]]:
    """The derivatives of all tensors, layer by layer, parameters along axis 0."""
    sensitivities = {recursion.name: sensitivity(recursion) for recursion in recursions}
    orders = {
        term: _orders(term)
        for one in sensitivities.values()
        for term in (*one.recursion.terms, *(changed.factor for changed in one.terms))
    }
    needed = sorted({order for each in orders.values() for order in each})
    _check_derivatives(mlp, needed)
    highest = max((max(order) for order in needed), default=0)
    means = layer_means(mlp, highest, tolerance, zero_slopes=False)
    changes: dict[str, Array] = {"x": _varied_overlaps(overlap, mlp.depth, varied)}
    values: dict[str, Array] = {"x": overlap}
    steps: list[dict[str, Array]] = []
    for number in track(range(mlp.depth), "layer", progress):
        changes |= {
            name: _at_layer(changes["x"].shape[0], number, name == varied)
            for name in HYPERPARAMETERS
        }
        tables = _tables(means, values["G"], needed) if number else {}
        if number:
            _check_meeting(mlp, values["G"], changes["G"], recursions, number)
        layer = _Layer(len(overlap), _numbers(mlp, number), tables, values, changes)
        new, moved = {"x": overlap}, {"x": changes["x"]}
        for recursion in recursions:
            one = sensitivities[recursion.name]
            terms = recursion.terms if number else recursion.first_layer
            changed = one.terms if number else one.first_layer
            new[recursion.name] = _value(layer, recursion, terms)
            moved[recursion.name] = _change(layer, recursion, changed)
        values, changes = new, moved
        steps.append(moved)
    return steps


def _varied_overlaps(overlap: Array, depth: int, varied: str) -> Array:
    """The derivatives of the overlaps by themselves, or by hyperparameters, which is zero."""
    count = len(overlap)
    if varied != "x":
        return np.zeros((depth, count, count))
    a, b = np.triu_indices(count)
    overlaps = np.zeros((len(a), count, count))
    overlaps[np.arange(len(a)), a, b] = overlaps[np.arange(len(a)), b, a] = 1.0
    return overlaps


def _at_layer(parameters: int, layer: int, varied: bool) -> Array:
    unit = np.zeros(parameters)
    if varied:
        unit[layer] = 1.0
    return unit


def _numbers(mlp: MLP, layer: int) -> dict[str, float]:
    given = {name: getattr(mlp, name) for name in HYPERPARAMETERS}
    numbers = {name: value[layer] if value else 0.0 for name, value in given.items()}
    # Tensors that are multiplied with the ratio of widths vanish at the first layer.
    ratio = mlp.widths[layer - 1] / mlp.widths[layer - 2] if layer > 1 else 1.0
    return numbers | {"ratio": ratio}


def _orders(term: RecursionTerm) -> list[Orders]:
    return [tuple(order for _, order in bracket.factors) for bracket in term.brackets]


def _tables(means: LayerMeans, K: Array, orders: Sequence[Orders]) -> dict[Orders, Array]:
    return dict(zip(orders, means(K, orders, None), strict=True))


def _value(layer: _Layer, recursion: Recursion, terms: Sequence[RecursionTerm]) -> Array:
    shape = (layer.samples,) * recursion.correlator.axes
    total = np.zeros(shape)
    for term in terms:
        total += _product(layer, recursion, term, [])
    return total


def _change(layer: _Layer, recursion: Recursion, terms: Sequence[SensitivityTerm]) -> Array:
    parameters = layer.varied["x"].shape[0]
    total = np.zeros((parameters, *(layer.samples,) * recursion.correlator.axes))
    for term in terms:
        varied, differential = layer.varied[term.of], term.differential
        if not varied.any():
            continue
        samples = differential.samples if isinstance(differential, TensorFactor) else differential
        letters = "" if isinstance(samples, str) else _letters(recursion, samples)
        total += _product(layer, recursion, term.factor, [(varied, VARIED + letters)])
    return total


def _letters(recursion: Recursion, samples: Iterable[int]) -> str:
    return "".join(AXES[recursion.samples.index(sample)] for sample in samples)


def _product(
    layer: _Layer, recursion: Recursion, term: RecursionTerm, operands: Sequence[Operand]
) -> Array:
    """A term as a product of arrays over all samples, the axes of parameters first."""
    powers = [layer.numbers[name] ** power for name, power in term.hyperparameters.named]
    number = float(term.coefficient) * math.prod(powers)
    number *= layer.numbers["ratio"] ** term.width_ratio
    factors = [*operands]
    for bracket, orders in zip(term.brackets, _orders(term), strict=True):
        factors.append((layer.means[orders], _letters(recursion, (s for s, _ in bracket.factors))))
    for one in term.tensors:
        name = piece_name(one.correlator, one.piece)
        factors.append((layer.tensors[name], _letters(recursion, one.samples)))
    if term.overlap:
        factors.append((layer.tensors["x"], _letters(recursion, term.overlap)))
    result = _letters(recursion, recursion.samples)
    used = "".join(letters for _, letters in factors)
    everywhere = np.ones(layer.samples)
    factors += [(everywhere, letter) for letter in result if letter not in used]
    if operands:
        result = VARIED + result
    text = ",".join(letters for _, letters in factors)
    arrays = [array for array, _ in factors]
    product: Array = number * np.einsum(f"{text}->{result}", *arrays, optimize=True)
    return product


def _check_derivatives(mlp: MLP, orders: Sequence[Orders]) -> None:
    """Refuse an activation without the derivatives, or the smoothness, that gradients need."""
    if not isinstance(mlp.activation, Activation):
        highest = max((max(order) for order in orders), default=0)
        if len(mlp.activation) <= highest:
            raise ActivationError(
                f"The activation is given by {len(mlp.activation)} functions. Gradients need "
                f"{highest + 1}: sigma and its first {highest} derivatives. Give them in order, "
                "or give the activation as text."
            )
        return
    kinks = kinks_of(mlp.activation)
    jumps = np.array([row for _, row in kinks])
    if kinks and any(len(order) == 4 and has_infinite_mean(jumps, order) for order in orders):
        raise ActivationError(
            f"The gradient of a tensor of four samples is infinite for {mlp.activation!r}: where "
            f"samples meet, its means at the kink z = {kinks[0][0]:g} have products of delta "
            "functions. Ask for G or H, or smooth the kink."
        )


def _check_meeting(
    mlp: MLP, K: Array, change: Array, recursions: Sequence[Recursion], number: int
) -> None:
    """Refuse different samples that meet at a kink, where a mean has no slope in their overlap."""
    if not isinstance(mlp.activation, Activation):
        return
    orders = {order for one in recursions for term in one.terms for order in _orders(term)}
    for order in sorted({pair[0] for pair in orders if len(pair) == 2}):
        kinks = [(place, row[order:]) for place, row in kinks_of(mlp.activation)]
        if not any(row[0] for _, row in kinks):
            continue
        with np.errstate(all="ignore"):
            own, moved = np.diag(K), np.diagonal(change, axis1=1, axis2=2)
            rest = moved / own
            drift = change / K - (rest[:, :, None] + rest[:, None, :]) / 2
        moving = np.any(np.abs(drift) > AT_REST * (1 + np.abs(rest).max()), axis=0)
        bad = np.argwhere(np.triu(meeting_jumps(kinks, K) & moving, 1))
        if bad.size:
            i, j = bad[0]
            raise ActivationError(
                f"Samples {i} and {j} meet at layer {number}, |rho| = 1. At a kink of "
                f"{mlp.activation!r} the tensors change with their overlap as a square root "
                "there, and have no derivative. Leave out one of the two, or smooth the kink."
            )
