r"""The equations of a layer of any kind in symbols: what `fluctuations` does with numbers.

One layer is a program of two fields and more: z of layer ℓ, whose covariances are symbols, and what
the layer makes of it. The same linear response is run on arrays of polynomials in these symbols,
with a sample for each vertex, and stops at layer ℓ, where a covariance of two δQ is a tensor of
that layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.algebra import ORTHOGONAL, Polynomial
from symdlt.definitions import (
    BELOW,
    DENSE,
    WIDTH,
    Correlator,
    Layer,
    Program,
    Stack,
    ascii_name,
    place,
    program_of,
    read_layer_definition,
    tensor,
)
from symdlt.definitions.programs import Function, ProgramBranch, ProgramField
from symdlt.errors import LayerError, OrderError, require
from symdlt.networks.fluctuations import Fluctuations
from symdlt.networks.layer_equations import LayerEquation, LayerEquations
from symdlt.networks.site_averages import OUTPUT, Edges, Pair, SiteAverage
from symdlt.networks.site_functions import (
    Edge,
    Vertex,
    VertexFactor,
    at_vertex,
    product_of,
    with_edges,
)
from symdlt.networks.site_kernels import SiteKernels
from symdlt.networks.site_means import LEGS, ONE, ZERO, SiteMeans

Symbols = NDArray[Any]
BASE = 0  # the field z of layer ℓ
PRIMES = ("", "'", "''", "'''")


def layer_equations(name: str | Correlator, layer: Layer | Stack | str) -> LayerEquations:
    r"""Derive the recursion of a tensor for a layer of any kind.

    By the linear response of neuron averages, for many inputs, in derivative form. `n` is the
    width of layer ℓ, n' that of layer ℓ-1, and `n_h` that of a field inside the layer. With a skip
    the recursion reads two more quantities of layer ℓ:

    - QV, the covariance of two conditional covariances of z, and alike for the other tensors;
    - Y_12[F], the covariance of the conditional covariance of z_1 z_2 with the noise of a
      function F that a later layer m, or the layer itself, reads at the same neurons. Edges
      behind the semicolon join vertices; s^m is of layer m, G^lm and H^lm are of both.

    Args:
        name: a tensor of the book.
        layer: a layer, or its text.

    Raises:
        UnknownTensorError: if there is no such tensor.
        LayerError: if the layer keeps a function on its neurons, or normalises.
        OrderError: for a tensor of more than four axes.

    >>> print(layer_equations("H", "u = U z; v = V z; z' = W s(u) v"))
    H_12[l+1] =
      + C_V lambda_W <s(u)_1 s(u)_2> G_12
      + C_W lambda_V <s(u)_1 s(u)_2> G_12
      + C_V C_W lambda_U <s'(u)_1 s'(u)_2> G_12^2
      + C_V C_W <s(u)_1 s(u)_2> H_12
      + C_U C_V C_W <s'(u)_1 s'(u)_2> G_12 H_12
    >>> print(layer_equations("V", "z' = xi z + W z")[2])
    V_1234 =
      + QV_1234
      + Y_12[z_3 z_4]
      + Y_34[z_1 z_2]
    """
    correlator = name if isinstance(name, Correlator) else tensor(name)
    definition = read_layer_definition(layer)
    require(definition, Layer | Stack, "a layer", 'Give one such as "h = U z; z\' = W s(h)".')
    drawn = [one for stream in definition.streams for one in stream.drawn]
    orthogonal = any(one.tensor.law and one.tensor.law.name == ORTHOGONAL for one in drawn)
    norms = any(stream.norm for stream in definition.streams)
    if norms or orthogonal or any(one.window for one in drawn):
        raise LayerError(
            f"The layer {str(definition)!r} normalises a field, reads several positions, or has "
            "orthogonal weights. Equations in symbols are of layers without. Ask `propagate` for "
            "the numbers."
        )
    if correlator.pairs > 2:
        raise OrderError(
            f"{correlator.name} has {correlator.pairs} pairs of axes. The linear response gives "
            "tensors of one pair or two. Ask for one of the book, or `derive` it for a layer of "
            "one stream."
        )
    derived = _Derived(correlator, definition)
    return LayerEquations(correlator, definition, tuple(derived.equations()))


class _Network:
    """Layer ℓ and the one that is derived, with symbols for numbers."""

    def __init__(self, definition: Layer | Stack) -> None:
        self.layers = (DENSE, definition)
        self.positions = ()
        self.sizes = (_symbol("n'"), _symbol("n"), _symbol("n''"))

    def number(
        self, constant: Polynomial, layer: int, width: Polynomial | None = None
    ) -> Polynomial:
        """A constant, whatever the layer."""
        del layer
        total = Polynomial.number(0)
        for monomial, number in constant.terms:
            term = Polynomial.number(number)
            for symbol, power in monomial:
                base = width if width and symbol == WIDTH else _symbol(ascii_name(symbol))
                term = term * base**power
            total = total + term
        return total

    def width_of(self, field: str, layer: int) -> Polynomial:
        """The symbol of a width."""
        definition = self.layers[layer - 1]
        if layer == 1 or not isinstance(definition, Stack):
            kept = isinstance(definition, Layer) and not definition.closes
            return self.sizes[1 if layer == 1 or kept else 2]
        site = next(site for site in definition.sites if field in site)
        if BELOW in site:
            return self.sizes[1]
        return _symbol(f"n_{site[0]}")


class _Means(SiteMeans):
    """Means as brackets; a sample for each vertex."""

    def __init__(self, names: Sequence[str], samples: Sequence[str], plain: bool) -> None:
        super().__init__(LEGS, _no_numbers, _no_numbers, [()] * len(names))
        self.names, self.shown, self.plain = names, samples, plain

    def on_axes(self, matrix: Symbols, u: Vertex, v: Vertex, field: int) -> Symbols:
        """The symbol of two legs."""
        del field
        return _array(matrix[u.leg, v.leg])

    def _group(self, group: list[VertexFactor]) -> Symbols:
        ordered = sorted(group, key=lambda f: (self.shown[f[0].leg], f[1], str(f[2]), f[3]))
        return _array(_symbol(f"<{' '.join(map(self.text, ordered))}>"))

    def text(self, factor: VertexFactor) -> str:
        """A function of a field at the sample of a vertex."""
        vertex, field, function, order = factor
        of, at = self.names[field], self.shown[vertex.leg]
        if function is None:
            return f"{of}_{at}"
        prime = PRIMES[order] if order < len(PRIMES) else f"^({order})"
        if self.plain:
            return f"{function}{prime}{'^m' * (of == 'z^m')}_{at}"
        return f"{function}{prime}({of})_{at}"


def _no_numbers(*_: object) -> Any:
    raise AssertionError


class _Kernels(SiteKernels):
    """Kernels and NTKs of one layer, of symbols for those of the layer below."""

    means: _Means
    half = Fraction(1, 2)

    def __init__(self, program: Program, means: _Means) -> None:
        super().__init__(program, np.zeros((LEGS, LEGS), dtype=object), means)
        later = len(program.fields) - 1
        for name, known in (("G", means.kernels), ("H", means.ntks)):
            known[BASE, BASE] = self.matrix(name)
            known[later, BASE] = self.matrix(f"{name}^lm", False)
            known[later, later] = self.matrix(f"{name}^m")
        for field in range(1, later):
            self.add(field)

    def matrix(self, name: str, symmetric: bool = True) -> Symbols:
        """Symbols with two samples."""
        labels = self.means.shown
        found = np.zeros((LEGS, LEGS), dtype=object)
        for u, v in product(range(LEGS), repeat=2):
            pair = sorted((labels[u], labels[v])) if symmetric else (labels[u], labels[v])
            found[u, v] = _symbol(f"{name}_{''.join(pair)}")
        return found

    def _leading(self, branch: ProgramBranch) -> tuple[Symbols, Symbols]:
        found = np.zeros((2, LEGS, LEGS), dtype=object)
        for u, v in product(range(LEGS), repeat=2):
            ends = Vertex(u), Vertex(v)
            both = product_of(*(at_vertex(branch.function, end) for end in ends))
            moved = with_edges(both, [(u, v)]) if u != v else {}
            for place_, terms in enumerate((both, moved)):
                found[place_, u, v] = _scalar(self.means.mean(terms))
        return found[0], found[1]


class _Response(Fluctuations):
    """The linear response of one layer, down to the tensors of the layer below."""

    means: _Means
    half = Fraction(1, 2)

    def __init__(self, program: Program, means: _Means, prefix: str) -> None:
        super().__init__(_Kernels(program, means))
        self.prefix = prefix

    def both(self, left: Pair, right: Pair, edges: Edges) -> Symbols:
        """The covariance of two δQ; of the layer below, its tensor."""
        if any(field != BASE for field, _ in (*left, *right)):
            return super().both(left, right, edges)
        legs = [vertex.leg for _, vertex in (*left, *right)]
        if any(end not in legs for edge in edges for end in edge):
            return ZERO
        places = [[k for k, v in enumerate(legs) if v == end] for e in sorted(edges) for end in e]
        total = Polynomial.number(0)
        for chosen in product(*places):
            ends = zip(chosen[::2], chosen[1::2], strict=True)
            links = tuple(sorted((min(a, b), max(a, b)) for a, b in ends))
            total += self.tensor_symbol(links, tuple(legs))
        return _array(total / _symbol("n'"))

    def covariance(self, left: Pair, right: Pair, edges: Edges) -> Polynomial:
        """The covariance of two δQ, times n."""
        return _symbol("n") * _scalar(self.both(left, right, edges))

    def met(self, average: SiteAverage, pair: Pair, edges: Edges) -> Polynomial:
        """The covariance of the noise of an average with a δQ, times n."""
        return _symbol("n") * _scalar(self.noise(average, pair, edges))

    def tensor_symbol(
        self, links: tuple[tuple[int, int], ...], legs: tuple[int, ...]
    ) -> Polynomial:
        """The tensor of layer ℓ with edges between four legs."""
        labels = tuple(int(self.means.shown[vertex]) for vertex in legs)
        correlator, settled = place(LEGS, links, ((0, 1), (2, 3)), labels)
        return _symbol(f"{self.prefix}{correlator.name}_{''.join(map(str, settled))}")

    def noise(self, average: SiteAverage, pair: Pair, edges: Edges) -> Symbols:
        """The covariance of noise with a δQ; with that of the layer below, a symbol."""
        if any(field != BASE for field, _ in pair):
            return super().noise(average, pair, edges)
        site = self.program.fields[BASE].site
        if not self.prefix or self.function(average)[1] != site:
            return ZERO
        return _array(_symbol(self.noise_name(average, pair, edges)) / _symbol("n'"))

    def noise_name(self, average: SiteAverage, pair: Pair, edges: Edges) -> str:
        """Y of layer ℓ."""
        labels = self.means.shown
        terms = self.function(average)[0]
        texts = [" ".join(map(self.means.text, factors)) for (factors, _), _ in terms.items()]
        legs = "".join(sorted(labels[vertex.leg] for _, vertex in pair))
        links = ",".join(sorted(labels[u] + labels[v] for u, v in edges))
        return f"Y_{legs}[{' + '.join(texts)}{'; ' * bool(links)}{links}]"


class _Derived:
    """The equations of one tensor for one layer."""

    def __init__(self, correlator: Correlator, definition: Layer | Stack) -> None:
        self.correlator = correlator
        program = program_of(_Network(definition))  # type: ignore[arg-type]
        self.top, self.later = program.tops[1], len(program.fields)
        base = program.fields[BASE]
        self.shared = program.fields[self.top].site == base.site
        functions = [
            branch.function
            for field in program.fields[1:]
            for branch in field.branches
            if branch.site == base.site
        ]
        # What a later layer reads is read of a field of its own, at the neurons of z.
        moved = [ProgramBranch(*_LATER, base.site, _renamed(f, self.later)) for f in functions]
        later = ProgramField(base.site, base.width, (), (), tuple(moved))
        self.program = replace(program, fields=(*program.fields, later))
        self.functions = len(functions)
        names = ["z", *(stream.name for stream in definition.streams), "z^m"]
        labels = correlator.labels or tuple(range(correlator.axes))
        samples = [str(label) for label in (*labels, *"5678")[:LEGS]]
        self.means = _Means(names, samples, isinstance(definition, Layer))
        self.response = _Response(self.program, self.means, "Q" * self.shared)
        self.samples = "".join(samples[: correlator.axes])

    def equations(self) -> Iterator[LayerEquation]:
        """The recursion; with a skip and two pairs, its system."""
        name = self.correlator.name
        if self.correlator.pairs == 1:
            known = self.means.ntks if self.correlator.forest.edges else self.means.kernels
            yield self._equation(f"{name}_{self.samples}[l+1]", known[self.top, self.top][0, 1])
            return
        edges = frozenset(self.correlator.forest.edges)
        first, second = self.correlator.matching
        left, right = (self._pair(self.top, pair) for pair in (first, second))
        both = self.response.covariance(left, right, edges)
        yield self._equation(f"{self.response.prefix}{name}_{self.samples}[l+1]", both)
        if self.shared:
            yield from self._system(first, second, edges)

    def _system(self, first: Edge, second: Edge, edges: Edges) -> Iterator[LayerEquation]:
        """What a skip brings: the noise that later functions meet, and the tensor itself."""
        sides = [(first, second)] if self._alike() else [(first, second), (second, first)]
        found = [equation for side in sides for equation in self._noises(*side, edges)]
        yield from {equation.name: equation for equation in found}.values()
        yield self._whole(first, second, edges)

    def _noises(self, here: Edge, there: Edge, edges: Edges) -> Iterator[LayerEquation]:
        """The equations of Y, of all functions that a later layer reads, and of its z z."""
        for number in (*range(self.functions), OUTPUT):
            average = SiteAverage((self.later, number), _ends(there))
            known = self.response.noise_name(average, self._pair(BASE, here), edges)
            found = self.response.met(average, self._pair(self.top, here), edges)
            yield self._equation(f"{known}[l+1]", found)

    def _whole(self, first: Edge, second: Edge, edges: Edges) -> LayerEquation:
        """The tensor itself: its two averages, and the noise that each of them has met."""
        named = f"{self.correlator.name}_{self.samples}"
        whole = _symbol(f"Q{named}")
        for here, there in ((first, second), (second, first)):
            average = SiteAverage((BASE, OUTPUT), _ends(there))
            whole += _symbol(self.response.noise_name(average, self._pair(BASE, here), edges))
        return LayerEquation(named, whole)

    def _alike(self) -> bool:
        """Whether the two pairs of the tensor can be exchanged."""
        first, second = ({*pair} for pair in self.correlator.matching)
        return any({way[v] for v in first} == second for way in self.correlator.symmetries)

    def _pair(self, field: int, vertices: Edge) -> Pair:
        first, second = vertices
        return (field, Vertex(first)), (field, Vertex(second))

    def _equation(self, name: str, expression: Polynomial) -> LayerEquation:
        return LayerEquation(name, expression)


# The tensor, variance, rate and shape of a branch of which only the function is read.
_LATER: tuple[Any, Any, Any, Any, Any] = (None, 0.0, 0.0, 0.0, (1, 1))


def _renamed(function: Function, field: int) -> Function:
    """A function of z, of another field."""
    return tuple(
        (number, tuple((field, name, order) for _, name, order in factors))
        for number, factors in function
    )


def _ends(edge: Edge) -> tuple[Vertex, Vertex]:
    first, second = edge
    return Vertex(first), Vertex(second)


def _array(expression: Polynomial) -> Symbols:
    found = np.empty(ONE.shape, dtype=object)
    found[...] = expression
    return found


def _scalar(array: Symbols) -> Polynomial:
    found: Polynomial = Polynomial.number(0) + array.reshape(-1)[0]
    return found


def _symbol(name: str) -> Polynomial:
    """A symbol that is named as it is printed."""
    return Polynomial(((((name, 1),), 1),))
