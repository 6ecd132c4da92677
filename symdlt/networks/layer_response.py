"""The response of a layer of any kind to the kernel of one input, and to that of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

import numpy as np

from symdlt.activations import Activation
from symdlt.definitions import (
    MASK,
    Layer,
    Network,
    Stack,
    ascii_name,
    at_uniform_input,
    has_dropout,
    is_recurrent,
)
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.site_averages import Edges, Pair, SiteAverage, later_first
from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.derivation.response.site_means import ONE, ZERO, Array
from symdlt.errors import KernelInputError, LayerError, SolutionError, require
from symdlt.networks.joined_functions import joined_program, named_activation
from symdlt.networks.streams import check_streams, site_means

LOWEST, HIGHEST = 1e-12, 1e12  # where kernels are sought, from 0 to infinity in practice
RESOLVED = 1e9  # steps of correlations next to a skip are 1/K, which is to be above rounding
AT_REST = 1e-12  # a kernel moves by less than rounding of its means
APART = 16.0  # of places from which numbers are followed to those ends: square roots differ by 4
EXTRAPOLATED = 9  # digits of what is followed there, as the next power is not taken away
ASIDE, SLOPED = 1e-3, 1e-5  # central differences of what is nearly straight, and what is enough
STEEP = 1e3  # slopes beyond are what kernels run away with, however well they are known
BASE = 0  # the field below the layer


class LayerResponse:
    """One layer on top of a field whose kernel is given."""

    def __init__(
        self, definition: Layer | Stack, activation: object, values: Mapping[str, float]
    ) -> None:
        require(definition, Layer | Stack, "a layer", 'Give one such as "h = U z; z\' = W s(h)".')
        require(values, Mapping, "values", "Give a dict such as {'C_b': 0, 'C_W': 1}.")
        drawn = [one for stream in definition.streams for one in stream.drawn]
        weights = [ascii_name(one.tensor.name) for one in drawn if one.function is not None]
        if not weights:
            raise LayerError(
                f"The layer {definition} has no weights. Its kernel does not depend on them. Give "
                "one with weights."
            )
        self.definition = definition
        layers = [f"z' = {weights[0]} z", at_uniform_input(definition)]
        self.network = Network(activation, [1], values, layers, n_0=1)
        check_streams(self.network, ["G"])
        if is_recurrent(definition.streams) or self.network.has_scores:
            raise LayerError(
                f"The layer {definition} has kernels of pairs of positions, by scores or steps. "
                "The kernel of one input is one number here. Ask `propagate` for the tensors at "
                "every layer."
            )
        self.apart = has_dropout(definition.streams)
        self.program = joined_program(self.network, learning=False)
        self._refuse_jumps()
        given = self.network.activation
        self.activation = f"{len(given)} functions" if isinstance(given, tuple) else given.name

    def next_kernel(self, K: float) -> float:
        """The kernel above."""
        return float(self._above(np.array([[K]]))[0, 0])

    def next_covariance(self, K: float, covariance: float) -> float:
        """The covariance above of two inputs of one kernel."""
        return float(self._above(_of_two(K, covariance))[0, 1])

    def next_correlation(self, K: float, correlation: float) -> float:
        """The covariance above over the kernel above."""
        above = self._above(_of_two(K, correlation * K))
        return float(above[0, 1] / above[0, 0])

    def places(self, K: float) -> list[float]:
        """The kernels at which numbers of K are taken: K, or three on the way to 0 or infinity."""
        if 0.0 < K < inf:
            return [K]
        highest = RESOLVED if self.apart else HIGHEST
        end, inwards = (highest, 1 / APART) if K else (LOWEST, APART)
        while end > 1.0 and not self._is_known(end):
            end /= APART
        return [end * inwards**k for k in range(3)]

    def _is_known(self, K: float) -> bool:
        """Whether χ_∥ is the slope of the kernel: at large ones terms that cancel lose digits."""
        try:
            above, below = (self.next_kernel(K * (1 + side * ASIDE)) for side in (1, -1))
            parallel = self._parallel(K)
        except KernelInputError:
            return False
        slope = (above - below) / (2 * ASIDE * K)
        return abs(parallel - slope) < SLOPED * abs(slope) or slope > STEEP

    def _refuse_jumps(self) -> None:
        for name in {*self.program.names} - {MASK}:
            function = named_activation(self.network, name)
            if isinstance(function, Activation) and function.kinks(0):
                raise SolutionError(
                    f"{function.name[:60]!r} jumps, so that <sigma' sigma'> and chi_perp diverge. "
                    "Near inputs are then torn apart at once. Give continuous functions."
                )

    def susceptibilities(self, K: float, covariance: float) -> tuple[float, float]:
        """χ_∥, and χ_⊥ of two inputs with a covariance."""
        kernel = _of_two(K, covariance) if self.apart else np.array([[K]])
        return self._parallel(K), self._slope(kernel, (Vertex(0), Vertex(1)), 0)

    def _parallel(self, K: float) -> float:
        return self._slope(np.array([[K]]), (Vertex(0), Vertex(0)), 1)

    def _slope(self, kernel: Array, ends: tuple[Vertex, Vertex], of_same: int) -> float:
        """The response of the last field at two ends, of the first input and of the last."""
        response = Fluctuations(self._kernels(kernel))
        top = len(self.program.fields) - 1
        of_pair = self._following(response, of_same)
        pair = (top, ends[0]), (top, ends[1])
        with response.planned():
            of_pair(pair, frozenset())
        found = of_pair(pair, frozenset())
        slope = float(found.flat[min(len(kernel), found.size) - 1])
        return slope if abs(slope) > AT_REST else 0.0

    def _above(self, kernel: Array) -> Array:
        top = len(self.program.fields) - 1
        return self._kernels(kernel).means.kernels[top, top]

    def _kernels(self, kernel: Array) -> SiteKernels:
        samples = len(kernel)
        site = site_means(self.network, self.program, samples, 1e-7)
        kernels = SiteKernels(self.program, kernel, site)
        site.kernels[BASE, BASE] = kernel
        site.ntks[BASE, BASE] = np.zeros((samples, samples))
        for field in range(1, len(self.program.fields)):
            kernels.add(field)
        return kernels

    def _following(self, response: Fluctuations, of_same: int) -> Callable[[Pair, Edges], Array]:
        """The response of any pair to the kernel, or to the covariance of two inputs."""

        def of_noise(average: SiteAverage, edges: Edges) -> Array:
            del average, edges
            return ZERO

        def of_pair(pair: Pair, edges: Edges) -> Array:
            pair = later_first(pair)
            (field, u), (other, v) = pair
            if field == other == BASE:
                return ONE if u != v or of_same else ZERO
            return response.parts(pair, edges, of_pair, of_noise)

        return of_pair


def _of_two(K: float, covariance: float) -> Array:
    """The kernel of two inputs that are alike."""
    return np.array([[K, covariance], [covariance, K]])


def limit(numbers: Sequence[float]) -> float:
    """Where numbers at `places` go, by Aitken's formula, which is exact for a power."""
    if len(numbers) == 1:
        return numbers[0]
    last, before, first = numbers
    step, earlier = last - before, before - first
    if abs(earlier) < AT_REST * max(1.0, abs(first)):
        return last
    if step == earlier or abs(step) > abs(earlier):
        if abs(step) < SLOPED * abs(last):  # not more than what is lost of digits
            return last
        return inf if step > 0 else -inf
    return round(last + step * (step / (earlier - step)), EXTRAPOLATED)
