r"""Layers with windows, for inputs that are the same at all positions.

Where $z_{j;p} = z_j$, the weights of the offsets q of a circular window add up to one weight,
$\sum_q W^q_{ij}$, of variance $C_W/n$, and parameters of each offset move z' alike. So the network
is that of the layer without windows, exactly and at any width.
"""

from __future__ import annotations

from dataclasses import replace

from symdlt.definitions.layers import Layer
from symdlt.definitions.stacks import Stack, is_stack
from symdlt.definitions.streams import Stream
from symdlt.definitions.windows import Window
from symdlt.errors import LayerError


def windows_in(layer: Layer | Stack) -> tuple[Window, ...]:
    """The windows of a layer, each once."""
    streams = layer.streams if isinstance(layer, Stack) else ()
    found = (one.window for stream in streams for one in stream.drawn if one.window is not None)
    return tuple(dict.fromkeys(found))


def at_uniform_input(layer: Layer | Stack) -> Layer | Stack:
    """The layer without its windows, which is the same for inputs that are uniform.

    Raises:
        LayerError: for windows that do not make of uniform positions as many that are.

    >>> at_uniform_input(Stack("h = U[3] s(z); z' = z + W[3x3] s(h)"))
    Stack("h = U s(z); z' = z + W s(h)")
    >>> at_uniform_input(Stack("z' = b + W[3] s(z)"))
    Layer("z' = b + W s(z)")
    """
    windows = windows_in(layer)
    if not windows or not isinstance(layer, Stack):
        return layer
    for window in windows:
        why = "reads zeros beyond the edge" if window.padding == "zero" else ""
        if window.whole or window.causal or window.padding == "valid":
            why = "makes other positions than those that it reads"
        if window.stride > 1 or window.pool > 1:
            why = "makes fewer positions than it reads, and cannot be repeated"
        if why:
            raise LayerError(
                f"The layer {str(layer)[:120]!r} has a window that {why}. Fixed points and growth "
                "with depth are those of inputs that are the same at all positions, which "
                "circular windows such as [3] keep so. Ask `propagate` for the tensors at every "
                "layer, or write the layer with such windows."
            )
    plain = without_windows(layer)
    alone = not layer.laws and not layer.rates and not is_stack(str(plain))
    return Layer(str(plain)) if alone else plain


def without_windows(layer: Layer | Stack) -> Layer | Stack:
    """The layer with weights that read the position that they make."""
    if not isinstance(layer, Stack) or not windows_in(layer):
        return layer

    def plain(stream: Stream) -> Stream:
        return replace(stream, drawn=tuple(replace(one, window=None) for one in stream.drawn))

    return layer.with_streams(plain)
