"""A text with what it reads of other modules: imports, or the definitions themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from symdlt.errors import KernelError
from symdlt.kernels.generator.python.layout import COLUMNS, bracketed

OURS = "symdlt"

Imports = dict[str, tuple[str, str]]
"""By name: the module, and what stands behind the word import, nothing for the module itself."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A top-level statement of a module, with the names that it defines and reads."""

    module: str
    text: str
    defines: frozenset[str]
    reads: frozenset[str]

    @property
    def spaced(self) -> bool:
        """Whether it is a class or a function, which blank lines surround."""
        return self.text.startswith(("def ", "class ", "@"))


def imported(imports: str, body: str) -> str:
    """The import statements of a text that imports what it reads.

    Args:
        imports: statements; of these, what the body reads and what is offered again, as in
            `import x as x`, are kept.
        body: the text that will stand below.
    """
    return import_text(_kept(imports, body))


def linked(imports: str, body: str) -> tuple[str, str]:
    """The import statements and the definitions of a text that needs no module of ours.

    Args:
        imports: as for `imported`.
        body: the text that will stand below.

    Raises:
        KernelError: if two modules define a name that is needed.

    >>> _, found = linked("from symdlt.means import choose_step", "step = choose_step([], 1.0)")
    >>> "def choose_step" in found, "def pair_means" in found
    (True, False)
    """
    names = _kept(imports, body)
    needed: set[Statement] = set()
    external: Imports = {}
    waiting = list(names.items())
    while waiting:
        name, (module, member) = waiting.pop()
        if not _is_ours(module):
            external[name] = (module, member)
        elif (definition := defined_in(module, member.partition(" ")[0])) not in needed:
            needed.add(definition)
            definitions, below = parts_of(definition.module)
            own = {name for one in definitions for name in one.defines}
            waiting += [(name, (definition.module, name)) for name in definition.reads & own]
            waiting += [(name, below[name]) for name in definition.reads & set(below)]
    modules = _lower_first(module for module, _ in names.values())
    ordered = [one for module in modules for one in parts_of(module)[0] if one in needed]
    owners: dict[str, str] = {}
    for one in ordered:
        for name in one.defines:
            if owners.setdefault(name, one.module) != one.module:
                raise KernelError(
                    f"{name} is defined in {owners[name]} and in {one.module}. A kernel that "
                    "stands alone has all that it reads in one file. Rename one of them."
                )
    return import_text(external), joined(ordered)


def defined_in(module: str, name: str) -> Statement:
    """Where a name that a module defines, or offers again, has its definition.

    Raises:
        KernelError: if it has none that can be copied.
    """
    while _is_ours(module):
        definitions, imports = parts_of(module)
        for one in definitions:
            if name in one.defines:
                return one
        origin, member = imports.get(name, ("", ""))
        if member not in (name, f"{name} as {name}"):
            break
        module = origin
    raise KernelError(
        f"{name} of {module} has no definition that could be copied into a kernel. What kernels "
        "read is imported by its own name. Import it so."
    )


def _kept(imports: str, body: str) -> Imports:
    """Of some imports, what a text reads and what is offered again."""
    names, read = _imports_of(ast.parse(imports).body), _names(ast.parse(body), ast.Load)
    return {
        name: (module, member)
        for name, (module, member) in names.items()
        if name in read or member == f"{name} as {name}"
    }


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == OURS


@cache
def parts_of(module: str) -> tuple[tuple[Statement, ...], Imports]:
    """The top-level statements of a module of ours, which is read and not run, and its imports."""
    spec = find_spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package, _, stem = (f"{module}.__init__" if is_package else module).rpartition(".")
    text = files(package).joinpath(f"{stem}.py").read_text(encoding="utf-8")
    statements, lines = ast.parse(text).body, text.splitlines()
    docstrings_and_imports = ast.Expr | ast.Import | ast.ImportFrom
    return (
        tuple(
            _definition(module, node, lines)
            for node in statements
            if not isinstance(node, docstrings_and_imports)
        ),
        _imports_of(statements),
    )


def _imports_of(statements: Iterable[ast.stmt]) -> Imports:
    names: Imports = {}
    for node in statements:
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name): (a.name, "") for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names |= {(a.asname or a.name): (node.module or "", ast.unparse(a)) for a in node.names}
    return names


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    nodes = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in nodes if isinstance(name.ctx, context)}


def _definition(module: str, node: ast.stmt, lines: list[str]) -> Statement:
    """A statement with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    defines, reads = _names(node, ast.Store), _names(node, ast.Load)
    if isinstance(node, ast.FunctionDef):
        reads -= defines
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        defines = {node.name}
    text = "\n".join(lines[start - 1 : node.end_lineno])
    return Statement(module, text, frozenset(defines), frozenset(reads))


def _lower_first(modules: Iterable[str]) -> list[str]:
    """Modules of ours and all that they import, each after those that it imports."""
    order: dict[str, None] = {}

    def visit(module: str) -> None:
        if _is_ours(module) and module not in order:
            for below, _ in parts_of(module)[1].values():
                visit(below)
            order[module] = None

    for module in sorted(modules):
        visit(module)
    return list(order)


def import_text(names: Imports) -> str:
    """Import statements, sorted: the standard library, NumPy or JAX, and modules of ours."""
    members: dict[str, list[str]] = {}
    lines = []
    for name, (module, member) in names.items():
        if not member:
            lines.append(f"import {module}" + (f" as {name}" if name != module else ""))
        elif " as " in member:
            lines.append(f"from {module} import {member}")
        else:
            members.setdefault(module, []).append(member)
    for module, listed in members.items():
        listed.sort(key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        line = f"from {module} import {', '.join(listed)}"
        long = bracketed(f"from {module} import (", listed, ")", 0)
        lines.append(line if len(line) <= COLUMNS else long)
    groups: list[list[str]] = [["from __future__ import annotations"], [], [], []]
    for line in sorted(lines, key=lambda line: (line.startswith("from"), line.split()[1], line)):
        top = line.split()[1].partition(".")[0]
        groups[{"numpy": 2, "jax": 2, OURS: 3}.get(top, 1)].append(line)
    return "\n\n".join("\n".join(group) for group in groups if group)


def joined(definitions: Iterable[Statement]) -> str:
    """Functions and classes two lines apart, constants together."""
    text, before = "", None
    for one in definitions:
        if before is not None:
            text += "\n\n\n" if before.spaced or one.spaced else "\n"
        text, before = text + one.text, one
    return text
