"""The Gaussian means of the kernels against 30-digit integrals, for K from 1e-12 to 25."""

from functools import cache

import mpmath
import numpy as np
import pytest
from cases import slow
from kernel_reference import ACTIVATIONS, DIGITS, ExactMeans, functions, gauss_legendre

from symdlt.definitions import BOOK
from symdlt.derivation import derive_system
from symdlt.kernels import lower, single_input

VARIANCES = (1e-12, 1e-5, 0.05, 0.9, 4.0, 25.0)


@cache
def rows():
    return lower(derive_system(BOOK, inputs="one", form="z")).means


@cache
def means_at(name, K):
    sigma = functions(ACTIVATIONS[name], 4)
    table = single_input.Quadrature(sigma, single_input.plain_means).means(np.array([K]))[:, 0]
    return dict(zip(rows(), table, strict=True)), ExactMeans(ACTIVATIONS[name], mpmath.mpf(K), 4)


def test_reference_integrates_moments_and_agrees_with_another_rule():
    with mpmath.workdps(DIGITS):
        for power, moment in ((0, 1), (2, 1), (4, 3), (12, 10395)):
            total = mpmath.fsum(w * x**power for x, w in gauss_legendre())
            assert abs(total - moment) < mpmath.mpf(10) ** -22 * moment
        sharp = ExactMeans(ACTIVATIONS["tanh"], mpmath.mpf(25), 3).mean((1, 1, 2, 2))
        other = mpmath.quad(
            lambda x: (
                ACTIVATIONS["tanh"](1, 5 * x, mpmath.mp) ** 2
                * ACTIVATIONS["tanh"](2, 5 * x, mpmath.mp) ** 2
                * mpmath.npdf(x)
            ),
            [-13, -3, -1, -0.4, -0.15, 0, 0.15, 0.4, 1, 3, 13],
        )
        assert abs(sharp / other - 1) < 1e-18


@pytest.mark.parametrize(
    "name", [slow(name) if name in ("sin", "erf", "gelu", "tanh") else name for name in ACTIVATIONS]
)
def test_means_to_near_double_precision(name):
    worst = 0.0
    for K in VARIANCES:
        table, exact = means_at(name, K)
        for mean, result in table.items():
            true = exact.central(mean.groups) if mean.groups else exact.mean(mean.orders)
            size = exact.mean(mean.orders, absolute=True)
            worst = max(worst, float(abs(result - true) / size) if size else abs(result))
    print(f"{name}: {worst:.1e}")
    assert worst < 1e-14


@pytest.mark.parametrize("K", [1e-6, 1e-3, 0.4])
def test_central_moments_keep_their_digits(K):
    """⟨σ'σ'; σ'σ'⟩ ≈ 8K² for tanh: the difference of means would have lost 2 log10 K digits."""
    table, exact = means_at("tanh", K)
    mean = next(m for m in rows() if m.groups == ((1, 1), (1, 1)))
    assert table[mean] == pytest.approx(float(exact.central(mean.groups)), rel=1e-15 / K + 1e-13)


def test_grid_grows_with_the_variance_only_as_needed():
    quadrature = single_input.Quadrature(
        functions(ACTIVATIONS["tanh"], 4), single_input.plain_means
    )
    sizes = [quadrature.rule(K, 1).grid[0].size for K in VARIANCES]
    print(dict(zip(VARIANCES, sizes, strict=True)))
    assert sizes == sorted(sizes)
    assert sizes[0] < 100
    assert sizes[-1] < 1200
