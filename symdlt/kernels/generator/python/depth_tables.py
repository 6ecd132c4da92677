"""What a skip adds to a kernel, as rows of tables, in any target written in Python."""

from __future__ import annotations

from symdlt.kernels.generator.python.layout import INSIDE, bracketed, tuple_items
from symdlt.kernels.generator.python.one_input import Data
from symdlt.kernels.generator.representation import DepthFunctions, KernelModule, TensorFunction

NOISE = "Y_"  # how names of covariances with noise begin


def is_noise(state: TensorFunction) -> bool:
    """Whether a state is a covariance with noise, which each later layer has."""
    return state.tensor.startswith(NOISE)


def kept_told(one: TensorFunction) -> str:
    """What goes on from layer to layer."""
    of = "NTK" if one.tensor[0] == "H" else "covariance"
    return f"The {of} of z of layer m+1 with z of an earlier layer l"


def depth_field(depths: DepthFunctions) -> Data:
    """The arguments that say what later layers read functions of, if not of z."""
    return {
        "field": "" if depths.field == "z" else f'field="{depths.field}",',
        "scale": f'scale="{depths.scale}",' if depths.scale else "",
    }


def depth_rows(module: KernelModule, depths: DepthFunctions) -> Data:
    """The rows of all tables for one input, but for those of noise."""
    joint = {both for one in depths.states for both in one.later_means if both[0]}
    return {
        "states": [f'"{one.tensor}": advance_{one.variable},' for one in depths.states],
        "joint": bracketed("joint=(", tuple_items(map(str, sorted(joint))), "),", INSIDE),
        "sums": [f'"{one.tensor}": advance_{one.variable.lower()},' for one in module.sums],
        "kept": [f'"{one.tensor}": keep_{one.variable},' for one in depths.kept],
        **depth_field(depths),
    }


def functions_read(module: KernelModule) -> str:
    """The functions that later layers read, as code."""
    depths = module.depths
    read = [one for one in module.fields if depths and one.name == depths.field and one.functions]
    return f'functions["{read[0].key}"]' if read else "()"
