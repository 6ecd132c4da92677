"""The book's asymptotic results, as SymPy expressions to compare derived ones with.

All are for one input, equal widths n and the parametrisation of the book: at K* = 0 criticality
C_b = 0, C_W = 1/σ_1², λ_b = λ̃_b L^{p-1} ℓ^{-p}, λ_W = λ̃_W (L/ℓ)^{p-1} with p = p_⊥ = 1 for odd
activations; for deep linear networks C_b = 0, C_W = 1, λ_b = λ̃_b/L, λ_W = λ̃_W/L.
"""

from __future__ import annotations

from typing import NamedTuple

import sympy as sp


class Symbols(NamedTuple):
    """The symbols in which the results are written; λ's stand for the book's λ̃'s."""

    lambda_b: sp.Symbol
    lambda_W: sp.Symbol
    sigma_1: sp.Symbol
    a_1: sp.Symbol
    K: sp.Symbol
    ell: sp.Symbol
    L: sp.Symbol


def symbols() -> Symbols:
    """All positive but a_1, which is negative at criticality."""
    return Symbols(
        **{
            name: sp.Symbol(name, negative=True)
            if name == "a_1"
            else sp.Symbol(name, positive=True)
            for name in Symbols._fields
        }
    )


def kernel_exponents() -> dict[str, int]:
    """p of X ∝ ℓ^{-p} for R, S, T, U of an odd activation with K* = 0, after (∞.33)."""
    return {"R": -2, "S": -2, "T": -2, "U": 0}


def coefficients(s: Symbols) -> dict[str, sp.Expr]:
    """X ℓ^p for R, S, T, U of an odd activation with K* = 0, (∞.30)–(∞.33)."""
    a = -s.a_1
    weight = s.lambda_W * s.sigma_1**2 / a
    ntk = s.lambda_b + weight
    return {
        "R": -sp.Rational(1, 48) * (3 * s.lambda_b + 4 * weight) * ntk**2 * a,
        "S": sp.Rational(1, 12) * ntk**2 * s.lambda_W * s.sigma_1**2,
        "T": sp.Rational(1, 32) * ntk * a * s.lambda_b**2,
        "U": sp.Rational(1, 2) * ntk**3 * a,
    }


def ratios(s: Symbols) -> dict[str, sp.Expr]:
    """X K/(n Θ³) in units of ℓ/n for R, S, T and of 1/(ℓ n) for U, (∞.34)–(∞.37)."""
    weight = s.lambda_W * s.sigma_1**2 / (-s.a_1)
    ntk = s.lambda_b + weight
    return {
        "R": -sp.Rational(1, 48) * (3 * s.lambda_b + 4 * weight) / ntk,
        "S": sp.Rational(1, 12) * weight / ntk,
        "T": sp.Rational(1, 32) * (s.lambda_b / ntk) ** 2,
        "U": sp.Rational(1, 2),
    }


def kernel_and_ntk(s: Symbols) -> dict[str, sp.Expr]:
    """K ℓ and Θ of an odd activation with K* = 0: what the ratios divide by."""
    weight = s.lambda_W * s.sigma_1**2 / (-s.a_1)
    return {"K": 1 / (-s.a_1), "Theta": s.lambda_b + weight}


def four_point_ratio() -> sp.Rational:
    """V/(n K²) in units of ℓ/n for K* = 0."""
    return sp.Rational(2, 3)


def deep_linear(s: Symbols) -> dict[str, sp.Expr]:
    """R, S, T, U of a deep linear network, exact at every ℓ, (∞.46)–(∞.48)."""
    size = s.ell**2 * (s.ell**2 - 1) / (12 * s.L**3)
    ntk = s.lambda_b + s.lambda_W * s.K
    return {
        "R": sp.Integer(0),
        "S": size * ntk**2 * s.lambda_W,
        "T": size * ntk * s.lambda_W**2 * s.K,
        "U": sp.Integer(0),
    }


def deep_linear_ratios(s: Symbols) -> dict[str, sp.Expr]:
    """X K/(n Θ³) in units of ℓ/n for S and T of a deep linear network, (∞.49), (∞.50)."""
    weight = s.lambda_W * s.K / (s.lambda_b + s.lambda_W * s.K)
    return {"S": weight / 12, "T": weight**2 / 12}
