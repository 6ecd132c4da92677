"""Layers: how the preactivations of layer ℓ+1 are made, written in the index language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from symdlt.algebra import (
    Expression,
    Head,
    Index,
    Kind,
    Law,
    Polynomial,
    Species,
    Tensor,
    Term,
    activation,
    biases,
    neurons,
    preactivations,
    sample,
    symbol,
    weights,
)
from symdlt.definitions.branches import FIELD, Branch, Way, ascii_name, names_in
from symdlt.definitions.short_form import WIDTH, read_layer
from symdlt.definitions.stacks import Stack, is_stack
from symdlt.definitions.streams import ABOVE, BELOW, Drawn, Factor, SiteFunction, Stream
from symdlt.errors import LayerError, SymdltError, require


@dataclass(frozen=True, eq=False)
class Layer:
    r"""How a layer is made, as an expression with one free neuron and one free sample.

    $$z^{(\ell+1)}_{i;\delta} = b_i + \sum_j W_{ij}\,\sigma(z^{(\ell)}_{j;\delta})$$

    Each summand is biases, weights times a function of the preactivations of layer ℓ under a
    sum, or such a function kept on its neuron (a skip). What the derivation knows of a layer, it
    reads off here: which tensors are random, with which law, and what multiplies them.

    Args:
        expression: the preactivation; or its short form, such as "z' = xi z + b + W s(z)", in
            which capital letters are weights, a small one without a field is a bias, and other
            names are constants.
        rates: the learning rate of each random tensor by its name; λ_b for biases b and λ_W/n
            for weights W unless told.

    Raises:
        LayerError: if the expression is no layer that a derivation can use, and why.

    >>> print(DENSE)
    z' = b + W s(z)
    >>> Layer("z' = xi z + W s(z)").symbols
    ('C_W', 'λ_W', 'ξ')
    """

    expression: Expression
    rates: Mapping[str, Polynomial] | None = None

    if TYPE_CHECKING:

        def __init__(
            self, expression: Expression | str, rates: Mapping[str, Polynomial] | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        if is_stack(self.expression):
            raise _of_several(self.expression)
        if isinstance(self.expression, str):
            object.__setattr__(self, "expression", read_layer(self.expression))
        if not isinstance(self.expression, Expression):
            raise LayerError(
                f"{self.expression!r} is no layer. It was given as its preactivation. "
                'Write it in the index language, or as text: "z\' = b + W s(z)".'
            )
        object.__setattr__(self, "rates", dict(self.rates or {}))
        self._check_names()
        self.ways  # noqa: B018  (what cannot be averaged is refused where it is written)

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The summands, biases before weights before what stays on its neuron."""
        return tuple(sorted(self._written, key=_rank))

    @cached_property
    def _written(self) -> tuple[Branch, ...]:
        """The summands in the order in which they were written."""
        row = _row(self.expression)
        return tuple(_branch(term, row, self.rates or {}) for term in self.expression.terms)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The constants: of the laws, then the learning rates, then the others."""
        laws = [b.variance for b in self.branches]
        rates = [b.rate for b in self.branches]
        others = [b.coefficient for b in self.branches]
        names = [name for factor in (*laws, *rates, *others) for name in names_in(factor)]
        return tuple(dict.fromkeys(names))

    @cached_property
    def ways(self) -> Mapping[str, Way]:
        """The ways to average two vertices on one neuron, by their code."""
        ways: dict[str, Way] = {}
        for number, branch in enumerate(self.branches):
            if branch.tensor is None:
                continue
            name = ascii_name(branch.tensor.name)
            square = branch.coefficient * branch.coefficient
            both, variance = (number, number), square * branch.variance
            ways[name.upper()] = self._way(name.upper(), "contracted", both, variance)
            ways[name.lower()] = self._way(name.lower(), "edge", both, square * branch.rate)
        names = self._kept_names()
        for first, second in product(names, repeat=2):
            code = names[first] if first == second else f"{names[first]} {names[second]}"
            factor = self.branches[first].coefficient * self.branches[second].coefficient
            ways[code] = self._way(code, "kept", (first, second), factor)
        return ways

    def _kept_names(self) -> dict[int, str]:
        """What stays on its neuron, by the number of its branch: z, or a z where another z does."""
        kept = {k: branch for k, branch in enumerate(self.branches) if branch.kept}
        read = [branch.words[-1] for branch in kept.values()]
        return {
            k: branch.words[-1] if read.count(branch.words[-1]) == 1 else " ".join(branch.words)
            for k, branch in kept.items()
        }

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The layer as its one stream."""
        kept: list[tuple[Polynomial, Factor]] = []
        drawn: list[Drawn] = []
        for branch in self.branches:
            name = None if branch.order == FIELD else "s"
            read = Factor(BELOW, name, max(branch.order, 0))
            if branch.tensor is None:
                kept.append((branch.coefficient, read))
                continue
            reads = branch.function is not None
            function = SiteFunction(((branch.coefficient, (read,)),)) if reads else None
            drawn.append(Drawn(branch.tensor, branch.rate, function, branch.coefficient))
        return (Stream(ABOVE, tuple(kept), tuple(drawn)),)

    @property
    def short_form(self) -> str | None:
        """The text that it is read from, or None if it has laws, rates or neurons of its own."""
        try:
            return str(self) if Layer(str(self)) == self else None
        except LayerError:
            return None

    @property
    def closes(self) -> bool:
        """Whether tensors of layer ℓ+1 follow from those of layer ℓ at every depth.

        With a skip the neuron of a leg can be that of a summed one, in every layer below.
        """
        return not any(branch.kept for branch in self.branches)

    def _way(self, code: str, how: str, branches: tuple[int, int], factor: Polynomial) -> Way:
        parts = self.branches[branches[0]], self.branches[branches[1]]
        summed = parts[0].summed
        if len(factor.terms) > 1:
            raise LayerError(
                f"The factor {factor} of the branch {' '.join(parts[0].words)} has several terms. "
                "Variances, learning rates and constants of a layer are products of symbols. "
                "Give the sum a name of its own."
            )
        monomial, number = factor.terms[0] if factor.terms else ((), 0)
        powers = dict(monomial)
        if powers.pop(WIDTH, 0) != (-1 if summed else 0) and factor.terms:
            raise LayerError(
                f"The branch {' '.join(parts[0].words)} comes with {factor}. "
                "The theory of large widths needs a variance and a learning rate of order 1/n for "
                "weights that are summed over n neurons, and of order 1 for all else. "
                "Scale it so, as in gaussian(symbol('C') / symbol('n_ℓ'))."
            )
        orders = (parts[0].order, parts[1].order)
        exponents = tuple(powers.get(name, 0) for name in self.symbols)
        return Way(code, how, branches, orders, Fraction(number), exponents, summed)

    def _check_names(self) -> None:
        names = [ascii_name(b.tensor.name) for b in self.branches if b.tensor is not None]
        if len({name.lower() for name in names}) < len(names):
            raise LayerError(
                f"The random tensors {', '.join(names)} are not told apart by their letters. "
                f"They stand in {self}. Each is drawn once and used once; give names that differ "
                "by more than their case."
            )
        kept = [*self._kept_names().values()]
        if len(set(kept)) < len(kept):
            raise LayerError(
                f"A summand of the layer {self} stands in it twice. What stays on its neuron is "
                "told apart by its constant. Add the two up."
            )
        functions = {b.function.name for b in self.branches if b.function and b.order != FIELD}
        if len(functions) > 1:
            raise LayerError(
                f"The layer {self} has the activations {', '.join(sorted(functions))}. "
                "A derivation knows one activation in a layer. Use one, and z itself."
            )

    def __eq__(self, other: object) -> bool:
        return self.branches == other.branches if isinstance(other, Layer) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Layer], tuple[Expression, Mapping[str, Polynomial] | None]]:
        # a hash of texts holds in one process only, and is not to be pickled
        return Layer, (self.expression, self.rates)

    @cached_property
    def _hash(self) -> int:
        return hash(self.branches)

    def __str__(self) -> str:
        text = " + ".join(" ".join(branch.words) for branch in self._written)
        return f"z' = {text}".replace("+ -1 ", "- ").replace("+ -", "- ").replace("= -1 ", "= -")

    def __repr__(self) -> str:
        return f"Layer({str(self)!r})"


def function_text(order: int) -> str:
    """A derivative of σ in plain text, or z itself.

    >>> function_text(FIELD), function_text(2), function_text(5)
    ('z', "s''", 's^(5)')
    """
    return "z" if order == FIELD else f"s{primes(order)}"


def primes(order: int, number: str = "^({})") -> str:
    """The mark of a derivative of σ: up to three primes, beyond that its number."""
    return "'" * order if order < 4 else number.format(order)


def _rank(branch: Branch) -> tuple[int, str]:
    """Biases, then weights, then what stays on its neuron; each by name."""
    name = "" if branch.tensor is None else branch.tensor.name
    return (2 if branch.kept else int(branch.summed)), name


def _row(expression: Expression) -> Index:
    """The free neuron of a preactivation."""
    free = [i for i in expression.free_indices if i.species is Species.NEURON]
    if len(free) != 1:
        raise LayerError(
            f"{expression!r} has the free neurons {', '.join(i.name for i in free) or 'none'}. "
            "It was given as the preactivation of a layer, which has one, i. "
            "Sum over all others, as in (W(i, j) * σ(j, δ)).sum(j)."
        )
    samples = [i.name for i in expression.free_indices if i.species is Species.SAMPLE]
    if len(samples) > 1:
        raise LayerError(
            f"{expression!r} reads the samples {', '.join(samples)}. A preactivation "
            "is that of one. Give all of its functions the same sample."
        )
    return free[0]


def _branch(term: Term, row: Index, rates: Mapping[str, Polynomial]) -> Branch:
    """Read one summand of a layer."""
    tensors = [f for f in term.factors if isinstance(f, Tensor)]
    drawn = [f for f in tensors if f.head.kind in (Kind.WEIGHT, Kind.BIAS)]
    functions = [f for f in tensors if f.head.kind in (Kind.ACTIVATION, Kind.PREACTIVATION)]
    if len(drawn) + len(functions) != len(term.factors) or len(drawn) > 1 or len(functions) > 1:
        raise _refused(term, "has other factors than one random tensor and one function of z")
    function = functions[0].head if functions else None
    if function is not None and _reads_other(function):
        raise _refused(term, "reads another field than z. Fields of their own are for symdlt.Stack")
    if not drawn:
        if function is None or term.sums or functions[0].indices[0] != row:
            raise _refused(term, "has no random tensor and does not stay on its neuron")
        return Branch(None, function, term.coefficient, Polynomial.number(0))
    head, places = drawn[0].head, drawn[0].indices
    if head.kind is Kind.BIAS:
        if term.sums or functions or places[0] != row:
            raise _refused(term, "has biases that are not those of its own neuron")
    elif len(term.sums) != 1 or not functions or places != (row, functions[0].indices[0]):
        raise _refused(term, "has weights without a sum over the neuron they read")
    elif functions[0].indices[0] != term.sums[0] or term.sums[0].size != WIDTH:
        raise _refused(term, f"sums over other neurons than the {WIDTH} of layer ℓ")
    if head.name.endswith("]"):
        raise _refused(term, "has weights with a window, which is for symdlt.Stack")
    if head.law is None or not head.law.cumulant(2):
        raise _refused(term, "has a random tensor without a variance")
    scale = symbol(WIDTH) if function is not None else Polynomial.number(1)
    default = symbol(f"λ_{head.name}") / scale
    return Branch(head, function, term.coefficient, rates.get(head.name, default))


def _reads_other(function: Head) -> bool:
    """Whether a function is of another field than z."""
    if function.kind is Kind.PREACTIVATION:
        return function.name != BELOW
    return bool(function.members)


def _refused(term: Term, why: str) -> LayerError:
    return LayerError(
        f"The summand {Expression((term,))!r} of a layer {why}. "
        "A derivation reads summands such as b(i), (W(i, j) * σ(j, δ)).sum(j) and ξ z(i, δ). "
        "Write the layer as a sum of these."
    )


def dense_layer(law: Law | None = None) -> Layer:
    """The fully-connected layer, with weights of a law; Gaussian unless told.

    >>> from symdlt.algebra import uniform
    >>> dense_layer(uniform(symbol("C_W") / symbol(WIDTH))).symbols
    ('C_b', 'C_W', 'λ_b', 'λ_W')
    """
    (i,) = neurons("i", "n_{ℓ+1}")
    (j,) = neurons("j", WIDTH)
    W, b, z = weights("ℓ+1", law=law), biases("ℓ+1"), preactivations("ℓ")
    σ, δ = activation("σ", z), sample("δ")
    return Layer(b(i) + (W(i, j) * σ(j, δ)).sum(j))


DENSE = dense_layer()
# The text of the layer with a skip that networks are given unless told.
RESIDUAL = "z' = xi z + b + W s(z)"


def layer_of_one_stream(layer: Layer | Stack | str) -> Layer:
    """A layer, or its text, whose recursions are derived.

    Raises:
        LayerError: if it has several streams, or cannot be read.
        InputError: if it is no layer.
    """
    if isinstance(layer, Stack):
        raise _of_several(str(layer))
    read = Layer(layer) if isinstance(layer, str) else layer
    require(read, Layer, "a layer", 'Give one such as "z\' = b + W s(z)".')
    return read


def _of_several(text: object) -> LayerError:
    return LayerError(
        f"{text!r} is a layer of several streams, or with functions of several fields{_why(text)}. "
        "A Layer is a sum of branches that read z alone. Give it to symdlt.Stack(…), which "
        "`derive`, `layer_equations`, `Network`, `propagate` and `check` take, and `criticality`, "
        "`exponents` and `recipe` if it is a chain of steps; `layer_phase` and `critical_value`, "
        "which are the command `symdlt fixed-point`, tell where its kernel goes and what makes it "
        "critical."
    )


def _why(text: object) -> str:
    """What makes a stack of a text, if it can be read as one."""
    try:
        stack = Stack(text) if isinstance(text, str) else text
    except SymdltError as reason:
        return f". As a stack it cannot be read either: {reason}".removesuffix(".")
    if not isinstance(stack, Stack):
        return ""
    made = [stream.name for stream in stack.streams[:-1]]
    windows = [one.tensor.name for one in stack.drawn if one.window]
    parts = [f"it makes {', '.join(made)}"] * bool(made)
    parts += [f"{', '.join(windows)} reads several positions"] * bool(windows)
    return f": {' and '.join(parts)}" if parts else ""
