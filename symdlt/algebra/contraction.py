"""Contraction: Kronecker deltas carried out, and empty sums turned into widths."""

from symdlt.algebra.factors import Delta, Factor, Tensor, trusted_tensor, unsized
from symdlt.algebra.index import Index
from symdlt.algebra.polynomial import ZERO
from symdlt.algebra.term import Term, size_polynomial, trusted_term

NOTHING = trusted_term((), ZERO, ())


def contract_term(term: Term) -> Term:
    """Carry out the deltas of a term and count the sums that no factor needs.

    What is left of the deltas ties free indices to the first of their class, which is a number
    if there is one; two numbers in one class make the term zero.
    """
    names = delta_names(term)
    numbers = [index for index in names if index.number is not None]
    if any(names[index] != index for index in numbers):
        return NOTHING
    tensors: list[Factor] = []
    seen: set[Index] = set()
    for factor in term.factors:
        if isinstance(factor, Tensor):
            moved = factor
            if names:
                indices = tuple([names.get(i, i) for i in factor.indices])
                indices = unsized(factor.head, indices) if numbers else indices
                moved = trusted_tensor(factor.head, indices)
            tensors.append(moved)
            seen.update(moved.indices)
    coefficient = term.coefficient
    sums = []
    bound = set(term.sums)
    for index in term.sums:
        if index in seen:
            sums.append(index)
        elif names.get(index, index) == index:
            coefficient = coefficient * size_polynomial(index.size)
    pairs = [(root, index) for index, root in names.items() if index not in bound]
    pairs.sort(key=lambda pair: (pair[0].sort_key, pair[1].sort_key))
    ties: list[Factor] = [Delta(root, index) for root, index in pairs if index is not root]
    return trusted_term(tuple(sums), coefficient, tuple(ties + tensors))


def delta_names(term: Term) -> dict[Index, Index]:
    """Map each index on a delta to the representative of its class.

    The representative is the first free index of the class, or any dummy if all are summed.
    """
    classes: dict[Index, list[Index]] = {}
    for factor in term.factors:
        if isinstance(factor, Delta):
            left = classes.setdefault(factor.left, [factor.left])
            right = classes.setdefault(factor.right, [factor.right])
            if left is not right:
                left.extend(right)
                for index in right:
                    classes[index] = left
    if not classes:
        return {}
    bound = set(term.sums)
    names: dict[Index, Index] = {}
    for members in classes.values():
        if members[0] in names:
            continue
        free = [index for index in members if index not in bound]
        root = min(free, key=lambda index: index.sort_key) if free else members[0]
        for index in members:
            names[index] = root
    return names
