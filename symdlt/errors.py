"""The errors symdlt raises on purpose: one root, and a built-in parent for each child."""

from numbers import Integral
from reprlib import repr as short_repr
from types import UnionType


class SymdltError(Exception):
    """Root of every error that symdlt raises on purpose; each has a built-in parent as well.

    Attributes:
        args: the message: what is wrong with the values, where, and what to try.

    >>> issubclass(SymdltError, Exception)
    True
    """


class InputError(SymdltError, TypeError):
    """An argument of the wrong kind, such as a name where a recursion is needed."""


def require(value: object, kind: type | UnionType, what: str, advice: str) -> None:
    """Refuse an argument that is not of a kind.

    Args:
        value: the argument.
        kind: what `isinstance` takes; True and False are no numbers.
        what: what was needed, with its article.
        advice: what to give instead.

    Raises:
        InputError: if it is of another kind.

    >>> require("R", int, "a number of layers", "Count them.")
    Traceback (most recent call last):
        ...
    symdlt.errors.InputError: 'R' is not a number of layers. Its type is str. Count them.
    """
    if not isinstance(value, kind) or (kind in (int, Integral) and isinstance(value, bool)):
        raise InputError(
            f"{short_repr(value)} is not {what}. Its type is {type(value).__name__}. {advice}"
        )


class IndexStructureError(SymdltError, ValueError):
    """Indices do not fit together: other species, other free indices, a name used twice."""


class GraphError(SymdltError, ValueError):
    """The edges or the matching of an observable are not what the theory can use."""


class LayerError(SymdltError, ValueError):
    """The definition of a layer cannot be used, or a result does not hold for such layers."""


class UnknownTensorError(SymdltError, KeyError):
    """A tensor was named that symdlt does not know."""

    def __str__(self) -> str:
        """Print the sentence itself, where `KeyError` would print its repr."""
        return str(self.args[0]) if self.args else ""


class OrderError(SymdltError, ValueError):
    """An order in 1/n that is negative or too large for the memory at hand."""


class DerivationError(SymdltError, RuntimeError):
    """A check that every derivation must pass has failed; the result is not to be trusted."""


class SchemaError(SymdltError, ValueError):
    """A JSON document or a saved file is malformed, of another version, or of another kind."""


class ActivationError(SymdltError, ValueError):
    """An activation function that cannot be read or does not fit what was asked of it."""


class NotationError(SymdltError, ValueError):
    """A letter of the user's notation that LaTeX would not set as one symbol."""


class SolutionError(SymdltError, ValueError):
    """A recursion that the asymptotic solver cannot solve, and why."""


class KernelError(SymdltError, ValueError):
    """Input that a kernel or the kernel generator cannot use."""


class KernelInputError(KernelError):
    """Input that this kernel cannot use."""


class InfiniteMeanError(KernelInputError, ActivationError):
    """A Gaussian mean that is infinite, as of products of delta functions, or taken for one."""


class ExpectationError(SymdltError, ValueError):
    """An expectation that cannot be taken as asked, with the reason."""


class SamplingError(SymdltError, ValueError):
    """An ensemble, an input or a sample size that the sampler cannot use."""


class TrainingError(SymdltError, ValueError):
    """Training that cannot be predicted as asked: data, step sizes or an activation, and why."""


class MissingLibraryError(SymdltError, ImportError):
    """A library of an extra is needed that is not installed."""
