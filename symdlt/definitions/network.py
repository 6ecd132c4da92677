"""Networks: an activation, layers with the values of their symbols, and widths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from reprlib import repr as short_repr
from typing import TYPE_CHECKING

from symdlt.activations import Activation, activation
from symdlt.definitions.branches import Branch, ascii_name, names_in
from symdlt.definitions.inner_widths import read_inner
from symdlt.definitions.layers import DENSE, Layer
from symdlt.definitions.numbers import Values, per_layer, whole, whole_widths
from symdlt.definitions.short_form import WIDTH
from symdlt.definitions.stacks import Stack, is_stack
from symdlt.definitions.streams import ABOVE, BELOW, HEADS
from symdlt.definitions.windows import Grid
from symdlt.errors import ActivationError, InputError, LayerError

if TYPE_CHECKING:
    from symdlt.activations.checks import Function
    from symdlt.algebra import Polynomial


@dataclass(frozen=True, repr=False)
class Network:
    r"""A network at initialisation: L layers, one more than hidden widths.

    The first layer reads the input where others read $\sigma(z)$ or z, and has nothing to keep:
    a skip begins at the second. `MLP` is the short way to make a fully-connected one.

    Attributes:
        activation: a name or an expression in z, or a list of functions of arrays, the activation
            and then its derivatives; None, kept as (), if the sampler is given them, or layers name
            all functions that they read.
        widths: the hidden widths n_1, …, n_(L-1).
        values: of each symbol of the layers its number, or one for each layer; symbols that stand
            in learning rates alone may be left out.
        layers: one `Layer` or `Stack`, or its text, for all, or one for each layer.
        inner: for each field that a stack makes on the way to z', by its name, its widths in the
            layers 1, …, L. Unless told, those of z', and in layer L that of the layer below. Fields
            that share their neurons go by the first of them. For scores of attention also the
            number of `heads`.
        n_L: the width of the output.
        n_0: the width of the input, if it is not that of the data.
        positions: how many positions the input has along each axis, if it has any and they are
            not those of the data.

    Raises:
        ActivationError: if the activation cannot be read.
        InputError: for an argument of the wrong kind.
        KernelError: if variances or learning rates are negative or not finite, or not one for
            each layer.
        LayerError: if a symbol of the layers has no value, or a skip joins different widths.

    >>> values = {"xi": 0.5, "C_b": 0, "C_W": 1}
    >>> residual = Network("tanh", [8, 8], values, "z' = xi z + b + W s(z)", n_L=8)
    >>> residual
    Network(z' = xi z + b + W s(z), tanh, 3 layers, widths=(8, 8), C_b=0.0, C_W=1.0, xi=0.5, n_L=8)
    >>> residual["xi"]
    (0.5, 0.5, 0.5)
    """

    activation: Activation | tuple[Function, ...]
    widths: tuple[int, ...]
    values: tuple[tuple[str, Values], ...]
    layers: tuple[Layer | Stack, ...]
    n_L: int
    n_0: int | None
    inner: tuple[tuple[str, tuple[int, ...]], ...]
    positions: Grid

    def __init__(
        self,
        activation: object,
        widths: Iterable[int],
        values: Mapping[str, object],
        layers: Layer | Stack | str | Sequence[Layer | Stack | str] = DENSE,
        *,
        n_L: int = 1,
        n_0: int | None = None,
        inner: Mapping[str, object] | None = None,
        positions: Iterable[int] = (),
    ) -> None:
        def store(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        store("activation", () if activation is None else read_activation(activation))
        store("widths", whole_widths(widths))
        store("n_L", whole("n_L", n_L))
        store("n_0", None if n_0 is None else whole("n_0", n_0))
        store("layers", _read_layers(layers, self.depth))
        store("inner", read_inner(inner or {}, self.layers))
        store("positions", tuple(whole("positions", length) for length in positions))
        store("values", self._read_values(values))
        self._check_skips()

    @property
    def depth(self) -> int:
        """The number of layers L."""
        return len(self.widths) + 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """All widths n_0, …, n_L.

        Raises:
            LayerError: if that of the input is not known.
        """
        if self.n_0 is None:
            raise LayerError(
                f"The width of the input of {self!r} is not known. It is that of the data. "
                "Give n_0, as in network.resized(n_0=3)."
            )
        return (self.n_0, *self.widths, self.n_L)

    @property
    def is_dense(self) -> bool:
        """Whether all layers are `DENSE`, with Gaussian weights."""
        return all(layer == DENSE for layer in self.layers)

    @property
    def missing_rates(self) -> tuple[str, ...]:
        """The symbols in learning rates that have no value."""
        known = dict(self.values)
        drawn = [one for layer in self.layers for stream in layer.streams for one in stream.drawn]
        names = sorted(_names(one.rate for one in drawn))
        return tuple(name for name in names if name not in known)

    def branches(self, number: int) -> tuple[Branch, ...]:
        """The summands of layer 1, …, L; the first layer has nothing to keep.

        Raises:
            LayerError: if the layer is a stack, which is no sum of such branches.
        """
        layer = self.layers[number - 1]
        if isinstance(layer, Stack):
            raise LayerError(
                f"Layer {number} is the stack {layer}. What was asked for reads each layer as a "
                "sum of branches that read z alone. Use `propagate`, which takes every layer."
            )
        branches = layer.branches
        return tuple(branch for branch in branches if number > 1 or not branch.kept)

    def __getitem__(self, symbol: str) -> Values:
        """The values of a symbol at the layers 1, …, L.

        Raises:
            LayerError: if it has none.
        """
        known = dict(self.values)
        if symbol in known:
            return known[symbol]
        raise LayerError(
            f"{short_repr(symbol)} has no value in {self!r}. Its symbols are "
            f"{', '.join(known)}. Give it one."
        )

    @property
    def C_b(self) -> Values:
        """Variances of the biases of dense layers."""
        return self["C_b"]

    @property
    def C_W(self) -> Values:
        """Variances of the weights of dense layers, times the width below."""
        return self["C_W"]

    @property
    def lambda_b(self) -> Values | None:
        """Learning rates of the biases of dense layers, if given."""
        return dict(self.values).get("lambda_b")

    @property
    def lambda_W(self) -> Values | None:
        """Learning rates of the weights of dense layers, times the width below, if given."""
        return dict(self.values).get("lambda_W")

    def keeps(self, number: int) -> bool:
        """Whether the preactivations of layer 1, …, L are at the neurons of those below."""
        layer = self.layers[number - 1]
        if isinstance(layer, Stack):
            return number > 1 and any({BELOW, ABOVE} <= {*site} for site in layer.sites)
        return any(branch.kept for branch in self.branches(number))

    def width_of(self, field: str, layer: int) -> int:
        """How many neurons a field of layer 1, …, L has; z is that of the layer below."""
        hidden = (*self.widths, self.n_L)
        definition = self.layers[layer - 1]
        if isinstance(definition, Stack):
            site = next(site for site in definition.sites if field in site)
        else:
            site = (field,)
        if BELOW in site or ABOVE in site:
            number = layer if ABOVE in site else layer - 1
            return hidden[number - 1] if number else self.sizes[0]
        known = dict(self.inner)
        # How many outputs there are says nothing of the fields on the way to them.
        usual = [*self.widths, *(self.widths or hidden)[-1:]][layer - 1]
        return next((known[name][layer - 1] for name in site if name in known), usual)

    def heads(self, layer: int) -> int:
        """How many heads the values of layer 1, …, L are divided in; 0 if it is not known."""
        return dict(self.inner).get(HEADS, (0,) * self.depth)[layer - 1]

    @property
    def has_scores(self) -> bool:
        """Whether there is attention in any layer."""
        return any(stream.score for layer in self.layers for stream in layer.streams)

    def number(self, constant: Polynomial, layer: int, width: int | None = None) -> float:
        """The number that a constant, such as a variance, has at layer 1, …, L.

        The width that is summed over is that of the layer below, unless told.

        Raises:
            LayerError: if a symbol in it has no value.
        """
        total = 0.0
        for monomial, coefficient in constant.terms:
            above, below = float(coefficient.numerator), float(coefficient.denominator)
            for name, power in monomial:
                if name == WIDTH:
                    known: float = self.sizes[layer - 1] if width is None else width
                else:
                    known = self[ascii_name(name)][layer - 1]
                above, below = above * known ** max(power, 0), below * known ** max(-power, 0)
            total += above / below
        return total

    def resized(
        self,
        *,
        n_0: int | None = None,
        widths: Iterable[int] | None = None,
        n_L: int | None = None,
        inner: Mapping[str, object] | None = None,
        positions: Iterable[int] | None = None,
    ) -> Network:
        """The same network with other widths; those left out are kept."""
        return Network(
            self.activation or None,
            self.widths if widths is None else widths,
            dict(self.values),
            self.layers,
            n_L=self.n_L if n_L is None else n_L,
            n_0=self.n_0 if n_0 is None else n_0,
            inner=dict(self.inner) if inner is None else inner,
            positions=self.positions if positions is None else positions,
        )

    def first_layers(self, *, of_each: int) -> Network:
        """The network that ends where each definition that layers have has stood so many times."""
        seen: Counter[Layer | Stack] = Counter()
        last = 0
        for number, layer in enumerate(self.layers, 1):
            seen[layer] += 1
            last = number if seen[layer] <= of_each else last
        widths = self.sizes[1:]
        return Network(
            self.activation or None,
            widths[: last - 1],
            {name: values[:last] for name, values in self.values},
            self.layers[:last],
            n_L=widths[last - 1],
            n_0=self.n_0,
            inner={name: values[:last] for name, values in self.inner},
            positions=self.positions,
        )

    def _read_values(self, values: Mapping[str, object]) -> tuple[tuple[str, Values], ...]:
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise InputError(
                f"{short_repr(values)} gives no values to the symbols of layers. It was given as "
                "`values`. Give a dict such as {'C_b': 0, 'C_W': 1}."
            )
        names = [ascii_name(name) for layer in self.layers for name in layer.symbols]
        rates, variances, needed = set[str](), set[str](), set[str]()
        for number, layer in enumerate(self.layers, 1):
            drawn = layer.branches if isinstance(layer, Layer) else layer.drawn
            read = self.branches(number) if isinstance(layer, Layer) else drawn
            rates |= _names(one.rate for one in drawn)
            variances |= _names(one.variance for one in drawn)
            constants = (
                [one.coefficient for one in read] if isinstance(layer, Layer) else layer.constants
            )
            needed |= variances | _names(constants)
        given = {ascii_name(name): value for name, value in values.items()}
        given = {name: v for name, v in given.items() if v is not None or name in needed}
        ill = {"missing": needed - {*given}, "of no layer": {*given} - {*names}}
        if faults := [f"{what}: {', '.join(sorted(some))}" for what, some in ill.items() if some]:
            raise LayerError(
                f"The values do not fit the layer {self.layers[-1]} ({'; '.join(faults)}). Its "
                f"symbols are {', '.join(dict.fromkeys(names))}. Give each a number, or one for "
                "each layer; learning rates may be left out."
            )
        positive = variances | rates
        return tuple(
            (name, per_layer(name, given[name], self.depth, name in positive))
            for name in dict.fromkeys(names)
            if name in given
        )

    def _check_skips(self) -> None:
        widths = (*self.widths, self.n_L)
        for number in range(2, self.depth + 1):
            below, width = widths[number - 2 : number]
            if below != width and self.keeps(number):
                raise LayerError(
                    f"Layer {number} keeps {below} neurons, and has {width}. Its definition is "
                    f"{self.layers[number - 1]}. Give both layers the same width, or end with a "
                    'layer that keeps none, as "z\' = b + W s(z)".'
                )

    def __repr__(self) -> str:
        runs = [(layer, len([*alike])) for layer, alike in groupby(self.layers)]
        often = [f" ({count} times)" * (1 < count < self.depth) for _, count in runs]
        each = [f"{layer}{count}" for (layer, _), count in zip(runs, often, strict=True)]
        parts = [] if self.is_dense else [" | ".join(each)]
        if isinstance(self.activation, tuple):
            parts += [f"{len(self.activation)} functions"] if self.activation else []
        else:
            name = self.activation.name
            parts.append(name if len(name) <= 40 else name[:37] + "...")
        parts += [f"{self.depth} layers", f"widths={short_repr(self.widths)}"]
        for symbol, values in self.values:
            shown = values[0] if len(set(values)) == 1 else short_repr(values)
            parts.append(f"{symbol}={shown}")
        return f"{type(self).__name__}({', '.join([*parts, *self._ends()])})"

    def _ends(self) -> list[str]:
        """The widths of input and output, as they are shown."""
        return [f"n_0={self.n_0}"] * (self.n_0 is not None) + [f"n_L={self.n_L}"]


def read_activation(what: object) -> Activation | tuple[Function, ...]:
    """An activation by name, expression, or list of functions.

    Raises:
        ActivationError: if it is none.
    """
    if isinstance(what, list | tuple):
        if what and all(map(callable, what)):
            return tuple(what)
        raise ActivationError(
            f"The activation {short_repr(what)} is no list of functions. "
            "It was given as `activation`. "
            "Give callables, sigma first and then its derivatives in order, as [np.sin, np.cos]."
        )
    if callable(what) and not hasattr(what, "free_symbols"):
        raise ActivationError(
            "The activation is a function without its derivatives. "
            "It was given as `activation`. Give a list, sigma first and then its derivatives in "
            "order, or a name or an expression such as 'tanh(z)', of which they are derived."
        )
    return activation(what)


def _names(constants: Iterable[Polynomial]) -> set[str]:
    """The symbols in constants, but for the width."""
    return {ascii_name(name) for one in constants for name in names_in(one)}


def read_layer_definition(layer: Layer | Stack | str) -> Layer | Stack:
    """A layer by its text: a `Stack` if it has several statements, or reads products of fields."""
    if isinstance(layer, Layer | Stack):
        return layer
    return Stack(layer) if is_stack(layer) else Layer(layer)


def _read_layers(
    layers: Layer | Stack | str | Sequence[Layer | Stack | str], depth: int
) -> tuple[Layer | Stack, ...]:
    if isinstance(layers, Layer | Stack | str):
        return (read_layer_definition(layers),) * depth
    given = tuple(layers) if isinstance(layers, Sequence) else ()
    if len(given) != depth:
        raise LayerError(
            f"{short_repr(layers)} does not define {depth} layers, one more than hidden widths. "
            f"It was given as `layers`. Give one Layer for all, or {depth} of them."
        )
    return tuple(map(read_layer_definition, given))
