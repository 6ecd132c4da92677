"""Recursions of stacks: those of all fields of a layer, one step after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from symdlt.definitions import BELOW, BOOK, Correlator, SiteStep, Stack, ascii_name, steps_of
from symdlt.derivation.expansion import WidthExpansion, expand_in_width
from symdlt.derivation.forward_steps import Fields
from symdlt.derivation.plain_text import equation_text
from symdlt.derivation.sizes import refuse_if_too_large
from symdlt.derivation.stacks.contraction import contract_step
from symdlt.derivation.stacks.evaluation import settled, step_terms
from symdlt.derivation.stacks.terms import FieldMean, StepTerm, field_tensor_name
from symdlt.derivation.symmetry import generators
from symdlt.derivation.terms import tensor_at
from symdlt.errors import DerivationError, LayerError, OrderError

if TYPE_CHECKING:
    import sympy as sp

Need = tuple[Correlator, int, Fields]


@dataclass(frozen=True, slots=True)
class StepRecursion:
    r"""One tensor of the fields that a step makes, in those of the fields that it reads.

    Attributes:
        correlator: the tensor.
        piece: which piece of it, 0 for the leading one.
        fields: the number of the field of each axis, among those that the step makes.
        samples: the sample of each axis; all equal for a single input.
        step: the step.
        terms: the terms, in canonical order.
    """

    correlator: Correlator
    piece: int
    fields: Fields
    samples: tuple[int, ...]
    step: SiteStep
    terms: tuple[StepTerm, ...]

    @property
    def single_input(self) -> bool:
        """Whether all axes carry the same sample."""
        return len(set(self.samples)) == 1

    @property
    def name(self) -> str:
        """The name of the tensor, with its fields unless it is of the layer above."""
        if self.step.last:
            return field_tensor_name(self.correlator, self.piece, self.fields, (BELOW,))
        return field_tensor_name(self.correlator, self.piece, self.fields, self.step.above)

    @property
    def head(self) -> str:
        """The tensor of the left side as text, with its samples and layer."""
        named = self.name if self.single_input else tensor_at(self.name, self.samples)
        return f"{named}[l+1]" if self.step.last else named

    @property
    def ratio(self) -> str:
        """The ratio of widths that terms have powers of."""
        return f"(n/{self.width_below})"

    @property
    def width_below(self) -> str:
        """The width of the layer below, or of the fields that the step reads."""
        return "n'" if self.step.first else f"n_{ascii_name(self.step.below[0])}"

    @property
    def needs(self) -> tuple[Need, ...]:
        """The tensors of the site below that it needs, kernels first."""
        needed = {one.need for term in self.terms for one in term.tensors}
        needed |= {
            (BOOK["G"], 0, (slot.field, slot.field))
            for term in self.terms
            for mean in term.means
            for slot in mean.slots
            if not slot.masks
        }
        return tuple(sorted(needed, key=need_order))

    def term_text(self, term: StepTerm) -> str:
        """One of its terms as it is printed."""
        return term.text(self.ratio, self.step.read, self.single_input)

    def to_sympy(self) -> sp.Eq:
        """The equation in SymPy; see `Recursion.to_sympy`.

        >>> from symdlt import derive
        >>> block = derive("G", layer="h = U z; z' = xi z + W s(h)", inputs="one")
        >>> [equation.to_sympy().rhs for equation in block.equations]
        [<s(h) s(h)>*C_W + G^z*xi**2, C_U*G, G]
        """
        import sympy as sp

        read = self.step.read
        terms = (term.to_sympy(self.width_below, read, self.single_input) for term in self.terms)
        return sp.Eq(sp.Symbol(self.head, real=True), sp.Add(*terms), evaluate=False)

    def __repr__(self) -> str:
        return f"StepRecursion({self.name}, terms={len(self.terms)})"

    def __str__(self) -> str:
        return equation_text(self.head, map(self.term_text, self.terms))


@dataclass(frozen=True, slots=True)
class StackRecursion:
    r"""The value of one tensor at layer ℓ+1, for a layer that is a chain of steps.

    The first equation gives it in tensors of the fields inside the layer, the next ones these, down
    to the tensors of layer ℓ. All tensors of the layer are multiplied by powers of $n_\ell$, the
    width of z:

    $$X = n_\ell^{m-1} \big(\text{cumulant on } m \text{ pairs}\big) .$$

    Attributes:
        correlator: the tensor.
        piece: which piece of it, 0 for the leading one.
        layer: the layer.
        equations: its own first, then those it needs, each before those that it needs itself.

    >>> from symdlt.derivation import derive
    >>> block = derive("V", layer=Stack("h = U s(z); z' = W s(h)"), inputs="one")
    >>> block
    StackRecursion(V, order=1, inputs=one, equations=3, terms=11)
    >>> print(block.equations[0])
    V[l+1] =
      - (n/n_h) C_W^2 <s(h) s(h)>^2
      + (n/n_h) C_W^2 <s(h) s(h) s(h) s(h)>
      + C_W^2 <s(h) s''(h)>^2 V^h
      + 2 C_W^2 <s(h) s''(h)> <s'(h) s'(h)> V^h
      + C_W^2 <s'(h) s'(h)>^2 V^h
    """

    correlator: Correlator
    piece: int
    layer: Stack
    equations: tuple[StepRecursion, ...]

    @property
    def name(self) -> str:
        """The name of the tensor, with its piece unless it is the leading one."""
        return self.equations[0].name

    @property
    def samples(self) -> tuple[int, ...]:
        """The sample of each axis."""
        return self.equations[0].samples

    @property
    def single_input(self) -> bool:
        """Whether all axes carry the same sample."""
        return self.equations[0].single_input

    @property
    def form(self) -> str:
        """Brackets have derivatives, and no inserted z's."""
        return "derivative"

    @property
    def terms(self) -> tuple[StepTerm, ...]:
        """The terms of all equations, as they are printed."""
        return tuple(term for equation in self.equations for term in equation.terms)

    @property
    def dependencies(self) -> tuple[tuple[Correlator, int], ...]:
        """The tensors and pieces of layer ℓ that it needs, the kernel first."""
        needs = {need for one in self.equations if one.step.first for need in one.needs}
        return tuple((correlator, piece) for correlator, piece, _ in sorted(needs, key=need_order))

    def __getitem__(self, name: str) -> StepRecursion:
        """The equation of that name.

        Raises:
            OrderError: if there is none.
        """
        for equation in self.equations:
            if equation.name == name:
                return equation
        raise OrderError(
            f"There is no equation of {name!r} in {self!r}. It has "
            f"{' '.join(one.name for one in self.equations)}. Name one of these."
        )

    def __repr__(self) -> str:
        inputs = "one" if self.single_input else "many"
        return (
            f"StackRecursion({self.name}, order={self.correlator.pairs - 1 + self.piece}, "
            f"inputs={inputs}, equations={len(self.equations)}, terms={len(self.terms)})"
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.equations))

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)


def derive_stack(
    correlator: Correlator, piece: int, inputs: str, layer: Stack, *, truncated: bool = False
) -> StackRecursion:
    """Derive the recursion of a tensor for a layer that is a chain of steps.

    Args:
        correlator: the tensor.
        piece: which piece of it.
        inputs: "many" or "one".
        layer: the layer.
        truncated: whether it may keep a z of which functions are read; see `steps_of`.

    Raises:
        LayerError: for a layer that is none, or laws of weights that the order does not know.
        OrderError: for a negative piece, or if the result would not fit into memory.
    """
    leading = correlator.pairs == 1 and not piece
    steps = steps_of(layer, truncated=truncated, leading=leading)
    if piece:
        _refuse_laws(layer)
    waiting: list[Need] = [(correlator, piece, (0,) * correlator.axes)]
    equations: list[StepRecursion] = []
    for step in reversed(steps):
        made = [derive_step(*need, inputs, step) for need in waiting]
        equations += made
        waiting = sorted({need for one in made for need in one.needs}, key=need_order)
    return StackRecursion(correlator, piece, layer, tuple(equations))


@lru_cache(maxsize=4096)
def derive_step(
    correlator: Correlator, piece: int, fields: Fields, inputs: str, step: SiteStep
) -> StepRecursion:
    """Derive the recursion of one tensor of the fields that a step makes."""
    refuse_if_too_large(correlator, piece, inputs)
    samples = correlator.labels if inputs == "many" else (0,) * correlator.axes
    diagrams = step_expansion(correlator, piece, fields, step).diagrams
    terms = step_terms(diagrams, samples, step)
    recursion = StepRecursion(correlator, piece, fields, samples, step, terms)
    broken = _asymmetric(recursion)
    if broken:
        raise DerivationError(
            f"The recursion of {recursion.name} breaks a symmetry of its definition. "
            f"The term is {recursion.term_text(broken)}. This is a fault of symdlt; please report "
            "it."
        )
    return recursion


def step_expansion(
    correlator: Correlator, piece: int, fields: Fields, step: SiteStep
) -> WidthExpansion:
    """From the definition of a tensor to its diagrams, for the fields that a step makes."""
    return expand_in_width(contract_step(correlator, fields, step), piece)


def need_order(need: Need) -> tuple[object, ...]:
    """Few axes first, then leading pieces, names and fields."""
    correlator, piece, fields = need
    return correlator.axes, piece, correlator.name, fields


def _refuse_laws(layer: Stack) -> None:
    """Refuse weights with a fourth cumulant where it enters, beyond the leading pieces."""
    laws = {ascii_name(one.tensor.name): one.tensor.law for one in layer.drawn}
    others = [name for name, law in laws.items() if law is not None and not law.is_gaussian]
    if others:
        raise LayerError(
            f"Corrections of relative order 1/n need the fourth cumulants of {', '.join(others)}, "
            f"whose laws are not Gaussian. They were asked of the layer {layer!r}. Ask for leading "
            "pieces, or `propagate` for G.1 and H.1."
        )


def _asymmetric(recursion: StepRecursion) -> StepTerm | None:
    """A term whose image under a symmetry of the tensor's definition is missing, if any."""
    if recursion.single_input:
        return None
    numbers = {term.key: term.coefficient for term in recursion.terms}
    for way in generators(tuple(_same_fields(recursion))):
        rename = {recursion.samples[k]: recursion.samples[axis] for k, axis in enumerate(way)}
        for term in recursion.terms:
            if numbers.get(_renamed(term, rename).key) != term.coefficient:
                return term
    return None


def _same_fields(recursion: StepRecursion) -> Iterator[tuple[int, ...]]:
    """The symmetries that leave the fields of the axes as they are."""
    fields = recursion.fields
    for way in recursion.correlator.symmetries:
        if tuple(fields[axis] for axis in way) == fields:
            yield way


def _renamed(term: StepTerm, rename: dict[int, int]) -> StepTerm:
    """The term with its samples renamed, in canonical order again."""
    means = [
        FieldMean(tuple(sorted(replace(one, sample=rename[one.sample]) for one in mean.slots)))
        for mean in term.means
    ]
    tensors = [
        settled(one.correlator, one.piece, one.fields, tuple(rename[s] for s in one.samples))
        for one in term.tensors
    ]
    ordered = tuple(sorted(tensors, key=lambda one: one.sort_key))
    return replace(term, means=tuple(sorted(means)), tensors=ordered)
