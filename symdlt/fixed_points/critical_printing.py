"""Criticality as text."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symdlt.fixed_points.critical_points import Criticality, CriticalPoint


def text(found: Criticality) -> str:
    """A header, a block for each critical point, the reasons and what was searched."""
    lines = [f"{found.activation}: {_headline(found.universality)}"]
    for point in found.points:
        lines += ["", *_block(point)]
    if found.reasons:
        lines += ["", *found.reasons]
    if found.scanned is not None:
        low, high = (f"{end:g}" for end in found.scanned)
        lines += ["", f"Points with K* > 0 were sought for K from {low} to {high}."]
    return "\n".join(lines)


def _headline(universality: str) -> str:
    return universality if universality.startswith("no ") else f"universality class {universality}"


def _block(point: CriticalPoint) -> list[str]:
    errors = dict(point.errors)
    K = "any K" if point.K is None else f"K* = {_number(point.K)}"
    accuracy = "exact" if point.exact else "numerical"
    lines = [f"{K}, {_stability(point)} ({accuracy})"]
    rows = [("C_b", point.C_b), ("C_W", point.C_W)]
    rows += [("chi_parallel", point.chi_parallel), ("chi_perp", point.chi_perp)]
    if point.kernel_power is not None:
        rows.append(("a_1", point.a_1))
    elif point.stability == "stable":
        lines.append("  no power of K moves the kernel: it shrinks slower than every power of l")
    if point.perp_power is not None:
        rows.append(("b_1", point.b_1))
    if point.p_perp is not None:
        rows.append(("p_perp", point.p_perp))
    if "K" in errors:
        lines.append(f"  {'error of K*':<12} {_number(errors['K'])}")
    for name, value in rows:
        error = f"   (error {_number(errors[name])})" if name in errors else ""
        lines.append(f"  {name:<12} {_number(value)}{error}{_meaning(name, point)}")
    return lines


def _stability(point: CriticalPoint) -> str:
    if point.K is None:
        return "every kernel is kept"
    if point.stability == "undecided":
        return "stability undecided"
    return f"{point.stability}, approached {point.approached}"


def _meaning(name: str, point: CriticalPoint) -> str:
    difference = "K" if point.K == 0 else "(K - K*)"
    if name == "a_1":
        return f"   K' - K = a_1 {_power(difference, point.kernel_power)} + ..."
    if name == "b_1":
        return f"   chi_perp = 1 + b_1 {_power(difference, point.perp_power)} + ..."
    return ""


def _power(base: str, exponent: Any) -> str:
    if exponent == 1:
        return base
    return f"{base}^{exponent}" if exponent.is_Integer else f"{base}^({exponent})"


def _number(value: Any) -> str:
    shown = str(sp.sstr(value, full_prec=False)).replace("**", "^").removesuffix(".0")
    return shown if len(shown) <= 60 else f"{sp.sstr(value.evalf(30), full_prec=False)}"
