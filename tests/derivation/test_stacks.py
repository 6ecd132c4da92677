"""Recursions of stacks: against the linear response of a layer, as text, and what is refused."""

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from cases import slow, swept
from direct.stacks import StackValues
from sympy import Rational

from symdlt import (
    BOOK,
    Layer,
    Stack,
    derive,
    explain,
    from_json,
    layer_equations,
    to_json,
    to_latex,
)
from symdlt.algebra import orthogonal, uniform
from symdlt.cli import main
from symdlt.definitions import MASK, place, steps_of, tensor
from symdlt.derivation.response.symbolic.symbolic_response import symbol_named
from symdlt.derivation.stacks import FieldMean
from symdlt.derivation.stacks.provenance import replay_step
from symdlt.errors import DerivationError, InputError, LayerError, OrderError, SchemaError
from symdlt.formats.latex import Conventions, document

BLOCK = "h = a + U s(z); z' = b + W s(h)"
GATE = "u = a + U z; v = V s(z); z' = b + W s(u) v"
MIXED = "u = U z; v = V z; z' = b + W (s(u) v + 1/2 tanh(v))"
THREE = "h = U s(z); k = V tanh(h); z' = b + W s(k) + P k"
RESIDUAL = "h = U z; z' = xi z + b + W s(h)"
DROPPED = "h = a + U dropout(1/4) s(z); z' = b + W prune(1/3) s(h)"
TWO_MASKS = "u = U z; v = V z; z' = W (dropout(1/4) s(u) v + 1/2 prune(1/3) tanh(v))"
MASKED_GATE = "m = dropout(1/4); u = U z; v = V z; z' = b + W (m s(u) v + 1/2 m tanh(v))"
LONG = [MIXED, THREE]
EVERY = [BLOCK, GATE, *LONG]
SLOW = {BLOCK: "A", GATE: "AT", MIXED: "ADQST", THREE: "DQT"}


def marks_of(name, layer):
    if (name, layer) == ("A", THREE):
        return pytest.mark.sweep
    return pytest.mark.slow if name in SLOW.get(layer, "") else ()


def in_symbols(recursion):
    """All steps put into each other, in symbols that are named as `layer_equations` prints them."""
    names = {one for term in recursion.terms for one, _ in term.hyperparameters.named}
    hyper = {name: symbol_named(name) for name in names}
    ratios = {one.ratio: ratio_of(one.ratio) for one in recursion.equations}

    def lower(name):
        def entry(index):
            correlator = tensor(name)
            _, settled = place(correlator.axes, correlator.forest.edges, correlator.matching, index)
            return symbol_named(f"{name}_{''.join(map(str, settled))}")

        return entry

    def mean(field, factors, kernel):
        if factors and factors[0][0][0] == MASK:
            return symbol_named(
                f"<{' '.join(f'{field}_{at}' for at in sorted(of_samples(factors)))}>"
            )
        plain = [k for k, ((function, _), _) in enumerate(factors) if not function]
        if plain:  # Stein's lemma, which the linear response has applied
            (_, sample), rest = factors[plain[0]], [*factors]
            del rest[plain[0]]
            total = 0
            for k, ((function, order), at) in enumerate(rest):
                raised = [((function, order + 1), at)] if function else []
                image = (*rest[:k], *raised, *rest[k + 1 :])
                total += kernel(*sorted((sample, at))) * mean(field, image, kernel)
            return total if rest else 0
        if not factors:
            return 1
        ordered = sorted(factors, key=lambda f: (f[1], f[0][0], f[0][1]))
        texts = [f"{f}{mark(order)}({field})_{at}" for (f, order), at in ordered]
        return symbol_named(f"<{' '.join(texts)}>")

    entries = {correlator.name: lower(correlator.name) for correlator, _ in recursion.dependencies}
    return StackValues(recursion, entries, mean, hyper, ratios).value(recursion.samples)


def of_samples(factors):
    return [at for _, at in factors]


def mark(order):
    return ("", "'", "''", "'''")[order] if order < 4 else f"^({order})"


def ratio_of(text):
    above, below = text.strip("()").split("/")
    return symbol_named(above) / symbol_named(below)


@pytest.mark.parametrize(
    ("name", "layer"),
    [pytest.param(name, layer, marks=marks_of(name, layer)) for name in BOOK for layer in EVERY],
)
def test_the_order_one_is_that_of_the_linear_response(name, layer):
    (equation,) = layer_equations(name, layer).equations
    assert in_symbols(derive(name, layer=layer)) == equation.polynomial


@pytest.mark.parametrize("layer", [DROPPED, MASKED_GATE, TWO_MASKS])
@pytest.mark.parametrize("name", [*"GHVBF", *map(slow, "ADRU"), *map(swept, "PQST")])
def test_masks_at_order_one_are_those_of_the_linear_response(name, layer):
    """Of one draw, or at one sample, the moments of k factors are numbers, 1/(1 - p)^(k - 1)."""
    (equation,) = layer_equations(name, layer).equations
    numbers = {
        symbol: Fraction(3, 2) ** (len(symbol.split()) - 1)
        for monomial, _ in equation.polynomial.terms
        for symbol, _ in monomial
        if re.match(r"<prune|<dropout_\d>", symbol)
    }
    assert in_symbols(derive(name, layer=layer)) == equation.polynomial.substitute(numbers)


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [(RESIDUAL, "one"), (RESIDUAL, "many"), (MIXED, "one"), slow(MIXED, "many"), (DROPPED, "many")],
)
def test_sympy_has_the_terms_that_are_printed(layer, inputs):
    for equation in derive("V", layer=layer, inputs=inputs).equations:
        right = equation.to_sympy().rhs
        numbers = {symbol: k + 2 for k, symbol in enumerate(sorted(right.free_symbols, key=str))}
        named = {str(symbol): number for symbol, number in numbers.items()}
        named[equation.ratio] = Rational(named.get("n", 1), named.get(equation.width_below, 1))
        total = Rational(0)
        for term in equation.terms:
            factors = term.factors(equation.ratio, equation.step.read, equation.single_input)
            product = Rational(term.coefficient.numerator, term.coefficient.denominator)
            for name, power in factors:
                product *= named[name if name in named else name.strip("()")] ** power
            total += product
        assert right.subs(numbers) == total


def test_two_weights_are_two_dense_layers():
    """Each step of a block is the dense layer, but for letters and widths."""
    dense = derive("V.1")
    last, *inner = derive("V.1", layer=BLOCK).equations
    first = next(one for one in inner if one.name == "V.1^h")
    for step, letter, field in ((last, "W", "h"), (first, "U", "z")):
        assert len(step.terms) == len(dense.terms)
        renamed = str(step).replace(f"({field})", "").replace(f"C_{letter}", "C_W")
        renamed = re.sub(r"\(n/n\S*\)(\^\d)? ", "", renamed).replace("^h", "")
        renamed = re.sub(r"\((V_\d+)\)", r"\1", renamed)
        plain = re.sub(r"\(n/n'\)(\^\d)? ", "", str(dense))
        assert sorted(renamed.splitlines()[1:]) == sorted(plain.splitlines()[1:])


def test_text():
    assert str(derive("H", layer="u = U z; v = V z; z' = b + W s(u) v")) == (
        "H_12[l+1] =\n"
        "  + lambda_b\n"
        "  + C_W <s(u)_1 s(u)_2> H^v_12\n"
        "  + lambda_W <s(u)_1 s(u)_2> G^v_12\n"
        "  + C_W <s'(u)_1 s'(u)_2> G^v_12 H^u_12\n"
        "G^u_12 =\n"
        "  + C_U G_12\n"
        "G^v_12 =\n"
        "  + C_V G_12\n"
        "H^u_12 =\n"
        "  + C_U H_12\n"
        "  + lambda_U G_12\n"
        "H^v_12 =\n"
        "  + C_V H_12\n"
        "  + lambda_V G_12"
    )
    six = derive("X6_02_14", layer="u = U z; v = V z; z' = W u v")
    assert "  + C_W^3 G^v_34 G^v_56 X6_02_14^(u,u,u,u,v,v)" not in str(six)
    assert "X6_02_14^uuuuvv(" in str(six)
    assert repr(six).startswith("StackRecursion(X6_02_14, order=2, inputs=many, equations=")
    long = derive("G.1", layer="u_1 = U z; v = V z; z' = W s(u_1) v", inputs="one")
    assert "V^(u_1,u_1,v,v)" in str(long)


def test_a_residual_block_closes_where_weights_read_z_itself():
    recursion = derive("V", layer=RESIDUAL, inputs="one")
    assert str(recursion) == (
        "V[l+1] =\n"
        "  - (n/n_h) C_W^2 <s(h) s(h)>^2\n"
        "  + (n/n_h) C_W^2 <s(h) s(h) s(h) s(h)>\n"
        "  + C_W^2 <s(h) s''(h)>^2 V^h\n"
        "  + 2 C_W^2 <s(h) s''(h)> <s'(h) s'(h)> V^h\n"
        "  + C_W^2 <s'(h) s'(h)>^2 V^h\n"
        "  + 2 C_W xi^2 <s(h) s''(h)> V^hhzz\n"
        "  + 2 C_W xi^2 <s'(h) s'(h)> V^hhzz\n"
        "  + xi^4 V^z\n"
        "G^h =\n"
        "  + C_U G\n"
        "V^h =\n"
        "  + 2 C_U^2 G^2\n"
        "  + (n/n') C_U^2 V\n"
        "V^hhzz =\n"
        "  + 2 C_U G^2\n"
        "  + (n/n') C_U V\n"
        "V^z =\n"
        "  + (n/n') V"
    )
    told = explain(recursion, 8)
    assert "  1. Vertices 1 and 2: they stay on their neuron by z: xi^2.\n" in told
    assert recursion.dependencies == ((tensor("G"), 0), (tensor("V"), 0))


def test_without_the_skip_a_residual_block_is_the_block():
    """At xi = 0 what is left are the terms of the block, of all tensors at two orders."""
    for name in (*BOOK, "V.1", "X6_02_14"):
        whole = derive(name, layer=RESIDUAL, inputs="one").equations[0]
        left = [term for term in whole.terms if dict(term.hyperparameters.named)["xi"] == 0]
        block = derive(name, layer=RESIDUAL.replace("xi z + ", ""), inputs="one").equations[0]
        texts = [block.term_text(term) for term in block.terms]
        assert sorted(map(whole.term_text, left)) == sorted(texts)


@pytest.mark.parametrize("layer", [*EVERY, RESIDUAL, DROPPED])
@pytest.mark.parametrize("name", ["V", "G.1", "R", "X6_02_14"])
def test_each_term_is_what_its_diagrams_give(name, layer):
    recursion = derive(name, layer=layer)
    for equation in recursion.equations:
        for term in equation.terms[:: max(1, len(equation.terms) // 20)]:
            parts = [replay_step(diagram, term, equation)[0] for diagram in term.origins]
            assert sum(parts) == term.coefficient


LONG = [("V.1", MIXED), ("D", MIXED), ("V.1", GATE), ("X6_02_14", MIXED)]


def at_one_sample(term):
    """The term with all samples equal."""
    means = [FieldMean(tuple(sorted(replace(s, sample=0) for s in m.slots))) for m in term.means]
    tensors = [replace(one, samples=(0,) * len(one.samples)) for one in term.tensors]
    ordered = tuple(sorted(tensors, key=lambda one: one.sort_key))
    return replace(term, means=tuple(sorted(means)), tensors=ordered)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        pytest.param(name, layer, marks=pytest.mark.slow if (name, layer) in LONG else ())
        for name in ("V", "D", "R", "V.1", "X6_02_14")
        for layer in (GATE, MIXED, RESIDUAL)
    ],
)
def test_one_input_is_many_that_are_equal(name, layer):
    single = {one.name: one for one in derive(name, layer=layer, inputs="one").equations}
    for equation in derive(name, layer=layer).equations:
        found = Counter()
        for term in map(at_one_sample, equation.terms):
            found[term.key] += term.coefficient
        right = {term.key: term.coefficient for term in single[equation.name].terms}
        assert {key: number for key, number in found.items() if number} == right


def test_explanations():
    told = explain(derive("F", layer="u = U z; v = V z; z' = b + W s(u) v"), 9)
    assert told == (
        "F_1324[l+1], term 9 of 25: C_W^2 <s(u)_1 s(u)_3> <s(u)_2 s''(u)_4> G^v_24 F^uuvv_4413\n"
        "Definition: E[z_1 tree(3-4) z_2], connected; neurons 1=3, 2=4; fields 1 2 3 4 of z'; "
        "the part n^-1.\n"
        "Diagram 1 of 1, contributing 1:\n"
        "  1. Vertices 1 and 3: their two weights are contracted: C_W/n_u and one neuron sum.\n"
        "  2. Vertices 2 and 4: their two weights are contracted: C_W/n_u and one neuron sum.\n"
        "  3. Chain rule at vertex 3: old edges in blocks {edge to 4} along v.\n"
        "  4. Chain rule at vertex 4: old edges in blocks {edge to 3} along u.\n"
        "  5. Neuron sums (1,3) and (2,4): 2 distinct neurons, n_u^0.\n"
        "  6. Cumulant of tree(3-4), v_1(1,3), u_4(2,4) with neurons 3=v_1(1,3), 4=u_4(2,4): "
        "F^uuvv_4413, n^-1; each field in it differentiates the mean of its neuron."
    )
    masked = explain(derive("V", layer="z' = W prune(1/2) s(z)", inputs="one"), 2)
    assert masked.startswith("V[l+1], term 2 of 5: 8 C_W^2 <s(z) s(z) s(z) s(z)>")
    assert "prune is a factor at each neuron, 2 with the probability 1/2" in masked
    assert "the derivatives and the means of fields and masks 8: 8." in masked
    whole = explain(derive("G", layer=BLOCK))
    assert whole.count("Definition:") == len(derive("G", layer=BLOCK).terms)
    with pytest.raises(OrderError, match="terms 1 to 4"):
        explain(derive("G", layer=BLOCK), 5)


def test_latex():
    latex = to_latex(derive("H", layer="u = U z; v = V z; z' = b + W tanh(u) v"))
    assert r"\left\langle \mathrm{tanh}(u_{\delta_{1}})\mathrm{tanh}(u_{\delta_{2}})" in latex
    assert r"K_{\delta_{1}\delta_{2}}^{v(\ell+1)} &= C_V^{(\ell+1)}\,K_{" in latex
    bare = Conventions(layers=False, sample="")
    latex = to_latex(derive("V", layer=BLOCK, inputs="one"), conventions=bare, numbered=True)
    assert r"V^{\prime} &= \left(\frac{n_{\ell}}{n_{h}}\right) C_W^{2} \Bigl[" in latex
    assert r"\label{eq:V^h}" in latex
    cut = derive("V.1", layer=BLOCK)._repr_latex_()
    assert r"\text{(332 more terms)}" in cut


def test_documents_say_what_every_symbol_is():
    both = [derive("V", layer=BLOCK), derive("V.1", layer=BLOCK)]
    source = document(both).source
    assert source.count(r"\subsection*{The tensor") == 2
    assert r"h_{i} &= a_{i} + \sum_j U_{ij}\,\sigma(z_{j}) \\" in source
    items = re.findall(r"\\item\[\$(.*?)\$\]", source)
    assert items == [r"n_{\ell}", r"n_{\ell-1}", "n_{h}", "C_W", "C_a", "C_U"]
    masked = document([derive("V", layer=DROPPED)]).source
    items = re.findall(r"\\item\[\$(.*?)\$\]", masked)
    named = [r"\mathrm{dropout}", r"\mathrm{prune}"]
    assert items == [r"n_{\ell}", r"n_{\ell-1}", "n_{h}", *named, "C_W", "C_a", "C_U"]
    with pytest.raises(LayerError, match="Results of the layers"):
        document([both[0], derive("V", layer="h = U s(z); z' = W s(h)")])
    with pytest.raises(InputError, match="a result of a layer"):
        document([derive("V")])


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize("layer", [*EVERY, RESIDUAL, MASKED_GATE])
@pytest.mark.parametrize("name", ["H", "V", "R", "G.1"])
def test_json_is_read_back(name, layer, inputs):
    recursion = derive(name, layer=layer, inputs=inputs)
    again = from_json(to_json(recursion))
    assert (again, str(again)) == (recursion, str(recursion))
    assert [term.origins for term in again.terms] == [term.origins for term in recursion.terms]


@pytest.mark.parametrize(
    "layer", ["h = U s(z); z' = xi z + W s(h)", "h = xi z + U s(z); z' = h + b + W s(h)"]
)
@pytest.mark.parametrize("name", ["G", "H"])
def test_kernels_of_layers_that_keep_fields_are_read_back(name, layer):
    recursion = derive(name, layer=layer)
    assert from_json(to_json(recursion)) == recursion


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"version": 1', '"version": 2'), "its version is not 1"),
        (('"fields": [\n    "h"', '"fields": [\n    "k"'), "not in tuple"),
        (('"u"', '"U"'), "a provenance names a diagram"),
        (('"coefficient": "1/1"', '"coefficient": "1/0"'), "denominator 0"),
        (('"width_power": 0', '"width_power": -1'), "should not be negative"),
        (('"step": 1', '"step": 2'), "out of range"),
        (('"layer": "h', '"layer": "z'), "malformed"),
        (('"terms"', '"term"'), "missing 'terms'"),
        (('"s",', '"relu",'), "a function that the layer does not have"),
    ],
)
def test_json_that_is_none_is_refused(change, message):
    text = to_json(derive("H", layer=BLOCK))
    assert change[0] in text
    with pytest.raises(SchemaError, match=message):
        from_json(text.replace(*change))


def test_laws_that_the_text_does_not_say():
    of_law = Stack("h = U s(z); z' = W s(h)", laws={"U": uniform})
    with pytest.raises(SchemaError, match="is not what its text says"):
        to_json(derive("V", layer=of_law))
    gaussian = derive("X6", layer="h = U s(z); z' = W s(h)", inputs="one")
    assert str(derive("X6", layer=of_law, inputs="one")) == str(gaussian)
    with pytest.raises(LayerError, match="the fourth cumulants of U"):
        derive("V.1", layer=of_law)


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        ("h = U s(z); z' = z + W s(h)", "keeps z on its neuron. With a skip"),
        ("h = U z; z' = z + z + W s(h)", "keeps z, z on its neuron"),
        ("h = U z; z' = z + W s(h) + V s(z)", "keeps z on its neuron"),
        ("h = U z; z' = z + W s(h) + V z", "reads z in z', past the fields between"),
        ("h = U z z; z' = z + W s(h)", "keeps z on its neuron"),
        ("u = U z; v = u + V z; z' = W s(v)", "keeps u on its neuron"),
        ("h = U s(z); z' = W s(h) + V s(z)", "reads z in z', past the fields between"),
        ("h = U s(z); z' = W s(rmsnorm(h))", "a norm, whose neurons"),
        ("z' = xi z + b + W dropout(0.1) s(z)", "keeps z on its neuron"),
        ("z' = b + W[3] s(z)", "orthogonal or with a window"),
        (Stack("z' = W tanh(z)", laws={"W": orthogonal}), "orthogonal or with a window"),
        ("h = w + W s(z); z' = V s(h)", "or its letter to another"),
    ],
)
def test_layers_that_are_no_chain_are_refused(layer, why):
    with pytest.raises(LayerError, match=re.escape(why) + r"[^`]*`layer_equations`"):
        derive("V", layer=layer)


def test_the_second_layer_of_a_block_with_a_skip_is_refused_for_what_it_is():
    skip = "h = U s(z); z' = z + W s(h)"
    with pytest.raises(
        LayerError, match=r"at=2 is there for layers of one field.*With a skip"
    ) as no:
        derive("V", layer=skip, at=2)
    assert "holds at every depth" not in str(no.value)
    with pytest.raises(OrderError, match="holds at every depth"):
        derive("H", layer=skip, at=2)  # as it does at infinite width
    assert derive("H", layer=skip).equations


def test_recurrent_layers_are_not_sent_where_they_are_refused():
    recurrent = "z' = b + U s(z) + W s(z'[-1])"
    with pytest.raises(LayerError, match=r"weights at several steps.*ask `propagate`") as no:
        derive("V", layer=recurrent)
    assert "layer_equations" not in str(no.value)
    with pytest.raises(LayerError, match="ask `propagate`"):
        layer_equations("V", recurrent)


def test_what_is_asked_wrongly():
    with pytest.raises(OrderError, match=r"form='z' was given[^.]*. Recursions of several fields"):
        derive("V", layer=BLOCK, form="z")
    with pytest.raises(OrderError, match=r"at=2 was given.*holds at every depth"):
        derive("V", layer=BLOCK, at=2)
    with pytest.raises(OrderError, match="There is no equation of 'V\\^k'"):
        derive("V", layer=BLOCK)["V^k"]
    with pytest.raises(OrderError, match="negative order"):
        derive("V", layer=BLOCK, piece=-1)
    with pytest.raises(OrderError, match="GB of memory"):
        derive("X10", layer=BLOCK, piece=3)


def test_a_broken_symmetry_is_noticed(monkeypatch):
    from symdlt.derivation.stacks import recursion

    whole = recursion.step_terms
    monkeypatch.setattr(recursion, "step_terms", lambda *given: whole(*given)[:-1])
    recursion.derive_step.cache_clear()
    with pytest.raises(DerivationError, match="breaks a symmetry"):
        derive("V", layer="h = U s(z); z' = W tanh(h)")
    recursion.derive_step.cache_clear()


def test_steps_are_pickled_and_compared():
    import pickle

    first, last = steps_of(Stack(GATE))
    assert pickle.loads(pickle.dumps(first)) == first != last
    assert (first == 1) is False
    (one,), (same,) = (steps_of(Stack(f"z' = {half} + W s(z)")) for half in ("1/2 b", "b/2"))
    assert one == same
    assert hash(one) == hash(same)
    recursion = derive("V", layer=GATE)
    assert pickle.loads(pickle.dumps(recursion)) == recursion


def test_a_stack_of_one_step_is_the_layer_of_it():
    one, several = Layer("z' = b + W s(z)"), Stack("z' = b + W s(z)")
    ours = str(derive("V.1", layer=several)).replace("(z)", "")
    assert sorted(ours.splitlines()) == sorted(str(derive("V.1", layer=one)).splitlines())


def test_commands(capsys):
    beyond = ["--layer", BLOCK, "--inputs", "one"]
    assert main(["derive", "V.1", *beyond]) == 0
    assert capsys.readouterr().out == f"{derive('V.1', layer=BLOCK, inputs='one')}\n"
    assert main(["derive", "V", "--subleading", "1", "--layer", BLOCK]) == 0
    both = "\n".join(str(derive(name, layer=BLOCK)) for name in ("V", "V.1"))
    assert capsys.readouterr().out == f"{both}\n"
    assert main(["derive", "V", "--layer", BLOCK]) == 0
    assert capsys.readouterr().out == f"{layer_equations('V', BLOCK)}\n"
    assert main(["derive", "X6", *beyond, "--format", "latex"]) == 0
    assert capsys.readouterr().out == f"{to_latex(derive('X6', layer=BLOCK, inputs='one'))}\n"
    assert main(["derive", "X6", *beyond, "--format", "json"]) == 0
    assert from_json(capsys.readouterr().out) == derive("X6", layer=BLOCK, inputs="one")
    assert main(["explain", "X6", *beyond, "--term", "2"]) == 0
    assert capsys.readouterr().out.startswith("X6[l+1], term 2 of 53: ")
    assert main(["latex", "V", *beyond]) == 0
    assert r"V^{h(\ell+1)}" in capsys.readouterr().out
    assert main(["latex", "V", "H", *beyond, "--document"]) == 0
    made = [derive(name, layer=BLOCK, inputs="one") for name in ("V", "H")]
    assert capsys.readouterr().out == document(made).source
    with pytest.raises(SystemExit):
        main(["derive", "V.1", "X6", *beyond, "--format", "json"])
    assert "error: " in capsys.readouterr().err
    assert main(["derive", "V.1", "--layer", "z' = z + W s(U tanh(z))"]) == 1
    assert "keeps z on its neuron" in capsys.readouterr().err
