"""The layout of a kernel file: banner, provenance, runtime, functions, driver."""

from __future__ import annotations

import textwrap

from symdlt.codegen._ir import KernelModule, Mean, Product, Sum, Symbol, TensorFunction, symbols
from symdlt.codegen._linking import linked
from symdlt.codegen._lowering import HYPERPARAMETERS
from symdlt.codegen._printer import COLUMNS, assignment, expression_text

KERNEL_SCHEMA = 1
OWN_IMPORTS = "from collections.abc import Mapping\n"
RUNTIME = (
    "symdlt.means._grids",
    "symdlt.codegen._runtime_input",
    "symdlt.codegen._runtime",
)

NOTES = """\
Notation: s, s', s'', … are the activation and its derivatives (sk in identifiers); <…> is the
mean over z of variance K = G, dk<…> = <(d/dz)^k …>/k!, and <A; B> = <(A - <A>)(B - <B>)>. With L
layers the hidden widths are n_1 … n_(L-1), and r = n_l/n_(l-1). A tensor that starts at order
1/n^m is returned without its factor n_(l-1)^-m, a piece X.j without n_(l-1)^-j besides.
"""

DRIVER = '''
def propagate(
    activation: Sequence[Function],
    overlap: float,
    depth: int,
    *,
    C_b: PerLayer,
    C_W: PerLayer,
    lambda_b: PerLayer | None = None,
    lambda_W: PerLayer | None = None,
    widths: Sequence[float] | Array | None = None,
) -> dict[str, Array]:
    """All tensors at the layers 1 … L for one input.

    The means are taken by the trapezoidal rule in z/sqrt(K), see `choose_rule`.

    Args:
        activation: sigma and its derivatives in order, DERIVATIVES of them, acting elementwise.
        overlap: x.x/n_0, the mean square of the input.
        depth: the number of layers L.
        C_b: variance of the biases, a number or one for each layer.
        C_W: variance of the weights times the width below.
        lambda_b: learning rate of the biases.
        lambda_W: learning rate of the weights times the width below.
        widths: the hidden widths n_1 … n_(L-1), or None if they are equal.

    Returns:
        For each tensor an array over the layers.

    Raises:
        KernelInputError: for input that is not of this form, an activation that is not smooth,
            and overflow.
    """
    activation = check_activation(activation, DERIVATIVES + 1)
    overlap = check_overlap(overlap)
    depth = check_depth(depth, ARRAYS)
    given = zip(HYPERPARAMETERS, (C_b, C_W, lambda_b, lambda_W), strict=True)
    values = [per_layer(name, value, depth, name in NEEDED) for name, value in given]
    ratios = width_ratios(widths, depth)
    refuse_large_variance(values[0][0], values[1][0], overlap)
    with np.errstate(all="ignore"):
        first = first_layer(overlap, *(value[0] for value in values))
        for name, value in first.items():
            check_finite(name, np.array([value]), np.array([first["G"]]))
        if depth == 1:
            return {name: np.array([first.get(name, 0.0)]) for name in ("G", *RECURSIONS)}
        h = Hyperparameters._make([*(np.array(value[1:]) for value in values), ratios])
        quadrature = Quadrature(activation, plain_means)
        K = variances(quadrature, advance_g, first["G"], h.C_b, h.C_W)
        m = shared_factors(h, quadrature.means(K[:-1]))
        result, below = {"G": K}, {"G": K[:-1]}
        for name, advance in RECURSIONS.items():
            gain, source = advance(h, m, below)
            result[name] = scan(gain, source, first.get(name, 0.0))
            check_finite(name, result[name], K)
            below[name] = result[name][:-1]
    return result
'''


def module_text(module: KernelModule, banner: str, provenance: str, activation: str = "") -> str:
    """The whole file.

    Args:
        module: what it computes.
        banner: the first line.
        provenance: where it comes from, as text of the module's docstring.
        activation: the source of the activation that it brings along.
    """
    docstring = f'"""{banner}\n\n{provenance}\n{NOTES}\n{_example(module)}"""\n'
    parts = [
        _constants(module),
        *([activation] if activation else []),
        _plain_means(module),
        _factor_class(module),
        _shared_factors(module),
        _first_layer(module),
        _metric(module),
        *(_function(function, module) for function in module.functions),
        _table(module),
        DRIVER.strip("\n") + "\n",
    ]
    body = "\n\n".join(parts)
    shared = linked(RUNTIME, OWN_IMPORTS + body)
    return "\n\n".join([f"{docstring}\n{shared.imports}\n{shared.definitions}", body])


def _example(module: KernelModule) -> str:
    cycle = ("np.sin", "np.cos", "lambda z: -np.sin(z)", "lambda z: -np.cos(z)")
    rates = ", lambda_b=0.0, lambda_W=1.0" if "lambda_W" in module.hyperparameters else ""
    lines = [
        f">>> sine = [{', '.join(cycle)}]",
        f">>> layers = propagate((2 * sine)[:{module.derivatives + 1}], 1.0, 20, "
        f"C_b=0.0, C_W=1.0{rates})",
        '>>> layers["G"].shape',
        "(20,)",
    ]
    return "\n".join(lines) + "\n"


def _constants(module: KernelModule) -> str:
    needed = ", ".join(f'"{name}"' for name in module.hyperparameters)
    comma = "," if len(module.hyperparameters) == 1 else ""
    names = ", ".join(f'"{name}"' for name in HYPERPARAMETERS)
    return (
        f"DERIVATIVES = {module.derivatives}\n"
        f"ARRAYS = {_arrays(module)}\n"
        f"HYPERPARAMETERS = ({names})\n"
        f"NEEDED = ({needed}{comma})\n"
    )


def _arrays(module: KernelModule) -> int:
    """How many numbers `propagate` keeps for each layer, those of Python's lists included."""
    return 24 + len(module.functions) + len(module.plain) + len(module.factors)


def _plain_means(module: KernelModule) -> str:
    """The table of means: every product of σ's is formed once, from shorter ones."""
    orders = range(module.derivatives + 1)
    products: dict[Mean, None] = {}
    for mean in module.plain:
        for group in mean.groups or (mean.orders,):
            _add_products(Mean(group), products)
    lines = [
        "def plain_means(s: Sequence[Array], weights: Array, centre: float = 1.0) -> Array:",
        f'    """The {len(module.plain)} means that are integrated, a row for each.',
        "",
        *_filled([mean.text for mean in module.plain], indent=4, width=96),
        '    """',
        f"    {', '.join(f's{k}' for k in orders)}{',' if len(orders) == 1 else ''} = s",
    ]
    for mean in products:
        left, right = _halves(mean)
        lines.append(f"    {mean.name} = {left.name} * {right.name}")
    for name in sorted({Mean(group).name for mean in module.plain for group in mean.groups}):
        lines.append(f"    c_{name} = {name} - centre * ({name} @ weights)[..., None]")
    rows = []
    for mean in module.plain:
        factors = [f"c_{Mean(group).name}" for group in mean.groups]
        rows.append(f"({' * '.join(factors)}) @ weights" if factors else f"{mean.name} @ weights")
    lines += _wrapped_list("    return np.stack(", rows, ")")
    return "\n".join(lines) + "\n"


def _halves(mean: Mean) -> tuple[Mean, Mean]:
    cut = len(mean.orders) - (2 if len(mean.orders) > 2 else 1)
    return Mean(mean.orders[:cut]), Mean(mean.orders[cut:])


def _add_products(mean: Mean, products: dict[Mean, None]) -> None:
    if len(mean.orders) > 1 and mean not in products:
        for half in _halves(mean):
            _add_products(half, products)
        products[mean] = None


def _wrapped_list(opening: str, items: list[str], closing: str) -> list[str]:
    """A call with one list as its argument, on one line or with one item a line."""
    line = f"{opening}[{', '.join(items)}]{closing}"
    if len(line) <= COLUMNS:
        return [line]
    inner = f"        [{', '.join(items)}]"
    if len(inner) <= COLUMNS:
        return [opening, inner, f"    {closing}"]
    rows = [f"            {item}," for item in items]
    return [opening, "        [", *rows, "        ]", f"    {closing}"]


def _wrapped_call(opening: str, items: list[str]) -> list[str]:
    """A call, on one line or with one argument a line."""
    line = f"{opening}{', '.join(items)})"
    if len(line) <= COLUMNS:
        return [line]
    inner = f"        {', '.join(items)}"
    if len(inner) <= COLUMNS:
        return [opening, inner, "    )"]
    return [opening, *(f"        {item}," for item in items), "    )"]


def _filled(words: list[str], indent: int, width: int) -> list[str]:
    lines = [" " * indent]
    for number, word in enumerate(words):
        piece = word + ("," if number < len(words) - 1 else ".")
        if len(lines[-1]) + len(piece) + 1 > width:
            lines.append(" " * indent)
        lines[-1] += ("" if lines[-1].isspace() else " ") + piece
    return lines


def _factor_class(module: KernelModule) -> str:
    lines = ["class Factors(NamedTuple):", '    """Intermediates, one value a layer."""']
    if module.factors:
        lines.append("")
    lines += [f"    {factor.name}: Array  # {factor.text}" for factor in module.factors]
    return "\n".join(lines) + "\n"


def _shared_factors(module: KernelModule) -> str:
    lines = [
        "def shared_factors(h: Hyperparameters, means: Array) -> Factors:",
        '    """Common factors of the recursions, from the table of means."""',
    ]
    used = [m.name for m in module.plain if any(m in dict(f.mean.plain) for f in module.factors)]
    targets = [m.name if m.name in used else f"_{m.name}" for m in module.plain]
    if len(targets) == 1:
        lines.append(f"    {targets[0]} = means[0]")
    else:
        lines += _wrapped_unpacking(targets, "means")
    taylor = dict.fromkeys(f.mean for f in module.factors if f.mean.derivatives)
    for mean in taylor:
        parts = tuple(Product(number, (Symbol(part.name),)) for part, number in mean.plain)
        lines += assignment(mean.name, Sum(parts), {})
    values = []
    for factor in module.factors:
        lead = f"h.{factor.hyperparameter} * " if factor.hyperparameter else ""
        values.append(f"{factor.name}={lead}{factor.mean.name}")
    lines += _wrapped_call("    return Factors(", values)
    return "\n".join(lines) + "\n"


def _wrapped_unpacking(targets: list[str], source: str) -> list[str]:
    line = f"    {', '.join(targets)} = {source}"
    if len(line) <= COLUMNS:
        return [line]
    return ["    (", *(f"        {target}," for target in targets), f"    ) = {source}"]


def _first_layer(module: KernelModule) -> str:
    arguments = ", ".join(f"{name}: float" for name in ("overlap", *HYPERPARAMETERS))
    lines = [
        "def first_layer(",
        f"    {arguments}",
        ") -> dict[str, float]:",
        '    """The tensors that do not vanish at layer 1."""',
        "    return {",
    ]
    lines += [f'        "{name}": {expression_text(value, {})},' for name, value in module.first]
    return "\n".join([*lines, "    }"]) + "\n"


def _metric(module: KernelModule) -> str:
    read = symbols(module.metric)
    means = [mean for mean in module.plain if mean.name in read]
    orders = sorted({order for mean in means for order in mean.orders})
    body: list[str] = []
    for order in orders:
        body.append(f"    s{order} = s[{order}]")
    for mean in means:
        body.append(
            f"    {mean.name} = float(({' * '.join(f's{k}' for k in mean.orders)}) @ weights)"
        )
    return (
        "\n".join(
            [
                "def advance_g("
                "s: Sequence[Array], weights: Array, C_b: float, C_W: float) -> float:",
                '    """The variance K of layer l+1 from the activation at the nodes of layer l.',
                "",
                *textwrap.indent("\n".join(module.metric_equation), "    ").split("\n"),
                '    """',
                *body,
                f"    return {expression_text(module.metric, {})}",
            ]
        )
        + "\n"
    )


def _function(function: TensorFunction, module: KernelModule) -> str:
    names = {factor.name: f"m.{factor.name}" for factor in module.factors}
    names |= {name: f"h.{name}" for name in (*HYPERPARAMETERS, "r")}
    read = symbols(function.gain) | symbols(function.source)
    below = [(f.tensor, f.variable) for f in module.functions if f.variable in read]
    if "G" in read:
        below.insert(0, ("G", "G"))
    count = function.cost
    start = f"def advance_{function.variable.lower()}("
    inside = "h: Hyperparameters, m: Factors, below: Mapping[str, Array]"
    end = ") -> tuple[Array, Array]:"
    head = [start + inside + end]
    lines = [
        *(head if len(head[0]) <= COLUMNS else [start, f"    {inside}", end]),
        f'    """Gain and source of {function.tensor}[l+1] = gain {function.tensor}[l] + source.',
        "",
        *textwrap.indent("\n".join(function.equation), "    ").split("\n"),
        "",
        f"    Operations a layer: {count.multiplications} x, {count.additions} +.",
        '    """',
        *(f'    {variable} = below["{tensor}"]' for tensor, variable in below),
    ]
    for target, value in (("gain", function.gain), ("source", function.source)):
        if symbols(value):
            lines += assignment(target, value, names)
        else:
            lines.append(f"    {target} = np.full_like(h.r, {expression_text(value, {})})")
    return "\n".join([*lines, "    return gain, source"]) + "\n"


def _table(module: KernelModule) -> str:
    kind = "Callable[[Hyperparameters, Factors, Mapping[str, Array]], tuple[Array, Array]]"
    lines = [f"Advance = {kind}", "", "RECURSIONS: dict[str, Advance] = {"]
    lines += [f'    "{f.tensor}": advance_{f.variable.lower()},' for f in module.functions]
    if not module.functions:
        return "\n".join([*lines[:2], "RECURSIONS: dict[str, Advance] = {}"]) + "\n"
    return "\n".join([*lines, "}"]) + "\n"
