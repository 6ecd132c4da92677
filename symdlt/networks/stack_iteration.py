"""Chains of steps iterated in numbers, with the hyperparameters of a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.asymptotics import AsymptoticSolution
from symdlt.definitions import is_chain
from symdlt.errors import KernelError, SolutionError, require
from symdlt.kernels import kernel_for, numpy_activation

Array: TypeAlias = NDArray[np.float64]

# Convention: rates of which none is another, nor 0.7 or 1.3, so that they cannot stand for one
# another.
FIRST_RATE, BETWEEN = 0.5, 0.45
PER_LAYER = "(l)"


def numbers_of(
    solution: AsymptoticSolution, rates: Mapping[str, float], values: Mapping[str, float] | None
) -> dict[str, float]:
    """Numbers for learning rates and widths in the formulas of a solution.

    Args:
        solution: of a chain of steps.
        rates: those of the names of a dense layer.
        values: those that are given by name; widths are over that of z.

    Raises:
        KernelError: for other names, or numbers that are not positive.
    """
    names = [
        name.removesuffix(PER_LAYER)
        for name, _ in solution.hyperparameters
        if name.endswith(PER_LAYER)
    ]
    symbols = {str(x) for a in solution.tensors for x in a.coefficient.free_symbols}
    widths = sorted(name for name in symbols if name.startswith("n_"))
    others = (FIRST_RATE + BETWEEN * k for k in count())
    known = {name: rates[name] if name in rates else next(others) for name in names}
    known |= dict.fromkeys(widths, 1.0)
    require(values, Mapping | None, "values of symbols", 'Give them by name: {"n_h": 2}.')
    own = [name for name in known if name not in rates]
    for name, value in (values or {}).items():
        if name not in own or not is_positive(value):
            raise KernelError(
                f"{name} = {str(value)[:40]} is no positive number for a symbol of the solution. "
                f"It stands in values. Those of {solution.layer} are {', '.join(own)}, and "
                f"{' and '.join(rates)} are arguments of their own. Give numbers to these."
            )
        known[name] = float(value)
    return known


def is_positive(number: object) -> bool:
    """Whether something is a positive number, or the text of one."""
    try:
        return 0 < float(number) < float("inf")  # type: ignore[arg-type]  # what is none is told
    except (TypeError, ValueError):
        return False


def iterated_stack(
    solution: AsymptoticSolution, depth: int, known: Mapping[str, float], start: float
) -> dict[str, Array]:
    """The tensors of a solution at each layer, by the kernel of their recursions.

    Args:
        solution: of a chain of steps.
        depth: the number of layers.
        known: numbers for its learning rates and widths.
        start: the kernel of the first layer, which is dense.

    Raises:
        SolutionError: for a layer that is no chain of steps.
        KernelError: if the kernel leaves the range of numbers.
    """
    if not is_chain(solution.layer):
        raise SolutionError(
            f"The solution is for layers {solution.layer}, whose neurons are read at all depths; "
            "one layer does not follow from the last. Iterate it with propagate(Network(...), ...)."
        )
    names = [a.name for a in solution.tensors]
    module = ModuleType("chain_of_steps")
    source = kernel_for(names, layer=solution.layer, inputs="one", standalone=False)
    exec(compile(source.text, "<kernel>", "exec"), module.__dict__)
    functions = numpy_activation(solution.activation, module.DERIVATIVES).functions
    functions = getattr(module, "ACTIVATION", functions)  # of layers that read others by name alone
    layers = np.arange(1, depth + 1, dtype=np.float64)
    given = _per_layer(solution, module.HYPERPARAMETERS, known, layers)
    at_first = {name: value[0] for name, value in given.items()}
    bias, drawn = (float(module.first_layer(x, **at_first)["G"]) for x in (0.0, 1.0))
    try:
        found: dict[str, Array] = module.propagate(
            functions, (start - bias) / (drawn - bias), depth, **given
        )
    except module.KernelInputError as reason:
        raise KernelError(
            f"From K = {start:g}: {reason} If the kernel does not fall, give a smaller start."
        ) from None
    return found


def _per_layer(
    solution: AsymptoticSolution, names: Sequence[str], known: Mapping[str, float], layers: Array
) -> dict[str, Array]:
    """Each hyperparameter at each layer; a common power of the depth L is left out of the rates."""
    fixed = {**dict(solution.values), **dict(solution.hyperparameters)}
    given = {}
    for name in names:
        if name.startswith("r_"):
            given[name] = np.full(len(layers), 1.0 / known.get(f"n_{name[2:]}", 1.0))
            continue
        formula = fixed[f"{name}{PER_LAYER}"] if name in known else fixed[name]
        given[name] = values_at(formula, layers, known)
    return given


def values_at(formula: Any, layers: Array, known: Mapping[str, float]) -> Array:
    """A hyperparameter at each layer, which is a power of the layer or the same at all."""
    numbers = {**known, "L": 1}
    fixed = formula.subs({s: numbers[s.name] for s in formula.free_symbols if s.name in numbers})
    (layer,) = fixed.free_symbols or {None}
    if layer is None:
        return np.full(len(layers), float(fixed))
    power = float((fixed.diff(layer) * layer / fixed).subs(layer, 2))
    values: Array = float(fixed.subs(layer, 1)) * layers**power
    return values
