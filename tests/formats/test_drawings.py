"""Drawings of forests and tensors."""

from xml.etree import ElementTree

import pytest

from symdlt import correlators, derive, draw, tensor
from symdlt.definitions import OBSERVABLES
from symdlt.errors import InputError
from symdlt.formats.shapes import Circle, Frame, Line, Writing

NAMES = [one.name for order in (0, 1) for one in correlators(order)] + ["X6_02_14", "X8"]


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_is_drawn_with_its_vertices_edges_and_neurons(name):
    one = tensor(name)
    root = ElementTree.fromstring(draw(one).svg)
    kinds = [element.tag.rpartition("}")[2] for element in root]
    assert kinds.count("circle") == one.axes
    assert kinds.count("path") == len(one.forest.edges)
    assert kinds.count("rect") == one.pairs
    tikz = draw(one).tikz
    assert tikz.count("\\node") == one.axes
    assert tikz.count("\\draw[thick]") == len(one.forest.edges)
    assert one._repr_svg_() == draw(one).svg


@pytest.mark.parametrize("name", NAMES)
def test_no_two_vertices_are_at_one_place(name):
    places = [shape.at for shape in draw(tensor(name)).shapes if isinstance(shape, Circle)]
    assert len(set(places)) == len(places) == tensor(name).axes


def test_forests_have_no_neurons():
    for forest in OBSERVABLES.values():
        drawing = draw(forest)
        assert "<rect" not in drawing.svg
        assert drawing.svg.count("<circle") == forest.vertices
        assert forest._repr_svg_() == drawing.svg


def test_what_is_no_forest_is_refused():
    with pytest.raises(InputError, match="is not a forest, a tensor or a term"):
        draw("V")


@pytest.mark.parametrize("name", ["G", "H", "V", "D", "R", "T", "G.1", "X6_02_14"])
def test_a_term_is_drawn_with_its_neurons_and_tensors(name):
    recursion = derive(name)
    for term in recursion.terms:
        for diagram in term.origins:
            drawing = draw(diagram)
            ElementTree.fromstring(drawing.svg)
            kinds = [type(shape) for shape in drawing.shapes]
            frames = [shape for shape in drawing.shapes if isinstance(shape, Frame)]
            assert sum(frame.dashed for frame in frames) == len(diagram.groups)
            assert sum(not frame.dashed for frame in frames) == len(diagram.cumulants)
            reading = 2 * len(diagram.contraction.neurons)
            assert kinds.count(Circle) == recursion.correlator.axes + reading
            drawn = [s.plain[0] for s in drawing.shapes if isinstance(s, Writing) and s.on_white]
            assert sorted(drawn) == sorted(factor.correlator.symbol for factor in term.tensors)
        names = [factor.correlator.symbol for factor in term.tensors]
        written = [s.plain[0] for s in draw(term).shapes if isinstance(s, Writing) and s.on_white]
        assert written == names * len(term.origins) or sorted(set(written)) == sorted(set(names))


def test_what_is_inserted_is_dotted():
    (diagram,) = derive("V", form="z").terms[2].origins
    lines = [shape for shape in draw(diagram).shapes if isinstance(shape, Line)]
    assert sum(line.dotted and not line.thick for line in lines) == 2 + 4


def test_a_new_weight_is_a_thick_line():
    (term,) = [term for term in derive("H").terms if "lambda_W" in str(term)]
    lines = [shape for shape in draw(term).shapes if isinstance(shape, Line)]
    assert [line.thick for line in lines].count(True) == 1


def test_a_term_shows_where_its_derivatives_fell(tmp_path):
    recursion = derive("D")
    pictures = [draw(term).svg for term in recursion.terms]
    assert len(set(pictures)) == len(pictures)
    drawing = draw(recursion.terms[-1])
    assert "V_2244" in drawing.svg
    drawing.save(tmp_path / "term.svg")
    drawing.save(tmp_path / "term.tex")
    assert (tmp_path / "term.svg").read_text("utf-8") == drawing.svg
    assert (tmp_path / "term.tex").read_text("utf-8") == drawing.tikz
