"""Recursions: derived from the definition of a tensor, for one input or many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial

from symdlt.errors import DerivationError, OrderError
from symdlt.expansion import Diagram, differentiate, expand_in_width
from symdlt.networks import Correlator, split_subleading, tensor
from symdlt.recursions._evaluation import Key, diagram_terms
from symdlt.recursions._terms import Bracket, Hyperparameters, Term, TensorFactor

FORMS = ("derivative", "z")
MOST_TERMS = 3_000_000


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
    """

    correlator: Correlator
    piece: int
    samples: tuple[int, ...]
    form: str
    terms: tuple[Term, ...]
    first_layer: tuple[Term, ...]

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

    def __str__(self) -> str:
        from symdlt.recursions._printing import recursion_text

        return recursion_text(self)

    def _repr_latex_(self) -> str:
        from symdlt.display import latex_for_display

        return latex_for_display(self)


def piece_name(correlator: Correlator, piece: int) -> str:
    """The name of a tensor's piece as the command line takes it: "V", "V.1"."""
    return correlator.name + (f".{piece}" if piece else "")


def derive(
    what: str | Correlator,
    *,
    inputs: str = "many",
    form: str = "derivative",
    piece: int | None = None,
) -> Recursion:
    r"""Derive the recursion of a tensor from its definition.

    Args:
        what: a name such as "R", "G.1" or "X6_01_24", or a `Correlator`.
        inputs: "many" (a symbolic sample for each axis) or "one".
        form: "derivative" or "z".
        piece: which piece of the tensor, 0 (the default) for the leading one.

    Returns:
        The recursion; its terms know the diagrams they come from.

    Raises:
        UnknownTensorError: for a name that is none.
        OrderError: for a negative piece, or if the result would not fit into memory.
        DerivationError: if one of the checks of the derivation fails.

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
    if form not in FORMS or inputs not in ("one", "many"):
        raise OrderError(
            f"There is no form {form!r} with inputs {inputs!r}. "
            "The forms are 'derivative' and 'z', the inputs 'one' and 'many'. Name one of each."
        )
    if isinstance(what, Correlator):
        correlator, number = what, piece or 0
    else:
        name, written = split_subleading(what)
        correlator, number = tensor(name), written if piece is None else piece
    return _derive(correlator, number, inputs, form)


@lru_cache(maxsize=512)
def _derive(correlator: Correlator, piece: int, inputs: str, form: str) -> Recursion:
    refuse_if_too_large(correlator, piece, inputs)
    samples = correlator.labels if inputs == "many" else (0,) * correlator.axes
    expansion = expand_in_width(correlator, piece)
    terms = collect(expansion.diagrams, samples, form)
    recursion = Recursion(
        correlator, piece, samples, form, terms, _first_layer(correlator, piece, samples)
    )
    if inputs == "many":
        check_symmetries(recursion)
    return recursion


def collect(diagrams: Iterable[Diagram], samples: tuple[int, ...], form: str) -> tuple[Term, ...]:
    """Add up what the diagrams give and keep, for each term, the diagrams it comes from."""
    numbers: dict[Key, Fraction] = {}
    origins: dict[Key, dict[Diagram, None]] = {}
    for diagram in diagrams:
        for key, number in diagram_terms(diagram, samples, form):
            numbers[key] = numbers.get(key, Fraction(0)) + number
            origins.setdefault(key, {})[diagram] = None
    terms = [
        Term(number, *key, origins=tuple(origins[key])) for key, number in numbers.items() if number
    ]
    return tuple(sorted(terms, key=lambda term: term.sort_key))


def replay(diagram: Diagram, term: Term, samples: tuple[int, ...], form: str) -> Fraction:
    """What one diagram contributes to the coefficient of a term."""
    contributions = diagram_terms(diagram, samples, form)
    return sum((number for key, number in contributions if key == term.key), Fraction(0))


def _first_layer(
    correlator: Correlator, piece: int, samples: tuple[int, ...]
) -> tuple[Term, ...]:
    """The diagrams that survive below the network: inputs do not fluctuate, and have no NTK.

    Layer 0 has no parameters and so no trees, and fixed inputs have no cumulants: of a connected
    correlator only one pair with one sum over the inputs, or none, is left.
    """
    if piece or correlator.pairs > 1:
        return ()
    terms = []
    for diagram in expand_in_width(correlator).diagrams:
        if not diagram.contraction.lower_trees and not diagram.cumulants:
            hyper = Hyperparameters(*diagram.contraction.hyperparameters)
            overlap = tuple(sorted(samples)) if diagram.groups else ()
            terms.append(
                Term(diagram.coefficient, hyper, overlap=overlap, origins=(diagram,))
            )
    return tuple(terms)


def check_symmetries(recursion: Recursion) -> None:
    """Require that the recursion has every symmetry of its tensor's definition.

    Raises:
        DerivationError: if one is broken.
    """
    terms = {term.key: term.coefficient for term in recursion.terms}
    samples = recursion.samples
    for symmetry in generators(recursion.correlator.symmetries):
        rename = {samples[k]: samples[axis] for k, axis in enumerate(symmetry)}
        for term in recursion.terms:
            if terms.get(relabelled(term, rename).key) != term.coefficient:
                raise DerivationError(
                    f"The recursion of {recursion.name} breaks the symmetry {symmetry} of its "
                    f"definition. The term is {term!r}. "
                    "This is a fault of symdlt; please report it."
                )


def generators(group: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Members of a permutation group that generate all of it.

    >>> generators(((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)))
    ((0, 2, 1), (1, 0, 2))
    """
    chosen: list[tuple[int, ...]] = []
    reached = {tuple(range(len(group[0])))}
    for member in group:
        if member not in reached:
            chosen.append(member)
            frontier = list(reached)
            while frontier:
                base = frontier.pop()
                for step in chosen:
                    image = tuple(base[k] for k in step)
                    if image not in reached:
                        reached.add(image)
                        frontier.append(image)
    return tuple(chosen)


def relabelled(term: Term, rename: dict[int, int]) -> Term:
    """The term with its samples renamed, in canonical order again."""
    from symdlt.recursions._evaluation import canonical_dummies

    brackets = [
        Bracket(
            tuple(sorted((rename.get(sample, sample), order) for sample, order in b.factors)),
            tuple(sorted((rename.get(s, s) for s in b.inserted), reverse=True)),
        )
        for b in term.brackets
    ]
    tensors = [
        TensorFactor(t.correlator, t.piece, tuple(rename.get(s, s) for s in t.samples))
        for t in term.tensors
    ]
    if any(s < 0 for t in tensors for s in t.samples):
        ordered = canonical_dummies(brackets, tensors)
    else:
        ordered = (tuple(sorted(brackets)), tuple(sorted(map(settled, tensors), key=_tensor_key)))
    overlap = tuple(sorted(rename.get(s, s) for s in term.overlap))
    return Term(
        term.coefficient, term.hyperparameters, term.width_ratio, *ordered, overlap, term.origins
    )


def settled(factor: TensorFactor) -> TensorFactor:
    """The same tensor factor read along its symmetries with the smallest samples."""
    best = min(
        tuple(factor.samples[axis] for axis in way) for way in factor.correlator.symmetries
    )
    return TensorFactor(factor.correlator, factor.piece, best)


def _tensor_key(factor: TensorFactor) -> tuple[int, str, int, tuple[int, ...]]:
    return factor.sort_key


def refuse_if_too_large(correlator: Correlator, piece: int, inputs: str) -> None:
    """Refuse a derivation whose size would exceed the memory at hand, before it starts.

    Raises:
        OrderError: with the estimated number of terms.
    """
    size = correlator.pairs + piece
    estimate = factorial(2 * size) // factorial(size) // 8
    estimate *= 6 ** max(0, size - 2) if inputs == "many" else 1
    estimate *= 3 ** len(correlator.forest.edges)
    if estimate > MOST_TERMS * 1000:
        raise OrderError(
            f"The recursion of {piece_name(correlator, piece)} would have about {estimate:.1e} "
            f"contributions. They do not fit into memory. "
            "Ask for fewer axes, a lower piece, or a single input."
        )


def to_derivative_form(recursion: Recursion) -> Recursion:
    r"""Trade the inserted z's of a recursion for derivatives, by Gaussian integration by parts.

    $$\langle z^{\gamma} F\rangle_K\, X_{\ldots\gamma\ldots}
      = \sum_{\delta}\langle\partial_\delta F\rangle_K\, X_{\ldots\delta\ldots}$$

    >>> z_form = derive("T", form="z")
    >>> to_derivative_form(z_form) == derive("T")
    True
    """
    if recursion.form == "derivative":
        return recursion
    numbers: dict[tuple[object, ...], Term] = {}
    for term in recursion.terms:
        for image in _without_insertions(term):
            old = numbers.get(image.key)
            total = image.coefficient + (old.coefficient if old else 0)
            origins = dict.fromkeys((old.origins if old else ()) + image.origins)
            numbers[image.key] = Term(
                total,
                image.hyperparameters,
                image.width_ratio,
                image.brackets,
                image.tensors,
                image.overlap,
                tuple(origins),
            )
    terms = sorted((t for t in numbers.values() if t.coefficient), key=lambda t: t.sort_key)
    return Recursion(
        recursion.correlator,
        recursion.piece,
        recursion.samples,
        "derivative",
        tuple(terms),
        recursion.first_layer,
    )


def _without_insertions(term: Term) -> list[Term]:
    """Replace the first inserted z of a term by derivatives, until there is none."""
    for position, bracket in enumerate(term.brackets):
        if not bracket.inserted:
            continue
        label, rest = bracket.inserted[0], bracket.inserted[1:]
        images = []
        for sample in sorted({sample for sample, _ in bracket.factors}):
            rename = {label: sample} if label < 0 else {}
            for factors, count in differentiate(bracket.factors, (sample,)):
                brackets = list(term.brackets)
                brackets[position] = Bracket(factors, rest)
                changed = Term(
                    term.coefficient * count,
                    term.hyperparameters,
                    term.width_ratio,
                    tuple(brackets),
                    term.tensors,
                    term.overlap,
                    term.origins,
                )
                images += _without_insertions(_renamed_tensors(changed, rename))
        return images
    return [relabelled(term, {})]


def _renamed_tensors(term: Term, rename: dict[int, int]) -> Term:
    tensors = tuple(
        TensorFactor(t.correlator, t.piece, tuple(rename.get(s, s) for s in t.samples))
        for t in term.tensors
    )
    return Term(
        term.coefficient,
        term.hyperparameters,
        term.width_ratio,
        term.brackets,
        tensors,
        term.overlap,
        term.origins,
    )


def to_z_form(recursion: Recursion) -> Recursion:
    """Trade the derivatives that came from cumulants for inserted z's and inverse kernels.

    Which derivatives these are is known from the provenance of the terms.

    >>> to_z_form(derive("V")) == derive("V", form="z")
    True
    """
    if recursion.form == "z":
        return recursion
    diagrams = dict.fromkeys(d for term in recursion.terms for d in term.origins)
    return Recursion(
        recursion.correlator,
        recursion.piece,
        recursion.samples,
        "z",
        collect(diagrams, recursion.samples, "z"),
        recursion.first_layer,
    )
