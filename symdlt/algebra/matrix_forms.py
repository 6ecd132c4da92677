"""Expressions written with traces and products of matrices and vectors."""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from symdlt.algebra.canonical import connected_pieces
from symdlt.algebra.expression import Expression, as_expression
from symdlt.algebra.factors import Factor, Tensor
from symdlt.algebra.heads import Kind
from symdlt.algebra.index import Index, Species
from symdlt.algebra.matrix_chains import (
    Chain,
    End,
    Link,
    exchange_sign,
    read_chain,
    summed_slots,
)
from symdlt.algebra.polynomial import Number, Polynomial, join_signed
from symdlt.algebra.printing import LatexWriter, Writer
from symdlt.algebra.term import Term


@dataclass(frozen=True, slots=True)
class MatrixForm:
    """An expression that prints as traces and products of matrices and vectors."""

    expression: Expression

    def __str__(self) -> str:
        return write_in_matrices(self.expression, Writer())

    def __repr__(self) -> str:
        return f"MatrixForm({self.expression!r})"

    def latex(self) -> str:
        """Write the expression in LaTeX."""
        return write_in_matrices(self.expression, LatexWriter())

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def matrix_form(expression: Expression | Polynomial | Number) -> MatrixForm:
    r"""Show an expression with traces and products of matrices and vectors.

    A tensor is a matrix in two summed indices and a vector in one; samples that are not summed
    stay with it. A free index of a matrix, or a number, is written behind the product it belongs
    to. What is no such product keeps its indices. Of the ways to write a product the one with
    the fewest transposes is taken, and expressions that are equal are written alike.

    >>> from symdlt.algebra import constant, neurons, symmetric
    >>> i, j = neurons("i j", "n")
    >>> A, B, x, y = constant("A", i, j), constant("B", i, j), constant("x", i), constant("y", i)
    >>> print(matrix_form((A(i, j) * B(j, i) + A(i, j) * B(i, j)).sum(i, j)))
    tr(A B) + tr(A Bᵀ)
    >>> print(matrix_form((x(i) * A(i, j) * y(j)).sum(i, j) ** 2 - 2 * (x(i) * y(i)).sum(i)))
    (xᵀ A y)² - 2 xᵀ y
    >>> print(matrix_form((A(i, j) * x(j)).sum(j) + (A(2, j) * x(j)).sum(j)).latex())
    \left(A x\right)_{2} + \left(A x\right)_{i}
    """
    return MatrixForm(as_expression(expression))


def write_in_matrices(expression: Expression, writer: Writer) -> str:
    """Write an expression in matrix form, terms with fewer transposes first."""
    written = [write_term(term, writer) for term in expression.printed_terms()]
    return join_signed(text for _, text in sorted(written, key=lambda term: term[0]))


def write_term(term: Term, writer: Writer) -> tuple[int, tuple[bool, str]]:
    """Count the transposes of a term, and write it without its sign, which is told."""
    bound = set(term.sums)
    apart: list[Factor] = list(term.deltas)
    indexed: list[Factor] = []
    products: list[MatrixProduct] = []
    for piece in connected_pieces(term.factors, bound):
        if not any(summed_slots(tensor, bound) for tensor in piece):
            apart.extend(piece)
            continue
        chain = read_chain(piece, bound, lambda tensor: matrix_slots(tensor, bound))
        if chain is None:
            indexed.extend(piece)
        else:
            products.append(best_product(chain, writer))
    coefficient = term.coefficient * prod(product.sign for product in products)
    crowd = len(apart) + len(indexed) + len(products) > 1
    texts = [writer.group(p.text) if p.bare and crowd else p.text for p in products]
    kept = {index for factor in indexed for index in factor.indices}
    sums = tuple(index for index in term.sums if index in kept)
    pieces = [
        *writer.summed((), apart),
        *writer.powers(texts),
        *(writer.summed(sums, indexed) if indexed else ()),
    ]
    transposes = sum(product.transposes for product in products)
    return transposes, writer.product(coefficient, pieces, bool(term.factors))


class MatrixProduct(NamedTuple):
    """A chain as it is written, by falling preference; `bare` if it needs parentheses in a crowd.

    The sign comes from antisymmetric matrices, which are never written transposed.
    """

    transposes: int
    text: str
    sign: int
    bare: bool


def best_product(chain: Chain, writer: Writer) -> MatrixProduct:
    """Write a chain in the direction, and a trace from the matrix, that needs fewest transposes."""
    ways = [chain, Chain(chain.stop, backwards(chain.links), chain.start)]
    if chain.start is None:
        turns = range(len(chain.links))
        ways = [Chain(None, w.links[k:] + w.links[:k], None) for w in ways for k in turns]
    return min(
        written(way, writer) for way in ways if not (is_free(way.stop) and not is_free(way.start))
    )


def backwards(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Go through a product from its end, which transposes the matrices."""
    return tuple(Link(link.tensor, link.leave, link.enter) for link in reversed(links))


def is_free(end: End | None) -> bool:
    """Tell whether a product is open at an end."""
    return end is not None and end.tensor is None


def written(chain: Chain, writer: Writer) -> MatrixProduct:
    """Write a chain in the order in which it stands."""
    sign, transposes = 1, 0
    words = [] if chain.start is None else vector(chain.start, writer, transposed=True)
    for link in chain.links:
        exchange = exchange_sign(link) if link.enter > link.leave else 1
        sign *= exchange or 1
        transposes += not exchange
        words.append(letter(link.tensor, (link.enter, link.leave), writer, not exchange))
    words += [] if chain.stop is None else vector(chain.stop, writer, transposed=False)
    text = " ".join(words)
    open_ends = tuple(e.index for e in (chain.start, chain.stop) if e and e.tensor is None)
    if chain.start is None:
        text = writer.trace(text)
    elif open_ends:
        text = writer.group(text, open_ends)
    return MatrixProduct(transposes, text, sign, chain.start is not None and not open_ends)


def vector(end: End, writer: Writer, transposed: bool) -> list[str]:
    """Write the vector at an end; a free index is written behind the product."""
    return [letter(end.tensor, (end.slot,), writer, transposed)] if end.tensor else []


def letter(tensor: Tensor, opened: tuple[int, ...], writer: Writer, transposed: bool) -> str:
    """Write a matrix or a vector with the indices that stay with it."""
    head = tensor.head
    kept = tuple(i for slot, i in enumerate(tensor.indices) if slot not in opened)
    return writer.letter(head.name, head.order, head.layer, kept, transposed)


def matrix_slots(tensor: Tensor, bound: set[Index]) -> tuple[int, ...]:
    """List the slots by which a tensor is a matrix or a vector, none if it is neither.

    Other indices can stay with its letter if they cannot be taken for those of the open slots.
    """
    summed = summed_slots(tensor, bound)
    kinds = {tensor.indices[slot].species for slot in summed}
    others = [i for slot, i in enumerate(tensor.indices) if slot not in summed]
    if tensor.head.kind is Kind.AVERAGE or not summed:
        return ()
    if all(i.species is Species.SAMPLE and i.species not in kinds for i in others):
        return summed
    return (0, 1) if tensor.head.rank == 2 else ()
