"""Activations as NumPy source and as the functions compiled from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symdlt.activations import Activation, activation
from symdlt.errors import ActivationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# By convention; the leading tensors need three, those of the next order a few more.
MOST_DERIVATIVES = 20


@dataclass(frozen=True, slots=True)
class NumpyActivation:
    """An activation and its derivatives as functions of arrays.

    Attributes:
        functions: the activation and its derivatives, each on its own.
        together: the same as one function of an array and how many of them are wanted, which
            evaluates what they share once.
        source: where they come from.
        activation: of which they are; the functions know by it where they vary fast, see `ends_of`.
    """

    functions: tuple[Callable[[Array], Array], ...]
    together: Callable[[Array, int], tuple[Array, ...]]
    source: str
    activation: Activation

    def __eq__(self, other: object) -> bool:
        """Functions of one source are equal, as they are after pickling."""
        if not isinstance(other, NumpyActivation):
            return NotImplemented
        return self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled, (self.source, len(self.functions), self.activation)

    def __repr__(self) -> str:
        return f"NumpyActivation({len(self.functions) - 1} derivatives)"


def activation_source(what: Any, derivatives: int) -> str:
    """NumPy source of an activation and its derivatives.

    It holds functions s0(z), s1(z), … and `activation(z, count)`, the first count of them in one
    go, which evaluates what they share once. It needs `np`, and `Array` if annotations are
    evaluated. At a kink the derivatives are those from the right; delta functions are left out.

    Args:
        what: a name, a text, a SymPy expression, or an `Activation`.
        derivatives: how many.

    Raises:
        ActivationError: if it is none of these, not finite on the whole real line, or not to be
            differentiated that often.

    >>> print(activation_source("tanh", 2).split("def s2")[1])
    (z: Array) -> Array:
        z = np.asarray(z, np.float64)
        tanh = np.tanh(z)
        sech2 = 1.0 - tanh * tanh
        return -2.0 * tanh * sech2
    <BLANKLINE>
    <BLANKLINE>
    def activation(z: Array, count: int) -> tuple[Array, ...]:
        z = np.asarray(z, np.float64)
        tanh = np.tanh(z)
        s0 = tanh
        if count <= 1:
            return (s0,)
        sech2 = 1.0 - tanh * tanh
        s1 = sech2
        if count <= 2:
            return (s0, s1)
        s2 = -2.0 * tanh * sech2
        return (s0, s1, s2)
    <BLANKLINE>
    """
    return _generated(what, derivatives)[0]


def numpy_activation(what: Any, derivatives: int) -> NumpyActivation:
    """The functions compiled from `activation_source`.

    >>> import numpy as np
    >>> gelu = numpy_activation("gelu", 2)
    >>> [float(s(np.float64(0.0))) for s in gelu.functions]
    [0.0, 0.5, 0.7978845608028654]
    >>> [value.shape for value in gelu.together(np.linspace(-1.0, 1.0, 5), 2)]
    [(5,), (5,)]
    """
    given = activation(what)
    source, namespace = _generated(given, derivatives)
    return _named(namespace, source, derivatives + 1, given)


def _named(
    namespace: dict[str, Any], source: str, count: int, activation: Activation
) -> NumpyActivation:
    from symdlt.means.precise import ends_of

    functions = tuple(namespace[f"s{order}"] for order in range(count))
    for function in functions:
        function.ends = ends_of(activation)
    return NumpyActivation(functions, namespace["activation"], source, activation)


def _compiled(source: str, count: int, activation: Activation) -> NumpyActivation:
    """What a pickle is made into again: its source is compiled, and not tried once more."""
    from symdlt.kernels.numpy_target.activations.domain import compiled

    return _named(compiled(source), source, count, activation)


def _generated(what: Any, derivatives: int) -> tuple[str, dict[str, Any]]:
    from symdlt.kernels.numpy_target.activations.module import generated

    if not isinstance(derivatives, int) or not 0 <= derivatives <= MOST_DERIVATIVES:
        raise ActivationError(
            f"{derivatives!r} derivatives of an activation cannot be generated. "
            f"Their number is a whole number from 0 to {MOST_DERIVATIVES}. Give another."
        )
    return generated(activation(what), derivatives)
