"""Every public function of the index and Wick layers, called with arguments of wrong types."""

import inspect
from fractions import Fraction

import pytest

from symdlt import algebra
from symdlt.algebra import (
    Delta,
    Expression,
    Index,
    Law,
    Polynomial,
    Slot,
    Species,
    Tensor,
    Term,
    activation,
    antisymmetric,
    as_expression,
    averages,
    biases,
    canonicalize,
    constant,
    contract,
    delta,
    dropout,
    evaluate,
    falling_factorial,
    from_cumulants,
    from_moments,
    gaussian,
    gaussian_vector,
    generated,
    hazard_value,
    layernorm,
    matrix_form,
    neuron,
    neurons,
    orthogonal,
    preactivations,
    product,
    prune,
    replace,
    rmsnorm,
    sample,
    samples,
    signs,
    sparse,
    substitute,
    sum_over,
    symbol,
    symbols,
    symmetric,
    truncated_normal,
    uniform,
    weights,
)
from symdlt.algebra.averages import (
    bracket,
    connected,
    expectation,
    expectation_orbits,
    expectation_terms,
)
from symdlt.definitions import NTK, tensor
from symdlt.derivation import contract_matching, forward_equation
from symdlt.errors import SymdltError

WRONG = (None, 3, "x", 1.5, [])

i, j = neurons("i j", "n")
α = sample("α")
n = symbol("n")
x, W, law = constant("x", i), weights(1, "n", "n"), gaussian(1)
C = constant("C", i, j, symmetry=symmetric(2))
σ = activation("σ", preactivations(1, "n"))

LAYER, NAME, SIZE = (3, "x"), ("x",), (None, 3, "x")
CALLS = [
    (activation, ("σ", preactivations(1)), (NAME, ())),
    (as_expression, (x(i),), ((3,),)),
    (biases, (1, "n", law), (LAYER, SIZE, (None,))),
    (bracket, (σ(i, α),), ((),)),
    (canonicalize, (x(i),), ((3,),)),
    (connected, (x(i), x(i)), ((3,), (3,))),
    (constant, ("x", i), (NAME, ())),
    (lambda symmetry: constant("x", i, j, symmetry=symmetry), (symmetric(2),), ((),)),
    (contract, (x(i),), ((3,),)),
    (contract_matching, (forward_equation(NTK), tensor("H")), ((), ())),
    (antisymmetric, (2,), ((3, []),)),
    (delta, (i, j), ((3,), (3,))),
    (evaluate, (x(1), {"x": [1, 2], "n": 2}), ((3,), ())),
    (expectation, (W(i, j), "all"), ((3,), ([],))),
    (lambda over: connected(W(i, j), over=over), ("all",), (([],),)),
    (expectation_orbits, (W(i, j), W), ((3,), ())),
    (expectation_terms, (W(i, j), W), ((3,), ())),
    (falling_factorial, (n, 2), ((3,), (3,))),
    (from_cumulants, ({2: 1},), ((),)),
    (from_moments, ({2: 1},), ((),)),
    (gaussian, (1,), ((3,),)),
    (
        lambda name, slot, covariance, mean: gaussian_vector(
            name, slot, covariance=covariance, mean=mean
        ),
        ("y", i, C, x),
        (NAME, (), (), (None,)),
    ),
    (matrix_form, (x(i),), ((3,),)),
    (generated, ((1, 0),), (([],),)),
    (hazard_value, (2,), ((3, 1.5),)),
    (neuron, ("i", "n"), (NAME, SIZE)),
    (neurons, ("i", "n"), (NAME, SIZE)),
    (preactivations, (1, "n"), (LAYER, SIZE)),
    (product, ([x(i)],), (([],),)),
    (replace, (x(i), x, lambda index: x(index)), ((3,), (), ())),
    (sample, ("α", 3), (NAME, SIZE)),
    (samples, ("α", 3), (NAME, SIZE)),
    (substitute, (x(i), {"n": 2}), ((3,), ())),
    (sum_over, (x(i), j), ((3,), ())),
    (symbol, ("a",), (NAME,)),
    (symbols, ("a",), (NAME,)),
    (symmetric, (2,), ((3, []),)),
    (truncated_normal, (1, 2, "q"), ((3,), (3, 1.5), NAME)),
    (uniform, (1,), ((3,),)),
    (orthogonal, (1,), ((3,),)),
    (signs, (1,), ((3,),)),
    (sparse, (1,), ((3,),)),
    (rmsnorm, (preactivations(1),), ((),)),
    (layernorm, (preactivations(1),), ((),)),
    (dropout, (Fraction(1, 2), 1, "n"), ((), LAYER, SIZE)),
    (prune, (Fraction(1, 2), 1, "n"), ((), LAYER, SIZE)),
    (weights, (1, "n", "n", law), (LAYER, SIZE, SIZE, (None,))),
    (x, (i,), ((3,),)),
    (x(i).sum, (j,), ((),)),
    (x(i).relabel, ({i: j},), ((),)),
    (x(i).__pow__, (2,), ((3,),)),
    (σ.derivative, (1,), ((3,),)),
    (n.substitute, ({"n": 2},), ((),)),
    (n.__pow__, (2,), ((3,),)),
    (Polynomial.number, (1,), ((3,),)),
    (Polynomial.symbol, ("a",), (NAME,)),
    (law.cumulant, (2,), ((3,),)),
    (law.substitute, ({"n": 2},), ((),)),
    (Delta, (i, j), ((), ())),
    (Expression, ((),), ((),)),
    (Index, ("i", Species.NEURON, "n"), (NAME, (), SIZE)),
    (Law, ("gaussian", symbol("v")), ((), ())),
    (Slot, (Species.NEURON, "n"), ((), SIZE)),
    (Tensor, (x, (i,)), ((), ())),
    (Term, ((), n, ()), ((), (), ())),
]
CASES = [
    (call, (*args[:place], wrong, *args[place + 1 :]))
    for call, args, fitting in CALLS
    for place in range(len(args))
    for wrong in WRONG
    if wrong not in fitting[place]
]


@pytest.mark.parametrize(("call", "args"), CASES)
def test_an_argument_of_a_wrong_type_is_named_in_an_error_of_ours(call, args):
    with pytest.raises(SymdltError):
        call(*args)


@pytest.mark.parametrize(("call", "args", "fitting"), CALLS)
def test_the_arguments_that_are_spoilt_above_fit(call, args, fitting):
    assert len(args) == len(fitting)
    call(*args)


def test_no_public_function_is_left_out():
    named = (item for package in (algebra, averages) for item in vars(package).items())
    public = [each for name, each in named if name[0] != "_"]
    called = {call for call, _, _ in CALLS} | {gaussian_vector}
    assert {each for each in public if inspect.isfunction(each)} <= called
