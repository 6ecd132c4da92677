"""Which stacks are chains of steps, and the steps of these."""

from __future__ import annotations

from collections.abc import Iterator

from symdlt.definitions.branches import ascii_name
from symdlt.definitions.layers import Layer
from symdlt.definitions.site_levels import Level, levels_of, masks_of, not_in_steps, top_of
from symdlt.definitions.site_steps import SiteStep
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import BELOW, Factor, Stream, is_recurrent
from symdlt.errors import LayerError

# Why a layer that keeps fields is no chain of steps.
KEEPS_NEURONS = (
    "With a skip, the neuron of a leg can be one of those whose functions are summed over in every "
    "layer below, and the recursion needs cumulants of one neuron at several depths; it closes "
    "where z' keeps z and weights inside the layer read z itself, as in h = U z; z' = z + W s(h)"
)
KEEPS_ONE = (
    "Steps of the kernel and the NTK keep one field of those before them, and carry none past it, "
    "as in h = xi z + U s(z); z' = xi h + W s(h)"
)


def is_chain(layer: Layer | Stack) -> bool:
    """Whether a layer is a stack whose fields are a chain of steps.

    >>> is_chain(Stack("h = U s(z); z' = W s(h)")), is_chain(Stack("h = U s(z); z' = z + W s(h)"))
    (True, False)
    """
    try:
        return isinstance(layer, Stack) and bool(steps_of(layer))
    except LayerError:
        return False


def steps_of(
    stack: Stack, *, truncated: bool = False, leading: bool = False, written: bool = False
) -> tuple[SiteStep, ...]:
    """The steps from the fields of the layer below to those of the layer above.

    A layer may keep z, once, if weights read nothing but z itself of these neurons: then all that
    is known of z are pairs of its legs, at every depth.

    Args:
        stack: the layer.
        truncated: whether weights may read any function of a z that is kept. The steps then read
            the last layer alone, which is not all of fluctuations.
        leading: whether they are of the kernel and the NTK at infinite width, where neurons are
            independent, so that it is all of these. Fields inside may then be kept as well.
        written: whether steps are written out alone, and nothing is averaged: then weights may have
            any law, and windows, and unless the others are asked for fields may read any others.

    Raises:
        LayerError: for a layer that is no chain of steps, and what to ask instead.
    """
    for why in _obstacles(stack, truncated, leading, written):
        raise not_in_steps(stack, why, forward=written and not (truncated or leading))
    steps = tuple(SiteStep(stack, number) for number in range(len(levels_of(stack)) - 1))
    for step in steps:
        step.ways  # noqa: B018  (what cannot be averaged is refused here)
    return steps


def _obstacles(stack: Stack, truncated: bool, leading: bool, written: bool) -> Iterator[str]:
    """Why a layer is no chain of steps; `written` alone says that it need be none."""
    if is_recurrent(stack.streams):
        yield "uses its weights at several steps"
    if any(stream.score for stream in stack.streams):
        yield "has scores, which positions are joined by"
    if top_of(stack).norm:
        yield "makes z' of z without weights"
    levels = levels_of(stack)
    level_of = {name: k for k, level in enumerate(levels) for name in level.own}
    masks = masks_of(stack)
    chain = truncated or leading or not written
    for stream in stack.streams:
        if stream.norm and not written:
            yield (
                f"has the field {stream.name}, a norm, whose neurons are not those of a Gaussian "
                "field"
            )
        if stream.norm or stream.mask:
            continue
        level, last = level_of[stream.name], stream is top_of(stack)
        site = next(site for site in stack.sites if stream.name in site)
        if not chain:
            pass
        elif BELOW in site and not last and not (leading and stream.kept):
            yield (
                f"has {stream.name} on the neurons of z, which it is multiplied with or added to"
            )
        elif stream.kept and not _keeps_alone(stack, stream, levels, truncated, leading):
            kept = ", ".join(str(factor) for _, factor in stream.kept)
            yield f"keeps {kept} on its neuron. {KEEPS_ONE if leading else KEEPS_NEURONS}"
        for drawn in stream.drawn:
            letter = ascii_name(drawn.tensor.name)
            if not written and (drawn.orthogonal or drawn.window is not None):
                yield f"has the weights {letter}, orthogonal or with a window"
            if drawn.window is not None and drawn.window.pools:
                yield f"has the weights {letter}, which read means over positions"
            read = set() if drawn.function is None else {*drawn.function.fields} - masks
            for name in sorted(read) if chain else ():
                if level_of.get(name, level - 1) != level - 1:
                    yield (
                        f"reads {name} in {stream.name}, past the fields between them. A step "
                        "reads the fields before it alone"
                    )


def _keeps_alone(
    stack: Stack, stream: Stream, levels: tuple[Level, ...], truncated: bool, leading: bool
) -> bool:
    """Whether all that is known of what a layer keeps are pairs of its legs."""
    fields = [factor.field for _, factor in stream.kept]
    skip = fields == [BELOW] and stream is top_of(stack)
    if leading:  # one field alone on the neurons of each step
        return len(fields) == 1 and all(len(level.carried) <= skip for level in levels)
    return skip and (truncated or _hides_neurons(stack))


def keeps_inside(stack: Stack) -> bool:
    """Whether a layer keeps others than z, or keeps it in a field inside.

    >>> keeps_inside(Stack("h = U s(z); z' = z + W s(h)"))
    False
    >>> keeps_inside(Stack("h = z + U s(z); z' = h + W s(h)"))
    True
    """
    kept = {
        (stream.name, factor.field)
        for stream in stack.streams
        if not stream.norm
        for _, factor in stream.kept
    }
    return not kept <= {(top_of(stack).name, BELOW)}


def _hides_neurons(stack: Stack) -> bool:
    """Whether fields inside the layer read z itself and no function of it."""
    masks = masks_of(stack)
    functions = [one.function for one in stack.drawn if one.function]
    read = [p for f in functions if BELOW in f.fields for _, p in f.terms]
    linear = all([one for one in p if one.field not in masks] == [Factor(BELOW)] for p in read)
    return linear and len(stack.streams) > len(masks) + 1
