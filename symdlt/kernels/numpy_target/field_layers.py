"""One input through layers of several fields: the kernel, and all means, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.checks import scale_of
from symdlt.kernels.numpy_target.quadrature import MeanTable, Quadrature, check_finite
from symdlt.means import Array, Function, KernelInputError

Values = Mapping[str, Any]  # arrays over the layers, or numbers of one layer


class FieldMeans(NamedTuple):
    """A Gaussian field of a layer: its variance from means of earlier ones, and what is integrated.

    The names are those of the rows of its table. Of a field that is normalised, `scale` names what
    it is multiplied with there.
    """

    variance: Callable[[Any, Values, Values], Any]
    functions: str
    table: MeanTable | None
    names: tuple[str, ...]
    scale: str = ""


def means_over_layers(
    fields: Mapping[str, FieldMeans],
    functions: Mapping[str, Sequence[Function]],
    advance: Callable[[Any, Values, Values], Any],
    first: float,
    h: Any,
) -> tuple[Array, dict[str, Array]]:
    """The variance K at every layer, and all means of the layers that others read.

    Args:
        fields: in the order of their computation.
        functions: of each list of functions these and their derivatives.
        advance: K of layer l+1.
        first: that of layer 1.
        h: the hyperparameters, one value a layer.
    """
    quadratures = {
        n: Quadrature(functions[f.functions], f.table) for n, f in fields.items() if f.table
    }
    K = [first]
    rows: list[dict[str, float]] = []
    for layer, values in enumerate(zip(*h, strict=True), 1):
        at, below, means = type(h)(*values), {"G": K[-1]}, dict[str, float]()
        for name, field in fields.items():
            variance = float(field.variance(at, means, below))
            refuse_negative(f"the field {name}", variance, layer + 1)
            if field.scale:
                means[field.scale] = float(scale_of(name, variance))
            if name in quadratures:
                own = quadratures[name].at(variance, layer)
                means |= dict(zip(field.names, own.tolist(), strict=True))
        K.append(float(advance(at, means, below)))
        rows.append(means)
        if not math.isfinite(K[-1]):
            check_finite("G", np.array(K), np.array(K))
        refuse_negative("G", K[-1], layer + 1)
    return np.array(K), {name: np.array([row[name] for row in rows]) for name in rows[0]}


def refuse_negative(name: str, variance: float, layer: int) -> None:
    """Refuse a variance that is none."""
    if not variance >= 0.0:
        raise KernelInputError(
            f"The variance of {name} is {variance:.3g} at layer {layer}. A variance is never "
            "negative. This is a fault of the kernel or of the activation given to it."
        )
