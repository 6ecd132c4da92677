"""Asymptotes of tensors against the kernels they belong to, iterated to large depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.asymptotics import CLASSES, Asymptote, AsymptoticSolution
from symdlt.definitions import DENSE, Layer
from symdlt.display import ShownAsText
from symdlt.equality import EqualByFields
from symdlt.errors import KernelError, SolutionError, require
from symdlt.kernels import numpy_activation, single_input
from symdlt.networks.stack_iteration import is_positive, iterated_stack, numbers_of, values_at
from symdlt.tables import text_table

Array: TypeAlias = NDArray[np.float64]

# Measured for tanh: at 1000 layers the extrapolated coefficients are good to 3e-6.
LEAST_DEPTH = 1000
# Bound: a gigabyte for the thirteen tensors of every layer.
MOST_DEPTH = 10_000_000
# Ratio of the depths. Measured for tanh at 20 000 layers: errors from 1.2 to 2 are 2e-8, 9e-9
# (1.3), 1.4e-8 (1.45), 4e-8 (1.7), 1e-7.
SPACING = 1.45
# Orders in 1/l beyond the leading one. Measured for the same: one leaves 7e-7, two 1.4e-8.
ORDERS = 2
# Convention: two rates that are not equal, so that they cannot stand for one another.
RATES = (0.7, 1.3)
NAMES = ("lambda_b", "lambda_W")


@dataclass(frozen=True, slots=True, eq=False)
class IteratedTensor(EqualByFields):
    r"""One tensor: its asymptote $x\,\ell^{-p}\log^j\ell$, and its iteration.

    Attributes:
        asymptote: what is held against the iteration.
        coefficient: x as a number.
        values: the tensor at each layer.
        limit: x from the values, extrapolated in powers of 1/ℓ and log ℓ.
        spread: how much that changes if the last third of the layers is left out.
    """

    asymptote: Asymptote
    coefficient: float
    values: Array
    limit: float
    spread: float

    @property
    def name(self) -> str:
        """The tensor."""
        return self.asymptote.name

    @property
    def difference(self) -> float:
        """The relative difference of the limit and the coefficient."""
        return self.limit / self.coefficient - 1

    def expected(self, layers: Array) -> Array:
        """The asymptote at some layers."""
        logs = np.log(layers) ** self.asymptote.log_power
        values: Array = self.coefficient * layers ** -float(self.asymptote.exponent) * logs
        return values


@dataclass(frozen=True, slots=True)
class ExponentCheck(ShownAsText):
    """Exponents held against the iterated kernel.

    Attributes:
        solution: the exponents.
        rates: λ̃_b and λ̃_W.
        depth: the number of layers.
        tensors: one entry for each tensor.
        others: further learning rates and widths of a chain of steps, by name.
    """

    solution: AsymptoticSolution
    rates: tuple[float, float]
    depth: int
    tensors: tuple[IteratedTensor, ...]
    others: tuple[tuple[str, float], ...] = ()

    def __getitem__(self, name: str) -> IteratedTensor:
        """The entry of a tensor.

        Raises:
            UnknownTensorError: if there is none.
        """
        wanted = self.solution[name]
        return next(tensor for tensor in self.tensors if tensor.asymptote is wanted)

    @property
    def worst(self) -> float:
        """The largest relative difference of all tensors."""
        return max(abs(tensor.difference) for tensor in self.tensors)

    def __repr__(self) -> str:
        return f"ExponentCheck({self.solution!r}, depth={self.depth}, worst={self.worst:.1g})"

    def __str__(self) -> str:
        heads = ("tensor", "asymptote", "iteration", "coefficient", "extrapolated", "difference")
        rows: list[tuple[str, ...]] = [heads]
        for tensor in self.tensors:
            numbers = (
                float(tensor.expected(np.array([float(self.depth)]))[0]),
                float(tensor.values[-1]),
                tensor.coefficient,
                tensor.limit,
            )
            rows.append((tensor.name, *(f"{x:.7g}" for x in numbers), f"{tensor.difference:.1e}"))
        told = (
            f"{self.solution.activation}: asymptotes against iteration at layer {self.depth}, "
            f"lambda_b = {self.rates[0]:g}, lambda_W = {self.rates[1]:g}"
            + "".join(f", {name} = {value:g}" for name, value in self.others)
        )
        return "\n".join([told, "", *text_table(rows, left=1)])

    def to_dict(self) -> dict[str, object]:
        """All numbers by tensor."""
        return {
            "schema": "symdlt.exponent_check",
            "version": 1,
            "activation": self.solution.activation,
            "depth": self.depth,
            "lambda_b": self.rates[0],
            "lambda_W": self.rates[1],
            **dict(self.others),
            "tensors": {
                tensor.name: {
                    "iterated": float(tensor.values[-1]),
                    "coefficient": tensor.coefficient,
                    "limit": tensor.limit,
                    "spread": tensor.spread,
                    "difference": tensor.difference,
                }
                for tensor in self.tensors
            },
        }


def check_exponents(
    solution: AsymptoticSolution,
    depth: int = 20_000,
    *,
    lambda_b: float = RATES[0],
    lambda_W: float = RATES[1],
    start: float = 1.0,
    values: Mapping[str, float] | None = None,
) -> ExponentCheck:
    r"""Iterate the generated single-input kernel and hold its tensors against their asymptotes.

    The network has the hyperparameters of the solution, with the learning rates of each layer and
    the kernel `start` at the first. From the values at several depths the factor of
    $\ell^{-p}\log^j\ell$ is extrapolated in powers of 1/ℓ with their logarithms.

    Args:
        solution: of `exponents`, for a named activation.
        depth: the number of layers.
        lambda_b: $\widetilde\lambda_b$.
        lambda_W: $\widetilde\lambda_W$.
        start: the kernel of the first layer; a smaller one where the kernel would leave from 1.
        values: of a chain of steps, its other learning rates and widths over that of z, such as
            {"lambda_U": 2, "n_h": 0.5}; widths are alike if left out, and rates are not.

    Raises:
        SolutionError: for a whole class, and for coefficients that depend on the input.
        KernelError: for tensors without a kernel, and unusable depths or learning rates.

    >>> from symdlt.asymptotics import exponents
    >>> found = check_exponents(exponents("tanh", ["V"]), 2000)
    >>> round(found["V"].coefficient, 4), abs(found["V"].difference) < 1e-3
    (0.1667, True)
    """
    _check_solution(solution, depth)
    rates = _rates(lambda_b, lambda_W)
    require(start, int | float, "a kernel", "Give a positive number such as 0.1.")
    if not 0.0 < start < float("inf"):
        raise KernelError(f"start is {start}. A kernel is positive. Give a number such as 0.1.")
    named = dict(zip(NAMES, rates, strict=True))
    if solution.layer == DENSE and values:
        raise KernelError(
            f"values = {str(values)[:60]} stands in the call, and values are those of chains of "
            "steps. Dense layers have lambda_b and lambda_W. Give these."
        )
    if solution.layer == DENSE:
        found = _iterated(solution, int(depth), rates, float(start))
        known, others = named, {}
    else:
        known = numbers_of(solution, named, values)
        found = iterated_stack(solution, int(depth), known, float(start))
        others = {name: x for name, x in known.items() if name not in named}
    at = {"n": 1.0, **known}
    tensors = tuple(_compared(a, found[a.name], at) for a in solution.tensors)
    return ExponentCheck(solution, rates, int(depth), tensors, tuple(others.items()))


def _check_solution(solution: AsymptoticSolution, depth: int) -> None:
    """Refuse what cannot be iterated: classes without a kernel, other limits, unusable depths."""
    require(solution, AsymptoticSolution, "a solution of exponents", "Give what it returned.")
    require(depth, Integral, "a number of layers", "Give a whole number such as 20000.")
    if isinstance(solution.layer, Layer) and solution.layer != DENSE:
        raise SolutionError(
            f"The solution is for layers {solution.layer}, and what is iterated are dense ones and "
            "chains of steps. Iterate others with propagate(Network(...), ...)."
        )
    if any(asymptote.exact is not None for asymptote in solution.tensors):
        raise SolutionError(
            f"The solution for {solution.activation[:40]!r} is exact at every layer, so there is "
            "no limit to extrapolate. It was given as the solution. "
            "Compare `exact` of its tensors with propagate(Network(...), ...)."
        )
    if dict(solution.values).get("kernel_power", 2) != 2 or "K*" in dict(solution.values):
        raise SolutionError(
            f"The solution for {solution.activation[:40]!r} is of the class "
            f"{solution.universality}. What is iterated are smooth activations whose kernel falls "
            "from 1 to 0 as 1/l. Iterate others with propagate(Network(...), ...)."
        )
    if depth > MOST_DEPTH:
        raise KernelError(
            f"depth = {depth} is too large to iterate. Every layer of every tensor is kept. "
            f"Give at most {MOST_DEPTH}."
        )
    if depth < LEAST_DEPTH:
        raise KernelError(
            f"depth = {depth} is too small to extrapolate from. The asymptotes hold for many "
            f"layers. Give at least {LEAST_DEPTH}."
        )
    if solution.activation in CLASSES:
        raise SolutionError(
            f"{solution.activation!r} is a whole class, and a kernel needs an activation. "
            "It is that of the solution. Give exponents('tanh'), for instance."
        )


def _rates(lambda_b: float, lambda_W: float) -> tuple[float, float]:
    for name, rate in (("lambda_b", lambda_b), ("lambda_W", lambda_W)):
        if not is_positive(rate):
            raise KernelError(
                f"{name} = {str(rate)[:40]} is not a learning rate. "
                "It must be a positive number. Give one such as 0.5."
            )
    return float(lambda_b), float(lambda_W)


def _iterated(
    solution: AsymptoticSolution, depth: int, rates: tuple[float, float], start: float
) -> dict[str, Array]:
    missing = [a.name for a in solution.tensors if a.name not in ("G", *single_input.RECURSIONS)]
    if missing:
        raise KernelError(
            f"There is no ready kernel for {' '.join(missing[:5])}. Those that are iterated are "
            f"G {' '.join(single_input.RECURSIONS)}. Ask for the exponents of these."
        )
    layers = np.arange(1, depth + 1, dtype=np.float64)
    known = dict(zip(NAMES, rates, strict=True))
    given = {name: values_at(value, layers, known) for name, value in solution.hyperparameters}
    C_b, C_W = float(given["C_b"][0]), float(given["C_W"][0])
    functions = numpy_activation(solution.activation, single_input.DERIVATIVES).functions
    try:
        return single_input.propagate(
            functions,
            (start - C_b) / C_W,
            depth,
            C_b=C_b,
            C_W=C_W,
            lambda_b=given["lambda_b(l)"],
            lambda_W=given["lambda_W(l)"],
        )
    except single_input.KernelInputError as reason:
        raise KernelError(
            f"From K = {start:g}: {reason} If the kernel does not fall, give a smaller start."
        ) from None


def _compared(asymptote: Asymptote, values: Array, known: Mapping[str, float]) -> IteratedTensor:
    number = asymptote.coefficient.subs(
        {s: known[s.name] for s in asymptote.coefficient.free_symbols if s.name in known}
    )
    if number.free_symbols:
        raise SolutionError(
            f"The coefficient of {asymptote.name} depends on the input of the network, by "
            f"{', '.join(sorted(s.name for s in number.free_symbols))}. "
            "Ask for the exponents of other tensors."
        )
    limits = [
        extrapolated(values[:end], float(asymptote.exponent), asymptote.log_power)
        for end in (len(values), 2 * len(values) // 3)
    ]
    return IteratedTensor(asymptote, float(number), values, limits[0], abs(limits[0] - limits[1]))


def extrapolated(values: Array, exponent: float, log_power: int = 0) -> float:
    r"""The x in $x\,\ell^{-p}\log^j\ell\,(1 + \sum_{k>0}\sum_i c_{ki}\,\log^i\ell\;\ell^{-k})$.

    Each order brings another logarithm, and one more in the first where a constant of integration
    comes up. As many depths as unknowns are solved for.

    Args:
        values: the tensor at the layers 1, 2, …
        exponent: p.
        log_power: j; lower powers of the logarithm are unknowns as well.

    >>> layers = np.arange(1.0, 5001.0)
    >>> round(extrapolated((3 + np.log(layers) / layers) / layers**2, 2.0), 9)
    3.0
    """
    basis = [(0, j) for j in range(log_power, -1, -1)]
    extra = log_power if log_power else 1
    basis += [(k, j) for k in range(1, ORDERS + 1) for j in range(k + extra + 1)]
    depths = [round(len(values) / SPACING**i) for i in range(len(basis))]
    rows = [[log(d) ** j / d**k for k, j in basis] for d in depths]
    ends = [values[d - 1] * d**exponent for d in depths]
    return float(np.linalg.solve(np.array(rows), np.array(ends))[0])
