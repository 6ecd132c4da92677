"""Drawings of forests and tensors."""

from xml.etree import ElementTree

import pytest

from symdlt import correlators, draw, tensor
from symdlt.definitions import OBSERVABLES
from symdlt.errors import InputError

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
    places = draw(tensor(name)).places
    assert len(set(places)) == len(places)


def test_forests_have_no_neurons():
    for forest in OBSERVABLES.values():
        drawing = draw(forest)
        assert drawing.pairs == ()
        assert drawing.svg.count("<circle") == forest.vertices
        assert forest._repr_svg_() == drawing.svg


def test_what_is_no_forest_is_refused():
    with pytest.raises(InputError, match="is not a forest or a tensor"):
        draw("V")
