"""What fills the template of a kernel for one input through layers of several fields."""

from __future__ import annotations

from symdlt.activations import Activation, activation
from symdlt.kernels.generator.layer_lowering import GIVEN
from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.depth_tables import depth_rows, functions_read, is_noise
from symdlt.kernels.generator.python.layout import INSIDE, bracketed, filled, quoted, tuple_items
from symdlt.kernels.generator.python.one_input import Data
from symdlt.kernels.generator.python.one_input_fields import FieldTemplates, FieldTexts
from symdlt.kernels.generator.python.printer import expression_text
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.jax_target import template
from symdlt.kernels.jax_target.activations import jax_activation

_TEMPLATES = FieldTemplates(
    "jnp",
    template.MEANS_FIELD,
    "c_{0} = {0} - {0} @ weights",
    template.VALUE_FIELD,
    template.RECURSION_FIELD,
    template.ROW_FIELD,
)


def data_of_one_with_fields(module: KernelModule, brought: Activation | None) -> Data:
    """What the template asks for, apart from what all kernels have."""
    texts = FieldTexts(module, _TEMPLATES)
    names = {name: f"h.{name}" for name in module.names}
    return texts.shared_data() | {
        "derivatives": str(module.derivatives),
        "activation": activations(module, brought),
        "first_layer": [
            f'"{one.tensor}": {expression_text(one.first, names)},'
            for one in module.functions
            if one.first != ZERO
        ],
        "recursions": "\n\n\n".join([*texts.functions(), *texts.of_depths()]),
        **_depths(module),
        "by_function": [f'"{key}": {_functions(module, key, brought)},' for key in module.keys],
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


def activations(module: KernelModule, brought: Activation | None) -> str:
    """The functions that the layer names, behind that which is brought along."""
    parts = [] if brought is None else [jax_activation(brought, module.derivatives)]
    named = [name for name in module.function_names if name != GIVEN]
    parts += [jax_activation(activation(name), module.derivatives, name) for name in named]
    return "\n\n\n".join(parts)


def _functions(module: KernelModule, key: str, brought: Activation | None) -> str:
    """The functions of a field with their derivatives, in one list."""
    given = template.GIVEN.format(count="DERIVATIVES + 1") if brought is None else "ACTIVATION"
    parts = [given if name == GIVEN else name.upper() for name in key.split()]
    return parts[0] if len(parts) == 1 else f"joined({module.stride}, {', '.join(parts)})"
