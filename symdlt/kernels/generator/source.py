"""Kernels as source text, with their provenance."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from keyword import iskeyword
from pkgutil import iter_modules
from reprlib import repr as short_repr
from shlex import quote
from types import ModuleType

from symdlt._version import VERSION
from symdlt.activations import Activation
from symdlt.activations import activation as activation_of
from symdlt.activations.activation import kinks_of
from symdlt.definitions import BOOK, DENSE, Correlator, Layer, Stack, read_layer_definition
from symdlt.derivation import RecursionSystem, derive_system
from symdlt.derivation.response.symbolic.closed_systems import LayerSystem
from symdlt.errors import KernelError, LayerError, require
from symdlt.formats import to_dict
from symdlt.kernels.generator.layer_lowering import lower_layer
from symdlt.kernels.generator.lowering import lower
from symdlt.kernels.generator.representation import KernelModule

KERNEL_SCHEMA = 1  # raised when a kernel is called otherwise than before
TARGET = "numpy"
LONGEST = 88  # letters of a command behind "Regenerate: " in 100 columns
FORMS = {"one": "z", "many": "derivative"}


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A generated module that computes tensors layer by layer, with nothing but NumPy or JAX.

    Attributes:
        name: the name of the module.
        text: its source.
        digest: SHA-256 of the canonical recursions it was generated from.
        tensors: the names of the tensors it computes.
        derivatives: how many derivatives of the activation it needs.
        suffix: of its file.

    >>> from symdlt.derivation import derive_system
    >>> source = generate_kernel(derive_system(["V"], inputs="one", form="z"), name="vertex")
    >>> source  # doctest: +ELLIPSIS
    KernelSource(vertex, tensors=G V, derivatives=2, digest=...)
    """

    name: str
    text: str
    digest: str
    tensors: tuple[str, ...]
    derivatives: int
    suffix: str = ".py"

    def __repr__(self) -> str:
        names = " ".join(self.tensors)
        shown = names if len(names) < 60 else f"{len(self.tensors)} of them"
        return (
            f"KernelSource({self.name}, tensors={shown}, derivatives={self.derivatives}, "
            f"digest={self.digest[:12]})"
        )

    def __str__(self) -> str:
        return self.text

    @property
    def file_name(self) -> str:
        """The file it belongs in."""
        return f"{self.name}{self.suffix}"


def generate_kernel(
    system: RecursionSystem | LayerSystem,
    *,
    activation: object = None,
    name: str,
    standalone: bool = True,
    target: str = TARGET,
) -> KernelSource:
    r"""Generate the module that iterates a closed system.

    For one input the tensors beyond the kernel K obey
    $X^{(\ell+1)} = g^{(\ell)} X^{(\ell)} + s^{(\ell)}$, so that only K is iterated through the
    Gaussian means; the rest is array arithmetic over layers. For many inputs every layer takes a
    table of means over pairs and quadruples of samples, and each tensor is computed where its
    symmetries leave it independent.

    Args:
        system: from `derive_system(...)`: for many inputs in the derivative form, for one in
            either. The z form gives the shorter kernel there; its inserted z's are evaluated as
            derivatives. Of a layer of several streams, from `layer_system`.
        activation: a name, a text, a SymPy expression, or an `Activation` that the module shall
            bring along as ACTIVATION. Without it any activation is given to its functions.
        name: the name of the module.
        standalone: whether it needs nothing but NumPy; otherwise it imports what kernels share.
            Those in JAX always stand alone.
        target: what it is written for, "numpy" or "jax": one of the folders `…_target` of
            `symdlt.kernels`.

    Raises:
        LayerError: for a layer that reads anything but s(z).
        KernelError: for a name that is no identifier or a system that is not closed, not linear,
            or needs means over more than four samples.
        ActivationError: for an activation that cannot be read or differentiated.

    >>> from symdlt.derivation import derive_system
    >>> source = generate_kernel(derive_system(["F"], inputs="one", form="z"), name="f")
    >>> "gain = h.r * m.chi_parallel**2" in source.text
    True
    """
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise KernelError(
            f"{short_repr(name)} cannot name a module. The kernel would be written to a file of "
            "that name. Use letters, digits and underscores, as in single_input."
        )
    advice = "Give what `derive_system` returns."
    require(system, RecursionSystem | LayerSystem, "a system of recursions", advice)
    digest = sha256(canonical_text(system).encode()).hexdigest()
    schema = f"kernel schema {KERNEL_SCHEMA}"
    banner = f"Generated by symdlt {VERSION} ({schema}) — do not edit."
    module = lower_layer(system) if isinstance(system, LayerSystem) else lower(system)
    brought = None if activation is None else activation_of(activation)
    if named := _named(module) if "s" not in module.function_names else {}:
        module, brought = _with_first_named(module, named, brought)
    kinks = () if brought is None else kinks_of(brought)
    for function in {"s": brought, **_named(module)}.items():
        _refuse_kinks(module, *function)
    writing = _writing(target)
    file = f"{name}{writing.SUFFIX}"
    head = _provenance(system, module, brought, file, digest, standalone, target)
    text = writing.module_text(module, banner, head, brought, kinks, standalone)
    return KernelSource(name, text, digest, system.names, module.derivatives, writing.SUFFIX)


def _writing(target: str) -> ModuleType:
    """The module of a target that writes kernels; each target is a folder of its own."""
    folders = iter_modules(import_module("symdlt.kernels").__path__)
    targets = {folder.name.removesuffix("_target"): folder.name for folder in folders}
    targets = {name: folder for name, folder in targets.items() if name != folder}
    if not isinstance(target, str) or target not in targets:
        raise KernelError(
            f"{short_repr(target)} is no target of kernels. They are written for "
            f"{', '.join(sorted(targets))}. Choose one of these."
        )
    return import_module(f"symdlt.kernels.{targets[target]}.writing")


def _named(module: KernelModule) -> dict[str, Activation]:
    """The functions that the text of a layer names."""
    return {name: activation_of(name) for name in module.function_names if name != "s"}


def _with_first_named(
    module: KernelModule, named: Mapping[str, Activation], brought: Activation | None
) -> tuple[KernelModule, Activation]:
    """A kernel of a layer without s, which brings its first function as its activation."""
    if brought is not None:
        raise KernelError(
            f"The layer {module.layer} reads no s. The activation {brought.name or brought.text} "
            "was given for it. Leave it out, or write s in the layer."
        )
    first = next(iter(named))
    fields = tuple(
        replace(field, functions=tuple("s" if f == first else f for f in field.functions))
        for field in module.fields
    )
    return replace(module, fields=fields), named[first]


def _refuse_kinks(module: KernelModule, function: str, activation: Activation | None) -> None:
    """Refuse kinks for one input, and tensors whose means they make infinite."""
    kinks = () if activation is None else kinks_of(activation)
    if activation is None or not kinks:
        return
    text = activation.name or activation.text
    if module.inputs == "one":
        raise KernelError(
            f"The activation {text} has kinks. Kernels for one input take smooth activations. "
            'Generate one for many inputs (inputs="many", --inputs many).'
        )
    joined = any(function in key.split() for key in module.keys if " " in key)
    if joined or module.has_odd_means(function):
        raise KernelError(
            f"The activation {text} has kinks, and the layer {module.layer} needs means of an odd "
            "number of functions, or joins it with another function. Kernel files take those of "
            "smooth activations. Ask `propagate` of a `Network` of such layers."
        )
    import numpy as np

    from symdlt.means import has_infinite_mean, has_infinite_pair

    jumps = np.array([row for _, row in kinks])
    bad = [
        name
        for name, means in module.means_by(function).items()
        if any(len(orders) == 4 and has_infinite_mean(jumps, orders) for orders in means)
        or has_infinite_pair(jumps, means)
    ]
    if bad:
        raise KernelError(
            f"{' '.join(bad)} of {text} cannot be had: it has kinks, and where samples meet, "
            "means have products or derivatives of delta functions. Name other tensors, or write "
            "what is multiplied at one field as one activation."
        )


def kernel_for(
    tensors: Iterable[str | Correlator] = tuple(BOOK),
    *,
    inputs: str = "many",
    layer: str | Layer | Stack = DENSE,
    activation: object = None,
    name: str = "kernel",
    standalone: bool = True,
    target: str = TARGET,
) -> KernelSource:
    """Derive the recursions of the tensors and generate their kernel.

    Args:
        tensors: names or correlators, the thirteen of the book if left out.
        inputs: "one" (all layers at once) or "many".
        layer: how layer ℓ+1 is made of layer ℓ; its symbols are the kernel's parameters.
        activation: as for `generate_kernel`.
        name: the name of the module.
        standalone: as for `generate_kernel`.
        target: as for `generate_kernel`.

    Raises:
        KernelError: if `inputs` is neither, or as `generate_kernel` does.

    >>> kernel_for(["U"])
    KernelSource(kernel, tensors=G H U, derivatives=2, digest=aab957f26874)
    """
    if inputs not in FORMS:
        raise KernelError(
            f"inputs={short_repr(inputs)} is not known. A kernel is for 'one' input, all layers "
            "at once, or for 'many'. Choose one of these."
        )
    definition = read_layer_definition(layer)
    system: RecursionSystem | LayerSystem
    if isinstance(definition, Stack) or not definition.closes or _reads_more(definition):
        from symdlt.derivation.response.symbolic.layer_systems import layer_system

        system = layer_system(tensors, definition, inputs)
    else:
        system = derive_system(tensors, inputs=inputs, form=FORMS[inputs], layer=definition)
    return generate_kernel(
        system, activation=activation, name=name, standalone=standalone, target=target
    )


def _reads_more(layer: Layer) -> bool:
    """Whether weights of a layer read z itself, or a derivative of s, next to s(z)."""
    read = [branch for branch in layer.branches if branch.summed]
    return layer.closes and any(branch.order != 0 for branch in read)


def canonical_text(system: RecursionSystem | LayerSystem) -> str:
    """The recursions as text that depends on what they say alone: one JSON object a line."""
    if isinstance(system, LayerSystem):
        return system.canonical_text
    lines = []
    for recursion in system:
        # a digest names the recursion, not the schema: 1 is the version that digests began with
        # the terms have the symbols of the layer, whose laws and rates may have no short form
        layer = recursion.layer if recursion.layer.short_form else DENSE
        data = to_dict(replace(recursion, layer=layer)) | {"version": 1}
        for term in (*data["terms"], *data["first_layer"]):
            del term["provenance"]
        lines.append(json.dumps(data, sort_keys=True, separators=(",", ":")))
    return "\n".join(lines)


def _is_written(layer: Layer | Stack) -> bool:
    """Whether its text says all of a layer; else it has laws, rates or neurons of its own."""
    try:
        return read_layer_definition(str(layer)) == layer
    except LayerError:
        return False


def _provenance(
    system: RecursionSystem | LayerSystem,
    module: KernelModule,
    brought: Activation | None,
    file: str,
    digest: str,
    standalone: bool,
    target: str,
) -> str:
    names = [re.sub(r"\s", "", name) for name in system.names]
    shown = " ".join(names) if len(names) <= 16 else f"{len(names)} tensors, see RECURSIONS"
    corrections = " ".join(name for name in names if "." in name)
    kept = f"leading, and the pieces {corrections}" if corrections else "leading"
    forms, usual = "derivative", True
    if isinstance(system, RecursionSystem):
        forms = " ".join(sorted({recursion.form for recursion in system}))
        usual = forms == FORMS[module.inputs]
    listed = " ".join(names) if len(" ".join(names)) < 50 else "with the tensors of RECURSIONS"
    activation = "" if brought is None else brought.name or brought.text
    option = f" --activation {quote(activation)}" if activation else ""
    recipe = f"symdlt kernel {listed} --inputs {module.inputs}{option} -o {file}"
    if target != TARGET:
        recipe += f" --target {target}"
    if module.layer != DENSE:
        recipe += f" --layer {quote(str(module.layer))}"
    if not usual or not _is_written(module.layer):
        recipe = "symdlt.kernels.generate_kernel"
    count = len(module.means)
    number, means = {
        "one": ("single input", f"means by the trapezoidal rule, {count} of them"),
        "many": ("many inputs", f"{count} tables of means"),
    }[module.inputs]
    again = "(symdlt regenerate in a checkout, for the kernels that are kept there)"
    if not standalone:
        recipe, again = "symdlt regenerate in a checkout; a file that needs NumPy alone:", recipe
    if len(recipe) > LONGEST:
        recipe = recipe.replace(" --layer ", "\n            --layer ")
    lines = [
        f"Tensors:    {shown}",
        f"Recursions: {number}, {forms} form, SHA-256 of their canonical text",
        f"            {digest}",
        f"Order kept: {kept} in 1/n",
        f"Options:    {means}; {module.derivatives} derivatives of the activation",
        f"Regenerate: {recipe}",
        f"            {again}",
        "Reading:    the recursions begin at first_layer, after what takes their means; propagate",
        "            stands at the end.",
    ]
    if activation:
        lines.insert(4, f"Activation: {activation}, with its derivatives in ACTIVATION")
    if module.layer != DENSE:
        lines.insert(1, f"Layer:      {module.layer}")
    return "\n".join(lines)
