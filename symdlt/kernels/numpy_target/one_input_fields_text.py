"""What fills the template of a kernel for one input through layers of several fields."""

from __future__ import annotations

from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.layout import (
    INSIDE,
    bracketed,
    filled,
    tuple_items,
)
from symdlt.kernels.generator.python.one_input import Data
from symdlt.kernels.generator.python.one_input_fields import FieldTemplates, FieldTexts
from symdlt.kernels.generator.python.printer import expression_text
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.many_inputs_text import is_noise
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
        "recursions": "\n\n\n".join([*texts.functions(), *_of_depths(module, texts)]),
        "by_function": [f'"{key}": {code},' for key, code in given.items()],
        "depths_table": depths_table(module),
        "tensors": "RECURSIONS, *SUMS" if sums else "RECURSIONS",
        "equal": _REFUSALS if sums else "",
        "skips": _skips(module) if sums else "",
    }


def _skips(module: KernelModule) -> str:
    """The line that takes tensors at all pairs of depths."""
    z = [field for field in module.fields if field.covariance is None]
    functions = f'functions["{z[0].key}"]' if z else "()"
    return f"result |= depths_of_one(DEPTHS, {functions}, result, m, h)"


def depths_table(module: KernelModule) -> str:
    """What a skip adds, by names."""
    if module.depths is None:
        return ""
    depths = module.depths
    joint = {both for one in depths.states for both in one.later_means if both[0]}
    return filled(
        template.DEPTHS_ONE,
        states=[f'"{one.tensor}": advance_{one.variable},' for one in depths.states],
        noises=[
            f'"{one.tensor}": {one.tensor in depths.observed},'
            for one in depths.states
            if is_noise(one)
        ],
        joint=bracketed("joint=(", tuple_items(map(str, sorted(joint))), "),", INSIDE),
        sums=[f'"{one.tensor}": advance_{one.variable.lower()},' for one in module.sums],
        kept=[f'"{one.tensor}": keep_{one.variable},' for one in depths.kept],
    )


def _of_depths(module: KernelModule, texts: FieldTexts) -> list[str]:
    """The functions that a skip adds."""
    if module.depths is None:
        return []
    functions = []
    for one in module.depths.kept:
        of = "NTK" if one.tensor[0] == "H" else "covariance"
        told = f"The {of} of z of layer m+1 with z of an earlier layer l."
        functions.append(texts.value(f"keep_{one.variable}", told, one))
    for one in module.depths.states:
        told = f"{one.tensor} of layer l+1{', for each later layer m' * is_noise(one)}."
        functions.append(texts.value(f"advance_{one.variable}", told, one))
    for one in module.sums:
        told = f"{one.tensor} of a layer, from states of the same layer."
        functions.append(texts.value(f"advance_{one.variable.lower()}", told, one))
    return functions
