"""The wording of every error of the index layer."""

import re

import pytest

from symdlt.algebra import (
    Expression,
    Index,
    Species,
    Term,
    activation,
    as_expression,
    constant,
    delta,
    from_cumulants,
    from_moments,
    gaussian,
    generated,
    neuron,
    neurons,
    preactivations,
    replace,
    sample,
    substitute,
    sum_over,
    symbol,
    symmetric,
    truncated_normal,
    uniform,
    weights,
)
from symdlt.algebra.layer_labels import split_layer
from symdlt.errors import IndexStructureError, SymdltError

i, j = neurons("i j", "n_1")
(a,) = neurons("a", "n_2")
α = sample("α")
s = constant("s", i)

CASES = [
    (
        lambda: delta(i, a),
        "A Kronecker delta needs two indices of the same species and size. It was given "
        "Index('i', neuron, n_1) and Index('a', neuron, n_2). Rename one of them, or declare "
        "both with the same species and size.",
    ),
    (lambda: delta(i, α), "A Kronecker delta needs two indices of the same species and size."),
    (
        lambda: neuron("n", "n_1"),
        "The index name 'n' is reserved for a quantity of the theory. It was given to a neuron "
        "index of size n_1. Choose another name, which is neither a width such as 'n_1' nor C_b, "
        "C_W or λ_….",
    ),
    (lambda: neuron("C_W", 3), "The index name 'C_W' is reserved for a quantity of the theory."),
    (
        lambda: neuron("i", "i"),
        "The name 'i' stands for an index and for the size of its range. Both were given to one "
        "neuron index. Choose another name for one of them.",
    ),
    (
        lambda: neuron("2i", 3),
        "'2i' is not a name. It was given to an index. A name is a Latin or Greek letter "
        "followed by letters and digits, with '_' between its parts.",
    ),
    (
        lambda: neuron("i", 0),
        "The size 0 is not a width. It was given to the index 'i'. A size is a positive integer "
        "or the name of a width such as 'n_1'.",
    ),
    (
        lambda: s(i, j),
        "s takes 1 indices and was given 2. The indices were (i, j). Give one for each of neuron.",
    ),
    (
        lambda: s(a),
        "Slot 0 of s cannot take Index('a', neuron, n_2). It takes a neuron index of size n_1. "
        "Use an index declared so, or declare the tensor with other slots.",
    ),
    (lambda: s(α), "Slot 0 of s cannot take Index('α', sample, None)."),
    (lambda: s("i"), "Slot 0 of s cannot take 'i'."),
    (
        lambda: sum_over(1, α),
        "Cannot sum over α, whose range has no size. It is a sample index declared without one. "
        "Declare it with a size, as in sample('α', size=4).",
    ),
    (
        lambda: Term((i, i)),
        "An index is summed twice in (i, i). The sums belong to one term. Name each summed "
        "index once.",
    ),
    (
        lambda: s(i) * constant("t", neuron("i", 4))(neuron("i", 4)),
        "The name 'i' stands for two different indices. They are Index('i', neuron, n_1) and "
        "Index('i', neuron, 4). Rename one of them with `.relabel`.",
    ),
    (
        lambda: s(i).relabel({i: a}),
        "Cannot rename Index('i', neuron, n_1) to Index('a', neuron, n_2). The two indices run "
        "over different ranges. Rename an index to one of the same species and size.",
    ),
    (
        lambda: as_expression(0.5),
        "0.5 is not an expression. It was used where an expression of indexed tensors is needed. "
        "Give an expression, a symbol, an integer or a Fraction; floats are not exact.",
    ),
    (
        lambda: s(i) ** -1,
        "Cannot raise an expression to the power -1. The expression is Expression(s_i). Powers "
        "are 0, 1, 2, …; divide by constants and widths with '/'.",
    ),
    (
        lambda: s(i) / (symbol("n") + 1),
        "Cannot divide by n + 1, which is not a single monomial. The division was asked of an "
        "exact coefficient. Divide by numbers, constants and widths one at a time.",
    ),
    (
        lambda: s(i) / 0,
        "Cannot divide by 0. The division was asked of an exact coefficient. Divide by numbers "
        "other than 0, by constants or by widths.",
    ),
    (
        lambda: symbol("n").as_fraction(),
        "n is not a number. A value was asked of a coefficient in which symbols are left. "
        "Substitute a number for each of them first.",
    ),
    (
        lambda: symbol("a b"),
        "'a b' is not a symbol. It was given to `symbol`. Use a name such as 'C_W', 'n_1', "
        "'n_{ℓ-1}' or 'λ_b', without spaces or operators.",
    ),
    (
        lambda: substitute(s(i).sum(i), {"n_1": symbol("m") - 1}),
        "The width n_1 cannot become m - 1. It is the size of a range in the expression. "
        "Substitute a positive integer or the name of another width.",
    ),
    (
        lambda: constant("g", i, a, symmetry=symmetric(2)),
        "The symmetry of g exchanges slots 0 and 1. Its slots are (('neuron', 'n_1'), "
        "('neuron', 'n_2')). Only slots of one species and one size can be exchanged.",
    ),
    (
        lambda: symmetric((0, 1), (1, 2)),
        "The blocks ((0, 1), (1, 2)) share a slot or name a negative one. They were given to "
        "`symmetric`. Give each slot to one block, or use `generated` for other symmetries.",
    ),
    (
        lambda: generated((0, 0)),
        "(0, 0) is not a permutation of 2 slots. It was given to `generated`. List each slot "
        "0, 1, … once.",
    ),
    (
        lambda: generated((1, 0, 2, 3, 4, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7, 0)),
        "The moves generate more than 5040 permutations. They were given to `generated`. Use "
        "`symmetric` for slots that exchange freely.",
    ),
    (
        lambda: activation("σ", weights(1)),
        "σ cannot act on W. That is a weight. Give the preactivations it acts on, as in "
        "activation('σ', preactivations(1)).",
    ),
    (
        lambda: activation("σ", preactivations(1)).derivative(-1),
        "Cannot take -1 derivatives of σ. It is an activation. Only an activation",
    ),
    (
        lambda: preactivations(1).derivative(),
        "Cannot take 1 derivatives of z. It is a preactivation. Only an activation has "
        "derivatives, and only 0, 1, 2, … of them.",
    ),
    (
        lambda: weights(0),
        "There is no layer below layer 0. The tensor asked for the width of the layer that "
        "feeds it. Number the layers of weights from 1.",
    ),
    (
        lambda: split_layer(1.5),
        "1.5 is not a layer. It was given as the layer of a tensor of the network. Write a "
        "number such as 2, or a symbol with an offset such as 'ℓ' or 'ℓ+1'.",
    ),
    (
        lambda: uniform(-1),
        "The variance -1 is negative. It was given to a uniform law. Give 0, a positive number "
        "or a symbol.",
    ),
    (
        lambda: truncated_normal(symbol("q")),
        "The name 'q' stands for the hazard and for a constant in the scale.",
    ),
    (
        lambda: constant("C_W"),
        "The constant name 'C_W' is reserved for a quantity of the theory. It was given to "
        "`constant`.",
    ),
    (
        lambda: constant("m", neuron("i", "m")),
        "The name 'm' stands for a constant and for the size of one of its legs.",
    ),
    (lambda: activation("σ'", preactivations(1)), "An activation cannot be called σ'."),
    (lambda: activation("z", preactivations(1)), "An activation cannot be called z."),
    (
        lambda: (constant("m")() * symbol("m")).to_sympy(),
        "The name 'm' stands for two things: a symbol and Head('m', constant, rank 0).",
    ),
    (
        lambda: replace(s(i), constant("s", a), lambda k: 1),
        "Head('s', constant, rank 1) does not occur, but another tensor that prints the same "
        "does. The head was given to `replace`.",
    ),
    (lambda: symmetric(-1), "-1 is not a number of slots or a list of them."),
    (
        lambda: from_cumulants({2: 1, 4: 1}).cumulant(6),
        "The law lists its cumulants up to order 4 only. A block of 6 equal weights needs the "
        "cumulant of order 6. List it too, with the value 0 if it is to be dropped.",
    ),
    (
        lambda: from_cumulants({3: 1}),
        "The orders (3,) are not even orders from 2 up. They were given as the cumulants of a "
        "symmetric law. Give a value for 2, and for 4, 6, … where needed; odd orders vanish.",
    ),
    (
        lambda: from_moments({2: 1, 6: 1}),
        "The moment of order 4 is missing. Moments were given for the orders (2, 6). Give every "
        "even moment up to the highest.",
    ),
    (
        lambda: gaussian(1).cumulant(0),
        "There is no cumulant of order 0. It was asked of a gaussian law. Orders start at 1, "
        "and the second is the variance.",
    ),
    (
        lambda: truncated_normal(1, cutoff=0),
        "A normal law cannot be cut at 0 standard deviations. The cut was given to "
        "`truncated_normal`. Give a positive number such as 2.",
    ),
]


@pytest.mark.parametrize(("action", "message"), CASES)
def test_the_error_says_what_where_and_what_to_try(action, message):
    with pytest.raises(IndexStructureError, match=re.escape(message)) as caught:
        action()
    assert isinstance(caught.value, SymdltError)
    assert isinstance(caught.value, ValueError)
    assert "0x" not in str(caught.value)


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        s(i) + "1"
    with pytest.raises(TypeError):
        0.5 * s(i)
    assert s(i) != "s_i"


def test_constructors_take_what_they_print():
    assert Index("i", Species.NEURON, "n_1") == i
    assert Expression((Term(),)) == 1
