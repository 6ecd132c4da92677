"""A kernel as a NumPy module."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pprint import pformat
from token import NAME
from tokenize import generate_tokens

from symdlt.activations import Activation
from symdlt.errors import KernelError
from symdlt.kernels import activation_source
from symdlt.kernels.generator.python.layout import (
    example_lines,
    filled,
    given_by_name,
    quoted,
    tuple_behind,
    tuple_text,
)
from symdlt.kernels.generator.python.linking import imported, linked
from symdlt.kernels.generator.python.notation import notation_of_fields
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.many_inputs_text import data_of_many
from symdlt.kernels.numpy_target.named_functions import (
    by_function,
    constant_places,
    named_source,
)
from symdlt.kernels.numpy_target.one_input_fields_text import data_of_one_with_fields
from symdlt.kernels.numpy_target.one_input_text import data_of_one
from symdlt.kernels.numpy_target.positions_text import example_with_positions

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
    variances = quoted(positive)
    shared = {
        "derivatives": str(module.derivatives),
        "names": tuple_behind("HYPERPARAMETERS = ", quoted(module.names)),
        "variances": tuple_behind("VARIANCES = ", variances),
        "activation": named_source(
            module, "" if activation is None else _activation(activation, module.derivatives)
        ),
        "kinks": ["KINKS = (", *(f"    {kink!r}," for kink in kinks), ")"] if kinks else "",
        "parameters": [f"{p.name}: PerLayer{p.default}," for p in module.parameters],
        "meanings": [f"{p.name}: {p.meaning}" for p in module.parameters],
        "given": given_by_name(module.names, module.inputs == "one"),
    }
    if module.inputs == "one" and module.several:
        notation = notation_of_fields(module)
        body = filled(template.BODY_FIELDS_ONE, **shared, **data_of_one_with_fields(module))
    elif module.inputs == "one":
        notation = template.NOTATION_ONE
        body = filled(template.BODY_ONE, **shared, **data_of_one(module))
    else:
        notation = notation_of_fields(module) if module.several else template.NOTATION_MANY
        odd = module.has_odd_means("s")
        family = None if activation is None or odd else activation.closed_family()
        means = template.MEANS_KINKED if kinks else template.MEANS_SMOOTH
        if family is not None:
            means = template.MEANS_CLOSED
            shown = pformat(family, width=88).replace("'", '"')
            shared["kinks"] = f"FAMILY = {shown}".replace("\n", "\n" + " " * 9)
        means = template.MEANS_ODD if odd else means
        advance = _advance(module, means)
        body = filled(template.BODY_MANY, **shared, **data_of_many(module), advance=advance)
    if standalone:
        imports, definitions = linked(template.IMPORTS, body)
        lead = "\n" * definitions.startswith(("def ", "class ", "@"))
        body = f"{lead}{definitions}\n\n\n{body}"
    else:
        imports = imported(template.IMPORTS, body)
    example = _example(module, activation is not None)
    return (
        filled(
            template.MODULE,
            banner=banner,
            provenance=provenance,
            notation=notation,
            example=example,
            imports=imports,
            body=body,
        )
        + "\n"
    )


def _advance(module: KernelModule, means: str) -> str:
    """How layers follow each other, with means at z alone or at several fields."""
    if module.positions is not None:
        linear, fields = template.ADVANCE_LINEAR_POSITIONS, template.ADVANCE_POSITIONS
        if module.depths is not None:
            linear = template.ADVANCE_LINEAR_DEPTHS_POSITIONS
            fields = template.ADVANCE_DEPTHS_POSITIONS
        if not module.fields:
            return linear
    elif not module.fields:
        plain = template.ADVANCE if module.depths is None else template.ADVANCE_LINEAR
        return filled(plain, taken=means)
    else:
        fields = template.ADVANCE_FIELDS if module.depths is None else template.ADVANCE_DEPTHS
    return filled(
        fields, taken=means, by_function=by_function(module), ones=constant_places(module)
    )


def _refuse_names(module: KernelModule) -> None:
    """Refuse symbols of a layer that the code of a kernel uses for something else."""
    text = template.IMPORTS + {"one": template.BODY_ONE, "many": template.BODY_MANY}[module.inputs]
    text += {"one": template.RECURSION_ONE, "many": template.RECURSION_MANY}[module.inputs]
    if module.several:
        text += template.ADVANCE_FIELDS + template.COVARIANCE + template.BODY_FIELDS_ONE
    if module.depths is not None:
        text += template.ADVANCE_DEPTHS + template.DEPTHS + template.DEPTHS_ONE
    if module.positions is not None:
        text += template.ADVANCE_POSITIONS + template.PARTS
        text += template.POSITIONS["choice"] + template.POSITIONS["positions"]
    tokens = generate_tokens(io.StringIO(text.replace("$", "")).readline)
    taken = {token.string for token in tokens if token.type == NAME}
    for name in module.names:
        if name in taken or re.fullmatch(r"x\d+|s\d+|_.*", name):
            raise KernelError(
                f"The symbol {name} of the layer {module.layer} cannot be a parameter of a NumPy "
                "kernel. Its code uses this name. Call the symbol otherwise in the layer."
            )


def _activation(activation: Activation, derivatives: int) -> str:
    functions = tuple_text(f"s{order}" for order in range(derivatives + 1))
    return f"{activation_source(activation, derivatives)}\n\nACTIVATION = {functions}"


def _example(module: KernelModule, brought: bool) -> str:
    rates = any(not p.required and p.name in module.hyperparameters for p in module.parameters)
    given = [f"{p.name}={p.example}" for p in module.parameters if p.required or rates]
    if module.inputs == "one":
        text = filled(
            template.EXAMPLE_ONE,
            sine=template.SINE,
            count=str(module.derivatives + 1),
            hyperparameters=", ".join(given),
        )
    else:
        sine, functions = ("", "ACTIVATION") if brought else (template.SINE, "2 * sine")
        values = ", ".join(given)
        text = (
            filled(template.EXAMPLE_MANY, sine=sine, functions=functions, hyperparameters=values)
            if module.positions is None
            else example_with_positions(module.positions, functions, values, sine)
        )
    return example_lines(text)
