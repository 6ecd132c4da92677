"""Every option says what it is and what is taken without it; shells can complete them."""

import argparse
import shutil
import subprocess
import sys

import pytest

from symdlt.cli import main
from symdlt.cli.main import _parser

PARSER = _parser()
(COMMANDS,) = (a for a in PARSER._actions if isinstance(a, argparse._SubParsersAction))
OPTIONS = [(n, action) for n, command in COMMANDS.choices.items() for action in command._actions]


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=lambda part: getattr(part, "dest", part))
def test_every_option_is_explained(name, option):
    assert option.help
    text = " ".join(COMMANDS.choices[name].format_help().partition("options:")[2].split())
    silent = (None, False, argparse.SUPPRESS)
    if option.option_strings and option.default not in silent and option.default != []:
        told = text.partition(f"{option.option_strings[-1]} ")[2].partition(" --")[0]
        assert "default" in told or option.required


def test_one_flag_has_one_meaning():
    meanings = {}
    for _, option in OPTIONS:
        for flag in option.option_strings:
            meanings.setdefault(flag, set()).add(type(option.choices).__name__)
    assert meanings["--inputs"] == {"tuple"}
    assert meanings["--data"] == {"NoneType"}


def test_shells_complete(tmp_path, capsys):
    pytest.importorskip("shtab")
    for shell in ("bash", "zsh", "tcsh"):
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert "critical-line" in script
        (tmp_path / shell).write_text(script)
    bash = shutil.which("bash")
    if bash and sys.platform == "linux":
        typed = f"source {tmp_path / 'bash'}; COMP_WORDS=(symdlt der); COMP_CWORD=1; "
        typed += '_shtab_symdlt symdlt der symdlt; echo "${COMPREPLY[@]}"'
        found = subprocess.run([bash, "-c", typed], capture_output=True, text=True, check=True)
        assert found.stdout.split() == ["derive"]


def test_without_shtab(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'symdlt[completion]'" in capsys.readouterr().err


def test_exponents_as_a_table_in_ones_own_letters(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text("kernel = \"G\"\n[letters]\nV = '\\nu'\n")
    arguments = ["exponents", "tanh", "--format", "tabular"]
    assert main([*arguments, "--notation", str(tmp_path / "mine.toml")]) == 0
    table = capsys.readouterr().out
    assert table.startswith(r"\begin{tabular}{")
    assert r"\frac{\nu}{n G^{2}}" in table
