"""The equations of a layer as a closed system, for its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from symdlt.algebra import Polynomial
from symdlt.definitions import BOOK, Correlator, Layer, Stack, split_subleading
from symdlt.errors import KernelError
from symdlt.kernels.generator.layer_systems import LayerSystem, SystemEquation
from symdlt.networks.symbolic.depth_systems import DepthEquations
from symdlt.networks.symbolic.layer_equations import LayerEquation
from symdlt.networks.symbolic.response_equations import (
    LayerDerivation,
    readable_layer,
    readable_tensor,
)
from symdlt.networks.symbolic.symbolic_corrections import PIECES
from symdlt.networks.symbolic.symbolic_response import symbol_named
from symdlt.networks.symbolic.system_equations import system_equation

OVERLAP = symbol_named("overlap")
NOTHING = Polynomial.number(0)


def layer_system(tensors: Iterable[str | Correlator], layer: Layer | Stack | str) -> LayerSystem:
    """The equations of some tensors, and of all that they need.

    Args:
        tensors: names or correlators, of the book, and G.1 and H.1.
        layer: the layer; layer 1 has the biases and the weights of its last statement, which read
            the input.

    Raises:
        KernelError: for a skip whose layers read other things each, and for other corrections.
        LayerError: for a layer that `layer_equations` does not take.

    >>> layer_system(["F"], "u = U z; v = V z; z' = b + W s(u) v").names
    ('G', 'H', 'F')
    >>> [one.name for one in layer_system(["V"], "z' = xi z + b + W s(z)").depths.states]
    ['QV', 'Y_s', 'Y_z']
    """
    definition = readable_layer(layer)
    depths = DepthEquations(definition)
    equations: dict[str, SystemEquation] = {}
    fields: tuple[SystemEquation, ...] = ()
    left = ["G", *(one if isinstance(one, str) else one.name for one in tensors)]
    while left:
        name, piece = split_subleading(left.pop())
        correlator = readable_tensor(name)
        name = correlator.name + f".{piece}" * bool(piece)
        if name in equations:
            continue
        derivation = LayerDerivation(correlator, definition, False)
        if piece:
            _check_correction(derivation, name)
        if derivation.shared and (piece or correlator.pairs > 1):
            equations[name] = depths.whole(derivation, piece)
            left += depths.leading
            continue
        equation = derivation.correction() if piece else derivation.recursion()
        equations[name] = _of_tensor(derivation, equation, piece)
        left += sorted(equations[name].needs)
        if name == "G":
            fields = tuple(_fields(derivation))
    return LayerSystem(definition, _in_dependency_order(equations), fields, depths.system())


def _check_correction(derivation: LayerDerivation, name: str) -> None:
    """Refuse other pieces than those of the kernel and the NTK, and weights of other laws."""
    reasons = {
        "Those of the kernel and of the NTK, G.1 and H.1, are known": name not in PIECES,
        "Fourth cumulants of its weights tie the legs of two layers": not derivation.gaussian,
    }
    for reason, applies in reasons.items():
        if applies:
            raise KernelError(
                f"{name} of the layer {derivation.layer} has no kernel file. {reason}. Ask "
                "`propagate` for corrections of order 1/n."
            )


def _in_dependency_order(equations: dict[str, SystemEquation]) -> tuple[SystemEquation, ...]:
    """Each equation behind those of the tensors that it needs; else as the book has them."""
    left = [name for name in (*BOOK, *PIECES) if name in equations]
    done: dict[str, SystemEquation] = {}
    while left:
        name = next(
            name for name in left if (equations[name].needs & {*equations}) <= {*done, name}
        )
        left.remove(name)
        done[name] = equations[name]
    return tuple(done.values())


def _of_tensor(derivation: LayerDerivation, equation: LayerEquation, piece: int) -> SystemEquation:
    correlator = derivation.correlator
    first = NOTHING
    if correlator.pairs == 1 and not piece:
        top = derivation.program.fields[derivation.top]
        for branch in (*top.biases, *top.branches):
            size: Any = branch.rate if correlator.forest.edges else branch.variance
            first = first + (size if branch.site is None else size * OVERLAP)
    name, samples = correlator.name + ".1" * piece, tuple(map(int, derivation.samples))
    return system_equation(derivation, equation, name, samples, first, correlator.symmetries)


def _fields(derivation: LayerDerivation) -> Iterator[SystemEquation]:
    """The covariances of the fields inside a layer."""
    zero, names = Polynomial.number(0), derivation.texts.names
    samples = tuple(map(int, derivation.samples))
    for field in derivation.inside:
        covariance = zero + derivation.means.kernels[field, field][0, 1]
        ends = " ".join(f"{names[field]}_{sample}" for sample in samples)
        equation = LayerEquation(f"<{ends}>", covariance)
        yield system_equation(derivation, equation, names[field], samples, zero, ((0, 1), (1, 0)))
