"""Expectations and connected correlators of index expressions."""

from collections.abc import Iterable

from symdlt.algebra.averages.averages import FUNCTIONS, average_preactivations
from symdlt.algebra.averages.moments import average_weights
from symdlt.algebra.contraction import contract_term
from symdlt.algebra.expression import Expression, as_expression
from symdlt.algebra.factors import Tensor
from symdlt.algebra.heads import Head, Kind
from symdlt.algebra.layer_labels import layers_apart
from symdlt.algebra.polynomial import Number, Polynomial
from symdlt.algebra.term import Term
from symdlt.algebra.verbs import canonicalize
from symdlt.combinatorics import mobius, set_partitions
from symdlt.errors import ExpectationError

Over = Head | Iterable[Head] | str
DRAWN = (Kind.WEIGHT, Kind.BIAS)
RANDOM = (Kind.VECTOR, *DRAWN, Kind.PREACTIVATION)


def expectation(expression: Expression | Polynomial | Number, over: Over = "all") -> Expression:
    r"""Average over random tensors of the network.

    Weights and biases are independent with the law of their head; Gaussian vectors have the mean
    and covariance of theirs; preactivations are
    independent and alike from neuron to neuron, and averaging over them leaves angle brackets
    ⟨…⟩ of one neuron, coincident neurons being split exactly:
    $E[\sigma_i \sigma_j] = \delta_{ij}\langle\sigma\sigma\rangle
    + (1-\delta_{ij})\langle\sigma\rangle\langle\sigma\rangle$.

    Args:
        expression: what to average.
        over: a head, several heads, or "all" for every random tensor in the expression. What
            does not depend on the tensors averaged over is its own average.

    Returns:
        The average in canonical form.

    Raises:
        ExpectationError: the tensor is not random, other factors depend on it, or it differs
            from another one in the expression that prints the same.

    >>> from symdlt.algebra import neurons, symbol, weights
    >>> W = weights(1)
    >>> i, k = neurons("i k", "n_1")
    >>> j, = neurons("j", "n_0")
    >>> print(expectation((W(i, j) * W(k, j)).sum(j), over=W))
    C_W δ_{i k}
    >>> print(expectation((W(i, j) * W(i, j)).sum(i, j) ** 2))
    C_W² n_1² + 2 C_W² n_1/n_0
    """
    result = as_expression(expression)
    result = Expression(tuple(contract_term(term) for term in result.terms))
    check_fields(result.terms)
    for head in random_heads(result, over):
        check_independence(result.terms, head)
        if head.kind is not Kind.PREACTIVATION:
            result = average_weights(result, head)
        else:
            result = average_preactivations(result, head)
        result = canonicalize(result)
    return canonicalize(result)


def connected(*factors: Expression, over: Over = "all") -> Expression:
    r"""Take the connected correlator (joint cumulant) of expressions.

    $$\kappa(A_1, \ldots, A_k) = \sum_\pi (-1)^{|\pi|-1} (|\pi|-1)! \prod_{b \in \pi}
    E\Bigl[\prod_{a \in b} A_a\Bigr]$$

    >>> from symdlt.algebra import neurons, weights, gaussian
    >>> W = weights(1, rows="n", columns="m", law=gaussian(1))
    >>> i, = neurons("i", "n")
    >>> j, = neurons("j", "m")
    >>> square = (W(i, j) * W(i, j)).sum(i, j)
    >>> print(connected(square, square))
    2 m n
    """
    if not factors:
        raise ExpectationError(
            "A connected correlator needs at least one expression. "
            "`connected` was called without any. "
            "Give the expressions to be correlated, as in connected(A, B, over=W)."
        )
    over = over if isinstance(over, str) else listed_heads(over)
    moments: dict[tuple[int, ...], Expression] = {}
    total = as_expression(0)
    for partition in set_partitions(tuple(range(len(factors)))):
        piece = as_expression(mobius((len(partition),)))
        for block in partition:
            if block not in moments:
                inside = as_expression(1)
                for place in block:
                    inside = inside * as_expression(factors[place])
                moments[block] = expectation(inside, over)
            piece = piece * moments[block]
        total = total + piece
    return canonicalize(total)


def random_heads(expression: Expression, over: Over) -> tuple[Head, ...]:
    """List the random tensors to average over: weights, then biases, then preactivations."""
    present = heads_in(expression.terms)
    if isinstance(over, str):
        if over != "all":
            raise ExpectationError(
                f"Cannot average over {over!r}. "
                f"It was given as `over` for {expression!r}. "
                "Give a head such as W, several heads, or 'all'."
            )
        heads = tuple(present)
    else:
        heads = listed_heads(over)
    for head in heads:
        if head.kind not in RANDOM:
            raise ExpectationError(
                f"Cannot average over {head.name}, which is not random. "
                f"It was given as `over` for {expression!r}. "
                "Average over weights, biases, Gaussian vectors or preactivations; those of an "
                "activation are the ones it was made from."
            )
    check_meant(present, heads)
    return tuple(sorted(dict.fromkeys(heads), key=_averaging_order))


def listed_heads(over: Head | Iterable[Head]) -> tuple[Head, ...]:
    """Read what to average over as heads."""
    heads = tuple(over) if isinstance(over, Iterable) else (over,)
    for head in heads:
        if not isinstance(head, Head):
            raise ExpectationError(
                f"Cannot average over {head!r}. "
                "It was given as `over`. "
                "Give a head such as W, without indices, several heads, or 'all'."
            )
    return heads


def check_meant(present: set[Head], heads: tuple[Head, ...]) -> None:
    """Refuse a head that prints like one in the expression and differs from it."""
    for head in heads:
        alike = [
            o for o in present if (o.kind, o.name, o.layer) == (head.kind, head.name, head.layer)
        ]
        if head.kind is Kind.PREACTIVATION:
            wrong = [other for other in alike if other.slots[0] != head.slots[0]]
        else:
            wrong = [] if head in alike else [other for other in alike if other not in heads]
        if wrong:
            other = min(wrong, key=lambda each: each.sort_key)
            raise ExpectationError(
                f"{described(head)} differs from the {described(head)} in the expression. "
                f"One runs over {_ranges(head)}, the other over {_ranges(other)}; their laws may "
                "differ too. "
                "Average over the very tensor that stands in the expression."
            )


def described(head: Head) -> str:
    """Name a tensor with its layer, if it has one."""
    return head.name if head.layer is None else f"{head.name} of layer {head.layer}"


def _ranges(head: Head) -> str:
    return " and ".join(str(slot.size or slot.species) for slot in head.slots)


def heads_in(terms: Iterable[Term]) -> set[Head]:
    """Find the random tensors of terms, with the preactivations of each activation."""
    tensors = (f for term in terms for f in term.factors if isinstance(f, Tensor))
    heads: set[Head] = set()
    for head in {id(tensor.head): tensor.head for tensor in tensors}.values():
        if head.kind is Kind.ACTIVATION:
            heads.add(Head(Kind.PREACTIVATION, "z", head.slots, head.layer))
        elif head.kind in RANDOM:
            heads.add(head)
    return heads


def check_fields(terms: Iterable[Term]) -> None:
    """Refuse fields inside a layer: averages of one neuron are over z alone."""
    tensors = (f.head for term in terms for f in term.factors if isinstance(f, Tensor))
    for head in tensors:
        field = head.members[0] if head.kind is Kind.ACTIVATION and head.members else head
        if field.kind is Kind.PREACTIVATION and field.name != "z":
            raise ExpectationError(
                f"Cannot average what reads the field {field.name}. Expectations know the "
                "preactivations z of each layer. For layers of several fields, give them to "
                "symdlt.Stack and ask `layer_equations`."
            )
        if head.kind is Kind.WEIGHT and head.name.endswith("]"):
            raise ExpectationError(
                f"Cannot average over the weights {head.name}, which read several positions. "
                "Expectations know neurons and samples. Give the layer to symdlt.Stack and ask "
                "`layer_equations`."
            )


def _averaging_order(head: Head) -> tuple[object, ...]:
    return (head.kind.value, head.sort_key)


def check_independence(terms: Iterable[Term], head: Head) -> None:
    """Refuse to average over a tensor on which other factors of a term depend."""
    for term in terms:
        heads = [factor.head for factor in term.factors if isinstance(factor, Tensor)]
        if not any(_is_averaged(other, head) for other in heads):
            continue
        for other in dict.fromkeys(heads):
            if _depends(other, head):
                raise ExpectationError(
                    f"{head.name} of layer {head.layer} and {other.name} of layer {other.layer} "
                    "are not independent. "
                    f"Both stand in {Expression((term,))!r}. "
                    "Replace the preactivations by their definition with `replace`, or average "
                    "over the deeper tensors first."
                )


def _is_averaged(factor: Head, over: Head) -> bool:
    if over.kind is Kind.PREACTIVATION:
        return factor.kind in FUNCTIONS and factor.layer == over.layer
    return factor == over


def _depends(factor: Head, over: Head) -> bool:
    """Tell whether a factor depends on, or feeds, the tensor that is averaged over."""
    if _is_averaged(factor, over) or factor.layer is None or over.layer is None:
        return False
    if factor.kind is Kind.AVERAGE or factor.kind is Kind.CONSTANT:
        return False
    steps = layers_apart(over.layer, factor.layer)
    if over.kind in DRAWN:
        return factor.kind in FUNCTIONS and (steps is None or steps >= 0)
    return factor.kind in FUNCTIONS or steps is None or steps <= 0
