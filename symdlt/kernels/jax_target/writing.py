"""A kernel as a JAX module."""

from __future__ import annotations

from collections.abc import Sequence

from symdlt.activations import Activation
from symdlt.kernels.generator.layer_lowering import GIVEN
from symdlt.kernels.generator.python.files import (
    example_text,
    file_text,
    parameters_of,
    refuse_names,
)
from symdlt.kernels.generator.python.layout import filled
from symdlt.kernels.generator.python.notation import ONE_INPUT, notation_of_fields
from symdlt.kernels.generator.python.one_input import INTEGRANDS, RECURSION, Data
from symdlt.kernels.generator.python.one_input_fields import VALUE
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.jax_target import template
from symdlt.kernels.jax_target.many_inputs_text import data_of_many, pair_means
from symdlt.kernels.jax_target.one_input_text import data_of_fields, data_of_one

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
        activation: what it brings along as ACTIVATION, or as closed forms, if anything.
        kinks: positions and jumps of that.
        standalone: whether the file brings all its definitions along; it always does.

    Raises:
        KernelError: for symbols that its code uses otherwise, and means that it does not have.
        ActivationError: for an activation that is not finite.
    """
    _refuse_names(module)
    shared = parameters_of(module, True) | {
        "argument": template.GIVEN_ARGUMENT if activation is None else "",
        "activation_meaning": template.GIVEN_MEANING if activation is None else "",
    }
    example, notation = template.EXAMPLE_ONE, ONE_INPUT
    if module.inputs == "many":
        body = _many(module, activation, shared)
        example, notation = template.EXAMPLE_MANY, template.NOTATION_MANY
    else:
        several = template.BODY_FIELDS_ONE, data_of_fields
        text, data = several if module.several else (template.BODY_ONE, data_of_one)
        body = filled(text, **shared, **data(module, activation))
    if module.several:
        notation = notation_of_fields(module)
    return file_text(
        template.IMPORTS,
        body,
        True,
        banner=banner,
        provenance=provenance,
        notation=f"{notation}\n{template.USE}",
        example=example_text(module, example, first="jnp.tanh, " * (activation is None)),
    )


def _many(module: KernelModule, activation: Activation | None, shared: Data) -> str:
    data = data_of_many(module)  # which refuses what has no such means
    means = pair_means(module, activation)
    series = [one for one in means.values() if not one.closed]
    parts = dict.fromkeys(("series_error", "rule", "rule_meaning"), "")
    if series:
        given = module.several or activation is None
        argument, meaning = template.GIVEN_ARGUMENT, template.GIVEN_MEANING
        parts["series_error"] = filled(
            template.SERIES_ERROR,
            functions=template.GIVEN.format(count=2) if given else series[0].functions,
            argument=argument if given else "",
            activation_meaning=meaning if given else "",
        )
        parts |= {"rule": template.SERIES_RULE, "rule_meaning": template.SERIES_MEANING}
    if module.several:
        rows = [f'"{name}": {one.call},' for name, one in means.items()]
        parts["make_means"] = filled(template.MEANS_PAIRS, by_function=rows)
    else:
        parts["make_means"] = f"means = {means[GIVEN].call}"
    return filled(
        template.BODY_MANY,
        **shared,
        **data,
        **parts,
        method=template.SERIES_METHOD if series else template.CLOSED_METHOD,
        symmetric="False" if series else "variances is None",
        activation="\n\n\n".join(one.code for one in means.values() if one.code),
    )


def _refuse_names(module: KernelModule) -> None:
    """Refuse symbols of a layer that the code of a kernel uses for something else."""
    fields: tuple[str, ...] = ()
    if module.several and module.inputs == "many":
        fields = tuple(template.THROUGH_FIELDS.values())
    elif module.several:
        fields = template.BODY_FIELDS_ONE, VALUE
    if module.depths is not None:
        fields = *fields, template.DEPTHS_ONE, template.RETURNED_WITH_DEPTHS
    bodies = {
        "one": (template.BODY_ONE, INTEGRANDS, RECURSION),
        "many": (template.BODY_MANY, template.RECURSION_MANY, template.SERIES_RULE),
    }
    refuse_names(module, "JAX", template.IMPORTS, *bodies[module.inputs], *fields)
