"""What the committed kernel says about input it cannot use."""

import numpy as np
import pytest
from kernel_reference import ACTIVATIONS, functions, linear

from symdlt.kernels.single_input import KernelInputError, propagate

TANH = functions(ACTIVATIONS["tanh"], 4)


def attempt(activation=TANH, overlap=1.0, depth=5, **changes):
    given = {"C_b": 0.1, "C_W": 1.0, "lambda_b": 1.0, "lambda_W": 1.0, **changes}
    return propagate(activation, overlap, depth, **given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": TANH[:2]}, "given by 2 functions. This kernel needs 4: sigma and its fir"),
        ({"activation": [1, 2, 3, 4]}, "Its members are called with arrays"),
        ({"overlap": float("nan")}, "The overlap is nan. It is x.x/n_0, the mean square"),
        ({"overlap": -1.0}, "The overlap is -1.0"),
        ({"depth": 0}, "The depth is 0. It is the number of layers L"),
        ({"depth": 2.5}, "The depth is 2.5"),
        ({"depth": 5.0}, "The depth is 5.0. It is the number of layers L"),
        ({"depth": True}, "The depth is True"),
        ({"depth": 10**9}, r"The depth is 1000000000. So many layers would take about 5.4e\+02 GB"),
        ({"depth": 10**400}, "So many layers would take about"),
        ({"overlap": [1.0]}, r"The overlap is \[1.0\]"),
        ({"overlap": "1"}, "overlap is '1'. It must consist of real numbers"),
        ({"C_W": 1j}, "C_W is 1j. It must consist of real numbers"),
        ({"C_W": True}, "C_W is True"),
        ({"C_b": [0.1, [0.1], 0.1, 0.1, 0.1]}, "C_b is .* must consist of real numbers"),
        ({"widths": "1111"}, "widths is '1111'"),
        ({"activation": np.sin}, "given by 1 functions. This kernel needs 4"),
        ({"activation": None}, "Give them in order, as callables"),
        (
            {"C_W": -1.0},
            "C_W is -1.0 at layer 1. Variances and ratios of widths must be finite and not",
        ),
        ({"C_b": [0.1, 0.1, np.inf, 0.1, 0.1]}, "C_b is inf at layer 3"),
        ({"lambda_W": [1.0] * 4}, r"lambda_W has shape \(4,\). The network has 5 layers"),
        ({"lambda_b": None}, "lambda_b is missing. The recursions of this kernel contain it"),
        ({"widths": [10.0] * 5}, r"widths has shape \(5,\).* so 4 hidden widths"),
        ({"widths": [10.0, 0.0, 10.0, 10.0]}, "widths has the smallest member 0.0"),
        ({"activation": [lambda z: z[:1], *TANH[1:]]}, r"Derivative 0 .* of shape \(1,\)"),
        ({"activation": [lambda z: z + 1j, *TANH[1:]]}, "Derivative 0 .* complex128"),
        ({"activation": [TANH[0], TANH[2], *TANH[2:]]}, "Function 1 .* is not the derivative"),
        ({"overlap": np.ma.masked}, "overlap is masked"),
        ({"overlap": 1e150}, r"of layer 1 is .*e\+150, too large .* smaller inputs"),
        ({"C_b": 1e308}, r"of layer 1 is 1e\+308, too large .* Give a smaller C_b"),
        ({"lambda_W": 1e308, "overlap": 1e3}, "H overflows at layer 1"),
        ({"activation": [np.exp] * 4, "C_W": 9.0}, "do not converge at layer 1. K is at most 16"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(KernelInputError, match=message):
        attempt(**changes)


def test_kink_is_refused():
    relu = [lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0, *[lambda z: 0 * z] * 2]
    with pytest.raises(KernelInputError, match=r"without kinks or jumps"):
        attempt(activation=relu)
    halved = [relu[0], lambda z: np.heaviside(z, 0.5), *relu[2:]]
    with pytest.raises(KernelInputError):
        attempt(activation=halved)


def test_overflow_names_the_tensor_and_the_layer():
    with pytest.raises(KernelInputError, match=r"means .* overflow at layer 3\d\d\."):
        attempt(activation=functions(linear, 4), depth=1000, C_W=3.0)
    with pytest.raises(KernelInputError, match=r"^B overflows at layer 5 of 5\. The variance K"):
        attempt(lambda_b=[1.0, 1.0, 1.0, 1e308, 1.0])
    with pytest.raises(KernelInputError, match=r"^B overflows at layer 2 of 5\. "):
        attempt(lambda_W=1e200)


def test_steep_activation_is_not_smooth_enough_to_be_wrong_silently():
    """tanh(1e4 z) looks like a jump: refused at K = 1, right at K = 1e-8."""
    steep = [lambda z, k=k: 1e4**k * ACTIVATIONS["tanh"](k, 1e4 * z, np) for k in range(4)]
    with pytest.raises(KernelInputError, match="do not converge at layer 1"):
        attempt(activation=steep)
    scaled = attempt(activation=steep, overlap=1e-8, depth=2, C_b=0.0)["G"][1]
    assert scaled == pytest.approx(attempt(depth=2, C_b=0.0)["G"][1], rel=1e-13)


def test_derivatives_beyond_those_needed_are_left_out():
    usual, more = attempt(), attempt([*TANH, np.abs])
    assert all(np.array_equal(usual[name], more[name]) for name in usual)
