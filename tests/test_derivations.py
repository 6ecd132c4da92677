"""Each script of `derivations/` runs alone, and its system is closed."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "derivations").glob("*.py"))
MARKED = [
    pytest.param(script, marks=[pytest.mark.sweep] if script.stem == "next_order" else [])
    for script in SCRIPTS
]


def test_there_is_a_script_for_each_step():
    assert {script.stem for script in SCRIPTS} == {
        "metric",
        "four_point_vertex",
        "ntk_mean",
        "ntk_variance",
        "ntk_preactivation",
        "dntk",
        "ddntk",
        "exponents",
        "next_order",
    }


@pytest.mark.parametrize("script", MARKED, ids=[script.stem for script in SCRIPTS])
def test_system_is_closed(script):
    system = runpy.run_path(str(script))["derive"]()
    known = set(system.names)
    for recursion in system:
        for correlator, piece in recursion.dependencies:
            assert correlator.name + (f".{piece}" if piece else "") in known


@pytest.mark.parametrize("script", MARKED, ids=[script.stem for script in SCRIPTS])
def test_script_runs_alone(script):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    # How long a script takes depends on the machine; where it is long, it says so.
    assert all(line.endswith(" left") for line in done.stderr.splitlines())
