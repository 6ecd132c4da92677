"""A kernel as a NumPy module."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pprint import pformat

from symdlt.activations import Activation
from symdlt.kernels import activation_source
from symdlt.kernels.generator.python.files import (
    example_text,
    file_text,
    parameters_of,
    refuse_names,
)
from symdlt.kernels.generator.python.layout import filled, quoted, tuple_behind, tuple_text
from symdlt.kernels.generator.python.notation import ONE_INPUT, notation_of_fields
from symdlt.kernels.generator.python.one_input import INTEGRANDS, RECURSION
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.many_inputs_text import data_of_many, example_shape
from symdlt.kernels.numpy_target.named_functions import (
    by_function,
    constant_places,
    named_source,
)
from symdlt.kernels.numpy_target.one_input_text import data_of_fields, data_of_one

SUFFIX = ".py"


def module_text(
    module: KernelModule,
    banner: str,
    provenance: str,
    activation: Activation | None,
    kinks: Sequence[tuple[float, tuple[float, ...]]],
    standalone: bool,
) -> str:
    """The whole file.

    Args:
        module: what it computes.
        banner: the first line.
        provenance: where it comes from, as text of the module's docstring.
        activation: what it brings along as ACTIVATION, if anything.
        kinks: positions and jumps of that, which it brings along as KINKS.
        standalone: whether the file brings all its definitions along, or imports them.
    """
    _refuse_names(module)
    positive = (p.name for p in module.parameters if p.role in ("variance", "ratio"))
    brought = "" if activation is None else _activation(activation, module.derivatives)
    shared = parameters_of(module, module.inputs == "one") | {
        "derivatives": str(module.derivatives),
        "variances": tuple_behind("VARIANCES = ", quoted(positive)),
        "activation": named_source(module, brought),
        "kinks": ["KINKS = (", *(f"    {kink!r}," for kink in kinks), ")"] if kinks else "",
    }
    notation = ONE_INPUT if module.inputs == "one" else template.NOTATION_MANY
    if module.several:
        notation = notation_of_fields(module)
    if module.inputs == "one":
        several = template.BODY_FIELDS_ONE, data_of_fields
        text, data = several if module.several else (template.BODY_ONE, data_of_one)
        body = filled(text, **shared, **data(module))
    else:
        odd = module.has_odd_means("s")
        family = None if activation is None or odd else activation.closed_family()
        means = template.MEANS_KINKED if kinks else template.MEANS_SMOOTH
        if family is not None:
            means = template.MEANS_CLOSED
            shown = pformat(family, width=88).replace("'", '"')
            shared["kinks"] = f"FAMILY = {shown}".replace("\n", "\n" + " " * 9)
        advance = _advance(module, template.MEANS_ODD if odd else means)
        body = filled(template.BODY_MANY, **shared, **data_of_many(module), advance=advance)
    return file_text(
        template.IMPORTS,
        body,
        standalone,
        banner=banner,
        provenance=provenance,
        notation=notation,
        example=_example(module, activation is not None),
    )


def _advance(module: KernelModule, means: str) -> str:
    """How layers follow each other, with means at z alone or at several fields."""
    fields, depths, positions = module.fields, module.depths, module.positions
    if positions is not None:
        layers = template.DEPTHS_WITH_POSITIONS if depths else template.LAYERS_WITH_POSITIONS
    elif depths is not None:
        layers = template.LAYERS_WITH_DEPTHS
    else:
        layers = template.LAYERS_OF_FIELDS if fields else template.LAYERS
    layer_means = template.LAYER_MEANS if fields else template.LINEAR_MEANS
    if positions is None and depths is None:
        layer_means = template.NAMED_MEANS if fields else ""
    functions = {"by_function": by_function(module), "ones": constant_places(module)}
    return filled(
        template.ADVANCE,
        taken=filled(template.TAKEN, means=means) if fields or positions is None else "",
        by_function=filled(template.BY_FUNCTION, **functions) if fields else "",
        layer_means=layer_means,
        layers=layers,
    )


def _refuse_names(module: KernelModule) -> None:
    """Refuse symbols of a layer that the code of a kernel uses for something else."""
    templates = [template.IMPORTS]
    if module.inputs == "one":
        templates += [template.BODY_ONE, INTEGRANDS, RECURSION]
    else:
        templates += [template.BODY_MANY, template.RECURSION_MANY, template.TAKEN]
    if module.several:
        templates += [template.BY_FUNCTION, template.NAMED_MEANS, template.BODY_FIELDS_ONE]
    if module.depths is not None:
        templates += [template.LAYER_MEANS, template.DEPTHS, template.DEPTHS_ONE]
    if module.positions is not None:
        templates += [template.LAYER_MEANS, template.PARTS]
        templates += [template.POSITIONS["choice"], template.POSITIONS["positions"]]
    refuse_names(module, "NumPy", *(f"{text}\n" for text in templates))


def _activation(activation: Activation, derivatives: int) -> str:
    functions = tuple_text(f"s{order}" for order in range(derivatives + 1))
    return f"{activation_source(activation, derivatives)}\n\nACTIVATION = {functions}"


def _example(module: KernelModule, brought: bool) -> str:
    if module.inputs == "one":
        count = str(module.derivatives + 1)
        return example_text(module, template.EXAMPLE_ONE, sine=template.SINE, count=count)
    sine, functions = ("", "ACTIVATION") if brought else (template.SINE, "2 * sine")
    text, values = template.EXAMPLE_MANY, {"sine": sine, "functions": functions}
    if module.positions is not None:
        text, shape = template.EXAMPLE_POSITIONS, example_shape(module.positions)
        values |= {"shape": str(shape), "numbers": str(prod(shape))}
    return example_text(module, text, **values)
