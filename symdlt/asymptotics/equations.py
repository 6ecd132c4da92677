"""Single-input recursions with their brackets expanded about K = 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import factorial
from operator import mul

from symdlt.asymptotics.series import FieldElement
from symdlt.definitions import DENSE
from symdlt.derivation import Bracket, Recursion, StackRecursion, piece_name
from symdlt.errors import SolutionError
from symdlt.fixed_points.kernel_map import Orders
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.moments import gaussian_moments

Powers = tuple[int, ...]
Polynomial = tuple[FieldElement, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The terms of a recursion that share hyperparameters and lower tensors.

    Attributes:
        hyperparameters: powers of C_b, C_W, λ_b, λ_W; or of the learning rates of a layer whose
            variances are numbers in the series.
        tensors: names of the tensors of layer ℓ.
        series: the sum of their brackets, its coefficients of K^0, K^1, …; or of the powers of
            another variable that is small.
        lowest: the first of these powers.
    """

    hyperparameters: Powers
    tensors: tuple[str, ...]
    series: Polynomial
    lowest: int = 0


@dataclass(frozen=True, slots=True)
class Equation:
    """A recursion at equal widths as sources, each with its own series in K.

    Attributes:
        name: the tensor.
        edges: the number e of its edges, which is its degree in the learning rates.
        pairs: the number m of its matched pairs.
        order: the power of 1/n that multiplies it.
        sources: one for each product of hyperparameters and tensors.
    """

    name: str
    edges: int
    pairs: int
    order: int
    sources: tuple[Source, ...]


def counts_of(recursion: Recursion | StackRecursion) -> tuple[str, int, int, int]:
    """The name of a tensor, its edges, its pairs, and the power of 1/n that multiplies it."""
    correlator = recursion.correlator
    order = correlator.pairs - 1 + recursion.piece
    return recursion.name, len(correlator.forest.edges), correlator.pairs, order


def gaussian_series(bracket: Bracket, taylor: Sequence[FieldElement], order: int) -> Polynomial:
    r"""A bracket as a series in K, with $\sigma(z) = \sum_p \sigma_p z^p/p!$ (PDLT ∞.27).

    $$\langle \sigma^{(a)}\sigma^{(b)}\cdots\rangle_K = \sum_k (2k-1)!!\, K^k\,
      [z^{2k}] \prod_a \sum_j \frac{\sigma_{a+j}}{j!} z^j$$

    Args:
        bracket: a bracket of derivatives.
        taylor: σ_0, σ_1, …, at least up to the highest derivative plus twice the order.
        order: the highest power of K kept.

    Raises:
        SolutionError: for a bracket with inserted z's.

    >>> from sympy import Rational
    >>> cubic = [Rational(c) for c in (0, 1, 0, -2, 0)]
    >>> gaussian_series(Bracket(((0, 0), (0, 0))), cubic, 2)
    (0, 1, -2)
    """
    if bracket.inserted:
        raise SolutionError(
            "A bracket with an inserted z has no expansion in the kernel alone. "
            "The recursion is in z form. Derive it with form='derivative'."
        )
    factors = (
        [taylor[k + j] / factorial(j) for j in range(2 * order + 1)] for _, k in bracket.factors
    )
    return gaussian_moments(factors, order + 1)


def derivatives_needed(recursions: Iterable[Recursion]) -> int:
    """The highest derivative of σ in any bracket."""
    return max((orders[-1] for orders in orders_in(recursions)), default=0)


def orders_in(recursions: Iterable[Recursion]) -> set[Orders]:
    """The derivatives in each bracket, ascending."""
    return {orders_of(b) for r in recursions for t in r.terms for b in t.brackets}


def orders_of(bracket: Bracket) -> Orders:
    """The derivatives in a bracket, ascending."""
    return tuple(sorted(order for _, order in bracket.factors))


def expand(
    recursion: Recursion,
    taylor: Sequence[FieldElement],
    order: int,
    into: Callable[[FieldElement], FieldElement] = lambda element: element,
) -> Equation:
    """Expand a single-input recursion in K and add up what shares its tensors.

    Adding before anything is inserted for the tensors makes cancellations between brackets
    exact: those of ⟨σσσσ⟩ − ⟨σσ⟩², for instance.

    Args:
        recursion: for one input.
        taylor: σ_0, σ_1, … as elements of one ring that contains the rationals.
        into: what makes numbers of the solver out of elements of the ring.
        order: the highest power of K kept.

    Raises:
        SolutionError: if the recursion is for many inputs or in z form.
    """
    known: dict[Bracket, Laurent[FieldElement]] = {}

    def mean(bracket: Bracket) -> Laurent[FieldElement]:
        if bracket not in known:
            known[bracket] = Laurent(0, gaussian_series(bracket, taylor, order))
        return known[bracket]

    one: Laurent[FieldElement] = Laurent(0, (0 * taylor[1] + 1,) + (0 * taylor[1],) * order)
    return assembled(recursion, mean, one, into)


def assembled(
    recursion: Recursion,
    mean: Callable[[Bracket], Laurent[FieldElement]],
    one: Laurent[FieldElement],
    into: Callable[[FieldElement], FieldElement] = lambda element: element,
) -> Equation:
    """Add up the terms of a single-input recursion that share their tensors.

    A sum that is zero as far as it is known stays: what it multiplies may grow as powers of 1/K.

    Args:
        recursion: for one input.
        mean: the expansion of a bracket.
        one: the expansion of an empty bracket.
        into: what makes numbers of the solver out of elements of the ring.

    Raises:
        SolutionError: if the recursion is for many inputs.
    """
    check_dense(recursion)
    if not recursion.single_input:
        raise SolutionError(
            f"The recursion of {recursion.name} is for several inputs. "
            "Critical exponents are those of a single one. Derive it with inputs='one'."
        )
    sums: dict[tuple[Powers, tuple[str, ...]], Laurent[FieldElement]] = {}
    zero = 0 * one.coefficients[0]
    for term in recursion.terms:
        number = (zero + term.coefficient.numerator) / term.coefficient.denominator
        product = reduce(mul, map(mean, term.brackets), one.scaled(number))
        tensors = tuple(sorted(piece_name(t.correlator, t.piece) for t in term.tensors))
        key = (term.hyperparameters.powers, tensors)
        sums[key] = sums[key] + product if key in sums else product
    return Equation(
        *counts_of(recursion),
        tuple(
            Source(*key, tuple(map(into, series.coefficients)), series.lowest)
            for key, series in sums.items()
        ),
    )


def check_dense(recursion: Recursion) -> None:
    """Refuse a recursion of another layer than the one whose four symbols are solved for.

    Raises:
        SolutionError: for a layer that is not the dense one.
    """
    if recursion.layer != DENSE or recursion.at is not None:
        raise SolutionError(
            f"Exponents are those of the layer {DENSE}. The recursion of {recursion.name} is for "
            f"{recursion.layer}. Derive it without `layer`; `criticality` takes other layers."
        )


def check_degree(equation: Equation, edges: Mapping[str, int], variances: int) -> None:
    """Check that every source has as many learning rates and edges as the tensor.

    Raises:
        SolutionError: if not; then the powers of ℓ in the learning rates do not factor out.
    """
    for source in equation.sources:
        degree = sum(source.hyperparameters[variances:]) + sum(
            edges[name] for name in source.tensors
        )
        if degree != equation.edges:
            raise SolutionError(
                f"A source of {equation.name} has degree {degree} in the learning rates, "
                f"the tensor {equation.edges}. It multiplies {' '.join(source.tensors) or '1'}. "
                "Give recursions of symdlt, whose terms all have the same degree."
            )
