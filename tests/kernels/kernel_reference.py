"""Activations in floats and in 30 digits, exact Gaussian means, and slow direct iteration."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import mpmath
import numpy as np
from direct import value
from mpmath import mp

from symdlt.derivation import RecursionSystem

DIGITS = 30
PANELS = (0.0, 0.3, 0.7, 1.2, 2.0, 3.0, 4.5, 6.5, 9.0, 13.0)
HYPERPARAMETERS = ("C_b", "C_W", "lambda_b", "lambda_W")

_erf = np.vectorize(math.erf, otypes=[float])
_erfc = np.vectorize(math.erfc, otypes=[float])


def tanh_polynomials(count: int) -> list[list[int]]:
    """Coefficients of the derivatives of tanh in powers of t = tanh z; dt/dz = 1 - t^2."""
    polynomials = [[0, 1]]
    for _ in range(count):
        slope = [k * c for k, c in enumerate(polynomials[-1])][1:]
        image = [0] * (len(slope) + 2)
        for k, c in enumerate(slope):
            image[k] += c
            image[k + 2] -= c
        polynomials.append(image)
    return polynomials


def horner(coefficients, x):
    total = 0 * x
    for c in reversed(coefficients):
        total = total * x + c
    return total


def hermite(k: int, x):
    """He_k(x)."""
    lower, upper = 0 * x, 0 * x + 1
    for j in range(k):
        lower, upper = upper, x * upper - j * lower
    return upper


def tanh(order: int, z, lib):
    return horner(tanh_polynomials(order)[order], lib.tanh(z))


def sin(order: int, z, lib):
    return (-1) ** (order // 2) * (lib.sin(z) if order % 2 == 0 else lib.cos(z))


def normal(order: int, z, lib):
    """The derivatives of the normal distribution function."""
    if order == 0:
        return _erfc(-z / np.sqrt(2)) / 2 if lib is np else mpmath.ncdf(z)
    density = lib.exp(-(z**2) / 2) / lib.sqrt(2 * lib.pi)
    return (-1) ** (order - 1) * hermite(order - 1, z) * density


def gelu(order: int, z, lib):
    return z * normal(order, z, lib) + (order * normal(order - 1, z, lib) if order else 0)


def erf(order: int, z, lib):
    if order == 0:
        return _erf(z) if lib is np else mpmath.erf(z)
    root = lib.sqrt(2)
    return 2 * root**order * normal(order, root * z, lib)


def polynomial(order: int, z, lib):
    coefficients = [0, 60, 20, -6]
    for _ in range(order):
        coefficients = [k * c for k, c in enumerate(coefficients)][1:]
    return horner(coefficients, z) / 60


def linear(order: int, z, lib):
    return z + 0 if order == 0 else 0 * z + (1 if order == 1 else 0)


ACTIVATIONS = {f.__name__: f for f in (tanh, sin, erf, gelu, polynomial)}


def functions(activation: Callable, count: int) -> list[Callable]:
    """The activation and its derivatives for a kernel."""
    return [lambda z, k=k: activation(k, z, np) for k in range(count)]


@cache
def gauss_legendre() -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """Nodes and weights for means over a standard Gaussian, in panels on both sides of zero."""
    with mp.workdps(DIGITS):
        rule = mpmath.calculus.quadrature.GaussLegendre(mp).calc_nodes(4, mp.prec)
        nodes = []
        for a, b in pairwise(PANELS):
            for x, w in rule:
                at = (mp.mpf(a) + b) / 2 + (mp.mpf(b) - a) / 2 * x
                weight = w * (mp.mpf(b) - a) / 2 * mp.npdf(at)
                nodes += [(at, weight), (-at, weight)]
        return nodes


class ExactMeans:
    """⟨Π σ^{(k)}⟩ for z of variance K in 30 digits."""

    def __init__(self, activation: Callable, K, count: int):
        with mp.workdps(DIGITS):
            root = mp.sqrt(K)
            self.weights = [w for _, w in gauss_legendre()]
            self.values = [
                [activation(k, root * x, mp) for x, _ in gauss_legendre()] for k in range(count)
            ]

    def product(self, orders: Sequence[int]) -> list:
        factors = zip(*(self.values[k] for k in orders), strict=True)
        return [mp.fprod(factor) for factor in factors]

    def mean(self, orders: Sequence[int], *, absolute: bool = False):
        with mp.workdps(DIGITS):
            values = self.product(orders)
            return mp.fdot(self.weights, map(abs, values) if absolute else values)

    def central(self, groups: Sequence[Sequence[int]]):
        with mp.workdps(DIGITS):
            deviations = []
            for group in groups:
                middle = self.mean(group)
                deviations.append([value - middle for value in self.product(group)])
            return mp.fdot(self.weights, map(mp.fprod, zip(*deviations, strict=True)))


def iterate(
    system: RecursionSystem, activation: Callable, overlap, hyper: dict, widths: Sequence
) -> dict[str, np.ndarray]:
    """Every tensor at every layer, term by term in 30 digits; needs the derivative form."""
    count = 1 + max(k for r in system for t in r.terms for b in t.brackets for _, k in b.factors)
    layers = []
    with mp.workdps(DIGITS):
        layers.append({r.name: first_layer(r, overlap, hyper) for r in system})
        for depth in range(1, len(widths) + 1):
            below = layers[-1]
            means = ExactMeans(activation, below["G"], count)
            known: dict = {}

            def bracket(factors, inserted=(), means=means, known=known):
                orders = tuple(k for _, k in factors)
                if orders not in known:
                    known[orders] = means.mean(orders)
                return known[orders]

            arrays = {
                r.name: np.full((1,) * r.correlator.axes, below[r.name], dtype=object)
                for r in system
            }
            ratio = mp.mpf(widths[depth - 1]) / (widths[depth - 2] if depth > 1 else 1)
            at = {name: mp.mpf(hyper[name][depth]) for name in HYPERPARAMETERS}
            layers.append(
                {
                    r.name: value(r, (0,) * r.correlator.axes, arrays, bracket, at, ratio)
                    for r in system
                }
            )
    return {r.name: np.array([layer[r.name] for layer in layers]) for r in system}


def first_layer(recursion, overlap, hyper):
    total = mp.mpf(0)
    for term in recursion.first_layer:
        number = mp.mpf(term.coefficient.numerator) / term.coefficient.denominator
        for name, power in zip(HYPERPARAMETERS, term.hyperparameters.powers, strict=True):
            number *= mp.mpf(hyper[name][0]) ** power
        total += number * (overlap if term.overlap else 1)
    return total


def loaded(source) -> ModuleType:
    """A generated kernel as a module."""
    module = ModuleType(source.name)
    exec(compile(source.text, source.file_name, "exec"), module.__dict__)
    return module


def printed_under_two_hash_seeds(program: str) -> set[bytes]:
    """What a program prints, each text once: one, if the order of sets is not to be seen."""
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }


def printed_next_to(folder: Path, text: str, program: str) -> str:
    """What a program prints that imports a kernel, mine.py, and must need none of our packages."""
    (folder / "mine.py").write_text(text, encoding="utf-8")
    alone = "\nassert not {'symdlt', 'sympy', 'mpmath'} & set(sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import sys, numpy as np, mine\n" + program + alone],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def passes_its_doctests_alone(folder: Path, text: str, program: str) -> str:
    """The last line that a program prints next to a kernel whose doctests pass there."""
    doctests = (
        "import doctest\n"
        "assert doctest.testmod(mine, extraglobs={'np': np}).failed == 0\n"
        "print(len(v), float(np.ravel(v[0])[0]), float(np.ravel(v[1])[0]) > 0)\n"
    )
    return printed_next_to(folder, text, program + doctests).splitlines()[-1]


def relative_error(result: dict, exact: dict, names: Sequence[str] | None = None) -> float:
    """The largest error of any tensor at any layer, relative to the tensor there."""
    worst = 0.0
    for name in names or exact:
        for ours, theirs in zip(result[name], exact[name], strict=True):
            if theirs == 0:
                worst = max(worst, abs(ours))
            else:
                worst = max(worst, float(abs(ours - theirs) / abs(theirs)))
    return worst
