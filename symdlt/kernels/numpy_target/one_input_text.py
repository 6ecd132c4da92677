"""What fills the template of a kernel for one input."""

from __future__ import annotations

from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.layout import bracketed
from symdlt.kernels.generator.python.one_input import (
    Data,
    centred_products,
    gain_and_source,
    names_of,
    recursion_text,
    shared_data,
    stacked,
)
from symdlt.kernels.generator.python.printer import expression_text
from symdlt.kernels.generator.representation import KernelModule, TensorFunction
from symdlt.kernels.numpy_target import template


def data_of_one(module: KernelModule) -> Data:
    """What the template asks for, apart from what all kernels have."""
    metric = module.metric
    linear = [function for function in module.functions if function is not metric]
    read = [name for name in module.names if name in metric.reads]
    arguments = [f"{name}: float" for name in ("overlap", *module.names)]
    return shared_data(module) | {
        # propagate keeps these for each layer, those of Python's lists included
        "arrays": str(23 + len(module.functions) + len(module.means) + len(module.factors)),
        "centred": [
            f"c_{name} = {name} - centre * ({name} @ weights)[..., None]"
            for name in centred_products(module)
        ],
        "rows": stacked(module.means, "np"),
        "first_layer_head": bracketed("def first_layer(", arguments, ") -> dict[str, float]:"),
        "first_layer": [
            f'"{f.tensor}": {expression_text(f.first, {})},'
            for f in module.functions
            if f.first != ZERO
        ],
        "metric_arguments": ", ".join(f"{name}: float" for name in read),
        "metric_means": [
            f"{e.name} = float(({' * '.join(f's{k}' for k in e.orders)}) @ weights)"
            for e in metric.entries
        ],
        "metric": expression_text(metric.value, {}),
        "recursions": "\n\n\n".join(_recursion(one, module) for one in linear),
        "metric_values": ", ".join(f"h.{name}" for name in read),
        "tensors": "RECURSIONS",
        "equal": "",
        "skips": "",
    }


def _recursion(function: TensorFunction, module: KernelModule) -> str:
    parts = gain_and_source(function, names_of(module), "np.full_like")
    return recursion_text(template.RECURSION_ONE, function, module, parts)
