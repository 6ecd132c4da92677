import re
from fractions import Fraction
from itertools import pairwise

import pytest

from symdlt.algebra import (
    Expression,
    activation,
    biases,
    constant,
    delta,
    from_cumulants,
    from_moments,
    gaussian,
    neuron,
    neurons,
    preactivations,
    product,
    replace,
    sample,
    samples,
    symbol,
    symbols,
    symmetric,
    uniform,
    weights,
)
from symdlt.algebra.averages import (
    ExpectationError,
    bracket,
    connected,
    expectation,
    expectation_orbits,
    expectation_terms,
)
from symdlt.errors import SymdltError

n, m = symbols("n m")
W = weights(1, rows="n", columns="m", law=gaussian(1))
r1, r2, r3, r4 = ROWS = neurons("r1 r2 r3 r4", "n")
c1, c2, c3, c4 = COLUMNS = neurons("c1 c2 c3 c4", "m")
s = constant("s", r1)
u = constant("u", c1)


def legs(rows, head=W, vector=u):
    return [(head(row, c1) * vector(c1)).sum(c1) for row in rows]


def trace(power, head=W):
    rows = neurons(" ".join(f"a{k}" for k in range(power)), head.slots[0].size)
    columns = neurons(" ".join(f"b{k}" for k in range(power)), head.slots[1].size)
    walk = [
        head(rows[k], columns[k]) * head(rows[(k + 1) % power], columns[k]) for k in range(power)
    ]
    return product(walk).sum(*rows, *columns)


def test_two_weights_give_two_deltas():
    assert expectation(W(r1, c1) * W(r2, c2), over=W) == delta(r1, r2) * delta(c1, c2)


def test_an_odd_number_of_weights_averages_to_zero():
    assert expectation(W(r1, c1) * W(r2, c2) * W(r3, c3)) == 0
    assert expectation(trace(1) * W(r1, c1)) == 0


def test_four_weights_give_three_pairings():
    average = expectation(product(legs(ROWS)), over=W)
    square = (u(c1) * u(c1)).sum(c1) ** 2
    pairings = [
        delta(r1, r2) * delta(r3, r4),
        delta(r1, r3) * delta(r2, r4),
        delta(r1, r4) * delta(r2, r3),
    ]
    assert average == sum(pairings) * square
    assert str(average) == (
        "Σ_{i j} δ_{r1 r2} δ_{r3 r4} u_i² u_j² + Σ_{i j} δ_{r1 r3} δ_{r2 r4} u_i² u_j² + "
        "Σ_{i j} δ_{r1 r4} δ_{r2 r3} u_i² u_j²"
    )


def test_powers_of_one_weight_give_its_moments():
    assert expectation(W(r1, c1) ** 4) == 3
    assert expectation(W(r1, c1) ** 6) == 15
    flat = weights(1, rows="n", columns="m", law=uniform(3))
    assert expectation(flat(r1, c1) ** 4) == Fraction(81, 5)
    signs = weights(1, rows="n", columns="m", law=from_moments({2: 1, 4: 1, 6: 1}))
    assert expectation(signs(r1, c1) ** 6) == 1


def test_the_fourth_cumulant_ties_all_four_neurons():
    κ = symbol("κ_4")
    heavy = weights(1, rows="n", columns="m", law=from_cumulants({2: 1, 4: κ}))
    extra = expectation(product(legs(ROWS, heavy))) - expectation(product(legs(ROWS)))
    tied = delta(r1, r2) * delta(r1, r3) * delta(r1, r4)
    assert extra == κ * tied * (u(c1) ** 4).sum(c1)


def test_default_laws_carry_the_hyperparameters():
    V, b = weights("ℓ+1"), biases("ℓ+1")
    i, k = neurons("i k", "n_{ℓ+1}")
    (j,) = neurons("j", "n_ℓ")
    assert str(expectation((V(i, j) * V(k, j)).sum(j))) == "C_W δ_{i k}"
    assert str(expectation(b(i) * b(k))) == "C_b δ_{i k}"


def test_traces_of_wishart_matrices_are_the_known_polynomials():
    assert expectation(trace(1)) == n * m
    assert expectation(trace(2)) == n * m * (n + m + 1)
    assert expectation(trace(3)) == n * m * (n**2 + m**2 + 3 * n * m + 3 * n + 3 * m + 4)
    assert expectation(trace(1) ** 3) == n * m * (n * m + 2) * (n * m + 4)


@pytest.mark.parametrize("powers", [(4,), (2, 1), (2, 2), (3, 1), (1, 1, 1)])
def test_traces_agree_with_all_pairings_listed(powers):
    expression = product(trace(power) for power in powers)
    assert expectation(expression) == Expression(tuple(expectation_terms(expression, over=W)))


def test_traces_with_constant_matrices_agree_with_all_pairings_listed():
    A = constant("A", r1, r2)
    G = constant("G", c1, c2, symmetry=symmetric(2))
    ring = (W(r1, c1) * G(c1, c2) * W(r2, c2) * A(r2, r3) * W(r3, c3) * W(r1, c3)).sum(
        r1, r2, r3, c1, c2, c3
    )
    twice = ring * (W(r1, c1) * W(r2, c1) * A(r1, r2)).sum(r1, r2, c1)
    for expression in (ring, twice):
        listed = Expression(tuple(expectation_terms(expression, over=W)))
        assert expectation(expression, over=W) == listed


def quadratic(left, right, head=W):
    """Form left^T W^T W right."""
    return (head(r1, c1) * left(c1) * head(r1, c2) * right(c2)).sum(r1, c1, c2)


def test_quadratic_forms_are_products_of_shifted_widths():
    norm = (u(c1) ** 2).sum(c1)
    expected = n * (n + 2) * (n + 4) * (n + 6) * norm**4
    assert expectation(quadratic(u, u) ** 4) == expected


def test_strings_agree_with_all_pairings_listed():
    v = constant("v", c1)
    α = sample("α")
    x = constant("x", c1, α)
    A = constant("A", r1, r2, α)

    def column(at):
        return x(at, α)

    free = (W(r4, c1) * W(r1, c1) * A(r1, r2, α) * W(r2, c2) * u(c2)).sum(r1, r2, c1, c2)
    cases = [
        quadratic(u, v) ** 2,
        quadratic(u, v) * quadratic(v, column) * trace(1),
        free * quadratic(u, u) * (W(r4, c1) * v(c1)).sum(c1),
        free * (W(r3, c3) * W(r1, c3) * s(r1)).sum(r1, c3) * (W(r3, c3) * u(c3)).sum(c3),
        (W(r1, c1) * W(r2, c1) * s(r2)).sum(r2, c1) ** 2 * W(r3, c2) ** 2,
    ]
    for expression in cases:
        listed = Expression(tuple(expectation_terms(expression, over=W)))
        assert expectation(expression, over=W) == listed
        assert listed != 0


def test_traces_of_a_square_matrix_pair_in_both_directions():
    S = weights(1, rows="n", columns="n", law=gaussian(1))
    powers = [
        (S(r1, r2) * S(r2, r1)).sum(r1, r2),
        (S(r1, r2) * S(r2, r3) * S(r3, r4) * S(r4, r1)).sum(*ROWS),
        S(r1, r1).sum(r1) ** 2,
        (S(r1, r2) * S(r2, r3) * S(r3, r1)).sum(r1, r2, r3) * S(r1, r1).sum(r1),
    ]
    assert [str(expectation(power)) for power in powers[:3]] == ["n", "n² + 2 n", "n"]
    for power in powers:
        assert expectation(power) == Expression(tuple(expectation_terms(power, over=S)))


def test_traces_at_numeric_widths_are_numbers():
    small = weights(1, rows=2, columns=3, law=gaussian(Fraction(1, 2)))
    value = expectation(trace(2, small))
    assert value == Fraction(1, 4) * 2 * 3 * (2 + 3 + 1)


def test_layers_are_averaged_independently():
    V = weights(2, rows="k", columns="n", law=gaussian(1))
    (o,) = neurons("o", "k")
    chain = (V(o, r1) * W(r1, c1) * u(c1)).sum(r1, c1)
    square = chain * chain
    norm = (u(c1) ** 2).sum(c1)
    assert expectation(square) == n * norm
    assert expectation(expectation(square, over=V), over=W) == n * norm
    assert expectation(expectation(square, over=W), over=V) == n * norm
    fourth = expectation(square * square)
    assert fourth == 3 * (n**2 + 2 * n) * norm**2


def test_deep_linear_moments_are_products_over_layers():
    width = symbol("w")
    layers = [weights(k, rows="w", columns="w", law=gaussian(1 / width)) for k in (1, 2, 3)]
    nodes = neurons("h0 h1 h2 h3", "w")
    x = constant("x", nodes[0])
    body = x(nodes[0])
    for layer, (low, high) in zip(layers, pairwise(nodes), strict=True):
        body = (body * layer(high, low)).sum(low)
    norm = (x(nodes[0]) ** 2).sum(nodes[0])
    fourth = expectation((body**2).sum(nodes[3]) ** 2)
    assert fourth == norm**2 * (1 + 2 / width) ** 3


def test_free_neurons_are_split_exactly():
    z = preactivations(1, "n", single_input=True)
    σ = activation("σ", z)
    average = expectation(σ(r1) * σ(r2), over=z)
    one, two = bracket(σ(r1)), bracket(σ(r1) * σ(r1))
    assert average == delta(r1, r2) * two + (1 - delta(r1, r2)) * one * one
    assert str(average) == ("⟨σ⟩^(1)² - δ_{r1 r2} ⟨σ⟩^(1)² + δ_{r1 r2} ⟨σ σ⟩^(1)")


def test_summed_neurons_are_counted_by_falling_factorials():
    z = preactivations(1, "n", single_input=True)
    σ = activation("σ", z)
    total = σ(r1).sum(r1)
    one, two, three = (bracket(σ(r1) ** power) for power in (1, 2, 3))
    expected = n * (n - 1) * (n - 2) * one**3 + 3 * n * (n - 1) * one * two + n * three
    assert expectation(total**3) == expected


def test_a_neuron_seen_elsewhere_is_not_counted_away():
    z = preactivations(1, "n", single_input=True)
    σ = activation("σ", z)
    average = expectation((s(r1) * σ(r1)).sum(r1) * σ(r2).sum(r2))
    one, two = bracket(σ(r1)), bracket(σ(r1) ** 2)
    assert average == s(r1).sum(r1) * (two + (n - 1) * one * one)


def test_an_odd_power_of_z_alone_averages_to_zero():
    z = preactivations(1, "n", single_input=True)
    σ = activation("σ", z)
    assert expectation(z(r1)) == 0
    assert expectation(z(r1) ** 2 * z(r2)) == 0
    assert expectation(z(r1) * σ(r1)) == bracket(z(r1) * σ(r1))


def test_samples_may_be_summed_too():
    α = sample("α", size="D")
    z = preactivations(1, "n")
    σ = activation("σ", z)
    average = expectation(σ(r1, α).sum(α) ** 2)
    assert str(average) == "Σ_{α β} ⟨σ_α σ_β⟩^(1)"


def test_a_recursion_step_of_the_metric():
    z, V, b = preactivations("ℓ"), weights("ℓ+1"), biases("ℓ+1")
    σ = activation("σ", z)
    i, k = neurons("i k", "n_{ℓ+1}")
    (j,) = neurons("j", "n_ℓ")
    α, β = samples("α β")
    below = preactivations("ℓ+1")

    def step(row, mark):
        return b(row) + (V(row, j) * σ(j, mark)).sum(j)

    two_point = replace(below(i, α) * below(k, β), below, step)
    assert str(expectation(two_point)) == "C_b δ_{i k} + C_W δ_{i k} ⟨σ_α σ_β⟩^(ℓ)"


def test_the_four_point_vertex_comes_out_of_the_connected_correlator():
    z, V = preactivations(1, single_input=True), weights(2)
    σ = activation("σ", z)
    rows = neurons("i1 i2 i3 i4", "n_2")
    (j,) = neurons("j", "n_1")
    outputs = [(V(row, j) * σ(j)).sum(j) for row in rows]
    vertex = connected(*outputs, over=[V, z])
    C_W, width = symbols("C_W n_1")
    pairings = (
        delta(rows[0], rows[1]) * delta(rows[2], rows[3])
        + delta(rows[0], rows[2]) * delta(rows[1], rows[3])
        + delta(rows[0], rows[3]) * delta(rows[1], rows[2])
    )
    two, four = bracket(σ(j) ** 2), bracket(σ(j) ** 4)
    assert vertex == C_W**2 / width * pairings * (four - two * two)


def test_connected_correlators_of_independent_things_vanish():
    V = weights(2, rows="n", columns="m", law=gaussian(1))
    assert connected(trace(1), trace(2, V)) == 0
    assert connected(trace(1), trace(1), trace(1, V)) == 0
    assert connected(trace(1), trace(1), trace(1)) == 8 * n * m
    assert connected(trace(2)) == expectation(trace(2))


def test_what_does_not_depend_on_a_tensor_is_its_own_average():
    V = weights(2, "n", "m")
    assert expectation(W(r1, c1) * s(r1), over=V) == W(r1, c1) * s(r1)
    assert expectation(V(r1, c1) ** 2 * W(r1, c1), over=[]) == V(r1, c1) ** 2 * W(r1, c1)


def test_tensors_to_correlate_over_may_come_from_a_generator():
    assert connected(trace(1), trace(1), over=(head for head in [W])) == 2 * n * m


def test_pairings_stream_without_being_listed():
    many = neurons(" ".join(f"r{k}" for k in range(20)), "n")
    stream = expectation_terms(product(legs(many)), over=W)
    first = [next(stream) for _ in range(3)]
    assert all(len(term.deltas) == 10 for term in first)
    assert len({str(Expression((term,))) for term in first}) == 3


@pytest.mark.parametrize(("count", "expected"), [(2, 1), (4, 3), (6, 15), (8, 105), (10, 945)])
def test_pairings_number_double_factorials(count, expected):
    many = neurons(" ".join(f"r{k}" for k in range(count)), "n")
    terms = list(expectation_terms(product(legs(many)), over=W))
    assert len(terms) == expected
    assert len({frozenset(term.deltas) for term in terms}) == expected


def test_streams_add_up_to_the_expectation():
    marks = samples("α0 α1 α2 α3 α4 α5")
    x = constant("x", c1, marks[0])
    rows = (*ROWS, *neurons("r5 r6", "n"))
    expression = product(
        (W(row, c1) * x(c1, mark)).sum(c1) for row, mark in zip(rows, marks, strict=True)
    )
    assert Expression(tuple(expectation_terms(expression, over=W))) == expectation(expression)
    shared = (W(r1, c1) * u(c1)).sum(c1) ** 2 * W(r1, c2) * W(r2, c2) * s(r2)
    assert Expression(tuple(expectation_terms(shared, over=W))) == expectation(shared)


def test_streams_of_other_laws_go_through_even_blocks():
    flat = weights(1, rows="n", columns="m", law=uniform(1))
    expression = product(legs(ROWS, flat))
    terms = list(expectation_terms(expression, over=flat))
    assert len(terms) == 4
    assert Expression(tuple(terms)) == expectation(expression)


CASES = [
    (
        lambda: expectation(W(r1, c1), over=u),
        "Cannot average over u, which is not random. It was given as `over` for "
        "Expression(W^(1)_{r1 c1}). Average over weights, biases, Gaussian vectors or "
        "preactivations; those of an "
        "activation are the ones it was made from.",
    ),
    (
        lambda: expectation(W(r1, c1), over=weights(1, "n", "m")),
        "W of layer 1 differs from the W of layer 1 in the expression. One runs over n and m, the "
        "other over n and m; their laws may differ too. Average over the very tensor that stands "
        "in the expression.",
    ),
    (
        lambda: expectation_terms(W(r1, c1), over=weights(1)),
        "W of layer 1 differs from the W of layer 1 in the expression. One runs over n_1 and n_0,",
    ),
    (
        lambda: expectation_orbits(preactivations(1, "n")(r1, sample("α")), preactivations(1)),
        "z of layer 1 differs from the z of layer 1 in the expression. One runs over n_1",
    ),
    (
        lambda: expectation(
            preactivations(1, "n", single_input=True)(r1)
            * preactivations(1, "m", single_input=True)(c1)
        ),
        "z of layer 1 differs from the z of layer 1 in the expression.",
    ),
    (
        lambda: expectation(W(r1, c1), over=W(r1, c1)),
        "Cannot average over Expression(W^(1)_{r1 c1}). It was given as `over`. Give a head such "
        "as W, without indices, several heads, or 'all'.",
    ),
    (
        lambda: expectation(W(r1, c1), over="weights"),
        "Cannot average over 'weights'. It was given as `over` for Expression(W^(1)_{r1 c1}). "
        "Give a head such as W, several heads, or 'all'.",
    ),
    (
        lambda: expectation(W(r1, c1) * preactivations(1, "n")(r1, sample("α"))),
        "W of layer 1 and z of layer 1 are not independent. Both stand in "
        "Expression(W^(1)_{r1 c1} z^(1)_{r1;α}). Replace the preactivations by their definition "
        "with `replace`, or average over the deeper tensors first.",
    ),
    (
        lambda: expectation(
            weights(3)(neuron("i", "n_3"), neuron("j", "n_2"))
            * preactivations("ℓ")(neuron("k", "n_ℓ"), sample("α"))
        ),
        "W of layer 3 and z of layer ℓ are not independent.",
    ),
    (
        lambda: expectation(
            preactivations(1, "n")(r1, sample("α")) * preactivations(2, "n")(r2, sample("α"))
        ),
        "z of layer 1 and z of layer 2 are not independent.",
    ),
    (
        lambda: connected(over=W),
        "A connected correlator needs at least one expression. `connected` was called without "
        "any. Give the expressions to be correlated, as in connected(A, B, over=W).",
    ),
    (
        lambda: bracket(W(r1, c1)),
        "A bracket holds a product of functions of one neuron's preactivations. It was given "
        "Expression(W^(1)_{r1 c1}). Multiply z(i, α), σ(i, α), … with one neuron index, or use "
        "`expectation`.",
    ),
    (
        lambda: expectation_terms(W(r1, c1), over=u),
        "Cannot list pairings of Head('u', constant, rank 1). It was given as `over` to "
        "`expectation_terms`. Give one head of weights, biases or a Gaussian vector.",
    ),
    (
        lambda: expectation_orbits(W(r1, c1), over=u),
        "Cannot average over Head('u', constant, rank 1) in orbit form. It was given as `over` "
        "to `expectation_orbits`. Give one head of weights, biases or preactivations.",
    ),
    (
        lambda: expectation_orbits(trace(1), over=W),
        "The term has no orbit form: a connected piece has several factors W. It is "
        "Expression(Σ_{i j} W^(1)_{i j}²). Take the plain `expectation`, of `.expand()` if it "
        "came from orbits.",
    ),
]


@pytest.mark.parametrize(("action", "message"), CASES)
def test_the_error_says_what_where_and_what_to_try(action, message):
    with pytest.raises(ExpectationError, match=re.escape(message)) as caught:
        action()
    assert isinstance(caught.value, SymdltError)
    assert isinstance(caught.value, ValueError)
