"""A text and the definitions that it reads: imported, or in one file with it and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from symdlt.errors import KernelError
from symdlt.kernels.numpy_target.printer import COLUMNS, bracketed

OURS = "symdlt"

Imports = dict[str, tuple[str, str]]
"""By name: the module, and what stands behind the word import, nothing for the module itself."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level statement with the names that it defines and reads."""

    module: str
    text: str
    defines: frozenset[str]
    reads: frozenset[str]

    @property
    def spaced(self) -> bool:
        """Whether it is a class or a function, which blank lines surround."""
        return self.text.startswith(("def ", "class ", "@"))


@dataclass(frozen=True, slots=True)
class Module:
    """A module of ours: its top-level statements, and its imports."""

    definitions: tuple[Definition, ...]
    imports: Imports


@dataclass(frozen=True, slots=True)
class Linked:
    """The imports and the definitions that a text needs."""

    imports: str
    definitions: str = ""


def imported(imports: str, body: str) -> Linked:
    """A text that imports what it reads.

    Args:
        imports: import statements; of these, what the body reads and what is offered again, as in
            `import x as x`, are kept.
        body: the text that will stand below.
    """
    names, roots = _roots(imports, body)
    return Linked(import_text({name: names[name] for name in roots}))


def linked(imports: str, body: str) -> Linked:
    """A text that brings along what it reads of ours, lower modules first.

    Args:
        imports: as for `imported`.
        body: the text that will stand below.

    Raises:
        KernelError: if two modules define a name that is needed.

    >>> found = linked("from symdlt.means import choose_step", "step = choose_step([], 1.0)")
    >>> "def choose_step" in found.definitions, "def pair_means" in found.definitions
    (True, False)
    """
    names, roots = _roots(imports, body)
    kept: set[Definition] = set()
    external: Imports = {}
    waiting = [(names[name], name) for name in roots]
    while waiting:
        (module, member), name = waiting.pop()
        if not _is_ours(module):
            external[name] = (module, member)
            continue
        origin = defined_in(module, member.partition(" as ")[0])
        if origin in kept:
            continue
        kept.add(origin)
        here = module_of(origin.module)
        own = {defined for one in here.definitions for defined in one.defines}
        waiting += [((origin.module, read), read) for read in origin.reads & own]
        waiting += [(here.imports[read], read) for read in origin.reads & set(here.imports)]
    ordered = [
        one
        for module in _lower_first({module for module, _ in names.values()})
        for one in module_of(module).definitions
        if one in kept
    ]
    _refuse_two_meanings(ordered)
    return Linked(import_text(external), joined(ordered))


def _roots(imports: str, body: str) -> tuple[Imports, list[str]]:
    """What the statements import, and the names of it that are to be kept."""
    statements = ast.parse(imports).body
    again = {
        alias.asname
        for node in statements
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    names = _imports_of(statements)
    return names, sorted((_read_by(ast.parse(body)) | again) & set(names))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == OURS


@cache
def module_of(name: str) -> Module:
    """A module of ours, read and not run."""
    spec = find_spec(name)
    folder = spec is not None and spec.submodule_search_locations is not None
    package, _, stem = (f"{name}.__init__" if folder else name).rpartition(".")
    text = files(package).joinpath(f"{stem}.py").read_text(encoding="utf-8")
    statements, lines = ast.parse(text).body, text.splitlines()
    return Module(
        tuple(
            _definition(name, node, lines)
            for node in statements
            if not isinstance(node, ast.Import | ast.ImportFrom)
            and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ),
        _imports_of(statements),
    )


def _imports_of(statements: Iterable[ast.stmt]) -> Imports:
    names: Imports = {}
    for node in statements:
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name): (a.name, "") for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names |= {(a.asname or a.name): (node.module or "", _clause(a)) for a in node.names}
    return names


def _clause(alias: ast.alias) -> str:
    """What stands behind the word import."""
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _read_by(node: ast.AST) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }


def _definition(module: str, node: ast.stmt, lines: list[str]) -> Definition:
    """A statement with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    stored = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    reads = _read_by(node)
    if isinstance(node, ast.FunctionDef):
        reads -= stored
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        stored = {node.name}
    text = "\n".join(lines[start - 1 : node.end_lineno])
    return Definition(module, text, frozenset(stored), frozenset(reads))


def defined_in(module: str, name: str) -> Definition:
    """Where a name that a module defines, or offers again, has its definition.

    Raises:
        KernelError: if it has none that can be copied.
    """
    while True:
        here = module_of(module)
        for one in here.definitions:
            if name in one.defines:
                return one
        origin, member = here.imports.get(name, ("", ""))
        if member not in (name, f"{name} as {name}") or not _is_ours(origin):
            raise KernelError(
                f"{name} of {module} has no definition that could be copied into a kernel. What "
                "kernels read is imported by its own name. Import it so."
            )
        module = origin


def _lower_first(modules: Iterable[str]) -> list[str]:
    """Modules of ours and all that they import, each after those that it imports."""
    order: dict[str, None] = {}

    def visit(module: str) -> None:
        if _is_ours(module) and module not in order:
            for below, _ in module_of(module).imports.values():
                visit(below)
            order[module] = None

    for module in sorted(modules):
        visit(module)
    return list(order)


def _refuse_two_meanings(kept: Iterable[Definition]) -> None:
    owners: dict[str, str] = {}
    for one in kept:
        for name in one.defines:
            if owners.setdefault(name, one.module) != one.module:
                raise KernelError(
                    f"{name} is defined in {owners[name]} and in {one.module}. A kernel that "
                    "stands alone has all that it reads in one file. Rename one of them."
                )


def import_text(names: Imports) -> str:
    """Import statements, sorted: the standard library, NumPy, and modules of ours."""
    together: dict[str, list[str]] = {}
    lines = []
    for name, (module, member) in names.items():
        if not member:
            lines.append(f"import {module}" + (f" as {name}" if name != module else ""))
        elif " as " in member:
            lines.append(f"from {module} import {member}")
        else:
            together.setdefault(module, []).append(member)
    for module, members in together.items():
        lines.append(_from_line(module, sorted(members, key=_case)))
    groups: list[list[str]] = [[], [], []]
    for line in sorted(lines, key=lambda line: (line.startswith("from"), line.split()[1], line)):
        top = line.split()[1].partition(".")[0]
        groups[{"numpy": 1, OURS: 2}.get(top, 0)].append(line)
    shown = ["\n".join(group) for group in groups if group]
    return "\n\n".join(["from __future__ import annotations", *shown])


def _case(member: str) -> tuple[bool, bool, str]:
    """Constants, then classes, then functions."""
    return not member.isupper(), not member[0].isupper(), member


def joined(kept: Iterable[Definition]) -> str:
    """Functions and classes two lines apart, constants together."""
    listed = list(kept)
    text = ""
    for before, one in zip([None, *listed], listed, strict=False):
        if before is not None:
            text += "\n\n\n" if before.spaced or one.spaced else "\n"
        text += one.text
    return text


def _from_line(module: str, members: list[str]) -> str:
    line = f"from {module} import {', '.join(members)}"
    return line if len(line) <= COLUMNS else bracketed(f"from {module} import (", members, ")", 0)
