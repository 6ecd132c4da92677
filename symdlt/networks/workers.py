"""Work that an executor does elsewhere, and what can go wrong with it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from reprlib import repr as short_repr
from typing import Any, TypeVar

from symdlt.activations import Activation
from symdlt.activations.checks import Function
from symdlt.errors import ActivationError, InputError, KernelError

Result = TypeVar("Result")


def submitted(
    executor: Executor, function: Callable[..., Result], *arguments: Any
) -> Future[Result]:
    """Give work to an executor.

    Raises:
        KernelError: if it takes none.
        InputError: if it returns no future.
    """
    try:
        future = executor.submit(function, *arguments)
    except BrokenExecutor:
        raise
    except RuntimeError as reason:
        raise KernelError(
            f"The executor takes no work: {_said(reason)}. It was given as `executor`. "
            "Use a new one, and leave its `with` block only when the work is done."
        ) from reason
    if not isinstance(future, Future):
        raise InputError(
            f"{short_repr(future)} is not a future. It was returned by `submit` of the executor. "
            "Give a ThreadPoolExecutor, a ProcessPoolExecutor or one like them."
        )
    return future


@contextmanager
def errors_of_workers(activation: Activation | tuple[Function, ...]) -> Iterator[None]:
    """What is wrong with workers, or with functions on their way to them, in words.

    Raises:
        KernelError: if a worker has died, or the executor is shut down.
        ActivationError: if the functions of an activation cannot be sent to another process.
    """
    try:
        yield
    except (BrokenExecutor, CancelledError) as reason:
        raise KernelError(
            f"A task was not done: {_said(reason)}. A worker of the "
            "executor died, as for want of memory or of the functions of the activation, or the "
            "executor was shut down. Use a new one, with fewer workers; a script that starts "
            'processes needs `if __name__ == "__main__":`.'
        ) from reason
    except (pickle.PicklingError, AttributeError, TypeError) as reason:
        if _travels(activation):
            raise
        raise ActivationError(
            f"The functions of the activation cannot be sent to another process: {reason}. "
            "They were given as a list. "
            "Define them with def at the top of a module, or give the activation as text."
        ) from reason


def _said(reason: Exception) -> str:
    return str(reason).rstrip(".") or type(reason).__name__


def _travels(what: Activation | tuple[Function, ...]) -> bool:
    try:
        pickle.dumps(what)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
