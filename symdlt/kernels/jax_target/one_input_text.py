"""What fills the template of a kernel for one input."""

from __future__ import annotations

from symdlt.kernels.generator.lowering import ZERO
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
from symdlt.kernels.jax_target import template


def data_of_one(module: KernelModule) -> Data:
    """What the template asks for, apart from what all kernels have."""
    names = names_of(module)
    metric = module.metric
    return shared_data(module) | {
        "centred": [f"c_{name} = {name} - {name} @ weights" for name in centred_products(module)],
        "rows": stacked(module.means, "jnp"),
        "first_layer": [
            f'"{f.tensor}": {expression_text(f.first, names)},'
            for f in module.functions
            if f.first != ZERO
        ],
        "metric_means": [
            f"{e.name} = ({' * '.join(f's{k}' for k in e.orders)}) @ weights"
            for e in metric.entries
        ],
        "metric": expression_text(metric.value, names),
        "recursions": "\n\n\n".join(
            _recursion(one, module) for one in module.functions if one is not metric
        ),
    }


def _recursion(function: TensorFunction, module: KernelModule) -> str:
    parts = gain_and_source(function, names_of(module), "")
    return recursion_text(template.RECURSION_ONE, function, module, parts)
