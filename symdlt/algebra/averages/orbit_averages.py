"""Expectations in orbit form: alike legs are counted by type and never listed."""

from collections.abc import Iterator

from symdlt.algebra.averages.expectation import DRAWN, check_independence, check_meant, heads_in
from symdlt.algebra.averages.neuron_orbits import neuron_orbits
from symdlt.algebra.averages.orbits import Orbit, OrbitSum
from symdlt.algebra.averages.weight_orbits import weight_orbits
from symdlt.algebra.expression import Expression, as_expression
from symdlt.algebra.heads import Head, Kind
from symdlt.errors import ExpectationError


def expectation_orbits(source: Expression | OrbitSum, over: Head) -> OrbitSum:
    r"""Average over one random tensor, and keep the result in orbit form.

    The factors are grouped into alike legs; instead of every pairing or coincidence pattern,
    each type of pattern is found once, with the number of patterns of that type.

    Args:
        source: an expression in which each connected piece has at most one factor to average,
            or the outcome of an earlier call.
        over: weights, biases or preactivations.

    Raises:
        ExpectationError: the expression is no product of legs, or the tensors are dependent.

    >>> from symdlt.algebra import neurons, preactivations, product, weights
    >>> W, z = weights(2), preactivations(1, single_input=True)
    >>> rows = neurons("i1 i2 i3 i4", "n_2")
    >>> j, = neurons("j", "n_1")
    >>> legs = product((W(i, j) * z(j)).sum(j) for i in rows)
    >>> pairs = expectation_orbits(legs, over=W)
    >>> print(pairs)
    [C_W²/n_1² Σ_{i j} δ_{i1 i2} δ_{i3 i4} z^(1)_i² z^(1)_j² + 2 perms]
    >>> for orbit in expectation_orbits(pairs, over=z):
    ...     print(orbit)
    [C_W²/n_1 δ_{i1 i2} δ_{i3 i4} ⟨z z z z⟩^(1) + 2 perms]
    [(C_W² - C_W²/n_1) δ_{i1 i2} δ_{i3 i4} ⟨z z⟩^(1)² + 2 perms]
    """
    if not isinstance(over, Head) or over.kind not in (*DRAWN, Kind.PREACTIVATION):
        raise ExpectationError(
            f"Cannot average over {over!r} in orbit form. "
            "It was given as `over` to `expectation_orbits`. "
            "Give one head of weights, biases or preactivations."
        )
    averaged: list[Orbit] = []
    orbits = list(start_orbits(source))
    check_meant(heads_in(orbit.representative for orbit in orbits), (over,))
    for orbit in orbits:
        check_independence((orbit.representative,), over)
        average = weight_orbits if over.kind in DRAWN else neuron_orbits
        averaged.extend(average(orbit, over))
    return OrbitSum(tuple(averaged))


def start_orbits(source: Expression | OrbitSum) -> Iterator[Orbit]:
    """Read an expression as orbits of one term each."""
    if isinstance(source, OrbitSum):
        yield from source
        return
    for term in as_expression(source).canonical_terms:
        yield Orbit(term, (), (), ())
