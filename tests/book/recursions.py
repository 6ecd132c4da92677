r"""The thirteen multi-input recursions, by hand, at leading order in 1/n.

Written down independently of the library. R, S, T and U are (∞.177)–(∞.181) of PDLT with the
misprints of `docs/errata.md` put right; the other nine are not in that chapter and were derived
by hand as sketched in each docstring. Every function takes

    lower     arrays over the samples by name, in the index order of the definitions below;
              "G" is the kernel K, "H" the frozen NTK Θ
    bracket   see `brackets.Brackets`
    hyper     C_b, C_W, lambda_b, lambda_W of the new layer
    r         n_ℓ / n_{ℓ-1}

and returns the array of the new layer. δ_ab stands for δ_{i_a i_b}, n for n_{ℓ-1}:

    E[z1 z2] = δ12 G_12                          E[H_12] = δ12 H_12
    E[z1 z2 z3 z4]_conn = (1/n) [δ12 δ34 V_1234 + …]
    Cov(H_12, H_34) = (1/n) [δ12 δ34 A_1234 + δ13 δ24 B_1324 + δ14 δ23 B_1423]
    E[z1 z2 ΔH_34]  = (1/n) [δ12 δ34 D_1234 + δ13 δ24 F_1324 + δ14 δ23 F_1423]
    E[dH_012 z_3]   = (1/n) [δ03 δ12 P_0123 + δ01 δ23 Q_0123 + δ02 δ13 Q_0213]
    E[ddI_0123]     = (1/n) [δ01 δ23 R_0123 + δ02 δ31 R_0231 + δ03 δ12 R_0312]
    E[ddII_1234]    = (1/n) [δ12 δ34 S_1234 + δ13 δ42 T_1342 + δ14 δ23 U_1423]

How the nine were found. Conditionally on layer ℓ, z^{ℓ+1} is Gaussian with the metric
C_b + (C_W/n) Σ_j σ_j σ_j; every expectation over W ties the neurons in pairs and leaves a double
sum (1/n²) Σ_jk. Its n diagonal terms are *local*: one neuron, one Gaussian bracket. Its
off-diagonal ones are *inherited*: two different neurons that know of each other only through a
cumulant of layer ℓ, which is of order 1/n_{ℓ-1}; each z of that cumulant takes a derivative ∂ of
the product of activations at its neuron, and two z's at the same neuron come with 1/2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from .brackets import Array, Bracket, Brackets

Lower = Mapping[str, Array]
Hyper = Mapping[str, Any]
Recursion = Callable[..., Array]

contract = partial(np.einsum, optimize=True)


def metric(lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative") -> Array:
    """K' = C_b + C_W ⟨σ σ⟩."""
    b = Brackets(bracket, lower["G"], form)
    return hyper["C_b"] + hyper["C_W"] * b.mean(0, 0)


def ntk_mean(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """Θ' = λ_b + λ_W ⟨σ σ⟩ + C_W ⟨σ' σ'⟩ Θ: new bias, new weight, or Σ_jk W W σ'_j σ'_k H_jk."""
    b = Brackets(bracket, lower["G"], form)
    new = hyper["lambda_b"] + hyper["lambda_W"] * b.mean(0, 0)
    return new + hyper["C_W"] * b.mean(1, 1) * lower["H"]


def four_point(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """The covariance of the stochastic metrics C_W σ1 σ2 and C_W σ3 σ4."""
    b = Brackets(bracket, lower["G"], form)
    pair, bend = b.mean(0, 0), b.curvature(0, 0)
    local = b.mean(0, 0, 0, 0) - contract("ab,cd->abcd", pair, pair)
    inherited = r * contract("wxab,yzcd,wxyz->abcd", bend, bend, lower["V"]) / 4
    return hyper["C_W"] ** 2 * (local + inherited)


def ntk_variance_a(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """The covariance of m_12 and m_34, where m_12 = λ_W σ1 σ2 + C_W σ'1 σ'2 H_12.

    Averaged over the weights of its own row, H^{ℓ+1} is λ_b + (1/n) Σ_j m_j. Two neurons are
    correlated by V through both σ's, by D through one σ and the other's H, by A through both H's.
    """
    b, lw, cw = Brackets(bracket, lower["G"], form), hyper["lambda_W"], hyper["C_W"]
    H, plain, primed = lower["H"], b.mean(0, 0), b.mean(1, 1)
    m = lw * plain + cw * primed * H
    bend = lw * b.curvature(0, 0) + cw * b.curvature(1, 1) * H
    cross = contract("abcd,ab->abcd", b.mean(1, 1, 0, 0), H)
    local = (
        lw**2 * b.mean(0, 0, 0, 0)
        + lw * cw * (cross + cross.transpose(2, 3, 0, 1))
        + cw**2 * contract("abcd,ab,cd->abcd", b.mean(1, 1, 1, 1), H, H)
        - contract("ab,cd->abcd", m, m)
    )
    one_ntk = cw * contract("yzab,cd,yzcd->abcd", bend, primed, lower["D"]) / 2
    inherited = (
        contract("wxab,yzcd,wxyz->abcd", bend, bend, lower["V"]) / 4
        + one_ntk
        + one_ntk.transpose(2, 3, 0, 1)
        + cw**2 * contract("ab,cd,abcd->abcd", primed, primed, lower["A"])
    )
    return local + r * inherited


def ntk_variance_b(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """B'_1324 from σ'_j1 σ'_j3 σ'_k2 σ'_k4 H_jk;12 H_jk;34: only old parameters join i1 ≠ i2."""
    b, H, cw = Brackets(bracket, lower["G"], form), lower["H"], hyper["C_W"]
    primed = b.mean(1, 1)
    local = contract("abcd,ab,cd->acbd", b.mean(1, 1, 1, 1), H, H)
    return cw**2 * (local + r * contract("ac,bd,acbd->acbd", primed, primed, lower["B"]))


def cross_correlation_d(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """The covariance of C_W σ1 σ2 and m_34, see `ntk_variance_a`."""
    b, lw, cw = Brackets(bracket, lower["G"], form), hyper["lambda_W"], hyper["C_W"]
    H, plain, primed = lower["H"], b.mean(0, 0), b.mean(1, 1)
    m = lw * plain + cw * primed * H
    bend = lw * b.curvature(0, 0) + cw * b.curvature(1, 1) * H
    local = (
        lw * b.mean(0, 0, 0, 0)
        + cw * contract("abcd,cd->abcd", b.mean(0, 0, 1, 1), H)
        - contract("ab,cd->abcd", plain, m)
    )
    inherited = (
        contract("wxab,yzcd,wxyz->abcd", b.curvature(0, 0), bend, lower["V"]) / 4
        + cw * contract("yzab,cd,yzcd->abcd", b.curvature(0, 0), primed, lower["D"]) / 2
    )
    return cw * (local + r * inherited)


def cross_correlation_f(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """F'_1324 from σ_j1 σ'_j3 σ_k2 σ'_k4 H_jk;34: for j ≠ k the NTK needs one z of each neuron."""
    b, cw = Brackets(bracket, lower["G"], form), hyper["C_W"]
    local = contract("abcd,cd->acbd", b.mean(0, 0, 1, 1), lower["H"])
    tilt = b.slope(0, 1)
    return cw**2 * (local + r * contract("yac,zbd,yczd->acbd", tilt, tilt, lower["F"]))


def dntk_p(lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative") -> Array:
    """P'_0123 from σ_j3 σ'_k1 σ'_k2 [σ''_j0 H_jk;01 H_jk;02 + σ'_j0 dH_jkk;012].

    A new weight 0-1 or 0-2 would tie i_0 to i_1 or i_2, so all three edges are old here.
    """
    b, H, cw = Brackets(bracket, lower["G"], form), lower["H"], hyper["C_W"]
    local = contract("abcd,ab,ac->abcd", b.mean(2, 1, 1, 0), H, H)
    two_ntks = contract("ad,bc,aabc->abcd", b.mean(2, 0), b.mean(1, 1), lower["B"])
    dntk = contract("yad,bc,abcy->abcd", b.slope(1, 0), b.mean(1, 1), lower["P"])
    return cw**2 * (local + r * (two_ntks + dntk))


def dntk_q(lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative") -> Array:
    """Q'_0123: edge 0-1 new, λ_W σ_j1 σ'_j0 σ'_k2 σ_k3 H_jk;02, or all edges old.

    With old edges: σ'_j1 σ'_k2 σ_k3 [σ''_j0 H_jj;01 H_jk;02 + σ'_j0 dH_jjk;012].
    """
    b, H = Brackets(bracket, lower["G"], form), lower["H"]
    lw, cw = hyper["lambda_W"], hyper["C_W"]
    far, F = b.slope(1, 0), lower["F"]
    new = contract("abcd,ac->abcd", b.mean(1, 0, 1, 0), H)
    new = new + r * contract("yab,zcd,yazc->abcd", b.slope(1, 0), far, F)
    old = contract("abcd,ab,ac->abcd", b.mean(2, 1, 1, 0), H, H)
    old = old + r * contract("ab,yab,zcd,yazc->abcd", H, b.slope(2, 1), far, F)
    old = old + r * contract("ab,zcd,abcz->abcd", b.mean(1, 1), far, lower["Q"])
    return lw * cw * new + cw**2 * old


def ddntk_r(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """(∞.177)."""
    b, H = Brackets(bracket, lower["G"], form), lower["H"]
    lw, cw = hyper["lambda_W"], hyper["C_W"]
    B, P, chi = lower["B"], lower["P"], cw * b.mean(1, 1)
    source = lw * cw * contract("abcd,ac,ad->abcd", b.mean(2, 0, 1, 1), H, H)
    source = source + cw**2 * contract("abcd,ab,ac,ad->abcd", b.mean(3, 1, 1, 1), H, H, H)
    leading = lw * b.mean(2, 0) + cw * b.mean(3, 1) * H
    trailing = lw * b.mean(1, 1) + cw * b.mean(2, 2) * H
    inherited = (
        contract("cd,ab,aacd->abcd", chi, leading, B)
        + contract("cd,ab,acda->abcd", chi, leading, P)
        + contract("cd,ab,acdb->abcd", chi, trailing, P)
        + contract("cd,ab,abcd->abcd", chi, chi, lower["R"])
    )
    return source + r * inherited


def ddntk_s(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """(∞.179)."""
    b, H = Brackets(bracket, lower["G"], form), lower["H"]
    lw, cw = hyper["lambda_W"], hyper["C_W"]
    chi = cw * b.mean(1, 1)
    source = cw * lw * contract("abcd,ac,bd->abcd", b.mean(1, 1, 1, 1), H, H)
    source = source + cw**2 * contract("abcd,ab,ac,bd->abcd", b.mean(2, 2, 1, 1), H, H, H)
    inherited = contract(
        "cd,ab,abcd->abcd", chi, lw * b.mean(1, 1) + cw * H * b.mean(2, 2), lower["B"]
    ) + contract("ab,cd,abcd->abcd", chi, chi, lower["S"])
    return source + r * inherited


def ddntk_t(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """(∞.180), axes in the order 1 3 4 2; in the subscripts a b c d are the samples 1 2 3 4."""
    b, H = Brackets(bracket, lower["G"], form), lower["H"]
    lw, cw = hyper["lambda_W"], hyper["C_W"]
    F, Q, chi = lower["F"], lower["Q"], cw * b.mean(1, 1)
    source = (
        lw**2 * contract("abcd,ab->acdb", b.mean(1, 1, 0, 0), H)
        + cw * lw * contract("abcd,ab,bd->acdb", b.mean(1, 2, 0, 1), H, H)
        + cw * lw * contract("abcd,ab,ac->acdb", b.mean(2, 1, 1, 0), H, H)
        + cw**2 * contract("abcd,ab,ac,bd->acdb", b.mean(2, 2, 1, 1), H, H, H)
    )
    weight, old = b.slope(1, 0), contract("ac,yac->yac", H, b.slope(2, 1))
    four_f = (
        lw**2 * contract("yac,zbd,yazb->acdb", weight, weight, F)
        + cw * lw * contract("yac,zbd,yazb->acdb", weight, old, F)
        + cw * lw * contract("yac,zbd,yazb->acdb", old, weight, F)
        + cw**2 * contract("yac,zbd,yazb->acdb", old, old, F)
    )
    near = lw * b.mean(2, 0) + cw * H * b.mean(3, 1)
    away = lw * b.mean(1, 1) + cw * H * b.mean(2, 2)
    four_q = (
        contract("bd,ac,bdaa->acdb", chi, near, Q)
        + contract("bd,ac,bdac->acdb", chi, away, Q)
        + contract("ac,bd,acbb->acdb", chi, near, Q)
        + contract("ac,bd,acbd->acdb", chi, away, Q)
    )
    same = contract("ac,bd,acdb->acdb", chi, chi, lower["T"])
    return source + r * (four_f + four_q + same)


def ddntk_u(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> Array:
    """(∞.181), axes in the order 1 4 2 3; in the subscripts a b c d are the samples 1 2 3 4."""
    b, H, cw = Brackets(bracket, lower["G"], form), lower["H"], hyper["C_W"]
    chi = cw * b.mean(1, 1)
    source = cw**2 * contract("abcd,ab,ac,bd->adbc", b.mean(2, 2, 1, 1), H, H, H)
    return source + r * contract("ad,bc,adbc->adbc", chi, chi, lower["U"])


RECURSIONS: dict[str, Recursion] = {
    "G": metric,
    "H": ntk_mean,
    "V": four_point,
    "A": ntk_variance_a,
    "B": ntk_variance_b,
    "D": cross_correlation_d,
    "F": cross_correlation_f,
    "P": dntk_p,
    "Q": dntk_q,
    "R": ddntk_r,
    "S": ddntk_s,
    "T": ddntk_t,
    "U": ddntk_u,
}


def step(
    lower: Lower, bracket: Bracket, hyper: Hyper, r: Any, form: str = "derivative"
) -> dict[str, Array]:
    """All thirteen tensors of the next layer."""
    return {name: f(lower, bracket, hyper, r, form) for name, f in RECURSIONS.items()}
