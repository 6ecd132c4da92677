"""Gaussian means of functions with a kink at zero, where kernels are small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import factorial

import sympy as sp

from symdlt.errors import SolutionError
from symdlt.fixed_points.laurent import Laurent, composed
from symdlt.fixed_points.origin import half_moment
from symdlt.fixed_points.products import series_product
from symdlt.fixed_points.step_series import Functions


class OneSidedMoments:
    r"""Means of functions and of their slopes as series in $\sqrt K$.

    $$\langle |z|^n \rangle_\kappa = \kappa^{n/2}\, 2^{n/2}\, \Gamma(\tfrac{n+1}{2})/\sqrt\pi$$

    Args:
        derivatives: of each function those at zero, from the left and from the right.
    """

    def __init__(self, derivatives: Mapping[str, Sequence[Sequence[sp.Expr]]]) -> None:
        self._derivatives = derivatives

    def __call__(self, functions: Functions, kernel: Laurent[sp.Expr]) -> Laurent[sp.Expr]:
        """The mean as a series in what the kernel is one in.

        Raises:
            SolutionError: if the kernel of the field does not vanish with K, or for second
                derivatives, which contain delta functions.
        """
        if any(order > 1 for _, order in functions):
            raise SolutionError(
                "the kernel contains second derivatives of a function whose slope jumps, as of a "
                "product with the field itself. Give a smooth activation."
            )
        root = _square_root(kernel)
        length = len(kernel.coefficients)
        left, right = (
            reduce(series_product, (self._side(k, *one, length) for one in functions))
            for k in range(2)
        )
        moments = [
            (b + (-1) ** n * a) * half_moment(n)
            for n, (a, b) in enumerate(zip(left, right, strict=True))
        ]
        return composed([*map(sp.expand, moments)], root)

    def _side(self, side: int, name: str, order: int, length: int) -> tuple[sp.Expr, ...]:
        derivatives = self._derivatives[name][side]
        return tuple(derivatives[order + j] / factorial(j) for j in range(length))


def _square_root(kernel: Laurent[sp.Expr]) -> Laurent[sp.Expr]:
    """The root of a series that starts with the second power."""
    if kernel.coefficients[0] != 0 or kernel.coefficients[1] != 0 or kernel.coefficients[2] == 0:
        raise SolutionError(
            "a field inside the layer has a kernel that is not in proportion to that of z where "
            "both are small. Functions with a kink are expanded in its root. Give smooth ones."
        )
    first, *others = kernel.coefficients[2:]
    ratios = [x / first for x in others]
    root = [sp.Integer(1)]
    for n, ratio in enumerate(ratios, 1):
        mixed = sum((root[i] * root[n - i] for i in range(1, n)), sp.Integer(0))
        root.append((ratio - mixed) / 2)
    return Laurent(1, tuple(sp.sqrt(first) * x for x in root))
