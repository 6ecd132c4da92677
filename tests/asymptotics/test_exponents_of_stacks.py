"""Exponents of chains of steps: blocks of two weights, gates, mixtures.

A block of two equal halves of one width is two dense layers. Others are held against `propagate`,
which knows linear response and no steps, or where the kernel stays against its every layer.
"""

import json
from types import ModuleType

import numpy as np
import pytest
import sympy as sp
from cases import slow, swept

from symdlt import Network, exponents, propagate
from symdlt.cli import main
from symdlt.errors import LayerError, SolutionError
from symdlt.kernels import kernel_for, numpy_activation
from symdlt.networks.exponent_check import extrapolated

TWO = "h = a + U s(z); z' = b + W s(h)"
BLOCK = "h = U z; z' = xi z + b + W s(h)"
# Neurons that are kept, of which the next block reads a function.
READING = "h = U s(z); z' = xi z + b + W s(h)"
GATE = "u = U z; v = V z; z' = b + W cos(u) v"
PRUNED = "z' = b + W prune(1/3) s(z)"
PRUNED_BLOCK = "h = U dropout(1/4) z; z' = xi z + b + W prune(1/3) s(h)"
PRUNED_SKIP = "z' = xi z + b + W prune(1/3) s(z)"
PRUNED_READING = "h = U s(z); z' = xi z + b + W prune(1/3) s(h)"
# Of tanh and of a function with no slope at zero.
FLAT = "u = U z; v = V z; z' = b + W (tanh(u) + s(v))"
FINITE = ["G", "H", "V", "B", "D", "A", "F", "P", "Q"]
n, n_h, n_u = sp.symbols("n n_h n_u", positive=True)
l, L = sp.symbols("l L", positive=True)  # noqa: E741  (the layer)
# Of layers of width 30 with 60 neurons inside.
NUMBERS = {"n": 30, "n_h": 60, "n_u": 60, "lambda_a": 0.4, "lambda_b": 0.7}
NUMBERS |= {"lambda_U": 0.9, "lambda_V": 1.1, "lambda_W": 1.3}


def number(formula, **more):
    known = NUMBERS | more
    return float(formula.subs({symbol: known[symbol.name] for symbol in formula.free_symbols}))


def of_names(formula, known):
    """A formula with values for symbols of these names."""
    formula = sp.sympify(formula)
    return formula.xreplace(
        {x: sp.sympify(known[x.name]) for x in formula.free_symbols if x.name in known}
    )


@pytest.mark.parametrize(
    "activation",
    [
        "tanh",
        swept("erf"),
        swept("linear"),
        slow("relu"),
        swept("z + z**2/4 - z**3"),
        # its Taylor series is of numbers that are no multiples of one another
        slow("tanh(z) + sin(sqrt(2)*z)"),
        swept("elu"),
        swept("selu"),
    ],
)
def test_a_block_of_two_equal_halves_is_two_dense_layers(activation):
    """X(ℓ) of blocks is X(2ℓ) of dense layers, with the learning rates of these."""
    one = exponents(activation)
    settings = dict(one.hyperparameters)
    two = exponents(activation, layer=TWO, values={"C_U": settings["C_W"]})
    assert dict(two.hyperparameters)["C_a"] == dict(two.hyperparameters)["C_b"] == 0
    assert float(dict(two.hyperparameters)["C_W"] / settings["C_W"]) == pytest.approx(1, rel=1e-12)
    rates = {}
    for own, other in (("a", "b"), ("U", "W"), ("b", "b"), ("W", "W")):
        name = f"lambda_{own}"
        unit = of_names(dict(two.hyperparameters)[f"{name}(l)"], {name: 1})
        doubled = of_names(settings[f"lambda_{other}(l)"], {"l": 2 * l, "L": 2 * L})
        rates[name] = sp.powsimp(
            sp.simplify(doubled / of_names(unit, {"l": l, "L": L})), force=True
        )
        assert not {"l", "L"} & {x.name for x in rates[name].free_symbols}
    p_perp = dict(one.values)["p_perp"]
    assert float(dict(two.values)["p_perp"] - p_perp) == pytest.approx(0, abs=1e-12)
    assert [a.name for a in two.tensors] == [a.name for a in one.tensors]
    assert [name for name, _ in two.unsolved] == [name for name, _ in one.unsolved]
    for a, b in zip(one.tensors, two.tensors, strict=True):
        found = of_names(of_names(b.coefficient, rates), NUMBERS | {"n_h": 30, "K": 1.7})
        doubled = a.coefficient * 2 ** (-a.exponent + a.edges * (p_perp - 1))
        expected = of_names(doubled if a.coefficient != 0 else 0, NUMBERS | {"K": 1.7})
        assert float(found) == pytest.approx(float(expected), rel=1e-11), a.name
        if a.coefficient != 0:
            assert float(b.exponent - a.exponent) == pytest.approx(0, abs=1e-12)
            assert b.log_power == a.log_power
            assert float(b.ratio_power - a.ratio_power) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("activation", "mixed", "sum_of_both"),
    [
        ("tanh", "s(z) + 1/2 z", "tanh(z) + z/2"),
        slow("relu", "s(z) + 1/2 z", "max(0, z) + z/2"),
        # a field beside a function differentiates it
        swept("tanh", "s(z) + s(z) z z - 4 z z z", "tanh(z) + tanh(z)*z*z - 4*z**3"),
    ],
)
def test_a_mixture_is_the_dense_network_of_the_sum(activation, mixed, sum_of_both):
    mixture = exponents(activation, layer=f"z' = b + W ({mixed})")
    whole = exponents(sum_of_both)
    assert mixture["V"].ratio_coefficient.is_Rational
    for a, b in zip(whole.tensors, mixture.tensors, strict=True):
        assert a.name == b.name
        assert sp.expand(a.coefficient - b.coefficient) == 0
        assert sp.expand(a.ratio_coefficient - b.ratio_coefficient) == 0
    assert dict(mixture.hyperparameters)["C_W"] == dict(whole.hyperparameters)["C_W"]


def settings_of(solution, depth):
    """Values of the symbols of a layer at each layer of a network, the first of which is dense."""
    layers = np.arange(1, depth + 1, dtype=float)
    values = {name: float(x) for name, x in solution.values if name in ("xi", "C_U", "C_V")}
    for name, formula in solution.hyperparameters:
        at = sp.lambdify(l, of_names(formula, NUMBERS | {"L": depth, "l": l}))
        values[name.removesuffix("(l)")] = [float(at(x)) for x in layers]
    values["C_W"][0] = 1.0
    return values


def propagated(solution, depth, tensors, **more):
    """Tensors of each layer, by linear response."""
    inside = {site[0]: 60 for site in solution.layer.sites if not {"z", "z'"} & {*site}}
    layers = ["z' = b + W z" if "b + W" in str(solution.layer) else "z' = W z"]
    layers += [solution.layer] * (depth - 1)
    values, widths = settings_of(solution, depth), [30] * (depth - 1)
    net = Network(solution.activation, widths, values, layers, inner=inside, n_L=30)
    found = propagate(net, [[1.0]], tensors, **more)
    return {name: found[name].reshape(depth) for name in tensors}


def iterated(solution, depth, tensors, start=0.25):
    """The same from a kernel on, by the kernel of the recursions, whose means are integrals."""
    source = kernel_for(tensors, layer=solution.layer, inputs="one", name="own")
    module = ModuleType("own")
    exec(source.text, module.__dict__)
    functions = numpy_activation(solution.activation, module.DERIVATIVES).functions
    functions = getattr(module, "ACTIVATION", functions)
    values = settings_of(solution, depth)
    values |= {name: 0.5 for name in module.HYPERPARAMETERS if name.startswith("r_")}
    bias = np.ravel(values.get("C_b", 0.0))[0]
    return module.propagate(functions, start - bias, depth, **values)


def errors_of(solution, found, depths):
    """The errors of each tensor, extrapolated from the layers up to some depths."""
    p_perp = float(dict(solution.values)["p_perp"])
    for a in solution.tensors:
        expected = number(a.coefficient) * max(depths) ** (a.edges * (p_perp - 1))
        ends = (extrapolated(found[a.name][:end], float(a.exponent), a.log_power) for end in depths)
        yield a.name, [abs(end / expected - 1) for end in ends]


@pytest.mark.slow
def test_corrections_of_residual_blocks_come_to_their_asymptotes():
    """G.1 and H.1 of neurons that are kept, and read by functions in the next block."""
    values = {"C_U": "3/2", "xi": "4/5"}
    solution = exponents("tanh", ["G.1", "H.1"], layer=READING, values=values)
    found = propagated(solution, 240, [a.name for a in solution.tensors])
    for name, (less, more) in errors_of(solution, found, (120, 240)):
        # what is extrapolated leaves some log³ℓ/ℓ³, and a skip of 4/5 counts a third of the layers
        assert more < min(2e-3, 0.1 * less), (name, less, more)


@pytest.mark.parametrize(("layer", "error"), [swept(BLOCK, 4e-3), slow(READING, 5e-4)])
def test_tensors_of_residual_blocks_come_to_their_asymptotes(layer, error):
    """By linear response, which knows no steps; the errors fall with the depth.

    The kernel of READING has come as far by two functions as that of BLOCK in twice the depth.
    """
    solution = exponents("tanh", layer=layer, values={"C_U": "3/2", "xi": "4/5"})
    if layer == READING:
        assert [name for name, _ in solution.unsolved] == ["U"]
        with pytest.raises(SolutionError, match="`propagate` counts them"):
            solution["U"]
    found = propagated(solution, 480, [a.name for a in solution.tensors])
    for name, (less, more) in errors_of(solution, found, (240, 480)):
        # an error that changes its sign can be small too early
        assert more < min(error, max(0.4 * less, 3e-4)), (name, less, more)


@pytest.mark.parametrize(
    ("activation", "layer", "values"),
    [
        slow("tanh", BLOCK, {"C_U": "3/2", "xi": "4/5"}),
        swept("tanh(z) + tanh(z)**2/4", BLOCK, {"C_U": 1, "xi": "1/2"}),
        swept("tanh", GATE, {"C_U": 1, "C_V": 2}),
        # what the rate of V multiplies is of K^4, which the first orders in K do not have
        swept("tanh(z)**4 / 2", FLAT, {"C_U": 1, "C_V": 1}),
    ],
)
def test_tensors_come_to_their_asymptotes(activation, layer, values):
    """Layers of 30 neurons with 60 inside."""
    solution = exponents(activation, layer=layer, values=values)
    found = iterated(solution, 4000, [a.name for a in solution.tensors])
    for name, (less, more) in errors_of(solution, found, (1000, 4000)):
        assert more < min(1e-3, max(0.5 * less, 1e-5)), (name, less, more)


@pytest.mark.parametrize("depth", [slow(60), swept(120)])
def test_tensors_behind_masks_come_to_their_asymptotes(depth):
    """By linear response, which has the moments of masks from their draws."""
    names = [*FINITE, "R", "S", "T", "U"] if depth > 60 else ["G", "H", "V", "B", "F"]
    solution = exponents("tanh", names, layer=PRUNED)
    found = propagated(solution, depth, [a.name for a in solution.tensors])
    for name, (less, more) in errors_of(solution, found, (depth // 2, depth)):
        assert more < min(2e-2, max(0.4 * less, 5e-4)), (name, less, more)


@pytest.mark.parametrize(("depth", "layer"), [slow(960, PRUNED_SKIP), swept(480, PRUNED_READING)])
def test_masks_next_to_a_skip_come_to_their_asymptotes(depth, layer):
    """By the equations of linear response over all pairs of depths."""
    values = {"xi": "1/2"} | ({"C_U": "3/2"} if "U" in layer else {})
    solution = exponents("tanh", layer=layer, values=values)
    assert [name for name, _ in solution.unsolved] == ["U"]
    found = iterated(solution, depth, [a.name for a in solution.tensors])
    for name, (less, more) in errors_of(solution, found, (depth // 2, depth)):
        assert more < min(5e-4, max(0.4 * less, 1e-4)), (name, less, more)


@pytest.mark.parametrize("rate", ["1/2", "1/4"])
def test_what_masks_add_to_v(rate):
    """By hand: at small K φ is m z, and C_W ⟨m²⟩ = 1; χ_∥ = 1 - 2/ℓ and K = 1/2ℓ.

    V/K² is fed by C_W²(3⟨m⁴⟩ - ⟨m²⟩²) = 3/q - 1, and V = S/ℓ² with χ_∥² = 1 - 4/ℓ: V = S ℓ^-1/3.
    """
    kept = 1 - sp.Rational(rate)
    for mask in ("prune", "dropout"):
        solution = exponents("tanh", ["V"], layer=f"z' = b + W {mask}({rate}) s(z)")
        assert dict(solution.hyperparameters)["C_W"] == kept
        assert solution["V"].ratio_coefficient == (3 / kept - 1) / 3


@pytest.mark.sweep
def test_tensors_of_kinked_blocks_come_to_their_asymptotes():
    """SELU, whose kernel falls as 1/ℓ², and whose slope jumps; by linear response."""
    solution = exponents("selu", FINITE, layer=BLOCK, values={"C_U": "3/2", "xi": "3/5"})
    assert solution["G"].exponent == 2
    assert not solution.unsolved
    found = propagated(solution, 960, FINITE)
    for name, (less, more) in errors_of(solution, found, (480, 960)):
        assert more < min(2e-3, 0.4 * less), (name, less, more)


@pytest.mark.parametrize("activation", ["relu", swept("linear")])
@pytest.mark.parametrize(
    ("layer", "values"),
    [
        slow(BLOCK, {"C_U": "3/2", "xi": "4/5"}),
        slow(TWO, {"C_U": "5/4"}),
        swept(BLOCK, {"C_U": 1, "xi": "1/9"}),
        (PRUNED, {}),
        slow(PRUNED_BLOCK, {"C_U": 1, "xi": "1/2"}),
    ],
)
def test_where_the_kernel_stays_every_layer_is_exact(activation, layer, values):
    solution = exponents(activation, FINITE, layer=layer, values=values)
    depth = 7
    found = propagated(solution, depth, FINITE)
    start = {"K": found["G"][0], "Theta_1": found["H"][0] * depth}
    for name in FINITE:
        a = solution[name]
        exact = [number(a.exact, l=layer, **start) for layer in range(1, depth + 1)]
        scaled = found[name] * depth**a.edges
        assert scaled == pytest.approx(exact, rel=1e-9, abs=1e-12), name


def test_a_mixture_with_a_skip_is_that_of_the_sum():
    """Of one field, exponents come from those of dense layers; of a mixture from its own steps."""
    values = {"xi": "3/5"}
    mixture = exponents("tanh", layer="z' = xi z + b + W (s(z) + 1/2 z)", values=values)
    whole = exponents("tanh(z) + z/2", layer="z' = xi z + b + W s(z)", values=values)
    assert [name for name, _ in mixture.unsolved] == [name for name, _ in whole.unsolved] == ["U"]
    for a, b in zip(whole.tensors, mixture.tensors, strict=True):
        assert a.name == b.name
        assert sp.expand(a.coefficient - b.coefficient) == 0
        assert sp.expand(a.ratio_coefficient - b.ratio_coefficient) == 0


@pytest.mark.parametrize(
    ("activation", "values", "layer"),
    [
        slow("relu", {"C_U": "3/2", "xi": "3/5"}, READING),
        swept("relu", {"C_U": 1, "xi": "-3/5"}, READING),
        slow("leaky_relu(z, 0.3)", {"C_U": 1, "xi": "1/2"}, READING),
        ("linear", {"C_U": 1, "xi": "1/2"}, READING),
    ],
)
def test_v_grows_by_noise_of_all_depths_where_kernels_stay(activation, values, layer):
    """By linear response over all pairs of depths; far from the first layer it has settled."""
    solution = exponents(activation, ["V"], layer=layer, values=values)
    V = propagated(solution, 70, ["V"])["V"]
    K = propagated(solution, 2, ["G"])["G"][1]
    assert (V[-1] - V[-2]) / K**2 == pytest.approx(
        number(solution["V"].ratio_coefficient), rel=1e-9
    )
    assert solution["V"].exact is None
    assert solution["V"].ratio_power == 1
    assert "V at large depth, with noise of all depths counted" in solution.assumptions


@pytest.mark.parametrize("activation", [slow("relu"), "linear"])
@pytest.mark.parametrize(
    "layer",
    [
        PRUNED_SKIP,
        slow("m = dropout(1/4); z' = xi z + b + W m s(z)"),
        slow(PRUNED_READING),
        slow("h = U prune(1/4) s(z); z' = xi z + b + W prune(1/3) s(h)"),
    ],
)
def test_v_grows_by_masks_too_where_kernels_stay(activation, layer):
    """By linear response over all pairs of depths, of which far ones have 1/5 to the 13."""
    values = {"xi": "1/5"} | ({"C_U": "3/2"} if "U" in layer else {})
    solution = exponents(activation, ["V"], layer=layer, values=values)
    found = propagated(solution, 14, ["G", "V"], tolerance=1e-10)
    assert (found["V"][-1] - found["V"][-2]) / found["G"][1] ** 2 == pytest.approx(
        number(solution["V"].ratio_coefficient), rel=1e-8
    )


def test_where_kernels_stay_and_neurons_are_read_again_others_are_left_open():
    solution = exponents("relu", ["A"], layer=READING, values={"C_U": 1, "xi": "4/5"})
    found = propagated(solution, 5, ["G", "H"])
    start = {"K": found["G"][0], "Theta_1": found["H"][0] * 5}
    exact = [number(solution["H"].exact, l=layer, **start) for layer in range(1, 6)]
    assert found["H"] * 5 == pytest.approx(exact, rel=1e-12)
    assert found["G"] == pytest.approx([start["K"]] * 5, rel=1e-12)
    with pytest.raises(SolutionError, match=r"sums over pairs of depths.*is solved"):
        solution["A"]


@pytest.mark.parametrize(
    ("activation", "layer", "values"),
    [
        ("tanh", "h = xi z + U s(z); z' = xi h + W s(h)", {"xi": "7/10", "C_U": "51/100"}),
        ("tanh", "h = U s(z); z' = h + W s(h)", {"C_U": "1/2"}),
    ],
)
def test_the_kernel_and_the_ntk_of_layers_that_keep_fields_inside(activation, layer, values):
    solution = exponents(activation, layer=layer, values=values)
    assert [a.name for a in solution.tensors] == ["G", "H"]
    found = propagated(solution, 240, ["G", "H"])
    for name, (less, more) in errors_of(solution, found, (120, 240)):
        assert more < min(2e-5, 0.5 * less), (name, less, more)
    with pytest.raises(SolutionError, match="takes sums over pairs of depths"):
        solution["V"]


def test_growth_of_v_in_linear_residual_blocks():
    """V' = V + 2 K²(2 ξ² χ + χ²) + r 2 χ² K², χ = 1 - ξ²: a sum over each of two widths."""
    for xi in (sp.Rational(1, 3), sp.Rational(4, 5)):
        kept, drawn = xi**2, 1 - xi**2
        V = exponents("linear", ["V"], layer=BLOCK, values={"C_U": 3, "xi": xi})["V"]
        growth = 2 * (2 * kept * drawn + drawn**2) + 2 * drawn**2 * n / n_h
        assert sp.expand(V.ratio_coefficient - growth) == 0
        assert V.ratio_power == 1


def test_both_widths_stand_in_the_next_order_too():
    """X6 of two equal halves is of second order in ℓ (1/n + 1/n_h)."""
    one = exponents("tanh", ["X6", "V.1"])
    two = exponents("tanh", ["X6", "V.1"], layer="h = U s(z); z' = W s(h)", values={"C_U": 1})
    for name in ("X6", "V.1"):
        a, b = one[name], two[name]
        assert b.ratio_power == a.ratio_power
        expected = a.ratio_coefficient * 2**a.ratio_power
        assert sp.expand(b.ratio_coefficient.subs(n_h, n) - expected) == 0
    whole = two["X6"].ratio_coefficient / one["X6"].ratio_coefficient
    assert sp.factor(whole - (1 + n / n_h) ** 2) == 0


def test_rates_by_their_names():
    block = {"layer": BLOCK, "values": {"C_U": 1, "xi": "1/2"}}
    whole = exponents("tanh", ["D"], **block)
    still = exponents("tanh", ["D"], layer=BLOCK, values={**block["values"], "lambda_U": 0})
    assert "lambda_U" in {x.name for x in whole["D"].ratio_coefficient.free_symbols}
    zero = of_names(whole["D"].ratio_coefficient, {"lambda_U": 0})
    assert sp.expand(still["D"].ratio_coefficient - zero) == 0
    # without biases that learn, D falls by a power of the depth
    assert exponents("tanh", ["D"], lambda_b=0, **block)["D"].log_power == 1


def test_a_gate_learns_the_slower_the_smaller_its_field():
    """The rate of U is of K², as the slope of cos at zero is zero; D and A follow from it."""
    gate = exponents("tanh", ["D", "U"], layer=GATE, values={"C_U": 1, "C_V": 2})
    rates = {name: value for name, value in gate.hyperparameters if name.endswith("(l)")}
    assert [sp.degree(rates[f"lambda_{x}(l)"], l) for x in "UVW"] == [2, 0, 0]
    assert gate["U"].ratio_power == 0


@pytest.mark.parametrize(
    ("activation", "layer", "values", "error", "message"),
    [
        ("tanh", "u = U z; v = V z; z' = W s(u) v", {"C_U": 1, "C_V": 1}, SolutionError,
         "no C_W keeps a small kernel.*`layer_phase`"),
        ("tanh", "u = U z; v = V z; z' = W sigmoid(u) v", {"C_U": 1, "C_V": 1}, SolutionError,
         "K. = 0 is unstable: a_1 = 1/4.*`layer_phase`"),
        ("z + z**2", BLOCK, {"C_U": 1, "xi": "1/2"}, SolutionError, "unstable.*`critical_value`"),
        ("sigmoid", TWO, {"C_U": 1}, SolutionError, "that is not zero at zero.*`layer_phase`"),
        ("tanh", BLOCK, {"C_U": 1, "xi": 2}, SolutionError, "multiplied by 4 without C_W"),
        ("tanh", BLOCK, {"C_U": 1, "xi": "1/2", "C_b": 0.1}, SolutionError, "keeps the kernel"),
        ("tanh", BLOCK, {"xi": "1/2"}, SolutionError, "C_U, C_W is left"),
        ("tanh", BLOCK, {"C_U": 1}, SolutionError, "C_W, xi is left"),
        ("tanh", BLOCK, {"C_U": 1, "xi": 0, "C_W": 1}, SolutionError, "nothing is left"),
        ("tanh", BLOCK, {"C_U": 1, "xi": 0, "C_Q": 1}, SolutionError, "no symbol of the layer"),
        ("tanh", "h = U s(z); z' = W s(h)", {"C_U": 1, "lambda_U": 0, "lambda_W": 0},
         SolutionError, "All learning rates"),
        ("tanh(z) - tanh(2*z)/8", TWO, {"C_U": "16/9"}, SolutionError, r"moves as K\^3"),
        ("selu", READING, {"C_U": 1, "xi": "1/2"}, SolutionError, "without a jump of its slope"),
        ("K*=0, odd", BLOCK, {"C_U": 1, "xi": "1/2"}, SolutionError, "whole class"),
        ("tanh", "z' = z + W s(U rmsnorm(z))", {"C_U": 1}, LayerError, "norm.*`layer_phase`"),
    ],
)  # fmt: skip
def test_refusals(activation, layer, values, error, message):
    with pytest.raises(error, match=message):
        exponents(activation, layer=layer, values=values)


def test_a_rate_that_the_layer_lacks():
    with pytest.raises(SolutionError, match="lambda_b stands in the call"):
        exponents("tanh", lambda_b=1, layer="h = U s(z); z' = W s(h)", values={"C_U": 1})
    with pytest.raises(SolutionError, match=r"no critical point with K. > 0.*at_fixed_point"):
        exponents("tanh", layer=TWO, values={"C_U": 1}, at_fixed_point=True)


def test_on_the_command_line(capsys):
    words = ["exponents", "tanh", "--layer", "h = U z; z' = xi z + W s(h)"]
    words += ["--value", "C_U=1", "--value", "xi=1/2"]
    assert main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layer"] == "h = U z; z' = xi z + W s(h)"
    assert found["tensors"]["V"]["ratio"]["coefficient"] == "(3*n + 5*n_h)/(8*n_h)"
    assert main([*words, "--format", "latex"]) == 0
    printed = capsys.readouterr().out
    assert r"C_W &= \frac{3}{4}" in printed
    assert r"\lambda_U^{(\ell)} &= \widetilde{\lambda}_U" in printed
    assert r"n_{h}" in printed


def test_pieces_in_latex():
    found = exponents("tanh", ["G.1"], layer=BLOCK, values={"C_U": 1, "xi": "1/2"})
    assert r"{G^{\{1\}}}^{(\ell)} &= - " in found.latex()
