"""What layers of any kind do to the kernel of one input: fixed points and susceptibilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import exp, inf, isinf, log, nan
from numbers import Real
from reprlib import repr as short_repr

from symdlt.definitions import Layer, Stack, ascii_name, read_layer_definition
from symdlt.display import ShownAsText
from symdlt.errors import KernelInputError, SolutionError, require
from symdlt.networks.layer_response import (
    AT_REST,
    HIGHEST,
    LOWEST,
    RESOLVED,
    LayerResponse,
    limit,
)

STEP = 2.0  # from one place to the next
GOLDEN = (5**0.5 - 1) / 2  # sections of this share leave one inner place for the next
LOWER = 0.9  # a dip between two places: where the kernel moves as much everywhere there is none
SECTIONS = 14  # down to a thousandth of the way; fixed points nearer than that are not told
# Values of a symbol that are tried; networks in use have variances of order one.
LEAST, MOST, FINER = 1e-3, 1e3, 1.25
NEARLY = 1e-14  # means are known to so many digits
HALVINGS = 120  # even if most only halve what is left, beyond the digits of a double
NEAR = 256.0  # fixed points within this factor of the start are not jumped over
CRITICAL = 1e-6  # half of the digits, as for slopes that are square roots at their ends


@dataclass(frozen=True, slots=True)
class LayerPhase(ShownAsText):
    r"""A fixed point of the kernel of a layer that is repeated, and the slopes there.

    Attributes:
        layer: the layer.
        activation: s in it.
        values: of its symbols.
        K: the kernel that `start` goes to, 0 or infinity among them.
        chi_parallel: $\chi_\parallel$, what multiplies a small $K - K^*$ from layer to layer.
        chi_perp: $\chi_\perp$, what multiplies the distance of near inputs, and the NTK. Of inputs
            with masks of their own the distance of their covariance from where it goes, and the
            NTK of two of them.
        covariance: where that of two inputs goes that set out as one; K unless each has a draw of
            dropout.
    """

    layer: Layer | Stack
    activation: str
    values: Mapping[str, float]
    K: float
    chi_parallel: float
    chi_perp: float
    covariance: float

    @property
    def xi_parallel(self) -> float:
        r"""The depth $1/|\log\chi_\parallel|$ over which the kernel comes to rest."""
        return _depth(self.chi_parallel)

    @property
    def xi_perp(self) -> float:
        r"""The depth $1/|\log\chi_\perp|$ over which near inputs part or meet."""
        return _depth(self.chi_perp)

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {value:.6g}" for name, value in self.values.items())
        apart = f"  covariance   {self.covariance:.12g}   of two inputs, each with masks\n"
        return (
            f"{self.activation}, {self.layer}, {shown}\n"
            f"  K*           {self.K:.12g}\n"
            f"{apart * (self.covariance != self.K)}"
            f"  chi_parallel {self.chi_parallel:.12g}   over {self.xi_parallel:.4g} layers\n"
            f"  chi_perp     {self.chi_perp:.12g}   over {self.xi_perp:.4g} layers"
        )


def layer_phase(
    layer: Layer | Stack | str,
    activation: object,
    values: Mapping[str, float],
    *,
    start: float = 1.0,
) -> LayerPhase:
    r"""Where the kernel of a network of one repeated layer goes, and how small differences grow.

    The layer may be any that `propagate` takes: with skips, gates, blocks or norms. The slopes
    $\chi_\parallel$ and $\chi_\perp$ are its linear response to the kernel of one input, and to the
    covariance of two inputs that are nearly the same. With circular windows an input is the same at
    all positions. `phase` has more digits, and more to say, for dense layers.

    Args:
        layer: a layer, or its text.
        activation: s in the layer: a name, an expression in z, or a list of functions.
        values: numbers of the symbols of the layer; learning rates may be left out.
        start: the kernel to set out from.

    Raises:
        LayerError: for a layer that has no Gaussian preactivations, or missing values.
        SolutionError: if the kernel swings, or goes where no fixed points are sought.

    Of dropout each input has a draw, and two that are the same part:

    >>> found = layer_phase("z' = b + W dropout(1/2) s(z)", "relu", {"C_b": 0.1, "C_W": 0.8})
    >>> round(found.K, 6), round(found.covariance, 6), round(found.chi_perp, 6)
    (0.5, 0.211832, 0.255703)
    >>> gate = "u = U z; v = V z; z' = b + W sigmoid(u) v"
    >>> found = layer_phase(gate, "tanh", {"C_U": 1, "C_V": 1, "C_W": 3, "C_b": 0.1})
    >>> round(found.K, 6), round(found.chi_parallel, 6), round(found.chi_perp, 6)
    (0.633569, 0.91505, 0.935923)
    """
    response = LayerResponse(read_layer_definition(layer), activation, values)
    if not isinstance(start, Real) or not LOWEST < float(start) < HIGHEST:
        raise SolutionError(
            f"{short_repr(start)} is not a kernel to start from. It stands as start in the call. "
            f"Give a number from {LOWEST:g} to {HIGHEST:g}; 1 is usual."
        )
    K = _fixed_kernel(response.next_kernel, float(start))
    places = response.places(K)
    rho = [_correlation(response, at) for at in places]
    slopes = [
        response.susceptibilities(at, max(near, LOWEST) * at)
        for at, near in zip(places, rho, strict=True)
    ]
    parallel, perpendicular = map(limit, zip(*slopes, strict=True))
    grows = isinf(K)
    covariance = K if grows else rho[0] * K
    if grows and rho[0] <= rho[-1] / 2:  # it does not as K does
        covariance = _covariance(response, float(start))
    if parallel < -1:
        raise SolutionError(
            f"The kernel does not come to rest: at K* = {K:.6g} chi_parallel is {parallel:.6g}, "
            "below -1, so that it swings. Give smaller weights."
        )
    if perpendicular < 0:  # which is a mean of squares
        raise SolutionError(
            f"The kernel goes beyond {HIGHEST:g}, up to which fixed points are sought, and its "
            f"slopes there go to no limit: chi_perp would be {perpendicular:.6g}. Give smaller "
            "weights; K* scales with them and with the square of the activation."
        )
    known = {ascii_name(name): float(value) for name, value in values.items()}
    definition = response.definition
    return LayerPhase(
        definition, response.activation, known, K, parallel, perpendicular, covariance
    )


def critical_value(
    layer: Layer | Stack | str,
    activation: object,
    values: Mapping[str, float],
    symbol: str,
    *,
    start: float = 1.0,
) -> LayerPhase:
    r"""The value of one symbol at which $\chi_\perp$ is 1 at the fixed point, and what is there.

    Args:
        layer: a layer, or its text.
        activation: s in the layer.
        values: numbers of all other symbols.
        symbol: the one to solve for, such as "C_W".
        start: the kernel to set out from.

    Raises:
        SolutionError: if there is no such value from 1e-3 to 1e3.

    >>> residual = "z' = xi z + b + W s(z)"
    >>> found = critical_value(residual, "tanh", {"xi": 0.6, "C_b": 0.02}, "C_W")
    >>> round(found.values["C_W"], 6), round(found.K, 6)
    (1.049678, 0.45578)
    """
    require(symbol, str, "a symbol", 'Give its name, such as "C_W".')
    name = ascii_name(symbol)

    def excess(value: float) -> float:
        found = layer_phase(layer, activation, {**values, name: value}, start=start)
        return min(found.chi_perp, HIGHEST) - 1

    def known(value: float) -> float:
        try:
            return excess(value)
        except SolutionError:
            return nan

    low, before = LEAST, known(LEAST)
    while low < MOST:
        high = low * FINER
        after = known(high)
        if before <= 0 <= after or after <= 0 <= before:
            value = _crossing(excess, low, high)
            there = layer_phase(layer, activation, {**values, name: value}, start=start)
            if abs(there.chi_perp - 1) < CRITICAL:  # and no jump from one kernel to another
                return there
        low, before = high, after
    raise SolutionError(
        f"No {name} from {LEAST:g} to {MOST:g} makes chi_perp 1 for the layer {layer}. Without "
        "dimension it is of order one where there is one. Give other values."
    )


def _correlation(response: LayerResponse, K: float) -> float:
    """Where the correlation of two inputs of one kernel goes that set out as one."""
    if not response.apart:
        return 1.0
    return _fixed_kernel(partial(response.next_correlation, K), 1.0, paired=False)


def _covariance(response: LayerResponse, start: float) -> float:
    """Where the covariance of two inputs goes whose kernel grows without end."""

    def above(covariance: float) -> float:
        return response.next_covariance(RESOLVED, min(covariance, RESOLVED))

    found = _fixed_kernel(above, start, paired=False)
    return found if found < RESOLVED else inf


def _fixed_kernel(
    next_kernel: Callable[[float], float], start: float, *, paired: bool = True
) -> float:
    """Where a kernel goes: the next fixed point in the direction in which it sets out.

    Two that are near each other are looked for where there may be such.
    """

    def excess(K: float) -> float:
        image = next_kernel(K)
        return log(image / K) if image > 0 else -inf

    here, at = start, excess(start)
    if abs(at) < AT_REST:
        return start
    factor = STEP if at > 0 else 1 / STEP
    before, known = None, (start, at)
    if paired:
        here /= factor**0.5  # so that the first of three places is the start
    while LOWEST < here < HIGHEST:
        here = min(max(here * factor, LOWEST), HIGHEST)
        try:
            after = excess(here)
        except KernelInputError:
            if at < 0:
                raise
            break  # it has grown until there, where its means overflow
        # Where the kernel hardly moves its direction is not known: of ReLU with biases it still
        # grows, and of tanh it still shrinks.
        if abs(after) > AT_REST:
            if (after > 0) != (at > 0):
                return _crossing(excess, *sorted((known[0], here)))
            if paired and before and abs(at) < LOWER * min(abs(before[1]), abs(after)):
                end = _dip(excess, before[0], here, 1 if at > 0 else -1)
                if end is not None:
                    return _crossing(excess, *sorted((before[0], end)))
            before, known, at = known, (here, after), after
        if not 1 / NEAR < here / start < NEAR:
            factor *= factor
    return inf if at > 0 else 0.0


def _dip(function: Callable[[float], float], first: float, last: float, sign: int) -> float | None:
    """A place between two at which a function of one sign has the other, by golden sections.

    Where means are not known nothing is found.
    """

    def height(place: float) -> float:
        try:
            return sign * function(exp(place))
        except KernelInputError:
            return inf

    a, b = log(first), log(last)
    inner = [b - GOLDEN * (b - a), a + GOLDEN * (b - a)]
    heights = [*map(height, inner)]
    for _ in range(SECTIONS):
        if min(heights) < 0:
            return exp(inner[heights.index(min(heights))])
        if heights[0] < heights[1]:
            b = inner[1]
            inner = [b - GOLDEN * (b - a), inner[0]]
            heights = [height(inner[0]), heights[0]]
        else:
            a = inner[0]
            inner = [inner[1], a + GOLDEN * (b - a)]
            heights = [heights[1], height(inner[1])]
    return None


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign, in the logarithm.

    By T. Chandrupatla's method (Adv. Eng. Softw. 28, 145, 1997): a parabola through three points of
    the inverse function where it is monotonic between them, and halves where it is not.
    """
    b, a = log(low), log(high)
    at_b, at_a = function(low), function(high)
    share = 0.5
    for _ in range(HALVINGS):
        middle = a + share * (b - a)
        value = function(exp(middle))
        if (value > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = middle, value
        if abs(value) < NEARLY or abs(b - a) < NEARLY:
            break
        along, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        share = 0.5
        if height**2 < along and (1 - height) ** 2 < 1 - along:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        least = NEARLY / (2 * abs(b - a))
        share = min(max(share, least), 1 - least)
    return exp(a)


def _depth(factor: float) -> float:
    if factor == 0 or abs(abs(factor) - 1) < AT_REST:
        return 0.0 if factor == 0 else inf
    return 1 / abs(log(abs(factor)))
