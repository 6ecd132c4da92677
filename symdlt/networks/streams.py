"""The tensors of networks of any layers: skips, gates, and weights inside a layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import Activation, activation
from symdlt.activations.checks import Function
from symdlt.definitions import BOOK, Network
from symdlt.errors import KernelError, LayerError
from symdlt.means import LayerMeans
from symdlt.networks.fluctuations import Fluctuations
from symdlt.networks.layer_means import functions_of, means_of
from symdlt.networks.program import program_of
from symdlt.networks.requests import WITHOUT_LEARNING
from symdlt.networks.site_means import SiteMeans
from symdlt.progress import track

Array = NDArray[np.float64]


def check_streams(network: Network, names: Sequence[str]) -> None:
    """Refuse what is not known for layers that are not dense.

    Raises:
        LayerError: for corrections of relative order 1/n, and for laws under which a neuron of the
            first layer is not Gaussian.
        KernelError: if learning rates are missing.
    """
    later = [name for name in names if name not in BOOK]
    if later:
        raise LayerError(
            f"{' '.join(later)} of {network!r} is not known. Of layers that are not dense there "
            f"are the leading orders {' '.join(BOOK)}. Ask for these."
        )
    learning = [name for name in names if name not in WITHOUT_LEARNING]
    if learning and network.missing_rates:
        raise KernelError(
            f"{', '.join(network.missing_rates)} is missing. The learning rates are in the "
            f"definition of {' '.join(learning)}. Give them in `values`, or ask for tensors out of "
            "G V."
        )
    for number, layer in enumerate(network.layers, 1):
        for drawn in (one for stream in layer.streams for one in stream.drawn):
            law = drawn.tensor.law
            fixed = drawn.function is None or number == 1
            if fixed and law is not None and law.cumulant(4):
                raise LayerError(
                    f"{drawn.tensor.name} of layer {number} has a {law.name} law. Summed over no "
                    "neurons, or over the inputs alone, it leaves preactivations that are not "
                    "Gaussian even at infinite width. Make it Gaussian."
                )


def stream_tensors(
    network: Network,
    overlap: Array,
    names: Sequence[str],
    tolerance: float,
    progress: bool | None = None,
) -> dict[str, Array]:
    """The tensors of every layer, without their factors 1/n_(l-1), for all samples.

    Args:
        network: layers of any kind, the width of its input known.
        overlap: of the inputs.
        names: of tensors in `BOOK`.
        tolerance: of means over four samples.
        progress: as that of `propagate`.
    """
    program, samples = program_of(network), len(overlap)
    functions = {name: _activation(network, name) for name in program.names}

    def means(name: str, derivatives: int) -> LayerMeans:
        return means_of(functions[name], derivatives, tolerance, False)

    def chain(name: str, derivatives: int) -> tuple[Function, ...]:
        return functions_of(functions[name], derivatives)

    site = SiteMeans(samples, means, chain)
    fluctuations = Fluctuations(program, overlap, site)
    correlators = [BOOK[name] for name in names if BOOK[name].pairs == 2]
    found = {name: np.empty((network.depth, *(samples,) * BOOK[name].axes)) for name in names}
    tops = {field: layer for layer, field in enumerate(program.tops)}
    costs = [
        1.0 + sum(f.site == one.site for f in program.fields[:place])
        for place, one in enumerate(program.fields)
    ]
    for field in track(range(len(program.fields)), "fields", progress, costs):
        fluctuations.add_kernels(field)
        if field not in tops:
            continue
        layer = tops[field]
        fluctuations.plan(correlators, field)
        for name in names:
            if BOOK[name].pairs == 1:
                found[name][layer] = (site.ntk if BOOK[name].forest.edges else site.kernel)(
                    field, field
                )
            else:
                scale = program.below[layer] if layer else 1.0
                found[name][layer] = scale * fluctuations.tensor(BOOK[name], field)
    return found


def _activation(network: Network, name: str) -> Activation | tuple[Function, ...]:
    return network.activation if name == "s" else activation(name)
