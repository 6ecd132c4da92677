"""Recursions of stacks against exact finite networks, at the orders 1/n and 1/n².

Blocks of two weights are chains of dense layers to `exact.cumulant`; gates have `exact.sites`,
which is held to the same chains and to networks that are written out in all their parameters; and
of one input gates on gates, and residual blocks, follow from moments of the mean of z².
"""

from fractions import Fraction
from functools import cache
from math import comb, prod
from random import Random

import pytest
from cases import slow, thinned
from direct.stacks import StackValues
from exact import Network, cumulant, matrix, metric_cumulant, moment, random_network
from exact.gaussian import isserlis, powers
from exact.literal import LiteralNetwork, Parameter, expectation
from exact.network import matched
from exact.sites import Field, Sites
from exact.widths import coincidences, evaluate, perfect_matchings
from sympy import QQ, ring

from symdlt import Stack, derive
from symdlt.definitions import correlators, tensor
from symdlt.derivation import piece_name


def two_pairs(*quick, swept=""):
    """The thirteen tensors; all but those that are quick are for long runs, or for the sweep."""
    marks = dict.fromkeys(quick, ()) | dict.fromkeys(swept, pytest.mark.sweep)
    return [
        pytest.param(c, marks=marks.get(c.name, pytest.mark.slow), id=c.name)
        for c in (*correlators(0), *correlators(1))
    ]


BLOCK = Stack("h = a + U s(z); z' = b + W tanh(h)")
GATE = Stack("u = a + U z; v = V s(z); z' = b + W (s(u) v + 1/2 tanh(v))")
IDENTITY = (0, 1)


def taylor_mean(functions, samples):
    """The mean of polynomial functions of one Gaussian field, as `StackValues` asks for it.

    Args:
        functions: of each field, or of a name at every field, the Taylor coefficients, one row
            for each sample.
        samples: how many there are.
    """

    @cache
    def known(field, factors, covariance):
        monomials = {(): Fraction(1)}  # sorted samples, one for each z
        for (name, order), sample in factors:
            taylor = functions.get((field, name)) or functions[name]
            image = {}
            for p, weight in powers(taylor[sample], order):
                for zs, c in monomials.items():
                    key = tuple(sorted((*zs, *[sample] * p)))
                    image[key] = image.get(key, 0) + c * weight
            monomials = image
        return sum((c * isserlis(zs, covariance) for zs, c in monomials.items()), Fraction(0))

    def mean(field, factors, kernel):
        entries = [[kernel(a, b) for b in range(samples)] for a in range(samples)]
        return known(field, factors, matrix(entries))

    return mean


def lower_tensors(dependencies, found):
    """Entries of tensors of layer ℓ: `found` gives a cumulant as powers of widths."""

    def entries(correlator, piece):
        order = correlator.pairs - 1 + piece

        @cache
        def entry(index):
            polynomial = found(index, correlator, order)
            return sum((c for p, c in polynomial.items() if sum(p) == order), Fraction(0))

        return entry

    return {piece_name(c, p): entries(c, p) for c, p in dependencies}


class Block:
    """One or two blocks of two weights, as a chain of dense layers."""

    def __init__(self, seed, *degrees):
        self.network = random_network(seed, *degrees)
        self.samples = len(self.network.metric)
        inner, last = self.network.layers[-2:]
        self.hyper = {"C_a": inner.C_b, "C_U": inner.C_W, "C_b": last.C_b, "C_W": last.C_W}
        self.hyper |= {"lambda_a": inner.lambda_b, "lambda_U": inner.lambda_W}
        self.hyper |= {"lambda_b": last.lambda_b, "lambda_W": last.lambda_W}
        self.functions = {"s": inner.activations, "tanh": last.activations}

    def found(self, network, index, correlator, order):
        return cumulant(network, index, correlator.forest.edges, correlator.matching, order=order)

    def check(self, correlator, piece, index, ratios=(1, 1), inputs="many"):
        """The recursion on exact tensors below, against the exact tensor above."""
        order = correlator.pairs - 1 + piece
        recursion = derive(correlator, piece=piece, layer=BLOCK, inputs=inputs)
        below = Network(self.network.metric, self.network.ntk, self.network.layers[:-2])
        lower = lower_tensors(recursion.dependencies, lambda *args: self.found(below, *args))
        mean = taylor_mean(self.functions, self.samples)
        first, second = map(Fraction, ratios)  # n/n' and n/n_h
        values = StackValues(
            recursion, lower, mean, self.hyper, {"(n/n')": first, "(n/n_h)": second}
        )
        exact = self.found(self.network, index, correlator, order)
        expected = Fraction(0)
        for power, number in exact.items():
            if sum(power) == order:
                *older, _, inner = power
                expected += number * second**inner * first ** sum(older)
        assert values.value(index) == expected
        return expected


@pytest.mark.parametrize("correlator", two_pairs("G", "V", "F", "R"))
def test_a_block_at_order_one(correlator):
    block = Block(31, (3, 2), (2, 3))
    index = (1, 0, 0, 1)[: correlator.axes]
    assert block.check(correlator, 0, index, ratios=(1, Fraction(2, 3)))


@pytest.mark.parametrize("correlator", two_pairs("G", "H", "B", swept="ADQR"))
def test_corrections_of_a_block(correlator):
    degrees = ((2, 1), (1, 2)) if correlator.pairs == 2 else ((2, 2), (2, 2))
    block = Block(32, *degrees)
    index = (1, 0, 0, 1)[: correlator.axes]
    assert block.check(correlator, 1, index, ratios=(1, Fraction(3)))


SIX = correlators(2)


@pytest.mark.parametrize("correlator", thinned([tensor("X6"), *SIX[::6]], 2), ids=lambda c: c.name)
def test_a_block_with_three_pairs(correlator):
    block = Block(33, (2, 1), (1, 2))
    index = tuple(Random(correlator.name).choices(range(2), k=6))
    block.check(correlator, 0, index, ratios=(1, Fraction(1, 2)))


def gate_network(seed, samples, inner, gate):
    """z of a first layer, then u and v, then z' of the gate, with random polynomials.

    Args:
        seed: of the draw.
        samples: how many there are.
        inner: the degree of what V reads of z.
        gate: the degrees of s(u) and of tanh(v).
    """
    source = Random(seed)

    def polynomial(degree):
        return [source.choice((-2, -1, 1, 2)) for _ in range(degree + 1)]

    rows = {
        name: [polynomial(degree) for _ in range(samples)]
        for name, degree in (("z", inner), ("u", gate[0]), ("v", gate[1]))
    }
    hyper = {
        name: Fraction(source.randint(1, 4))
        for letter in "aUVbW"
        for name in (f"C_{letter}", f"lambda_{letter}")
    }

    def field(letters, reads):
        numbers = [hyper.get(f"{kind}_{k}", 0) for k in letters for kind in ("C", "lambda")]
        return Field(tuple(reads), numbers[0], numbers[2], numbers[1], numbers[3])

    u = field("aU", [(((1,), 1),)] * samples)
    v = field("-V", [tuple(((p,), c) for p, c in enumerate(row)) for row in rows["z"]])
    both = [
        (
            *(((p, 1), c) for p, c in enumerate(of_u)),
            *(((0, p), Fraction(c, 2)) for p, c in enumerate(of_v)),
        )
        for of_u, of_v in zip(rows["u"], rows["v"], strict=True)
    ]
    first = random_network(seed, (1,) * samples)
    sites = ((u, v), (field("bW", both),))
    return Sites(first.metric, first.ntk, sites), hyper, rows


def taylor(rows):
    """Taylor coefficients of polynomials."""
    factorials = (1, 1, 2, 6, 24)
    return [tuple(c * factorials[p] for p, c in enumerate(row)) for row in rows]


def gate_check(correlator, piece, index, network, hyper, rows, ratio):
    """The recursion of the gate against the exact tensor; below it all is Gaussian."""
    order = correlator.pairs - 1 + piece
    recursion = derive(correlator, piece=piece, layer=GATE)
    samples = len(network.metric)

    def found(at, one, power):
        return cumulant(
            Sites(network.metric, network.ntk, ()),
            tuple((0, s) for s in at),
            one.forest.edges,
            one.matching,
            order=power,
        )

    functions = {"": [IDENTITY] * samples, "tanh": taylor(rows["v"])}
    functions |= {(name, "s"): taylor(rows[name]) for name in "zu"}
    mean = taylor_mean(functions, samples)
    lower = lower_tensors(recursion.dependencies, found)
    values = StackValues(recursion, lower, mean, hyper, {"(n/n')": Fraction(1), "(n/n_u)": ratio})
    exact = cumulant(
        network, tuple((0, s) for s in index), correlator.forest.edges, correlator.matching, order
    )
    parts = [(outer + inner, c * ratio**inner) for (outer, inner), c in exact.items()]
    expected = sum((c for power, c in parts if power == order), Fraction(0))
    assert values.value(index) == expected
    return expected


def as_sites(network):
    """A chain of dense layers as sites of one field."""
    made = []
    for layer in network.layers:
        reads = tuple(
            tuple(((p,), c) for p, c in powers(activation, 0)) for activation in layer.activations
        )
        made.append((Field(reads, layer.C_b, layer.C_W, layer.lambda_b, layer.lambda_W),))
    return Sites(network.metric, network.ntk, tuple(made))


@pytest.mark.parametrize("correlator", two_pairs("V", "D", "S"))
def test_exact_sites_of_one_field_are_exact_layers(correlator):
    network, index = random_network(43, (2, 1), (1, 2)), (1, 0, 0, 1)[: correlator.axes]
    edges, matching = correlator.forest.edges, correlator.matching
    labels = tuple((0, s) for s in index)
    found = cumulant(as_sites(network), labels, edges, matching, order=2)
    assert found == cumulant(network, index, edges, matching, order=2)


@pytest.mark.parametrize("edges", [(), ((0, 1),), ((0, 1), (0, 2)), slow(((0, 1), (0, 2), (0, 3)))])
def test_exact_sites_are_gates_that_are_written_out(edges):
    """z of width 2 from one input, u and v of width 1, z' of width 1, in all their parameters."""
    network, hyper, rows = gate_network(44, 1, 1, (1, 0))
    names = ["z0", "z1", "a", "U0", "U1", "V0", "V1", "b", "W"]
    _, *variables = ring(names, QQ)
    z0, z1, a, U0, U1, V0, V1, b, W = variables
    of_z, of_u, of_v = ([QQ(c) for c in rows[name][0]] for name in "zuv")
    read = [of_z[0] + of_z[1] * z for z in (z0, z1)]
    u, v = a + U0 * z0 + U1 * z1, V0 * read[0] + V1 * read[1]
    out = b + W * ((of_u[0] + of_u[1] * u) * v + of_v[0] / 2)
    of = {name: Fraction(hyper[name]) for name in hyper}
    scale = {"U": Fraction(1, 2), "V": Fraction(1, 2)}
    parameters = [
        Parameter(x, network.metric[0][0], network.ntk[0][0])
        if n[0] == "z"
        else Parameter(
            x,
            of[f"C_{n[0]}"] * scale.get(n[0], 1),
            of[f"lambda_{n[0]}"] * scale.get(n[0], 1),
        )
        for n, x in zip(names, variables, strict=True)
    ]
    literal = LiteralNetwork(tuple(parameters), ((out,),))
    vertices = 4
    found = expectation(literal, (0,) * vertices, (0,) * vertices, edges)
    total = Fraction(0)
    for pairs in perfect_matchings(tuple(range(vertices))):
        forest = matched(((0, 0),) * vertices, edges, pairs)
        total += evaluate(moment(network, forest, None), (2, 1))
    assert found == total != 0


@pytest.mark.parametrize("correlator", two_pairs("G", "H", "V", "F", swept="RSTU"))
def test_a_gate_at_order_one(correlator):
    network, hyper, rows = gate_network(41, 2, 2, (1, 1))
    index = (1, 0, 0, 1)[: correlator.axes]
    assert gate_check(correlator, 0, index, network, hyper, rows, Fraction(2, 3))


@pytest.mark.parametrize("correlator", two_pairs("H", swept="ADFPQRSTU"))
def test_corrections_of_a_gate(correlator):
    network, hyper, rows = gate_network(42, 2, 1, (1, 1))
    index = (1, 0, 0, 1)[: correlator.axes]
    gate_check(correlator, 1, index, network, hyper, rows, Fraction(3))


# One input: given z, the fields u and v are Gaussian with the metrics C_U S and C_V S of the mean
# S of z², and given these, S' has the moments of a mean over independent neurons.
DEEP = Stack("u = U z; v = V z; z' = b + W s(u) v")
QUADRATIC = (1, 2, -1)  # s(u) = 1 + 2 u - u²
NUMBERS = {"C_U": Fraction(1, 2), "C_V": Fraction(2), "C_b": Fraction(1), "C_W": Fraction(1, 3)}
NUMBERS |= {f"lambda_{letter}": Fraction(0) for letter in "UVbW"}


def neuron_moment(power):
    """<s(u)^power v^power> as a polynomial {q: coefficient of S^q}."""
    total = {0: Fraction(1)}
    for _ in range(power):
        image = {}
        for p, c in total.items():
            for q, d in enumerate(QUADRATIC):
                image[p + q] = image.get(p + q, 0) + c * d
        total = image
    of_v = double_factorial(power - 1) * NUMBERS["C_V"] ** (power // 2)
    return {
        p // 2 + power // 2: c * double_factorial(p - 1) * NUMBERS["C_U"] ** (p // 2) * of_v
        for p, c in total.items()
        if p % 2 == 0 and c
    }


def double_factorial(number):
    return prod(range(number, 0, -2))


@cache
def gated_moment(power, gates):
    """E of the metric of z to a power after some gates, from K = 1; (n, n_u) for each."""
    if not gates:
        return {(): Fraction(1)}
    total = {}
    for k in range(power + 1):
        outer = comb(power, k) * NUMBERS["C_b"] ** (power - k) * NUMBERS["C_W"] ** k
        for sizes, count in coinciding(k):
            of_s = {0: Fraction(count)}
            for size in sizes:
                of_s = poly_times(of_s, neuron_moment(2 * size))
            weights = coincidences(len(sizes), k)
            for q, c in of_s.items():
                chi = [Fraction(1)]  # E S^q = G^q (1 + 2/n) (1 + 4/n) … given the metric G
                for j in range(q):
                    chi = [a + 2 * j * b for a, b in zip([*chi, 0], [0, *chi], strict=True)]
                below = gated_moment(q, gates - 1)
                for p, value in below.items():
                    for a, x in enumerate(chi):
                        for b, w in enumerate(weights):
                            key = (*p, a, b)
                            if sum(key) <= 2:
                                total[key] = total.get(key, 0) + value * x * w * c * outer
    return total


def coinciding(k):
    """The ways in which k neurons coincide up to the order 1/n², by the sizes of their groups."""
    yield (1,) * k, 1
    if k > 1:
        yield (2, *(1,) * (k - 2)), comb(k, 2)
    if k > 2:
        yield (3, *(1,) * (k - 3)), comb(k, 3)
    if k > 3:
        yield (2, 2, *(1,) * (k - 4)), 3 * comb(k, 4)


def poly_times(left, right):
    image = {}
    for p, c in left.items():
        for q, d in right.items():
            image[p + q] = image.get(p + q, 0) + c * d
    return image


@pytest.mark.parametrize(
    ("name", "power"), [("V", 2), ("G.1", 1), ("V.1", 2), ("X6", 3), ("G.2", 1)]
)
def test_gates_on_gates(name, power):
    """Two gates, widths of 1 : 3 inside: the order 1/n² of what the metric of z does."""
    layers, ratio = 2, Fraction(1, 3)
    lower = iterated_from(name, DEEP, layers, {"(n/n')": Fraction(1), "(n/n_u)": ratio})
    exact = metric_cumulant({k: gated_moment(k, layers) for k in range(1, power + 1)}, power)
    what, _, piece = name.partition(".")
    order = tensor(what).pairs - 1 + int(piece or 0)
    expected = sum(c * ratio ** (p[1] + p[3]) for p, c in exact.items() if sum(p) == order)
    assert lower[name] == expected != 0


# One input of a residual block: given S, the mean of z², and the variance v of what is drawn, n S'
# is a noncentral chi-square: the cumulants of S' are 2^(k-1) (k-1)! n^(1-k) (v^k + k ξ² S v^(k-1)).
RESIDUAL = Stack("h = U z; z' = xi z + b + W s(h)")
XI = Fraction(2, 3)


def within_order(polynomial):
    """Terms up to the order 1/n² in all widths; the last two exponents are those of widths."""
    return {key: c for key, c in polynomial.items() if c and sum(key[-2:]) <= 2}


def times(left, right):
    image = {}
    for p, c in left.items():
        for q, d in right.items():
            key = tuple(a + b for a, b in zip(p, q, strict=True))
            image[key] = image.get(key, 0) + c * d
    return within_order(image)


def plus(*parts):
    image = {}
    for part in parts:
        for key, c in part.items():
            image[key] = image.get(key, 0) + c
    return image


@cache
def drawn_moment(power):
    """E v^power given S, as {(power of S, of 1/n, of 1/n_h): coefficient}."""
    total = {}
    for k in range(power + 1):
        outer = comb(power, k) * NUMBERS["C_b"] ** (power - k) * NUMBERS["C_W"] ** k
        for sizes, count in coinciding(k):
            of_s = {(0, 0, 0): outer * count}
            for size in sizes:
                of_s = times(of_s, even_moment(2 * size))
            inner = {(0, 0, b): w for b, w in enumerate(coincidences(len(sizes), k)) if b <= 2}
            total = plus(total, times(of_s, inner))
    return total


def even_moment(power):
    """<s(h)^power> of h with the variance C_U S."""
    total = {0: Fraction(1)}
    for _ in range(power):
        total = poly_times(total, dict(enumerate(QUADRATIC)))
    return {
        (p // 2, 0, 0): c * double_factorial(p - 1) * NUMBERS["C_U"] ** (p // 2)
        for p, c in total.items()
        if p % 2 == 0 and c
    }


@cache
def residual_moment(power, blocks):
    """E S^power after some blocks, as {(of 1/n, of 1/n_h): coefficient}, from K = 1."""
    if not blocks:
        total = {(0, 0): Fraction(1)}
        for k in range(power):
            total = times(total, {(0, 0): 1, (1, 0): 2 * k})
        return total
    moments = [{(0, 0, 0, 0): Fraction(1)}]  # of S', in powers of v, S, 1/n and 1/n_h
    for p in range(1, power + 1):
        parts = []
        for k in range(1, p + 1):
            size = comb(p - 1, k - 1) * 2 ** (k - 1) * prod(range(1, k))
            cumulant_ = {(k, 0, k - 1, 0): size, (k - 1, 1, k - 1, 0): size * k * XI**2}
            parts.append(times(within_order(cumulant_), moments[p - k]))
        moments.append(plus(*parts))
    total = {}
    for (v, s, a, b), c in moments[power].items():
        for (t, e, f), d in drawn_moment(v).items():
            below = times(residual_moment(s + t, blocks - 1), {(a + e, b + f): c * d})
            total = plus(total, below)
    return within_order(total)


def distinct_moment(power, blocks):
    """E z_1² z_2² … of different neurons: the direction of z is that of a sphere."""
    total = residual_moment(power, blocks)
    for k in range(power):
        inverse = {(0, 0): 1, (1, 0): -2 * k, (2, 0): 4 * k**2}
        total = times(total, inverse)
    return total


def iterated_from(name, layer, depth, ratios, more=None):
    """Tensors of one input after some layers, from a Gaussian layer with K = 1."""
    recursions, wanted = {}, [name]
    while wanted:
        one = derive(wanted.pop(), layer=layer, inputs="one")
        recursions[one.name] = one
        wanted += [piece_name(*d) for d in one.dependencies if piece_name(*d) not in recursions]
    mean = taylor_mean({"": [IDENTITY], "s": taylor([QUADRATIC])}, 1)
    hyper = NUMBERS | (more or {})
    lower = {key: Fraction(key == "G") for key in recursions}
    for _ in range(depth):
        entries = {key: (lambda index, number=number: number) for key, number in lower.items()}
        lower = {
            key: StackValues(one, entries, mean, hyper, ratios).value((0,) * one.correlator.axes)
            for key, one in recursions.items()
        }
    return lower


@pytest.mark.parametrize(
    ("name", "power"), [("V", 2), ("G.1", 1), ("V.1", 2), ("X6", 3), ("G.2", 1)]
)
def test_residual_blocks_that_read_z_itself(name, power):
    """Three blocks: the recursions of the last layer alone hold at every depth."""
    blocks, ratio = 3, Fraction(1, 3)
    lower = iterated_from(name, RESIDUAL, blocks, {"(n/n')": 1, "(n/n_h)": ratio}, {"xi": XI})
    exact = metric_cumulant({k: distinct_moment(k, blocks) for k in range(1, power + 1)}, power)
    what, _, piece = name.partition(".")
    order = tensor(what).pairs - 1 + int(piece or 0)
    expected = sum(c * ratio**b for (a, b), c in exact.items() if a + b == order)
    assert lower[name] == expected != 0


@pytest.mark.parametrize(
    ("layer", "kept"),
    [
        ("z' = W prune(1/3) z", [Fraction(2, 3)]),
        ("m = dropout(1/4); h = U m z; z' = W prune(1/3) h", [Fraction(3, 4), Fraction(2, 3)]),
    ],
)
def test_linear_layers_behind_masks(layer, kept):
    """The square length of z is a product over layers of means of m²g², of independent neurons."""
    depth, K = 3, Fraction(5, 4)
    hyper = {"C_W": Fraction(2, 3), "C_U": Fraction(1, 2), "lambda_W": 0, "lambda_U": 0}
    ratios = {"(n/n')": Fraction(1), "(n/n_h)": Fraction(1)}
    stack, names = Stack(layer), ["G", "V", "V.1", "X6"]
    known = {name: Fraction(0) for name in names} | {"G": K, "G.1": Fraction(0)}
    for _ in range(depth):
        known = next_linear_layer(stack, known, hyper, ratios)
    domain, n = ring("n", QQ)  # of 1/n

    def factor(part, k):
        """E[(Σ m²g²/n)^k], over the partitions of the k neurons into equal ones."""
        moments = [part ** (1 - 2 * p) * double_factorial(2 * p - 1) for p in range(4)]
        m_1, m_2, m_3 = (QQ(x.numerator, x.denominator) for x in moments[1:])
        squared = m_1**2 + (m_2 - m_1**2) * n
        cubed = m_1**3 * (1 - n) * (1 - 2 * n) + 3 * m_1 * m_2 * n * (1 - n) + m_3 * n**2
        return (domain(m_1), squared, cubed)[k - 1]

    variances = hyper["C_W"] * (hyper["C_U"] if len(kept) > 1 else 1)
    first, second, third = (
        prod((factor(part, k) for part in kept for _ in range(depth)), start=domain(1))
        * (K * variances**depth) ** k
        for k in (1, 2, 3)
    )
    spread = second - first**2
    skewed = third - 3 * second * first + 2 * first**3
    expected = {"G": first.coeff(1), "V": spread.coeff(n), "V.1": spread.coeff(n**2)}
    expected |= {"X6": skewed.coeff(n**2), "G.1": QQ(0)}
    assert known == {
        name: Fraction(int(x.numerator), int(x.denominator)) for name, x in expected.items()
    }


def next_linear_layer(layer, known, hyper, ratios):
    """All tensors one layer above, of one input; there are no functions to average."""
    lower = {name: lambda index, value=value: value for name, value in known.items()}
    above = {}
    for name in known:
        recursion = derive(name, layer=layer, inputs="one")
        values = StackValues(recursion, lower, None, hyper, ratios)
        above[name] = values.value((0,) * len(recursion.samples))
    return above
