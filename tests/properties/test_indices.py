"""Random index expressions against explicit arrays, with exact fractions."""

import random
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symdlt.algebra import (
    Delta,
    Expression,
    Index,
    Kind,
    Polynomial,
    Tensor,
    Term,
    activation,
    antisymmetric,
    canonicalize,
    constant,
    contract,
    from_moments,
    gaussian,
    gaussian_vector,
    generated,
    neurons,
    preactivations,
    samples,
    symbol,
    symmetric,
    uniform,
    weights,
)
from symdlt.algebra import evaluate as on_arrays
from symdlt.algebra.averages import connected, expectation, expectation_orbits, expectation_terms

SQUARE = neurons("i j k o", "n")
SHORT = neurons("a c", "m")
FREE = neurons("p q", "n")
i, j, k, o = SQUARE
a, c = SHORT
ALPHA, BETA = samples("α β", size=2)

VECTORS = (constant("s", i), constant("t", i))
SHORT_VECTOR = constant("u", a)
MATRIX = constant("h", i, j)
METRIC = constant("g", i, j, symmetry=symmetric(2))
BLOCK = constant("r", i, a)
CUBE = constant("c", i, j, k, symmetry=symmetric(3))
PAIRED = constant("v", i, j, k, o, symmetry=generated((1, 0, 2, 3), (2, 3, 0, 1)))
INPUT = constant("x", i, ALPHA)
FIELD = constant("f", i, j, symmetry=antisymmetric(2))
FORM = constant("w", i, j, k, symmetry=antisymmetric(3))
CURVATURE = constant("R", i, j, k, o, symmetry=generated((1, 0, 2, 3), (2, 3, 0, 1), signs=(-1, 1)))
HEADS = (*VECTORS, SHORT_VECTOR, MATRIX, METRIC, BLOCK, CUBE, PAIRED, FIELD, FORM, CURVATURE)
NUMBERS = tuple(Index(str(value), i.species, "n", number=value) for value in (1, 2))


def array_value(head, values):
    """Give every entry of every constant a fixed small number with the head's symmetry."""
    value = entry_value(head.name, head.symmetry.least(values))
    return value * head.symmetry.sign(values) if head.symmetry.signs else value


@cache
def entry_value(name, values):
    return random.Random(f"{name}{values}").randint(-5, 5)


def evaluate_factor(factor, at, entry):
    if isinstance(factor, Delta):
        return int(position(factor.left, at) == position(factor.right, at))
    return entry(factor.head, tuple(position(index, at) for index in factor.indices))


def position(index, at):
    """Count from 0 where an index stands; one that is fixed counts from 1."""
    return at[index] if index.number is None else index.number - 1


def sizes_of(indices, widths):
    return [range(widths.get(index.size, index.size)) for index in indices]


def evaluate(terms, widths, free, entry=array_value):
    """Sum a list of terms by brute force at explicit widths."""
    total = Fraction(0)
    for term in terms:
        scale = term.coefficient.substitute(widths).as_fraction()
        for values in product(*sizes_of(term.sums, widths)):
            at = {**free, **dict(zip(term.sums, values, strict=True))}
            piece = 1
            for factor in term.factors:
                piece *= evaluate_factor(factor, at, entry)
                if not piece:
                    break
            total += scale * piece if piece else 0
    return total


def assignments(indices, widths):
    for values in product(*sizes_of(indices, widths)):
        yield dict(zip(indices, values, strict=True))


@st.composite
def terms(draw, heads=HEADS, most=5, free=FREE):
    """Draw a raw term: sums (some idle), a polynomial coefficient, deltas and tensors."""
    pool = {"n": (*SQUARE[:3], *free, draw(st.sampled_from(NUMBERS))), "m": SHORT}
    factors = []
    for _ in range(draw(st.integers(0, most))):
        if draw(st.integers(0, 3)) == 0:
            size = draw(st.sampled_from(["n", "n", "m"]))
            factors.append(Delta(*(draw(st.sampled_from(pool[size])) for _ in range(2))))
        else:
            head = draw(st.sampled_from(heads))
            indices = tuple(draw(st.sampled_from(pool[slot.size])) for slot in head.slots)
            factors.append(Tensor(head, indices))
    used = {index for factor in factors for index in factor.indices}
    idle = draw(st.sets(st.sampled_from((*SQUARE[:2], *SHORT))))
    sums = tuple(index for index in (*SQUARE, *SHORT) if index in used | idle)
    number = draw(st.sampled_from([1, 2, -1, Fraction(1, 2)]))
    width = draw(st.sampled_from([1, 1, symbol("n"), symbol("m") - 1]))
    return Term(sums, Polynomial.number(number) * width, tuple(factors))


@st.composite
def expressions(draw, **options):
    return Expression(tuple(draw(st.lists(terms(**options), min_size=1, max_size=3))))


def shuffled(expression, rng):
    """Rename dummies, permute factors and legs: the same expression in other clothes."""
    changed = []
    for term in expression.terms:
        names = {}
        for species in {(index.species, index.size) for index in term.sums}:
            old = [index for index in term.sums if (index.species, index.size) == species]
            names.update(zip(old, rng.sample(old, len(old)), strict=True))
        term = term.relabel(names)
        moved = [move_legs(factor, rng) for factor in term.factors]
        rng.shuffle(moved)
        sums = tuple(rng.sample(term.sums, len(term.sums)))
        coefficient = term.coefficient * prod(sign for _, sign in moved)
        changed.append(Term(sums, coefficient, tuple(factor for factor, _ in moved)))
    rng.shuffle(changed)
    return Expression(tuple(changed))


def move_legs(factor, rng):
    if isinstance(factor, Delta):
        return rng.choice([factor, Delta(factor.right, factor.left)]), 1
    legs, total = factor.indices, 1
    for move, sign in rng.choices(
        [*factor.head.symmetry.moves(len(legs)), (range(len(legs)), 1)], k=4
    ):
        legs, total = tuple(legs[slot] for slot in move), total * sign
    return Tensor(factor.head, legs), total


@settings(max_examples=80, deadline=None)
@given(expressions())
def test_canonical_form_has_the_value_of_explicit_sums(expression):
    for widths in ({"n": 2, "m": 3}, {"n": 3, "m": 2}):
        for at in assignments(FREE, widths):
            expected = evaluate(expression.terms, widths, at)
            assert evaluate(expression.canonical_terms, widths, at) == expected
            assert evaluate(contract(expression).terms, widths, at) == expected


@settings(max_examples=30, deadline=None)
@given(expressions(most=4))
def test_canonical_form_has_the_value_of_explicit_sums_at_width_four(expression):
    widths = {"n": 4, "m": 2}
    for at in assignments(FREE, widths):
        expected = evaluate(expression.terms, widths, at)
        assert evaluate(expression.canonical_terms, widths, at) == expected


@settings(max_examples=120, deadline=None)
@given(expressions(most=6), st.integers(0, 10**6))
def test_canonical_form_does_not_depend_on_names_order_or_leg_symmetry(expression, seed):
    other = shuffled(expression, random.Random(seed))
    assert other == expression
    assert hash(other) == hash(expression)
    assert str(other) == str(expression)
    assert other.latex() == expression.latex()
    assert not other - expression


@settings(max_examples=100, deadline=None)
@given(expressions(most=6))
def test_canonical_form_is_idempotent(expression):
    once = canonicalize(expression)
    again = canonicalize(Expression(once.terms))
    assert again.terms == once.terms
    assert canonicalize(contract(once)).terms == once.terms


@settings(max_examples=100, deadline=None)
@given(expressions(most=3), expressions(most=3))
def test_expressions_are_equal_exactly_when_their_difference_vanishes(left, right):
    assert (left == right) == (not left - right)
    widths = {"n": 3, "m": 2}
    if left == right:
        for at in assignments(FREE, widths):
            assert evaluate(left.terms, widths, at) == evaluate(right.terms, widths, at)


@settings(max_examples=60, deadline=None)
@given(expressions(most=3), expressions(most=3))
def test_product_and_sum_have_the_values_of_their_parts(left, right):
    widths = {"n": 2, "m": 2}
    for at in assignments(FREE, widths):
        values = [evaluate(side.terms, widths, at) for side in (left, right)]
        assert evaluate((left * right).canonical_terms, widths, at) == values[0] * values[1]
        assert evaluate((left + right).canonical_terms, widths, at) == sum(values)


@settings(max_examples=60, deadline=None)
@given(expressions(most=4))
def test_summing_a_free_index_adds_its_values(expression):
    widths = {"n": 3, "m": 2}
    p, q = FREE
    for value in range(3):
        rows = [evaluate(expression.terms, widths, {p: row, q: value}) for row in range(3)]
        total = expression.sum(p)
        assert evaluate(total.canonical_terms, widths, {q: value}) == sum(rows)


W_GAUSS = weights(1, rows="n", columns="m", law=gaussian(Fraction(2, 3)))
W_SIGNS = weights(1, rows="n", columns="m", law=from_moments({2: 1, 4: 1, 6: 1, 8: 1}))
W_UNIFORM = weights(1, rows="n", columns="m", law=uniform(3))


def gaussian_moment(power):
    if power % 2:
        return Fraction(0)
    half = power // 2
    return Fraction(2, 3) ** half * Fraction(factorial(power), factorial(half) * 2**half)


def sign_moment(power):
    return Fraction(1 - power % 2)


def uniform_moment(power):
    return Fraction(0) if power % 2 else Fraction(3**power, power + 1)


LAWS = [(W_GAUSS, gaussian_moment), (W_SIGNS, sign_moment), (W_UNIFORM, uniform_moment)]


def average_by_counting(terms_, widths, free, head, moment):
    """Average explicit sums by the power of each entry of the weight matrix."""
    total = Fraction(0)
    for term in terms_:
        scale = term.coefficient.substitute(widths).as_fraction()
        for values in product(*sizes_of(term.sums, widths)):
            at = {**free, **dict(zip(term.sums, values, strict=True))}
            piece, powers = scale, {}
            for factor in term.factors:
                if isinstance(factor, Tensor) and factor.head == head:
                    entry = tuple(position(index, at) for index in factor.indices)
                    powers[entry] = powers.get(entry, 0) + 1
                else:
                    piece *= evaluate_factor(factor, at, array_value)
            for power in powers.values():
                piece *= moment(power)
            total += piece
    return total


@st.composite
def weight_terms(draw, head):
    """Draw a term with an even number of weights among other factors."""
    rows, columns = (*SQUARE[:3], FREE[0], NUMBERS[1]), SHORT
    drawn = [
        Tensor(head, (draw(st.sampled_from(rows)), draw(st.sampled_from(columns))))
        for _ in range(2 * draw(st.integers(1, 3)))
    ]
    others = draw(terms(heads=(VECTORS[0], SHORT_VECTOR, METRIC, BLOCK), most=2, free=FREE[:1]))
    factors = (*drawn, *others.factors)
    used = {index for factor in factors for index in factor.indices}
    sums = tuple(index for index in (*SQUARE, *SHORT) if index in used)
    return Term(sums, others.coefficient, factors)


COVARIANCE, MEAN = constant("C", i, j, symmetry=symmetric(2)), constant("e", i)
GAUSSIAN = gaussian_vector("x", i, covariance=COVARIANCE, mean=MEAN)
ROOTS = [[random.Random(f"L{a}{b}").randint(-3, 3) for b in range(3)] for a in range(3)]


def gaussian_entry(head, values):
    """Give the covariance the value of the product of its root with itself."""
    if head == COVARIANCE:
        return sum(ROOTS[values[0]][b] * ROOTS[values[1]][b] for b in range(3))
    return array_value(head, values)


@cache
def moment_of(entries):
    """Multiply out x = e + L g, and average each power of the independent normal numbers g."""
    powers = {(0, 0, 0): 1}
    for entry in entries:
        raised = {}
        for power, value in powers.items():
            raised[power] = raised.get(power, 0) + value * array_value(MEAN, (entry,))
            for b in range(3):
                higher = tuple(p + (place == b) for place, p in enumerate(power))
                raised[higher] = raised.get(higher, 0) + value * ROOTS[entry][b]
        powers = raised
    return sum(
        value * prod(factorial(p) // factorial(p // 2) // 2 ** (p // 2) for p in power)
        for power, value in powers.items()
        if all(p % 2 == 0 for p in power)
    )


@st.composite
def gaussian_terms(draw):
    """Draw a term with up to five legs of a Gaussian vector among other factors."""
    rows = (*SQUARE[:3], FREE[0], *NUMBERS)
    drawn = [
        Tensor(GAUSSIAN, (draw(st.sampled_from(rows)),)) for _ in range(draw(st.integers(1, 5)))
    ]
    others = draw(terms(heads=(VECTORS[0], METRIC, FIELD), most=2, free=FREE[:1]))
    factors = (*drawn, *others.factors)
    used = {index for factor in factors for index in factor.indices}
    return Term(tuple(x for x in (*SQUARE, *SHORT) if x in used), others.coefficient, factors)


@settings(max_examples=40, deadline=None)
@given(gaussian_terms())
def test_average_over_a_gaussian_vector_has_the_value_of_its_moments(term):
    expression = Expression((term,))
    average = expectation(expression, over=GAUSSIAN)
    streamed = list(expectation_terms(expression, over=GAUSSIAN))
    widths = {"n": 3, "m": 2}
    scale = term.coefficient.substitute(widths).as_fraction()
    for at in assignments(FREE[:1], widths):
        expected = Fraction(0)
        for values in product(*sizes_of(term.sums, widths)):
            where = {**at, **dict(zip(term.sums, values, strict=True))}
            entries, piece = [], scale
            for factor in term.factors:
                if isinstance(factor, Tensor) and factor.head == GAUSSIAN:
                    entries.append(position(factor.indices[0], where))
                else:
                    piece *= evaluate_factor(factor, where, gaussian_entry)
            expected += piece * moment_of(tuple(sorted(entries)))
        assert evaluate(average.terms, widths, at, gaussian_entry) == expected
        assert evaluate(streamed, widths, at, gaussian_entry) == expected


@settings(max_examples=60, deadline=None)
@given(expressions(most=4))
def test_values_on_arrays_are_those_of_explicit_sums(expression):
    widths = {"n": 3, "m": 2}
    arrays = {
        head: np.array(
            [array_value(head, at) for at in product(*(range(widths[s.size]) for s in head.slots))]
        ).reshape([widths[s.size] for s in head.slots])
        for head in HEADS
    }
    for form in (expression, canonicalize(expression)):
        values = np.broadcast_to(
            on_arrays(form, {**widths, **arrays}), [3] * len(form.free_indices)
        )
        for at in assignments(FREE, widths):
            expected = float(evaluate(expression.terms, widths, at))
            entry = values[tuple(at[index] for index in form.free_indices)]
            assert entry == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(("head", "moment"), LAWS)
def test_average_over_weights_has_the_value_of_explicit_moments(head, moment):
    @settings(max_examples=60, deadline=None)
    @given(weight_terms(head))
    def check(term):
        expression = Expression((term,))
        average = expectation(expression, over=head)
        streamed = list(expectation_terms(expression, over=head))
        for widths in ({"n": 2, "m": 2}, {"n": 2, "m": 3}):
            for at in assignments(FREE[:1], widths):
                expected = average_by_counting([term], widths, at, head, moment)
                assert evaluate(average.terms, widths, at) == expected
                assert evaluate(streamed, widths, at) == expected

    check()


def test_signs_average_over_all_matrices():
    """The law with the moments of ±1 agrees with all 16 sign matrices at n = m = 2."""
    rng = random.Random(5)
    widths = {"n": 2, "m": 2}
    matrices = [
        dict(zip(product(range(2), range(2)), signs, strict=True))
        for signs in product([1, -1], repeat=4)
    ]
    for _ in range(20):
        drawn = [
            Tensor(W_SIGNS, (rng.choice(SQUARE[:2]), rng.choice(SHORT)))
            for _ in range(rng.choice([2, 4, 6, 8]))
        ]
        factors = (*drawn, Tensor(BLOCK, (i, a)))
        sums = tuple(dict.fromkeys(x for f in factors for x in f.indices))
        term = Term(sums, Polynomial.number(1), factors)
        total = Fraction(0)
        for matrix in matrices:

            def entry(head, values, matrix=matrix):
                return matrix[values] if head == W_SIGNS else array_value(head, values)

            total += evaluate([term], widths, {}, entry)
        average = expectation(Expression((term,)), over=W_SIGNS)
        assert evaluate(average.terms, widths, {}) == total / 16


Z = preactivations(1, "n")
SIGMA = activation("σ", Z)
OUTCOMES = range(4)


def outcome_value(head, sample, outcome):
    """A neuron's function in one of four equally likely outcomes; z itself is symmetric."""
    if head.kind is Kind.PREACTIVATION:
        size = 3 + entry_value("z", (sample, outcome % 2)) % 4
        return size if outcome < 2 else -size
    return entry_value(f"{head.name}{head.order}", (sample, outcome))


def mean_of(functions):
    total = Fraction(0)
    for outcome in OUTCOMES:
        piece = 1
        for head, sample in functions:
            piece *= outcome_value(head, sample, outcome)
        total += piece
    return total / len(OUTCOMES)


def bracket_entry(head, values):
    if head.kind is Kind.AVERAGE:
        return mean_of(list(zip(head.members, values, strict=True)))
    return array_value(head, values)


def average_by_neuron(term, widths, free):
    total = Fraction(0)
    scale = term.coefficient.substitute(widths).as_fraction()
    for values in product(*sizes_of(term.sums, widths)):
        at = {**free, **dict(zip(term.sums, values, strict=True))}
        piece, neurons_seen = scale, {}
        for factor in term.factors:
            if isinstance(factor, Tensor) and factor.head.kind in (
                Kind.PREACTIVATION,
                Kind.ACTIVATION,
            ):
                neuron, sample = (at[index] for index in factor.indices)
                neurons_seen.setdefault(neuron, []).append((factor.head, sample))
            else:
                piece *= evaluate_factor(factor, at, array_value)
        for functions in neurons_seen.values():
            piece *= mean_of(functions)
        total += piece
    return total


@st.composite
def neuron_terms(draw):
    functions = [
        Tensor(
            draw(st.sampled_from([Z, SIGMA, SIGMA.derivative()])),
            (draw(st.sampled_from((*SQUARE, FREE[0]))), draw(st.sampled_from([ALPHA, BETA]))),
        )
        for _ in range(draw(st.integers(1, 6)))
    ]
    others = draw(terms(heads=(VECTORS[0], METRIC), most=2, free=FREE[:1]))
    factors = (*functions, *others.factors)
    used = {index for factor in factors for index in factor.indices}
    sums = tuple(index for index in (*SQUARE, *SHORT) if index in used)
    sums += tuple(x for x in [ALPHA] if draw(st.booleans()))
    return Term(sums, others.coefficient, factors)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(neuron_terms())
def test_average_over_neurons_has_the_value_of_independent_neurons(term):
    average = expectation(Expression((term,)), over=Z)
    free = tuple(index for index in (FREE[0], ALPHA, BETA) if index not in term.sums)
    for widths in ({"n": 2, "m": 2}, {"n": 3, "m": 2}):
        for at in assignments(free, widths):
            expected = average_by_neuron(term, widths, at)
            assert evaluate(average.terms, widths, at, bracket_entry) == expected


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["signal", "other", "shared"]), min_size=2, max_size=4),
    st.booleans(),
)
def test_orbits_add_up_to_the_plain_expectation(kinds, single_input):
    """Legs of several kinds, with samples or without; each orbit counts its terms."""
    head, z = weights(2), preactivations(1, single_input=single_input)
    sigma = activation("σ", z)
    rows = neurons(" ".join(f"p{place}" for place in range(4)), "n_2")
    (column,) = neurons("j", "n_1")
    marks = samples("α0 α1 α2 α3")

    def leg(place, kind):
        function = sigma.derivative() if kind == "other" else sigma
        row = rows[0] if kind == "shared" else rows[place]
        inside = function(column) if single_input else function(column, marks[place])
        return (head(row, column) * inside).sum(column)

    expression = Expression((Term(),))
    for place, kind in enumerate(kinds):
        expression = expression * leg(place, kind)
    pairs = expectation_orbits(expression, over=head)
    assert pairs.expand() == expectation(expression, over=head)
    split = expectation_orbits(pairs, over=z)
    assert split.expand() == expectation(expression, over=[head, z])
    for orbit in (*pairs, *split):
        assert sum(1 for _ in orbit.terms()) == orbit.multiplicity
        shown = {str(Expression((term,))) for term in orbit.terms()}
        assert len(shown) == orbit.multiplicity


def test_connected_correlator_adds_up_to_the_moment():
    """Moments are the sums over partitions of products of connected correlators."""
    head = weights(1, rows="n", columns="m", law=uniform(2))
    legs = [(head(p, a) * SHORT_VECTOR(a)).sum(a) for p in neurons("p1 p2 p3 p4", "n")]
    whole = connected(*legs, over=head)
    for block in permutations(range(1, 4), 1):
        others = [place for place in range(1, 4) if place not in block]
        pair = connected(legs[0], legs[block[0]], over=head)
        rest = connected(legs[others[0]], legs[others[1]], over=head)
        whole = whole + pair * rest
    moment = expectation(legs[0] * legs[1] * legs[2] * legs[3], over=head)
    assert whole == moment
