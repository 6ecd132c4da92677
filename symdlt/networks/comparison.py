"""Theory against real networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation
from symdlt.definitions import BOOK, Network, canonical_name, program_of
from symdlt.display import ShownAsText
from symdlt.equality import EqualByFields
from symdlt.errors import InfiniteMeanError, KernelError, require
from symdlt.networks.evaluation import finite_tensors, propagate
from symdlt.networks.joined_functions import joined_program, named_activation
from symdlt.networks.layer_means import derivatives_of, functions_of, is_infinite
from symdlt.networks.numbers import real_numbers
from symdlt.networks.propagation import Propagation, look_up
from symdlt.networks.requests import TENSORS, asked_tensors, check_data, check_network, named
from symdlt.networks.sampled_networks import check_sampled, sampled_network
from symdlt.networks.streams import (
    at_leading_order,
    compared_tolerance,
    known_tensors,
)
from symdlt.tables import Tabular, text_table

if TYPE_CHECKING:
    from symdlt.sampling import Measurement, TensorName

Array = NDArray[np.float64]

# Groups of the jackknife: its error is known to 1/sqrt(2 * 100), or seven percent.
GROUPS = 100
# Convention: among a million entries, Gaussian noise exceeds five standard errors in half of all
# comparisons, among ten thousand in half a percent.
AGREEMENT = 5.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(ShownAsText, Tabular, EqualByFields):
    """Tensors of the output layer: of the theory, measured, and with which standard error.

    Attributes:
        mlp: the network.
        theory: an array for each tensor, with one axis of samples for each subscript.
        measured: the same from sampled networks.
        errors: standard errors of what was measured.
        networks: how many networks there were of each size.
        extrapolated: whether networks twice as wide took away the correction of order 1/n.
        left_out: tensors of "all" that cannot be had, or not be measured because of kinks.
        norms: of each tensor the size of what cancels in it, a product of the largest G and H.
    """

    mlp: Network
    theory: Mapping[str, Array]
    measured: Mapping[str, Array]
    errors: Mapping[str, Array]
    networks: int
    extrapolated: bool
    left_out: tuple[str, ...] = ()
    norms: Mapping[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The tensors that are compared."""
        return tuple(self.theory)

    @property
    def agrees(self) -> bool:
        """Whether no entry of any tensor is more than five standard errors off."""
        return all(np.abs(self.z_scores(name)).max() <= AGREEMENT for name in self.names)

    def z_scores(self, name: str) -> Array:
        """How many standard errors theory and measurement are apart, for every entry.

        The error of the theory counts as well: 1e-7 of the largest entry, and of the norm; with
        softmax 1e-4. Where theory is exactly zero, rounding of what was measured is not taken for
        a deviation.
        """
        from symdlt.sampling import Measurement

        theory, name = look_up(self.theory, name), canonical_name(name)
        floor = compared_tolerance(self.mlp) * (np.abs(theory).max() + self.norms.get(name, 0.0))
        measured = Measurement(
            self.measured[name], np.hypot(self.errors[name], floor), self.networks
        )
        scores: Array = measured.z_scores(theory)
        return scores

    def columns(self) -> dict[str, list[Any]]:
        """One row for each entry of each tensor; `to_pandas` makes a DataFrame of them."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("tensor", "samples", "theory", "measured", "error", "z")
        }
        for name in self.names:
            scores = self.z_scores(name)
            for entry in np.ndindex(scores.shape):
                sources = (self.theory[name], self.measured[name], self.errors[name], scores)
                numbers = [float(source[entry]) for source in sources]
                for column, value in zip(columns.values(), [name, entry, *numbers], strict=True):
                    column.append(value)
        return columns

    def table(self) -> str:
        """One line a tensor, with the entry that deviates most, and what to make of it."""
        rows: list[tuple[str, ...]] = [
            ("tensor", "samples", "theory", "measured", "error", "z", "rms z")
        ]
        for name in self.names:
            scores = self.z_scores(name)
            worst = np.unravel_index(int(np.argmax(np.abs(scores))), scores.shape)
            numbers = [source[name][worst] for source in (self.theory, self.measured)]
            rows.append(
                (
                    name,
                    ",".join(map(str, worst)),
                    *(f"{number:.5g}" for number in numbers),
                    f"{self.errors[name][worst]:.2g}",
                    f"{scores[worst]:+.2f}",
                    f"{np.sqrt(np.mean(scores**2)):.2f}",
                )
            )
        return "\n".join([*text_table(rows, left=2), "", *self._remarks()])

    def _remarks(self) -> list[str]:
        widths = " ".join(map(str, self.mlp.widths)) or "none"
        wide = " and as many twice as wide" if self.extrapolated else ""
        least = min(self.mlp.widths, default=0)
        remarks = [
            f"Layer {self.mlp.depth}, hidden widths {widths}; {self.networks} networks{wide}.",
            "Of each tensor the entry that deviates most; z is the deviation in standard errors.",
        ]
        if self.left_out:
            remarks.append(f"Not compared, since not known or not seen: {' '.join(self.left_out)}.")
        if least and self.extrapolated:
            remarks.append(
                "Both sizes are extrapolated to the leading order: of relative order 1/n² = "
                f"{1 / least**2:.1g} a deviation remains."
            )
        elif least:
            next_order = "" if at_leading_order(self.mlp) else ", for G and H of next order"
            remarks.append(
                f"The theory is that of leading order{next_order}: deviations of "
                f"relative order 1/n = {1 / least:.1g} are to be expected."
            )
        return remarks

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"Comparison({self.networks} networks, tensors={' '.join(self.names)})"


def check(
    mlp: Network,
    x: ArrayLike,
    tensors: str | Iterable[str] = "all",
    *,
    networks: int = 2000,
    error: float | None = None,
    extrapolate: bool = True,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Sample real networks and compare their tensors of the output layer with the theory.

    The theory is an expansion in 1/n. With `extrapolate`, networks twice as wide are sampled as
    well and the correction of relative order 1/n is taken away, and from the same numbers G.1 and
    H.1 are estimated. Without it, G and H are compared with their values at finite width and the
    other tensors with the leading order.

    Args:
        mlp: the network; more outputs n_L give less noise.
        x: data of shape (N, n_0), one row for each sample.
        tensors: "all", or names.
        networks: how many are sampled of each size, rounded up to hundreds.
        error: sampling stops before that, once the standard errors of each tensor are at most this
            fraction of its largest entry; for instance 0.1.
        extrapolate: whether to sample networks twice as wide.
        seed: of all randomness; the same seed gives the same numbers.
        progress: True or False, or None to show it on a terminal only.

    Raises:
        KernelError: for one layer that makes fields on the way to its outputs.
        SymdltError: for what `propagate` and `symdlt.sampling.measure` refuse.

    >>> from symdlt import MLP
    >>> mlp = MLP(activation="sin", widths=[8], C_b=0.1, C_W=1.0, n_L=4)
    >>> comparison = check(mlp, [[1.0, 0.5, -0.5]], ["V"], networks=1000)
    >>> comparison
    Comparison(1000 networks, tensors=V)
    >>> comparison.agrees
    True
    """
    check_network(mlp)
    require(extrapolate, bool, "a choice", "Give True or False.")
    rng = np.random.default_rng(_natural("seed", seed, 0))
    count = -(-_natural("networks", networks, 1) // GROUPS) * GROUPS
    data = check_data(x, not mlp.is_dense)
    asked = asked_tensors(tensors)
    check_sampled(mlp)
    sized = mlp.resized(n_0=data.shape[1], positions=data.shape[2:])
    names, left_out = _compared(sized, asked)
    doubled = extrapolate and mlp.depth > 1
    if not doubled:
        names = tuple(dict.fromkeys(map(_base, names)))
    try:
        theory, norms = _theory(mlp, data, names, doubled, progress)
    except InfiniteMeanError:
        if asked != TENSORS:
            raise
        names = finite_tensors(sized, data, names, compared_tolerance(mlp))
        left_out = tuple(name for name in asked if name not in names)
        theory, norms = _theory(mlp, data, names, doubled, progress)
    weights = {name: _weights(name, mlp) if doubled else (1.0,) for name in names}
    goals = None if error is None else _goals(_fraction(error), theory, norms, weights)
    measured = _measured(mlp, data, weights, count, rng, goals, progress)
    values, errors = {}, {}
    for name in names:
        parts = [bases[_base(name)] for bases in measured]
        values[name] = np.tensordot(weights[name], [part.values for part in parts], 1)
        squares = [part.standard_errors**2 for part in parts]
        errors[name] = np.sqrt(np.tensordot(np.square(weights[name]), squares, 1))
    sampled = next(iter(measured[0].values())).count
    return Comparison(mlp, theory, values, errors, sampled, doubled, left_out, norms)


def _compared(mlp: Network, asked: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tensors that can be compared, and those of "all" that are left out."""
    known = known_tensors(mlp, asked) if asked == TENSORS else asked
    names = tuple(name for name in known if _measurable(mlp, name))
    left_out = tuple(name for name in asked if name not in names)
    if left_out and asked != TENSORS:
        raise KernelError(
            f"{' '.join(left_out)} cannot be measured for {mlp.activation!r}. Their networks have "
            "delta functions, which derivatives at single points do not show. Ask for other "
            "tensors, or compare with smoothed networks."
        )
    return names, left_out


def _measured(
    mlp: Network,
    data: Array,
    weights: Mapping[str, tuple[float, ...]],
    count: int,
    rng: np.random.Generator,
    goals: list[dict[str, float]] | None,
    progress: bool | None,
) -> list[dict[TensorName, Measurement]]:
    """The tensors of networks of each size, the smaller one first.

    With goals the wider networks, whose tensors are noisier, are sampled first, and decide how
    many are enough.
    """
    from symdlt.sampling import measure

    bases = tuple(dict.fromkeys(map(_base, weights)))
    sizes = range(1, max(map(len, weights.values())) + 1)
    program = program_of(mlp.resized(n_0=data.shape[1], positions=data.shape[2:]), False)
    order = derivatives_of([*weights]) + max((k for *_, k in program.factors), default=0)
    names, each = program.names or ("s",), count // GROUPS
    given = {name: functions_of(named_activation(mlp, name), order) for name in names}
    measured: list[dict[TensorName, Measurement]] = []
    for size in sizes if goals is None else reversed(sizes):
        measurement = measure(
            sampled_network(mlp, size),
            given,
            data,
            bases,
            count,
            rng,
            groups=count // each,
            errors=None if goals is None or measured else goals[size - 1],
            progress=progress,
        )
        measured.append(measurement)
        count = next(iter(measurement.values())).count
    return measured if goals is None else measured[::-1]


def _goals(
    error: float,
    theory: Mapping[str, Array],
    norms: Mapping[str, float],
    weights: Mapping[str, tuple[float, ...]],
) -> list[dict[str, float]]:
    """For networks of each size the standard errors that leave a fraction of each tensor."""
    sizes = len(next(iter(weights.values())))
    goals: list[dict[str, float]] = [{} for _ in range(sizes)]
    for name, factors in weights.items():
        # A tensor that is zero is judged by what cancels in it.
        scale = float(np.abs(theory[name]).max()) or norms[name] or 1.0
        for goal, factor in zip(goals, factors, strict=True):
            wanted = error * scale / (abs(factor) * np.sqrt(sizes))
            goal[_base(name)] = min(goal.get(_base(name), np.inf), float(wanted))
    return goals


def _fraction(error: float) -> float:
    number = real_numbers("error", error, "a fraction such as 0.1")
    if number.ndim or not 0.0 < number < np.inf:
        raise KernelError(
            f"error is {short_repr(error)}. It is a standard error relative to the largest entry "
            "of a tensor. Give a positive number such as 0.1."
        )
    return float(number)


def _base(name: str) -> str:
    return name.partition(".")[0]


def _measurable(mlp: Network, name: str) -> bool:
    """Whether a tensor exists, and its networks have no delta functions, which no sample shows.

    Of a derivative that layers read a kink is of so much lower order.
    """
    degrees = named(name).forest.degrees
    program = joined_program(mlp, learning=False)
    factors = {(name, order) for _, name, order in program.factors if name in program.names}
    orders = [
        kink.order - order
        for function, order in factors
        if isinstance(one := named_activation(mlp, str(function)), Activation)
        for kink in one.kinks(len(BOOK))
    ]
    return max(degrees) <= min(orders, default=len(BOOK)) and not is_infinite(mlp, name)


def _natural(name: str, value: int, least: int) -> int:
    advice = f"It was given as {name}. Give one of at least {least}."
    require(value, Integral, "a whole number", advice)
    if value < least:
        raise KernelError(f"{name} is {value}. It is a whole number. Give one of at least {least}.")
    return int(value)


def _weights(name: str, mlp: Network) -> tuple[float, float]:
    """The leading order, or the correction, from X(n) = X + X.1/n at n and 2n."""
    below = 2.0 * mlp.widths[-1]
    return (below, -below) if name.endswith(".1") else (-1.0, 2.0)


def _theory(
    mlp: Network, data: Array, names: tuple[str, ...], doubled: bool, progress: bool | None
) -> tuple[dict[str, Array], dict[str, float]]:
    """The tensors, and their norms."""
    leading = doubled or mlp.depth == 1 or at_leading_order(mlp)
    corrected = () if leading else ("G", "H")
    needed = [*names, *(f"{name}.1" for name in names if name in corrected), "G"]
    needed += ["H"] if any(named(name).forest.edges for name in names) else []
    tolerance = compared_tolerance(mlp)
    result = propagate(mlp, data, needed, progress=progress, tolerance=tolerance)
    theory = {
        name: (result.finite_width(name) if name in corrected else result[name])[-1]
        for name in names
    }
    return theory, {name: _norm(name, result) for name in names}


def _norm(name: str, result: Propagation) -> float:
    """The product of powers of G and H that scales like a tensor with outputs and learning rates.

    A tensor of a axes and e edges has a - 2e ends that are no ends of an edge, and each edge is one
    NTK: G^(a/2-e) H^e.
    """
    tensor = named(name)
    kernel = np.abs(result["G"][-1]).max()
    edges = len(tensor.forest.edges)
    ntk = np.abs(result["H"][-1]).max() if edges else 1.0
    if not kernel > 0.0:
        return 0.0
    return float(kernel ** (tensor.axes / 2 - edges) * ntk**edges)
