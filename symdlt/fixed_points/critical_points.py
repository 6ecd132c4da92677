"""What `criticality` returns, and as text: critical points and the class of an activation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.definitions import DENSE, Layer, Stack
from symdlt.display import ShownAsText
from symdlt.fixed_points.number_text import layer_entries, of_layers, power_text, shown

SCALE_INVARIANT = "scale-invariant"
ZERO = "K*=0"
HALF_STABLE = "half-stable"
NONE = "no criticality"
SCHEMA = {"schema": "symdlt.criticality", "version": 1}


@dataclass(frozen=True, slots=True)
class CriticalPoint:
    r"""A fixed point of the kernel at which both susceptibilities are 1.

    $$K' - K^* = \Delta K + a_1 \Delta K^q + \cdots, \qquad
      \chi_\perp = 1 + b_1 \Delta K^r + \cdots, \qquad \Delta K = K - K^*$$

    Exact numbers are exact SymPy numbers, others SymPy floats.

    Attributes:
        K: the fixed point K*, or None if every K is one.
        C_b: the variance of the biases.
        C_W: the variance of the weights, times the width.
        chi_parallel: the parallel susceptibility.
        chi_perp: the perpendicular susceptibility.
        kernel_power: q; 2 unless a kink or a cancellation changes it, None without such a term.
        a_1: its coefficient.
        perp_power: r, or None without such a term.
        b_1: its coefficient.
        stability: "stable", "unstable", "half-stable", "neutral" or "undecided".
        approached: from where the kernel comes to K*: "from above", "from below", "from nowhere",
            "every K stays" or "undecided".
        errors: names and errors of the numbers that are not exact, from eight more digits.
        symbols: what the layer calls C_b, None if it has no biases, and C_W.
        others: variances of further biases, by their names.
    """

    K: sp.Expr | None
    C_b: sp.Expr
    C_W: sp.Expr
    chi_parallel: sp.Expr
    chi_perp: sp.Expr
    kernel_power: sp.Rational | None
    a_1: sp.Expr
    perp_power: sp.Rational | None
    b_1: sp.Expr
    stability: str
    approached: str
    errors: tuple[tuple[str, sp.Float], ...] = ()
    symbols: tuple[str | None, str] = ("C_b", "C_W")
    others: tuple[tuple[str, sp.Expr], ...] = ()

    @property
    def variances(self) -> tuple[tuple[str, sp.Expr], ...]:
        """The critical hyperparameters by the names that the layer gives them."""
        pairs = zip(self.symbols, (self.C_b, self.C_W), strict=True)
        named = ((name, value) for name, value in pairs if name is not None)
        return (*self.others, *named)

    @property
    def exact(self) -> bool:
        """Whether its numbers are exact."""
        return not self.errors

    @property
    def p_perp(self) -> sp.Expr | None:
        r"""The exponent $p_\perp$ in $\chi_\perp = 1 - p_\perp/\ell + \cdots$, or None.

        It exists if the kernel comes to K* by a power of the depth, and fast enough.
        """
        if self.K is None:
            return sp.Integer(0)
        if self.kernel_power is None or self.stability in ("unstable", "undecided"):
            return None
        if self.perp_power is None:
            return sp.Integer(0)
        rest = self.perp_power - (self.kernel_power - 1)
        if rest < 0:
            return None
        ratio = self.b_1 / ((self.kernel_power - 1) * self.a_1)
        return sp.factor(ratio) if rest == 0 else sp.Integer(0)

    def __repr__(self) -> str:
        K = "any" if self.K is None else self.K
        variances = ", ".join(f"{name}={value}" for name, value in self.variances)
        return f"CriticalPoint(K={K}, {variances}, {self.stability})"[:200]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as text; K is "any" if every K is a fixed point."""
        numbers = {name: _text(value) for name, value in self.named().items()}
        return {
            **numbers,
            "exact": self.exact,
            "stability": self.stability,
            "approached": self.approached,
            "errors": {name: _text(error) for name, error in self.errors},
        }

    def named(self) -> dict[str, sp.Expr | str | None]:
        """The numbers by name."""
        return {
            "K": "any" if self.K is None else self.K,
            **dict(self.variances),
            "chi_parallel": self.chi_parallel,
            "chi_perp": self.chi_perp,
            "kernel_power": self.kernel_power,
            "a_1": self.a_1,
            "perp_power": self.perp_power,
            "b_1": self.b_1,
            "p_perp": self.p_perp,
        }


@dataclass(frozen=True, slots=True)
class Criticality(ShownAsText):
    """Whether and how a network with an activation can be critical.

    Attributes:
        activation: as it was given.
        universality: "scale-invariant", "K*=0", "half-stable" or "no criticality".
        points: all critical points with C_b >= 0, the one to initialise at first.
        reasons: what speaks against criticality, or against other points; sentences.
        scanned: the lowest and the highest K between which points with K* > 0 were sought, or
            None if every K is a fixed point.
        digits: how many digits were asked for.
        layer: how a layer is made of the one below.
    """

    activation: str
    universality: str
    points: tuple[CriticalPoint, ...]
    reasons: tuple[str, ...]
    scanned: tuple[float, float] | None
    digits: int
    layer: Layer | Stack = DENSE

    @property
    def critical(self) -> bool:
        """Whether there is a point to initialise at."""
        return self.universality != NONE

    def __str__(self) -> str:
        return _criticality_text(self)

    def __repr__(self) -> str:
        return (
            f"Criticality({self.activation[:60]}: {self.universality}, {len(self.points)} points)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and strings, which `--format json` prints."""
        return {
            **SCHEMA,
            "activation": self.activation,
            **layer_entries(self.layer),
            "class": self.universality,
            "points": [point.to_dict() for point in self.points],
            "reasons": list(self.reasons),
            "scanned": list(self.scanned) if self.scanned else None,
            "digits": self.digits,
        }


def _text(value: sp.Expr | str | None) -> str | None:
    return None if value is None else str(sp.sstr(value, full_prec=False))


def _criticality_text(answer: Criticality) -> str:
    """A header, a block for each critical point, the reasons and what was searched."""
    lines = [f"{answer.activation}: {_headline(answer.universality)}{of_layers(answer.layer)}"]
    for point in answer.points:
        lines += ["", *_block(point)]
    if answer.reasons:
        lines += ["", *answer.reasons]
    if answer.scanned is not None:
        low, high = (f"{end:g}" for end in answer.scanned)
        lines += ["", f"Points with K* > 0 were sought for K from {low} to {high}."]
    return "\n".join(lines)


def _headline(universality: str) -> str:
    return universality if universality.startswith("no ") else f"universality class {universality}"


def _block(point: CriticalPoint) -> list[str]:
    errors = dict(point.errors)
    K = "any K" if point.K is None else f"K* = {shown(point.K)}"
    accuracy = "exact" if point.exact else "numerical"
    lines = [f"{K}, {_stability(point)} ({accuracy})"]
    rows = [*point.variances, ("chi_parallel", point.chi_parallel), ("chi_perp", point.chi_perp)]
    if point.kernel_power is not None:
        rows.append(("a_1", point.a_1))
    elif point.stability == "stable":
        lines.append("  no power of K moves the kernel: it shrinks slower than every power of l")
    if point.perp_power is not None:
        rows.append(("b_1", point.b_1))
    if point.p_perp is not None:
        rows.append(("p_perp", point.p_perp))
    if "K" in errors:
        lines.append(f"  {'error of K*':<12} {shown(errors['K'])}")
    for name, value in rows:
        error = f"   (error {shown(errors[name])})" if name in errors else ""
        lines.append(f"  {name:<12} {shown(value)}{error}{_meaning(name, point)}")
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
        return f"   K' - K = a_1 {power_text(difference, point.kernel_power)} + ..."
    if name == "b_1":
        return f"   chi_perp = 1 + b_1 {power_text(difference, point.perp_power)} + ..."
    return ""
