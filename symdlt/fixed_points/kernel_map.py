r"""The maps of the kernel and of small differences, read off the recursions of G and H.

The kernel goes to $C_b + C_W g(K)$, and $\chi_\parallel = C_W\, dg/dK$. The NTK is multiplied by
$\chi_\perp = C_W\, d(K)$. Both g and d are Gaussian means of products of derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from symdlt.derivation import Recursion, derive_system
from symdlt.errors import DerivationError

Orders = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelMap:
    """Which derivatives of the activation stand in g and in d.

    Attributes:
        kernel: the orders of the derivatives in g.
        perpendicular: the orders in d.
    """

    kernel: Orders
    perpendicular: Orders

    @property
    def products(self) -> tuple[Orders, Orders]:
        """The two products of which Gaussian means are needed."""
        return self.kernel, self.perpendicular


@dataclass(frozen=True, slots=True)
class KernelNumbers:
    """g and d at one K, with their derivatives by K.

    Attributes:
        g: the mean in the recursion of the kernel.
        g_1: its first derivative.
        g_2: its second derivative.
        d: the mean in the perpendicular susceptibility.
        d_1: its first derivative.
    """

    g: Any
    g_1: Any
    g_2: Any
    d: Any
    d_1: Any

    def next_kernel(self, C_b: Any, C_W: Any) -> Any:
        """The kernel of the next layer."""
        return C_b + C_W * self.g

    @property
    def mismatch(self) -> Any:
        """The parallel susceptibility over the perpendicular one, less 1; 0 if both vanish."""
        return self.g_1 / self.d - 1 if self.d else 0 * self.d

    @property
    def newton_step(self) -> Any:
        """How far the next zero of g' − d is to be sought."""
        return (self.d - self.g_1) / (self.g_2 - self.d_1)


@lru_cache(maxsize=1)
def kernel_map() -> KernelMap:
    """The maps of the single-input theory at leading order."""
    metric, ntk = derive_system(["G", "H"], inputs="one")
    kernel = [orders for tensors, orders in _weighted(metric) if not tensors]
    perpendicular = [orders for tensors, orders in _weighted(ntk) if tensors == (ntk.name,)]
    return KernelMap(_only(kernel), _only(perpendicular))


def _weighted(recursion: Recursion) -> list[tuple[tuple[str, ...], Orders]]:
    """The terms C_W times a bracket: which tensors they multiply, and the derivatives in it."""
    return [
        (
            tuple(tensor.correlator.name for tensor in term.tensors),
            tuple(order for _, order in term.brackets[0].factors),
        )
        for term in recursion.terms
        if term.hyperparameters.powers == (0, 1, 0, 0) and term.coefficient == 1
    ]


def _only(found: list[Orders]) -> Orders:
    if len(found) != 1:
        raise DerivationError(
            f"The kernel map has {len(found)} terms with C_W where there is one. "
            "It is read off the recursions of G and H. This is a fault of symdlt; report it."
        )
    return found[0]


def numbers_at(K: Any, means: tuple[tuple[Any, ...], ...]) -> KernelNumbers:
    r"""g, d and their derivatives from the means with powers of z²/K.

    A Gaussian mean obeys the heat equation, so that with the Hermite polynomials

    $$\frac{d^n}{dK^n} \langle f \rangle_K
      = \frac{\langle f\, \mathrm{He}_{2n}(z/\sqrt K) \rangle_K}{(2K)^n}$$

    Args:
        K: the variance.
        means: those of `KernelMap.products`, each with the powers 0, 1 and 2.

    >>> numbers_at(2, ((2, 6, 30), (1, 1, 3)))
    KernelNumbers(g=2, g_1=1.0, g_2=0.0, d=1, d_1=0.0)
    """
    kernel, perpendicular = means
    return KernelNumbers(
        kernel[0], *_derivatives(K, kernel), perpendicular[0], _derivatives(K, perpendicular)[0]
    )


def _derivatives(K: Any, means: tuple[Any, ...]) -> tuple[Any, Any]:
    constant, square, fourth = means
    return (
        (square - constant) / (2 * K),
        (fourth - 6 * square + 3 * constant) / (2 * K) / (2 * K),
    )
