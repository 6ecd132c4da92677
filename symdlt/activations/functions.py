"""The table of functions that activations are made of: a new function is one entry.

`FUNCTIONS` holds what cannot be said in other functions, and what chooses between two of them;
`COMPOSED` all else. Forms and slopes are texts of the grammar in the arguments u and v.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """A function f(u), or f(u, v).

    Attributes:
        form: what it is in other functions; where a slope is given too, only its values.
        slope: f'(u) in functions of the table, f itself among them: Taylor series over any ring
            follow from it.
        numpy: NumPy code with a place for each argument, of a function that has a slope.
        jax: JAX code with the same places, where it is not that of NumPy with jnp for np.
        inverse: the inverse as SymPy calls it, of a function that is monotonic.
        positive: whether it is real for u > 0 only, and singular at 0.
        sympy: SymPy's function and its arguments, where SymPy has one for a choice.
        arguments: how many it has.
        second: v where it is left out.
        also: other names.
    """

    form: str = ""
    slope: str = ""
    numpy: str = ""
    jax: str = ""
    inverse: str = ""
    positive: bool = False
    sympy: tuple[str, ...] = ()
    arguments: int = 1
    second: str = ""
    also: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether it stays a call when it is read, and is not written out."""
        return bool(self.slope) or self.form.startswith("where(")

    @property
    def alone(self) -> bool:
        """Whether one argument is enough."""
        return self.arguments == 1 or bool(self.second)


FUNCTIONS = {
    "abs": Function("where(u < 0, -u, u)", sympy=("Abs", "u")),
    "asinh": Function(
        slope="1/sqrt(1 + u**2)", numpy="np.arcsinh({})", inverse="sinh", also=("arcsinh",)
    ),
    "atan": Function(slope="1/(1 + u**2)", numpy="np.arctan({})", inverse="tan", also=("arctan",)),
    "cos": Function(slope="-sin(u)", numpy="np.cos({})"),
    "cosh": Function(slope="sinh(u)", numpy="np.cosh({})"),
    "elu": Function("where(u < 0, v*(exp(u) - 1), u)", arguments=2, second="1"),
    "erf": Function(
        slope="2/sqrt(pi)*exp(-u**2)", numpy="erf({}, {})", jax="erf({})", inverse="erfinv"
    ),
    "erfc": Function(slope="-2/sqrt(pi)*exp(-u**2)", numpy="erfc({}, {})", jax="erfc({})"),
    "exp": Function(slope="exp(u)", numpy="np.exp({})", inverse="log", also=("exponential",)),
    "heaviside": Function("where(u < 0, 0, 1)", also=("step",)),
    "leaky_relu": Function("where(u < 0, v*u, u)", arguments=2, second="1/100"),
    "log": Function(slope="1/u", numpy="np.log({})", positive=True, also=("ln",)),
    "max": Function("where(u - v < 0, v, u)", arguments=2, sympy=("Max", "u", "v")),
    "min": Function("where(u - v < 0, u, v)", arguments=2, sympy=("Min", "u", "v")),
    "relu": Function("where(u < 0, 0, u)", sympy=("Max", "0", "u")),
    "sigmoid": Function(
        "1/(1 + exp(-u))", slope="sigmoid(u) - sigmoid(u)**2", also=("logistic", "expit")
    ),
    "sign": Function("where(u < 0, -1, 1)", also=("sgn",)),
    "sin": Function(slope="cos(u)", numpy="np.sin({})", also=("sine",)),
    "sinh": Function(slope="cosh(u)", numpy="np.sinh({})", inverse="asinh"),
    "sqrt": Function("u**(1/2)"),
    "tanh": Function(slope="1 - tanh(u)**2", numpy="np.tanh({})", inverse="atanh"),
}
# Constants of selu: Klambauer et al., "Self-normalizing neural networks" (2017); of hardswish:
# Howard et al., "Searching for MobileNetV3" (2019); of lecun_tanh: LeCun et al., "Efficient
# backprop" (1998); the second arguments are the defaults of PyTorch.
COMPOSED = {
    "bent_identity": Function("u + (sqrt(u**2 + 1) - 1)/2"),
    "celu": Function("where(u < 0, v*(exp(u/v) - 1), u)", arguments=2, second="1"),
    "expm1": Function("exp(u) - 1"),
    "gaussian": Function("exp(-u**2)"),
    "gd": Function("2*atan(tanh(u/2))", also=("gudermannian",)),
    "gelu": Function("u*(1 + erf(u/sqrt(2)))/2"),
    "gelu_tanh": Function(
        "u*sigmoid(sqrt(8/pi)*(u + 0.044715*u**3))",
        also=("gelu_new", "gelu_pytorch_tanh"),
    ),
    "hardshrink": Function("where(u < -v, u, where(u < v, 0, u))", arguments=2, second="1/2"),
    "hardsigmoid": Function("min(max(u + 3, 0), 6)/6"),
    "hardswish": Function("u*min(max(u + 3, 0), 6)/6", also=("hard_silu",)),
    "hardtanh": Function("max(-1, min(u, 1))"),
    "isru": Function("u/sqrt(1 + u**2)"),
    "lecun_tanh": Function("1.7159*tanh(2*u/3)"),
    "linear": Function("u", also=("identity",)),
    "log1p": Function("log(1 + u)"),
    "logcosh": Function("log(cosh(u))"),
    "logsigmoid": Function("-log(1 + exp(-u))"),
    "mish": Function("u*tanh(log(1 + exp(u)))"),
    "ncdf": Function("erfc(-u/sqrt(2))/2", also=("normal_cdf",)),
    "quick_gelu": Function("u*sigmoid(1.702*u)"),
    "relu6": Function("min(max(u, 0), 6)"),
    "sech": Function("1/cosh(u)"),
    "selu": Function("1.0507009873554805*(relu(u) + 1.6732632423543772*(exp(-relu(-u)) - 1))"),
    "silu": Function("u*sigmoid(u)"),
    "softplus": Function("log(1 + exp(u))"),
    "softshrink": Function(
        "where(u < -v, u + v, where(u < v, 0, u - v))", arguments=2, second="1/2"
    ),
    "softsign": Function("u/(1 + abs(u))"),
    "squared_relu": Function("relu(u)**2", also=("relu2", "relu_squared")),
    "squareplus": Function("(u + sqrt(u**2 + 4))/2"),
    "swish": Function("u*sigmoid(u)"),
    "tanhshrink": Function("u - tanh(u)"),
}
TABLE = FUNCTIONS | COMPOSED


def _squeezed(name: str) -> str:
    return name.replace("_", "").lower()


_NAMES = {_squeezed(n): name for name, f in TABLE.items() for n in (name, *f.also)}


def known_name(name: str) -> str:
    """The name in the table, whatever its capitals and underscores, or an empty text.

    >>> known_name("LeakyReLU"), known_name("arcsinh"), known_name("gamma")
    ('leaky_relu', 'asinh', '')
    """
    return _NAMES.get(_squeezed(name), "")


def suggestion(name: str) -> str:
    """The question which name was meant, with a blank behind it, or an empty text.

    >>> suggestion("tahn")
    'Did you mean tanh or atan? '
    """
    from difflib import get_close_matches

    # A ratio of 0.7 lets one letter of three or four be wrong.
    near = get_close_matches(_squeezed(name), _NAMES, cutoff=0.7)
    names = dict.fromkeys(_NAMES[n] for n in near)
    return f"Did you mean {' or '.join(names)}? " if names else ""


def _text(name: str, function: Function) -> str:
    if function.second:
        return f"{name}(z, {function.second})"
    return f"{name}(z)" if function.kept else re.sub(r"\bu\b", "z", function.form)


ACTIVATIONS = {name: _text(name, f) for name, f in TABLE.items() if f.alone}
