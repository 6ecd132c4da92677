"""Results show themselves in notebooks as they do when they are printed."""

from html import unescape

import pytest

from symdlt import MLP, check, criticality, layer_phase, phase, predict_infinite, recipe

MLP_OF_THREE = MLP(activation="tanh", widths=[8, 8], C_b=0.1, C_W=1.2, lambda_b=0.1, lambda_W=1.0)
RESULTS = {
    "Propagation": lambda: MLP_OF_THREE.propagate([[1.0, 0.5]], ["G", "V"]),
    "Comparison": lambda: check(MLP_OF_THREE, [[1.0, 0.5]], ["G"], networks=50),
    "Prediction": lambda: predict_infinite(MLP_OF_THREE, [[1.0], [0.2]], [1.0, 0.0], [[0.5]]),
    "Criticality": lambda: criticality("tanh"),
    "Phase": lambda: phase("tanh", 1.5),
    "Recipe": lambda: recipe("relu", [3, 8, 8, 1]),
    "LayerPhase": lambda: layer_phase("z' = W s(z)", "relu", {"C_W": 2.0}),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_show_their_text(name):
    result = RESULTS[name]()
    shown = result._repr_html_()
    assert shown.startswith("<pre>")
    assert unescape(shown.removeprefix("<pre>").removesuffix("</pre>")) == str(result)
    assert len(str(result).splitlines()) > 1


def test_a_propagation_shows_all_its_layers():
    lines = str(MLP_OF_THREE.propagate([[1.0, 0.5]], ["G", "V"])).splitlines()
    assert lines[1] == "at the samples 0, 0, 0, 0:"
    assert lines[2].split() == ["layer", "G", "V"]
    assert [line.split()[0] for line in lines[3:]] == ["1", "2", "3"]
