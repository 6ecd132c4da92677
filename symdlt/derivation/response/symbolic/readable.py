"""Of which tensors and layers there are equations in symbols."""

from __future__ import annotations

from symdlt.definitions import (
    LAYER_NORM,
    AnyTensor,
    Layer,
    Stack,
    is_recurrent,
    named_tensor,
    read_layer_definition,
    split_subleading,
    windows_in,
)
from symdlt.derivation.response.symbolic.labels import SHIFTS
from symdlt.errors import LayerError, OrderError, require

PIECES = ("G.1", "H.1")  # the corrections of the kernel and of the NTK


def readable_piece(name: str | AnyTensor) -> int:
    """The number of a piece: one for the corrections of the kernel and the NTK, else zero.

    Raises:
        OrderError: for other corrections.
    """
    base, piece = split_subleading(name) if isinstance(name, str) else (name, 0)
    if piece and f"{base}.{piece}" not in PIECES:
        raise OrderError(
            f"There are no equations of {name} by linear response. It gives the corrections G.1 "
            "and H.1 of the kernel and the NTK. Ask `derive` for others, of a layer of one stream."
        )
    return piece


def readable_tensor(name: str | AnyTensor) -> AnyTensor:
    """A tensor of one pair or two, or an odd one.

    Raises:
        UnknownTensorError: if there is no such tensor.
        OrderError: for a tensor of more than four axes.
    """
    correlator = name if isinstance(name, AnyTensor) else named_tensor(name)
    if correlator.order > 1:
        raise OrderError(
            f"{correlator.name} has {correlator.axes} axes. The linear response gives tensors of "
            "one pair or two. Ask for one of the book, or `derive` it for a layer of one stream."
        )
    return correlator


def readable_layer(layer: Layer | Stack | str) -> Layer | Stack:
    """A layer whose equations can be had.

    Args:
        layer: a layer, or its text.

    Raises:
        LayerError: for a layer that ends with a norm, keeps what LayerNorm makes on the neurons of
            z', has scores or several steps, or has a window anywhere but at its end.
    """
    definition = read_layer_definition(layer)
    require(definition, Layer | Stack, "a layer", 'Give one such as "h = U z; z\' = W s(h)".')
    *inside, last = definition.streams
    if any(stream.score for stream in definition.streams):
        raise refused(definition, "has scores, which positions are joined by. Leave them out")
    if is_recurrent(definition.streams):
        raise refused(definition, "uses its weights at several steps. Make them layers")
    if last.norm:
        raise refused(definition, "ends with a norm. Begin the next layer with it")
    if len(windows_in(definition)) > len(SHIFTS):
        raise refused(
            definition, f"has more than {len(SHIFTS)} windows. Give weights the same ones"
        )
    layer_norms = {stream.name for stream in inside if stream.norm == LAYER_NORM}
    for stream in inside:
        if layer_norms & {factor.field for _, factor in stream.kept}:
            layer_norms.add(stream.name)
    if layer_norms & {factor.field for _, factor in last.kept}:
        raise refused(
            definition,
            "keeps what LayerNorm makes on the neurons of z', whose mean later layers have met. "
            "Let weights read it",
        )
    return definition


def refused(layer: Layer | Stack, why: str) -> LayerError:
    """The error for a layer whose equations are not known."""
    return LayerError(
        f"The equations of the layer {str(layer)!r} are not known in symbols: it {why}, or ask "
        "`propagate` for the numbers."
    )
