"""What fills the template of a kernel for one input through layers of several fields."""

from __future__ import annotations

from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.depth_tables import depth_rows, functions_read, is_noise
from symdlt.kernels.generator.python.layout import bracketed, filled
from symdlt.kernels.generator.python.one_input import Data
from symdlt.kernels.generator.python.one_input_fields import FieldTemplates, FieldTexts
from symdlt.kernels.generator.python.printer import expression_text
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.named_functions import listed

_REFUSALS = ("refuse_many_pairs(depth, len(DEPTHS.joint))", 'refuse_unequal(layers["r"])')
_TEMPLATES = FieldTemplates(
    "np",
    template.MEANS_ONE,
    "c_{0} = {0} - centre * ({0} @ weights)[..., None]",
    template.VARIANCE_ONE,
    template.RECURSION_FIELDS_ONE,
    template.ROW_FIELD_ONE,
)


def data_of_one_with_fields(module: KernelModule) -> Data:
    """What the template asks for, apart from what all kernels have."""
    arguments = [f"{name}: float" for name in ("overlap", *module.names)]
    texts, sums = FieldTexts(module, _TEMPLATES), module.sums
    given = {key: listed(module, key, "activation", "DERIVATIVES + 1") for key in module.keys}
    counted = len(module.functions) + sum(map(len, texts.listed.values()))
    return texts.shared_data() | {
        "arrays": str(23 + counted),
        "first_layer_head": bracketed("def first_layer(", arguments, ") -> dict[str, float]:"),
        "first_layer": [
            f'"{one.tensor}": {expression_text(one.first, {})},'
            for one in module.functions
            if one.first != ZERO
        ],
        "recursions": "\n\n\n".join([*texts.functions(), *texts.of_depths()]),
        "by_function": [f'"{key}": {code},' for key, code in given.items()],
        "depths_table": depths_table(module),
        "tensors": "RECURSIONS, *SUMS" if sums else "RECURSIONS",
        "equal": _REFUSALS if sums else "",
        "skips": f"result |= depths_of_one(DEPTHS, {functions_read(module)}, result, m, h)"
        if sums
        else "",
    }


def depths_table(module: KernelModule) -> str:
    """What a skip adds, by names."""
    if module.depths is None:
        return ""
    noises = [
        f'"{one.tensor}": {one.tensor in module.depths.observed},'
        for one in module.depths.states
        if is_noise(one)
    ]
    return filled(template.DEPTHS_ONE, noises=noises, **depth_rows(module, module.depths))
