"""Every public function says what is wrong with an argument of the wrong kind."""

from reprlib import repr as short_repr

import numpy as np
import pytest

import symdlt
from symdlt import activations, definitions, derivation, formats, kernels, sampling, training
from symdlt.derivation import contract_matching
from symdlt.errors import SymdltError
from symdlt.formats import latex
from symdlt.kernels import single_input

BAD = (None, 2, "x", 1.5, [])

U = symdlt.derive("U", inputs="one")
NTK = definitions.NTK
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
TASK = {
    "net": symdlt.MLP(**NETWORK),
    "x_train": [[1.0]],
    "y_train": [1.0],
    "x_test": [[2.0]],
    "algorithm": None,
}
PROJECTOR = training.projectors()["dNTK-A"]
FLOW = training.GradientFlow()

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
    activations.activation: {"what": "tanh"},
    activations.Activation: {"name": "tanh", "text": "tanh(z)"},
    activations.activation("sin").taylor: {"order": 2},
    activations.activation("sin").derivatives: {"order": 2},
    definitions.split_subleading: {"name": "G.1"},
    derivation.replay: {
        "diagram": U.terms[0].origins[0],
        "term": U.terms[0],
        "samples": U.samples,
        "form": "derivative",
    },
    formats.to_dict: {"recursion": U},
    derivation.forward_equation: {"forest": NTK},
    derivation.expand_in_width: {"moment": MOMENT, "piece": 0},
    latex.Conventions: {
        "layers": True,
        "kernel": "K",
        "frozen_ntk": "H",
        "sample": "d",
        "width": 400,
    },
    latex.document: {"what": U, "conventions": None},
    latex.to_latex: {"what": U, "conventions": None},
    kernels.generate_kernel: {"system": SYSTEM, "name": "u"},
    kernels.kernel_for: {"tensors": ["G"], "name": "g"},
    kernels.lower: {"system": SYSTEM},
    kernels.regenerate: {"root": None, "providers": ()},
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
    symdlt.predict: {**TASK, "covariance": False, "executor": None, "progress": None},
    symdlt.GradientDescent: {"eta": 0.1, "steps": 3},
    symdlt.GradientFlow: {"time": 1.0},
    training.CustomAlgorithm: {"projectors": {}},
    training.predict_infinite: TASK,
    training.predict_kernel: {
        "ntk": np.eye(2),
        "y_train": [1.0],
        "kernel": np.eye(2),
        "algorithm": None,
    },
    training.posterior: {"kernel": np.eye(2), "y_train": [1.0], "noise": 0.0},
    training.trained_ntk: {**TASK, "progress": None},
    training.trained_dntk: {**TASK, "progress": None},
    training.train_network: {
        "z": [0.0, 0.0],
        "H": np.eye(2),
        "dH": np.zeros((2,) * 3),
        "ddH_I": np.zeros((2,) * 4),
        "ddH_II": np.zeros((2,) * 4),
        "y_train": [1.0],
        "algorithm": None,
    },
    PROJECTOR.expression: {"algorithm": FLOW},
    PROJECTOR.latex: {"algorithm": FLOW},
    MEASURED.z_scores: {"expected": 1.0},
    single_input.propagate: {"activation": SINE, "overlap": 1.0, "depth": 3, **LAYERS},
}

NUMBERS = {"C_b", "C_W", "lambda_b", "lambda_W", "overlap"}
TEXTS = {"kernel", "frozen_ntk", "sample"}
SENSIBLE = {
    "criticality": ["activation='x'", "digits=2", "search=None"],
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
    "of": ["lambda_b=None", "lambda_W=None"],
    "predict": ["algorithm=None", "executor=None", "progress=None"],
    "predict_infinite": ["algorithm=None"],
    "predict_kernel": ["kernel=None", "algorithm=None"],
    "trained_ntk": ["algorithm=None", "progress=None"],
    "trained_dntk": ["algorithm=None", "progress=None"],
    "train_network": ["algorithm=None"],
    "expression": ["algorithm=None"],
    "latex": ["algorithm=None"],
    "posterior": ["noise=2", "noise=1.5"],
    "GradientDescent": ["eta=2", "eta=1.5", "steps=None", "steps=2"],
    "GradientFlow": ["time=None", "time=2", "time=1.5"],
    "check": ["networks=2", "seed=2", "progress=None"],
}


@pytest.mark.parametrize("bad", BAD, ids=short_repr)
@pytest.mark.parametrize(
    ("function", "name"), [(function, name) for function, given in CALLS.items() for name in given]
)
def test_an_argument_of_the_wrong_kind_is_refused_in_words(function, name, bad):
    try:
        function(**{**CALLS[function], name: bad})
    except SymdltError:
        return
    sensible = f"{name}={bad!r}" in SENSIBLE.get(function.__name__, ())
    sensible |= name in NUMBERS and isinstance(bad, int | float)
    sensible |= name in TEXTS and isinstance(bad, str)
    assert sensible
