r"""Sensitivities: a derived recursion differentiates into a derived recursion of the same kind.

What a recursion depends on are the hyperparameters of its layer, tensors of the layer below, and
the kernel in its brackets. A bracket is differentiated by Price's theorem,

$$d\langle F\rangle_K = \sum_{\alpha<\beta} \langle\partial_\alpha\partial_\beta F\rangle_K\,
  dK_{\alpha\beta} + \frac12 \sum_\alpha \langle\partial_\alpha^2 F\rangle_K\, dK_{\alpha\alpha}$$
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from reprlib import repr as short_repr
from typing import Any, TypeAlias

from symdlt.definitions import ascii_name, tensor
from symdlt.derivation.brackets import differentiate
from symdlt.derivation.plain_text import equation_text
from symdlt.derivation.recursion import Recursion
from symdlt.derivation.terms import (
    Bracket,
    Hyperparameters,
    RecursionTerm,
    TensorFactor,
    bracket_text,
    is_single,
    tensor_text,
    term_text,
)
from symdlt.display import ShownAsText
from symdlt.errors import OrderError, UnknownTensorError, require

Samples: TypeAlias = tuple[int, ...]
Differential: TypeAlias = TensorFactor | str | Samples


@dataclass(frozen=True, slots=True)
class SensitivityTerm:
    """A term of a differentiated recursion: a factor times one differential.

    Attributes:
        factor: what the differential is multiplied with.
        differential: a tensor of the layer below, the name of a hyperparameter, or the two
            samples of an overlap of inputs, of which d is taken.
        sources: for each term of the recursion that it comes from its number, and how.
    """

    factor: RecursionTerm
    differential: Differential
    sources: tuple[tuple[int, str], ...]

    @property
    def of(self) -> str:
        """The name of what is varied: a tensor, a hyperparameter, or "x"."""
        if isinstance(self.differential, TensorFactor):
            piece = f".{self.differential.piece}" if self.differential.piece else ""
            return self.differential.correlator.name + piece
        return self.differential if isinstance(self.differential, str) else "x"

    def __str__(self) -> str:
        factor = term_text(self.factor)
        sign = "-" if factor.startswith("-") else ""
        rest = factor.removeprefix("-")
        return sign + " ".join(([] if rest == "1" else [rest]) + [self._varied()])

    def _varied(self) -> str:
        if isinstance(self.differential, str):
            return f"d{self.differential}"
        if isinstance(self.differential, TensorFactor):
            single = is_single(self.factor) and set(self.differential.samples) == {0}
            return f"d{tensor_text(self.differential, single)}"
        if set(self.differential) == {0}:
            return "d(x.x)/n0"
        return "d(x_{}.x_{})/n0".format(*self.differential)


@dataclass(frozen=True, slots=True)
class Sensitivity(ShownAsText):
    r"""How a tensor at layer ℓ+1 changes with what its recursion depends on.

    Attributes:
        recursion: what was differentiated.
        terms: the differential, linear in those of hyperparameters and tensors.
        first_layer: the same at layer 1, linear in those of hyperparameters and overlaps.
    """

    recursion: Recursion
    terms: tuple[SensitivityTerm, ...]
    first_layer: tuple[SensitivityTerm, ...]

    @property
    def varied(self) -> tuple[str, ...]:
        """What it depends on, by name: hyperparameters, the kernel G, other tensors."""
        return tuple(dict.fromkeys(term.of for term in self.terms))

    def to(self, what: str) -> Sensitivity:
        """The part that is due to one hyperparameter or one tensor, all else being held.

        Args:
            what: "C_W" for instance, or a tensor of the layer below; "K" is G.

        Raises:
            UnknownTensorError: if nothing of that name is in the recursion.
        """
        require(what, str, "a name", "Give a hyperparameter or a tensor, such as 'C_W' or 'G'.")
        names = {*self.varied, *(term.of for term in self.first_layer)}
        name = "G" if what == "K" else what
        if name not in names:
            raise UnknownTensorError(
                f"{self.recursion.name} does not change with {short_repr(what)}. Its recursion "
                f"has {' '.join(sorted(names))}. Give one of these."
            )
        parts = [
            tuple(term for term in terms if term.of == name)
            for terms in (self.terms, self.first_layer)
        ]
        return Sensitivity(self.recursion, *parts)

    def explain(self, term: int | None = None) -> str:
        """Where one term comes from, or where all do.

        Args:
            term: its number, from 1 as they are printed.

        Raises:
            OrderError: if there is no such term.
        """
        numbers = range(1, len(self.terms) + 1) if term is None else (term,)
        if type(numbers[0] if numbers else 1) is not int or not set(numbers) <= set(
            range(1, len(self.terms) + 1)
        ):
            raise OrderError(
                f"There is no term {short_repr(term)}. {self!r} has terms 1 to "
                f"{len(self.terms)}. Number them as they are printed."
            )
        return "\n\n".join("\n".join(self._told(number)) for number in numbers)

    def _told(self, number: int) -> Iterator[str]:
        term = self.terms[number - 1]
        yield f"{self._head()}, term {number} of {len(self.terms)}: {term}"
        for place, how in term.sources:
            yield f"  Term {place}, {term_text(self.recursion.terms[place - 1])}: {how}."

    def _head(self) -> str:
        return f"d{self.recursion.head}"

    def __repr__(self) -> str:
        return f"Sensitivity({self.recursion.name}, terms={len(self.terms)})"

    def __str__(self) -> str:
        return equation_text(self._head(), map(str, self.terms))


def sensitivity(recursion: Recursion, to: str | None = None) -> Sensitivity:
    """Differentiate a recursion, term by term.

    Args:
        recursion: in derivative form, what `derive` returns.
        to: one hyperparameter or tensor, if only that is varied; "K" is the kernel G.

    Raises:
        OrderError: for a recursion in z-form, whose inserted z's depend on the kernel as well.
        UnknownTensorError: if nothing of that name is in it.

    >>> from symdlt.derivation import derive
    >>> print(sensitivity(derive("G")))
    dG_12[l+1] =
      + dC_b
      + <s_1 s_2> dC_W
      + 1/2 C_W <s''_1 s_2> dG_11
      + C_W <s'_1 s'_2> dG_12
      + 1/2 C_W <s_1 s''_2> dG_22
    >>> print(sensitivity(derive("H", inputs="one"), to="K"))
    dH[l+1] =
      + lambda_W <s s''> dG
      + lambda_W <s' s'> dG
      + C_W <s' s'''> H dG
      + C_W <s'' s''> H dG
    >>> print(sensitivity(derive("G")).explain(3))
    dG_12[l+1], term 3 of 5: 1/2 C_W <s''_1 s_2> dG_11
      Term 2, C_W <s_1 s_2>: half of the second derivative by z_1 of <s_1 s_2>.
    """
    require(recursion, Recursion, "a recursion", "Give what `derive` returned.")
    if recursion.form != "derivative":
        raise OrderError(
            f"{recursion!r} is not differentiated in that form. Its inserted z's hold the inverse "
            "of the kernel. Derive it with form='derivative', or use `to_derivative_form`."
        )
    terms = tuple(_collected(recursion.terms))
    first = tuple(_collected(recursion.first_layer))
    whole = Sensitivity(recursion, terms, first)
    return whole if to is None else whole.to(to)


def _collected(terms: tuple[RecursionTerm, ...]) -> Iterator[SensitivityTerm]:
    """Like terms added up; those of hyperparameters first."""
    numbers: dict[Any, Fraction] = {}
    shown: dict[Any, tuple[RecursionTerm, Differential]] = {}
    sources: dict[Any, dict[tuple[int, str], None]] = {}
    for place, term in enumerate(terms, 1):
        for factor, differential, how in _varied(term):
            key = factor.key, differential
            numbers[key] = numbers.get(key, Fraction(0)) + factor.coefficient
            shown[key] = factor, differential
            sources.setdefault(key, {})[place, how] = None
    collected = [
        SensitivityTerm(
            replace(factor, coefficient=numbers[key]), differential, tuple(sources[key])
        )
        for key, (factor, differential) in shown.items()
        if numbers[key]
    ]
    yield from sorted(collected, key=_rank)


def _rank(term: SensitivityTerm) -> tuple[Any, ...]:
    differential = term.differential
    if isinstance(differential, str):
        names = [name for name, _ in term.factor.hyperparameters.named]
        return 0, names.index(differential), term.factor.sort_key
    if isinstance(differential, TensorFactor):
        return 1, differential.sort_key, term.factor.sort_key
    return 2, differential, term.factor.sort_key


def _varied(term: RecursionTerm) -> Iterator[tuple[RecursionTerm, Differential, str]]:
    """The product rule: each factor of a term varied in its turn."""
    bare = replace(term, origins=())
    hyper = term.hyperparameters
    for place, (name, power) in enumerate(zip(hyper.symbols, hyper.powers, strict=True)):
        if power:
            lowered = tuple(p - (k == place) for k, p in enumerate(hyper.powers))
            left = Hyperparameters(lowered, hyper.symbols)
            factor = replace(bare, coefficient=power * term.coefficient, hyperparameters=left)
            yield factor, ascii_name(name), f"its {ascii_name(name)}"
    for place, varied in enumerate(term.tensors):
        others = term.tensors[:place] + term.tensors[place + 1 :]
        how = f"its {tensor_text(varied, is_single(term))}"
        yield replace(bare, tensors=others), varied, how
    if term.overlap:
        yield replace(bare, overlap=()), term.overlap, "the overlap of the inputs"
    for place, bracket in enumerate(term.brackets):
        rest = term.brackets[:place] + term.brackets[place + 1 :]
        for image, number, kernel in by_price(bracket):
            factor = replace(
                bare,
                coefficient=number * term.coefficient,
                brackets=tuple(sorted((*rest, image))),
            )
            yield factor, kernel, _price_text(bracket, kernel, is_single(term))


def _price_text(bracket: Bracket, kernel: TensorFactor, single: bool) -> str:
    one, other = ("z" if single else f"z_{sample}" for sample in kernel.samples)
    if kernel.samples[0] == kernel.samples[1]:
        return f"half of the second derivative by {one} of {bracket_text(bracket, single)}"
    return f"the derivative by {one} and {other} of {bracket_text(bracket, single)}"


def by_price(bracket: Bracket) -> Iterator[tuple[Bracket, Fraction, TensorFactor]]:
    """The derivatives of a bracket by the kernel: brackets, their numbers, and the entry varied."""
    metric = tensor("G")
    samples = sorted({sample for sample, _ in bracket.factors})
    for pair in combinations_with_replacement(samples, 2):
        half = Fraction(1, 2) if pair[0] == pair[1] else Fraction(1)
        for factors, count in differentiate(bracket.factors, pair):
            yield Bracket(factors), half * count, TensorFactor(metric, 0, pair)
