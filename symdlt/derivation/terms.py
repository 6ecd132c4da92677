"""Terms of a recursion: a coefficient times brackets, lower tensors and hyperparameters.

Their text is ASCII: s is σ, primes are derivatives, z^ an inserted dual z.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symdlt.definitions import DENSE, Correlator, ascii_name, function_text
from symdlt.derivation.expansion import Diagram
from symdlt.derivation.plain_text import powers_text

if TYPE_CHECKING:
    import sympy as sp

Factor = tuple[int, int]

_DUMMIES = "abcdefghpqrstuvw"  # letters of dummy samples; those of neurons are left out


@dataclass(frozen=True, slots=True, order=True)
class Bracket:
    r"""A Gaussian expectation $\langle \sigma^{(k)}_\delta \cdots z^{\gamma}\cdots\rangle_K$.

    Attributes:
        factors: pairs (sample, k), sorted, one for each $\sigma^{(k)}(z_\delta)$; k is −1
            (`definitions.FIELD`) for $z_\delta$ itself.
        inserted: samples γ of inserted $z^{\gamma} = \sum_\beta K^{\gamma\beta} z_\beta$, with
            $K^{\gamma\beta}$ the inverse of the kernel. Several of them stand for their
            Wick-ordered product: two are $z^{\gamma}z^{\delta} - K^{\gamma\delta}$. A negative
            number is a dummy sample, summed over the data; it stands once more on a tensor.

    >>> Bracket(((0, 0), (0, 1)))
    Bracket(factors=((0, 0), (0, 1)), inserted=())
    """

    factors: tuple[Factor, ...]
    inserted: tuple[int, ...] = ()

    def at(self, samples: Mapping[int, int]) -> Bracket:
        """The bracket with samples renamed, in canonical order again."""
        factors = tuple(sorted((samples.get(s, s), order) for s, order in self.factors))
        dummies_last = sorted((samples.get(s, s) for s in self.inserted), reverse=True)
        return Bracket(factors, tuple(dummies_last))


def reading_order(samples: tuple[int, ...]) -> tuple[tuple[bool, int], ...]:
    """A key that puts dummies before samples, and both as they count: -1, -2, …, 0, 1, ….

    >>> sorted([2, -2, 0, -1], key=lambda sample: reading_order((sample,)))
    [-1, -2, 0, 2]
    """
    return tuple((s >= 0, abs(s)) for s in samples)


def piece_name(correlator: Correlator, piece: int) -> str:
    """The name of a tensor's piece as the command line takes it: "V", "V.1"."""
    return correlator.name + (f".{piece}" if piece else "")


@dataclass(frozen=True, slots=True)
class TensorFactor:
    """A tensor of layer ℓ with its samples in axis order.

    Attributes:
        correlator: which tensor.
        piece: 0 for its leading piece, s for the correction of relative order n^-s.
        samples: one sample for each axis; a negative number is a dummy sample.
    """

    correlator: Correlator
    piece: int
    samples: tuple[int, ...]

    def at(self, samples: Mapping[int, int]) -> TensorFactor:
        """The tensor with samples renamed, on the same axes."""
        renamed = tuple(samples.get(s, s) for s in self.samples)
        return TensorFactor(self.correlator, self.piece, renamed)

    @property
    def name(self) -> str:
        """The name of the tensor's piece, as its recursion is named."""
        return piece_name(self.correlator, self.piece)

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Few axes first, then by name, piece and samples."""
        return (
            self.correlator.axes,
            self.correlator.name,
            self.piece,
            reading_order(self.samples),
        )


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """A product of the symbols of a layer: variances, learning rates, constants.

    Attributes:
        powers: one for each of the symbols.
        symbols: their names, in the order of the layer; those of the dense layer are C_b, C_W,
            λ_b and λ_W.
    """

    powers: tuple[int, ...]
    symbols: tuple[str, ...] = DENSE.symbols

    def __repr__(self) -> str:
        return f"Hyperparameters({', '.join(f'{name}={power}' for name, power in self.named)})"

    @property
    def named(self) -> tuple[tuple[str, int], ...]:
        """The powers by name, Greek letters spelled out."""
        names = map(ascii_name, self.symbols)
        return tuple(zip(names, self.powers, strict=True))


@dataclass(frozen=True, slots=True)
class RecursionTerm:
    r"""One term of a recursion, with the diagrams that it comes from.

    Attributes:
        coefficient: exact rational number.
        hyperparameters: powers of the symbols of layer ℓ+1.
        width_ratio: the power of $n_\ell/n_{\ell-1}$.
        brackets: Gaussian expectations at the kernel of layer ℓ.
        tensors: tensors of layer ℓ.
        overlap: samples (a, b) of the first layer's $(1/n_0)\sum_j x_{j;a}x_{j;b}$, else empty.
        origins: the diagrams that were collected in this term.
    """

    coefficient: Fraction
    hyperparameters: Hyperparameters
    width_ratio: int = 0
    brackets: tuple[Bracket, ...] = ()
    tensors: tuple[TensorFactor, ...] = ()
    overlap: tuple[int, ...] = ()
    origins: tuple[Diagram, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but the coefficient and the origins: what like terms share."""
        return (
            self.hyperparameters,
            self.width_ratio,
            self.brackets,
            self.tensors,
            self.overlap,
        )

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Fresh sources first, then by number of tensors, hyperparameters and brackets."""
        return (
            self.width_ratio,
            len(self.tensors),
            tuple(-power for power in self.hyperparameters.powers),
            tuple(tensor.sort_key for tensor in self.tensors),
            self.brackets,
            self.overlap,
        )

    def to_sympy(self) -> sp.Expr:
        """The term in SymPy; see `Recursion.to_sympy`."""
        import sympy as sp

        from symdlt.symbols import n, n_below, named

        single = is_single(self)
        names = [bracket_text(bracket, single) for bracket in self.brackets]
        names += [tensor_text(factor, single) for factor in self.tensors]
        names += overlap_texts(self, single)
        return sp.Mul(
            sp.Rational(*self.coefficient.as_integer_ratio()),
            (n / n_below) ** self.width_ratio,
            *(named(name) ** power for name, power in self.hyperparameters.named),
            *(sp.Symbol(name, real=True) for name in names),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecursionTerm):
            return NotImplemented
        return self.coefficient == other.coefficient and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.coefficient, self.key))

    def __repr__(self) -> str:
        return f"RecursionTerm({term_text(self)})"


def term_text(term: RecursionTerm) -> str:
    """One term with its coefficient."""
    number = term.coefficient
    parts = [] if abs(number) == 1 else [str(abs(number))]
    parts += powers_text([("(n/n')", term.width_ratio)])
    parts += powers_text(term.hyperparameters.named)
    single = is_single(term)
    parts += powers_text(Counter(bracket_text(b, single) for b in term.brackets).items())
    parts += powers_text(Counter(tensor_text(t, single) for t in term.tensors).items())
    parts += overlap_texts(term, single)
    return ("-" if number < 0 else "") + (" ".join(parts) or "1")


def overlap_texts(term: RecursionTerm, single: bool) -> list[str]:
    """The overlap of the inputs, of a term of the first layer."""
    if not term.overlap:
        return []
    return ["(x.x)/n0" if single else "(x_{}.x_{})/n0".format(*term.overlap)]


def is_single(term: RecursionTerm) -> bool:
    """Whether every sample of the term is the one input 0."""
    labels = {s for b in term.brackets for s, _ in b.factors}
    labels |= {s for t in term.tensors for s in t.samples} | set(term.overlap)
    return labels <= {0}


def bracket_text(bracket: Bracket, single: bool) -> str:
    """The bracket as text, for instance <s'_1 s_2 z^a>."""
    parts = [
        function_text(order) + ("" if single else f"_{sample}") for sample, order in bracket.factors
    ]
    inserted = ["z^" if single else f"z^{sample_text((s,))[1:]}" for s in bracket.inserted]
    if len(inserted) > 1:
        inserted = [f":{' '.join(inserted)}:"]
    return f"<{' '.join(parts + inserted)}>"


def tensor_text(factor: TensorFactor, single: bool) -> str:
    """The tensor with its samples."""
    return factor.name if single else tensor_at(factor.name, factor.samples)


def tensor_at(name: str, samples: tuple[int, ...]) -> str:
    """A name and samples, in brackets where the name itself ends with digits.

    >>> tensor_at("V", (0, 0, 1, 1)), tensor_at("X6_01_24", (1, 2, 3, 4, 5, 10))
    ('V_0011', 'X6_01_24(1,2,3,4,5,10)')
    """
    text = sample_text(samples)
    return f"{name}({text[1:]})" if name.startswith("X") else name + text


def sample_text(samples: tuple[int, ...]) -> str:
    """Subscript of samples; dummies are letters."""
    texts = [_DUMMIES[-1 - s] if s < 0 else str(s) for s in samples]
    return "_" + ("" if all(len(text) == 1 for text in texts) else ",").join(texts)
