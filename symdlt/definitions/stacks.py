"""Stacks: layers of several streams, with gates and weights in between, and their short form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, count
from reprlib import repr as short_repr
from typing import TYPE_CHECKING

from symdlt.activations import activation
from symdlt.algebra import (
    ORTHOGONAL,
    Expression,
    Head,
    Law,
    Polynomial,
    biases,
    symbol,
    weights,
)
from symdlt.definitions.branches import ascii_name, names_in
from symdlt.definitions.masks import PRUNE, Mask
from symdlt.definitions.scores import check_scores
from symdlt.definitions.short_form import AROUND, WIDTH, greek
from symdlt.definitions.statements import (
    StatementProduct,
    StatementReader,
    constant_of,
    field_of,
    free_name,
    weights_in,
)
from symdlt.definitions.stream_text import stack_text
from symdlt.definitions.streams import (
    ABOVE,
    BELOW,
    SOFTMAX,
    Drawn,
    Factor,
    SiteFunction,
    Stream,
    earlier_step,
    functions_in,
    sites_of,
)
from symdlt.definitions.windows import Window
from symdlt.definitions.written_fields import read_field
from symdlt.errors import ActivationError, LayerError

_NAME = re.compile(r"[^\W\dA-Z]\w*'?")  # of a field


@dataclass(frozen=True, eq=False)
class Stack:
    r"""A layer that computes several fields, each of which later ones may read.

    $$h_i = b_i + \sum_j U_{ij}\,σ(z_j),\qquad z'_i = ξ z_i + \sum_k W_{ik}\,σ(h_k)$$

    A statement makes one field: a sum of earlier fields on their neuron, of biases, and of weights
    times a function of earlier fields, which is a sum of products. Fields that are multiplied or
    added share their neurons; all others have neurons, and a width, of their own.

    Args:
        text: statements with ``;`` between them; the last one is that of z'. The field of the
            layer below is z, or x. In front of fields capital letters are weights, a small name
            without a field is a bias, other names are constants; s is the activation of the
            network, and others stand by their name. dropout(0.1) and prune(0.1) are masks, q.k the
            scores of attention, and z'[-1] is z' one step before. Or what this is the short form
            of: of each field its expression in the index language, by its name.
        rates: the learning rate of each random tensor by its name; λ_b for biases b, and λ_W over
            the width that is summed over for weights W, unless told.
        laws: what makes the law of weights or biases of their variance, by their names, such as
            `uniform` or `orthogonal`; Gaussian unless told.

    Raises:
        LayerError: if it cannot be read, or is no feed-forward layer, and why.

    >>> glu = Stack("u = U z; v = V z; z' = b + W s(u) v")
    >>> glu.symbols
    ('C_U', 'C_V', 'C_b', 'C_W', 'λ_U', 'λ_V', 'λ_b', 'λ_W')
    >>> [site for site in glu.sites]
    [('z',), ('u', 'v'), ("z'",)]
    """

    text: str
    rates: Mapping[str, Polynomial] | None = None
    laws: Mapping[str, Callable[[Polynomial], Law]] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            text: str | Mapping[str, Expression],
            rates: Mapping[str, Polynomial] | None = None,
            laws: Mapping[str, Callable[[Polynomial], Law]] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", dict(self.rates or {}))
        if isinstance(self.text, Mapping):
            written = [read_field(name, one) for name, one in self.text.items()]
            made: set[str] = set()
            streams = tuple(s for field in written for s in field.streams(self.rates or {}, made))
            object.__setattr__(self, "text", stack_text(streams))
            if streams:
                self.__dict__["streams"] = streams  # as they are written, with laws of their own
        if not isinstance(self.text, str):
            raise LayerError(
                f"{self.text!r} is no stack of streams. It was given as the text of a layer. "
                'Give one such as "h = U s(z); z\' = z + W s(h)".'
            )
        laws = self.laws or {}
        if not isinstance(laws, Mapping) or not all(map(callable, laws.values())):
            raise LayerError(
                f"{short_repr(laws)} gives no laws to the weights of a layer. It was given as "
                "`laws`: functions that make a law of a variance. Import one of "
                "`symdlt.algebra`, as in laws={'W': orthogonal}."
            )
        object.__setattr__(self, "laws", dict(laws))
        self._check()

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The fields in the order in which they are computed; the last is z'."""
        known, streams = {BELOW}, []
        statements = [part for part in self.text.split(";") if part.strip()]
        written = {part.partition("=")[0].strip() for part in statements}
        for statement in statements:
            name, equals, body = statement.partition("=")
            name = name.strip()
            if not equals or not _NAME.fullmatch(name) or name in known:
                raise self._refused(
                    f"has the statement {statement.strip()!r}, which makes no field"
                )
            made, own = self._streams(name, body, known, written)
            streams += [*made, own]
            known |= {stream.name for stream in (*made, own)}
        if not streams or streams[-1].name != ABOVE or ABOVE in {s.name for s in streams[:-1]}:
            raise self._refused("does not end with the statement of z'")
        return tuple(streams)

    def with_streams(self, change: Callable[[Stream], Stream]) -> Stack:
        """The layer with each of its streams changed, and the text that makes those.

        >>> from dataclasses import replace
        >>> Stack("z' = z + b + W s(z)").with_streams(lambda one: replace(one, kept=()))
        Stack("z' = b + W s(z)")
        """
        again = Stack.__new__(Stack)  # what was found out of these streams is not that of others
        streams = tuple(map(change, self.streams))
        for name, own in (
            ("text", stack_text(streams)),
            ("rates", self.rates),
            ("laws", self.laws),
        ):
            object.__setattr__(again, name, own)
        again.__dict__["streams"] = streams
        return again

    @cached_property
    def sites(self) -> tuple[tuple[str, ...], ...]:
        """The fields that share their neurons, in the order of the first of each."""
        return sites_of(self.streams)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The constants: of the laws, then the learning rates, then the others."""
        factors = [each.variance for each in self.drawn] + [each.rate for each in self.drawn]
        names = [name for factor in (*factors, *self.constants) for name in names_in(factor)]
        return tuple(dict.fromkeys(names))

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """All fresh weights and biases."""
        return tuple(each for stream in self.streams for each in stream.drawn)

    @property
    def constants(self) -> tuple[Polynomial, ...]:
        """All coefficients, of what is kept, of the weights, and inside functions."""
        constants = [c for stream in self.streams for c, _ in stream.kept]
        for drawn in self.drawn:
            terms = () if drawn.function is None else drawn.function.terms
            constants += [c for c, _ in terms] or [drawn.coefficient]
        return tuple(constants)

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the activations."""
        return tuple(dict.fromkeys(name for s in self.streams for name in functions_in(s)))

    def _streams(
        self, name: str, body: str, known: set[str], written: set[str]
    ) -> tuple[list[Stream], Stream]:
        """The fields inside a statement, by names that none is written with, and its own."""
        made: list[Stream] = []

        def make(inside: list[list[StatementProduct]], norm: str | None) -> str:
            if (field := field_of(inside)) is None:
                field = free_name(inside, known | written | {stream.name for stream in made})
                made.append(self._stream(field, inside))
            if norm is None:
                return field
            own = f"{norm}({field})"
            if own not in known | {stream.name for stream in made}:
                kept = (Polynomial.number(1), Factor(field))
                made.append(Stream(own, (kept,), (), norm))
            return own

        def mask(kind: str, rate: Fraction) -> str:
            taken = known | {stream.name for stream in made}
            names = (f"{kind}({rate}){mark}" for mark in chain([""], count(2)))
            own = next(each for each in names if each not in taken)
            made.append(Stream(own, (), (), mask=Mask(rate, kind == PRUNE)))
            return own

        def score(query: str, key: str) -> str:
            own = f"{query}.{key}"
            if own not in known | {stream.name for stream in made}:
                made.append(Stream(own, (), (), score=(query, key)))
            return own

        reader = StatementReader(body, known, self._refused, make, mask, score)
        summands = reader.summands()
        alone = made and (made[-1].norm or made[-1].mask or made[-1].score)
        if alone and field_of(summands) == made[-1].name:
            return made[:-1], replace(made[-1], name=name)
        return made, self._stream(name, summands)

    def _stream(self, name: str, summands: list[list[StatementProduct]]) -> Stream:
        kept: list[tuple[Polynomial, Factor]] = []
        drawn: list[Drawn] = []
        for products in summands:
            letters = {word for one in products for word in weights_in(one)}
            if len(letters) > 1:
                raise self._refused(f"multiplies the weights {' and '.join(sorted(letters))}")
            if letters:
                drawn.append(self._weights(letters.pop(), products))
            elif all(one.factors for one in products):
                kept += [self._kept(one) for one in products]
            elif len(products) > 1 or not products[0].names:
                raise self._refused(f"has a summand of {name} that is not random")
            else:
                *names, bias = products[0].names
                head = biases(
                    "ℓ+1", name=greek(bias), law=self._law(bias, symbol(f"C_{greek(bias)}"))
                )
                constant = constant_of(StatementProduct(products[0].number, tuple(names)))
                drawn.append(Drawn(head, self._rate(head, Polynomial.number(1)), None, constant))
        return Stream(name, tuple(kept), tuple(drawn))

    def _kept(self, product: StatementProduct) -> tuple[Polynomial, Factor]:
        factor = product.factors[0]
        if len(product.factors) > 1 or factor.function is not None:
            raise self._refused(
                f"keeps {' '.join(map(str, product.factors))} on its neuron. Only a field itself "
                "can stay there; what reads it may be any function"
            )
        return constant_of(product), factor

    def _weights(self, word: str, products: list[StatementProduct]) -> Drawn:
        name, bracket, window = word.partition("[")
        if not all(one.factors for one in products):
            raise self._refused(f"has the weights {name} without a field that they read")
        variance = symbol(f"C_{greek(name)}") / symbol(WIDTH)
        head = weights("ℓ+1", name=greek(name), law=self._law(name, variance))
        terms = tuple(
            (
                constant_of(replace(one, names=tuple(n for n in one.names if n != word))),
                tuple(sorted(one.factors, key=str)),
            )
            for one in products
        )
        rate = self._rate(head, symbol(WIDTH))
        read = Window.read(window.rstrip("]")) if bracket else None
        return Drawn(head, rate, SiteFunction(terms), window=read)

    def _law(self, name: str, variance: Polynomial) -> Law | None:
        """The law of a random tensor, if one is given."""
        make = (self.laws or {}).get(name)
        law = None if make is None else make(variance)
        if law is not None and law.name == ORTHOGONAL and not name[0].isupper():
            raise self._refused(f"has orthogonal biases {name}. Matrices of weights can be so")
        return law

    def _rate(self, head: Head, width: Polynomial) -> Polynomial:
        assert self.rates is not None
        return self.rates.get(head.name, symbol(f"λ_{head.name}") / width)

    def _check(self) -> None:
        drawn = [ascii_name(each.tensor.name) for each in self.drawn]
        twice = sorted({name for name in drawn if drawn.count(name) > 1})
        if twice:
            raise self._refused(
                f"uses {', '.join(twice)} twice. The theory draws weights and biases afresh for "
                "each place where they stand"
            )
        unknown = sorted({*(self.laws or {})} - {*drawn})
        if unknown:
            raise self._refused(f"has no weights {', '.join(unknown)}, whose law was given")
        self._check_masks()
        for name in self.functions:
            if name not in ("s", SOFTMAX):
                try:
                    activation(name)
                except ActivationError as reason:
                    raise self._refused(f"has the function {name}. {reason}") from reason
        self._check_order()
        check_scores(self.streams, self.sites, self._refused)
        read = {earlier_step(name)[0] for stream in self.streams for name in stream.read}
        idle = [s.name for s in self.streams[:-1] if s.name not in read]
        if idle:
            raise self._refused(f"computes {', '.join(idle)}, which nothing reads")

    def _check_order(self) -> None:
        """Refuse fields that are read before they are made, and names that are none."""
        known = {BELOW}
        made = {stream.name for stream in self.streams}
        for stream in self.streams:
            own = stream.norm or stream.mask or stream.score or _NAME.fullmatch(stream.name)
            if stream.name in known or not own:
                raise self._refused(f"makes {stream.name}, which is no name or made before")
            earlier = {name for name in stream.read if earlier_step(name)[1]}
            if late := sorted(stream.read - earlier - known):
                raise self._refused(f"reads {', '.join(late)} before it is made")
            if never := sorted(n for n in earlier if earlier_step(n)[0] not in made):
                raise self._refused(
                    f"reads {', '.join(never)}, and makes no such field. Earlier steps are read of "
                    "fields that the layer makes, as in W s(z'[-1])"
                )
            known.add(stream.name)
        if self.streams[-1].name != ABOVE:
            raise self._refused("does not end with the statement of z'")

    def _check_masks(self) -> None:
        """Refuse masks that do not multiply a function of fields that weights read."""
        masks = {stream.name for stream in self.streams if stream.mask}
        kept = {factor.field for stream in self.streams for _, factor in stream.kept} & masks
        if kept or self.streams[-1].mask:
            raise self._refused(
                f"adds {', '.join(sorted(kept)) or 'a mask'} to what its neurons hold. What is "
                "added to a field without weights has to be Gaussian; a mask multiplies what "
                "weights read, as in W dropout(0.1) s(z)"
            )
        for read in (each.function for each in self.drawn if each.function and masks):
            for _, factors in read.terms:
                if any(one.field in masks and one.function for one in factors):
                    raise self._refused("has a function of a mask. It is zero or one number")
                if all(one.field in masks for one in factors):
                    raise self._refused("has weights that read a mask alone")

    def _refused(self, why: str) -> LayerError:
        return LayerError(
            f"The layer {self.text[:120]!r} {why}. A layer is a list of statements, each of a "
            'field that earlier ones make. Write one such as "h = U s(z); z\' = z + W s(h)".'
        )

    def __eq__(self, other: object) -> bool:
        return self.streams == other.streams if isinstance(other, Stack) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.streams)

    def __str__(self) -> str:
        return "; ".join(" ".join(part.split()) for part in self.text.split(";") if part.strip())

    def __repr__(self) -> str:
        laws = (self.laws or {}).items()
        named = ", ".join(f"{letter!r}: {getattr(law, '__name__', law)}" for letter, law in laws)
        return f"Stack({str(self)!r}{f', laws={{{named}}}' if named else ''})"


def is_stack(text: object) -> bool:
    """Whether the text of a layer has several statements, or products or functions of its own.

    >>> is_stack("h = U z; z' = W s(h)"), is_stack("; z' = W s(z);")
    (True, False)
    """
    if not isinstance(text, str):
        return False
    text = text.strip(AROUND)
    plain = re.sub(r"\bs'*\(\s*z\s*\)", BELOW, text.partition("=")[2])
    summands = re.split("[+-]", plain)
    return (
        any(len(re.findall(mark, one)) > 1 for mark in (r"\bz\b", r"\b[A-Z]") for one in summands)
        or ";" in text
        or "(" in plain
        or "[" in plain
        or re.search(r"\bx\b", plain) is not None
    )
