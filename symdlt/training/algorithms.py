"""Training algorithms: how the chains of a response are summed over the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import Any, Protocol, runtime_checkable

import numpy as np

from symdlt.errors import InputError, TrainingError, require
from symdlt.training.chains import (
    Array,
    Modes,
    Value,
    flow_fully_summed,
    flow_matrix,
    fully_summed,
    passed,
    step_matrix,
)
from symdlt.training.responses import PROJECTED, Response

# At 2 the largest mode never decays; the margin is far above the rounding of an eigenvalue.
NEARLY_TWO = 2.0 - 1e-9
# Bound: products of a time and an eigenvalue stay in the range of a double.
LONGEST = 1e100


@runtime_checkable
class Algorithm(Protocol):
    """What `predict` asks of a training algorithm."""

    @property
    def finished(self) -> bool:
        """Whether training goes on until nothing of the training error is left."""

    def check(self, eigenvalues: Array) -> None:
        """Refuse step sizes with which training diverges."""

    def weight(self, response: Response, h: Modes, outer: Value = 0.0) -> Value:
        """What multiplies the trees of a response in the trained output.

        Args:
            response: the response.
            h: for each of its modes the eigenvalue of the mean training NTK, as arrays that
                broadcast, or as symbols if `finished`.
            outer: the eigenvalue with which the output itself decays while it is moved; 0 for
                an output that is not in the training set.
        """


@dataclass(frozen=True, slots=True)
class GradientDescent:
    r"""Full-batch gradient descent on $\frac{1}{2}\sum (z - y)^2$ (PDLT ∞.63).

    $$\theta_\mu(t+1) = \theta_\mu(t) - \eta \sum_\nu \lambda_{\mu\nu}
      \sum_{j\alpha} \frac{dz_{j\alpha}}{d\theta_\nu} (z_{j\alpha} - y_{j\alpha})$$

    Attributes:
        eta: the step size η, or a list with one for each step.
        steps: how many steps to take; until nothing of the training error is left if left out.

    Raises:
        TrainingError: if a step size is no positive number, or the steps are no whole number.

    >>> from symdlt.training import projectors
    >>> projectors()["dNTK-A"].values(GradientDescent(0.1), 1.0, 1.0)
    0.4736842105263158
    """

    eta: Any
    steps: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.eta, Real):
            object.__setattr__(self, "eta", _step(self.eta))
            if self.steps is not None:
                _check_count(self.steps)
            return
        flat = isinstance(self.eta, list | tuple) or getattr(self.eta, "ndim", 0) == 1
        if not flat or not len(self.eta) or any(map(np.ndim, self.eta)) or self.steps is not None:
            raise TrainingError(
                f"eta is {short_repr(self.eta)} and steps is {short_repr(self.steps)}. A step size "
                "is a number, or a list with one for each step, which says how many there are. "
                "Give GradientDescent(0.1), GradientDescent(0.1, steps=50) or a list."
            )
        object.__setattr__(self, "eta", tuple(map(_step, self.eta)))

    @property
    def finished(self) -> bool:
        """Whether training goes on until nothing of the training error is left."""
        return self.steps is None and not isinstance(self.eta, tuple)

    def check(self, eigenvalues: Array) -> None:
        """Refuse a step size with η h ≥ 2, at which training never ends.

        Raises:
            TrainingError: with the largest step size that is allowed.
        """
        largest = float(np.max(eigenvalues))
        if self.finished and not float(self.eta) * largest < NEARLY_TWO:
            raise TrainingError(
                f"The step size {self.eta} is too large: training diverges where eta h >= 2. "
                f"The largest eigenvalue h of the mean training NTK is {largest:.6g}. "
                f"Give a step size below {2.0 / largest:.6g}."
            )

    def weight(self, response: Response, h: Modes, outer: Value = 0.0) -> Value:
        """What multiplies the trees of a response; see `Algorithm`."""
        if self.finished:
            step = dict.fromkeys(h, self.eta)
            return sum(fully_summed(chain, h, step) for chain in response.chains)
        if isinstance(self.eta, tuple):
            return passed(response.chains, h, outer, self.eta)
        matrices = (step_matrix(chain, h, outer, self.eta) for chain in response.chains)
        return sum(np.linalg.matrix_power(one, self.steps or 0)[..., 0, -1] for one in matrices)


@dataclass(frozen=True, slots=True)
class GradientFlow:
    r"""Gradient descent in the limit η → 0, $d\theta/d\tau = -\lambda\, dL/d\theta$.

    Attributes:
        time: the sum of the step sizes, τ = Σ η; infinite if left out.

    Raises:
        TrainingError: if the time is no number, or negative.

    >>> from symdlt.training import projectors
    >>> projectors()["dNTK-A"].values(GradientFlow(), 1.0, 1.0)
    0.5
    """

    time: float | None = None

    def __post_init__(self) -> None:
        if self.time is None:
            return
        time = _float(self.time)
        if not 0.0 <= time <= LONGEST:
            raise TrainingError(
                f"time is {short_repr(self.time)}. It is the time of training, the sum of the step "
                "sizes. Give a number that is not negative, or leave it out to train to the end."
            )
        object.__setattr__(self, "time", time)

    @property
    def finished(self) -> bool:
        """Whether training goes on until nothing of the training error is left."""
        return self.time is None

    def check(self, eigenvalues: Array) -> None:
        """Nothing to refuse: the flow always converges."""

    def weight(self, response: Response, h: Modes, outer: Value = 0.0) -> Value:
        """What multiplies the trees of a response; see `Algorithm`."""
        if self.time is None:
            return sum(flow_fully_summed(chain, h) for chain in response.chains)
        slow = [c for c in response.chains if all(len(event.leaves) == 1 for event in c)]
        return sum(flow_matrix(chain, h, outer, self.time)[..., 0, -1] for chain in slow)


class _TrainedToTheEnd:
    """What takes away all of the training error, whatever its eigenvalues."""

    __slots__ = ()

    @property
    def finished(self) -> bool:
        """Nothing of the training error is left."""
        return True

    def check(self, eigenvalues: Array) -> None:
        """Nothing to refuse."""


@dataclass(frozen=True, slots=True)
class TwoStep(_TrainedToTheEnd):
    r"""Two updates of second order, by the inverse NTK (PDLT ∞.78–∞.79, ∞.148).

    The step size of a mode is 1/h: the first update takes away all of its error to leading order,
    the second one what the curvature of the network left of it.

    Attributes:
        finished: that nothing of the training error is left, which is so.

    >>> from symdlt.training import projectors
    >>> projectors()["dNTK-B"].values(TwoStep(), 1.0, 2.0)
    0.25
    """

    def weight(self, response: Response, h: Modes, outer: Value = 0.0) -> Value:
        """What multiplies the trees of a response; see `Algorithm`."""
        step = {mode: 1 / value for mode, value in h.items()}
        return sum(fully_summed(chain, h, step) for chain in response.chains)


@dataclass(frozen=True, slots=True)
class CustomAlgorithm(_TrainedToTheEnd):
    """An algorithm that is known by its projectors alone.

    Attributes:
        projectors: for the names of projectors, functions of the eigenvalues of their modes
            (arrays that broadcast): two for the dNTK, three for the ddNTKs. Those left out
            vanish.

    Raises:
        TrainingError: if a name is no projector's, or something is no function.

    >>> from symdlt.training import projectors
    >>> own = CustomAlgorithm({"dNTK-B": lambda h_1, h_2: 0.5 / (h_1 * h_2)})
    >>> projectors()["dNTK-B"].values(own, 1.0, 2.0)
    0.25
    """

    projectors: Mapping[str, Callable[..., Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self.projectors, Mapping, "a dict of projectors", "Give {} or more.")
        for name, function in self.projectors.items():
            if name not in PROJECTED or not callable(function):
                raise TrainingError(
                    f"{short_repr(name)}: {short_repr(function)} is no projector. "
                    f"They are called {', '.join(PROJECTED)}, and each is a function of "
                    "eigenvalues. Give for instance {'dNTK-B': lambda h_1, h_2: 0.5 / (h_1 * h_2)}."
                )

    def weight(self, response: Response, h: Modes, outer: Value = 0.0) -> Value:
        """What multiplies the trees of a response; see `Algorithm`."""
        if response.name not in PROJECTED:
            return GradientFlow().weight(response, h)
        if response.fixed > 1:
            raise TrainingError(
                "Projectors of an algorithm do not say how the NTK and the dNTK move. These were "
                "asked for with a CustomAlgorithm. Give GradientDescent, GradientFlow or TwoStep."
            )
        function = self.projectors.get(response.name)
        return _checked(response.name, function, h) if function else 0.0


def weights(
    algorithm: Algorithm, response: Response, eigenvalues: Array
) -> tuple[Array, Array | None]:
    """The weights of a response along its modes, and what outputs in the training set are short of.

    An output in the training set decays while it is moved; what is left of it at the end has an
    axis for its mode before the others. There is none if training goes to the end.
    """
    count, size = len(response.modes), len(eigenvalues)
    h = {
        mode: eigenvalues.reshape((-1,) + (1,) * (count - 1 - k))
        for k, mode in enumerate(response.modes)
    }
    if algorithm.finished or response.fixed > 1:
        return np.broadcast_to(algorithm.weight(response, h), (size,) * count), None
    # Test outputs, which do not decay, and those of the training set in one go.
    outer = np.concatenate([[0.0], eigenvalues]).reshape((-1,) + (1,) * count)
    both = np.broadcast_to(algorithm.weight(response, h, outer), (size + 1, *(size,) * count))
    return both[0], both[1:]


def check_algorithm(algorithm: Algorithm | None) -> Algorithm:
    """The algorithm; gradient flow to the end if there is none.

    Raises:
        InputError: if it is something else, or a class.
    """
    if algorithm is None:
        return GradientFlow()
    if isinstance(algorithm, type) or not isinstance(algorithm, Algorithm):
        raise InputError(
            f"{short_repr(algorithm)} is not an algorithm. Its type is {type(algorithm).__name__}. "
            "Give one such as GradientFlow() or GradientDescent(0.1)."
        )
    return algorithm


def _checked(name: str, function: Callable[..., Value], h: Modes) -> Value:
    """What a projector of the user gives, if it can be used."""
    wanted = np.broadcast_shapes(*map(np.shape, h.values()))
    try:
        value = np.asarray(function(*h.values()), dtype=np.float64)
        fits = np.broadcast_shapes(value.shape, wanted) == wanted and np.isfinite(value).all()
    except (TypeError, ValueError) as reason:
        raise TrainingError(
            f"The projector {name} failed: {str(reason)[:80]}. It is called with {len(h)} arrays "
            "of eigenvalues that broadcast. Use functions of NumPy such as np.maximum."
        ) from None
    if not fits:
        raise TrainingError(
            f"The projector {name} gives an array of shape {value.shape}, or numbers that are not "
            f"finite. It is to be of shape {wanted}, as its eigenvalues are. Correct the function."
        )
    return value if value.ndim else value.item()


def _step(eta: object) -> float:
    size = _float(eta)
    if not 0.0 < size <= LONGEST:
        raise TrainingError(
            f"eta is {short_repr(eta)}. A step size is a positive number. Give one such as 0.1."
        )
    return size


def _float(value: object) -> float:
    """A real number as a float; nan for what is none, or is too large."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:
        return np.nan


def _check_count(steps: object) -> None:
    if isinstance(steps, bool) or not isinstance(steps, Integral) or steps < 0:
        raise TrainingError(
            f"steps is {short_repr(steps)}. It counts the steps of training. "
            "Give 0, 1, 2, …, or leave it out to train to the end."
        )
