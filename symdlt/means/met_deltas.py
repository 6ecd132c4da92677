r"""Products of four functions with delta functions that meet, or are differentiated.

At one line of samples two functions meet at a kink. Their product is a function on both sides, and
derivatives of delta functions there,

$$f_a f_b = [f_a f_b] + \sum_r c_r^{ab}\,δ^{(r)} ,$$

whose coefficients follow by Leibniz' rule $f_a f_b = (f_a f_{b-1})' - f_{a+1} f_{b-1}$ from those
of $f_a f_{a+1} = \frac12 (f_a^2)'$ and of $f_a f_a$. The square of a delta function is infinite,
and any number may stand for it: what is finite does not depend on it. Stein's lemma (C. Stein,
1972) takes the derivatives to the functions on other lines, in units of these,

$$⟨δ^{(r)}(x - x_0)\,G⟩ = x_0⟨δ^{(r-1)}G⟩ - (r-1)⟨δ^{(r-2)}G⟩ - \sum_L ρ_L ⟨δ^{(r-1)}\,∂_L G⟩ .$$
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cache

import numpy as np

from symdlt.errors import InfiniteMeanError
from symdlt.means.grids import evaluate
from symdlt.means.kinked_planes import (
    NEAR,
    Setting,
    atom_mass,
    delta_at,
    kink_at,
    kinks_of,
    line_correlation,
)

Product4 = tuple[tuple[int, int], ...]
SimpleParts = dict[Product4, float]
Side = Callable[[int], tuple[float, float]]  # of each derivative
# Factors of one line whose products are defined; those of three depend on smoothing.
MOST_THAT_MEET = 2


def parts_of(setting: Setting, product: Product4, square: float) -> SimpleParts:
    """A product as a sum of such with simple delta functions alone, as planes take them.

    Args:
        setting: functions, kinks and lines of samples.
        product: orders of derivatives with their samples.
        square: what stands for the square of a delta function, in front of a delta function.

    Raises:
        InfiniteMeanError: where more than two functions meet so, and for derivatives of delta
            functions at two lines.
    """
    parts: defaultdict[Product4, float] = defaultdict(float)
    todo: list[tuple[float, Product4, frozenset[int]]] = [(1.0, product, frozenset())]
    while todo:
        number, factors, done = todo.pop()
        line = next((n for n in _hard_lines(setting, factors) if n not in done), None)
        if line is None:
            parts[tuple(sorted(factors))] += number
            continue
        own, rest = _split(setting, factors, line)
        if len(own) > MOST_THAT_MEET and _is_damped(setting, own, line):
            todo.append((number, factors, done | {line}))
            continue
        if len(own) > MOST_THAT_MEET:
            raise InfiniteMeanError(
                f"The mean of functions {tuple(order for order, _ in product)} is infinite where "
                "samples meet, or depends on how the kink is smoothed: delta functions are in it "
                "more than once or differentiated, at three functions or more. Give a smoother "
                "activation, or ask for tensors without this mean."
            )
        todo.append((number, factors, done | {line}))
        for place, atom in enumerate(kinks_of(setting, line).tolist()):
            marked = (delta_at(place), int(setting.lines.leads[line]))
            for r, c in enumerate(_coefficients(setting, own, atom, square)):
                for scale, left in _without_derivatives(setting, line, atom, r, rest) if c else ():
                    todo.append((number * c * scale, (marked, *left), done | {line}))
    return {factors: number for factors, number in parts.items() if number}


def _is_damped(setting: Setting, own: Product4, line: int) -> bool:
    """Whether factors that vanish at a kink leave nothing of the delta functions there.

    Smoothed over a width w, a product of powers w^p in sum has w^(1 + p) at the kink.
    """
    kinks = setting.kinks
    for atom in kinks_of(setting, line).tolist():
        powers = 1
        for order, m in own:
            z = float(setting.lines.roots[m] * setting.lines.signs[m]) * atom
            kink = kink_at(kinks, z)
            place = z if kink is None else float(kinks.places[kink])
            beside = np.array([np.nextafter(place, -math.inf), np.nextafter(place, math.inf)])
            values = (
                evaluate(f, k, beside) for k, f in enumerate(setting.functions[order:], order)
            )
            power = next((s for s, value in enumerate(values) if np.abs(value).max() > NEAR), 0)
            if kink is not None and (met := np.flatnonzero(kinks.jumps[kink, :order])).size:
                power = min(power, int(met[0]) - order)
            powers += power
        if powers <= 0:
            return False
    return True


def _split(setting: Setting, factors: Product4, line: int) -> tuple[Product4, Product4]:
    """The factors on a line, and the others."""
    own = tuple(f for f in factors if setting.lines.line[f[1]] == line)
    return own, tuple(f for f in factors if setting.lines.line[f[1]] != line)


def _hard_lines(setting: Setting, factors: Product4) -> list[int]:
    """The lines with two delta functions, or the derivative of one."""
    jumps = setting.kinks.jumps
    found = []
    for line in sorted({int(setting.lines.line[m]) for _, m in factors}):
        own, _ = _split(setting, factors, line)
        orders = [order for order, _ in own if order > 0]
        deltas = sum(bool(jumps[:, order - 1].any()) for order in orders)
        if deltas > 1 or any(jumps[:, : order - 1].any() for order in orders):
            found.append(line)
    return found


def _coefficients(setting: Setting, own: Product4, atom: float, square: float) -> list[float]:
    """Of each derivative of the delta function at a kink, beyond what planes give it."""
    lines, kinks = setting.lines, setting.kinks
    steps = [float(lines.roots[m] * lines.signs[m]) for _, m in own]
    met = [kink_at(kinks, step * atom) for step in steps]
    if len(own) == 1:
        ((order, _),), (step,), (kink,) = own, steps, met
        if kink is None:
            return []
        jumps = kinks.jumps[kink]
        return [
            0.0 if r == 0 else float(jumps[order - 1 - r]) / (abs(step) * step**r)
            for r in range(order)
        ]
    (a, _), (b, _) = own
    one, other = met
    if one is None or other is None:
        single = [(order, kink) for (order, _), kink in zip(own, met, strict=True)]
        if any(kink is not None and kinks.jumps[kink, : k - 1].any() for k, kink in single if k):
            raise InfiniteMeanError(
                "Samples of one direction have a kink at different places, and the derivative of a "
                "delta function there. Such means are not known. Give samples that are not "
                "parallel."
            )
        return []
    found = _met(_side(setting, one, steps[0]), _side(setting, other, steps[1]), square)(a, b)
    scaled = [number / (steps[0] ** a * steps[1] ** b) for number in found] or [0.0]
    scaled[0] -= atom_mass(setting, own, atom)
    return scaled


def _met(left: Side, right: Side, square: float) -> Callable[[int, int], tuple[float, ...]]:
    """The coefficients of two functions along a line that have a kink at the same place."""

    @cache
    def singular(a: int, b: int) -> tuple[float, ...]:
        if a == b:
            return (square,) if a and left(a - 1)[1] and right(b - 1)[1] else ()
        if b == a + 1:
            return (left(a)[0] * right(a)[1],)
        if a == b + 1:
            return (right(b)[0] * left(b)[1],)
        below = (a, b - 1) if a < b else (a - 1, b)
        beside = (a + 1, b - 1) if a < b else (a - 1, b + 1)
        (middle, jump), (level, step) = left(below[0]), right(below[1])
        whole = [middle * step + jump * level, *singular(*below)]
        for r, number in enumerate(singular(*beside)):
            whole[r] -= number
        return tuple(whole)

    return singular


def _side(setting: Setting, kink: int, step: float) -> Side:
    """Of f(step x) and its derivatives by x the mean of both sides of a kink, and the jump."""
    place = float(setting.kinks.places[kink])
    beside = np.array([np.nextafter(place, -math.inf), np.nextafter(place, math.inf)])

    def at(order: int) -> tuple[float, float]:
        middle = float(evaluate(setting.functions[order], order, beside).mean())
        jump = float(setting.kinks.jumps[kink, order]) * math.copysign(1.0, step)
        return step**order * middle, step**order * jump

    return at


def _without_derivatives(
    setting: Setting, line: int, atom: float, r: int, rest: Product4
) -> list[tuple[float, Product4]]:
    """A mean with a derivative of a delta function at a line as means with the delta function."""
    if r == 0:
        return [(1.0, rest)]
    parts = _scaled(atom, _without_derivatives(setting, line, atom, r - 1, rest))
    if r > 1:
        parts += _scaled(1.0 - r, _without_derivatives(setting, line, atom, r - 2, rest))
    for place, (order, m) in enumerate(rest):
        rho = line_correlation(setting, line, int(setting.lines.line[m]))
        if rho == 0.0:
            continue
        if order < 0:
            raise InfiniteMeanError(
                "A mean of four has derivatives of delta functions at two different samples. Such "
                "means are not known. Ask for other tensors, or smooth the kink."
            )
        slope = float(setting.lines.roots[m] * setting.lines.signs[m])
        moved = (*rest[:place], (order + 1, m), *rest[place + 1 :])
        parts += _scaled(-rho * slope, _without_derivatives(setting, line, atom, r - 1, moved))
    return parts


def _scaled(number: float, parts: list[tuple[float, Product4]]) -> list[tuple[float, Product4]]:
    return [(number * scale, left) for scale, left in parts if number]
