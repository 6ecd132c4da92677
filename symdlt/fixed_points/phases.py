"""Networks off criticality: where kernel, correlations and NTK go, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as short_repr

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.definitions import DENSE, Layer
from symdlt.derivation import derive
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import (
    LEAST,
    MOST,
    check_bias,
    check_digits,
    continuous_pieces,
    is_positive_number,
    maps_of,
    variance_of,
)
from symdlt.fixed_points.correlation import TooNearError, fixed_correlation
from symdlt.fixed_points.fixed_kernels import (
    ENDS,
    Repeated,
    Slopes,
    fixed_kernels,
    refined,
    slopes_of,
)
from symdlt.fixed_points.kernel_curve import MORE, Errors
from symdlt.fixed_points.phase_result import (
    CHAOTIC,
    CRITICAL,
    ORDERED,
    UNBOUNDED,
    FixedKernel,
    Phase,
)
from symdlt.precision import NumberLike, mp, number, rounded
from symdlt.symbols import named

# Those of floating point.
DIGITS = 15
# Digits beyond those asked for.
GUARD = 2
# Powers of ten: floats bring about 12 digits of what they were meant to be.
INPUT_DIGITS = -12
# Critical networks are told from others by less than half of the digits.
FEWEST_DIGITS = 6
ONE = sp.Integer(1)


def phase(
    activation: ActivationLike,
    C_W: NumberLike,
    C_b: NumberLike = 0,
    *,
    layer: Layer | str = DENSE,
    values: Mapping[str, NumberLike] | None = None,
    digits: int = DIGITS,
    start: float = 1.0,
) -> Phase:
    r"""What a network does at any $C_W$ and $C_b$: the rates of kernel, correlations and NTK.

    The kernel goes to a fixed point $K^* = C_b + C_W \langle\sigma\sigma\rangle_{K^*}$ as
    $\chi_\parallel^\ell$ (PDLT 5.6–5.9), or grows without bound. There the NTK and the distance of
    near inputs are multiplied by $\chi_\perp$. A network with $\chi_\perp < 1$ is *ordered*: all
    correlations go to 1. With $\chi_\perp > 1$ it is *chaotic*: they go to $\rho^* < 1$. A skip
    $z' = \xi z + b + W\sigma(z)$ adds $\xi^2 K$ to the next kernel and $\xi^2$ to both slopes.

    Args:
        activation: a name such as "tanh", or an expression in z as text or from SymPy.
        C_W: the variance of the weights that read the activation, times the width.
        C_b: the variance of the biases.
        layer: how a layer is made of the one below, as in `criticality`.
        values: numbers for its symbols but for these two and learning rates, such as {"xi": 0.8}.
        digits: how many digits of what is not exact, at least 6.
        start: the kernel of the first layer, from which the kernel sets out.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite somewhere.
        LayerError: if the layer cannot be read, or its recursions do not close.
        SolutionError: if its Gaussian means diverge, the kernel swings, or an argument is unusable.

    >>> found = phase("tanh", 1.5)
    >>> found.side, found.K, found.chi_perp, found.rho
    ('chaotic', 0.286894229379991, 1.04056756503252, 0)
    >>> phase("relu", 3).xi_parallel
    2.46630346237643
    >>> skip = phase("tanh", 1.5, layer="z' = xi z + b + W s(z)", values={"xi": 0.5})
    >>> skip.side, skip.chi_perp, skip.rho_slope
    ('chaotic', 1.07914661532955, 0.966258016600341)
    """
    check_digits(digits, FEWEST_DIGITS)
    _check_start(start)
    C_W, C_b = variance_of(C_W, "C_W", positive=True), variance_of(C_b, "C_b")
    read = read_activation(activation)
    pieces = continuous_pieces(read)
    maps = maps_of(layer, values)
    check_bias(maps, C_b)
    repeated = Repeated(maps, C_W, C_b)
    kernels, chosen = fixed_kernels(pieces, repeated, float(start), digits)
    kernel = kernels[chosen]
    if kernel.chi_parallel < -1:
        raise SolutionError(
            f"The kernel does not come to rest: at K* = {sp.N(kernel.K, 6)} chi_parallel is "
            f"{sp.N(kernel.chi_parallel, 6)}, below -1, so that it swings. Give a smaller C_W."
        )
    side = _side(kernel, digits)
    above = None
    try:
        rho, slope, errors = _correlation(pieces, kernel, side, repeated, digits)
    except TooNearError as near:
        rho, slope, errors, above = None, None, (), near.args[0]
    return Phase(
        activation=read.name,
        C_W=C_W,
        C_b=C_b,
        side=side,
        kernel=kernel,
        rho=rho,
        rho_slope=slope,
        rho_above=above,
        ntk=_ntk(kernel, repeated) if side == ORDERED else None,
        others=tuple(other for k, other in enumerate(kernels) if k != chosen),
        start=float(start),
        errors=errors,
        layer=maps.layer,
        values=maps.values,
    )


def _check_start(start: object) -> None:
    if not is_positive_number(start, LEAST, MOST):
        raise SolutionError(
            f"{short_repr(start)} is not a kernel to start from. It stands as start in the call. "
            f"Give a number from {LEAST} to {MOST}; 1 is usual."
        )


def _side(kernel: FixedKernel, digits: int) -> str:
    if kernel.K is sp.oo:
        return UNBOUNDED
    excess = kernel.chi_perp - 1
    tolerance = sp.Float(10) ** max(1 - digits, INPUT_DIGITS) if kernel.errors else 0
    if abs(excess) <= tolerance:
        return CRITICAL
    return CHAOTIC if excess > 0 else ORDERED


def _correlation(
    pieces: tuple[SmoothPiece, ...],
    kernel: FixedKernel,
    side: str,
    layer: Repeated,
    digits: int,
) -> tuple[sp.Expr | None, sp.Expr | None, Errors]:
    """ρ*, the slope of the map there, and their errors."""
    slopes = slopes_of(pieces)
    biased = layer.C_b != 0
    if kernel.K in ENDS or (slopes.scale_invariant and not biased):
        return (*_without_scale(slopes, kernel, biased), ())
    if side != CHAOTIC:
        slope = kernel.chi_perp if side == ORDERED else None
        return ONE, slope, ()
    working = max(digits, 10) + GUARD
    K, at = refined(pieces, float(kernel.K), layer, working + MORE)
    with mp.workdps(working + MORE):
        parts = [number(part) for part in layer.maps.parts(layer.C_b, layer.C_W)]
    first, second = (
        fixed_correlation(pieces, K, at.g, parts, precision)
        for precision in (working, working + MORE)
    )
    errors = tuple(
        (name, rounded(abs(a - b), 2))
        for name, a, b in zip(("rho", "rho_slope"), first, second, strict=True)
    )
    rho, slope = (rounded(value, digits) if value else sp.Integer(0) for value in second)
    return rho, slope, errors


def _without_scale(
    slopes: Slopes, kernel: FixedKernel, biased: bool
) -> tuple[sp.Integer | None, None]:
    """Where every kernel gives the same map: a straight line, or one on each side of zero."""
    left, right = slopes.far if kernel.K is sp.oo else slopes.near
    if not kernel.chi_perp.is_finite or kernel.chi_perp == 0:
        return None, None
    # Only a skip makes a kernel grow then, linearly, and what is added decides, not slopes.
    if kernel.K is sp.oo and left == right == 0 and kernel.chi_perp == 1:
        return None, None
    kept = left == right and not (biased and kernel.chi_perp == 1)
    return (None, None) if kept else (ONE, None)


def _ntk(kernel: FixedKernel, layer: Repeated) -> sp.Expr:
    """The fixed point of the NTK, from its recursion."""
    means = dict(zip(layer.maps.products, (kernel.mean_square, kernel.chi_perp), strict=True))
    known = {**dict(layer.maps.values), layer.maps.weight: layer.C_W}
    source = sp.Integer(0)
    for term in derive("H", inputs="one", layer=layer.maps.layer).terms:
        tensors = [tensor.correlator.name for tensor in term.tensors]
        if "H" not in tensors:
            product = sp.Rational(*term.coefficient.as_integer_ratio())
            product *= kernel.K ** len(tensors)
            for bracket in term.brackets:
                product *= means[tuple(order for _, order in bracket.factors)]
            for name, power in term.hyperparameters.named:
                product *= known.get(name, named(name)) ** power
            source += product
    return sp.expand(source / (1 - kernel.chi_perp))
