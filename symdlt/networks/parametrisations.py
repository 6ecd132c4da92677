r"""The parametrisations of frameworks, in the variances and learning rates of the theory and back.

A framework stores w and b, and computes $z = α_W\, w s + α_b\, b$ with multipliers. What it
stores has the standard deviations $s_W, s_b$ at first and the learning rates $r_W, r_b$. With
$W = α_W w$,

$$C_W = n α_W^2 s_W^2, \quad λ_W = n α_W^2 r_W, \quad C_b = α_b^2 s_b^2, \quad λ_b = α_b^2 r_b,$$

n being the width below, as $dW/dt = α_W\, dw/dt = -α_W^2 r_W\, ∂L/∂W$.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from reprlib import repr as short_repr
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from symdlt.errors import InputError, KernelError, require
from symdlt.networks.numbers import real_numbers
from symdlt.sampling import NetworkEnsemble, NetworkParameters

PerLayer: TypeAlias = float | Sequence[float]


@dataclass(frozen=True, slots=True)
class FrameworkLayer:
    """How a framework computes one layer, draws its parameters, and moves them.

    Attributes:
        weight_multiplier: what stored weights are multiplied with when they are used.
        bias_multiplier: that of biases.
        weight_std: the standard deviation of a stored weight at initialisation.
        bias_std: that of a stored bias.
        weight_rate: the learning rate of a stored weight.
        bias_rate: that of a stored bias.

    Raises:
        InputError: if one of them is no number.
        KernelError: if one is not finite, or a standard deviation or a learning rate is negative.
    """

    weight_multiplier: float
    bias_multiplier: float
    weight_std: float
    bias_std: float
    weight_rate: float
    bias_rate: float

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            given = real_numbers(name, getattr(self, name), "one number")
            signed = name.endswith("multiplier")
            if given.ndim or not np.isfinite(given) or (given < 0 and not signed):
                raise KernelError(
                    f"{name} is {short_repr(getattr(self, name))}. It is one finite number of a "
                    f"layer{'' if signed else ', and not negative'}. Correct the value."
                )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a layer is: the widths below and above it, that below the output, and which it is."""

    below: int
    above: int
    highest: int
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class _Constants:
    """Constants of a layer that do not depend on widths."""

    weight_sigma: float
    bias_sigma: float
    weight_eta: float
    bias_eta: float


def _standard(at: _Place, c: _Constants) -> FrameworkLayer:
    """Weights as they are used, one learning rate for all."""
    return FrameworkLayer(
        1.0, 1.0, c.weight_sigma / math.sqrt(at.below), c.bias_sigma, c.weight_eta, c.bias_eta
    )


def _ntk(at: _Place, c: _Constants) -> FrameworkLayer:
    """Jacot, Gabriel and Hongler (2018): the width is in the multiplier."""
    return FrameworkLayer(
        at.below**-0.5, 1.0, c.weight_sigma, c.bias_sigma, c.weight_eta, c.bias_eta
    )


def _neural_tangents(at: _Place, c: _Constants) -> FrameworkLayer:
    """Novak et al. (2020): so are the standard deviations, and what is stored has variance one."""
    return FrameworkLayer(
        c.weight_sigma * at.below**-0.5, c.bias_sigma, 1.0, 1.0, c.weight_eta, c.bias_eta
    )


def _mean_field(at: _Place, c: _Constants) -> FrameworkLayer:
    """Bordelon and Pehlevan (2022): the output over n, and learning rates times n."""
    multiplier = 1.0 / at.below if at.last else at.below**-0.5
    bias_rate = c.bias_eta * (1 if at.last else at.above)
    return FrameworkLayer(
        multiplier, 1.0, c.weight_sigma, c.bias_sigma, c.weight_eta * at.highest, bias_rate
    )


def _mup(at: _Place, c: _Constants) -> FrameworkLayer:
    """Yang, Hu et al., "Tensor programs V" (2022), table 3 with SGD; no multipliers."""
    std = c.weight_sigma / (at.below if at.last else math.sqrt(at.below))
    grown = at.above if at.first and not at.last else 1
    rate = c.weight_eta * (1 / at.below if at.last else grown)
    return FrameworkLayer(
        1.0, 1.0, std, c.bias_sigma, rate, c.bias_eta * (1 if at.last else at.above)
    )


PARAMETRISATIONS: Mapping[str, Callable[[_Place, _Constants], FrameworkLayer]] = {
    "standard": _standard,
    "ntk": _ntk,
    "neural_tangents": _neural_tangents,
    "mean_field": _mean_field,
    "mup": _mup,
}


def framework_layers(
    parametrisation: str,
    widths: Sequence[int],
    *,
    weight_sigma: PerLayer = 1.0,
    bias_sigma: PerLayer = 0.0,
    weight_eta: PerLayer = 1.0,
    bias_eta: PerLayer | None = None,
) -> tuple[FrameworkLayer, ...]:
    """The multipliers, standard deviations and learning rates of a parametrisation, by layer.

    Args:
        parametrisation: "standard", "ntk", "neural_tangents", "mean_field" or "mup".
        widths: n_0, …, n_L.
        weight_sigma: what the parametrisation scales to the standard deviation of weights; one
            number, or one for each layer, as for all that follow.
        bias_sigma: the same of biases.
        weight_eta: what it scales to the learning rate of weights.
        bias_eta: the same of biases; that of weights if left out.

    Raises:
        InputError: for an unknown parametrisation, or what is no number.
        KernelError: if numbers are negative or not finite, or not one for each layer.
        SamplingError: if the widths make no network.

    >>> framework_layers("ntk", [4, 100, 1], weight_eta=0.5)[1]
    FrameworkLayer(weight_multiplier=0.1, bias_multiplier=1.0, weight_std=1.0, bias_std=0.0,
                   weight_rate=0.5, bias_rate=0.5)
    """
    made = _rule(parametrisation)
    places = _places(NetworkEnsemble.of(widths).sizes)
    given = {"weight_sigma": weight_sigma, "bias_sigma": bias_sigma, "weight_eta": weight_eta}
    given["bias_eta"] = weight_eta if bias_eta is None else bias_eta
    columns = [_per_layer(name, value, len(places)) for name, value in given.items()]
    rows = zip(*columns, strict=True)
    return tuple(made(at, _Constants(*row)) for at, row in zip(places, rows, strict=True))


def from_framework(widths: Sequence[int], layers: Sequence[FrameworkLayer]) -> NetworkEnsemble:
    """The variances and learning rates of the theory for what a framework does.

    Args:
        widths: n_0, …, n_L.
        layers: one for each layer, from `framework_layers` or written down by hand.

    Raises:
        InputError: if these are no layers.
        KernelError: if there are more or fewer than the widths have.
        SamplingError: if the widths make no network, or numbers are no variances.

    >>> layers = framework_layers("standard", [4, 64, 1], weight_eta=0.01)
    >>> from_framework([4, 64, 1], layers)
    NetworkEnsemble(2 layers, widths=(64,), C_b=0.0, C_W=1.0, lambda_b=0.01, lambda_W=(0.04, 0.64),
                    n_0=4, n_L=1)
    """
    sizes = NetworkEnsemble.of(widths).sizes
    _check_layers(layers, len(sizes) - 1)
    both = list(zip(sizes, layers, strict=False))
    return NetworkEnsemble.of(
        sizes,
        C_b=[(one.bias_multiplier * one.bias_std) ** 2 for one in layers],
        C_W=[n * (one.weight_multiplier * one.weight_std) ** 2 for n, one in both],
        lambda_b=[one.bias_multiplier**2 * one.bias_rate for one in layers],
        lambda_W=[n * one.weight_multiplier**2 * one.weight_rate for n, one in both],
    )


def to_framework(ensemble: NetworkEnsemble, parametrisation: str) -> tuple[FrameworkLayer, ...]:
    """What a framework must do in a parametrisation to train the networks of an ensemble.

    The functions that networks compute, their NTK, and each step of gradient descent are the same.

    Args:
        ensemble: widths, variances and learning rates of the theory.
        parametrisation: as in `framework_layers`.

    Raises:
        InputError: for an unknown parametrisation.
        KernelError: where it has no such learning rate, as "neural_tangents" at a variance of
            zero.

    >>> to_framework(NetworkEnsemble.of([4, 64, 1], C_W=4.0), "standard")[1]
    FrameworkLayer(weight_multiplier=1.0, bias_multiplier=1.0, weight_std=0.25, bias_std=0.0,
                   weight_rate=0.015625, bias_rate=0.0)
    """
    require(ensemble, NetworkEnsemble, "an ensemble", "Try NetworkEnsemble.of((3, 8, 2)).")
    made = _rule(parametrisation)
    return tuple(
        _solved(ensemble, made, layer, at) for layer, at in enumerate(_places(ensemble.sizes))
    )


def network_parameters(
    layers: Sequence[FrameworkLayer], weights: Sequence[ArrayLike], biases: Sequence[ArrayLike]
) -> NetworkParameters:
    """One network with the weights that a framework stores, trained or not, multipliers put in.

    Args:
        layers: how the framework computes, for its multipliers.
        weights: one matrix for each layer, of shape (n_l, n_(l-1)).
        biases: one vector for each layer, of shape (n_l,).

    Raises:
        InputError: if these are no numbers.
        KernelError: if they are not those of a network of so many layers.
    """
    _check_layers(layers, len(weights))
    parameters = []
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=False), 1):
        W = real_numbers(f"weights of layer {number}", weight, "a matrix of shape (n_l, n_(l-1))")
        b = real_numbers(f"biases of layer {number}", bias, "a vector of shape (n_l,)")
        parameters.append((W, b))
    fitting = len(parameters) == len(weights) == len(biases) and all(
        W.ndim == 2 and b.shape == W.shape[:1] for W, b in parameters
    )
    if not fitting or any(
        low.shape[0] != high.shape[1] for (low, _), (high, _) in pairwise(parameters)
    ):
        shapes = ", ".join(f"{W.shape} {b.shape}" for W, b in parameters)
        raise KernelError(
            f"The weights and biases {short_repr(shapes)} do not make a network. Each layer has a "
            "matrix of shape (n_l, n_(l-1)) and a vector of shape (n_l,). Transpose matrices that "
            "a framework stores the other way, and give zeros where it has no bias."
        )
    pairs = list(zip(layers, parameters, strict=True))
    return NetworkParameters(
        tuple(one.weight_multiplier * W[None] for one, (W, _) in pairs),
        tuple(one.bias_multiplier * b[None] for one, (_, b) in pairs),
    )


def _rule(parametrisation: str) -> Callable[[_Place, _Constants], FrameworkLayer]:
    if isinstance(parametrisation, str) and parametrisation in PARAMETRISATIONS:
        return PARAMETRISATIONS[parametrisation]
    raise InputError(
        f"There is no parametrisation {short_repr(parametrisation)}. It says how weights and "
        f"learning rates are scaled with widths. Give one of {', '.join(PARAMETRISATIONS)}."
    )


def _places(widths: Sequence[int]) -> list[_Place]:
    depth = len(widths) - 1
    return [
        _Place(below, above, widths[-2], layer == 0, layer == depth - 1)
        for layer, (below, above) in enumerate(pairwise(widths))
    ]


def _per_layer(name: str, value: Any, depth: int) -> list[float]:
    numbers = real_numbers(name, value, "one number, or one for each layer")
    if numbers.ndim == 0:
        numbers = np.full(depth, float(numbers))
    if numbers.shape != (depth,) or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise KernelError(
            f"{name} is {short_repr(value)}. The network has {depth} layers, whose standard "
            f"deviations and learning rates are finite and not negative. Give one, or {depth}."
        )
    return [float(number) for number in numbers]


def _check_layers(layers: Any, depth: int) -> None:
    advice = "`framework_layers` makes them, one for each layer."
    require(layers, Sequence, "a list of layers", advice)
    for one in layers:
        require(one, FrameworkLayer, "a FrameworkLayer", advice)
    if len(layers) != depth:
        raise KernelError(
            f"There are {len(layers)} layers of a framework for {depth} of a network. Each has its "
            "own multipliers and learning rates. Give one for each layer."
        )


def _solved(
    ensemble: NetworkEnsemble,
    made: Callable[[_Place, _Constants], FrameworkLayer],
    layer: int,
    at: _Place,
) -> FrameworkLayer:
    """The layer with constants that give the numbers of the theory.

    Variances go as the squares of sigmas, and learning rates are linear in etas at these sigmas.
    """

    def numbers(c: _Constants) -> tuple[float, float, float, float]:
        one = made(at, c)
        return (
            at.below * (one.weight_multiplier * one.weight_std) ** 2,
            (one.bias_multiplier * one.bias_std) ** 2,
            at.below * one.weight_multiplier**2 * one.weight_rate,
            one.bias_multiplier**2 * one.bias_rate,
        )

    C_W, C_b, *_ = numbers(_Constants(1.0, 1.0, 1.0, 1.0))
    weight_sigma = math.sqrt(ensemble.C_W[layer] / C_W)
    bias_sigma = math.sqrt(ensemble.C_b[layer] / C_b)
    *_, lambda_W, lambda_b = numbers(_Constants(weight_sigma, bias_sigma, 1.0, 1.0))
    etas = []
    for name, unit in (("lambda_W", lambda_W), ("lambda_b", lambda_b)):
        wanted = getattr(ensemble, name)[layer]
        if wanted and not unit:
            raise KernelError(
                f"{name} is {wanted:g} at layer {layer + 1}, where the variance is zero. In this "
                "parametrisation what has no variance does not learn. Choose another one, or give "
                "a variance."
            )
        etas.append(wanted / unit if unit else 0.0)
    return made(at, _Constants(weight_sigma, bias_sigma, *etas))
