"""Terms of the recursions of a step: means over fields, tensors with fields, widths.

Their text is that of `layer_equations`: s(u)_1 is the activation at the field u and sample 1, and
V^uuvv_1234 a tensor of several fields. A tensor of the layer below has none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symdlt.definitions import BELOW, MASK, Correlator, primes
from symdlt.derivation.expansion import Diagram
from symdlt.derivation.plain_text import fields_text, powers_text
from symdlt.derivation.terms import (
    Hyperparameters,
    piece_name,
    reading_order,
    tensor_at,
)

if TYPE_CHECKING:
    import sympy as sp

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class FieldSlot:
    """A function of one field at one sample, in a mean.

    Attributes:
        sample: the sample.
        field: the number of the field at its site.
        function: the name of the activation; empty for the field itself, `MASK` for a mask.
        order: which derivative of it.
    """

    sample: int
    field: int
    function: str
    order: int = 0

    @property
    def label(self) -> tuple[int, int]:
        """Its field and sample, which a z that falls on it has."""
        return self.field, self.sample

    @property
    def masks(self) -> bool:
        """Whether it is a factor of a mask."""
        return self.function == MASK


@dataclass(frozen=True, slots=True, order=True)
class FieldMean:
    """A Gaussian mean over one field, of a product of its functions; or that of a mask's factors.

    Attributes:
        slots: the factors, sorted.
    """

    slots: tuple[FieldSlot, ...]

    def text(self, names: Names, single: bool) -> str:
        """The mean as text, for instance <s'(u)_1 s(u)_2>."""
        return f"<{' '.join(slot_text(slot, names, single) for slot in self.slots)}>"


@dataclass(frozen=True, slots=True)
class FieldTensor:
    """A tensor of one site, with a field and a sample on each axis.

    Attributes:
        correlator: which tensor.
        piece: 0 for its leading piece, s for the correction of relative order n^-s.
        fields: the number of the field of each axis; those of a matched pair are equal.
        samples: the sample of each axis.
    """

    correlator: Correlator
    piece: int
    fields: tuple[int, ...]
    samples: tuple[int, ...]

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Few axes first, then by name, piece, fields and samples."""
        return (
            self.correlator.axes,
            self.correlator.name,
            self.piece,
            self.fields,
            reading_order(self.samples),
        )

    @property
    def need(self) -> tuple[Correlator, int, tuple[int, ...]]:
        """What its recursion is of."""
        return self.correlator, self.piece, self.fields

    def text(self, names: Names, single: bool) -> str:
        """The tensor as text, for instance V^uuvv_1234."""
        name = field_tensor_name(self.correlator, self.piece, self.fields, names)
        return name if single else tensor_at(name, self.samples)


@dataclass(frozen=True, slots=True)
class StepTerm:
    r"""One term of the recursion of a step, with the diagrams that it comes from.

    Attributes:
        coefficient: exact rational number.
        hyperparameters: powers of the symbols of the layer.
        width_power: the power of $n_\ell/n_{\ell-1}$ in the first step of a layer, in later ones
            that of $n_\ell$ over the width of the site below.
        means: Gaussian means over one field each.
        tensors: tensors of the site below.
        origins: the diagrams that were collected in this term.
    """

    coefficient: Fraction
    hyperparameters: Hyperparameters
    width_power: int
    means: tuple[FieldMean, ...]
    tensors: tuple[FieldTensor, ...]
    origins: tuple[Diagram, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but the coefficient and the origins: what like terms share."""
        return self.hyperparameters, self.width_power, self.means, self.tensors

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Few tensors with two pairs and more first, then as recursions of a layer are sorted."""
        return (
            sum(tensor.correlator.pairs - 1 + tensor.piece for tensor in self.tensors),
            len(self.tensors),
            tuple(-power for power in self.hyperparameters.powers),
            tuple(tensor.sort_key for tensor in self.tensors),
            self.means,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StepTerm):
            return NotImplemented
        return self.coefficient == other.coefficient and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.coefficient, self.key))

    def to_sympy(self, width_below: str, names: Names, single: bool) -> sp.Expr:
        """The term in SymPy; see `StepRecursion.to_sympy`."""
        import sympy as sp

        from symdlt.symbols import n, n_below, named

        below = n_below if width_below == n_below.name else sp.Symbol(width_below, positive=True)
        inside = [mean.text(names, single) for mean in self.means]
        inside += [tensor.text(names, single) for tensor in self.tensors]
        return sp.Mul(
            sp.Rational(*self.coefficient.as_integer_ratio()),
            (n / below) ** self.width_power,
            *(named(name) ** power for name, power in self.hyperparameters.named),
            *(sp.Symbol(name, real=True) for name in inside),
        )

    def factors(self, ratio: str, names: Names, single: bool) -> tuple[tuple[str, int], ...]:
        """The factors as they are printed, with their powers."""
        means = Counter(mean.text(names, single) for mean in self.means)
        tensors = Counter(tensor.text(names, single) for tensor in self.tensors)
        of_tensors = (
            (f"({name})" if "^" in name and power > 1 else name, power)
            for name, power in tensors.items()
        )
        widths = ((ratio, self.width_power),) if self.width_power else ()
        letters = tuple((name, power) for name, power in self.hyperparameters.named if power)
        return (*widths, *letters, *means.items(), *of_tensors)

    def text(self, ratio: str, names: Names, single: bool) -> str:
        """The term with its coefficient."""
        number = self.coefficient
        parts = [] if abs(number) == 1 else [str(abs(number))]
        parts += powers_text(self.factors(ratio, names, single))
        return ("-" if number < 0 else "") + (" ".join(parts) or "1")


def slot_text(slot: FieldSlot, names: Names, single: bool) -> str:
    """A function of a field at a sample."""
    name, at = names[slot.field], "" if single else f"_{slot.sample}"
    if not slot.function or slot.masks:
        return f"{name}{at}"
    return f"{slot.function}{primes(slot.order)}({name}){at}"


def field_tensor_name(
    correlator: Correlator, piece: int, fields: tuple[int, ...], names: Names
) -> str:
    """The name of a tensor's piece with its fields; where there is z alone it has none.

    >>> from symdlt.definitions import tensor
    >>> field_tensor_name(tensor("V"), 1, (0, 0, 1, 1), ("u", "v"))
    'V.1^uuvv'
    """
    name = piece_name(correlator, piece)
    if names[0] == BELOW:  # z alone, if with masks
        return name
    return f"{name}^{fields_text([names[field] for field in fields])}"
