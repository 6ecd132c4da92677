"""Definitions of several modules in one text: those that are needed, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level statement with the names that it defines and reads."""

    text: str
    defines: frozenset[str]
    reads: frozenset[str]

    @property
    def spaced(self) -> bool:
        """Whether it is a class or a function, which blank lines surround."""
        return self.text.startswith(("def ", "class ", "@"))


@dataclass(frozen=True, slots=True)
class Linked:
    """The imports and the definitions that a text needs."""

    imports: str
    definitions: str


def linked(modules: Sequence[str], below: str) -> Linked:
    """What a text needs, in the order of the modules.

    Args:
        modules: names of modules of ours, lower ones first; no name has two meanings in them.
        below: the text that will stand below; its imports move to the top.

    >>> found = linked(["symdlt.means._grids"], "grid = trapezoid(0.1)")
    >>> "def trapezoid" in found.definitions, "def choose_step" in found.definitions
    (True, False)
    """
    external: dict[str, tuple[str, str]] = {}
    given: list[Definition] = []
    for module in modules:
        definitions, imports = definitions_of(module)
        given += definitions
        external |= imports
    needed: set[str] = set().union(*(definition.reads for definition in split(below, external)))
    kept = reached(given, needed)
    used = needed.union(*(definition.reads for definition in kept))
    names = {name: external[name] for name in sorted(used & set(external))}
    return Linked(import_text(names), joined(kept))


@cache
def definitions_of(module: str) -> tuple[list[Definition], dict[str, tuple[str, str]]]:
    """The top-level statements of a module of ours, and its imports from elsewhere."""
    package, _, name = module.rpartition(".")
    text = files(package).joinpath(f"{name}.py").read_text(encoding="utf-8")
    imports: dict[str, tuple[str, str]] = {}
    return split(text, imports), imports


def split(text: str, external: dict[str, tuple[str, str]]) -> list[Definition]:
    """The top-level statements of a module; imports from elsewhere go into `external`."""
    lines = text.splitlines()
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            external.update({(a.asname or a.name): (a.name, "") for a in node.names})
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if not module.startswith(("symdlt", "__future__")):
                external.update({(a.asname or a.name): (module, clause(a)) for a in node.names})
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            found.append(definition(node, lines))
    return found


def clause(alias: ast.alias) -> str:
    """What stands behind the word import."""
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def definition(node: ast.stmt, lines: list[str]) -> Definition:
    """A statement with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    defines = {part.id for part in names if isinstance(part.ctx, ast.Store)}
    reads = {part.id for part in names if isinstance(part.ctx, ast.Load)}
    if isinstance(node, ast.FunctionDef):
        reads -= defines
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        defines = {node.name}
    return Definition(
        "\n".join(lines[start - 1 : node.end_lineno]), frozenset(defines), frozenset(reads)
    )


def reached(given: list[Definition], needed: set[str]) -> list[Definition]:
    """The definitions that the needed names lead to."""
    kept: set[Definition] = set()
    waiting = set(needed)
    while waiting:
        more = {one for one in given if one.defines & waiting} - kept
        kept |= more
        waiting = {name for one in more for name in one.reads}
    return [one for one in given if one in kept]


def import_text(names: dict[str, tuple[str, str]]) -> str:
    """Import statements, sorted, the standard library before NumPy."""
    modules: dict[str, list[str]] = {}
    plain = set()
    for name, (module, member) in names.items():
        if member:
            modules.setdefault(module, []).append(member)
        else:
            plain.add(f"import {module}" + (f" as {name}" if name != module else ""))
    lines = [*plain, *(from_line(module, members) for module, members in modules.items())]

    def rank(line: str) -> tuple[bool, bool, str]:
        return line.split()[1].startswith("numpy"), line.startswith("from"), line.split()[1]

    ordered = sorted(lines, key=rank)
    ours = [line for line in ordered if not rank(line)[0]]
    numpy = [line for line in ordered if rank(line)[0]]
    groups = ["from __future__ import annotations", "\n".join(ours), "\n".join(numpy)]
    return "\n\n".join(group for group in groups if group) + "\n"


def from_line(module: str, members: list[str]) -> str:
    """One import, on several lines if it is long."""
    line = f"from {module} import {', '.join(sorted(members))}"
    if len(line) <= COLUMNS:
        return line
    inner = "".join(f"    {member},\n" for member in sorted(members))
    return f"from {module} import (\n{inner})"


def joined(kept: list[Definition]) -> str:
    """Functions and classes two lines apart, constants together."""
    text = ""
    for before, one in zip([None, *kept], kept, strict=False):
        if before is not None:
            text += "\n\n\n" if before.spaced or one.spaced else "\n"
        text += one.text
    return text + "\n"
