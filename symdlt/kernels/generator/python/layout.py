"""Source text laid out to 100 columns: templates filled, lists between brackets."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from string import Template

from symdlt.errors import KernelError

COLUMNS = 100  # as in the rest of the repository
INSIDE = COLUMNS - 4  # in the body of a function
TERMS_SHOWN = 100  # of an equation; those of a dense layer have fewer than 80

_EQUATION = textwrap.TextWrapper(COLUMNS - 12, subsequent_indent=" " * 6, break_on_hyphens=False)
_ALONE = re.compile(r"( *)\$(\w+)")


def filled(text: str, **values: str | Iterable[str]) -> str:
    """A template with all its placeholders replaced.

    A placeholder alone on its line takes a block of lines; empty blocks go with their blank lines.

    Args:
        text: a template as of `string.Template`.
        values: for each placeholder its text, or the lines of it.

    Raises:
        KernelError: if a placeholder has no value, or a value no placeholder.

    >>> print(filled("def $name():\\n    $body", name="f", body=["x = 1", "return x"]))
    def f():
        x = 1
        return x
    """
    if odd := set(Template(text).get_identifiers()) ^ set(values):
        raise KernelError(
            f"The placeholders {' '.join(sorted(odd))} stand in the template or in its data, but "
            f"not in both. The template begins {text[:40]!r}. Correct one of them."
        )
    blocks = {k: v if isinstance(v, str) else "\n".join(v) for k, v in values.items()}
    lines = []
    for line in text.splitlines():
        if not (alone := _ALONE.fullmatch(line)):
            lines.append(Template(line).substitute(blocks))
        elif block := blocks[alone[2]].rstrip("\n"):
            lines.append(textwrap.indent(block, alone[1]))
    return re.sub("\n{4,}", "\n\n\n", "\n".join(lines))


def equation_lines(lines: Iterable[str]) -> list[str]:
    """An equation as it stands in the docstring of a function, its long terms broken.

    Of one with more terms than anybody reads there are the first ones.
    """
    head, *terms = lines
    more = len(terms) - TERMS_SHOWN
    shown = [head, *terms[:TERMS_SHOWN]]
    rest = [f"  … and {more} terms more, which are in the code alone"] * (more > 0)
    return [part for line in shown for part in _EQUATION.wrap(line)] + rest


def quoted(names: Iterable[str]) -> list[str]:
    """Names as text in double quotes."""
    return [f'"{name}"' for name in names]


def tuple_items(items: Iterable[str]) -> list[str]:
    """The items of a tuple; the comma of a single one is part of it."""
    listed = list(items)
    return listed if len(listed) != 1 else [f"{listed[0]},"]


def tuple_text(items: Iterable[str]) -> str:
    """A tuple on one line.

    >>> tuple_text(["a"]), tuple_text(["a", "b"])
    ('(a,)', '(a, b)')
    """
    return f"({', '.join(tuple_items(items))})"


def tuple_behind(head: str, items: Iterable[str]) -> str:
    """A tuple that stands behind the head of a line, on as many lines as it needs."""
    return bracketed(f"{head}(", tuple_items(items), ")").removeprefix(head)


def bracketed(opening: str, items: Sequence[str], closing: str, columns: int = COLUMNS) -> str:
    """Items between brackets: on one line, on one line of their own, or one a line.

    >>> print(bracketed("f(", ["a", "b"], ")", 4))
    f(
        a,
        b,
    )
    """
    inside = ", ".join(items)
    if len(line := f"{opening}{inside}{closing}") <= columns:
        return line
    if len(inside) + 4 > columns:
        inside = "\n".join(f"{item}," for item in items)
    return f"{opening}\n{textwrap.indent(inside, '    ')}\n{closing}"


def given_by_name(names: Sequence[str], assigned: bool) -> str:
    """The arguments by the names of hyperparameters: assigned to given, or as an argument itself.

    >>> print(given_by_name(["C_W"], True))
    given = dict(zip(HYPERPARAMETERS, (C_W,), strict=True))
    """
    head, tail, columns = ("given = ", "", INSIDE) if assigned else ("", ",", INSIDE - 4)
    zipped = ["HYPERPARAMETERS", tuple_text(names), "strict=True"]
    if len(line := f"{head}dict(zip({', '.join(zipped)})){tail}") <= columns:
        return line
    inner = f"zip({', '.join(zipped)})"
    if len(inner) > columns - 4:
        zipped[1] = bracketed("(", tuple_items(names), ")", columns - 9)
        listed = "\n".join(f"{one}," for one in zipped)
        inner = f"zip(\n{textwrap.indent(listed, '    ')}\n)"
    return f"{head}dict(\n{textwrap.indent(inner, '    ')}\n){tail}"


def example_lines(text: str) -> str:
    """Lines of an example for doctest, those that are too long on several."""
    more = textwrap.TextWrapper(COLUMNS, subsequent_indent="...     ", break_on_hyphens=False)
    return "\n".join(part for line in text.splitlines() for part in more.wrap(line))
