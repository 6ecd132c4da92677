"""Moved to `symdlt.kernels.numpy_target.printer`; here until activations have moved as well."""

import textwrap

from symdlt.kernels.generator.expressions import Expression
from symdlt.kernels.numpy_target import printer
from symdlt.kernels.numpy_target.layout import INSIDE
from symdlt.kernels.numpy_target.printer import expression_text as expression_text


def assignment(target: str, expression: Expression, names: printer.Names) -> list[str]:
    """The lines that assign an expression to a name, in the body of a function."""
    text = printer.assignment(target, expression, names, INSIDE)
    return textwrap.indent(text, "    ").splitlines()
