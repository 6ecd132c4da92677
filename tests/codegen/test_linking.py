"""What is copied into kernels: each name once, and nothing that is not needed."""

import ast

import pytest

from symdlt.codegen import _many_template, _template
from symdlt.codegen._linking import definitions_of, linked, split


def top_level_names(module):
    return [name for one in definitions_of(module)[0] for name in one.defines]


RUNTIMES = {"one": _template.RUNTIME, "many": _many_template.RUNTIME}


@pytest.mark.parametrize("modules", RUNTIMES.values(), ids=RUNTIMES)
def test_no_name_has_two_meanings(modules):
    names = [name for module in modules for name in top_level_names(module)]
    assert sorted(names) == sorted(set(names))


def test_definitions_come_with_what_they_read():
    text = "from math import inf\nvalue = choose_step([], inf)"
    found = linked(["symdlt.means._grids"], text)
    program = f"{found.imports}\n{found.definitions}"
    defined = {n for one in split(program, {}) for n in one.defines}
    assert {"choose_step", "searched_step", "KernelInputError", "LEAST_STEP"} <= defined
    assert "hermite_table" not in defined
    assert "from math import inf" in found.imports
    ast.parse(program)
