"""The ensemble of networks at initialisation, and draws from it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from reprlib import repr as short_repr
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.equality import EqualByFields
from symdlt.errors import SamplingError, require
from symdlt.sampling.checks import check_generator, check_memory, spread, whole_number

Array = npt.NDArray[Any]

WEIGHT_LAWS = ("gaussian", "truncated_normal", "uniform")
TRUNCATION = 2.0


@dataclass(frozen=True, slots=True)
class NetworkEnsemble:
    r"""Fully-connected networks of given widths at initialisation, with their learning rates.

    $$E[b_i b_j] = δ_{ij} C_b, \quad E[W_{ij} W_{kl}] = δ_{ik} δ_{jl} C_W / n_{ℓ-1}$$

    The learning-rate tensor is diagonal, $λ_b$ for biases and $λ_W / n_{ℓ-1}$ for weights. Each
    of the four hyperparameters holds one value a layer, for ℓ = 1, …, L in this order.

    >>> NetworkEnsemble.of((3, 8, 2), C_W=(1.0, 2.0))
    NetworkEnsemble(widths=(3, 8, 2), C_b=(0.0, 0.0), C_W=(1.0, 2.0), lambda_b=(0.0, 0.0),
                    lambda_W=(1.0, 1.0), weight_law='gaussian')
    """

    widths: tuple[int, ...]
    C_b: tuple[float, ...]
    C_W: tuple[float, ...]
    lambda_b: tuple[float, ...]
    lambda_W: tuple[float, ...]
    weight_law: str = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", _whole_widths(self.widths))
        for name in ("C_b", "C_W", "lambda_b", "lambda_W"):
            object.__setattr__(self, name, spread(name, getattr(self, name), self.depth))
        if self.weight_law not in WEIGHT_LAWS:
            raise SamplingError(
                f"There is no weight law {short_repr(self.weight_law)}. "
                f"It was given as `weight_law` of the ensemble. "
                f"Try one of {', '.join(WEIGHT_LAWS)}."
            )

    @classmethod
    def of(
        cls,
        widths: Sequence[int],
        *,
        C_b: float | Sequence[float] = 0.0,
        C_W: float | Sequence[float] = 1.0,
        lambda_b: float | Sequence[float] = 0.0,
        lambda_W: float | Sequence[float] = 1.0,
        weight_law: str = "gaussian",
    ) -> "NetworkEnsemble":
        """Build an ensemble; a single number stands for the same value in every layer.

        Args:
            widths: $n_0, …, n_L$, so that the number of layers is one less.
            C_b: bias variance of layers 1, …, L.
            C_W: weight variance of layers 1, …, L, before the division by the width.
            lambda_b: learning rate of the biases of layers 1, …, L.
            lambda_W: learning rate of the weights, before the division by the width.
            weight_law: law of a single weight; biases are always Gaussian.

        Returns:
            The ensemble, with every hyperparameter spread over the layers.

        Raises:
            SamplingError: if widths, lengths or signs do not make an ensemble.
        """
        sizes = _whole_widths(widths)
        depth = len(sizes) - 1
        return cls(
            sizes,
            spread("C_b", C_b, depth),
            spread("C_W", C_W, depth),
            spread("lambda_b", lambda_b, depth),
            spread("lambda_W", lambda_W, depth),
            weight_law,
        )

    @property
    def depth(self) -> int:
        """The number of layers L."""
        return len(self.widths) - 1

    @property
    def weights(self) -> int:
        """The number of weights of one network."""
        return sum(fan_in * fan_out for fan_in, fan_out in pairwise(self.widths))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NetworkParameters(EqualByFields):
    """Weights and biases of many networks: one array a layer, networks along the first axis."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    @property
    def count(self) -> int:
        """The number of networks."""
        return int(self.weights[0].shape[0])

    def __repr__(self) -> str:
        shapes = ", ".join(str(weight.shape[1:]) for weight in self.weights)
        return f"NetworkParameters({self.count} networks, weights {shapes})"


def draw_parameters(
    ensemble: NetworkEnsemble, count: int, rng: np.random.Generator
) -> NetworkParameters:
    r"""Draw the parameters of `count` independent networks.

    $W_{ij} = \sqrt{C_W / n_{ℓ-1}}\, ω$ and $b_i = \sqrt{C_b}\, ω'$ with ω, ω' of mean zero and
    variance one; ω has the law `ensemble.weight_law`, ω' is Gaussian.

    Raises:
        SamplingError: if the count is no positive whole number, or for too many parameters.

    >>> ensemble = NetworkEnsemble.of((3, 8, 2))
    >>> draw_parameters(ensemble, 5, np.random.default_rng(0))
    NetworkParameters(5 networks, weights (8, 3), (2, 8))
    """
    require(ensemble, NetworkEnsemble, "an ensemble", "Try NetworkEnsemble.of((3, 8, 2)).")
    whole_number("count", count)
    check_generator(rng)
    check_memory(3 * count * ensemble.weights)
    weights, biases = [], []
    for layer in range(ensemble.depth):
        fan_in, fan_out = ensemble.widths[layer : layer + 2]
        scale = math.sqrt(ensemble.C_W[layer] / fan_in)
        shape = (count, fan_out, fan_in)
        weights.append(scale * _draw_standard(ensemble.weight_law, shape, rng))
        biases.append(math.sqrt(ensemble.C_b[layer]) * rng.standard_normal((count, fan_out)))
    return NetworkParameters(tuple(weights), tuple(biases))


def _draw_standard(law: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if law == "uniform":
        return rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), shape)
    values = rng.standard_normal(shape)
    if law == "gaussian":
        return values
    while (outside := np.abs(values) > TRUNCATION).any():
        values[outside] = rng.standard_normal(int(outside.sum()))
    return values / math.sqrt(_truncated_variance(TRUNCATION))


def _truncated_variance(bound: float) -> float:
    density = math.exp(-bound * bound / 2) / math.sqrt(2 * math.pi)
    return 1 - 2 * bound * density / math.erf(bound / math.sqrt(2))


def _whole_widths(widths: Iterable[int]) -> tuple[int, ...]:
    sizes = tuple(widths) if isinstance(widths, Iterable) else ()
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) and n > 0 for n in sizes)
    if len(sizes) < 2 or not whole:
        raise SamplingError(
            f"The widths {short_repr(widths)} do not make a network. "
            f"They were given as `widths` of the ensemble, n_0 to n_L. "
            f"Try at least two whole numbers, each at least 1."
        )
    return tuple(map(int, sizes))
