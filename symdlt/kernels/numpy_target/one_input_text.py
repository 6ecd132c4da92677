"""What fills the templates of kernels for one input, also through layers of several fields."""

from __future__ import annotations

from symdlt.kernels.generator.python.layout import bracketed, filled
from symdlt.kernels.generator.python.one_input import (
    Data,
    Spelling,
    first_layer,
    recursions_text,
    shared_data,
)
from symdlt.kernels.generator.python.one_input_fields import (
    FieldTexts,
    depth_rows,
    functions_read,
    is_noise,
)
from symdlt.kernels.generator.python.printer import expression_text
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.named_functions import listed

NUMPY = Spelling(
    "np",
    "s: Sequence[Array], weights: Array, centre: float = 1.0",
    ", a row for each",
    "c_{0} = {0} - centre * ({0} @ weights)[..., None]",
    "Any",
    "FieldMeans",
)
# Arrays over the layers that propagate keeps besides tensors and means, Python's lists included.
ARRAYS = 23
REFUSALS = ("refuse_many_pairs(depth, len(DEPTHS.joint))", 'refuse_unequal(layers["r"])')


def data_of_one(module: KernelModule) -> Data:
    """What the template asks for, apart from what all kernels have."""
    metric = module.metric
    read = [name for name in module.names if name in metric.reads]
    return {
        **shared_data(module, NUMPY),
        **_propagation(module, len(module.means) + len(module.factors)),
        "metric_arguments": ", ".join(f"{name}: float" for name in read),
        "metric_means": [
            f"{e.name} = float(({' * '.join(f's{k}' for k in e.orders)}) @ weights)"
            for e in metric.entries
        ],
        "metric": expression_text(metric.value, {}),
        "recursions": recursions_text(module, "np.full_like"),
        "metric_values": ", ".join(f"h.{name}" for name in read),
    }


def data_of_fields(module: KernelModule) -> Data:
    """The same for layers of several fields."""
    texts = FieldTexts(module, NUMPY)
    given = {key: listed(module, key, "activation", "DERIVATIVES + 1") for key in module.keys}
    return {
        **texts.shared_data(),
        **_propagation(module, sum(map(len, texts.listed.values()))),
        "by_function": [f'"{key}": {code},' for key, code in given.items()],
        "depths_table": _depths_table(module),
    }


def _propagation(module: KernelModule, means: int) -> Data:
    """Layer 1 and what is done at all layers, which have so many means."""
    arguments = [f"{name}: float" for name in ("overlap", *module.names)]
    skips = f"result |= depths_of_one(DEPTHS, {functions_read(module)}, result, m, h)"
    return {
        "arrays": str(ARRAYS + len(module.functions) + means),
        "first_layer_head": bracketed("def first_layer(", arguments, ") -> dict[str, float]:"),
        "first_layer": first_layer(module, {}),
        "tensors": "RECURSIONS, *SUMS" if module.sums else "RECURSIONS",
        "equal": REFUSALS if module.sums else "",
        "skips": skips if module.sums else "",
    }


def _depths_table(module: KernelModule) -> str:
    """What a skip adds, by names."""
    if module.depths is None:
        return ""
    noises = [
        f'"{one.tensor}": {one.tensor in module.depths.observed},'
        for one in module.depths.states
        if is_noise(one)
    ]
    return filled(template.DEPTHS_ONE, noises=noises, **depth_rows(module, module.depths))
