"""Fields of a stack that are written in the index language, and their short form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from symdlt.algebra import Expression, Head, Polynomial, Species, Tensor, Term, symbol
from symdlt.algebra import biases as biases_of
from symdlt.algebra import weights as weights_of
from symdlt.algebra.heads import Kind
from symdlt.definitions.masks import MASKS, PRUNE, Mask
from symdlt.definitions.short_form import WIDTH
from symdlt.definitions.streams import NORMS, Drawn, Factor, SiteFunction, Stream
from symdlt.definitions.windows import Window
from symdlt.errors import LayerError

FUNCTIONS = (Kind.ACTIVATION, Kind.PREACTIVATION)
DRAWN = (Kind.WEIGHT, Kind.BIAS)
UNIT = Polynomial.number(1)
NETWORK = "σ"  # the activation of the network, s in the short form


@dataclass(frozen=True)
class WrittenSummand:
    """One summand of a field: a constant, a random tensor if any, and functions at one neuron."""

    constant: Polynomial
    tensor: Head | None
    factors: tuple[Factor, ...]
    window: str = ""


@dataclass(frozen=True)
class WrittenField:
    """One field, as it was written."""

    name: str
    summands: tuple[WrittenSummand, ...]

    def streams(self, rates: Mapping[str, Polynomial], known: set[str]) -> Iterator[Stream]:
        """The field as a stream, behind the norms and masks that stand inside it."""
        names = [factor.field for one in self.summands for factor in one.factors]
        made = self._special(known)
        if made is not None:
            yield from inside([factor.field for _, factor in made.kept], known)
            yield replace(made, name=self.name)
            return
        yield from inside(names, known)
        yield self.stream(rates)

    def _special(self, known: set[str]) -> Stream | None:
        """The norm or the mask that the field is, if it is one and nothing else."""
        first, *others = self.summands
        if others or first.tensor or first.constant != 1:
            return None
        (factor,) = first.factors
        made = None if factor.function else special(factor.field)
        return made if made and factor.field not in known else None

    def stream(self, rates: Mapping[str, Polynomial]) -> Stream:
        """The field as a stream of its own."""
        kept = tuple((one.constant, one.factors[0]) for one in self.summands if not one.tensor)
        drawn = []
        for (head, window), listed in self._drawn().items():
            function = SiteFunction(tuple((one.constant, one.factors) for one in listed))
            reads = head.kind is Kind.WEIGHT
            default = symbol(f"λ_{head.name}") / (symbol(WIDTH) if reads else 1)
            rate = rates.get(head.name, default)
            coefficient = UNIT if reads else listed[0].constant
            read = Window.read(window) if window else None
            drawn.append(Drawn(head, rate, function if reads else None, coefficient, read))
        return Stream(self.name, kept, tuple(drawn))

    def _drawn(self) -> dict[tuple[Head, str], list[WrittenSummand]]:
        """The summands of each random tensor."""
        summands: dict[tuple[Head, str], list[WrittenSummand]] = {}
        for one in self.summands:
            if one.tensor is not None:
                summands.setdefault((one.tensor, one.window), []).append(one)
        return summands


def special(name: str) -> Stream | None:
    """The stream of a normalised field or of a mask, which has its definition for a name."""
    kind, _, body = name.removesuffix(")").partition("(")
    if kind in NORMS:
        return Stream(name, ((UNIT, Factor(body)),), (), kind)
    if kind in MASKS:
        return Stream(name, (), (), mask=Mask(Fraction(body), kind == PRUNE))
    return None


def inside(names: Iterable[str], known: set[str]) -> Iterator[Stream]:
    """The norms and masks among some fields, each behind what it is made of.

    Raises:
        LayerError: for a mask that stands in two places without a name of its own.
    """
    for name in names:
        made = special(name)
        if made and made.mask and name in known:
            raise LayerError(
                f"The mask {name} stands in two summands of a layer. That is one draw, and in the "
                "short form each place is another. Make it a field of its own, as in "
                "{'m': dropout(Fraction(1, 10), 'ℓ')(j, δ), …}, and read that."
            )
        if made and name not in known:
            known.add(name)
            yield from inside([factor.field for _, factor in made.kept], known)
            yield made


def read_field(name: str, expression: Expression) -> WrittenField:
    """Read the expression of one field.

    Raises:
        LayerError: if it is no sum of fields that are kept, biases, and weights times functions
            of fields at one neuron, and why.
    """
    if not isinstance(name, str) or not isinstance(expression, Expression):
        raise LayerError(
            f"{expression!r} is no field {name!r}. Fields are given by their names, each as an "
            "expression of the index language. Write one such as (U(k, j) * z(j, δ)).sum(j)."
        )
    rows = [i for i in expression.free_indices if i.species is Species.NEURON]
    if len(rows) != 1:
        raise _refused(name, expression, "has not one free neuron")
    if sum(i.species is Species.SAMPLE for i in expression.free_indices) > 1:
        raise _refused(name, expression, "reads several samples")
    return WrittenField(name, tuple(_summand(name, term, rows[0]) for term in expression.terms))


def _summand(name: str, term: Term, row: object) -> WrittenSummand:
    shown = Expression((term,))
    tensors = [one for one in term.factors if isinstance(one, Tensor)]
    drawn = [one for one in tensors if one.head.kind in DRAWN]
    functions = [one for one in tensors if one.head.kind in FUNCTIONS]
    if len(drawn) + len(functions) < len(term.factors) or len(drawn) > 1:
        raise _refused(name, shown, "has other factors than one random tensor and functions")
    neurons = {one.indices[0] for one in functions}
    factors = tuple(sorted(map(_factor, functions), key=str))
    if not drawn:
        if term.sums or neurons != {row} or len(factors) > 1 or factors[0].function:
            raise _refused(name, shown, "keeps what is no field on its neuron")
        return WrittenSummand(term.coefficient, None, factors)
    tensor = drawn[0]
    if tensor.head.kind is Kind.BIAS:
        if term.sums or functions or tensor.indices != (row,):
            raise _refused(name, shown, "has biases that are not those of its own neuron")
        head = biases_of("ℓ+1", name=tensor.head.name, law=tensor.head.law)
        return WrittenSummand(term.coefficient, head, ())
    if len(term.sums) != 1 or neurons != {*term.sums} or tensor.indices != (row, *term.sums):
        raise _refused(name, shown, "has weights without a sum over the one neuron they read")
    window = tensor.head.name.partition("[")[2].removesuffix("]")
    return WrittenSummand(term.coefficient, _scaled(tensor.head), factors, window)


def _factor(tensor: Tensor) -> Factor:
    """A function of a field."""
    head = tensor.head
    if head.kind is Kind.PREACTIVATION:
        return Factor(head.name)
    field = head.members[0].name if head.members else "z"
    return Factor(field, "s" if head.name == NETWORK else head.name, head.order)


def _scaled(head: Head) -> Head:
    """Weights whose law goes by the number of neurons that are summed over."""
    columns = head.slots[1].size
    assert head.law is not None
    law = head.law.substitute({columns: symbol(WIDTH)}) if isinstance(columns, str) else head.law
    return weights_of("ℓ+1", name=head.name.partition("[")[0], law=law)


def _refused(name: str, expression: Expression, why: str) -> LayerError:
    return LayerError(
        f"The field {name} of a layer {why}: {expression!r}. A field is a sum of fields on its "
        "neuron, of biases such as b(i), and of weights times functions of the fields at one "
        "neuron, such as (W(i, k) * σ(k, δ) * v(k, δ)).sum(k). Write it so."
    )
