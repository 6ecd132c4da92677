"""Algorithm projectors: what a training algorithm makes of the curvature of a network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from reprlib import repr as short_repr
from typing import TYPE_CHECKING

import numpy as np

from symdlt.errors import TrainingError, require
from symdlt.formats.latex import Conventions, renamed
from symdlt.networks.numbers import real_numbers
from symdlt.symbols import eta
from symdlt.training.algorithms import Algorithm, check_algorithm
from symdlt.training.chains import Value, fully_summed
from symdlt.training.responses import PROJECTED, Response, responses

if TYPE_CHECKING:
    import sympy as sp


@dataclass(frozen=True, slots=True)
class Projector:
    r"""What multiplies one tree, once for each mode of the training NTK (PDLT ∞.142–∞.151).

    In the eigenbasis of the mean training NTK all projectors are diagonal: for instance
    $Z_B^{\alpha_1\alpha_2\alpha_3\alpha_4} \to Z_B(h_1, h_2)$ with the eigenvalues of its modes.

    Attributes:
        name: "dNTK-A" and so on: the tree, and A if the output is a leaf of it or B if it is an
            inner vertex.
        response: how it comes about.
    """

    name: str
    response: Response

    def values(self, algorithm: Algorithm, *h: Value) -> Value:
        """The projector at eigenvalues, numbers or arrays that broadcast.

        Args:
            algorithm: one that trains to the end.
            h: one for each mode, positive.

        Raises:
            InputError: for what are no numbers.
            TrainingError: for another number of them, or such that are not positive, or an
                algorithm that stops before.
        """
        modes = self.response.modes
        if not check_algorithm(algorithm).finished or len(h) != len(modes):
            raise TrainingError(
                f"{self.name} takes {len(modes)} eigenvalues, and an algorithm that trains to the "
                f"end. Given were {len(h)} and {short_repr(algorithm)}. "
                "Leave out its steps or its time."
            )
        for value in h:
            _check_eigenvalues(value)
        return algorithm.weight(self.response, dict(zip(modes, h, strict=True)))

    def expression(self, algorithm: Algorithm | None = None) -> sp.Expr:
        """The projector as a rational function of eigenvalues h_1, h_2, … and the step size eta.

        Args:
            algorithm: gradient descent with a symbol for its step size if left out.

        >>> from symdlt.training import GradientFlow
        >>> projectors()["ddNTK-IIA"].expression(GradientFlow())
        -1/(h_1*(h_1 + h_2)*(h_1 + h_2 + h_3))
        """
        import sympy as sp

        modes = self.response.modes
        h = sp.symbols(f"h_1:{len(modes) + 1}", positive=True)
        if algorithm is None:
            named = dict(zip(modes, h, strict=True))
            step = dict.fromkeys(modes, eta)
            value = sum(fully_summed(chain, named, step) for chain in self.response.chains)
        else:
            value = self.values(algorithm, *h)
        return sp.factor(sp.nsimplify(value, rational=True))

    def latex(
        self, algorithm: Algorithm | None = None, conventions: Conventions | None = None
    ) -> str:
        r"""The projector as an equation in LaTeX.

        Args:
            algorithm: gradient descent with a symbol for its step size if left out.
            conventions: letters of Z, h and eta.

        Raises:
            InputError: for conventions that are none.

        >>> from symdlt.training import TwoStep
        >>> print(projectors()["dNTK-B"].latex(TwoStep()))
        Z_{\mathrm{B}} = \frac{1}{2 h_{1} h_{2}}
        """
        import sympy as sp

        use = Conventions() if conventions is None else conventions
        require(use, Conventions, "a choice of notation", "Give `Conventions(...)`.")
        label = self.name.partition("-")[2]
        value = sp.latex(self.expression(algorithm))
        return renamed(rf"Z_{{\mathrm{{{label}}}}} = {value}", use)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def _check_eigenvalues(h: Value) -> None:
    if getattr(h, "free_symbols", None):
        return
    number = float(h) if getattr(h, "is_number", False) and getattr(h, "is_real", False) else h
    values = real_numbers("h", number, "an eigenvalue, or an array of them")
    if not ((values > 0.0) & np.isfinite(values)).all():
        raise TrainingError(
            f"h is {short_repr(h)}. Projectors are functions of the eigenvalues of a training NTK "
            "that has an inverse. Give positive numbers."
        )


@lru_cache(maxsize=1)
def projectors() -> dict[str, Projector]:
    """The six projectors by name, in the order of the book.

    >>> projectors()["dNTK-A"].expression()
    (eta*h_1 - 1)/(h_1*(eta*h_1*h_2 - h_1 - h_2))
    """
    named = {response.name: response for response in responses()}
    return {name: Projector(name, named[name]) for name in PROJECTED}
