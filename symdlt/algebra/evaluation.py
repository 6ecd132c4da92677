"""Values of expressions on NumPy arrays, which are imported only when asked for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from symdlt.algebra.canonical import connected_pieces
from symdlt.algebra.contraction import contract_term
from symdlt.algebra.expression import Expression, as_expression
from symdlt.algebra.factors import Delta, Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index, Size
from symdlt.algebra.names import refusal
from symdlt.algebra.polynomial import Number, Polynomial
from symdlt.algebra.printing import head_label
from symdlt.algebra.term import Term
from symdlt.errors import IndexStructureError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.inexact]

# Rounding in products such as X Xᵀ/n, which are symmetric only up to it; far below any true
# asymmetry.
_ROUNDING = 1e-9

# np.einsum knows indices by the numbers below this one.
_EINSUM_INDICES = 52


def evaluate(
    expression: Expression | Polynomial | Number, values: Mapping[Head | str, object]
) -> "float | complex | Array":
    r"""Evaluate an expression on arrays.

    Args:
        expression: what to evaluate, averages included.
        values: an array for each tensor, by its head or, where that is clear, by its name or by
            how it prints without indices, as in "W^(2)" or "⟨σ σ⟩^(1)"; a number for each
            constant and width. Widths are read off the arrays where they are not given.

    Returns:
        A number, or an array with an axis for each free index in the order of
        `expression.free_indices`. Values that do not occur are passed over.

    Raises:
        IndexStructureError: a value is missing, arrays do not fit together or lack the symmetry
            of their tensor, or the result is too large for a float.

    >>> import numpy as np
    >>> from symdlt.algebra import constant, neurons, symbol
    >>> i, j = neurons("i j", "n")
    >>> A, x = constant("A", i, j), constant("x", i)
    >>> form = symbol("v") / symbol("n") * (x(i) * A(i, j) * x(j)).sum(i, j)
    >>> evaluate(form, {A: np.eye(2), "x": [3, 4], "v": 2})
    25.0
    >>> evaluate((A(i, j) * x(j)).sum(j), {"A": [[1, 2], [3, 4]], "x": [1, 1]})
    array([3., 7.])
    """
    import numpy as np

    terms = [contract_term(term) for term in as_expression(expression).terms]
    terms = [term for term in terms if term.coefficient]
    free = as_expression(expression).free_indices
    scope = Scope(read_arrays(terms, values), read_lengths(terms, free, values))
    scope.measure(terms)
    numbers = read_constants(terms, values, scope.lengths)
    shape = [scope.length(index) for index in free]
    try:
        with np.errstate(all="ignore"):
            total: Array = np.zeros(shape)
            for term in terms:
                total = total + scale_of(term.coefficient, numbers) * scope.product(term, free)
    except (MemoryError, OverflowError, ValueError) as error:
        if isinstance(error, IndexStructureError):
            raise
        raise IndexStructureError(
            f"An array of the shape {tuple(shape)} and those on the way to it do not fit. "
            f"NumPy says: {error}. "
            "Give smaller widths."
        ) from None
    if not np.isfinite(total).all():
        raise IndexStructureError(
            "The value of the expression is too large for a float. "
            f"It was asked of {expression!r}. "
            "Give smaller arrays or constants."
        )
    return total if free else total.item()


@dataclass(slots=True)
class Scope:
    """The arrays of tensors, and the lengths of ranges by their size, or by index without one."""

    arrays: dict[Head, "Array"]
    lengths: dict[Size | Index, int] = field(default_factory=dict)

    def measure(self, terms: Iterable[Term]) -> None:
        """Read the lengths of ranges off the arrays, and refuse those that do not fit."""
        for tensor in dict.fromkeys(f for t in terms for f in t.factors if isinstance(f, Tensor)):
            shape = self.arrays[tensor.head].shape
            for slot, index, length in zip(tensor.head.slots, tensor.indices, shape, strict=True):
                size = slot.size if slot.size is not None else index.size
                known = size if isinstance(size, int) else length
                if index.number is None or size is not None:
                    known = self.lengths.setdefault(size or index, known)
                if known != length or (index.number or 1) > length:
                    raise IndexStructureError(
                        f"An axis of length {length} cannot hold {index!r}. "
                        f"It belongs to the array of {head_label(tensor.head)}, and the range has "
                        f"{known} values elsewhere. "
                        "Give arrays and widths that agree."
                    )

    def length(self, index: Index) -> int:
        """Return how many values an index has."""
        known = index.size if isinstance(index.size, int) else None
        known = known or self.lengths.get(index.size or index)
        if known is None:
            raise missing(str(index.size or index), f"the range of {index.name}")
        if index.number is not None and index.number > known:
            raise IndexStructureError(
                f"An index is fixed to {index.number} and its range has {known} values. "
                f"It is {index!r} on a Kronecker delta. "
                "Give a larger width."
            )
        return known

    def product(self, term: Term, free: tuple[Index, ...]) -> "Array":
        """Multiply the factors of a contracted term, with an axis for each free index."""
        import numpy as np

        total: Array = np.ones([1] * len(free))
        for delta in term.deltas:
            total = total * self.spread(*self.unit(delta), free)
        for piece in connected_pieces(term.factors, set(term.sums)):
            total = total * self.spread(*self.contracted(piece, set(term.sums)), free)
        return total

    def unit(self, delta: Delta) -> "tuple[Array, list[Index]]":
        """Write a Kronecker delta as an array."""
        import numpy as np

        array = np.eye(self.length(delta.left))
        self.length(delta.right)
        return fix_numbers(array, delta.indices)

    def contracted(
        self, piece: tuple[Tensor, ...], bound: set[Index]
    ) -> "tuple[Array, list[Index]]":
        """Sum a connected piece over its dummies."""
        import numpy as np

        operands: list[Any] = []
        labels: dict[Index, int] = {}
        for tensor in piece:
            array, indices = fix_numbers(self.arrays[tensor.head], tensor.indices)
            operands += [array, [labels.setdefault(i, len(labels)) for i in indices]]
        if len(labels) > _EINSUM_INDICES:
            raise IndexStructureError(
                f"A product over {len(labels)} indices cannot be evaluated at once. "
                f"It stands in {Expression((Term((), factors=piece),))!r}. "
                f"NumPy takes {_EINSUM_INDICES} indices; evaluate parts and multiply them."
            )
        left = [index for index in labels if index not in bound]
        operands.append([labels[index] for index in left])
        return np.einsum(*operands, optimize="greedy"), left

    def spread(self, array: "Array", indices: list[Index], free: tuple[Index, ...]) -> "Array":
        """Turn an array so that its axes stand where its indices do among the free ones."""
        order = sorted(range(len(indices)), key=lambda axis: free.index(indices[axis]))
        shape = [self.length(index) if index in indices else 1 for index in free]
        return array.transpose(order).reshape(shape)


def fix_numbers(array: "Array", indices: tuple[Index, ...]) -> "tuple[Array, list[Index]]":
    """Take the entries at fixed indices; numbers count from 1."""
    at = tuple(slice(None) if i.number is None else i.number - 1 for i in indices)
    return array[at], [index for index in indices if index.number is None]


def read_arrays(terms: Iterable[Term], values: Mapping[Head | str, object]) -> "dict[Head, Array]":
    """Find the array of each tensor."""
    if not isinstance(values, Mapping):
        raise refusal(values, "a mapping", "`evaluate`", "Give one such as {'A': array, 'n': 3}.")
    heads = dict.fromkeys(f.head for t in terms for f in t.factors if isinstance(f, Tensor))
    symbols = {name for t in terms for monomial, _ in t.coefficient.terms for name, _ in monomial}
    arrays = {}
    for head in heads:
        keys: list[Head | str] = [
            key for key in (head, head_label(head), head.name) if key in values
        ]
        if not keys:
            raise missing(head_label(head), "a tensor")
        alike = [h for h in heads if keys[0] in (h, head_label(h), h.name)]
        if isinstance(keys[0], str) and (len(alike) > 1 or keys[0] in symbols):
            raise IndexStructureError(
                f"The name {keys[0]!r} stands for two things in the expression. "
                "It was given a value in `evaluate`. "
                "Give the heads of tensors instead of their names."
            )
        arrays[head] = read_array(head, values[keys[0]])
    return arrays


def read_array(head: Head, value: object) -> "Array":
    """Read an array and check its axes and its symmetry."""
    import numpy as np

    try:
        array: Array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    finite = array.dtype.kind in "biufc" and np.isfinite(array).all()
    if not finite or array.ndim != head.rank or not array.size:
        raise IndexStructureError(
            f"The value of {head_label(head)} is not an array of {head.rank} axes with finite "
            "entries. "
            f"It was given to `evaluate` with the shape {array.shape} and the type {array.dtype}. "
            "Give one axis for each index, and numbers."
        )
    array = array * 1.0
    for move, sign in head.symmetry.moves(head.rank):
        turned = sign * array.transpose(move)
        same = turned.shape == array.shape
        if not same or abs(array - turned).max() > _ROUNDING * abs(array).max():
            raise IndexStructureError(
                f"The array of {head_label(head)} does not have the symmetry of the tensor. "
                f"It changes where its axes are put in the order {move}. "
                "Symmetrize the array, or declare the tensor without the symmetry."
            )
    return array


def read_lengths(
    terms: Iterable[Term], free: tuple[Index, ...], values: Mapping[Head | str, object]
) -> dict[Size | Index, int]:
    """Read the widths that are given among the values."""
    heads = {f.head for term in terms for f in term.factors if isinstance(f, Tensor)}
    sizes = {index.size for term in terms for index in term.indices()}
    sizes |= {index.size for index in free} | {s.size for head in heads for s in head.slots}
    lengths: dict[Size | Index, int] = {}
    for size in sorted(size for size in sizes if isinstance(size, str)):
        if size in values:
            value = values[size]
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise refusal(value, "a width", f"`evaluate` for {size}", "Give 1, 2, 3, ….")
            lengths[size] = int(value)
    return lengths


def read_constants(
    terms: Iterable[Term],
    values: Mapping[Head | str, object],
    lengths: Mapping[Size | Index, int],
) -> dict[str, float]:
    """Find the number of each constant in the coefficients."""
    numbers: dict[str, float] = {}
    for name in sorted({n for t in terms for m, _ in t.coefficient.terms for n, _ in m}):
        value = values.get(name, lengths.get(name))
        if value is None:
            raise missing(name, "a constant")
        try:
            numbers[name] = float(value) if isinstance(value, Real) else nan
        except OverflowError:
            numbers[name] = inf
        if not isfinite(numbers[name]):
            raise refusal(value, "a number", f"`evaluate` for {name}", "Give a finite one.")
    return numbers


def scale_of(coefficient: Polynomial, numbers: Mapping[str, float]) -> float:
    """Evaluate a coefficient."""
    try:
        total = 0.0
        for monomial, value in coefficient.terms:
            piece = float(value)
            for name, power in monomial:
                piece *= numbers[name] ** power
            total += piece
    except (ZeroDivisionError, OverflowError):
        raise IndexStructureError(
            f"The coefficient {coefficient} has no finite value. "
            f"It was evaluated with {dict(numbers)}. "
            "Give constants that are not 0 below a bar, and not too large."
        ) from None
    return total


def missing(name: str, what: str) -> IndexStructureError:
    """Say that a value is missing."""
    return IndexStructureError(
        f"The value of {name} is missing. "
        f"It is {what} of the expression given to `evaluate`. "
        "Add it to the values, by its head or its name."
    )
