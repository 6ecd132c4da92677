"""Whether neurons of the outputs are read on the way to them."""

from __future__ import annotations

from symdlt.definitions.network import Network
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import ABOVE


def outputs_are_read(network: Network) -> bool:
    """Whether something but the outputs themselves depends on what they keep on their neurons.

    Then their number is a width as others are: it enters the tensors, and all legs at one neuron
    are more than a sum over pairs. So it is of a skip into the last layer, and of fields of that
    layer that outputs keep and that weights read, or a norm.

    >>> ends = ["h = W s(z); z' = h + U s(h)", "h = W s(z); z' = b + rmsnorm(h)", "z' = W s(z)"]
    >>> names = ("C_b", "C_W", "C_U")
    >>> for end in ends:
    ...     values = {name: 1.0 for name in names if name in Stack(end).symbols} | {"C_W": 1.0}
    ...     print(outputs_are_read(Network("tanh", [8], values, ["z' = W z", end])))
    True
    True
    False
    """
    last = network.layers[-1]
    if network.depth > 1 and network.keeps(network.depth):
        return True
    if not isinstance(last, Stack):
        return False
    site = next({*site} for site in last.sites if ABOVE in site)
    there = [stream for stream in last.streams if stream.name in site]
    read = {
        field
        for drawn in last.drawn
        if drawn.function is not None
        for field in drawn.function.fields
    }
    return bool(site & read) or any(stream.norm or stream.mask for stream in there)
