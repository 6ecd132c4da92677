r"""How what varies over positions moves from layer to layer, where the uniform part is critical.

A circular window of s positions takes a covariance $\epsilon_p$ of pairs at one distance, that is
small against the uniform one, to

$$\epsilon'_p = \chi\,\frac1s \sum_q \epsilon_{p+q}
  = \chi\,\epsilon_p\,\frac1s\sum_q e^{ikq} \quad\text{for}\quad \epsilon_p \propto e^{ikp} .$$

A skip keeps its share, and windows behind each other are multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy as sp

from symdlt.definitions import Stack, Window, ascii_name, keeps_inside, steps_of
from symdlt.fixed_points.arguments import variance_of
from symdlt.precision import NumberLike

UNIFORM = (
    "an input that is the same at all positions, where each window of {} adds up to one weight"
)


def window_factor(window: Window) -> sp.Expr:
    """The mean of exp(i k q) over the offsets of a window.

    >>> window_factor(Window.read("3")), window_factor(Window.read("2"))
    (2*cos(k)/3 + 1/3, exp(I*k)/2 + 1/2)
    """
    several = len(window.kernel) > 1
    axes = enumerate(window.kernel, 1)
    return sp.Mul(*(_of_axis(size, f"k_{axis}" if several else "k") for axis, size in axes))


def _of_axis(size: int, name: str) -> sp.Expr:
    k = sp.Symbol(name, real=True)
    waves = [sp.exp(sp.I * k * (q - (size - 1) // 2)) for q in range(size)]
    total = sum(waves, sp.Integer(0)) / size
    return sp.expand(sp.expand(total, complex=True)) if size % 2 else total


def mode_sentences(layer: Stack, values: Mapping[str, NumberLike] | None) -> Iterator[str]:
    """What a critical layer does to modes, where each of its steps has one window.

    Args:
        layer: the layer with its windows.
        values: of its symbols, as `criticality` takes them.
    """
    yield f"It is that of {UNIFORM.format(layer)}."
    kept = sp.Integer(0)
    for constant, _ in layer.streams[-1].kept:
        ((monomial, factor),) = constant.terms
        known = (
            variance_of((values or {})[ascii_name(x)], x, signed=True) ** p for x, p in monomial
        )
        kept += sp.Mul(sp.Rational(*factor.as_integer_ratio()), *known) ** 2
    share = 1 - kept
    if keeps_inside(layer):
        yield "Fields inside keep others, so that modes are not told apart."
        return
    for step in steps_of(layer, leading=True, written=True):
        windows = {branch.window for branch in step.branches if branch.summed}
        if len(windows) != 1:
            yield "Weights of one step have several windows, so that modes are not told apart."
            return
        (window,) = windows
        share *= window_factor(window) if window is not None else 1
    yield (
        "What is small of a covariance and goes along the positions p as exp(i k p) is multiplied "
        f"by {kept + share} from layer to layer, and what is uniform by 1."
    )
