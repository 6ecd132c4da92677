"""What fills the templates of kernels for one input, also through layers of several fields."""

from __future__ import annotations

from symdlt.activations import Activation, activation
from symdlt.kernels.generator.layer_lowering import GIVEN
from symdlt.kernels.generator.python.layout import INSIDE, bracketed, filled, quoted, tuple_items
from symdlt.kernels.generator.python.one_input import (
    Data,
    Spelling,
    first_layer,
    names_of,
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
from symdlt.kernels.jax_target import template
from symdlt.kernels.jax_target.activations import jax_activation

JAX = Spelling(
    "jnp",
    "s: Sequence[Array], weights: Array",
    "",
    "c_{0} = {0} - {0} @ weights",
    "Array",
    "FieldTable",
)


def data_of_one(module: KernelModule, brought: Activation | None) -> Data:
    """What the template asks for, apart from what all kernels have."""
    names, metric = names_of(module), module.metric
    return {
        **shared_data(module, JAX),
        **_propagation(module, brought),
        "metric_means": [
            f"{e.name} = ({' * '.join(f's{k}' for k in e.orders)}) @ weights"
            for e in metric.entries
        ],
        "metric": expression_text(metric.value, names),
        "recursions": recursions_text(module, ""),
        "functions_line": f"functions = {_functions(module, GIVEN, brought)}",
        "rule": "nodes, weights",
        "means_of_layer": template.MEANS_OF_LAYER,
        "metric_read": "h, s, weights",
        "equal": "",
        "returned": template.RETURNED,
    }


def data_of_fields(module: KernelModule, brought: Activation | None) -> Data:
    """The same for layers of several fields."""
    rows = [f'"{key}": {_functions(module, key, brought)},' for key in module.keys]
    return {
        **FieldTexts(module, JAX).shared_data(),
        **_propagation(module, brought),
        **_depths(module),
        "functions_line": filled(template.BY_FUNCTION, by_function=rows),
        "rule": "rule",
        "means_of_layer": template.MEANS_OF_FIELDS,
        "metric_read": "h, m, below",
    }


def _propagation(module: KernelModule, brought: Activation | None) -> Data:
    """The functions of the kernel, those that its layer names behind that which is brought."""
    parts = [] if brought is None else [jax_activation(brought, module.derivatives)]
    named = [name for name in module.function_names if name != GIVEN]
    parts += [jax_activation(activation(name), module.derivatives, name) for name in named]
    return {
        "derivatives": str(module.derivatives),
        "activation": "\n\n\n".join(parts),
        "first_layer": first_layer(module, {name: f"h.{name}" for name in module.names}),
    }


def _depths(module: KernelModule) -> Data:
    """What a skip adds."""
    if not module.sums or module.depths is None:
        return {"depths_table": "", "equal": "", "returned": template.RETURNED}
    noises = tuple_items(quoted(one.tensor for one in module.depths.states if is_noise(one)))
    rows = depth_rows(module, module.depths)
    listed = bracketed("noises=(", noises, "),", INSIDE)
    return {
        "depths_table": filled(template.DEPTHS_ONE, noises=listed, **rows),
        "equal": "refuse_widths(widths)",
        "returned": filled(template.RETURNED_WITH_DEPTHS, functions=functions_read(module)),
    }


def _functions(module: KernelModule, key: str, brought: Activation | None) -> str:
    """The functions of a field with their derivatives, in one list."""
    given = template.GIVEN.format(count="DERIVATIVES + 1") if brought is None else "ACTIVATION"
    parts = [given if name == GIVEN else name.upper() for name in key.split()]
    return parts[0] if len(parts) == 1 else f"joined({module.stride}, {', '.join(parts)})"
