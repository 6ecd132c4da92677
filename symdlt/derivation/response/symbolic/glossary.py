"""What the symbols in the equations of a layer are, for who meets them for the first time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from symdlt.definitions import NAMED, AnyTensor, Layer, Stack, ascii_name, names_in
from symdlt.definitions.streams import Drawn
from symdlt.derivation import definition_text
from symdlt.derivation.response.symbolic.field_names import NOISE, is_inside

# The letter of a tensor, with Q before it or layers or fields behind; a mean; a noise.
# The scale of a normalised field is told from constants of the layer by its bracket or sample.
_HEAD = re.compile(
    r"(?P<mark><|Y_|sum_)|(?P<letter>Q?[A-Z][H3]?(\.1|\^\w+|\^\([\w',]+\))?|(c|a|k|scale)(\(\w+\))?(\^m)?)_\d"
)

# Heads that are printed in another way.
PRINTED = {"<": "<F>", "Y_": "Y", "sum_": "sum_q"}


# Where edges of a noise stand in text; in LaTeX it is elsewhere.
EDGES = "edges stand behind a semicolon"

# What the linear response is made of.
AVERAGES = (
    (
        "M(F)",
        "the average of `F` over neurons, which are alike and independent given all before. It "
        "fluctuates by the noise of its neurons, and with the law that they share",
    ),
    (
        "Q(z'_1 z'_2)",
        "the covariance of `z'_1` and `z'_2` at one neuron given all before: it is made of such "
        "averages",
    ),
)


def marked(text: str) -> str:
    """A formula between the marks of mathematics."""
    return f"`{text}`"


def plain(text: str) -> str:
    """A text without the marks of its mathematics."""
    return text.replace("`", "")


def head_of(symbol: str) -> str:
    """What is defined of a symbol: the letter of a tensor, < for means, or the symbol itself.

    A constant of a layer that looks like one of these is told apart by `Glossary`.

    >>> [head_of(name) for name in ("QV_1234", "<s_1 s_2>", "C_W", "Y_12[s_3 s_4]", "G^lm_31")]
    ['QV', '<', 'C_W', 'Y_', 'G^lm']
    >>> head_of("V^(h,z)_1+q,2+q,3,4")
    'V^(h,z)'
    """
    match = _HEAD.match(symbol)
    return symbol if match is None else match["letter"] or match["mark"]


@dataclass(frozen=True)
class Glossary:
    """The definitions of all symbols of the equations of a layer.

    Attributes:
        correlator: the tensor.
        layer: the layer.
        inside: of the widths inside the layer what they are.
        covariances: of the fields inside the layer.
        others: of other symbols, by their heads what they are.
        piece: 1 for a correction of order 1/n.
    """

    correlator: AnyTensor
    layer: Layer | Stack
    inside: tuple[tuple[str, str], ...] = ()
    covariances: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    piece: int = 0

    def of(self, symbols: Iterable[str], known: set[str]) -> list[tuple[str, str]]:
        """The definitions of those symbols that are not known, which then are.

        What is mathematics stands between back quotes, which `plain` takes out.
        """
        entries = dict(self._entries())
        every = dict.fromkeys(one if one in entries else head_of(one) for one in symbols)
        heads = [head for head in every if head not in known]
        known.update(heads)
        return [
            (PRINTED.get(head, head), _of_inside(head) if is_inside(head) else entries[head])
            for head in heads
        ]

    @property
    def introduction(self) -> list[str]:
        """What every term needs."""
        one = self.correlator
        labels = "".join(map(str, one.labels or range(one.axes)))
        named, scale = one.name, ", times the width of the layer below" * bool(one.order)
        told = f"{one.name}_{labels} is {definition_text(one)[:-1]}{scale}."
        if self.piece:
            named = f"{one.name}.1"
            told = (
                f"{named}_{labels} is {definition_text(one)[:-1]}, less its limit at infinite "
                "width, times the width of the layer below, to leading order."
            )
        edges = (
            "A tree is a sum over all parameters of derivatives of `z`, one at each vertex, times "
            "their learning rates: an edge is a parameter by which `z` at both its ends is "
            "differentiated."
        )
        return [
            f"{named} of the layer {self.layer}, by the linear response of neuron averages.",
            told,
            "`z` is the preactivation of layer `l` and `z'` that of layer `l+1`; the numbers below "
            f"them are vertices, each with a sample of its own{', at a position' * self._placed}.",
            *[edges] * bool(one.forest.edges),
            *(f"`{symbol}` is {meaning}." for symbol, meaning in AVERAGES),
            "The factor of a step that takes a mean has the derivatives, and lacks the fields, "
            "that later steps take out of it.",
        ]

    @property
    def _placed(self) -> bool:
        return any(one.window for stream in self.layer.streams for one in stream.drawn)

    def _entries(self) -> Iterator[tuple[str, str]]:
        yield "n", "the width of layer `l`, the number of its neurons"
        yield "n'", "the width of layer `l-1`"
        yield from self.inside
        fields = "".join(f"; {one}" for one in self.covariances)
        yield (
            "<",
            "the mean of `F` over Gaussian fields of one neuron, at infinite width; `s'`, `s''`, … "
            f"are the derivatives of `s`{fields}",
        )
        kernel = "`G_12` is the kernel of layer `l`, the covariance of `z_1` and `z_2`"
        yield "G", f"{kernel} at infinite width"
        yield "H", "`H_12` is the NTK of layer `l` at infinite width"
        yield (
            "G.1",
            "of layer `l`, `n'` times the mean of `Q(z_1 z_2)`, less its limit: the correction",
        )
        yield "H.1", "of layer `l`, `n'` times the correction of order `1/n` of the NTK, likewise"
        block = "of layer `l`, `n'` times what fourth cumulants of weights join at one neuron"
        yield "X", f"{block}: the part of these in the cumulant of `z_1 z_2 z_3 z_4`"
        yield "XH", f"{block}, with an edge between the first two vertices"
        for letter, named in (("G", "kernel"), ("H", "NTK")):
            yield f"{letter}^m", f"the {named} of layer `m >= l`"
            yield (
                f"{letter}^lm",
                f"the {named} of `z` of layer `m`, the first index, and of layer `l`",
            )
        for name, one in NAMED.items():
            if one.order:
                yield name, f"of layer `l`, `n'` times {definition_text(one)[:-1]}"
                yield f"Q{name}", f"the part of `{name}` in which both `Q` fluctuate together"
        yield (
            "Y_",
            "`Y_12[F]` is `n'` times the covariance of `Q(z_1 z_2)` of layer `l` with the noise of "
            "`M(F)` at the neurons of layer `l`, of an `F` that layer `m >= l` reads: `s^m` is `s` "
            f"of its `z^m`; {EDGES}",
        )
        yield from self.others
        yield from self._constants()

    def _constants(self) -> Iterator[tuple[str, str]]:
        """The symbols of the layer."""
        for symbol in self.layer.symbols:
            meanings = [
                f"the {words} of {_random(one)}"
                for stream in self.layer.streams
                for one in stream.drawn
                for constant, words in ((one.variance, "variance"), (one.rate, "learning rate"))
                if symbol in names_in(constant)
            ]
            yield ascii_name(symbol), " and ".join(meanings) or "a constant of the layer"


def _of_inside(head: str) -> str:
    """What a tensor of fields inside the layer is."""
    letter, fields = head.removesuffix(")").split("^(")
    first, *others = fields.split(",")
    if letter == NOISE:
        return (
            f"`{head}_12[F]` is `n` times the covariance of `Q({first}_1 {first}_2)` with the "
            "noise of `M(F)` at the neurons of layer `l`, of an `F` that layer `m >= l` reads"
        )
    if not others:
        kind = {"G": "covariance", "H": "NTK"}[letter]
        return f"the {kind} of `{first}` at infinite width"
    return (
        f"`n` times the part of `{letter}` in which both `Q` fluctuate together, of `{first}` in "
        f"place of `z` at its first pair, and of `{others[0]}` at its second"
    )


def _random(one: Drawn) -> str:
    """Biases or weights in words."""
    letter = ascii_name(one.tensor.name)
    if one.function is None:
        return f"the biases {marked(letter)}"
    return f"the weights {marked(letter)}, times the number of neurons that they sum over"
