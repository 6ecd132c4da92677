"""What files of kernels have in common in all targets written in Python."""

from __future__ import annotations

import io
import re
from token import NAME
from tokenize import generate_tokens

from symdlt.errors import KernelError
from symdlt.kernels.generator.python.layout import (
    example_lines,
    filled,
    given_by_name,
    quoted,
    tuple_behind,
)
from symdlt.kernels.generator.python.linking import imported, linked
from symdlt.kernels.generator.python.one_input import Data
from symdlt.kernels.generator.representation import KernelModule

FILE = '''\
"""$banner

$provenance

$notation

$example
"""

$imports

$body
'''


def file_text(imports: str, body: str, standalone: bool, **head: str) -> str:
    """The whole file, which brings along all that its body reads, or imports it."""
    if standalone:
        imports, definitions = linked(imports, body)
        lead = "\n" * definitions.startswith(("def ", "class ", "@"))
        body = f"{lead}{definitions}\n\n\n{body}"
    else:
        imports = imported(imports, body)
    return filled(FILE, imports=imports, body=body, **head) + "\n"


def parameters_of(module: KernelModule, assigned: bool) -> Data:
    """The hyperparameters of a kernel, given by name in an assignment or as an argument."""
    return {
        "names": tuple_behind("HYPERPARAMETERS = ", quoted(module.names)),
        "parameters": [f"{p.name}: PerLayer{p.default}," for p in module.parameters],
        "meanings": [f"{p.name}: {p.meaning}" for p in module.parameters],
        "given": given_by_name(module.names, assigned),
    }


def example_text(module: KernelModule, template: str, **values: str) -> str:
    """An example of a call, with all hyperparameters that have to be given or occur."""
    rates = any(not p.required and p.name in module.hyperparameters for p in module.parameters)
    given = [f"{p.name}={p.example}" for p in module.parameters if p.required or rates]
    return example_lines(filled(template, hyperparameters=", ".join(given), **values))


def refuse_names(module: KernelModule, library: str, *templates: str) -> None:
    """Refuse symbols of a layer that the code of a kernel, its templates, uses otherwise."""
    text = "".join(templates).replace("$", "")
    tokens = generate_tokens(io.StringIO(text).readline)
    taken = {token.string for token in tokens if token.type == NAME}
    for name in module.names:
        if name in taken or re.fullmatch(r"x\d+|s\d+|_.*", name):
            raise KernelError(
                f"The symbol {name} of the layer {module.layer} cannot be a parameter of a "
                f"{library} kernel. Its code uses this name. Call the symbol otherwise in the "
                "layer."
            )
