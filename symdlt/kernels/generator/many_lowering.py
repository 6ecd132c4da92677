"""From recursions for many inputs to what their kernel computes, entry by entry."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from symdlt.codegen._equations import tensor_name
from symdlt.codegen._factoring import Monomial, factored, monomial
from symdlt.codegen._ir import Expression, Mean
from symdlt.codegen._lowering import HYPERPARAMETERS, METRIC, variable
from symdlt.errors import KernelError, require
from symdlt.recursions import Bracket, Recursion, RecursionSystem, TensorFactor, Term

MEAN_SIZES = (2, 4)
TENSOR_SIZES = (2, 4)
OVERLAP = "overlap"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A table of Gaussian means, or a tensor, at certain samples.

    Attributes:
        table: the name of the table: "s0_s2", or that of the tensor.
        samples: the sample on each axis, as the recursion labels them.
        orders: of a table of means, the derivative order on each axis, ascending.

    >>> Entry("G.1", (1, 2)).name, Entry("s0_s2", (2, 1), (0, 2)).name
    ('g_1_12', 's0_s2_21')
    """

    table: str
    samples: tuple[int, ...]
    orders: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The entry as an identifier."""
        base = self.table if self.orders or self.table == OVERLAP else variable(self.table)
        return f"{base}_{''.join(map(str, self.samples))}"


@dataclass(frozen=True, slots=True)
class ManyFunction:
    """The recursion of one tensor at any tuples of samples.

    Attributes:
        tensor: its name.
        samples: the label of the sample on each axis.
        equation: the recursion as text.
        entries: what it reads.
        value: the tensor one layer up.
        first: its value at layer 1.
        symmetries: the permutations of its axes that leave it unchanged.
    """

    tensor: str
    samples: tuple[int, ...]
    equation: tuple[str, ...]
    entries: tuple[Entry, ...]
    value: Expression
    first: Expression
    symmetries: tuple[tuple[int, ...], ...]

    @property
    def means(self) -> tuple[tuple[int, ...], ...]:
        """The derivative orders of the means that it reads."""
        return tuple(sorted({e.orders for e in self.entries if e.orders}, key=by_size))

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors of the layer below that it reads."""
        return tuple(sorted({e.table for e in self.entries if not e.orders}))

    @property
    def local(self) -> bool:
        """Whether it is a symmetric matrix that reads those at the same pair of samples alone."""
        same = all(e.samples == self.samples and len({*e.orders}) < 2 for e in self.entries)
        return same and len(self.samples) == len(self.symmetries) == 2


@dataclass(frozen=True, slots=True)
class ManyKernelModule:
    """Everything that a kernel for many inputs computes.

    Attributes:
        functions: one for each tensor, the kernel K first.
        hyperparameters: the names that occur.
    """

    functions: tuple[ManyFunction, ...]
    hyperparameters: tuple[str, ...]

    def __repr__(self) -> str:
        return f"ManyKernelModule({len(self.functions)} tensors, {self.tables} tables of means)"

    @property
    def tables(self) -> int:
        """How many tables of means all of them read."""
        return len({orders for function in self.functions for orders in function.means})

    @property
    def derivatives(self) -> int:
        """How many derivatives of σ are needed for all of them."""
        return max((max(orders) for f in self.functions for orders in f.means), default=0)


def lower_many(system: RecursionSystem) -> ManyKernelModule:
    """The kernel that computes all tensors of a closed system at many inputs.

    Raises:
        KernelError: if the system is not closed, is for a single input or in the z form, or needs
            means over more than four samples.

    >>> from symdlt.recursions import derive_system
    >>> lower_many(derive_system(["V"]))
    ManyKernelModule(2 tensors, 4 tables of means)
    """
    require(system, RecursionSystem, "a system of recursions", "Give what `derive_system` returns.")
    check_many(system)
    functions = tuple(many_function(recursion) for recursion in system)
    terms = [t for r in system for t in (*r.terms, *r.first_layer)]
    used = [t.hyperparameters.powers[k] > 0 for t in terms for k in range(len(HYPERPARAMETERS))]
    names = [name for k, name in enumerate(HYPERPARAMETERS) if any(used[k :: len(HYPERPARAMETERS)])]
    return ManyKernelModule(functions, tuple(names))


def check_many(system: RecursionSystem) -> None:
    """Refuse what no kernel for many inputs can compute."""
    names = set(system.names)
    if METRIC not in names:
        raise KernelError(
            f"The system lacks the kernel {METRIC}. It has {len(names)} recursions. "
            "Use `derive_system`, which adds what is missing."
        )
    for recursion in system:
        if recursion.form != "derivative" or recursion.single_input:
            raise KernelError(
                f"{recursion!r} is not for many inputs in the derivative form. Kernels for many "
                "inputs are sums of products of entries. Use `derive_system(...)` as it is."
            )
        needs = {tensor_name(t) for term in recursion.terms for t in term.tensors}
        if not needs <= names:
            raise KernelError(
                f"The system is not closed: it lacks {' '.join(sorted(needs - names))}. "
                f"{recursion!r} needs it. Use `derive_system`, which adds what is missing."
            )
        sizes = {len(b.factors) for term in recursion.terms for b in term.brackets}
        if len(recursion.samples) not in TENSOR_SIZES or not sizes <= set(MEAN_SIZES):
            raise KernelError(
                f"{recursion!r} has {len(recursion.samples)} axes and means of up to "
                f"{max(sizes, default=0)} samples. Kernels for many inputs take tensors of two or "
                'four axes and means over at most four samples. Use inputs="one", or --inputs one.'
            )


def many_function(recursion: Recursion) -> ManyFunction:
    """One recursion as a polynomial in entries, with common factors taken out."""
    value, entries = polynomial(recursion.terms)
    first, _ = polynomial(recursion.first_layer)
    return ManyFunction(
        recursion.name,
        recursion.samples,
        tuple(str(recursion).splitlines()),
        tuple(sorted(entries, key=lambda e: (not e.orders, len(e.samples), e))),
        factored(value, rank),
        factored(first, rank),
        recursion.correlator.symmetries,
    )


def polynomial(terms: tuple[Term, ...]) -> tuple[dict[Monomial, Fraction], set[Entry]]:
    """Terms in the names of hyperparameters and entries, and these entries."""
    numbers: dict[Monomial, Fraction] = {}
    entries: set[Entry] = set()
    for term in terms:
        found = [mean_entry(bracket) for bracket in term.brackets]
        found += [tensor_entry(factor) for factor in term.tensors]
        found += [Entry(OVERLAP, term.overlap)] if term.overlap else []
        entries.update(found)
        powers = Counter(dict(zip(HYPERPARAMETERS, term.hyperparameters.powers, strict=True)))
        powers.update(entry.name for entry in found)
        powers["r"] += term.width_ratio
        key = monomial(powers)
        numbers[key] = numbers.get(key, Fraction(0)) + term.coefficient
    return numbers, entries


def mean_entry(bracket: Bracket) -> Entry:
    """The table of a bracket has its derivative orders ascending."""
    factors = sorted(bracket.factors, key=lambda factor: (factor[1], factor[0]))
    orders = tuple(order for _, order in factors)
    return Entry(Mean(orders).name, tuple(sample for sample, _ in factors), orders)


def tensor_entry(factor: TensorFactor) -> Entry:
    """A tensor of the layer below."""
    return Entry(tensor_name(factor), factor.samples)


def rank(name: str) -> tuple[int, str]:
    """Within a product: width ratio, hyperparameters, means, tensors."""
    if name == "r":
        return 0, name
    if name in HYPERPARAMETERS:
        return 1, name
    return (2 if name.startswith("s") else 3), name


def by_size(orders: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Few factors first."""
    return len(orders), orders
