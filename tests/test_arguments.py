"""Every public function says what is wrong with an argument of the wrong kind."""

from reprlib import repr as short_repr

import numpy as np
import pytest

import symdlt
from symdlt import codegen, expansion, forward, networks, recursions, sampling, typesetting
from symdlt.errors import SymdltError
from symdlt.kernels import single_input
from symdlt.wick import contract_matching

BAD = (None, 2, "x", 1.5, [])

U = symdlt.derive("U", inputs="one")
NTK = networks.NTK
MOMENT = contract_matching(symdlt.forward_equation(NTK), symdlt.BOOK["H"])
SINE = (np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z))
ENSEMBLE = sampling.NetworkEnsemble.of((2, 3, 2))
RNG = np.random.default_rng(0)
DRAWN = sampling.draw_parameters(ENSEMBLE, 2, RNG)
SYSTEM = symdlt.derive_system(["U"], inputs="one", form="z")
MEASURED = sampling.Measurement(np.ones(2), np.ones(2), 10)
LAYERS = {"C_b": 0.1, "C_W": 1.0, "lambda_b": 1.0, "lambda_W": 1.0, "widths": [3.0, 3.0]}
LAYERS_OF_MLP = {"C_b": 0.1, "C_W": 1.0, "lambda_b": 1.0, "lambda_W": 1.0}
NETWORK = {"activation": "sin", "widths": (3,), **LAYERS_OF_MLP}

CALLS = {
    symdlt.MLP: {"activation": "sin", "widths": (3,), "n_L": 2, **LAYERS_OF_MLP},
    symdlt.MLP(**NETWORK).propagate: {
        "x": [[1.0]],
        "tensors": ["V"],
        "blocks": None,
        "executor": None,
        "tolerance": 1e-7,
        "progress": None,
    },
    symdlt.check: {
        "mlp": symdlt.MLP(**NETWORK),
        "x": [[1.0]],
        "tensors": ["V"],
        "networks": 100,
        "extrapolate": True,
        "seed": 1,
        "progress": None,
    },
    symdlt.correlator_from: {"edges": [(0, 1)], "matching": [(0, 1)]},
    symdlt.correlators: {"order": 0},
    symdlt.criticality: {"activation": "relu", "digits": 20, "search": (0.1, 10)},
    symdlt.derive: {"what": "U", "inputs": "one", "form": "z", "piece": 0},
    symdlt.derive_system: {"tensors": ["G"], "inputs": "one", "form": "z"},
    symdlt.explain: {"recursion": U, "term": 1},
    symdlt.forward_equation: {"forest": NTK},
    symdlt.from_json: {"text": symdlt.to_json(U)},
    symdlt.recipe: {"activation": "relu", "widths": [3, 3]},
    symdlt.tensor: {"name": "R"},
    symdlt.to_derivative_form: {"recursion": U},
    symdlt.to_json: {"recursion": U, "indent": 1},
    symdlt.to_z_form: {"recursion": U},
    symdlt.Forest: {"vertices": 2, "edges": ((0, 1),)},
    symdlt.Correlator: {"forest": NTK, "matching": ((0, 1),), "labels": (1, 2)},
    SYSTEM.__getitem__: {"name": "U"},
    networks.activation: {"what": "tanh"},
    networks.Activation: {"name": "tanh", "text": "tanh(z)"},
    networks.activation("sin").taylor: {"order": 2},
    networks.activation("sin").derivatives: {"order": 2},
    networks.split_subleading: {"name": "G.1"},
    recursions.replay: {
        "diagram": U.terms[0].origins[0],
        "term": U.terms[0],
        "samples": U.samples,
        "form": "derivative",
    },
    recursions.to_dict: {"recursion": U},
    forward.forward_equation: {"forest": NTK},
    expansion.expand_in_width: {"moment": MOMENT, "piece": 0},
    typesetting.Conventions: {
        "layers": True,
        "kernel": "K",
        "frozen_ntk": "H",
        "sample": "d",
        "width": 400,
    },
    typesetting.document: {"what": U, "conventions": None},
    typesetting.to_latex: {"what": U, "conventions": None},
    codegen.generate_kernel: {"system": SYSTEM, "name": "u"},
    codegen.kernel_for: {"tensors": ["G"], "name": "g"},
    codegen.lower: {"system": SYSTEM},
    codegen.regenerate: {"root": None, "providers": ()},
    sampling.NetworkEnsemble.of: {
        "widths": (2, 3, 2),
        "C_b": 0.0,
        "C_W": 1.0,
        "lambda_b": 0.0,
        "lambda_W": 1.0,
        "weight_law": "gaussian",
    },
    sampling.TensorPattern: {"edges": (), "matching": ((0, 1),)},
    sampling.Tree: {"vertices": 2, "edges": ((0, 1),)},
    sampling.draw_parameters: {"ensemble": ENSEMBLE, "count": 2, "rng": RNG},
    sampling.evaluate_networks: {
        "parameters": DRAWN,
        "ensemble": ENSEMBLE,
        "activation": SINE,
        "inputs": np.eye(2),
        "observables": ["H"],
    },
    sampling.measure: {
        "ensemble": ENSEMBLE,
        "activation": SINE,
        "inputs": np.eye(2),
        "tensors": ["H"],
        "count": 6,
        "rng": RNG,
        "groups": 2,
    },
    sampling.sample_networks: {
        "ensemble": ENSEMBLE,
        "activation": SINE,
        "inputs": np.eye(2),
        "observables": ["H"],
        "count": 2,
        "rng": RNG,
    },
    MEASURED.z_scores: {"expected": 1.0},
    single_input.propagate: {"activation": SINE, "overlap": 1.0, "depth": 3, **LAYERS},
}

NUMBERS = {"C_b", "C_W", "lambda_b", "lambda_W", "overlap"}
TEXTS = {"kernel", "frozen_ntk", "sample"}
SENSIBLE = {
    "criticality": ["activation='x'", "digits=2"],
    "derive": ["piece=None", "piece=2"],
    "derive_system": ["tensors=[]"],
    "correlator_from": ["edges=[]"],
    "correlators": ["order=2"],
    "explain": ["term=None", "term=2"],
    "to_json": ["indent=None", "indent=2"],
    "Forest": ["edges=[]", "vertices=2"],
    "activation": ["what='x'"],
    "Activation": ["name='x'", "text='x'"],
    "taylor": ["order=2"],
    "derivatives": ["order=2"],
    "recipe": ["activation='x'"],
    "split_subleading": ["name='x'"],
    "Conventions": ["width=2", "width=1.5"],
    "document": ["conventions=None"],
    "to_latex": ["conventions=None"],
    "expand_in_width": ["piece=2"],
    "generate_kernel": ["name='x'"],
    "kernel_for": ["tensors=[]", "name='x'"],
    "TensorPattern": ["edges=[]"],
    "Tree": ["vertices=2"],
    "draw_parameters": ["count=2"],
    "evaluate_networks": ["observables=[]"],
    "measure": ["tensors=[]", "count=2", "groups=2"],
    "sample_networks": ["observables=[]", "count=2"],
    "z_scores": ["expected=2", "expected=1.5"],
    "propagate": ["widths=None", "blocks=None", "executor=None", "progress=None"],
    "MLP": ["activation='x'", "widths=[]", "lambda_b=None", "lambda_W=None", "n_L=2"],
    "check": ["networks=2", "seed=2", "progress=None"],
}


@pytest.mark.parametrize("bad", BAD, ids=short_repr)
@pytest.mark.parametrize(
    ("function", "name"), [(function, name) for function, given in CALLS.items() for name in given]
)
def test_an_argument_of_the_wrong_kind_is_refused_in_words(function, name, bad):
    try:
        function(**{**CALLS[function], name: bad})
    except (SymdltError, single_input.KernelInputError):
        return
    sensible = f"{name}={bad!r}" in SENSIBLE.get(function.__name__, ())
    sensible |= name in NUMBERS and isinstance(bad, int | float)
    sensible |= name in TEXTS and isinstance(bad, str)
    assert sensible
