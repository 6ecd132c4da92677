"""Draws of the parameters of networks at initialisation."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from operator import attrgetter
from reprlib import repr as short_repr
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.algebra import (
    ORTHOGONAL,
    Law,
    gaussian,
    hazard_value,
    symbol,
    truncated_normal,
    uniform,
)
from symdlt.definitions import (
    WIDTH,
    Mask,
    Network,
    Program,
    ProgramBranch,
    dense_layer,
    program_of,
)
from symdlt.equality import EqualByFields
from symdlt.errors import InputError, KernelError, SamplingError, require
from symdlt.sampling.checks import check_generator, check_memory, whole_number

Array = npt.NDArray[Any]
PerLayer = float | Sequence[float]

_VARIANCE = symbol("C_W") / symbol(WIDTH)
# Convention: the usual initialisers of frameworks cut at two standard deviations of the uncut law.
_CUT = 2
WEIGHT_LAWS: Mapping[str, Law] = MappingProxyType(
    {
        "gaussian": gaussian(_VARIANCE),
        "truncated_normal": truncated_normal(
            _VARIANCE / (1 - _CUT * Fraction(hazard_value(_CUT))), _CUT, hazard=""
        ),
        "uniform": uniform(_VARIANCE),
    }
)


class NetworkEnsemble(Network):
    r"""Dense networks of all widths $n_0, …, n_L$; the sampler is given their activation.

    Attributes:
        values: C_b, C_W, lambda_b and lambda_W of the layers 1, …, L; the others are those of
            `Network`, and `of` makes one.

    >>> NetworkEnsemble.of((3, 8, 2), C_W=(1.0, 2.0))
    NetworkEnsemble(2 layers, widths=(8,), C_b=0.0, C_W=(1.0, 2.0), lambda_b=0.0, lambda_W=1.0,
                    n_0=3, n_L=2)
    """

    @classmethod
    def of(
        cls,
        widths: Sequence[int],
        *,
        C_b: PerLayer = 0.0,
        C_W: PerLayer = 1.0,
        lambda_b: PerLayer = 0.0,
        lambda_W: PerLayer = 1.0,
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
        n_0, *hidden, n_L = _whole_widths(widths)
        if not isinstance(weight_law, str) or weight_law not in WEIGHT_LAWS:
            raise SamplingError(
                f"There is no weight law {short_repr(weight_law)}. "
                f"It was given as `weight_law` of the ensemble. "
                f"Try one of {', '.join(WEIGHT_LAWS)}."
            )
        values = {"C_b": C_b, "C_W": C_W, "lambda_b": lambda_b, "lambda_W": lambda_W}
        layer = dense_layer(WEIGHT_LAWS[weight_law])
        try:
            return cls(None, hidden, values, layer, n_L=n_L, n_0=n_0)
        except (InputError, KernelError) as reason:
            raise SamplingError(str(reason)) from reason


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NetworkParameters(EqualByFields):
    """Weights and biases of many networks, with networks along the first axis.

    There is one array for each random tensor of each layer, so one a layer if they are dense. Masks
    have the shape (networks, neurons, samples).
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    masks: tuple[Array, ...] = ()

    @property
    def count(self) -> int:
        """The number of networks."""
        return int((*self.weights, *self.biases)[0].shape[0])

    def __repr__(self) -> str:
        shapes = ", ".join(str(weight.shape[1:]) for weight in self.weights)
        return f"NetworkParameters({self.count} networks, weights {shapes})"


def join_networks(parts: Sequence[NetworkParameters]) -> NetworkParameters:
    """All networks of some draws, one after the other."""
    if len(parts) == 1:
        return parts[0]
    weights, biases, masks = (
        tuple(np.concatenate(arrays) for arrays in zip(*(kind(one) for one in parts), strict=True))
        for kind in map(attrgetter, ("weights", "biases", "masks"))
    )
    return NetworkParameters(weights, biases, masks)


def random_branches(program: Program) -> Iterator[ProgramBranch]:
    """The branches that are drawn, field by field; weights come before biases.

    Of those that have one tensor together only the first is.
    """
    known: set[tuple[int, str] | None] = {None}
    for branch in (one for field in program.fields for one in field.drawn):
        if branch.shared is None or branch.shared not in known:
            yield branch
        known.add(branch.shared)


def count_parameters(program: Program) -> int:
    """The number of weights and biases of one network."""
    return sum(math.prod(branch.shape) for branch in random_branches(program))


def draw_parameters(
    ensemble: Network, count: int, rng: np.random.Generator, samples: int = 1
) -> NetworkParameters:
    r"""Draw the parameters of `count` independent networks.

    Of dense layers, $W_{ij} = \sqrt{C_W / n_{ℓ-1}}\, ω$ and $b_i = \sqrt{C_b}\, ω'$ with ω, ω' of
    mean zero, variance one, and the law of the layer's tensor.

    Args:
        ensemble: the network.
        count: how many.
        rng: source of all randomness.
        samples: for how many samples masks are drawn, if there are any.

    Raises:
        SamplingError: if the count is no positive whole number, for too many parameters, or for a
            law of which only cumulants are known.

    >>> ensemble = NetworkEnsemble.of((3, 8, 2))
    >>> draw_parameters(ensemble, 5, np.random.default_rng(0))
    NetworkParameters(5 networks, weights (8, 3), (2, 8))
    """
    require(ensemble, Network, "a network", "Try NetworkEnsemble.of((3, 8, 2)).")
    whole_number("count", count)
    check_generator(rng)
    program = program_of(ensemble, learning=False)
    # The draws, and while they are cut or scaled two more arrays like them.
    check_memory(3 * count * count_parameters(program))
    weights: list[Array] = []
    biases: list[Array] = []
    for branch in random_branches(program):
        assert branch.tensor.law is not None
        shape = (count, *branch.shape)
        drawn = math.sqrt(branch.entry_variance) * _draw_standard(branch.tensor.law, shape, rng)
        (biases if branch.site is None else weights).append(drawn)
    masks = (
        _draw_mask(field.mask, (count, field.width, samples), rng)
        for field in program.fields
        if field.mask
    )
    return NetworkParameters(tuple(weights), tuple(biases), tuple(masks))


def _draw_mask(mask: Mask, shape: tuple[int, int, int], rng: np.random.Generator) -> Array:
    """Masks of many networks for all samples, which may share one draw."""
    drawn = rng.random((*shape[:2], 1) if mask.shared else shape) >= float(mask.rate)
    return np.broadcast_to(drawn / float(mask.kept), shape)


def _draw_standard(law: Law, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Numbers of variance one whose multiples have a law."""
    if law.name == "uniform":
        return rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), shape)
    if law.name == "signs":
        return 2.0 * rng.integers(0, 2, shape) - 1.0
    if law.name == "sparse":
        chosen = rng.random(shape) < float(law.density)
        return np.where(chosen, rng.standard_normal(shape), 0.0) / math.sqrt(law.density)
    if law.name == ORTHOGONAL:
        return _draw_orthogonal(shape, rng)
    if law.name not in ("gaussian", "truncated normal"):
        raise SamplingError(
            f"A {law.name} law is known by its cumulants alone, and cannot be drawn from. "
            "It is that of a tensor of a layer of the network. "
            "Try a Gaussian, uniform, truncated normal, sparse or orthogonal law, or signs."
        )
    values = rng.standard_normal(shape)
    if law.name == "gaussian":
        return values
    cut = float(law.cutoff)
    while (outside := np.abs(values) > cut).any():
        values[outside] = rng.standard_normal(int(outside.sum()))
    return values / math.sqrt(1.0 - cut * hazard_value(law.cutoff))


def _draw_orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Matrices by Haar measure: QR of Gaussian ones, with the signs of R's diagonal taken out."""
    count, rows, columns = shape
    size = max(rows, columns)
    basis, triangle = np.linalg.qr(rng.standard_normal((count, size, min(rows, columns))))
    basis *= np.sign(np.einsum("bii->bi", triangle))[:, None, :] * math.sqrt(size)
    return basis if rows >= columns else basis.swapaxes(1, 2)


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
