"""The short way to a fully-connected network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.definitions import Network
from symdlt.definitions.network import read_activation
from symdlt.networks.evaluation import propagate
from symdlt.networks.propagation import Propagation

PerLayer: TypeAlias = float | Sequence[float] | NDArray[np.float64]


class MLP(Network):
    r"""A fully-connected network at initialisation.

    It has L layers, one more than hidden widths, and for ℓ = 1, …, L

    $$E[b_i b_j] = δ_{ij} C_b, \quad E[W_{ij} W_{kl}] = δ_{ik} δ_{jl} C_W / n_{ℓ-1}$$

    with learning rates $λ_b$ of the biases and $λ_W / n_{ℓ-1}$ of the weights. Each of these four
    is one number, or one for each layer.

    Attributes:
        activation: a name or an expression in z ("tanh", "leaky_relu(z, 0.1)"), a SymPy expression
            in one symbol, or a list of functions of arrays: the activation, then its derivatives.
        widths: the hidden widths n_1, …, n_(L-1).
        C_b: variances of the biases.
        C_W: variances of the weights times the width below.
        lambda_b: learning rates of the biases; G and V do not need them.
        lambda_W: learning rates of the weights times the width below, likewise.
        n_L: the width of the output.

    Raises:
        ActivationError: if the activation cannot be read.
        InputError: for an argument of the wrong kind.
        KernelError: if numbers are negative or not finite, or not one for each layer.

    >>> MLP(activation="tanh", widths=[64, 32], C_b=0.0, C_W=[1.0, 1.0, 2.0])
    MLP(tanh, 3 layers, widths=(64, 32), C_b=0.0, C_W=(1.0, 1.0, 2.0))
    """

    def __init__(
        self,
        *,
        activation: object,
        widths: Sequence[int],
        C_b: PerLayer,
        C_W: PerLayer,
        lambda_b: PerLayer | None = None,
        lambda_W: PerLayer | None = None,
        n_L: int = 1,
    ) -> None:
        values = {"C_b": C_b, "C_W": C_W, "lambda_b": lambda_b, "lambda_W": lambda_W}
        super().__init__(read_activation(activation), widths, values, n_L=n_L)

    def propagate(
        self,
        x: ArrayLike,
        tensors: str | Iterable[str] = "all",
        *,
        blocks: Sequence[Sequence[int]] | None = None,
        executor: Executor | None = None,
        tolerance: float = 1e-7,
        progress: bool | None = None,
    ) -> Propagation:
        """The tensors of this network for given data; see `symdlt.networks.propagate`."""
        return propagate(
            self,
            x,
            tensors,
            blocks=blocks,
            executor=executor,
            tolerance=tolerance,
            progress=progress,
        )

    def _ends(self) -> list[str]:
        return []
