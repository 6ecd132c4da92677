"""The tensors of networks of any layers: skips, gates, and weights inside a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import Activation
from symdlt.activations.activation import kinks_of
from symdlt.activations.checks import Function
from symdlt.definitions import (
    BOOK,
    ODD,
    SOFTMAX,
    Network,
    Program,
    functions_in,
    is_recurrent,
    scores_without_fluctuations,
)
from symdlt.derivation.response.corrections import Corrections
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.leading_tensors import leading_tensor
from symdlt.derivation.response.positions import offsets_of
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.derivation.response.site_means import SiteMeans
from symdlt.errors import ActivationError, InfiniteMeanError, KernelError, LayerError
from symdlt.means import LayerMeans, SmoothMeans, Unrelated, has_infinite_pair
from symdlt.networks.depths.tensors import are_taken_together, depth_tensors
from symdlt.networks.joined_functions import has_kinks, joined_program, named_activation
from symdlt.networks.layer_means import (
    functions_of,
    has_infinite_means,
    means_of,
    orders_of,
)
from symdlt.networks.numbers import check_memory
from symdlt.networks.requests import WITHOUT_LEARNING, axes, named
from symdlt.precision import TOLERANCE
from symdlt.progress import track

Array = NDArray[np.float64]
# Arrays that are kept of each tensor and each pair of fields at one neuron; measured.
KEPT = 15
LEADING = ("G", "H")
# What stands for the infinite square of a delta function: a tensor in which infinite parts cancel
# is the same with any. Others move by as much as they are large; errors of means are far below.
SQUARES = (0.0, 1.0)
CANCELLED = 1e-8  # of the largest entry; infinite parts cancel to 1e-12, measured
# Means of softmax over some positions take seconds with it, and sampling sees less. Convention.
SOFTMAX_TOLERANCE = 1e-4


def check_streams(network: Network, names: Sequence[str]) -> None:
    """Refuse what is not known for layers that are not dense.

    Raises:
        LayerError: for laws under which preactivations are not Gaussian at infinite width.
        KernelError: if learning rates are missing.
        ActivationError: for tensors that kinks or jumps make infinite.
    """
    learning = [name for name in names if name not in WITHOUT_LEARNING]
    if learning and network.missing_rates:
        raise KernelError(
            f"{', '.join(network.missing_rates)} is missing. The learning rates are in the "
            f"definition of {' '.join(learning)}. Give them in `values`; "
            f"{' '.join(WITHOUT_LEARNING)} can be had without."
        )
    beyond = [name for name in names if name not in LEADING]
    if beyond and (reason := without_fluctuations(network)):
        raise LayerError(
            f"{' '.join(beyond)} cannot be had: {reason}. They were asked of "
            f"{network!r}. Ask for G and H, which are known at infinite width."
        )
    later = [name for name in names if "." in name]
    if later and (reason := without_corrections(network)):
        raise LayerError(
            f"{' '.join(later)} cannot be had: {reason}. They were asked of {network!r}. Ask for "
            "leading orders."
        )
    read = {name for layer in network.layers for one in layer.streams for name in functions_in(one)}
    if any(has_kinks(named_activation(network, name)) for name in read - {SOFTMAX}):
        for name in joined_program(network, learning=False).names:
            _check_kinks(named_activation(network, name), names)
    for number, layer in enumerate(network.layers, 1):
        *_, outputs = layer.streams
        for stream, drawn in ((s, one) for s in layer.streams for one in s.drawn):
            at_end = number == network.depth and stream == outputs
            fixed = number == 1 or (drawn.function is None and not at_end)
            if fixed and (drawn.fourth is None or drawn.fourth):
                raise LayerError(
                    f"{drawn.tensor.name} of layer {number} has no Gaussian law. Summed over no "
                    "neurons, or over the inputs alone, it leaves preactivations that are not "
                    "Gaussian even at infinite width, and means of functions of them are others. "
                    "Make it Gaussian; weights that are summed over many neurons, and biases of "
                    "the outputs, may have any symmetric law."
                )


def known_tensors(network: Network, names: Sequence[str]) -> tuple[str, ...]:
    """Of some tensors those whose theory is known for the layers of a network."""
    known = list(names)
    if without_fluctuations(network):
        known = [name for name in known if name in LEADING]
    if without_corrections(network):
        known = [name for name in known if "." not in name]
    return tuple(known)


def without_fluctuations(network: Network) -> str:
    """Why of a network G and H alone are known; empty if more is."""
    for number, layer in enumerate(network.layers, 1):
        widths = {one.name: network.width_of(one.name, number) for one in layer.streams}
        if reason := scores_without_fluctuations(layer.streams, widths, network.heads(number)):
            return f"in layer {number} {reason}"
        if is_recurrent(layer.streams):
            return (
                f"the weights of layer {number} are used at several steps, and forward equations "
                "of order 1/n draw them afresh"
            )
    return ""


def compared_tolerance(network: Network) -> float:
    """How well means are to be known that sampled networks are compared with."""
    read = {
        name for one in network.layers for stream in one.streams for name in functions_in(stream)
    }
    return SOFTMAX_TOLERANCE if SOFTMAX in read else TOLERANCE


def without_corrections(network: Network) -> str:
    """Why G.1 and H.1 of a network are not known; empty if they are."""
    if network.has_scores:
        return "at a finite number of neurons of a head its scores are not Gaussian"
    read = [s for layer in network.layers for s in layer.streams]
    for drawn in (one for stream in read[:-1] for one in stream.drawn):
        if drawn.function is None or drawn.orthogonal:
            continue
        if drawn.fourth is None:
            return (
                f"the law of the weights {drawn.tensor.name} has no fourth cumulant, which enters "
                "them; Gaussian weights will do"
            )
        if drawn.window and drawn.window.pools and drawn.fourth:
            return (
                f"the weights {drawn.tensor.name} read means over positions, whose fourth moments "
                "join as many positions as there are legs; Gaussian weights will do"
            )
    return ""


def at_leading_order(network: Network) -> bool:
    """Whether no corrections of G and H are known."""
    return bool(without_fluctuations(network) or without_corrections(network))


def _check_kinks(one: Activation | tuple[Function, ...], names: Sequence[str]) -> None:
    """Refuse tensors that are infinite where a sample meets itself."""
    kinks = kinks_of(one) if isinstance(one, Activation) else ()
    jumps = np.array([row for _, row in kinks])
    bad = [
        name
        for name in names
        if name not in ODD  # what they take is seen when it is asked for
        and kinks
        and (has_infinite_means(kinks, name) or has_infinite_pair(jumps, [*orders_of([name])]))
    ]
    if bad:
        raise ActivationError(
            f"{' '.join(bad)} of {one!r} cannot be had: it has a kink or a jump at z = "
            f"{kinks[0][0]:g}, and where a sample meets itself, means have products or derivatives "
            "of delta functions. Ask for other tensors, or smooth it."
        )


def stream_tensors(
    network: Network,
    overlap: Array,
    names: Sequence[str],
    tolerance: float,
    progress: bool | None = None,
    response: type[Fluctuations] = Fluctuations,
) -> dict[str, Array]:
    """The tensors of every layer, without their factors 1/n_(l-1), for all samples.

    Args:
        network: layers of any kind, the width of its input known.
        overlap: of the inputs.
        names: of tensors, and of corrections.
        tolerance: of means over four samples.
        progress: as that of `propagate`.
        response: how averages respond.
    """
    given = network, overlap, names, tolerance, progress, response
    try:
        return _stream_tensors(*given)
    except InfiniteMeanError:
        if all(name in LEADING for name in names):
            raise
    one, other = (_stream_tensors(*given, square=square) for square in SQUARES)
    bad = [
        name
        for name in names
        if np.abs(one[name] - other[name]).max() > CANCELLED * np.abs(one[name]).max()
    ]
    if bad:
        raise InfiniteMeanError(
            f"{' '.join(bad)} has means with products of delta functions of kinks, whose infinite "
            "parts do not cancel. Ask for other tensors, or smooth the kink."
        )
    return one


def _stream_tensors(
    network: Network,
    overlap: Array,
    names: Sequence[str],
    tolerance: float,
    progress: bool | None,
    response: type[Fluctuations],
    square: float | None = None,
) -> dict[str, Array]:
    program = joined_program(network, learning=not network.missing_rates)
    samples = len(overlap) // prod(program.grid)
    _check_room(program, samples, names)
    site = site_means(network, program, samples, tolerance, square=square)
    if response is Fluctuations and are_taken_together(network, program, names):
        return depth_tensors(network, program, overlap, site, names, progress)
    kernels = SiteKernels(program, overlap, site)
    fluctuations = response(kernels)
    corrections = Corrections(fluctuations)
    bases = [(name.partition(".")[0], "." in name) for name in names]
    tensors = {name: np.empty((network.depth, *(samples,) * axes(name))) for name in names}
    tops = {field: layer for layer, field in enumerate(program.tops)}
    costs = [
        1.0 + sum(f.site == one.site for f in program.fields[:place])
        for place, one in enumerate(program.fields)
    ]
    for field in track(range(len(program.fields)), "fields", progress, costs):
        kernels.add_finite(field)
        if field not in tops:
            continue
        layer = tops[field]

        with fluctuations.planned():
            for base, later in bases:
                if later:
                    corrections.correction(BOOK[base], field)
                elif named(base).order:
                    leading_tensor(named(base), field, fluctuations)
        scale = program.below[layer] if layer else 1.0
        for name, (base, later) in zip(names, bases, strict=True):
            if later:
                tensors[name][layer] = scale * corrections.correction(BOOK[base], field)
            elif named(base).order:
                tensors[name][layer] = scale * leading_tensor(named(base), field, fluctuations)
            else:
                kernel = site.ntk if named(base).forest.edges else site.kernel
                tensors[name][layer] = _over_positions(kernel(field, field), samples)
    return tensors


def site_means(
    network: Network,
    program: Program,
    samples: int,
    tolerance: float,
    positions: bool = True,
    square: float | None = None,
) -> SiteMeans:
    """Means at one neuron of a network, before any kernel is known.

    The square is what stands for the infinite square of a delta function, None if it is refused.
    """
    functions = {name: named_activation(network, name) for name in program.names}

    def means(chosen: tuple[str, ...], derivatives: int) -> LayerMeans:
        if len(chosen) == 1:
            return means_of(functions[chosen[0]], derivatives, tolerance, False, square)
        return SmoothMeans(_joined(network, functions, chosen, derivatives), tolerance)

    def chain(name: str, derivatives: int) -> tuple[Function, ...]:
        found = functions_of(functions[name], derivatives)
        if len(found) <= derivatives:
            raise ActivationError(
                f"The activation is given by {len(found)} functions. The means need {name} and its "
                f"first {derivatives} derivatives. Give them in order, or give the activation as "
                "text."
            )
        return found

    # Those of the fields, and of their copies at another neuron of a head.
    grids = [field.grid if positions else () for field in program.fields] * 2
    masks = {place: field.mask for place, field in enumerate(program.fields) if field.mask}
    return SiteMeans(samples, means, chain, grids, masks, tolerance)


def _check_room(program: Program, samples: int, names: Sequence[str]) -> None:
    """Refuse what would not fit into memory: pairs of fields that share their neurons."""
    sites = [field.site for field in program.fields]
    positions = [prod(field.grid) for field in program.fields]
    numbers = 2 * sum(
        sites.count(site) * (samples * count) ** 2
        for site, count in zip(sites, positions, strict=True)
    )
    larger = [name for name in names if "." in name or named(name).order]
    if larger:
        offsets = offsets_of(program)
        pairs = [
            sites.count(site) * (len(apart) * count) ** 2
            for site, apart, count in zip(sites, offsets, positions, strict=True)
        ]
        numbers += KEPT * len(larger) * samples**4 * sum(pairs)
    check_memory(numbers, "Give fewer samples, positions or tensors, or read positions with [all].")


def _over_positions(matrix: Array, samples: int) -> Array:
    """The mean over the positions at which both samples are the same."""
    count = len(matrix) // samples
    shape = (samples, count, samples, count)
    mean: Array = np.einsum("apbp->ab", matrix.reshape(shape)) / count
    return mean


def _joined(
    network: Network,
    functions: Mapping[str, Activation | tuple[Function, ...]],
    chosen: tuple[str, ...],
    derivatives: int,
) -> list[Function]:
    """Several smooth activations in one list, `stride` apart."""
    chain: list[Function] = []
    for name in chosen:
        one = functions[name]
        if has_kinks(one):
            raise LayerError(
                f"{network!r} has the means of {' and '.join(chosen)} at correlated fields of one "
                f"neuron, and {name} has a kink. Means of several activations at fields that "
                "differ are known where all of them are smooth. Give both layers one activation, "
                "or smooth the kink."
            )
        first, *others = functions_of(one, derivatives)
        chain += [Unrelated(first), *others, Unrelated(np.zeros_like)]
    return chain
