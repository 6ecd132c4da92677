"""Recursions: derived from the definition of a tensor, for one input or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, overload

from symdlt.definitions import (
    DENSE,
    Correlator,
    Layer,
    Stack,
    read_layer_definition,
    split_subleading,
    steps_of,
    tensor,
)
from symdlt.derivation.conditions import check_depth
from symdlt.derivation.contraction import contract_matching
from symdlt.derivation.evaluation import Key, diagram_terms, hyperparameters
from symdlt.derivation.expansion import Diagram, WidthExpansion, expand_in_width
from symdlt.derivation.forward import forward_equation
from symdlt.derivation.plain_text import equation_text
from symdlt.derivation.sizes import refuse_if_too_large
from symdlt.derivation.stacks.recursion import StackRecursion, derive_stack
from symdlt.derivation.symmetry import asymmetric_term
from symdlt.derivation.terms import RecursionTerm, piece_name, tensor_at, term_text
from symdlt.errors import DerivationError, LayerError, OrderError, require
from symdlt.progress import track

if TYPE_CHECKING:
    import sympy as sp

FORMS = ("derivative", "z")
LONG = 50  # a convention: fewer diagrams are done before a bar is drawn


@dataclass(frozen=True, slots=True)
class Recursion:
    r"""The value of one tensor at layer ℓ+1 in terms of layer ℓ.

    $$X^{(\ell+1)} = \sum_{\text{terms}} (\text{coefficient})\,
      C_b^{\cdot}C_W^{\cdot}\lambda_b^{\cdot}\lambda_W^{\cdot}
      \Big(\frac{n_\ell}{n_{\ell-1}}\Big)^{\!\cdot}\,
      \langle\cdots\rangle_K \cdots X^{(\ell)}\cdots$$

    Attributes:
        correlator: the tensor.
        piece: which piece of $X = n^{-(m-1)}\sum_s n^{-s} X[s]$, 0 for the leading one.
        samples: the sample of each axis; all equal for a single input.
        form: "derivative" (brackets of derivatives) or "z" (derivatives that came from
            cumulants traded for inserted z's and inverse kernels).
        terms: the terms, in canonical order.
        first_layer: the value at layer 1, where the inputs are fixed.
        layer: how layer ℓ+1 is made of layer ℓ.
        at: the one layer that it holds for, or None for all.

    >>> derive("B", inputs="one").terms[1]
    RecursionTerm((n/n') C_W^2 <s' s'>^2 B)
    """

    correlator: Correlator
    piece: int
    samples: tuple[int, ...]
    form: str
    terms: tuple[RecursionTerm, ...]
    first_layer: tuple[RecursionTerm, ...]
    layer: Layer = DENSE
    at: int | None = None

    @property
    def name(self) -> str:
        """The canonical name of the tensor, with its piece unless it is the leading one."""
        return piece_name(self.correlator, self.piece)

    @property
    def single_input(self) -> bool:
        """Whether all axes carry the same sample."""
        return len(set(self.samples)) == 1

    @property
    def dependencies(self) -> tuple[tuple[Correlator, int], ...]:
        """The tensors and pieces of layer ℓ that it needs, the kernel first."""
        needed = {(tensor("G"), 0)} if any(term.brackets for term in self.terms) else set()
        needed |= {(t.correlator, t.piece) for term in self.terms for t in term.tensors}
        return tuple(sorted(needed, key=lambda need: (need[0].axes, need[0].name, need[1])))

    def __repr__(self) -> str:
        inputs = "one" if self.single_input else "many"
        return (
            f"Recursion({self.name}, order={self.correlator.pairs - 1 + self.piece}, "
            f"inputs={inputs}, form={self.form}, terms={len(self.terms)})"
        )

    @property
    def head(self) -> str:
        """The tensor of the left side as text, with its samples and layer."""
        name = self.name if self.single_input else tensor_at(self.name, self.samples)
        return f"{name}[{self.at or 'l+1'}]"

    def __str__(self) -> str:
        return equation_text(self.head, map(term_text, self.terms))

    def to_sympy(self) -> sp.Eq:
        """The recursion as an equation of SymPy; see `symdlt.symbols`.

        Means, tensors and what else has no symbol there are symbols named as they are printed.

        >>> from symdlt import symbols
        >>> derive("G", inputs="one").to_sympy().rhs.coeff(symbols.C_W)
        <s s>
        """
        import sympy as sp

        left = sp.Symbol(self.head, real=True)
        return sp.Eq(left, sp.Add(*(term.to_sympy() for term in self.terms)), evaluate=False)

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)


@overload
def derive(
    what: str | Correlator,
    *,
    inputs: str = ...,
    form: str = ...,
    piece: int | None = ...,
    layer: Layer = ...,
    at: int | None = ...,
) -> Recursion: ...


@overload
def derive(
    what: str | Correlator,
    *,
    inputs: str = ...,
    form: str = ...,
    piece: int | None = ...,
    layer: Stack,
    at: int | None = ...,
) -> StackRecursion: ...


@overload
def derive(
    what: str | Correlator,
    *,
    inputs: str = ...,
    form: str = ...,
    piece: int | None = ...,
    layer: str,
    at: int | None = ...,
) -> Recursion | StackRecursion: ...


def derive(
    what: str | Correlator,
    *,
    inputs: str = "many",
    form: str = "derivative",
    piece: int | None = None,
    layer: str | Layer | Stack = DENSE,
    at: int | None = None,
) -> Recursion | StackRecursion:
    r"""Derive the recursion of a tensor from its definition.

    Args:
        what: a name such as "R", "G.1" or "X6_01_24", or a `Correlator`.
        inputs: "many" (a symbolic sample for each axis) or "one".
        form: "derivative" or "z".
        piece: which piece of the tensor, 0 (the default) for the leading one.
        layer: how layer ℓ+1 is made of layer ℓ, as a `Layer`, a `Stack` without skips, or in
            its short form; the dense layer if left out.
        at: 2 for the second layer alone, whose layer below is exactly Gaussian; of a `Layer`.

    Returns:
        The recursion; its terms know the diagrams they come from. Of a `Stack` those of its
        fields, one step after the other.

    Raises:
        UnknownTensorError: for a name that is none.
        OrderError: for a negative piece, or if the result would not fit into memory.
        DerivationError: if one of the checks of the derivation fails.
        LayerError: for a layer that cannot be read, and beyond the second layer with a skip, but
            for G and H at infinite width; for a stack that is no chain of steps.

    >>> print(derive("V", layer="z' = xi z + W s(z)", at=2, inputs="one"))
    V[2] =
      - C_W^2 <s s>^2
      + C_W^2 <s s s s>
      + 2 C_W xi^2 <z z s s>
      - 2 C_W xi^2 <s s> G
    >>> print(derive("F", inputs="one"))
    F[l+1] =
      + C_W^2 <s s s' s'> H
      + (n/n') C_W^2 <s s''>^2 F
      + 2 (n/n') C_W^2 <s s''> <s' s'> F
      + (n/n') C_W^2 <s' s'>^2 F
    >>> print(derive("F", inputs="one", form="z"))
    F[l+1] =
      + C_W^2 <s s s' s'> H
      + (n/n') C_W^2 <s s' z^>^2 F
    """
    _check_choice("form", form, FORMS)
    _check_choice("inputs", inputs, ("one", "many"))
    if isinstance(what, Correlator):
        correlator, number = what, 0 if piece is None else piece
    else:
        name, written = split_subleading(what) if isinstance(what, str) else (what, 0)
        correlator, number = tensor(name), written if piece is None else piece
    if type(number) is not int:
        raise OrderError(
            f"The piece {short_repr(number)} is not a whole number. Tensor: {correlator.name}. "
            "Pieces are counted 0, 1, 2, …, the leading one first."
        )
    definition = read_layer_definition(layer)
    if isinstance(definition, Stack):
        _check_stack(definition, form, at, leading=correlator.pairs == 1 and number == 0)
        return derive_stack(correlator, number, inputs, definition)
    require(definition, Layer, "a layer", 'Give one such as "z\' = b + W s(z)".')
    check_depth(definition, at, correlator, number)
    return _derive(correlator, number, inputs, form, definition, at)


def _check_stack(layer: Stack, form: str, at: int | None, *, leading: bool) -> None:
    """Refuse what is there for layers of one field alone, with the reason."""
    if form != FORMS[0]:
        raise OrderError(
            f"form={form!r} was given for {layer!r}. Recursions of several fields have brackets of "
            "derivatives. Leave it out."
        )
    if at is None:
        return
    try:
        steps_of(layer, leading=leading)
    except LayerError as reason:
        raise LayerError(
            f"at={short_repr(at)} is there for layers of one field alone, and other recursions are "
            f"those of every depth. {reason}"
        ) from reason
    raise OrderError(
        f"at={short_repr(at)} was given for {layer!r}. Its recursion holds at every depth, the "
        "second layer among them. Leave it out."
    )


def _check_choice(what: str, given: object, choices: tuple[object, ...]) -> None:
    if given not in choices:
        raise OrderError(
            f"{what}={short_repr(given)} is not known. A recursion is derived with one of "
            f"{', '.join(map(repr, choices))}. Choose one of these."
        )


@lru_cache(maxsize=4096)  # a system of all 1971 tensors of 1/n^3 asks for each of them again
def _derive(
    correlator: Correlator, piece: int, inputs: str, form: str, layer: Layer, at: int | None
) -> Recursion:
    refuse_if_too_large(correlator, piece, inputs)
    samples = correlator.labels if inputs == "many" else (0,) * correlator.axes
    expansion = width_expansion(correlator, piece, layer, at)
    terms = collect(expansion.diagrams, samples, form)
    first = _first_layer(correlator, piece, samples, layer)
    recursion = Recursion(correlator, piece, samples, form, terms, first, layer, at)
    broken = asymmetric_term(correlator, samples, terms)
    if broken:
        raise DerivationError(
            f"The recursion of {recursion.name} breaks a symmetry of its definition. "
            f"The term is {broken!r}. This is a fault of symdlt; please report it."
        )
    return recursion


def width_expansion(
    correlator: Correlator, piece: int, layer: Layer = DENSE, at: int | None = None
) -> WidthExpansion:
    """From the definition of a tensor to its diagrams: forward, contract, expand.

    Below the second layer preactivations are Gaussian and the NTK does not fluctuate: diagrams
    with a cumulant of order 1/n of that layer are left out.
    """
    equation = forward_equation(correlator.forest, layer)
    moment = contract_matching(equation, correlator)
    expansion = expand_in_width(moment, piece)
    if at is None:
        return expansion
    there = tuple(d for d in expansion.diagrams if not d.lower_order)
    return replace(expansion, diagrams=there)


def collect(
    diagrams: Sequence[Diagram], samples: tuple[int, ...], form: str
) -> tuple[RecursionTerm, ...]:
    """Add up what the diagrams give and keep, for each term, the diagrams it comes from."""
    numbers: dict[Key, Fraction] = {}
    origins: dict[Key, dict[Diagram, None]] = {}
    shown = None if len(diagrams) > LONG else False
    for diagram in track(diagrams, "diagrams", shown):
        for key, number in diagram_terms(diagram, samples, form):
            numbers[key] = numbers.get(key, Fraction(0)) + number
            origins.setdefault(key, {})[diagram] = None
    terms = [
        RecursionTerm(number, *key, origins=tuple(origins[key]))
        for key, number in numbers.items()
        if number
    ]
    return tuple(sorted(terms, key=lambda term: term.sort_key))


def replay(diagram: Diagram, term: RecursionTerm, samples: tuple[int, ...], form: str) -> Fraction:
    """What one diagram contributes to the coefficient of a term."""
    require(diagram, Diagram, "a diagram", "Give one of the `origins` of a term.")
    require(term, RecursionTerm, "a term", "Give one of the `terms` of a recursion.")
    require(samples, tuple, "a tuple of samples", "Give the `samples` of the recursion.")
    if form not in FORMS or len(samples) != diagram.contraction.correlator.axes:
        raise OrderError(
            f"No recursion has the samples {short_repr(samples)} and the form {short_repr(form)}. "
            "They go with the diagram. Give those of the recursion that it belongs to."
        )
    layer = diagram.contraction.layer
    return _contributions(diagram, layer, samples, form).get(term.key, Fraction(0))


@lru_cache(maxsize=1024)
def _contributions(
    diagram: Diagram, layer: Layer, samples: tuple[int, ...], form: str
) -> dict[object, Fraction]:
    """What a diagram gives to each term; one diagram is the origin of many.

    Diagrams of different layers compare equal, so that the layer is a part of the key.
    """
    total: dict[object, Fraction] = {}
    for key, number in diagram_terms(diagram, samples, form):
        total[key] = total.get(key, Fraction(0)) + number
    return total


def _first_layer(
    correlator: Correlator, piece: int, samples: tuple[int, ...], layer: Layer
) -> tuple[RecursionTerm, ...]:
    """The diagrams that survive below the network: inputs do not fluctuate, and have no NTK.

    Layer 0 has no parameters and so no trees, and fixed inputs have no cumulants: of a connected
    correlator only one pair with one sum over the inputs, or none, is left. A skip has nothing
    to skip there.
    """
    if piece or correlator.pairs > 1:
        return ()
    terms = []
    for diagram in width_expansion(correlator, 0, layer).diagrams:
        contraction = diagram.contraction
        if not contraction.lower_trees and not diagram.cumulants and not contraction.kept:
            hyper = hyperparameters(diagram)
            overlap = tuple(sorted(samples)) if diagram.groups else ()
            terms.append(
                RecursionTerm(diagram.coefficient, hyper, overlap=overlap, origins=(diagram,))
            )
    return tuple(terms)
