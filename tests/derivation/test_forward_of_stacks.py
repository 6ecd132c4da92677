"""Forward equations of layers of several fields hold for every single network.

All fields are written out as polynomials in all parameters, in exact arithmetic, and every
equation is compared with the derivatives of these, at each of its own fields.
"""

from fractions import Fraction
from itertools import product
from math import factorial, isqrt, prod

import pytest
from cases import slow, swept

from symdlt import Stack, derive, forward_equation, layer_equations, to_latex
from symdlt.definitions import DNTK, NTK, OBSERVABLES, Forest
from symdlt.derivation.forward_steps import lower_trees
from symdlt.derivation.forward_terms import shared_neurons
from symdlt.derivation.norm_forward import NormForward
from symdlt.errors import LayerError, OrderError

INPUTS = (Fraction(1), Fraction(-2, 3), Fraction(1, 2), Fraction(3, 4))
SAMPLES = range(len(INPUTS))
HIGHEST = 3  # derivatives, which stars of four have
TAYLOR = (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3))  # of σ, a polynomial
HYPER = {
    "lambda_a": Fraction(3, 5),
    "lambda_b": Fraction(1, 3),
    "lambda_c": Fraction(2, 7),
    "lambda_P": Fraction(1, 2),
    "lambda_U": Fraction(5, 4),
    "lambda_V": Fraction(2, 3),
    "lambda_W": Fraction(7, 6),
    "xi": Fraction(3, 4),
}
GATE = "u = a + U z; v = V s(z); z' = b + 1/2 c + W (s(u) v - 1/2 v)"
BLOCK = "h = U s(z); z' = xi z + 2 b + W s(h)"
CONV = "z' = xi z + b + W[2] s(z)"
CONV_BLOCK = "h = U[2] z; z' = W s(h)"
OFFSETS = {2: (0, 1)}  # of windows, by their size
DEEP = "h = U z; g = a + V s(h); z' = xi z + W s(g)"
# Norms of fields that are (1, 7)/4 or, less their mean, (1, 7, -1, -7)/4: roots are rational.
LENGTHS = (Fraction(1, 4), Fraction(7, 4), Fraction(-1, 4), Fraction(-7, 4))
NORMED = "z' = xi z + b - 2/3 rmsnorm(z) + W s(rmsnorm(z))"
CENTRED = "y = layernorm(z); h = U z; z' = xi y + W h"
INNER = "h = U z; g = V s(rmsnorm(h)) h; z' = xi z + W g"
TWICE = "h = xi z + U s(z); z' = h + b + W s(h)"
# fields that are read past others, and that share neurons with those of earlier steps
ACROSS = "h = U s(z); g = V s(h); z' = xi z + b + P s(h) + W s(g) z"
LAST = "h = xi z + W z; z' = rmsnorm(h)"


def sigma(x, order=0):
    """The function, or one of its derivatives, of a number or a jet."""
    terms = list(TAYLOR)
    for _ in range(order):
        terms = [k * c for k, c in enumerate(terms)][1:]
    return sum((x**k * c for k, c in enumerate(terms)), x * 0)


class Jet(dict):
    """A Taylor polynomial in small changes of the parameters, up to third derivatives."""

    def __add__(self, other):
        total = Jet(self)
        for key, number in other.items():
            total[key] = total.get(key, 0) + number
        return total

    def __mul__(self, other):
        if not isinstance(other, Jet):
            return Jet({key: number * other for key, number in self.items()})
        total = Jet()
        for key, number in self.items():
            for more, another in other.items():
                if len(key) + len(more) <= HIGHEST:
                    joint = tuple(sorted((*key, *more)))
                    total[joint] = total.get(joint, 0) + number * another
        return total

    def __pow__(self, exponent):
        return self * self ** (exponent - 1) if exponent else Jet({(): Fraction(1)})

    def inverse_root(self):
        """One over the root of a jet at a square, by the binomial series."""
        square = self[()]
        root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
        assert root**2 == square
        change = Jet(self) * (1 / square) + Jet({(): Fraction(-1)})
        total, number = Jet(), 1 / root
        for k in range(HIGHEST + 1):
            total += change**k * number
            number *= Fraction(-1 - 2 * k, 2 * k + 2)
        return total

    def derivative(self, names):
        """The derivative along parameters, at the network itself."""
        multiple = prod(factorial(names.count(name)) for name in {*names})
        return self.get(tuple(sorted(names)), Fraction(0)) * multiple


class Written:
    """One network in all its parameters: the fields of a layer on top of z = A x."""

    def __init__(self, sizes, below=(None, None)):
        self.sizes, self.point, self.trees = sizes, {}, {}
        self.point = {f"A{j}": value for j, value in enumerate(below) if value is not None}
        z = [[self.parameter("A", j) * x for x in INPUTS] for j in range(len(below))]
        self.fields = {"z": z}

    def parameter(self, letter, *where):
        name = letter + "".join(map(str, where))
        if name not in self.point:
            self.point[name] = Fraction(5 * len(self.point) % 7 - 3, 4) or Fraction(1, 5)
        return Jet({(): self.point[name], (name,): Fraction(1)})

    def windowed(self, letter, read, rows, offsets):
        """Weights of each offset; samples are positions of a circle."""
        count, here = len(INPUTS), range(len(read))
        return [
            [
                sum(
                    (
                        self.parameter(letter, i, j, f"q{q}") * read[j][(d + q) % count]
                        for j in here
                        for q in offsets
                    ),
                    Jet(),
                )
                for d in SAMPLES
            ]
            for i in range(rows)
        ]

    def weighted(self, letter, read, rows):
        """Weights times what they read of each neuron and sample."""
        matrix = [[self.parameter(letter, i, j) for j in range(len(read))] for i in range(rows)]
        return [
            [sum((w * one[d] for w, one in zip(row, read, strict=True)), Jet()) for d in SAMPLES]
            for row in matrix
        ]

    def long(self, letter, rows, kept=0):
        """Choose weights of z, of two neurons, so that what they make has the right length."""
        first, second = (self.point[f"A{j}"] for j in range(2))
        for i in range(rows):
            own = (first, second)[i] * kept if kept else 0
            left = self.parameter(letter, i, 0)[()] * first
            self.point[f"{letter}{i}1"] = (LENGTHS[i] - own - left) / second

    def norm(self, name, below):
        """The field over its length, which is remembered."""
        squares = [sum((x**2 for x in column), Jet()) for column in zip(*below, strict=True)]
        inverse = [(one * Fraction(1, len(below))).inverse_root() for one in squares]
        self.scales = [one[()] for one in inverse]
        self.fields[name] = [[x * c for x, c in zip(row, inverse, strict=True)] for row in below]
        return self.fields[name]

    def bias(self, letter, rows):
        return [[self.parameter(letter, i)] * len(INPUTS) for i in range(rows)]

    def rate(self, name):
        """The learning rate of a parameter; z below has one as well."""
        if name[0] == "A":
            return Fraction(4, 9)
        return HYPER[f"lambda_{name[0]}"] / self.sizes.get(name[0], 1)

    def neurons(self, width):
        """The number that a width names."""
        return len(self.fields["z" if width == "n" else width.removeprefix("n_")])

    def value(self, field, neuron, sample):
        return self.fields[field][neuron][sample].derivative(())

    def tree(self, edges, places):
        """A product of derivatives, summed over the parameters of all edges."""
        key = edges, tuple(places)
        if key not in self.trees:
            self.trees[key] = self._tree(*key)
        return self.trees[key]

    def _tree(self, edges, places):
        values = [self.fields[field][neuron][sample] for field, neuron, sample in places]
        used = [sorted({name for key in value for name in key}) for value in values]
        own = [[k for k, edge in enumerate(edges) if v in edge] for v in range(len(values))]
        total = Fraction(0)
        for chosen in product(*([name for name in used[u] if name in used[v]] for u, v in edges)):
            number = prod(map(self.rate, chosen), start=Fraction(1))
            for value, ends in zip(values, own, strict=True):
                number *= number and value.derivative([chosen[k] for k in ends])
            total += number
        return total


def applied(function, *fields):
    return [
        [function(*entries) for entries in zip(*rows, strict=True)]
        for rows in zip(*fields, strict=True)
    ]


def added(*fields):
    return applied(lambda *entries: sum(entries[1:], entries[0]), *fields)


def gate():
    net = Written({"U": 2, "V": 2, "W": 3})
    z = net.fields["z"]
    u = net.fields["u"] = added(net.bias("a", 3), net.weighted("U", z, 3))
    v = net.fields["v"] = net.weighted("V", applied(sigma, z), 3)
    read = applied(lambda p, q: sigma(p) * q + q * Fraction(-1, 2), u, v)
    half = applied(lambda c: c * Fraction(1, 2), net.bias("c", 2))
    net.fields["z'"] = added(net.bias("b", 2), half, net.weighted("W", read, 2))
    return net


def block():
    net = Written({"U": 2, "W": 3})
    z = net.fields["z"]
    h = net.fields["h"] = net.weighted("U", applied(sigma, z), 3)
    kept = applied(lambda p, b: p * HYPER["xi"] + b * 2, z, net.bias("b", 2))
    net.fields["z'"] = added(kept, net.weighted("W", applied(sigma, h), 2))
    return net


def deep():
    net = Written({"U": 2, "V": 2, "W": 3})
    z = net.fields["z"]
    h = net.fields["h"] = net.weighted("U", z, 2)
    g = net.fields["g"] = added(net.bias("a", 3), net.weighted("V", applied(sigma, h), 3))
    kept = applied(lambda p: p * HYPER["xi"], z)
    net.fields["z'"] = added(kept, net.weighted("W", applied(sigma, g), 2))
    return net


def twice():
    net = Written({"U": 2, "W": 2})
    z = net.fields["z"]
    kept = applied(lambda p: p * HYPER["xi"], z)
    h = net.fields["h"] = added(kept, net.weighted("U", applied(sigma, z), 2))
    net.fields["z'"] = added(h, net.bias("b", 2), net.weighted("W", applied(sigma, h), 2))
    return net


def across():
    net = Written({"U": 2, "V": 3, "P": 3, "W": 2})
    z = net.fields["z"]
    h = net.fields["h"] = net.weighted("U", applied(sigma, z), 3)
    g = net.fields["g"] = net.weighted("V", applied(sigma, h), 2)
    kept = applied(lambda p: p * HYPER["xi"], z)
    own = applied(lambda p, q: sigma(p) * q, g, z)
    net.fields["z'"] = added(
        kept, net.bias("b", 2), net.weighted("P", applied(sigma, h), 2), net.weighted("W", own, 2)
    )
    return net


def conv():
    net = Written({"W": 2 * 2})  # neurons, and positions that are read
    z = net.fields["z"]
    kept = applied(lambda p, b: p * HYPER["xi"] + b, z, net.bias("b", 2))
    net.fields["z'"] = added(kept, net.windowed("W", applied(sigma, z), 2, OFFSETS[2]))
    return net


def conv_block():
    net = Written({"U": 2 * 2, "W": 2})
    z = net.fields["z"]
    h = net.fields["h"] = net.windowed("U", z, 2, OFFSETS[2])
    net.fields["z'"] = net.weighted("W", applied(sigma, h), 2)
    return net


def normed():
    net = Written({"W": 2}, LENGTHS[:2])
    z = net.fields["z"]
    y = net.norm("rmsnorm(z)", z)
    kept = applied(lambda p, q: p * HYPER["xi"] + q * Fraction(-2, 3), z, y)
    net.fields["z'"] = added(kept, net.bias("b", 2), net.weighted("W", applied(sigma, y), 2))
    return net


def centred():
    net = Written({"U": 4, "W": 2}, [x + Fraction(1, 3) for x in LENGTHS])
    z = net.fields["z"]
    mean = [sum(column, Jet()) * Fraction(-1, 4) for column in zip(*z, strict=True)]
    x = net.fields["centred(z)"] = added(z, [mean] * 4)
    h = net.fields["h"] = net.weighted("U", z, 2)
    kept = applied(lambda p: p * HYPER["xi"], net.norm("y", x))
    net.fields["z'"] = added(kept, net.weighted("W", h, 4))
    return net


def inner():
    net = Written({"U": 2, "V": 2, "W": 2})
    z = net.fields["z"]
    net.long("U", 2)
    h = net.fields["h"] = net.weighted("U", z, 2)
    read = applied(lambda y, own: sigma(y) * own, net.norm("rmsnorm(h)", h), h)
    g = net.fields["g"] = net.weighted("V", read, 2)
    kept = applied(lambda p: p * HYPER["xi"], z)
    net.fields["z'"] = added(kept, net.weighted("W", g, 2))
    return net


def last():
    net = Written({"W": 2})
    z = net.fields["z"]
    net.long("W", 2, HYPER["xi"])
    kept = applied(lambda p: p * HYPER["xi"], z)
    h = net.fields["h"] = added(kept, net.weighted("W", z, 2))
    net.norm("z'", h)
    return net


@pytest.fixture(scope="module")
def networks():
    made = (normed, centred, inner, last)
    norms = {text: net() for text, net in zip((NORMED, CENTRED, INNER, LAST), made, strict=True)}
    made = (gate, block, deep, twice, across, conv, conv_block)
    texts = (GATE, BLOCK, DEEP, TWICE, ACROSS, CONV, CONV_BLOCK)
    return {text: net() for text, net in zip(texts, made, strict=True)} | norms


def evaluated(equation, network, i, d):
    """The right-hand side of one equation, at neurons i and samples d."""
    if isinstance(equation, NormForward):
        if equation.square:
            scale = network.scales[d[0]]
            assert norm_value(equation, equation.square, network, i, d) * scale**2 == 1
        return sum(norm_value(equation, one, network, i, d) for one in equation.terms)
    return sum(term_value(equation, one, network, i, d) for one in equation.written)


def term_value(equation, one, network, i, d):
    step, term = equation.step, one.term
    if any(i[u] != i[v] for (u, v), _ in term.new):
        return Fraction(0)
    front = one.number * powers(step, one.powers)

    def width(branch):
        return network.neurons(step.width_of(branch))

    for _, k in term.new:
        branch = step.branches[k]
        number, exponents = branch.rate
        read = width(branch) * (branch.window.count if branch.window else 1) if branch.summed else 1
        front *= number * powers(step, exponents) / read
    neuron = shared_neurons(term)
    taken = [step.branches[k] for k in term.branches]
    sums = {neuron[v]: range(width(b)) for v, b in enumerate(taken) if b.summed}
    # Offsets of windows go with the neurons that are read: both ends of a new edge have one.
    offsets = {neuron[v]: OFFSETS[b.window.count] for v, b in enumerate(taken) if b.window}
    total, own = Fraction(0), d
    for choice in product(*sums.values(), *offsets.values()):
        j = dict(zip(sums, choice[: len(sums)], strict=True))
        q = dict(zip(offsets, choice[len(sums) :], strict=True))
        at = [j[neuron[v]] if branch.summed else i[v] for v, branch in enumerate(taken)]
        moved = [q[neuron[v]] if branch.window else 0 for v, branch in enumerate(taken)]
        d = [(sample + move) % len(INPUTS) for sample, move in zip(own, moved, strict=True)]
        number = front
        for v, branch in enumerate(taken):
            if branch.tensor is not None and not term.is_new(v):
                where = (i[v], at[v]) if branch.summed else (i[v],)
                where += (f"q{moved[v]}",) if branch.window else ()
                number *= network.parameter(branch.tensor.name, *where)[()]
            for factor in one.read[v]:
                value = network.value(step.below[factor.field], at[v], d[v])
                number *= sigma(value, factor.order) if factor.function else value
        for (forest, fields), above in lower_trees(term):
            places = [(step.below[f], at[v], d[v]) for f, v in zip(fields, above, strict=True)]
            number *= network.tree(forest.edges, places)
        total += number
    return total


def norm_value(equation, term, network, i, d):
    names, total = equation.step.names, Fraction(0)
    width = network.neurons(equation.step.width)
    for choice in product(range(width), repeat=len(term.sums)):
        at = dict(zip(term.sums, choice, strict=True)) | {f"i{v}": k for v, k in enumerate(i)}
        number = term.number / width**term.width * prod(network.scales[d[v]] for v in term.scales)
        for field, (letter, k), v in term.read:
            number *= network.value(names[field], at[f"{letter}{k}"], d[v])
        for (forest, fields), places in term.trees:
            ends = [
                (names[field], at[f"{letter}{k}"], d[v])
                for field, ((letter, k), v) in zip(fields, places, strict=True)
            ]
            number *= network.tree(forest.edges, ends)
        total += number
    return total


def powers(step, exponents):
    names = [name.replace("λ", "lambda").replace("ξ", "xi") for name in step.symbols]
    return prod(HYPER[name] ** p for name, p in zip(names, exponents, strict=True) if p)


FORESTS = {
    **{name: OBSERVABLES[name] for name in ("preactivation", "NTK", "dNTK")},
    "z z": Forest(2),
    "z NTK": Forest(3, ((1, 2),)),
}


SAME, APART = (0, 0, 0, 0), (0, 1, 1, 0)
SECOND = [("ddNTK-I", APART), ("ddNTK-II", SAME)]
MORE = [("ddNTK-I", SAME), ("ddNTK-II", APART)]
OTHERS = (BLOCK, DEEP, TWICE)


@pytest.mark.parametrize(
    ("text", "name", "i"),
    [
        *product((GATE, ACROSS, *OTHERS), FORESTS, (SAME, APART)),
        *(slow(text, *case) for text, case in product(OTHERS, SECOND)),
        *(swept(text, *case) for text, case in product(OTHERS, MORE)),
        *(swept(text, *case) for text, case in product((GATE, ACROSS), (*SECOND, *MORE))),
    ],
)
def test_every_equation_holds_for_a_single_network(text, name, i, networks):
    every_equation_holds(text, FORESTS.get(name) or OBSERVABLES[name], i, networks[text])


@pytest.mark.parametrize("text", [CONV, CONV_BLOCK])
@pytest.mark.parametrize("name", ["preactivation", "NTK", "z NTK", slow("dNTK")])
def test_equations_of_windows_hold_at_positions_of_a_single_network(text, name, networks):
    every_equation_holds(text, FORESTS[name], (0, 0, 0), networks[text])


@pytest.mark.parametrize("text", [NORMED, LAST, INNER, CENTRED])
@pytest.mark.parametrize(
    ("name", "i"),
    [
        *product(["preactivation", "NTK"], [(0, 0, 0, 0), (0, 1, 1, 0)]),
        ("dNTK", (0, 1, 1, 0)),
        ("z NTK", (1, 0, 1)),
        slow("ddNTK-I", (0, 1, 1, 0)),
        slow("ddNTK-II", (0, 0, 0, 0)),
    ],
)
def test_equations_of_norms_hold_for_a_single_network(text, name, i, networks):
    every_equation_holds(text, FORESTS.get(name) or OBSERVABLES[name], i, networks[text])


def every_equation_holds(text, forest, i, network):
    d = (0, 1, 2, 3)
    for equation in forward_equation(forest, text).equations:
        size, step = equation.forest.vertices, equation.step
        names = step.names if isinstance(equation, NormForward) else step.above
        places = [(names[f], i[v], d[v]) for v, f in enumerate(equation.fields)]
        expected = prod(
            network.tree(
                tuple(
                    (tree.index(u), tree.index(v)) for u, v in equation.forest.edges if u in tree
                ),
                [places[v] for v in tree],
            )
            for tree in equation.forest.components
        )
        assert evaluated(equation, network, i[:size], d[:size]) == expected, equation
        assert expected or {names[f] for f in equation.fields} != {"z'"}


def test_a_window_of_one_position_divides_by_the_neurons_alone():
    one, two = (forward_equation(NTK, f"z' = W[{size}] s(z)") for size in (1, 2))
    assert "lambda_W/n delta" in str(one)
    assert "lambda_W/(2 n) delta" in str(two)
    assert r"\frac{\lambda_W^{(\ell+1)}}{n_{\ell}}" in to_latex(one)


def test_a_layer_of_one_field_has_the_equation_of_a_layer():
    """A stack that is a dense layer, term by term, but for how functions are written."""
    dense = str(forward_equation(DNTK)).replace("_{j", "(z)_{j")
    for mark in ("s", "s'", "s''"):
        dense = dense.replace(f" {mark}(z)_{{j", f" {mark}@_{{j")
    dense = dense.replace("(z)_{j", "_{j").replace("@", "(z)")
    assert str(forward_equation(DNTK, Stack("z' = b + W s(z)"))) == dense


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("z' = b + U s(z) + W s(z'[-1])", "several steps"),
        ("z' = rmsnorm(z)", "makes z' of z without weights"),
        ("q = Q z; k = K z; v = V z; z' = W softmax(q.k) v", "has scores"),
        ("z' = W[3, pool 2] s(z)", "which read means over positions"),
    ],
)
def test_other_layers_are_refused_with_the_reason(text, why):
    with pytest.raises(LayerError, match=why) as refused:
        forward_equation(NTK, text)
    for ask in (derive, layer_equations):
        named = f"`{ask.__name__}`" in str(refused.value)
        try:
            ask("V", layer=text)
        except LayerError:
            assert not named
        else:
            assert named or ask is derive


STAR = Forest(41, tuple((0, k) for k in range(1, 41)))
PAIR_OF_STARS = Forest(8, (*((0, k) for k in range(1, 7)), (1, 7)))


@pytest.mark.parametrize(
    ("forest", "text"),
    [
        (STAR, "u = U z; v = V z; z' = W s(u) v"),
        (STAR, "h = W s(z); z' = rmsnorm(h)"),
        (PAIR_OF_STARS, "h = W s(z); z' = rmsnorm(h)"),
    ],
)
def test_forests_that_are_too_large_are_refused(forest, text):
    with pytest.raises(OrderError, match="more than 1,000,000 terms"):
        forward_equation(forest, text)
