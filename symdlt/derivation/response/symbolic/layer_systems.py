"""The equations of a layer as a closed system, for its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from symdlt.definitions import (
    BELOW,
    NAMED,
    ODD,
    AnyTensor,
    Layer,
    OddTensor,
    Stack,
    Window,
    canonical_name,
    is_chain,
    named_tensor,
    split_subleading,
    tensor,
    windows_in,
)
from symdlt.derivation import derive
from symdlt.derivation.response.symbolic.closed_systems import (
    LayerSystem,
    SystemEquation,
    overlap_of,
)
from symdlt.derivation.response.symbolic.composed_steps import ComposedSteps
from symdlt.derivation.response.symbolic.depth_systems import DepthEquations
from symdlt.derivation.response.symbolic.field_names import is_inside
from symdlt.derivation.response.symbolic.inside_equations import (
    NOTHING,
    PAIR,
    InsideEquations,
    MadeInside,
)
from symdlt.derivation.response.symbolic.layer_derivation import LayerDerivation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation
from symdlt.derivation.response.symbolic.readable import PIECES, readable_layer
from symdlt.derivation.response.symbolic.symbolic_means import symbol_named
from symdlt.derivation.response.symbolic.system_equations import system_equation
from symdlt.derivation.response.symbolic.window_sums import readout_of
from symdlt.errors import KernelError


def layer_system(
    tensors: Iterable[str | AnyTensor], layer: Layer | Stack | str, inputs: str = "many"
) -> LayerSystem:
    """The equations of some tensors, and of all that they need.

    Args:
        tensors: names or correlators, of the book, odd ones, and G.1 and H.1; for one input of any
            order in 1/n where the layer is a chain of steps.
        layer: the layer; layer 1 has the biases and the weights of its last statement, which read
            the input.
        inputs: "one" or "many".

    Raises:
        KernelError: for a layer that ends without weights, for a skip whose layers read other
            things each, for windows of one input or of odd tensors, and for other corrections.
        LayerError: for a layer that `layer_equations` does not take.

    >>> layer_system(["F"], "u = U z; v = V z; z' = b + W s(u) v").names
    ('G', 'H', 'F')
    >>> [one.name for one in layer_system(["V"], "z' = xi z + b + W s(z)").depths.states]
    ['QV', 'Y_s', 'Y_z']
    """
    definition = readable_layer(layer)
    *_, last = definition.streams
    if all(one.function is None for one in last.drawn):
        raise KernelError(
            f"The layer {definition} has no weights in its last statement. Layer 1 of a kernel "
            "file reads the input by these. Write it so that z' has weights, or ask `propagate` of "
            "a `Network`, whose first layer may be another one."
        )
    named = (one if isinstance(one, str) else one.name for one in tensors)
    names = ("G", *map(canonical_name, named))
    if not windows_in(definition):
        return _derived(names, definition, inputs)
    if odd := [name for name in names if name in ODD]:
        raise KernelError(
            f"{' '.join(odd)} of the layer {definition} has no kernel file: that of a window ends "
            "with a readout, which keeps no neurons. Ask `layer_equations` or `propagate`."
        )
    _check_positions(definition, inputs)
    return _with_readout(names, definition)


@lru_cache(maxsize=8)  # kernels of each target are of one system
def _derived(names: tuple[str, ...], definition: Layer | Stack, inputs: str) -> LayerSystem:
    """The equations of some tensors, and of all that they need."""
    depths, inside = DepthEquations(definition, inputs), InsideEquations(definition)
    equations: dict[str, SystemEquation] = {}
    fields: tuple[SystemEquation, ...] = ()
    left = [*names]
    while left:
        name, piece = split_subleading(left.pop())
        correlator = named_tensor(name)
        name = correlator.name + f".{piece}" * bool(piece)
        if name in equations:
            continue
        if name not in (*NAMED, *PIECES):
            equations[name] = _of_steps(name, definition, inputs)
        else:
            derivation = LayerDerivation(correlator, definition, False)
            if piece:
                _check_without_inside(derivation, name)
            closes = not (correlator.order or piece) or isinstance(correlator, OddTensor)
            if not closes and _is_met(derivation):
                others = "" if piece else "`layer_equations` or "
                raise KernelError(
                    f"{name} of the layer {definition} has no kernel file. It reads neurons that "
                    f"z' keeps, whose noise the next layer meets again. Ask {others}`propagate`; "
                    "G, H and odd tensors have kernel files."
                )
            if piece:
                _check_laws(derivation, name)
                derivation.check_corrections()
            if not derivation.shared or closes:
                equation = derivation.correction() if piece else derivation.recursion()
                equations[name] = _of_tensor(derivation, equation, piece, inputs)
            elif inputs == "one" and is_chain(definition):
                equations[name] = _of_steps(name, definition, inputs)
            else:
                equations[name] = depths.whole(derivation, piece)
                left += depths.leading
                continue
            inside.add(derivation, equations[name].terms)
        left += [need for need in sorted(equations[name].needs) if not is_inside(need)]
        if name == "G":
            fields = tuple(_fields(derivation, inputs))
            inside.add(derivation, [term for one in fields for term in one.terms])
        left += inside.below
    ordered = _in_dependency_order(equations)
    own = {name: _of_inside(name, one, inputs) for name, one in inside.made.items()}
    made = tuple((depths.pairs_inside | own).values())
    return LayerSystem(definition, ordered, fields, depths.system(), inputs, inside=made)


@lru_cache(maxsize=8)  # as above
def _with_readout(names: tuple[str, ...], definition: Layer | Stack) -> LayerSystem:
    """The equations of a layer with windows, and those of a readout of all positions.

    One of their mean has the same, under means at positions of their own for both ends of a pair.
    """
    system = _derived(names, definition, "many")
    closed = tuple(name for name in system.names if name not in system.summed)
    readout = _derived(closed, readout_of(definition), "many").equations
    depths = DepthEquations(readout_of(definition, keeps=True), "many")
    readout += tuple(map(depths.read_alone, system.summed))
    windows = windows_in(definition)
    *_, last = definition.streams
    read = dict.fromkeys(one.window for one in last.drawn if one.function is not None)
    overlaps = tuple(None if one is None else windows.index(one) for one in read)
    return replace(system, windows=windows, overlaps=overlaps, readout=readout)


def _is_met(derivation: LayerDerivation) -> bool:
    """Whether noise that was met enters a layer that does not keep z."""
    return bool(derivation.met) and not derivation.shared


def _check_positions(layer: Layer | Stack, inputs: str) -> None:
    """Refuse what no kernel files of windows are for."""
    if inputs != "many":
        raise KernelError(
            f"The layer {layer} has a window, so that an input has as many samples as positions. "
            "Kernel files for one input have none. Ask for many inputs, and give the overlaps of "
            "one input at all pairs of its positions."
        )
    *inside, last = layer.streams
    _check_inside(layer, [one.window for s in inside for one in s.drawn if one.window])
    apart = any(_makes_fewer(window) for window in windows_in(layer))
    where = [one for one in last.drawn if one.function is not None and one.window is None]
    if apart and (last.kept or where):
        raise KernelError(
            f"The layer {layer} keeps fields where they are, or has weights that read them there, "
            "and a window of others makes fewer positions. Fields that are added have the same "
            "ones. Let windows have the stride one, circular or zero padding, and no pooling, or "
            "write weights without a window as W[stride 2], W[pool 2] or W[all]."
        )


def _check_inside(layer: Layer | Stack, windows: Sequence[Window]) -> None:
    """Refuse windows inside a layer that make other positions, or what z keeps its neurons in."""
    assert isinstance(layer, Stack), layer
    sites = {name: site for site in layer.sites for name in site}
    placed = [s.name for s in layer.streams[:-1] if any(one.window for one in s.drawn)]
    if any(BELOW in sites[name] for name in placed):
        raise KernelError(
            f"The layer {layer} has a window inside, of a field that keeps z. Kernel files take "
            "windows of fields with other neurons. Ask `propagate` of a `Network`."
        )
    if any(map(_makes_fewer, windows)):
        raise KernelError(
            f"The layer {layer} has a window inside that makes fewer positions. Kernel files take "
            "those of the stride one, with circular or zero padding and without pooling; windows "
            "of the last statement may have any. Make it two layers, or ask `propagate`."
        )


def _makes_fewer(window: Window) -> bool:
    """Whether a window makes fewer positions than it reads."""
    return bool(window.whole) or window.padding == "valid" or window.stride > 1 or window.pool > 1


def _check_without_inside(derivation: LayerDerivation, name: str) -> None:
    """Refuse what windows inside a layer are not known for."""
    if derivation.kernels.windowed:
        raise KernelError(
            f"{name} of the layer {derivation.layer} has no kernel file. It has a window inside, "
            "and such layers have files of the thirteen tensors of the book. Ask `propagate` of a "
            "`Network` for it."
        )


def _check_laws(derivation: LayerDerivation, name: str) -> None:
    """Refuse weights whose laws have fourth cumulants."""
    if not derivation.gaussian:
        raise KernelError(
            f"{name} of the layer {derivation.layer} has no kernel file. Fourth cumulants of its "
            "weights tie the legs of two layers. Ask `propagate` for corrections of order 1/n."
        )


def _of_steps(name: str, layer: Layer | Stack, inputs: str) -> SystemEquation:
    """A tensor beyond the order 1/n, with the steps of the layer put into each other.

    Raises:
        KernelError: for many inputs, or a layer that is not of several streams.
        LayerError: for a stack that is no chain of steps.
    """
    what, piece = split_subleading(name)
    correlator = tensor(what)
    if windows_in(layer):
        raise KernelError(
            f"{name} of the layer {layer} cannot be had: layers with windows have kernel files at "
            "leading order, of tensors of two pairs. Ask for those, or for G.1 and H.1."
        )
    if inputs != "one" or not isinstance(layer, Stack):
        raise KernelError(
            f"{name} of the layer {layer} has no kernel file for {inputs} input"
            f"{'s' * (inputs != 'one')}. Of layers of several streams that are chains of steps, "
            "orders beyond the leading one and tensors of more than two pairs have kernels for one "
            "input, inputs='one'. Ask for that, or for G.1 and H.1."
        )
    steps = ComposedSteps(derive(correlator, piece=piece, layer=layer, inputs="one"))
    equation = LayerEquation(f"{name}[l+1]", steps.polynomial)
    terms = tuple(product.terms[0] for product in equation.products)
    text = tuple(str(equation).splitlines())
    samples = correlator.labels
    return SystemEquation(name, samples, text, terms, steps.reads, (), correlator.symmetries)


def _in_dependency_order(equations: dict[str, SystemEquation]) -> tuple[SystemEquation, ...]:
    """Each equation behind those of the tensors that it needs; else as the book has them."""
    left = [name for name in NAMED if name in equations]
    left += sorted(equations.keys() - {*left}, key=_size)
    done: dict[str, SystemEquation] = {}
    while left:
        name = next(
            name for name in left if (equations[name].needs & {*equations}) <= {*done, name}
        )
        left.remove(name)
        done[name] = equations[name]
    return tuple(done.values())


def _size(name: str) -> tuple[int, int, str]:
    """Few axes first, then leading pieces."""
    what, piece = split_subleading(name)
    return named_tensor(what).axes, piece, name


def _of_tensor(
    derivation: LayerDerivation, equation: LayerEquation, piece: int, inputs: str
) -> SystemEquation:
    correlator = derivation.correlator
    first = NOTHING
    if not (correlator.order or piece):
        top = derivation.program.fields[derivation.top]
        windows = derivation.texts.labels.windows
        read = [*dict.fromkeys(windows.get(branch.tensor.name) for branch in top.branches)]
        for branch in (*top.biases, *top.branches):
            size: Any = branch.rate if correlator.forest.edges else branch.variance
            if branch.site is not None:
                window = windows.get(branch.tensor.name)
                size = size * symbol_named(overlap_of(read.index(window)))
            first = first + size
    name, samples = correlator.name + ".1" * piece, tuple(map(int, derivation.samples))
    ways = correlator.symmetries
    return system_equation(derivation, equation, name, samples, first, ways, inputs)


def _of_inside(name: str, made: MadeInside, inputs: str) -> SystemEquation:
    samples, ways = tuple(map(int, made.derivation.samples)), made.symmetries
    return system_equation(made.derivation, made.equation, name, samples, NOTHING, ways, inputs)


def _fields(derivation: LayerDerivation, inputs: str) -> Iterator[SystemEquation]:
    """The covariances of the fields inside a layer."""
    names = derivation.texts.names
    samples = tuple(map(int, derivation.samples))
    for field in derivation.inside:
        if derivation.program.fields[field].mask:
            continue
        covariance = NOTHING + derivation.entry(derivation.means.kernels[field, field])
        ends = " ".join(f"{names[field]}_{sample}" for sample in samples)
        equation = LayerEquation(f"<{ends}>", covariance)
        yield system_equation(derivation, equation, names[field], samples, NOTHING, PAIR, inputs)
