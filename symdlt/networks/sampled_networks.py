"""Networks as they are sampled to be compared with the theory."""

from __future__ import annotations

from symdlt.definitions import Network, Stack, outputs_are_read
from symdlt.errors import KernelError


def check_sampled(mlp: Network) -> None:
    """Refuse one layer of several fields: what its tensors are expanded in is no width below.

    Raises:
        KernelError: if the network is such a layer.
    """
    (last, *_) = mlp.layers
    if mlp.depth == 1 and isinstance(last, Stack) and len(last.streams) > 1:
        raise KernelError(
            f"{mlp!r} is one layer that makes fields on the way to its outputs. Networks are "
            "compared in powers of one over the width below the outputs, which is that of the data "
            'here. Begin with a dense layer, as in layers=["z\' = W z", …].'
        )


def sampled_network(mlp: Network, size: int) -> Network:
    """The network so many times as wide, with the two outputs that tensors with pairs need.

    Outputs whose neurons are read on the way to them grow with the others.
    """
    widths = [size * width for width in mlp.widths]
    inner = {name: [size * width for width in many] for name, many in mlp.inner}
    stacks = [(n, layer) for n, layer in enumerate(mlp.layers, 1) if isinstance(layer, Stack)]
    for number, layer in stacks:
        for query, _ in (stream.score for stream in layer.streams if stream.score):
            # Heads grow in number, and each of them in its neurons.
            name = next(site[0] for site in layer.sites if query in site)
            inner.setdefault(name, [*widths, size * mlp.n_L])
            inner[name][number - 1] = size**2 * mlp.width_of(name, number)
    grown = size * mlp.n_L if outputs_are_read(mlp) else mlp.n_L
    return mlp.resized(widths=widths, n_L=max(2, grown), inner=inner)
