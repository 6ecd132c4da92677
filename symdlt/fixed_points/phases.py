"""Networks off criticality: where kernel, correlations and NTK go, and how fast."""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

import sympy as sp

from symdlt.activations import activation as read_activation
from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.derivation import derive
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import (
    LEAST,
    MOST,
    check_digits,
    continuous_pieces,
    is_positive_number,
    variance_of,
)
from symdlt.fixed_points.correlation import TooNearError, fixed_correlation
from symdlt.fixed_points.fixed_kernels import ENDS, Slopes, fixed_kernels, refined, slopes_of
from symdlt.fixed_points.kernel_map import kernel_map
from symdlt.fixed_points.phase_result import (
    CHAOTIC,
    CRITICAL,
    ORDERED,
    UNBOUNDED,
    FixedKernel,
    Phase,
)
from symdlt.precision import mp, number, rounded
from symdlt.symbols import named

# Those of floating point.
DIGITS = 15
# Digits beyond those asked for, and more for the second computation, which gives the error.
GUARD = 2
# Enough for the second to be exact next to the first; convention.
MORE = 8
# Powers of ten: floats bring about 12 digits of what they were meant to be.
INPUT_DIGITS = -12
# Critical networks are told from others by less than half of the digits.
FEWEST_DIGITS = 6
ONE = sp.Integer(1)


def phase(
    activation: Any, C_W: Any, C_b: Any = 0, *, digits: int = DIGITS, start: float = 1.0
) -> Phase:
    r"""What a network does at any $C_W$ and $C_b$: the rates of kernel, correlations and NTK.

    The kernel goes to a fixed point $K^* = C_b + C_W \langle\sigma\sigma\rangle_{K^*}$ as
    $\chi_\parallel^\ell$ (PDLT 5.6–5.9), or grows without bound. There the NTK and the distance of
    near inputs are multiplied by $\chi_\perp$. A network with $\chi_\perp < 1$ is *ordered*: all
    correlations go to 1. With $\chi_\perp > 1$ it is *chaotic*: they go to $\rho^* < 1$.

    Args:
        activation: a name such as "tanh", or an expression in z as text or from SymPy.
        C_W: the variance of the weights, times the width.
        C_b: the variance of the biases.
        digits: how many digits of what is not exact, at least 6.
        start: the kernel of the first layer, from which the kernel sets out.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite somewhere.
        SolutionError: if its Gaussian means diverge, the kernel swings, or an argument is unusable.

    >>> found = phase("tanh", 1.5)
    >>> found.side, found.K, found.chi_perp, found.rho
    ('chaotic', 0.286894229379991, 1.04056756503252, 0)
    >>> phase("relu", 3).xi_parallel
    2.46630346237643
    """
    check_digits(digits, FEWEST_DIGITS)
    _check_start(start)
    C_W, C_b = variance_of(C_W, "C_W", positive=True), variance_of(C_b, "C_b")
    read = read_activation(activation)
    pieces = continuous_pieces(read)
    kernels, chosen = fixed_kernels(pieces, C_W, C_b, float(start), digits)
    kernel = kernels[chosen]
    if kernel.chi_parallel < -1:
        raise SolutionError(
            f"The kernel does not come to rest: at K* = {sp.N(kernel.K, 6)} chi_parallel is "
            f"{sp.N(kernel.chi_parallel, 6)}, below -1, so that it swings. Give a smaller C_W."
        )
    side = _side(kernel, digits)
    above = None
    try:
        rho, slope, errors = _correlation(pieces, kernel, side, (C_W, C_b), digits)
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
        ntk=_ntk(kernel) if side == ORDERED else None,
        others=tuple(other for k, other in enumerate(kernels) if k != chosen),
        start=float(start),
        errors=errors,
    )


def _check_start(start: Any) -> None:
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
    variances: tuple[Any, Any],
    digits: int,
) -> tuple[Any, Any, tuple[tuple[str, Any], ...]]:
    """ρ*, the slope of the map there, and their errors."""
    slopes = slopes_of(pieces)
    if kernel.K in ENDS or (slopes.scale_invariant and variances[1] == 0):
        return (*_without_scale(slopes, kernel, variances[1]), ())
    if side != CHAOTIC:
        slope = kernel.chi_perp if side == ORDERED else None
        return ONE, slope, ()
    working = max(digits, 10) + GUARD
    K, at = refined(pieces, float(kernel.K), variances, working + MORE)
    with mp.workdps(working + MORE):
        C_W, C_b = map(number, variances)
    first, second = (
        fixed_correlation(pieces, K, at.g, (C_b, C_W), precision)
        for precision in (working, working + MORE)
    )
    errors = tuple(
        (name, rounded(abs(a - b), 2))
        for name, a, b in zip(("rho", "rho_slope"), first, second, strict=True)
    )
    rho, slope = (rounded(value, digits) if value else sp.Integer(0) for value in second)
    return rho, slope, errors


def _without_scale(slopes: Slopes, kernel: FixedKernel, C_b: Any) -> tuple[Any, Any]:
    """Where every kernel gives the same map: a straight line, or one on each side of zero."""
    left, right = slopes.far if kernel.K is sp.oo else slopes.near
    if not kernel.chi_perp.is_finite or kernel.chi_perp == 0:
        return None, None
    biased = C_b != 0 and kernel.chi_perp == 1
    return (None, None) if left == right and not biased else (ONE, None)


def _ntk(kernel: FixedKernel) -> Any:
    """The fixed point of the NTK, from its recursion."""
    means = dict(zip(kernel_map().products, (kernel.mean_square, kernel.chi_perp), strict=True))
    source = sp.Integer(0)
    for term in derive("H", inputs="one").terms:
        if not term.tensors:
            number = sp.Rational(*term.coefficient.as_integer_ratio())
            for bracket in term.brackets:
                number *= means[tuple(order for _, order in bracket.factors)]
            for name, power in term.hyperparameters.named:
                number *= named(name) ** power
            source += number
    return sp.expand(source / (1 - kernel.chi_perp))
