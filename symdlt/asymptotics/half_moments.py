r"""Hermite coefficients of powers of z on one side of zero."""

from __future__ import annotations

from symdlt.precision import Precise, mp


def half_moments(count: int) -> tuple[list[Precise], list[Precise], list[Precise]]:
    r"""The numbers $h^p_k = \int_0^\infty z^p \mathrm{He}_k \varphi\,dz/\sqrt{k!}$, p = 0, 1, 2.

    By parts, as $\mathrm{He}_k\varphi = -(\mathrm{He}_{k-1}\varphi)'$, one has
    $h^p_k = p\,h^{p-1}_{k-1}/\sqrt k$, and $h^0_k = \mathrm{He}_{k-1}(0)\varphi(0)/\sqrt{k!}$.

    Args:
        count: for k below it, at least 2.

    >>> [float(row[0]) for row in half_moments(2)][::2]
    [0.5, 0.5]
    """
    edge = [mp.mpf(1) / 2, 1 / mp.sqrt(2 * mp.pi)]
    for k in range(2, count):
        edge.append(-edge[k - 2] * (k - 2) / mp.sqrt(k * (k - 1)) if k % 2 else mp.mpf(0))
    once = [edge[1], *(edge[k - 1] / mp.sqrt(k) for k in range(1, count))]
    twice = [edge[0], *(2 * once[k - 1] / mp.sqrt(k) for k in range(1, count))]
    return edge, once, twice
