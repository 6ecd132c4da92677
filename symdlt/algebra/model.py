"""The tensors a user writes: weights, biases, preactivations, activations, constants."""

from itertools import groupby

from symdlt.algebra.expression import Letter
from symdlt.algebra.heads import Head, Kind, Moments, Slot
from symdlt.algebra.index import Index, Species
from symdlt.algebra.laws import Law, gaussian
from symdlt.algebra.layer_labels import Layer, shift_layer, width_of
from symdlt.algebra.names import check_name, check_unreserved, refusal, split_names
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.symmetry import NO_SYMMETRY, Symmetry
from symdlt.algebra.term import size_polynomial
from symdlt.errors import IndexStructureError

Width = int | str


def symbol(name: str) -> Polynomial:
    """Make a named constant: a width, a hyperparameter, any number without a value.

    >>> print(symbol("C_W") / symbol("n_1"))
    C_W/n_1
    """
    return Polynomial.symbol(name)


def symbols(names: str) -> tuple[Polynomial, ...]:
    """Make named constants from names separated by spaces or commas.

    >>> [str(s) for s in symbols("C_b C_W")]
    ['C_b', 'C_W']
    """
    return tuple(symbol(name) for name in split_names(names))


def weights(
    layer: Layer,
    rows: Width | None = None,
    columns: Width | None = None,
    law: Law | None = None,
    *,
    name: str = "W",
    window: str = "",
) -> Letter:
    r"""Make the weights $W^{(\ell)}_{ij}$ of one layer.

    Args:
        layer: a number or a symbol such as 'ℓ+1'.
        rows: how many neurons the layer has; $n_\ell$ unless told.
        columns: how many neurons feed it; $n_{\ell-1}$ unless told.
        law: how one weight is distributed; Gaussian with variance C_W over `columns` unless told,
            C being followed by the name.
        name: the letter in print.
        window: the positions that they read, such as '3, zero', with weights for each offset; only
            fields of a stack have it.

    >>> weights(2).slots[1].size
    'n_1'
    >>> print(weights(2, name="U").law.cumulant(2))
    C_U/n_1
    """
    check_drawn_name(name, "weights")
    layer = shift_layer(layer, 0)
    rows = width_of(layer) if rows is None else rows
    columns = width_of(shift_layer(layer, -1)) if columns is None else columns
    slots = (Slot(Species.NEURON, rows), Slot(Species.NEURON, columns))
    if law is None:
        law = gaussian(Polynomial.symbol(f"C_{name}") / size_polynomial(columns))
    if not isinstance(window, str):
        raise refusal(window, "a window", "`weights`", "Write it as text, such as '3x3, stride 2'.")
    shown = f"{name}[{window}]" if window else name
    return Letter(Kind.WEIGHT, shown, slots, layer, law=check_law(law, "weights"))


def biases(
    layer: Layer, rows: Width | None = None, law: Law | None = None, *, name: str = "b"
) -> Letter:
    r"""Make the biases $b^{(\ell)}_i$ of one layer, Gaussian with variance C_b unless told.

    >>> biases(2).slots[0].size
    'n_2'
    """
    check_drawn_name(name, "biases")
    layer = shift_layer(layer, 0)
    rows = width_of(layer) if rows is None else rows
    law = gaussian(Polynomial.symbol(f"C_{name}")) if law is None else law
    slots = (Slot(Species.NEURON, rows),)
    return Letter(Kind.BIAS, name, slots, layer, law=check_law(law, "biases"))


def check_drawn_name(name: str, of: str) -> None:
    """Refuse a name of weights or biases that stands for something else."""
    check_name(name, f"`{of}`")
    check_unreserved(name, "tensor's", f"`{of}`")
    if name.startswith("z") or name.endswith("'"):
        raise refusal(name, "a name of weights or biases", f"`{of}`", "Take one such as 'U'.")


def check_law(law: Law, of: str) -> Law:
    """Refuse what is not a law."""
    if not isinstance(law, Law):
        raise refusal(law, "a law", f"`{of}`", "Make one, as in gaussian(1) or uniform(1).")
    return law


def preactivations(
    layer: Layer, size: Width | None = None, *, single_input: bool = False, name: str = "z"
) -> Letter:
    r"""Make the preactivations $z^{(\ell)}_{i;\delta}$ of one layer, or another field of it.

    Args:
        layer: a number or a symbol such as 'ℓ'.
        size: how many neurons the layer has; $n_\ell$ unless told.
        single_input: leave the sample index out.
        name: of the field, such as u for one inside a layer of several streams.

    >>> preactivations("ℓ").rank
    2
    """
    check_name(name, "`preactivations`")
    layer = shift_layer(layer, 0)
    neuron = Slot(Species.NEURON, width_of(layer) if size is None else size)
    slots = (neuron,) if single_input else (neuron, Slot(Species.SAMPLE))
    return Letter(Kind.PREACTIVATION, name, slots, layer)


def activation(name: str, of: Head) -> Letter:
    r"""Make the activation $\sigma(z_{i;\delta})$ of preactivations.

    >>> activation("σ", preactivations(1)).derivative(2).order
    2
    """
    check_name(name, "an activation")
    check_unreserved(name, "activation", "`activation`")
    if name in ("W", "b", "z") or name.endswith("'"):
        raise IndexStructureError(
            f"An activation cannot be called {name}. "
            "The letter of weights, biases or preactivations was given to `activation`, or a "
            "prime, which marks derivatives. "
            "Choose another name, such as 'σ'."
        )
    if not isinstance(of, Head):
        raise refusal(
            of,
            "a tensor",
            f"the activation {name}",
            "Give the preactivations it acts on, as in activation('σ', preactivations(1)).",
        )
    if of.kind is not Kind.PREACTIVATION:
        raise IndexStructureError(
            f"{name} cannot act on {of.name}. "
            f"That is {of.kind.noun}. "
            "Give the preactivations it acts on, as in activation('σ', preactivations(1))."
        )
    members = () if of.name == "z" else (of,)
    return Letter(Kind.ACTIVATION, name, of.slots, of.layer, members=members)


def constant(name: str, *slots: Slot | Index, symmetry: Symmetry = NO_SYMMETRY) -> Letter:
    """Make a constant tensor, such as the inputs x_{j;δ}.

    Args:
        name: the letter in print.
        slots: one slot, or one index that fits it, for each leg.
        symmetry: permutations of the legs that leave it unchanged.

    >>> from symdlt.algebra import neurons, symmetric
    >>> i, j = neurons("i j", "n")
    >>> metric = constant("g", i, j, symmetry=symmetric(2))
    >>> metric(i, j) == metric(j, i)
    True
    """
    check_name(name, "a constant")
    check_unreserved(name, "constant", "`constant`")
    taken = tuple(s if isinstance(s, Slot) else slot_of(s) for s in slots)
    if name in [slot.size for slot in taken]:
        raise IndexStructureError(
            f"The name {name!r} stands for a constant and for the size of one of its legs. "
            "Both were given to `constant`. "
            "Choose another name for one of them."
        )
    if not isinstance(symmetry, Symmetry):
        raise refusal(
            symmetry,
            "a symmetry",
            f"the constant {name}",
            "Make one, as in symmetric(2) or generated((1, 0)).",
        )
    return Letter(Kind.CONSTANT, name, taken, symmetry=symmetry)


def gaussian_vector(
    name: str, *slots: Slot | Index, covariance: Head, mean: Head | None = None
) -> Letter:
    r"""Make a Gaussian vector $x_i$ with $E[x_i x_j] = C_{ij} + m_i m_j$.

    Args:
        name: the letter in print.
        slots: one slot, or one index that fits it, for each leg.
        covariance: a constant with the legs of the vector twice, the same when the two are
            exchanged.
        mean: a constant with the legs of the vector; zero unless told.

    Raises:
        IndexStructureError: the legs do not fit, or the covariance is not symmetric.

    >>> from symdlt.algebra import neurons, symmetric
    >>> from symdlt.algebra.averages import expectation
    >>> i, j = neurons("i j", "n")
    >>> C, m = constant("C", i, j, symmetry=symmetric(2)), constant("m", i)
    >>> x = gaussian_vector("x", i, covariance=C, mean=m)
    >>> print(expectation(x(i) * x(j)), "and", expectation((x(i) ** 2).sum(i)))
    C_{i j} + m_i m_j and Σ_i C_{i i} + Σ_i m_i²
    """
    plain = constant(name, *slots)
    legs = plain.slots
    for head, wanted, what in ((covariance, legs * 2, "covariance"), (mean, legs, "mean")):
        if head is None and what == "mean":
            continue
        if not isinstance(head, Head) or head.kind is not Kind.CONSTANT or head.slots != wanted:
            raise refusal(
                head,
                f"a constant with {len(wanted)} legs that fit",
                f"`gaussian_vector` as the {what} of {name}",
                "Make one with `constant`: the covariance has the legs of the vector twice, the "
                "mean once.",
            )
    there = tuple(range(2 * len(legs)))
    back = (*there[len(legs) :], *there[: len(legs)])
    symmetry = covariance.symmetry
    alike = symmetry.least(there) == symmetry.least(back)
    if not alike or (symmetry.signs and symmetry.sign(there) != symmetry.sign(back)):
        raise IndexStructureError(
            f"The covariance {covariance.name} may change when its two legs are exchanged. "
            f"It was given to `gaussian_vector` for {name}. "
            f"Declare it with a symmetry, as in symmetric(2) or generated({back})."
        )
    return Letter(Kind.VECTOR, name, legs, moments=Moments(covariance, mean))


def slot_of(index: Index) -> Slot:
    """Make the slot an index fits; one for samples takes samples of any set."""
    if not isinstance(index, Index):
        raise refusal(index, "a slot or an index", "`constant`", "Declare it with `neurons`.")
    return Slot(index.species, None if index.species is Species.SAMPLE else index.size)


def average_of(members: tuple[Head, ...], layer: Layer | None) -> Head:
    """Make the angle bracket of functions of one neuron's preactivations, given in order."""
    slots: list[Slot] = []
    blocks: list[tuple[int, ...]] = []
    for _, alike in groupby(members):
        start = len(slots)
        for member in alike:
            slots.extend(member.slots[1:])
        if len(slots) > start + 1:
            blocks.append(tuple(range(start, len(slots))))
    symmetry = Symmetry(blocks=tuple(blocks)) if blocks else NO_SYMMETRY
    return Head(Kind.AVERAGE, "E", tuple(slots), layer, symmetry, members=members)
