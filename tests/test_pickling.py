"""Everything public is the same after it has been pickled, and differs from others."""

import pickle

import numpy as np
import pytest

import symdlt
from symdlt import (
    MLP,
    GradientDescent,
    GradientFlow,
    definitions,
    derive,
    sampling,
    training,
)
from symdlt.algebra import Index, Species
from symdlt.derivation import contract_matching, expand_in_width
from symdlt.formats.latex import Conventions
from symdlt.kernels import numpy_activation

OPTIONS = {"C_b": 0, "C_W": 1, "lambda_b": 0, "lambda_W": 1}
NET = MLP(activation="sin", widths=[4], **OPTIONS)
X, TASK = [[1.0, 0.5]], ([[1.0]], [1.0], [[2.0]])
ENSEMBLE = sampling.NetworkEnsemble.of((2, 3, 2))


def contracted(k):
    correlator = symdlt.BOOK["HV"[k]]
    return contract_matching(symdlt.forward_equation(correlator.forest), correlator)


MAKERS = {
    "network": lambda k: MLP(activation="sin", widths=[4 + k], **OPTIONS),
    "propagation": lambda k: NET.propagate([[1.0, 0.5 + k]], ["G", "V"]),
    "layer": lambda k: NET.propagate(X, ["G"]).layer(1 + k),
    "comparison": lambda k: symdlt.check(NET, X, ["G"], networks=100, seed=k),
    "exponent check": lambda k: symdlt.check_exponents(symdlt.exponents("tanh", ["G"]), 1000 + k),
    "ensemble": lambda k: sampling.NetworkEnsemble.of((2, 3 + k, 2)),
    "parameters": lambda k: sampling.draw_parameters(ENSEMBLE, 2, np.random.default_rng(k)),
    "measurement": lambda k: sampling.Measurement(np.ones(2), np.ones(2) + k, 10),
    "infinite": lambda k: training.predict_infinite(NET, *TASK, GradientFlow(1.0 + k)),
    "prediction": lambda k: symdlt.predict(NET, *TASK, GradientDescent(0.1 + k)),
    "flow": lambda k: GradientFlow(1.0 + k),
    "descent": lambda k: GradientDescent([0.1, 0.2 + k]),
    "projector": lambda k: list(training.projectors().values())[k],
    "activation": lambda k: symdlt.activation(["gelu", "relu"][k]),
    "kinks": lambda k: symdlt.activation("relu").kinks(1 + k),
    "functions": lambda k: numpy_activation("tanh", 1 + k),
    "forest": lambda k: definitions.Forest(2 + k, ((0, 1),)),
    "correlator": lambda k: symdlt.tensor("RS"[k]),
    "recursion": lambda k: derive("RS"[k]),
    "system": lambda k: symdlt.derive_system("UH"[k], inputs="one"),
    "forward equation": lambda k: symdlt.forward_equation([definitions.NTK, definitions.DNTK][k]),
    "forward equation of a gate": lambda k: symdlt.forward_equation(
        [definitions.NTK, definitions.DNTK][k], "u = U z; v = V z; z' = W s(u) v"
    ),
    "contraction": contracted,
    "expansion": lambda k: expand_in_width(contracted(k), 0),
    "exponents": lambda k: symdlt.exponents(["tanh", "sin"][k], ["H"]),
    "criticality": lambda k: symdlt.criticality(["tanh", "sin"][k]),
    "nearby": lambda k: symdlt.nearby(["tanh", "sin"][k]),
    "phase": lambda k: symdlt.phase("tanh", 0.5 + k / 4),
    "recipe": lambda k: symdlt.recipe("tanh", [3, 4, 5 + k]),
    "kernel": lambda k: symdlt.kernel_for(["FH"[k]], inputs="one"),
    "document": lambda k: symdlt.document(derive("FH"[k])),
    "conventions": lambda k: Conventions(kernel="KG"[k]),
    "index": lambda k: Index("ij"[k], Species.NEURON),
}


@pytest.mark.parametrize("name", MAKERS)
def test_pickles_are_equal_and_others_are_not(name):
    what, other = map(MAKERS[name], (0, 1))
    again = pickle.loads(pickle.dumps(what))
    assert again == what
    assert type(again) is type(what)
    assert what != other
