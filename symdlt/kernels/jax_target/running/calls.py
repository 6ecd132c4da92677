"""What a kernel is called with: checked, in one precision, and with derivatives where asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from symdlt.errors import KernelInputError
from symdlt.kernels.jax_target.running.smooth import Array

Function = Callable[[Array], Array]
PerLayer: TypeAlias = float | Sequence[float] | Array
Activation = Function | Sequence[Function]


def precision(dtype: Any) -> Any:
    """The type to compute in: float64 unless another is asked for.

    Raises:
        KernelInputError: for types other than float32 and float64, and for float64 without x64.
    """
    x64 = bool(jax.config.jax_enable_x64)
    if dtype is None and not x64:
        warnings.warn(
            "JAX has float64 switched off (x64), so that this kernel computes in float32: about "
            'seven digits, and fewer in deep layers. Call jax.config.update("jax_enable_x64", '
            "True) at the start of the program, or give dtype=jnp.float32 if that is meant.",
            UserWarning,
            stacklevel=3,
        )
        return jnp.dtype("float32")
    wanted = jnp.dtype("float64" if dtype is None else dtype)
    if wanted.name not in ("float32", "float64") or (wanted.name == "float64" and not x64):
        raise KernelInputError(
            f"The kernel cannot compute in {wanted.name}. It has float32, and float64 where "
            'jax.config.update("jax_enable_x64", True) was called. Give one of these as dtype.'
        )
    return wanted


def layer_count(depth: int) -> int:
    """Refuse what is no number of layers; under jit it has to be static."""
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise KernelInputError(
            f"The depth is {depth!r}. It is the number of layers L, a positive integer that is "
            'known when JAX compiles. Give it to jit as static_argnames=("depth",).'
        )
    return depth


def at_layers(name: str, value: PerLayer | None, needed: bool, depth: int, dtype: Any) -> Array:
    """A hyperparameter at the layers 1 … L."""
    if value is None and needed:
        raise KernelInputError(
            f"{name} is missing. The recursions of this kernel contain it. "
            f"Give a number, or one number for each of the {depth} layers."
        )
    given = jnp.asarray(0.0 if value is None else value, dtype)
    if given.shape not in ((), (depth,)):
        raise KernelInputError(
            f"{name} has shape {given.shape}. The network has {depth} layers. "
            f"Give a number, or one number for each of the {depth} layers."
        )
    return jnp.broadcast_to(given, (depth,))


def ratios(widths: Sequence[float] | Array | None, depth: int, dtype: Any) -> Array:
    """n_l/n_(l-1) at the layers l+1 = 1 … L; as inputs do not fluctuate, two never count."""
    if widths is None:
        return jnp.ones(depth, dtype)
    given = jnp.asarray(widths, dtype)
    if given.shape != (depth - 1,):
        raise KernelInputError(
            f"widths has shape {given.shape}. The network has {depth} layers and so {depth - 1} "
            "hidden widths. Give one width for each hidden layer."
        )
    return jnp.concatenate([jnp.ones(2, dtype), given[1:] / given[:-1]])[:depth]


def derivatives_of(activation: Activation, count: int) -> tuple[Function, ...]:
    """Sigma and derivatives, count functions in all; JAX differentiates what is not given."""
    given = (activation,) if callable(activation) else tuple(activation)
    if not given or not all(map(callable, given)):
        raise KernelInputError(
            f"The activation is {activation!r}. It is a function of arrays, or a tuple of it and "
            "of its derivatives in order. Give for instance jnp.tanh."
        )
    while len(given) < count:
        given = (*given, slope_of(given[-1]))
    return given[:count]


def slope_of(function: Function) -> Function:
    """The derivative of a function that acts on each element."""

    def slope(z: Array) -> Array:
        values: Array = jax.jvp(function, (z,), (jnp.ones_like(z),))[1]
        return values

    return slope
