"""Terms of a recursion: a coefficient times brackets, lower tensors and hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symdlt.definitions import DENSE, Correlator, ascii_name
from symdlt.derivation.expansion import Diagram

Factor = tuple[int, int]


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

    @property
    def sort_key(self) -> tuple[int, str, int, tuple[int, ...]]:
        """Few axes first, then by name, piece and samples."""
        return self.correlator.axes, self.correlator.name, self.piece, self.samples


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
class Term:
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Term):
            return NotImplemented
        return self.coefficient == other.coefficient and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.coefficient, self.key))

    def __repr__(self) -> str:
        from symdlt.derivation.text import term_text

        return f"Term({term_text(self)})"
