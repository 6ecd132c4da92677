"""A kernel as a JAX module."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from token import NAME
from tokenize import generate_tokens

from symdlt.activations import Activation
from symdlt.errors import KernelError
from symdlt.kernels.generator.layer_lowering import GIVEN
from symdlt.kernels.generator.python.layout import (
    example_lines,
    filled,
    given_by_name,
    quoted,
    tuple_behind,
)
from symdlt.kernels.generator.python.linking import linked
from symdlt.kernels.generator.python.notation import notation_of_fields
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.jax_target import template
from symdlt.kernels.jax_target.activations import jax_activation
from symdlt.kernels.jax_target.many_inputs_text import data_of_many, pair_means
from symdlt.kernels.jax_target.one_input_fields_text import data_of_one_with_fields
from symdlt.kernels.jax_target.one_input_text import data_of_one

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
    shared: dict[str, str | Iterable[str]] = {
        "names": f"HYPERPARAMETERS = {tuple_behind('HYPERPARAMETERS = ', quoted(module.names))}",
        "parameters": [f"{p.name}: PerLayer{p.default}," for p in module.parameters],
        "meanings": [f"{p.name}: {p.meaning}" for p in module.parameters],
        "given": given_by_name(module.names, True),
        "argument": template.GIVEN_ARGUMENT if activation is None else "",
        "activation_meaning": template.GIVEN_MEANING if activation is None else "",
    }
    several = module.several
    if module.inputs == "many":
        body = _many(module, activation, shared)
    else:
        body = (_one_with_fields if several else _one)(module, activation, shared)
    plain = template.NOTATION_ONE if module.inputs == "one" else template.NOTATION_MANY
    notation = notation_of_fields(module) if several else plain
    imports, definitions = linked(template.IMPORTS, body)
    lead = "\n" * definitions.startswith(("def ", "class ", "@"))
    text = filled(
        template.MODULE,
        banner=banner,
        provenance=provenance,
        notation=notation,
        use=template.USE,
        example=_example(module, activation),
        imports=imports,
        body=f"{lead}{definitions}\n\n\n{body}",
    )
    return f"{text}\n"


def _one(
    module: KernelModule, activation: Activation | None, shared: dict[str, str | Iterable[str]]
) -> str:
    brought = "" if activation is None else jax_activation(activation, module.derivatives)
    given = template.GIVEN.format(count="DERIVATIVES + 1")
    return filled(
        template.BODY_ONE,
        **shared,
        **data_of_one(module),
        derivatives=str(module.derivatives),
        activation=brought,
        functions_line=f"functions = {'ACTIVATION' if brought else given}",
        rule="nodes, weights",
        equal="",
        returned=template.RETURNED,
        means_of_layer=template.MEANS_OF_LAYER,
        metric_read="h, s, weights",
    )


def _one_with_fields(
    module: KernelModule, activation: Activation | None, shared: dict[str, str | Iterable[str]]
) -> str:
    data = data_of_one_with_fields(module, activation)
    return filled(
        template.BODY_FIELDS_ONE,
        **shared,
        **{name: value for name, value in data.items() if name != "by_function"},
        functions_line=filled(template.BY_FUNCTION, by_function=data["by_function"]),
        rule="rule",
        means_of_layer=template.MEANS_OF_FIELDS,
        metric_read="h, m, below",
    )


def _many(
    module: KernelModule,
    activation: Activation | None,
    shared: dict[str, str | Iterable[str]],
) -> str:
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
        fields = template.BODY_FIELDS_ONE, template.VALUE_FIELD
    if module.depths is not None:
        fields = *fields, template.DEPTHS_ONE, template.RETURNED_WITH_DEPTHS
    bodies = {
        "one": (template.BODY_ONE, template.RECURSION_ONE, *fields),
        "many": (template.BODY_MANY, template.RECURSION_MANY, template.SERIES_RULE, *fields),
    }
    text = template.IMPORTS + "".join(bodies[module.inputs])
    tokens = generate_tokens(io.StringIO(text.replace("$", "")).readline)
    taken = {token.string for token in tokens if token.type == NAME}
    for name in module.names:
        if name in taken or re.fullmatch(r"x\d+|s\d+|_.*", name):
            raise KernelError(
                f"The symbol {name} of the layer {module.layer} cannot be a parameter of a JAX "
                "kernel. Its code uses this name. Call the symbol otherwise in the layer."
            )


def _example(module: KernelModule, activation: Activation | None) -> str:
    rates = any(not p.required and p.name in module.hyperparameters for p in module.parameters)
    given = [f"{p.name}={p.example}" for p in module.parameters if p.required or rates]
    first = "" if activation is not None else "jnp.tanh, "
    text = template.EXAMPLE_ONE if module.inputs == "one" else template.EXAMPLE_MANY
    return example_lines(filled(text, first=first, hyperparameters=", ".join(given)))
