"""What a kernel computes, for one input or for many, before it is text in any language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from symdlt.definitions import Layer, Stack, Window
from symdlt.derivation.response.symbolic.closed_systems import AxesOver
from symdlt.kernels.generator.expressions import Cost, Formula, cost, shared_sums, symbols
from symdlt.kernels.generator.gaussian_mean import Mean as Mean
from symdlt.kernels.generator.gaussian_mean import central as central
from symdlt.kernels.generator.hyperparameters import Hyperparameter

METRIC = "G"
Orders = tuple[int, ...]


def variable(name: str) -> str:
    """The identifier of a tensor.

    >>> variable("V"), variable("G.1"), variable("X6_01_24")
    ('V', 'g_1', 'x6_01_24')
    """
    return name if len(name) == 1 else name.lower().replace(".", "_")


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A table of Gaussian means, a tensor, or the overlap, at certain samples.

    Attributes:
        table: the name of the table: "s0_s2", that of the tensor, or "overlap".
        samples: the sample on each axis, as the recursion labels them; none for one input.
        orders: of a table of means, the derivative order on each axis, ascending.
        field: of a table of means, the field of a layer of several that is averaged over.
        groups: of a central moment the groups of orders, as of `Mean`.
        later: how many of its last axes, or of its first for z, are of a later layer; its table
            then has one for each of these.
        scale: whether it is what a field is multiplied with where it is normalised.
        kept: of a mean of factors of a mask, each sample with a draw of its own, the part of the
            neurons that is not dropped, else zero.

    >>> Entry("G.1", (1, 2)).name, Entry("s0_s2", (2, 1), (0, 2)).name, Entry("V", ()).name
    ('g_1_12', 's0_s2_21', 'V')
    """

    table: str
    samples: tuple[int, ...]
    orders: tuple[int, ...] = ()
    field: str = ""
    groups: tuple[tuple[int, ...], ...] = ()
    later: int = 0
    scale: bool = False
    kept: Fraction = Fraction(0)

    @property
    def home(self) -> str:
        """The argument of a function that has its table: means of the layer, or tensors below."""
        return "means" if self.orders or self.scale else "below"

    @property
    def mean(self) -> Mean:
        """What a table of means has."""
        return Mean(self.orders, 0, self.groups)

    @property
    def name(self) -> str:
        """The entry as an identifier."""
        base = variable(self.table) if self.home == "below" else self.table
        labels = "".join(map(str, self.samples))
        return f"{base}_{labels}" if labels else base


@dataclass(frozen=True, slots=True)
class SharedFactor:
    """An intermediate that several recursions use: a hyperparameter, if any, times a mean.

    Attributes:
        name: its identifier.
        hyperparameter: its name, or "" for the bare mean.
        mean: the mean.
    """

    name: str
    hyperparameter: str
    mean: Mean

    @property
    def text(self) -> str:
        """The factor as it stands in equations."""
        return f"{self.hyperparameter} {self.mean.text}".strip()


@dataclass(frozen=True, slots=True)
class TensorFunction:
    """The recursion of one tensor, X[l+1] = gain X[l] + value.

    For many inputs, and for the kernel K, the gain is zero and all stands in the value.

    Attributes:
        tensor: its name.
        samples: the label of the sample on each axis; none for one input.
        equation: the recursion, term by term, as text.
        entries: the means and the tensors of the layer below that it reads.
        gain: what multiplies the tensor itself.
        value: all the rest.
        first: its value at layer 1.
        symmetries: the permutations of its axes that leave it unchanged.
    """

    tensor: str
    samples: tuple[int, ...]
    equation: tuple[str, ...]
    entries: tuple[Entry, ...]
    gain: Formula
    value: Formula
    first: Formula
    symmetries: tuple[tuple[int, ...], ...] = ()

    @property
    def variable(self) -> str:
        """The identifier of the tensor."""
        return variable(self.tensor)

    @property
    def reads(self) -> frozenset[str]:
        """The names in the recursion."""
        return symbols(self.gain) | symbols(self.value)

    @property
    def means(self) -> tuple[tuple[int, ...], ...]:
        """The derivative orders of the tables of means that it reads, few factors first."""
        return tuple(sorted({e.orders for e in self.entries if e.orders}, key=by_size))

    @property
    def field_means(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The same of this layer, with the fields that are averaged over, field by field.

        A scale is of a field without functions of it.
        """
        read = [e for e in self.entries if e.home == "means" and not e.later]
        means = {(e.field, e.orders) for e in read}
        return tuple(sorted(means, key=lambda mean: (mean[0], *by_size(mean[1]))))

    @property
    def later_means(self) -> tuple[tuple[Orders, Orders], ...]:
        """The orders of means over z of this layer, if any, and of a later one."""
        parts = {
            (e.orders[: -e.later], e.orders[-e.later :])
            for e in self.entries
            if e.orders and e.later
        }
        return tuple(sorted(parts))

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors of the layer below that it reads."""
        below = [e for e in self.entries if e.home == "below" and not e.kept]
        return tuple(sorted({e.table for e in below}))

    @property
    def local(self) -> bool:
        """Whether it is a symmetric matrix that reads those at the same pair of samples alone."""
        same = all(e.samples == self.samples and len({*e.orders}) < 2 for e in self.entries)
        return same and len(self.samples) == len(self.symmetries) == 2

    @property
    def cost(self) -> Cost:
        """Operations a layer, the step of the recursion itself included."""
        parts, whole = shared_sums([self.gain, self.value])
        return sum(map(cost, (*(part.value for part in parts), *whole)), Cost(1, 1))


def by_size(orders: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Few factors first."""
    return len(orders), orders


@dataclass(frozen=True, slots=True)
class FieldFunction:
    """A field of a layer of several, and the functions of it that means are taken of.

    Attributes:
        name: its identifier.
        covariance: how its covariance follows; none for that of the layer below.
        functions: the names of the activations, s for that which is given.
        scale: the name of what it is multiplied with where it is normalised, if it is.
        printed: its name in equations, and that of its scale there.
    """

    name: str
    covariance: TensorFunction | None
    functions: tuple[str, ...]
    scale: str = ""
    printed: tuple[str, str] = ("", "")

    @property
    def key(self) -> str:
        """What its functions are known by together."""
        return " ".join(self.functions)


@dataclass(frozen=True, slots=True)
class DepthFunctions:
    """What a skip adds: covariances that have a depth on each of two pairs of axes.

    Attributes:
        kept: the covariance, and the NTK, of z of the layer with z of an earlier one.
        states: the covariances of two conditional covariances, and those with noise.
        observed: the states of the layer itself that tensors read, which all layers have.
        field: that means over several depths are taken of.
        scale: the name of what z is multiplied with where later layers normalise it, if they do.
    """

    kept: tuple[TensorFunction, ...]
    states: tuple[TensorFunction, ...]
    observed: frozenset[str]
    field: str = "z"
    scale: str = ""

    def needed_by(self, one: TensorFunction) -> tuple[TensorFunction, ...]:
        """The states that a tensor is made of."""
        named = {state.tensor: state for state in self.states}
        wanted, reached = {*one.tensors} & {*named}, set[str]()
        while wanted:
            reached |= wanted
            wanted = {n for name in wanted for n in named[name].tensors if n in named} - reached
        return tuple(state for state in self.states if state.tensor in reached)


class PositionPart(NamedTuple):
    """A part of a tensor, of which means over positions are taken.

    Attributes:
        name: of what it is, in code.
        function: what it has under these means.
        over: the axes that go over the positions of a window together, by its number.
    """

    name: str
    function: TensorFunction
    over: tuple[AxesOver, ...]


@dataclass(frozen=True, slots=True)
class PositionMeans:
    """What the windows of a layer add.

    Attributes:
        windows: what weights read, each once.
        overlaps: of the overlaps that layer 1 reads the number of the window, None without one.
        layer: of each tensor the parts that it is the sum of.
        readout: the same of a readout of all positions.
        meaning: what the sums in equations are, in words.
        inside: the tensors of fields inside the layer, in the order of computation.
    """

    windows: tuple[Window, ...]
    overlaps: tuple[int | None, ...]
    layer: Mapping[str, tuple[PositionPart, ...]]
    readout: Mapping[str, tuple[PositionPart, ...]]
    meaning: str
    inside: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[PositionPart, ...]:
        """All parts, each once."""
        every = [part for of in (self.layer, self.readout) for some in of.values() for part in some]
        return tuple({part.name: part for part in every}.values())

    def readout_of(self, tensor: str) -> tuple[PositionPart, ...]:
        """The parts of a tensor of a readout, none if they are those of the layer."""
        own = self.readout.get(tensor, ())
        return () if own == self.layer.get(tensor) else own


@dataclass(frozen=True, slots=True)
class KernelModule:
    """Everything a kernel computes.

    Attributes:
        inputs: "one" or "many".
        functions: one for each tensor, the kernel K first, then in dependency order.
        means: what is integrated, each once: for many inputs these are tables.
        factors: for one input, the intermediates made of them.
        layer: how its layers are made.
        parameters: their hyperparameters.
        hyperparameters: the names of those that occur.
        fields: of a layer of several streams those that means are taken of, in their order.
        several: whether it is one of several streams, or of equations like theirs.
        stride: there how far apart several functions of one field are numbered.
        depths: with a skip what its tensors are made of.
        positions: with a window the means over positions.
    """

    inputs: str
    functions: tuple[TensorFunction, ...]
    means: tuple[Mean, ...]
    factors: tuple[SharedFactor, ...]
    layer: Layer | Stack
    parameters: tuple[Hyperparameter, ...]
    hyperparameters: tuple[str, ...]
    fields: tuple[FieldFunction, ...] = ()
    several: bool = False
    stride: int = 0
    depths: DepthFunctions | None = None
    positions: PositionMeans | None = None

    def __repr__(self) -> str:
        factors = f", {len(self.factors)} factors" if self.factors else ""
        return f"KernelModule({len(self.functions)} tensors, {len(self.means)} means{factors})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all hyperparameters of its layers."""
        return tuple(one.name for one in self.parameters)

    @property
    def keys(self) -> tuple[str, ...]:
        """The functions of fields, those of one field together."""
        return tuple(dict.fromkeys(field.key for field in self.fields if field.functions))

    @property
    def function_names(self) -> tuple[str, ...]:
        """The names of all functions."""
        names = dict.fromkeys(name for field in self.fields for name in field.functions)
        return tuple(names) or ("s",)

    def means_by(self, key: str) -> dict[str, list[tuple[int, ...]]]:
        """Of each tensor, and each field by its name, the orders of the means of functions."""
        over = {field.name for field in self.fields if field.key == key} or {""}
        listed = {one.tensor: one for one in self.functions}
        listed |= {f.name: f.covariance for f in self.fields if f.covariance is not None}
        means = {
            name: [orders for field, orders in one.field_means if field in over and orders]
            for name, one in listed.items()
        }
        depth = self.depths is not None and self.depths.field in over
        for one in self.sums:
            states = self.depths.needed_by(one) if self.depths is not None else ()
            read = {mean for state in states for mean in state.field_means if mean[0] in over}
            later = {(*here, *there) for s in states for here, there in s.later_means if depth}
            means[one.tensor] += sorted({orders for _, orders in read} | later)
        return means

    def has_odd_means(self, key: str) -> bool:
        """Whether means of an odd number of factors are taken of functions."""
        return any(len(o) % 2 for means in self.means_by(key).values() for o in means)

    def plain(self, orders: tuple[int, ...]) -> tuple[int, ...]:
        """The derivative orders of a mean, whichever function each is of."""
        return tuple(sorted(o % self.stride if self.stride else o for o in orders))

    @property
    def has_masks(self) -> bool:
        """Whether it reads masks of which each sample has a draw of its own."""
        states = () if self.depths is None else self.depths.states
        inside = [field.covariance for field in self.fields if field.covariance is not None]
        every = (*self.functions, *inside, *states)
        return any(entry.kept for one in every for entry in one.entries)

    @property
    def has_pieces(self) -> bool:
        """Whether it computes corrections of order 1/n."""
        return any("." in one.tensor for one in self.functions)

    @property
    def sums(self) -> tuple[TensorFunction, ...]:
        """The tensors that are sums of states of their own layer."""
        if self.depths is None:
            return ()
        return tuple(one for one in self.functions if self.depths.needed_by(one))

    @property
    def metric(self) -> TensorFunction:
        """The recursion of the kernel K itself, which is not linear."""
        return next(one for one in self.functions if one.tensor == METRIC)

    @property
    def derivatives(self) -> int:
        """How many derivatives of σ are needed."""
        return max((order for mean in self.means for order in self.plain(mean.orders)), default=0)
