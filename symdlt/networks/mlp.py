"""A network: its activation, widths and hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from numbers import Integral
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation, activation
from symdlt.errors import ActivationError, InputError, KernelError
from symdlt.networks.numbers import real_numbers

if TYPE_CHECKING:
    from symdlt.networks.propagation import Propagation

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Array], Array]
PerLayer: TypeAlias = float | Sequence[float] | Array


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MLP:
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

    activation: Activation | tuple[Function, ...]
    widths: tuple[int, ...]
    C_b: tuple[float, ...]
    C_W: tuple[float, ...]
    lambda_b: tuple[float, ...] | None = None
    lambda_W: tuple[float, ...] | None = None
    n_L: int = 1

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            activation: Any,
            widths: Sequence[int],
            C_b: PerLayer,
            C_W: PerLayer,
            lambda_b: PerLayer | None = None,
            lambda_W: PerLayer | None = None,
            n_L: int = 1,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", _read_activation(self.activation))
        object.__setattr__(self, "widths", _whole_widths(self.widths))
        object.__setattr__(self, "n_L", _whole("n_L", self.n_L))
        for name in ("C_b", "C_W", "lambda_b", "lambda_W"):
            value = getattr(self, name)
            if value is not None or name.startswith("C_"):
                object.__setattr__(self, name, _per_layer(name, value, self.depth))

    @property
    def depth(self) -> int:
        """The number of layers L."""
        return len(self.widths) + 1

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
        from symdlt.networks.evaluation import propagate

        return propagate(
            self,
            x,
            tensors,
            blocks=blocks,
            executor=executor,
            tolerance=tolerance,
            progress=progress,
        )

    def __repr__(self) -> str:
        if isinstance(self.activation, Activation):
            name = self.activation.name
        else:
            name = f"{len(self.activation)} functions"
        parts = [name if len(name) <= 40 else name[:37] + "...", f"{self.depth} layers"]
        parts.append(f"widths={short_repr(self.widths)}")
        for symbol in ("C_b", "C_W", "lambda_b", "lambda_W"):
            value = getattr(self, symbol)
            if value is not None:
                shown = value[0] if len(set(value)) == 1 else short_repr(value)
                parts.append(f"{symbol}={shown}")
        return f"MLP({', '.join(parts)})"


def _read_activation(what: Any) -> Activation | tuple[Function, ...]:
    if isinstance(what, list | tuple):
        if what and all(map(callable, what)):
            return tuple(what)
        raise ActivationError(
            f"The activation {short_repr(what)} is no list of functions. "
            "It was given as `activation`. "
            "Give callables, sigma first and then its derivatives in order, as [np.sin, np.cos]."
        )
    if callable(what) and not hasattr(what, "free_symbols"):
        raise ActivationError(
            "The activation is a function without its derivatives. "
            "It was given as `activation`. Give a list, sigma first and then its derivatives in "
            "order, or a name or an expression such as 'tanh(z)', of which they are derived."
        )
    return activation(what)


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(
            f"{name} is {short_repr(value)}. A width is a whole number of neurons. Give 1, 2, 3, …."
        )
    if value < 1:
        raise KernelError(f"{name} is {value}. A layer has at least one neuron. Give 1, 2, 3, ….")
    return int(value)


def _whole_widths(widths: Any) -> tuple[int, ...]:
    if isinstance(widths, str | bytes | dict | set) or not isinstance(widths, Iterable):
        raise InputError(
            f"widths is {short_repr(widths)}. It lists the hidden widths, one fewer than layers. "
            "Give for instance [64, 32] for three layers."
        )
    entries = np.asarray(widths, object).ravel() if isinstance(widths, np.ndarray) else widths
    return tuple(_whole(f"widths[{place}]", width) for place, width in enumerate(entries))


def _per_layer(name: str, value: Any, depth: int) -> tuple[float, ...]:
    numbers = real_numbers(name, value, "one number, or one for each layer")
    if numbers.ndim == 0:
        numbers = np.full(depth, float(numbers))
    if numbers.shape != (depth,):
        raise KernelError(
            f"{name} has the shape {numbers.shape}. The network has {depth} layers, one more than "
            f"hidden widths. Give one number, or {depth} of them."
        )
    bad = ~np.isfinite(numbers) | (numbers < 0.0)
    if bad.any():
        layer = int(np.argmax(bad))
        raise KernelError(
            f"{name} is {numbers[layer]} at layer {layer + 1}. Variances and learning rates are "
            "finite and not negative. Correct the value."
        )
    return tuple(numbers.tolist())
