"""The layout of a kernel for many inputs: provenance, runtime, recursions, driver."""

from __future__ import annotations

import textwrap

from symdlt.codegen._ir import symbols
from symdlt.codegen._linking import linked
from symdlt.codegen._lowering import HYPERPARAMETERS, variable
from symdlt.codegen._many_lowering import OVERLAP, Entry, ManyFunction, ManyKernelModule
from symdlt.codegen._printer import COLUMNS, assignment, expression_text

RUNTIME = (
    "symdlt.means._grids",
    "symdlt.means._triangle",
    "symdlt.means._correlations",
    "symdlt.means._spectra",
    "symdlt.means._series",
    "symdlt.means._pairs",
    "symdlt.means._lines",
    "symdlt.means._nodes",
    "symdlt.means._blocks",
    "symdlt.means._accuracy",
    "symdlt.means._quadruples",
    "symdlt.means._panels",
    "symdlt.means._coincident",
    "symdlt.means._kinked",
    "symdlt.means._kinked_planes",
    "symdlt.means._kinked_quadruples",
    "symdlt.means._steps",
    "symdlt.means._closed_layers",
    "symdlt.means._layers",
    "symdlt.means._closed",
    "symdlt.means._orthants",
    "symdlt.means._relu_quadruples",
    "symdlt.means._layer_means",
    "symdlt.codegen._runtime_input",
    "symdlt.codegen._runtime_tuples",
    "symdlt.codegen._many_runtime_input",
    "symdlt.codegen._many_runtime",
)
OWN_IMPORTS = """\
from collections.abc import Callable, Iterable, Sequence
import numpy as np
"""

NOTES = """\
Notation: s, s', s'', … are the activation and its derivatives (sk in identifiers), <…> is the mean
over z of covariance K = G, the numbers 1, 2, … stand for the samples x1, x2, …, and n/n' is
r = n_l/n_(l-1) with the hidden widths n_1 … n_(L-1). A tensor that starts at order 1/n^m is
returned without its factor n_(l-1)^-m, a piece X.j without n_(l-1)^-j besides.
"""

SMOOTH = "SmoothMeans(problem.activation, tolerance)"
KINKED = "KinkedMeans(problem.activation, KINKS, tolerance)"

DRIVER = '''
def propagate(
    activation: Sequence[Function],
    overlap: Array,
    depth: int,
    *,
    C_b: PerLayer,
    C_W: PerLayer,
    lambda_b: PerLayer | None = None,
    lambda_W: PerLayer | None = None,
    widths: Sequence[float] | Array | None = None,
    tensors: Iterable[str] | None = None,
    samples: Indices | None = None,
    tolerance: float = 1e-7,
    means: LayerMeans | None = None,
    after_layer: Callable[[int], object] | None = None,
) -> dict[str, Array]:
    """Tensors at the layers 1 … L for N inputs.

    Means over two samples are right to about double precision, those over four to a tolerance.

    Args:
        activation: sigma and its derivatives in order, acting elementwise; how many are needed
            depends on the tensors, and DERIVATIVES are enough for all.
        overlap: x_i.x_j/n_0 for all inputs, of shape (N, N).
        depth: the number of layers L.
        C_b: variance of the biases, a number or one for each layer.
        C_W: variance of the weights times the width below.
        lambda_b: learning rate of the biases.
        lambda_W: learning rate of the weights times the width below.
        widths: the hidden widths n_1 … n_(L-1), or None if they are equal.
        tensors: the names of those wanted, all of RECURSIONS if left out.
        samples: tuples of four samples, of shape (Q, 4), if tensors of four axes are wanted only
            there; they are not a number elsewhere.
        tolerance: of means over four samples, in units of the norms of the functions.
        means: called with K, the orders of all means and the samples, for their tables; if left
            out, they are taken here. If it has a method pair_tables, as those of symdlt.means have,
            this gives those of G and H alone.
        after_layer: called with the number of each layer that is done.

    Returns:
        For each tensor, and all that it needs, an array of shape (L, N, N) or (L, N, N, N, N).

    Raises:
        KernelInputError: for input that is not of this form, an activation that is not smooth,
            overflow, and what would not fit into memory.
    """
    given = zip(HYPERPARAMETERS, (C_b, C_W, lambda_b, lambda_W), strict=True)
    problem = checked_problem(
        RECURSIONS,
        activation,
        overlap,
        depth,
        dict(given),
        widths,
        tensors,
        samples,
    )
    taken = @MEANS@ if means is None else means
    with np.errstate(all="ignore"):
        return layers_of(problem, taken, first_layer, after_layer)
'''


def many_module_text(
    module: ManyKernelModule,
    banner: str,
    provenance: str,
    activation: str = "",
    means: str = SMOOTH,
) -> str:
    """The whole file.

    Args:
        module: what it computes.
        banner: the first line.
        provenance: where it comes from, as text of the module's docstring.
        activation: the source of the activation that it brings along.
        means: how means are taken.
    """
    example = _example(module, bool(activation))
    docstring = f'"""{banner}\n\n{provenance}\n{NOTES}\n{example}"""\n'
    parts = [
        _constants(module),
        *([activation] if activation else []),
        _first_layer(module),
        *(function_text(function) for function in module.functions),
        _table(module),
        DRIVER.strip("\n").replace("@MEANS@", means) + "\n",
    ]
    body = "\n\n".join(parts)
    shared = linked(RUNTIME, OWN_IMPORTS + body)
    return "\n\n".join([f"{docstring}\n{shared.imports}\n{shared.definitions}", body])


def _example(module: ManyKernelModule, brought: bool) -> str:
    cycle = ("np.sin", "np.cos", "lambda z: -np.sin(z)", "lambda z: -np.cos(z)")
    sine = [] if brought else [f">>> sine = [{', '.join(cycle)}]"]
    name = "ACTIVATION" if brought else "2 * sine"
    rates = ", lambda_b=0.0, lambda_W=1.0" if "lambda_W" in module.hyperparameters else ""
    lines = [
        *sine,
        ">>> x = np.array([[1.0, 0.5], [0.2, -1.0]])",
        ">>> layers = propagate(",
        f"...     {name}, x @ x.T / 2, 3, C_b=0.0, C_W=1.0{rates}",
        "... )",
        '>>> layers["G"].shape',
        "(3, 2, 2)",
    ]
    return "\n".join(lines) + "\n"


def _constants(module: ManyKernelModule) -> str:
    names = ", ".join(f'"{name}"' for name in HYPERPARAMETERS)
    return f"DERIVATIVES = {module.derivatives}\nHYPERPARAMETERS = ({names})\n"


def _first_layer(module: ManyKernelModule) -> str:
    lines = [
        "def first_layer(h: Layer, overlap: Array) -> dict[str, Array]:",
        '    """The tensors that do not vanish at layer 1."""',
        "    return {",
    ]
    for function in module.functions:
        read = symbols(function.first)
        if read:
            names = _hyperparameter_names() | {name: OVERLAP for name in read if OVERLAP in name}
            lines.append(f'        "{function.tensor}": {expression_text(function.first, names)},')
    return "\n".join([*lines, "    }"]) + "\n"


def _hyperparameter_names() -> dict[str, str]:
    return {name: f"h.{name}" for name in (*HYPERPARAMETERS, "r")}


def function_text(function: ManyFunction) -> str:
    """A recursion as a function of the layer, the means, the tensors below and the tuples."""
    four = len(function.samples) == 4
    lines = [
        f"def {_advance(function)}(h: Layer, means: Tables, below: Tables, x: Samples) -> Array:",
        f'    """{function.tensor} of layer l+1 {"at the tuples x" if four else "at all pairs"}.',
        "",
        *_equation(function),
        '    """',
    ]
    if four:
        lines.append(f"    {', '.join(f'x{label}' for label in function.samples)} = x")
    reader = _gather if four else _whole
    lines += [f"    {entry.name} = {reader(entry, function)}" for entry in function.entries]
    if not symbols(function.value):
        return "\n".join([*lines, "    return np.zeros(x[0].shape)"]) + "\n"
    opening, *others = assignment("value", function.value, _hyperparameter_names())
    return "\n".join([*lines, opening.replace("value =", "return", 1), *others]) + "\n"


def _advance(function: ManyFunction) -> str:
    return f"advance_{variable(function.tensor).lower()}"


def _equation(function: ManyFunction) -> list[str]:
    lines = []
    for line in function.equation:
        lines += textwrap.wrap(
            line,
            COLUMNS - 8,
            initial_indent="    ",
            subsequent_indent="          ",
            break_on_hyphens=False,
        )
    return [line if line.startswith("    ") else f"    {line}" for line in lines]


def _source(entry: Entry) -> str:
    return f'{"means" if entry.orders else "below"}["{entry.table}"]'


def _gather(entry: Entry, function: ManyFunction) -> str:
    """The entries of a table at the tuples."""
    return f"{_source(entry)}[{', '.join(f'x{label}' for label in entry.samples)}]"


def _whole(entry: Entry, function: ManyFunction) -> str:
    """The entries of a table at all pairs: the table, its transpose, or a diagonal of it."""
    first, second = function.samples
    if entry.samples == (first, second):
        return _source(entry)
    if entry.samples == (second, first):
        return f"{_source(entry)}.T"
    letters = {first: "i", second: "j"}
    axes = "".join(letters[label] for label in entry.samples)
    kept = "".join(sorted(set(axes)))
    column = "[:, None]" if kept == "i" else ""
    return f'diagonal("{axes}->{kept}", {_source(entry)}){column}'


def _table(module: ManyKernelModule) -> str:
    lines = ["RECURSIONS: dict[str, Recursion] = {"]
    for function in module.functions:
        used = symbols(function.value) | symbols(function.first)
        rows = {
            "needs": [f'"{name}"' for name in function.tensors],
            "means": list(map(str, function.means)),
            "hyperparameters": [f'"{name}"' for name in HYPERPARAMETERS if name in used],
            "symmetries": list(map(str, function.symmetries)),
        }
        lines += [f'    "{function.tensor}": Recursion(', f"        {_advance(function)},"]
        for name, items in rows.items():
            lines += _keyword(name, items)
        lines += [f"        local={function.local},", "    ),"]
    return "\n".join([*lines, "}"]) + "\n"


def _keyword(name: str, items: list[str]) -> list[str]:
    """A tuple as an argument, on one line or with one item a line."""
    comma = "," if len(items) == 1 else ""
    line = f"        {name}=({', '.join(items)}{comma}),"
    if len(line) <= COLUMNS:
        return [line]
    return [f"        {name}=(", *(f"            {item}," for item in items), "        ),"]
