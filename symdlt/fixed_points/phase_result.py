"""What `phase` returns: the rates of a network at any variances, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.definitions import DENSE, Layer
from symdlt.display import ShownAsText
from symdlt.fixed_points.kernel_curve import Errors
from symdlt.fixed_points.number_text import brief, layer_entries, of_layers, text

SCHEMA = {"schema": "symdlt.phase", "version": 1}
# Of depths, which are logarithms of numbers with as many.
SCALE_DIGITS = 15
ORDERED, CHAOTIC, CRITICAL, UNBOUNDED = "ordered", "chaotic", "critical", "unbounded"
FASTER = ", faster than exponentially"


@dataclass(frozen=True, slots=True)
class FixedKernel:
    r"""A fixed point of the kernel, $K^* = C_b + C_W \langle\sigma\sigma\rangle_{K^*}$.

    Attributes:
        K: the fixed point; infinity for a kernel that grows without bound.
        chi_parallel: what multiplies a small $K - K^*$ from layer to layer; at infinity what
            multiplies K, or infinity if that grows itself.
        chi_perp: what multiplies the NTK and the distance of two near inputs.
        mean_square: $\langle\sigma\sigma\rangle$ there, or None where it is not told from a kernel
            that grows faster.
        errors: names and errors of the numbers that are not exact, from eight more digits.
    """

    K: sp.Expr
    chi_parallel: sp.Expr
    chi_perp: sp.Expr
    mean_square: sp.Expr | None
    errors: Errors = ()

    @property
    def stable(self) -> bool:
        """Whether kernels near it come to it."""
        return self.K is sp.oo or bool(abs(self.chi_parallel) < 1)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as text."""
        return {
            "K": text(self.K),
            "chi_parallel": text(self.chi_parallel),
            "chi_perp": text(self.chi_perp),
            "mean_square": None if self.mean_square is None else text(self.mean_square),
            "stable": self.stable,
            "errors": {name: text(error) for name, error in self.errors},
        }


@dataclass(frozen=True, slots=True)
class Phase(ShownAsText):
    r"""What becomes of kernel, correlations and NTK at given $C_W$ and $C_b$.

    Attributes:
        activation: as it was given.
        C_W: the variance of the weights, times the width.
        C_b: the variance of the biases.
        side: "ordered", "chaotic" or "critical", of $\chi_\perp$ below, above or at 1, or
            "unbounded" if the kernel has no fixed point to go to.
        kernel: the fixed point that the kernel goes to from `start`.
        rho: the correlation that two samples go to, or None if it depends on them.
        rho_slope: what multiplies a small $\rho - \rho^*$ from layer to layer at K*, or None.
        rho_above: a bound below a ρ* < 1 that is too near to 1 to be computed, else None.
        ntk: where the NTK goes, in λ_b and λ_W, or None if it grows without bound.
        others: the fixed points that the kernel does not go to.
        start: the kernel of the first layer.
        errors: errors of rho and rho_slope if they are not exact.
        layer: how a layer is made of the one below.
        values: of its symbols other than those of C_W, C_b and learning rates.
    """

    activation: str
    C_W: sp.Expr
    C_b: sp.Expr
    side: str
    kernel: FixedKernel
    rho: sp.Expr | None
    rho_slope: sp.Expr | None
    rho_above: float | None
    ntk: sp.Expr | None
    others: tuple[FixedKernel, ...]
    start: float
    errors: Errors = ()
    layer: Layer = DENSE
    values: tuple[tuple[str, sp.Expr], ...] = ()

    @property
    def K(self) -> sp.Expr:
        """Where the kernel goes."""
        return self.kernel.K

    @property
    def chi_parallel(self) -> sp.Expr:
        """What multiplies a deviation of the kernel from layer to layer."""
        return self.kernel.chi_parallel

    @property
    def chi_perp(self) -> sp.Expr:
        """What multiplies the NTK from layer to layer."""
        return self.kernel.chi_perp

    @property
    def xi_parallel(self) -> sp.Expr:
        r"""The depth $1/|\log|\chi_\parallel||$ over which K comes to K*, or grows e-fold."""
        return depth_scale(self.chi_parallel)

    @property
    def xi_perp(self) -> sp.Expr:
        r"""The depth $1/|\log\chi_\perp|$ over which near inputs and the NTK change e-fold."""
        return depth_scale(self.chi_perp)

    @property
    def rho_factor(self) -> sp.Expr | None:
        r"""What multiplies $\rho - \rho^*$ from layer to layer, while K comes to K* as well.

        Kernels on their way move the correlation by $K - K^*$, and by its square where ρ* is 1.
        """
        if self.rho_slope is None:
            return None
        kernel = self.chi_parallel**2 if self.rho == 1 else abs(self.chi_parallel)
        return max(self.rho_slope, kernel)

    @property
    def ntk_factor(self) -> sp.Expr:
        """What multiplies the distance of the NTK from its limit, or the NTK if it has none."""
        return self.chi_perp if self.ntk is None else max(self.chi_perp, abs(self.chi_parallel))

    @property
    def xi_rho(self) -> sp.Expr | None:
        """The depth over which correlations come to ρ*, or None if by no exponential."""
        return None if self.rho_slope is None else depth_scale(self.rho_factor)

    def __repr__(self) -> str:
        return f"Phase({self.activation[:60]}, C_W={self.C_W}, C_b={self.C_b}: {self.side})"[:200]

    def __str__(self) -> str:
        errors = dict(self.kernel.errors) | dict(self.errors)
        rows = [
            ("K*", self.K, "K"),
            ("chi_parallel", self.chi_parallel, "chi_parallel"),
            ("chi_perp", self.chi_perp, "chi_perp"),
            ("rho*", self.rho, "rho"),
            ("slope at rho*", self.rho_slope, "rho_slope"),
        ]
        lines = [f"{self.activation}: {self.side}, C_W = {text(self.C_W)}, C_b = {text(self.C_b)}"]
        lines[0] += "".join(f", {name} = {text(value)}" for name, value in self.values)
        lines[0] += of_layers(self.layer)
        for label, value, name in rows:
            if value is not None:
                error = f"   (error {text(errors[name])})" if errors.get(name) else ""
                lines.append(f"  {label:<14} {text(value)}{error}")
        lines += ["", self._kernel_sentence(), self._correlation_sentence(), self._ntk_sentence()]
        for other in self.others:
            marginal = "marginal" if other.chi_parallel == 1 else "unstable"
            kind = "stable" if other.stable else marginal
            lines.append(
                f"There is a fixed point K = {brief(other.K)} as well, {kind}, with "
                f"chi_parallel = {brief(other.chi_parallel)}."
            )
        return "\n".join(lines)

    @property
    def _depth(self) -> str:
        """The letter of a depth; another one where the layer has a constant ξ."""
        return "d" if "xi" in dict(self.values) else "xi"

    @property
    def _decay(self) -> str:
        return f"exp(-l/{self._depth}), {self._depth}"

    def _kernel_sentence(self) -> str:
        origin = f"From K = {self.start:g} the kernel"
        if self.K is sp.oo:
            if self.chi_parallel == sp.oo:
                return f"{origin} explodes, faster than exponentially: there is no fixed point."
            if self.chi_parallel == 1:
                return f"{origin} grows without bound, slower than exponentially."
            return (
                f"{origin} explodes by a factor {brief(self.chi_parallel)} a layer, e-fold in "
                f"{brief(self.xi_parallel)} layers: there is no fixed point."
            )
        if self.chi_parallel > 1:
            return f"{origin} is at an unstable fixed point; any other start leads away from it."
        if self.chi_parallel == 0:
            return f"{origin} goes to K*{FASTER}."
        if self.xi_parallel == sp.oo:
            return f"{origin} goes to K* slower than exponentially, or stays."
        return f"{origin} goes to K* as {self._decay} = {brief(self.xi_parallel)} layers."

    def _correlation_sentence(self) -> str:
        if self.rho_above is not None:
            return (
                f"Near inputs are torn apart e-fold in {brief(self.xi_perp)} layers; the "
                f"correlation goes to a fixed point between {self.rho_above:g} and 1."
            )
        growing = self.K is sp.oo and self.chi_parallel == 1  # by no factor a layer
        if self.rho is None and (growing or self.chi_perp in (0, sp.oo)):
            return "Where the correlation of two samples goes is not given for such a kernel."
        if self.rho is None:
            return "The correlation of two samples tends to a number that depends on them."
        if self.rho_slope is None or self.xi_rho == sp.oo:
            return "The correlation of two samples goes to 1, slower than exponentially."
        if self.rho == 1:
            law = f" as {self._decay} = {brief(self.xi_rho)} layers"
            return (
                f"The correlation of two samples goes to 1{law if self.rho_factor else FASTER}: "
                "a deep network cannot tell them apart."
            )
        return (
            f"Near inputs are torn apart e-fold in {brief(self.xi_perp)} layers; the correlation "
            f"goes to {brief(self.rho)} with {self._depth} = {brief(self.xi_rho)} layers."
        )

    def _ntk_sentence(self) -> str:
        if self.ntk is not None:
            scale = brief(depth_scale(self.ntk_factor))
            resonant = self.chi_perp == self.chi_parallel
            law = f" as {'l ' if resonant else ''}{self._decay} = {scale} layers"
            return f"The NTK goes to {brief(self.ntk)}{law if self.ntk_factor else FASTER}."
        if self.side == CRITICAL or self.chi_perp == 1:
            hint = "; `exponents` tells how" if self.side == CRITICAL else ""
            return f"The NTK changes slower than exponentially{hint}."
        if self.chi_perp == sp.oo:
            return "The NTK explodes, faster than exponentially."
        return (
            f"The NTK grows by a factor {brief(self.chi_perp)} a layer"
            f"{', times the depth' if self.kernel.mean_square is sp.oo else ''}: e-fold in "
            f"{brief(self.xi_perp)} layers."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and strings, which `--format json` prints."""
        numbers = ["C_W", "C_b", "rho", "rho_slope", "rho_factor", "ntk", "ntk_factor"]
        numbers += ["xi_parallel", "xi_perp", "xi_rho"]
        values = {name: getattr(self, name) for name in numbers}
        return {
            **SCHEMA,
            "activation": self.activation,
            **layer_entries(self.layer, self.values),
            "side": self.side,
            **{name: None if value is None else text(value) for name, value in values.items()},
            "rho_above": self.rho_above,
            "kernel": self.kernel.to_dict(),
            "others": [other.to_dict() for other in self.others],
            "start": self.start,
            "errors": {name: text(error) for name, error in self.errors},
        }


def depth_scale(factor: sp.Expr) -> sp.Expr:
    """The number of layers over which something that is multiplied by a factor changes e-fold."""
    if factor in (0, sp.oo):
        return sp.Integer(0)
    rate = abs(sp.log(abs(factor)))
    return sp.oo if rate == 0 else sp.N(1 / rate, SCALE_DIGITS)
