"""Equations of layers with a skip, followed over pairs of depths, against `propagate`."""

import re
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from cases import slow
from equations import ACTIVATION, COEFFICIENTS, Meaning, X

from symdlt import Network, Stack, layer_equations, propagate
from symdlt.algebra import orthogonal

DEPTH, WIDTH = 4, 6
VALUES = {"C_b": 0.1, "C_W": 0.5, "C_U": 0.4, "xi": 0.8}
NOISE = re.compile(r"(?P<head>Q?Y(\^\(\w\))?)_(?P<legs>[^\[]+)\[(?P<function>.*)\]")
LAYERS = {
    "plain": Stack("z' = xi z + b + W s(z)"),
    "rmsnorm": Stack("z' = xi z + b + W s(rmsnorm(z))"),
    "layernorm": Stack("z' = xi z + b + W s(layernorm(z))"),
    "kept norm": Stack("f = rmsnorm(z); z' = xi z + xi f + b + W s(z)"),
    "dropout": Stack("z' = xi z + b + W dropout(1/4) s(z)"),
    "prune": Stack("z' = xi z + b + W prune(1/4) s(z)"),
    "orthogonal": Stack("z' = xi z + b + W s(z)", laws={"W": orthogonal}),
    "two on one neuron": Stack("h = xi z + U s(z); z' = xi h + b + W s(h)"),
}

LONG = ("layernorm", "kept norm", "two on one neuron")


def parts(text):
    """A function without its labels, and these."""
    text = text.replace("^m", "").replace("(z)", "")  # a layer without other fields leaves out (z)
    words = [word.rpartition("_") for word in text.split()]
    words.sort(key=lambda word: word[0])
    return " ".join(name for name, _, _ in words), [at for *_, at in words]


def each(legs):
    """The labels that stand behind each other, with commas if one is shifted."""
    return legs.split(",") if "," in legs else [*legs]


class Depths:
    """The system of one layer, from layer to layer."""

    window = ()

    def __init__(self, layer):
        values = {name: v for name, v in VALUES.items() if name != "C_U" or "U" in str(layer)}
        layers = ["z' = b + W z", *[layer] * (DEPTH - 1)]
        net = Network(ACTIVATION, [WIDTH] * (DEPTH - 1), values, layers, n_L=WIDTH)
        self.text, self.found = str(layer), propagate(net, X, ["G", "V", "G.1"])
        self.top, *self.noises, self.whole = layer_equations("V", layer).equations
        self.known = {}

    def covariance(self, below, m):
        """Of fields of layer ℓ and of layer m, by how far z is kept in between."""
        K = self.found["G"]

        def place(field):
            later = "^m" in field
            return field.replace("^m", ""), m if later else below

        def scale(depth, at):
            return K[depth - 1][at, at] ** -0.5

        def along(depth):
            """What is left of z from one layer to the next; of a layer it is one number per at."""
            if "f =" in self.text:
                return lambda at: VALUES["xi"] * (1 + scale(depth, at))
            return lambda at: VALUES["xi"] ** (2 if "h = xi" in self.text else 1)

        def of(f, a, g, b):
            (f, one), (g, other) = place(f), place(g)
            (one, f, a), (other, g, b) = sorted([(one, f, a), (other, g, b)], key=depth_of)
            factor, at_one = 1.0, one
            for name, depth, at in ((f, one, a), (g, other, b)):
                factor *= scale(depth, at) if "norm" in name or name == "f" else 1
            if f == "h":
                joint = VALUES["xi"] ** 2 * K[one - 1][a, b] + self.drawn(one, a, b)
                if one == other:
                    return factor * joint
                factor *= VALUES["xi"]
                at_one += 1
            else:
                joint = K[one - 1][a, b]
            for depth in range(at_one, other):
                factor *= along(depth)(b)
            return factor * joint * (VALUES["xi"] if g == "h" else 1)

        return of

    def drawn(self, depth, a, b):
        """The covariance of what U draws."""
        return VALUES["C_U"] * self.mean(depth, a, b)

    def mean(self, depth, a, b):
        return self.meaning(depth, depth).mean("s(z)_1 s(z)_2", {"1": a, "2": b}.get)

    @lru_cache  # noqa: B019
    def meaning(self, below, m):
        K = self.found["G"]
        joint = self.covariance(below, m)
        tensors = {
            "G": lambda a, b: K[below - 1][a, b],
            "G^m": lambda a, b: K[m - 1][a, b],
            "G^lm": lambda a, b: joint("z^m", a, "z", b),
            "G^hm": lambda a, b: joint("z^m", a, "h", b),
            "c": lambda a: K[below - 1][a, a] ** -0.5,
            "c^m": lambda a: K[m - 1][a, a] ** -0.5,
            "QV": lambda *at: self.both(below, at),
            "G.1": lambda *at: self.shift(below, at),
            "Y": lambda name, at: self.noise(below, name, at, m),
        }
        constants = VALUES | {"n": 1.0, "n'": 1.0, "n_W": 1.0}
        kept = {"dropout": (0.75, False), "prune": (0.75, True)}
        return Meaning(COEFFICIENTS, joint, constants, tensors, kept, *self.window)

    def both(self, depth, at):
        if depth == 1:
            return 0.0
        key = depth, at
        if key not in self.known:
            labels = dict(zip("1234", at, strict=True)).get
            self.known[key] = self.meaning(depth - 1, depth - 1).value(self.top, labels)
        return self.known[key]

    def noise(self, depth, name, at, m):
        """Y of a layer, of a function that layer m reads."""
        match = NOISE.match(name)
        inside = "^" in match["head"]
        if depth == 1 and not inside:
            return 0.0
        function, asked = parts(match["function"])
        for equation in self.noises:
            own = NOISE.match(equation.name.removesuffix("[l+1]"))
            known, labels = parts(own["function"])
            if (known, own["head"]) == (function, match["head"]):
                named = dict(zip(own["legs"], map(at, each(match["legs"])), strict=True))
                named |= dict(zip(labels, map(at, asked), strict=True))
                key = depth, m, equation.name, tuple(sorted(named.items()))
                if key not in self.known:
                    below = self.meaning(depth - (not inside), m)
                    self.known[key] = below.value(equation, named.get)
                return self.known[key]
        raise AssertionError(name)

    def shift(self, depth, at):
        """G.1 of a layer."""
        if depth == 1:
            return 0.0
        key = "G.1", depth, at
        if key not in self.known:
            labels = dict(zip("12", at, strict=True)).get
            self.known[key] = self.meaning(depth - 1, depth - 1).value(self.mean_of_q, labels)
        return self.known[key]

    def tensor(self, depth, at):
        labels = dict(zip("1234", at, strict=True)).get
        return self.meaning(depth, depth).value(self.whole, labels)


def depth_of(entry):
    depth, field, _ = entry
    return depth, field == "h"


@pytest.mark.parametrize(
    "family",
    [slow(f) if f in LONG else f for f in LAYERS],
)
def test_v_is_that_of_networks_at_every_depth(family):
    depths = Depths(LAYERS[family])
    for depth in range(2, DEPTH + 1):
        expected = depths.found["V"][depth - 1]
        value = np.zeros_like(expected)
        for at in product(range(len(X)), repeat=4):
            value[at] = depths.tensor(depth, at)
        assert np.abs(expected).max() > 1e-2
        np.testing.assert_allclose(value, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize(
    "family", [slow(f) if f in LONG else f for f in LAYERS if f != "kept norm"]
)
def test_corrections_are_those_of_networks_at_every_depth(family):
    depths = Depths(LAYERS[family])
    depths.mean_of_q, *noises = layer_equations("G.1", LAYERS[family]).equations
    depths.noises += noises
    for depth in range(2, DEPTH + 1):
        expected = depths.found["G.1"][depth - 1]
        value = [[depths.shift(depth, (a, b)) for b in range(2)] for a in range(2)]
        assert depth == 2 or np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7)


class Placed:
    """The states of H.1, with edges: a leg that stands twice is told apart by its place."""

    # Both legs of the pair may be exchanged, and those of the function.
    ORDERS = ((0, 1, 2, 3), (0, 1, 3, 2), (1, 0, 2, 3), (1, 0, 3, 2))
    names = ("V", "D", "F", "H.1", "G.1")
    widths = (WIDTH,) * DEPTH

    def __init__(self, layer):
        values = {name: v for name, v in VALUES.items() if name != "C_U" or "U" in layer}
        values = {name: v for name, v in values.items() if name in layer or name[0] == "C"}
        values |= {name.replace("C", "lambda"): 0.7 for name in values if name[0] == "C"}
        inner = {"h": WIDTH} if "xi z + W s(h)" in layer else {}
        layers = ["z' = b + W z", *[layer] * (DEPTH - 1)]
        *widths, outputs = self.widths
        net = Network(ACTIVATION, widths, values, layers, n_L=outputs, inner=inner)
        self.found = propagate(net, X, ["G", "H", *self.names], tolerance=1e-11)
        self.values = values
        # Of each Q its equation and its labels; of each Y its words, places of edges, equation.
        self.tops, self.noises, self.wholes, self.known = {}, {}, {}, {}
        for name in self.names:
            first, *others = layer_equations(name, layer).equations
            self.wholes[name] = first if "." in name else others[-1]
            self.tops[first.name.partition("_")[0]] = first
            for one in others:
                if one.name.endswith("[l+1]"):
                    legs, words, edges = self.read(one.name.removesuffix("[l+1]"))
                    places = [*legs, *(at for _, at in words)]
                    links = {frozenset(map(places.index, edge)) for edge in edges}
                    key = " ".join(word.replace("^m", "") for word, _ in words)
                    self.noises.setdefault(key, []).append((links, places, one))

    def read(self, name):
        """The legs, the functions with their labels, and the edges of Y."""
        inside = NOISE.match(name)
        function, _, edges = inside["function"].partition("; ")
        words = [word.rpartition("_")[::2] for word in function.split()]
        if len(words) > 2:  # a field stands in front of its derivative
            (field,) = [word for word in words if word[0].startswith("rmsnorm")]
            words.remove(field)
            place = next(k for k, (word, at) in enumerate(words) if "'" in word and at == field[1])
            words[place] = f"{field[0]}*{words[place][0]}", field[1]
        return inside["legs"], words, edges.split(",") if edges else []

    def meaning(self, below, m):
        def kernel(letter):
            known = self.found[letter]
            return {
                letter: lambda a, b: known[below - 1][a, b],
                f"{letter}^m": lambda a, b: known[m - 1][a, b],
                f"{letter}^lm": lambda a, b: VALUES["xi"] ** (m - below) * known[below - 1][a, b],
            }

        def covariance(f, a, g, b):
            if "h" in f + g:  # fresh, of U, and of layer ℓ
                joint = self.values["C_U"] * whole.mean("s(z)_1 s(z)_2", {"1": a, "2": b}.get)
                return joint if f == g else 0.0
            ends = [(m if "^m" in field else below, field, at) for field, at in ((f, a), (g, b))]
            K = self.found["G"]
            scales = [K[k - 1][at, at] ** -0.5 for k, field, at in ends if "rmsnorm" in field]
            first, last = sorted(k for k, _, _ in ends)
            return VALUES["xi"] ** (last - first) * K[first - 1][a, b] * np.prod(scales)

        tensors = kernel("G") | kernel("H")
        for mark, depth in (("c", below), ("c^m", m)):
            tensors[mark] = lambda a, k=depth: self.found["G"][k - 1][a, a] ** -0.5
        for name in ("G.1", "H.1", "QV", "QD", "QF"):
            tensors[name] = lambda *at, n=name: self.state(below, n, at)
        tensors["Y"] = lambda name, at: self.noise(below, name, at, m)
        constants = self.values | {"n": 1.0, "n'": 1.0, "n_h": 1.0}
        whole = Meaning(COEFFICIENTS, covariance, constants, tensors)
        return whole

    def state(self, depth, name, at):
        if depth == 1:
            return 0.0
        key = depth, name, at
        if key not in self.known:
            equation = self.tops[name]
            labels = equation.name.removesuffix("[l+1]").partition("_")[2]
            at_labels = dict(zip(labels, at, strict=True)).get
            self.known[key] = self.meaning(depth - 1, depth - 1).value(equation, at_labels)
        return self.known[key]

    def noise(self, depth, name, at, m):
        if depth == 1:
            return 0.0
        legs, words, edges = self.read(name)
        labels = [*legs, *(label for _, label in words)]
        words = [word.replace("^m", "") for word, _ in words]
        total = 0.0
        ends = [[k for k, label in enumerate(labels) if label == end] for e in edges for end in e]
        for chosen in product(*ends):
            links = {*map(frozenset, zip(chosen[::2], chosen[1::2], strict=True))}
            total += self.placed(depth, m, words, links, [*map(at, labels)])
        return total

    def placed(self, depth, m, words, links, at):
        """Y with its functions, edges between places, and a sample at each place."""
        for order in self.ORDERS:
            there = [words[k - 2] for k in order[2:]]
            moved = {frozenset(map(order.index, link)) for link in links}
            for known, places, equation in self.noises.get(" ".join(there), []):
                if known == moved:
                    samples = [at[k] for k in order]
                    key = depth, m, equation.name, tuple(samples)
                    if key not in self.known:
                        named = dict(zip(places, samples, strict=True)).get
                        whole = self.meaning(depth - 1, m)
                        self.known[key] = whole.value(equation, named)
                    return self.known[key]
        raise AssertionError((words, links))


@pytest.mark.parametrize(
    "layer",
    [
        "z' = xi z + b + W s(z)",
        slow("h = U s(z); z' = xi z + W s(h)"),
        slow("z' = xi z + b + W s(rmsnorm(z))"),
    ],
)
def test_the_correction_of_the_ntk_is_that_of_networks_at_every_depth(layer):
    placed = Placed(layer)
    for depth in range(2, DEPTH + 1):
        for name in ("G.1", "H.1"):
            expected = placed.found[name][depth - 1]
            value = [[placed.state(depth, name, (a, b)) for b in range(2)] for a in range(2)]
            assert depth == 2 or np.abs(expected).max() > 1e-3
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-11)


class ReadAgain(Placed):
    """A layer of which W reads neurons of z', and the next layer those again."""

    names = ("V", "D", "F")
    widths = (5, 7, 4, 6)

    def meaning(self, below, m):
        G, H = (self.found[letter] for letter in "GH")

        def covariance(f, a, g, b):
            if (f, g) == ("z'", "z'"):
                return G[below][a, b]
            if f == g == "z":
                return G[below - 1][a, b]
            if "z" in (f, g):
                return 0.0
            return self.values["C_U"] * whole.mean("s(z)_1 s(z)_2", {"1": a, "2": b}.get)

        tensors = {
            "G": lambda a, b: G[below - 1][a, b],
            "H": lambda a, b: H[below - 1][a, b],
            "Y": lambda name, at: self.noise(below, name, at, m),
        }
        for name in ("QV", "QD", "QF"):
            tensors[name] = lambda *at, n=name: self.state(below, n, at)
        older, own, above = (1, *self.widths)[below - 1 : below + 2] if below < DEPTH else (1,) * 3
        constants = self.values | {"n'": older, "n": own, "n_h": above}
        whole = Meaning(COEFFICIENTS, covariance, constants, tensors)
        return whole


@pytest.mark.parametrize("name", ["V", slow("D"), slow("F")])
def test_layers_that_read_neurons_of_their_own_outputs(name):
    again = ReadAgain("h = U s(z); z' = h + b + W s(h)")
    labels = again.wholes[name].name.partition("_")[2]
    for depth in range(2, DEPTH + 1):
        expected = again.found[name][depth - 1]
        value = np.zeros_like(expected)
        for at in product(range(len(X)), repeat=4):
            named = dict(zip(labels, at, strict=True)).get
            value[at] = again.meaning(depth, depth).value(again.wholes[name], named)
        assert np.abs(expected).max() > 1e-2
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)


class Positions(Depths):
    """The same for one input at three positions, which are the labels; zeros are beyond."""

    window = (-1, 0, 1), lambda at, offset: at + offset if 0 <= at + offset < 3 else None

    def __init__(self, layer, x, layers):
        self.text, self.known = layer, {}
        self.top, *others = layer_equations("V", layer).equations
        # Y, that of fields inside as well, and tensors of fields inside
        self.noises = [one for one in others if "Y" in one.name]
        self.inside = {one.name.partition("_")[0]: one for one in others if one.name[:2] == "V^"}
        self.fresh = {}  # covariances of what U draws
        kernel, *_ = layer_equations("G", layer).equations
        padded = np.pad(x, ((0, 0), (1, 1)))
        shifted = [padded[:, q : q + 3] for q in range(3)] if "W[" in layer else [x] * 3
        K = VALUES["C_b"] + VALUES["C_W"] / 3 * sum(y.T @ y for y in shifted) / len(x)
        self.found = {"G": [K]}
        for depth in range(1, layers):
            meaning, K = self.meaning(depth, depth), np.zeros((3, 3))
            for at in product(range(3), repeat=2):
                K[at] = meaning.value(kernel, dict(zip("12", at, strict=True)).get)
            self.found["G"].append(K)

    def meaning(self, below, m):
        meaning = super().meaning(below, m)
        whole = meaning.covariance
        for name, one in self.inside.items():
            meaning.tensors[name] = lambda *at, of=one: self.of_inside(below, of, at)
        meaning.tensors["G^(h)"] = lambda a, b: whole("h", a, "h", b)
        meaning.tensors["Y^(h)"] = lambda name, at: self.noise(below, name, at, m)
        meaning.constants["n_h"] = 5 / WIDTH

        def alone(f, a, g, b):
            """Of fields of which h keeps nothing."""
            if "h" not in (f, g):
                return whole(f, a, g, b)
            return self.drawn(below, a, b) if f == g else 0.0

        if "h = xi z" not in self.text:
            meaning.covariance = alone
        return meaning

    def drawn(self, depth, a, b):
        if (depth, a, b) not in self.fresh:
            read = [(a + q, b + q) for q in (-1, 0, 1)]
            read = [(c, d) for c, d in read if {c, d} <= {0, 1, 2}]
            sums = sum(self.mean(depth, c, d) for c, d in read)
            self.fresh[depth, a, b] = VALUES["C_U"] / 3 * sums
        return self.fresh[depth, a, b]

    def of_inside(self, depth, equation, at):
        """A tensor of fields inside, whose layer is the one above a depth."""
        key = depth, equation.name, at
        if key not in self.known:
            labels = dict(zip("1234", at, strict=True)).get
            self.known[key] = self.meaning(depth, depth).value(equation, labels)
        return self.known[key]


@pytest.mark.parametrize(
    "layer",
    [
        "z' = xi z + b + W[3, zero] s(z)",
        "h = U[3, zero] s(z); z' = xi z + b + W[3, zero] s(h)",
        "h = xi z + U[3, zero] s(z); z' = xi h + b + W s(h)",
    ],
)
def test_convolutions_with_a_skip(layer):
    x = np.array([[1.0, -0.4, 0.7], [0.2, 0.8, -0.5]])
    depths = Positions(layer, x, 3)
    first = "z' = b + W[3, zero] z" if "W[" in layer else "z' = b + W z"
    layers = [first, layer, layer, "z' = b + W[all] s(z)"]
    values = {name: value for name, value in VALUES.items() if name[-1] in layer}
    inner = {"inner": {"h": 5}} if "h = U" in layer else {}
    net = Network(ACTIVATION, [WIDTH] * 3, values | {"xi": VALUES["xi"]}, layers, **inner)
    expected = propagate(net, x[None], "V")["V"][-1]
    # a readout keeps nothing, and reads neurons whose noise is met: the first equation at ξ = 0
    readout, *_ = layer_equations("V", "z' = xi z + b + W[all] s(z)").equations
    known = depths.meaning(3, 3)
    constants = known.constants | {"xi": 0.0, "P": 3}
    meaning = Meaning(
        COEFFICIENTS, known.covariance, constants, known.tensors, None, range(3), lambda _, q: q
    )
    value = meaning.value(readout, dict.fromkeys("1234", 0).get)
    assert value == pytest.approx(expected.item(), rel=1e-8)
