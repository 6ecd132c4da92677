"""What recursions promise as objects: equality, text, forms, provenance, JSON, determinism."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from symdlt import (
    BOOK,
    correlators,
    derive,
    derive_system,
    explain,
    from_json,
    to_derivative_form,
    to_json,
    to_z_form,
)
from symdlt.derivation import FORMS, fallen, replay
from symdlt.errors import DerivationError, InputError, OrderError, SchemaError, UnknownTensorError

SOME = [*BOOK, "G.1", "H.1", "G.2", "X6_02_14", "X6_01_12_34"]


@pytest.mark.parametrize("name", SOME)
def test_the_two_forms_convert_into_each_other(name):
    derivative, z_form = derive(name), derive(name, form="z")
    assert to_derivative_form(z_form) == derivative
    assert to_z_form(derivative) == z_form
    assert to_derivative_form(derivative) is derivative
    assert to_z_form(z_form) is z_form


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SOME)
def test_provenance_rebuilds_every_coefficient(name, form, inputs):
    recursion = derive(name, form=form, inputs=inputs)
    for term in recursion.terms:
        assert term.origins
        shares = [replay(d, term, recursion.samples, form) for d in term.origins]
        assert all(shares)
        assert sum(shares) == term.coefficient


@pytest.mark.parametrize("layer", ["z' = b + W s(z) + U s(z)", "z' = b + W s(z)", "z' = W s(z)"])
@pytest.mark.parametrize("inputs", ["one", "many"])
def test_diagrams_of_one_layer_are_not_taken_for_those_of_another(layer, inputs):
    """Diagrams compare equal whatever their layer: what is remembered of one is not another's."""
    for used in (layer, "z' = b + W s(z)", "z' = W s(z) + b + U s(z)", layer):
        recursion = derive("V", layer=used, inputs=inputs)
        for term in recursion.terms:
            shares = [replay(d, term, recursion.samples, "derivative") for d in term.origins]
            assert sum(shares) == term.coefficient
            assert all(fallen(d, term) is not None for d in term.origins)


@pytest.mark.parametrize("name", SOME)
def test_json_reads_back_with_provenance(name):
    for form in FORMS:
        recursion = derive(name, form=form)
        again = from_json(to_json(recursion))
        assert again == recursion
        assert [t.origins for t in again.terms] == [t.origins for t in recursion.terms]


@pytest.mark.parametrize("name", SOME)
def test_pickle_and_hash(name):
    recursion = derive(name)
    again = pickle.loads(pickle.dumps(recursion))
    assert again == recursion
    assert hash(again) == hash(recursion)


def test_every_tensor_of_the_next_order_derives():
    for correlator in correlators(2):
        recursion = derive(correlator, inputs="one")
        assert any(t.correlator == correlator for term in recursion.terms for t in term.tensors), (
            correlator
        )


@pytest.mark.parametrize("name", SOME)
def test_repr_is_one_bounded_line(name):
    text = repr(derive(name))
    assert "\n" not in text
    assert len(text) < 100


def test_golden_text():
    assert str(derive("S")) == (
        "S_1234[l+1] =\n"
        "  + C_W lambda_W <s'_1 s'_2 s'_3 s'_4> H_13 H_24\n"
        "  + C_W^2 <s''_1 s''_2 s'_3 s'_4> H_12 H_13 H_24\n"
        "  + (n/n') C_W^2 <s'_1 s'_2> <s'_3 s'_4> S_1234\n"
        "  + (n/n') C_W lambda_W <s'_1 s'_2> <s'_3 s'_4> B_1234\n"
        "  + (n/n') C_W^2 <s''_1 s''_2> <s'_3 s'_4> H_12 B_1234"
    )


def test_all_inputs_equal_gives_the_single_input_recursion():
    """Setting all samples equal in the many-input recursion collects to the single-input one."""
    from symdlt.derivation.symmetry import relabelled

    for name in SOME:
        many, one = derive(name), derive(name, inputs="one")
        rename = dict.fromkeys(many.samples, 0)
        collected = {}
        for term in many.terms:
            image = relabelled(term, rename)
            collected[image.key] = collected.get(image.key, 0) + image.coefficient
        assert {k: c for k, c in collected.items() if c} == {
            term.key: term.coefficient for term in one.terms
        }


def test_without_learning_rates_below_nothing_moves():
    """With λ_b = λ_W = 0 in every layer the NTK and all that is made of it vanish (∞.173)."""
    system = derive_system(BOOK)
    for name in "HABDFPQRSTU":
        for term in system[name].terms:
            rates = sum(p for name, p in term.hyperparameters.named if "lambda" in name)
            with_edges = [t for t in term.tensors if t.correlator.forest.edges]
            assert rates or with_edges


def test_explain_ends_with_the_sum_where_diagrams_were_collected():
    recursion = derive("V", inputs="one")
    text = explain(recursion, 4)
    assert "Sum of the contributions: 2" in text or "contributing 2:" in text
    assert len(explain(recursion).split("\n\n")) == len(recursion.terms)


@pytest.mark.slow
def test_the_same_bytes_under_two_hash_seeds():
    code = (
        "from symdlt import *; from symdlt.derivation import *; "
        "[print(to_json(derive(n, form=f))) for n in 'GHVABDFPQRSTU' for f in FORMS]; "
        "print([c.name for c in correlators(2)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "7")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("Y",), UnknownTensorError, "There is no tensor 'Y'."),
        (("X5_01",), UnknownTensorError, "There is no tensor 'X5_01'."),
        (("R", {"form": "w"}), OrderError, "form='w' is not known"),
        (("R", {"inputs": "two"}), OrderError, "inputs='two' is not known"),
        (("R", {"piece": -1}), OrderError, "negative order -1"),
        (("R", {"piece": True}), OrderError, "The piece True is not a whole number"),
        (("R", {"piece": 1.5}), OrderError, "The piece 1.5 is not a whole number"),
        (("X12",), OrderError, "GB of memory"),
    ],
)
def test_bad_requests(arguments, kind, message):
    name, *rest = arguments
    with pytest.raises(kind, match=message.replace("[", r"\[")):
        derive(name, **(rest[0] if rest else {}))


def damaged(change):
    data = json.loads(to_json(derive("F")))
    change(data)
    return json.dumps(data)


def set_path(*path, to):
    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The text is not JSON"),
        ("[" * 100_000, "The text is not JSON"),
        ("[]", "not a symdlt recursion"),
        ('{"schema": "other"}', "not a symdlt recursion"),
        ('{"schema": "symdlt.recursion", "version": 3}', "schema version 3"),
        ('{"schema": "symdlt.recursion", "version": 1}', "malformed: missing 'tensor'"),
        (damaged(set_path("tensor", to="Y")), "There is no tensor 'Y'"),
        (damaged(set_path("tensor", to="X99999999")), "malformed"),
        (damaged(set_path("tensor", to=["F"])), "should be of type str"),
        (damaged(set_path("piece", to=-1)), "-1 should not be negative"),
        (damaged(set_path("piece", to=True)), "should be of type int"),
        (damaged(set_path("piece", to=99)), "malformed"),
        (damaged(set_path("samples", to=[1, 2])), "do not fit the tensor"),
        (damaged(set_path("matching", to=[[0, 2], [1, 3]])), "the matching is not that"),
        (damaged(set_path("edges", to=[])), "the edges are not those"),
        (damaged(set_path("terms", 0, "coefficient", to="__import__('os')/1")), "not a fraction"),
        (damaged(set_path("terms", 0, "coefficient", to="1/0")), "denominator 0"),
        (damaged(set_path("terms", 0, "coefficient", to="9" * 5000 + "/1")), "malformed"),
        (damaged(set_path("terms", 0, "coefficient", to=1.5)), "should be of type str"),
        (damaged(set_path("terms", 0, "provenance", to=[{}])), "a diagram that the tensor does"),
        (damaged(set_path("terms", 0, "brackets", to=[{"factors": [[0]]}])), "two members"),
        (damaged(set_path("terms", to={})), "should be of type list"),
    ],
)
def test_hostile_json_is_refused(text, message):
    with pytest.raises(SchemaError, match=message):
        from_json(text)


def test_a_changed_coefficient_is_another_recursion():
    recursion = derive("F")
    term = replace(recursion.terms[0], coefficient=recursion.terms[0].coefficient * 2)
    assert replace(recursion, terms=(term, *recursion.terms[1:])) != recursion


def test_a_broken_symmetry_is_noticed():
    from symdlt.derivation.symmetry import asymmetric_term, relabelled

    recursion = derive("T")
    correlator, samples, terms = recursion.correlator, recursion.samples, recursion.terms
    assert asymmetric_term(correlator, samples, terms) is None
    mirror = dict(zip(samples, reversed(samples), strict=True))
    moved = [k for k, term in enumerate(terms) if relabelled(term, mirror).key != term.key]
    assert len(moved) > 10
    for k in moved:
        assert asymmetric_term(correlator, samples, terms[:k] + terms[k + 1 :]) is not None


@pytest.mark.parametrize(
    ("name", "inputs"), [("X6", "one"), ("V", "many"), ("A", "many"), ("R", "one")]
)
def test_explain_tells_diagrams_apart_and_accounts_for_the_coefficient(name, inputs):
    recursion = derive(name, inputs=inputs)
    for number, term in enumerate(recursion.terms, 1):
        told = explain(recursion, number).split("Diagram ")[1:]
        assert len({text.partition(":")[2] for text in told}) == len(told) == len(term.origins)
        given = [Fraction(text.partition("contributing ")[2].partition(":")[0]) for text in told]
        assert sum(given) == term.coefficient


def test_a_system_is_a_list_of_documents():
    system = derive_system(["V", "F"])
    assert from_json(to_json(system)) == system
    with pytest.raises(SchemaError):
        from_json("[1]")
    with pytest.raises(SchemaError):
        from_json("[]")


@pytest.mark.parametrize(("name", "inputs"), [("D", "many"), ("A", "one"), ("R", "many")])
def test_derivatives_of_a_term_fall_where_its_brackets_say(name, inputs):
    """Each diagram of a term in which derivatives have fallen gives the term's own factors."""
    recursion = derive(name, inputs=inputs)
    for number, term in enumerate(recursion.terms, 1):
        told = explain(recursion, number)
        for diagram in term.origins:
            labels = fallen(diagram, term)
            assert labels is not None
            assert len(labels) == sum(
                len(c.joined) + 2 * len(c.inserted) for c in diagram.cumulants
            )
        assert ("Of these derivatives" in told) == any(fallen(d, term) for d in term.origins)


@pytest.mark.parametrize("name", ["V", "D", "F", "R"])
def test_what_has_fallen_adds_up_to_the_orders_of_the_brackets(name):
    for term in derive(name).terms:
        orders = {sample: order for b in term.brackets for sample, order in b.factors}
        for diagram in term.origins:
            contraction = diagram.contraction
            labels = contraction.correlator.labels
            for vertex, label in enumerate(labels):
                if contraction.pair_of[vertex] in contraction.neurons:
                    own = contraction.orders[vertex]
                    assert orders[label] == own + fallen(diagram, term).count(label)


def test_inserted_preactivations_have_not_fallen():
    term = derive("V", form="z").terms[2]
    assert [fallen(diagram, term) for diagram in term.origins] == [None]


@pytest.mark.parametrize("pool", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_system_does_not_depend_on_the_executor(pool):
    wanted = ["V.1", "R", *correlators(2)[::9]]
    plain = derive_system(wanted, inputs="one")
    with pool(2) as executor:
        found = derive_system(wanted, inputs="one", executor=executor)
    assert found.names == plain.names
    assert str(found) == str(plain)
    for one, other in zip(found, plain, strict=True):
        assert one == other
        assert [t.origins for t in one.terms] == [t.origins for t in other.terms]
    with pytest.raises(DerivationError, match="The executor stopped before all tensors"):
        derive_system(wanted, inputs="one", executor=executor)


def test_executor_is_one():
    with pytest.raises(InputError, match="an executor"):
        derive_system(["V"], executor=2)
