r"""What a layer computes, field by field, as $h_i = b_i + \sum_j U_{ij}\,\sigma(z_j)$."""

from __future__ import annotations

from collections.abc import Iterator

from symdlt.algebra import Polynomial, as_expression
from symdlt.definitions import Layer, Stack
from symdlt.definitions.streams import LAYER_NORM, NORMS, Drawn, Factor, Stream
from symdlt.definitions.windows import ALL, Window
from symdlt.formats.latex.layer_symbols import field_latex, indexed, letter_latex
from symdlt.formats.latex.lines import product_text
from symdlt.formats.latex.notation import symbol_text

_MEAN = r"\operatorname{mean}"


def layer_latex(layer: Layer | Stack) -> str:
    r"""The definition of a layer as lines of an `align` body, one a field.

    Masks, which are drawn, have no line. With a window weights stand at each of its offsets q.

    >>> print(layer_latex(Stack("h = U s(z); z' = xi z + W s(h)")))
    h_{i} &= \sum_j U_{ij}\,\sigma(z_{j}) \\
    z'_{i} &= \xi\,z_{i} + \sum_j W_{ij}\,\sigma(h_{j})
    """
    shown = [stream for stream in layer.streams if not stream.mask]
    return " \\\\\n".join(f"{_at(one.name, 'i')} &= {_sum(_summands(one))}" for one in shown)


def _summands(stream: Stream) -> Iterator[str]:
    if stream.norm:
        ((_, normalised),) = stream.kept
        yield _normalised(_at(normalised.field, "i"), _at(normalised.field, "j"), stream.norm)
        return
    for constant, factor in stream.kept:
        yield product_text([*_constant(constant), _factor(factor, "i")])
    for one in stream.drawn:
        yield _weights(one) if one.function else _biases(one)


def _normalised(own: str, each: str, norm: str) -> str:
    """A field over its length; of LayerNorm, what is left of it without its mean."""
    if norm != LAYER_NORM:
        return rf"{own} \Big/ \sqrt{{{_MEAN}_j {each}^2}}"
    mean = rf"{_MEAN}_k {each.replace('{j}', '{k}')}"
    square = rf"\bigl({each} - {mean}\bigr)^2"
    return rf"\bigl({own} - {mean}\bigr) \Big/ \sqrt{{{_MEAN}_j {square}}}"


def _biases(one: Drawn) -> str:
    return product_text([*_constant(one.coefficient), indexed(symbol_text(one.tensor.name), "i")])


def _weights(one: Drawn) -> str:
    assert one.function is not None
    window = one.window
    products = [
        product_text([*_constant(constant), *(_factor(factor, "j", window) for factor in factors)])
        for constant, factors in one.function.terms
    ]
    read = _sum(iter(products))
    inside = rf"\bigl({read}\bigr)" if len(products) > 1 else read
    weights, sums = symbol_text(one.tensor.name), "j"
    if window is not None and (window.kernel or window.whole == ALL):
        weights, sums = indexed(weights, "ij;q"), "{j,q}"
    else:
        weights = indexed(weights, "ij")
    mean = rf"\,{_MEAN}_r" if window is not None and window.pools else ""
    return rf"\sum_{sums} {weights}{mean}\,{inside}"


def _factor(factor: Factor, index: str, window: Window | None = None) -> str:
    """A function of a field at a neuron."""
    field = _at(factor.field, index, window)
    if factor.function is None:
        return field
    return f"{letter_latex(factor.function, factor.order)}({field})"


def _at(name: str, index: str, window: Window | None = None) -> str:
    """A field at a neuron, and where weights have a window at a position."""
    below = index
    if window is not None:
        below += f";{_position(window)}"
    head, _, _ = name.partition("(")
    return indexed(field_latex(name if head in NORMS else head), below)


def _position(window: Window) -> str:
    """The position that is read, of p that is made, the offset q, and r that is averaged over."""
    if window.whole:
        return "q" if window.whole == ALL else "r"
    start = f"{window.stride}p" if window.stride > 1 else "p"
    return start + "+q" * bool(window.kernel) + "+r" * window.pools


def _constant(constant: Polynomial) -> list[str]:
    """The factor that a constant is; none for one."""
    if constant == 1:
        return []
    text = as_expression(constant).latex()
    return [rf"\left({text}\right)" if len(constant.terms) > 1 else text]


def _sum(products: Iterator[str]) -> str:
    """Products with their signs."""
    first, *others = products
    return first + "".join(f" {one}" if one[0] == "-" else f" + {one}" for one in others)
