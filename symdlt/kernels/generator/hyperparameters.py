"""What a kernel is called with: the symbols of its layer, what each is there, and its names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from symdlt.definitions import Layer, Stack, ascii_name, names_in
from symdlt.definitions.streams import Drawn

# For what a symbol is of random tensors: its name in words, and what a mean of two σ's times the
# only one of its kind is called.
ROLES = {"variance": ("variance", "chi_"), "rate": ("learning rate", "lambda_")}
DEFAULTS = {"rate": " | None = None", "ratio": " = 1.0"}
EACH = ", a number or one for each layer"  # said once, of the first


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """A number, or one for each layer, that a kernel is called with.

    Attributes:
        name: its identifier, that of a symbol of the layer.
        meaning: what it is, for docstrings.
        role: "variance", which is never negative, "rate", which may be left out where no recursion
            contains it, "ratio" of widths, which is one if left out, or "constant".
        example: its value in the example of a kernel's docstring.
        pair: what a mean of two σ's times it is called, before the name of the mean; empty for
            those that do not come with sums over neurons alone.
    """

    name: str
    meaning: str
    role: str
    example: float
    pair: str = ""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.role not in DEFAULTS

    @property
    def default(self) -> str:
        """Its type and what is taken if it is left out, as of an argument."""
        return DEFAULTS.get(self.role, "")


@lru_cache(maxsize=64)
def hyperparameters_of(layer: Layer | Stack) -> tuple[Hyperparameter, ...]:
    """The symbols of a layer as what its kernels are called with.

    >>> [(one.name, one.role, one.pair) for one in hyperparameters_of(Layer("z' = xi W s(z)"))]
    [('C_W', 'variance', 'chi_'), ('lambda_W', 'rate', 'lambda_'), ('xi', 'constant', '')]
    """
    each = [_hyperparameter(layer, symbol) for symbol in layer.symbols]
    texts = [f"{one.meaning}{EACH if number == 0 else ''}." for number, one in enumerate(each)]
    return tuple(replace(one, meaning=text) for one, text in zip(each, texts, strict=True))


def _hyperparameter(layer: Layer | Stack, symbol: str) -> Hyperparameter:
    name = ascii_name(symbol)
    for role, (words, prefix) in ROLES.items():
        if owners := _owners(layer, role, symbol):
            rivals = [other for other in layer.symbols if _of_weights(layer, role, other)]
            pair = prefix if rivals == [symbol] else f"{name}_"
            return Hyperparameter(
                name,
                f"{words} of {_owners_text(layer, owners)}",
                role,
                float(any(one.function is not None for one in owners)),
                pair if symbol in rivals else "",
            )
    return Hyperparameter(name, "constant factor in the layer", "constant", 1.0)


def _drawn(layer: Layer | Stack) -> list[Drawn]:
    return [one for stream in layer.streams for one in stream.drawn]


def _owners(layer: Layer | Stack, role: str, symbol: str) -> list[Drawn]:
    """The random tensors whose variance or learning rate contains a symbol."""
    return [one for one in _drawn(layer) if symbol in names_in(getattr(one, role))]


def _of_weights(layer: Layer | Stack, role: str, symbol: str) -> bool:
    owners = _owners(layer, role, symbol)
    return bool(owners) and all(one.function is not None for one in owners)


def _owners_text(layer: Layer | Stack, owners: list[Drawn]) -> str:
    """Random tensors in words, by their letters where a layer has several of a kind."""
    texts = []
    for summed, words, scale in (
        (False, "biases", ""),
        (True, "weights", " times the width below"),
    ):
        several = sum((one.function is not None) is summed for one in _drawn(layer)) > 1
        own = [one for one in owners if (one.function is not None) is summed]
        letters = [ascii_name(one.tensor.name) for one in own]
        if letters:
            named = f" {' and '.join(letters)}" if several else ""
            texts.append(f"the {words}{named}{scale}")
    return " and of ".join(texts)


def identifier(field: str) -> str:
    """The name of a field in code.

    >>> identifier("z'"), identifier("rmsnorm(z)")
    ('z_above', 'rmsnorm_z')
    """
    named = ascii_name(field).replace("'", "_above").removesuffix(")")
    return named.replace("(", "_")


def table_of(tensor: str) -> str:
    """The name of the table of a tensor in code.

    >>> table_of("V"), table_of("G^lm"), table_of("V^(u,v)"), table_of("Y^(h)_s")
    ('V', 'G_lm', 'V_u_v', 'Y_h_s')
    """
    letter, mark, of = tensor.partition("^")
    if not of.startswith("("):
        return f"{letter}{'_' * bool(mark)}{of}"
    fields, _, rest = of.removeprefix("(").rpartition(")")
    return "_".join([letter, *map(identifier, fields.split(","))]) + rest
