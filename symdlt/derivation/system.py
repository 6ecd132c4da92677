"""Closed systems of recursions, in the order in which they depend on one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from reprlib import repr as short_repr
from typing import TypeVar

from symdlt.definitions import (
    BOOK,
    DENSE,
    Correlator,
    Layer,
    Stack,
    canonical_name,
    layer_of_one_stream,
    split_subleading,
    tensor,
)
from symdlt.derivation.recursion import Recursion, derive
from symdlt.derivation.stacks.recursion import StackRecursion, derive_stack
from symdlt.errors import DerivationError, LayerError, SymdltError, UnknownTensorError, require

Need = tuple[Correlator, int]
Wanted = tuple[str | Correlator, int | None]

# Tensors that a worker takes at once: neighbours share cumulants, and one pickle.
AT_ONCE = 16

R = TypeVar("R", bound=Recursion | StackRecursion)


@dataclass(frozen=True, slots=True)
class RecursionSystem:
    """Recursions that need no tensor from outside, the kernel first.

    Attributes:
        recursions: in dependency order: each needs itself and earlier ones only.

    >>> [r.name for r in derive_system(["R"], inputs="one").recursions]
    ['G', 'H', 'B', 'P', 'R']
    """

    recursions: tuple[Recursion, ...]

    def __post_init__(self) -> None:
        advice = "Give one of Recursion objects, or derive one with `derive_system`."
        require(self.recursions, tuple, "a tuple of recursions", advice)
        for one in self.recursions:
            require(one, Recursion, "a recursion", advice)
        if len(layers := {one.layer: None for one in self.recursions}) > 1:
            raise LayerError(
                f"Recursions of the layers {' and '.join(map(repr, layers))} are no system. "
                "All tensors of a network follow from one definition of its layers. "
                "Derive them with one `layer`."
            )

    def __repr__(self) -> str:
        names = " ".join(self.names)
        return f"RecursionSystem({names if len(names) < 60 else f'{len(self)} recursions'})"

    def __str__(self) -> str:
        return "\n".join(str(recursion) for recursion in self.recursions)

    def __len__(self) -> int:
        return len(self.recursions)

    def __iter__(self) -> Iterator[Recursion]:
        return iter(self.recursions)

    def __getitem__(self, name: str) -> Recursion:
        """The recursion of that name.

        Raises:
            UnknownTensorError: if the system has none.
            InputError: if it is no name.
        """
        canonical = canonical_name(name)
        for recursion in self.recursions:
            if recursion.name == canonical:
                return recursion
        raise UnknownTensorError(
            f"There is no recursion of {short_repr(name)} in the system. "
            f"It has {' '.join(self.names[:40])}. Derive one that has it with `derive_system`."
        )

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)

    @property
    def layer(self) -> Layer:
        """How layer ℓ+1 is made of layer ℓ."""
        return self.recursions[0].layer if self.recursions else DENSE

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the recursions, in order."""
        return tuple(recursion.name for recursion in self.recursions)


def derive_system(
    tensors: Iterable[str | Correlator],
    *,
    inputs: str = "many",
    form: str = "derivative",
    layer: str | Layer = DENSE,
    executor: Executor | None = None,
) -> RecursionSystem:
    """Derive the recursions of the tensors and of every tensor these need.

    Args:
        tensors: names or correlators.
        inputs: "many" or "one".
        form: "derivative" or "z".
        layer: how layer ℓ+1 is made of layer ℓ, as for `derive`.
        executor: derives tensors side by side, for instance a `ProcessPoolExecutor`; the system
            does not depend on it. It pays for hundreds of tensors on free cores: to read what
            other processes return takes a third as long as to derive it.

    Raises:
        UnknownTensorError: for a name that is none.
        LayerError: for a layer that cannot be read, or one with a skip.
        DerivationError: if the executor stops.

    >>> derive_system(BOOK, inputs="one").names
    ('G', 'H', 'V', 'B', 'D', 'A', 'F', 'P', 'Q', 'R', 'S', 'T', 'U')
    """
    require(tensors, Iterable, "a list of tensors", "Give one such as ['R', 'S'].")
    require(executor, Executor | None, "an executor", "Give one of concurrent.futures, or none.")
    definition = layer_of_one_stream(layer)
    work = partial(_derived, inputs=inputs, form=form, layer=definition)
    return RecursionSystem(_closed(tensors, partial(_side_by_side, work, executor=executor)))


def derive_stack_system(
    tensors: Iterable[str | Correlator], layer: Stack, *, truncated: bool = False
) -> tuple[StackRecursion, ...]:
    """The same for one input of a layer that is a chain of steps, in dependency order.

    Args:
        tensors: names or correlators.
        layer: the layer.
        truncated: whether it may keep a z of which functions are read. Its fluctuations are then
            those that the last layer alone gives.

    Raises:
        UnknownTensorError: for a name that is none.
        LayerError: for a layer that is no chain of steps.

    >>> block = Stack("h = U s(z); z' = W s(h)")
    >>> [recursion.name for recursion in derive_stack_system(["R"], block)]
    ['G', 'H', 'B', 'P', 'R']
    """

    def derived(needs: Sequence[Wanted]) -> Iterator[StackRecursion]:
        for what, piece in needs:
            if not truncated:
                yield derive(what, piece=piece, inputs="one", layer=layer)
            else:
                name, own = split_subleading(what) if isinstance(what, str) else (what, 0)
                correlator = tensor(name) if isinstance(name, str) else name
                yield derive_stack(correlator, piece or own, "one", layer, truncated=True)

    return _closed(tensors, derived)


def _closed(
    tensors: Iterable[str | Correlator], derived: Callable[[Sequence[Wanted]], Iterable[R]]
) -> tuple[R, ...]:
    """The recursions of the tensors and of all that these need, in dependency order."""
    known: dict[Need, R] = {}
    needs: list[Wanted] = [(what, None) for what in tensors]
    while needs:
        fresh = {(one.correlator, one.piece): one for one in derived(needs)}
        known |= fresh
        lower: set[Need] = {need for one in fresh.values() for need in one.dependencies}
        needs = [*sorted(lower - known.keys(), key=lambda need: (need[0].name, need[1]))]
    return tuple(_in_dependency_order(known))


def _side_by_side(
    work: Callable[[Wanted], Recursion],
    needs: Sequence[Wanted],
    executor: Executor | None,
) -> Iterable[Recursion]:
    if executor is None:
        return map(work, needs)
    try:
        return [*executor.map(work, needs, chunksize=AT_ONCE)]
    except SymdltError:
        raise
    except RuntimeError as reason:
        raise DerivationError(
            f"The executor stopped before all tensors were derived: {short_repr(str(reason))}. "
            "A worker has died, as for want of memory, or the executor was shut down. "
            "Use a new one, with fewer workers."
        ) from reason


def _derived(need: Wanted, *, inputs: str, form: str, layer: Layer) -> Recursion:
    what, piece = need
    return derive(what, piece=piece, inputs=inputs, form=form, layer=layer)


def _in_dependency_order(derived: dict[Need, R]) -> Iterator[R]:
    ranks = {symbol: rank for rank, symbol in enumerate(BOOK)}
    left: list[Need] = sorted(
        derived,
        key=lambda need: (need[0].axes, need[1], ranks.get(need[0].symbol, 99), need[0].name),
    )
    missing = {need: {*derived[need].dependencies} - {need} for need in derived}
    done: set[Need] = set()
    while left:
        need = next(one for one in left if missing[one] <= done)
        left.remove(need)
        done.add(need)
        yield derived[need]
