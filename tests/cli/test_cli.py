"""The command line as a user meets it: what goes where, and with which exit code."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from cases import slow

from symdlt import MLP, Propagation, derive, draw, forward_equation, from_json, layer_phase
from symdlt._version import VERSION
from symdlt.cli import EXAMPLES, main
from symdlt.definitions import OBSERVABLES


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "symdlt", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_derive_prints_the_recursion(capsys):
    assert main(["derive", "R"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{derive('R')}\n"
    assert captured.err == ""


def test_derive_json_reads_back(capsys):
    assert main(["derive", "T", "--format", "json", "--form", "z"]) == 0
    assert from_json(capsys.readouterr().out) == derive("T", form="z")


def test_subleading_json_is_a_list(capsys):
    assert main(["derive", "G", "--subleading", "2", "--format", "json", "--inputs", "one"]) == 0
    documents = json.loads(capsys.readouterr().out)
    assert [document["piece"] for document in documents] == [0, 1, 2]


def test_tensors_may_have_blanks_or_commas_between_them(capsys, tmp_path):
    texts = []
    twice = ["--tensors", "G", "V", "--tensors", "H"]
    for names in (["G", "V", "H"], ["--tensors", "G,V", "H"], ["--tensors", "G, V H"], twice):
        assert main(["kernel", *names, "--inputs", "one"]) == 0
        texts.append(capsys.readouterr().out)
    assert len(set(texts)) == 1
    for names in ([""], [","], ["--tensors", ", "]):
        assert main(["kernel", *names]) == 1
        assert "are no names" in capsys.readouterr().err
    data = tmp_path / "data.csv"
    data.write_text("1,0\n0,1\n")
    tables = []
    for names in (["G,H"], ["G", "H"], ["G", "--tensors", "H"]):
        fixed = ["--widths", "8", "--networks", "50", "--data", str(data)]
        main(["check", "--activation", "tanh", *fixed, "--tensors", *names])
        tables.append(capsys.readouterr().out)
    assert len(set(tables)) == 1
    assert "\nH " in tables[0]


def test_a_piece_by_its_name(capsys):
    assert main(["derive", "G.1", "--inputs", "one"]) == 0
    assert capsys.readouterr().out == f"{derive('G', piece=1, inputs='one')}\n"


def test_edges_say_under_which_sample_a_vertex_is_printed(capsys):
    assert main(["derive", "--edges", "0-1", "--match", "02,13"]) == 0
    assert (
        "F; vertices are printed as samples: 0 as 3, 1 as 4, 2 as 1, 3 as 2."
        in capsys.readouterr().err
    )
    assert main(["derive", "F"]) == 0
    assert capsys.readouterr().err == ""


def test_edges_and_matching(capsys):
    assert main(["derive", "--edges", "0-1,0-2", "--match", "03,12"]) == 0
    assert capsys.readouterr().out == f"{derive('P')}\n"


@pytest.mark.parametrize(("order", "count"), [("0", 2), ("1", 11), ("2", 103)])
def test_list(order, count, capsys):
    assert main(["list", "--order", order]) == 0
    names = capsys.readouterr().out.split()
    assert len(names) == len(set(names)) == count


def test_list_tells_what_tensors_are(capsys):
    assert main(["list", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["D"]["cumulant of"] == "z(0) z(1) H(2,3)"
    assert rows["R"]["cumulant of"] == "ddH_I(0,1,2,3)"
    assert rows["S"]["cumulant of"] == "ddH_II(0,1,2,3)"
    assert rows["P"]["matching"] == "03,12"
    assert main(["list", "--format", "table"]) == 0
    assert capsys.readouterr().out.startswith("name  order  axes  edges")


def test_several_tensors(capsys):
    assert main(["derive", "F", "B,V", "--inputs", "one"]) == 0
    expected = "\n".join(str(derive(name, inputs="one")) for name in "FBV")
    assert capsys.readouterr().out == f"{expected}\n"


def test_latex_in_ones_own_notation(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("[letters]\nsigma = '\\phi'\n")
    arguments = ["latex", "V", "F", "--numbered", "--notation", str(path), "--width", "icml"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert text.count(r"\label{eq:") == 2
    assert r"\phi" in text
    assert r"\sigma" not in text
    assert main(["latex", "V", "--width", "folio"]) == 1
    assert "There is no width 'folio'" in capsys.readouterr().err


def test_forward_equations(capsys):
    assert main(["forward", "NTK"]) == 0
    assert capsys.readouterr().out == f"{forward_equation(OBSERVABLES['NTK'])}\n"
    assert main(["forward", "dNTK", "--format", "latex"]) == 0
    assert capsys.readouterr().out.startswith(r"\begin{align*}")
    gate = "u = U z; v = V z; z' = b + W s(u) v"
    assert main(["forward", "dNTK", "--layer", gate]) == 0
    assert capsys.readouterr().out == f"{forward_equation(OBSERVABLES['dNTK'], gate)}\n"
    assert main(["forward", "NTK", "--layer", gate, "--format", "latex"]) == 0
    assert r"\widehat{H}_{j_1j_0;\delta_{1}\delta_{0}}^{uv(\ell+1)}" in capsys.readouterr().out


def test_terms_of_a_layer_with_a_skip_are_drawn(capsys):
    skip = "z' = xi z + b + W s(z)"
    assert main(["draw", "V", "--term", "3", "--layer", skip, "--at", "2"]) == 0
    term = derive("V", layer=skip, at=2).terms[2]
    assert capsys.readouterr().out.strip() == draw(term).svg.strip()
    for options in (["--layer", skip], ["--term", "1", "--layer", "h = U z; z' = W s(h)"]):
        with pytest.raises(SystemExit):
            main(["draw", "V", *options])
    said = capsys.readouterr().err
    assert "of the recursion that --term is a term of" in said
    assert "`symdlt explain` tells those of others" in said


def test_stacks_are_sent_to_the_command_that_takes_them(capsys):
    gate = "u = U z; v = V z; z' = b + W s(u) v"
    assert main(["phase", "tanh", "--C-W", "1.5", "--layer", gate]) == 1
    assert "`symdlt fixed-point`" in capsys.readouterr().err
    values = ["--value", "C_U=1", "--value", "C_V=1", "--value", "C_b=0.1", "--value", "C_W=1.5"]
    assert main(["fixed-point", "tanh", "--layer", gate, *values]) == 0


def test_the_recursion_of_the_last_layer_alone(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("1,2\n0.5,1\n")
    skip = ["--layer", "z' = xi z + W s(z)", "--last", "z' = W s(z)", "--value", "xi=0.6"]
    asked = ["propagate", "--activation", "relu", "--widths", "3*64", "--C-W", "1.28", *skip]
    asked += ["--data", str(path), "--tensors", "V"]
    assert main([*asked, "--truncated", "--format", "json"]) == 0
    truncated = np.array(json.loads(capsys.readouterr().out)["V"])
    assert main([*asked, "--format", "json"]) == 0
    full = np.array(json.loads(capsys.readouterr().out)["V"])
    ratios = truncated[1:].reshape(3, -1)[:, 0] / full[1:].reshape(3, -1)[:, 0]
    assert ratios[0] == pytest.approx(1, rel=1e-6)
    assert ratios[2] < ratios[1] < 0.85
    assert main([*asked, "--truncated"]) == 0
    said = capsys.readouterr().out
    assert f"{ratios[2]:.6g}" in said
    assert "`skip_growth` has the ratio of V" in said


def test_the_tour_is_a_command(capsys, monkeypatch):
    monkeypatch.setattr("symdlt.pipeline.tour", lambda: "all of it")
    assert main(["tour"]) == main([]) == 0
    assert capsys.readouterr().out == "all of it\nall of it\n"


def test_propagate(tmp_path, capsys):
    data, out = tmp_path / "x.csv", tmp_path / "t.npz"
    data.write_text("1,0.5\n0.2,0.3\n")
    arguments = ["propagate", "--activation", "tanh", "--widths", "8,8", "--data", str(data)]
    assert main([*arguments, "--tensors", "G", "V"]) == 0
    expected = MLP(activation="tanh", widths=[8, 8], C_b=0.0, C_W=1.0).propagate(
        [[1, 0.5], [0.2, 0.3]], ["G", "V"]
    )
    assert capsys.readouterr().out == f"{expected}\n"
    assert main([*arguments, "--tensors", "G", "V", "-o", str(out)]) == 0
    assert Propagation.load(out) == expected
    assert main([*arguments, "--tensors", "G", "--format", "json"]) == 0
    shown = np.array(json.loads(capsys.readouterr().out)["G"])
    np.testing.assert_allclose(shown, expected["G"], rtol=1e-13)


def test_check_says_whether_they_agree(tmp_path, capsys):
    data = tmp_path / "x.csv"
    data.write_text("1,0.5\n")
    arguments = ["check", "--activation", "tanh", "--widths", "8", "--data", str(data)]
    arguments += ["--tensors", "G", "--networks", "50"]
    assert main(arguments) == 0
    assert "Theory and networks agree" in capsys.readouterr().out
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["agrees"] is True


def test_fixed_points_of_layers(capsys):
    gate = ["fixed-point", "tanh", "--layer", "z' = xi z + W s(z)", "--value", "xi=0.6"]
    assert main([*gate, "--value", "C_W=0.7"]) == 0
    values = {"xi": 0.6, "C_W": 0.7}
    assert capsys.readouterr().out == f"{layer_phase(gate[3], 'tanh', values)}\n"
    assert main([*gate, "--solve", "C_W"]) == 0
    assert "C_W = 0.64" in capsys.readouterr().out


def test_output_goes_to_a_file(tmp_path, capsys):
    target = tmp_path / "V.txt"
    assert main(["derive", "V", "-o", str(target)]) == 0
    assert target.read_text() == f"{derive('V')}\n"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "V.txt" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["derive", "Y"], "There is no tensor 'Y'. Known are G H V"),
        (["derive", "V", "--subleading", "-1"], "--subleading -1 is negative."),
        (["derive", "--edges", "0-1,1-2,0-2", "--match", "01,23"], "contain a cycle"),
        (["derive", "--edges", "0-1,1-0", "--match", "01"], "Edge 0-1 is given twice."),
        (["derive", "--edges", "0-1", "--match", "02"], "is not perfect on 2 vertices"),
        (["derive", "--edges", "0+1", "--match", "01"], "Cannot read '0+1' as a pair"),
        (["derive", "X24"], "with 24 axes apart would take"),
        (["derive", "X12"], "GB of memory. This machine has"),
        (["explain", "R", "--term", "99"], "There is no term 99."),
        (["list", "--order", "-1"], "There are no tensors of order -1."),
        (["list", "--order", "9"], "Too many tensors are of order 1/n^9"),
        (["list", "--order", "99999"], "Too many tensors are of order 1/n^99999"),
        (["derive", "V", "-o", "/nonexistent/V.txt"], "cannot write '/nonexistent/V.txt': No such"),
        (["derive", "G.1.1"], "There is no tensor 'G.1.1'. Known are"),
        (["derive", "G." + "9" * 5000], "There is no tensor 'G.999"),
    ],
)
def test_a_request_that_fails_exits_with_1(arguments, message, capsys):
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["derive"], "which tensor? Give its name, as in `symdlt derive R`, or its definition"),
        (["derive", "R", "--match", "01"], "the tensor is given twice, as R and by --edges or"),
        (["derive", "--edges", "0-1"], "--edges needs --match, the pairs of vertices that share"),
        (["derive", "R", "--form", "q"], "invalid choice: 'q'"),
        (["derive", "R", "-o", ""], "argument -o/--output: '' names no file"),
        (["fly"], "invalid choice: 'fly'"),
    ],
)
def test_a_request_that_cannot_be_read_exits_with_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_regenerate_names_the_whole_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["regenerate"]) == 1
    assert f"{str(tmp_path.resolve())!r} is not a checkout" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [slow("kernel G"), "derive R", slow("explain R"), slow("latex R"), "list"]
)
def test_an_ascii_locale_gets_the_same_bytes(command):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    outputs = [
        subprocess.run(
            [sys.executable, "-m", "symdlt", *command.split()],
            capture_output=True,
            check=True,
            env={**os.environ, **locale},
        ).stdout
        for locale in ({"PYTHONUTF8": "1"}, ascii_only)
    ]
    assert outputs[0] == outputs[1] != b""


@pytest.mark.skipif(sys.platform != "linux", reason="needs sh and /dev/full")
@pytest.mark.parametrize(
    ("streams", "output", "errors"),
    [
        (">&-", "", "symdlt: cannot write to standard output: it is closed.\n"),
        (">/dev/full", "", "symdlt: cannot write to standard output: No space left on device.\n"),
        ("2>&-", "G\nH\n", ""),
    ],
)
def test_closed_and_full_streams(streams, output, errors):
    script = f'"{sys.executable}" -m symdlt list --order 0 {streams}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (output, errors)
    assert done.returncode == (1 if errors else 0)


def test_an_interrupt_while_loading_is_answered_in_words():
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'symdlt.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from symdlt.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "symdlt: interrupted; nothing was written.\n"


@pytest.mark.parametrize("command", EXAMPLES)
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert EXAMPLES[command].splitlines()[0] in capsys.readouterr().out


def test_module_and_version():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"symdlt {VERSION}\n"


def test_a_clone_needs_no_installation():
    code = (
        "import importlib.metadata as m; m.version = m.distribution = None; "
        "from symdlt.cli import main; main(['kernel', 'F', '--inputs', 'one'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"Generated by symdlt {VERSION} (" in done.stdout


def test_the_library_is_loaded_when_it_is_first_used():
    code = (
        "import sys, symdlt; print(sorted(name for name in sys.modules if 'symdlt.' in name)); "
        "print(symdlt.derive('F', inputs='one'), symdlt.definitions.tensor('F')); "
        "assert {'derive', 'BOOK'} <= set(dir(symdlt)); from symdlt import *; print(explain)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[]\nF[l+1] =")


def test_derive_needs_neither_sympy_nor_numpy():
    code = (
        "import os, sys; from symdlt.cli import main; main(['derive', 'R', '-o', os.devnull]); "
        "print(sorted({'sympy', 'numpy', 'mpmath'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_same_bytes_under_two_hash_seeds():
    outputs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "symdlt", "derive", "X6", "--form", "z", "--format", "json"],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.slow
def test_the_tour_shows_every_stage():
    done = run()
    assert done.returncode == 0, done.stderr
    for piece in ("R[l+1] =", "R_0123[l+1] =", "Diagram 1 of 1", "kernel", "LaTeX", "exponent"):
        assert piece in done.stdout
    assert "recursions" in done.stderr


def test_pictures(capsys):
    assert main(["draw", "R"]) == 0
    assert capsys.readouterr().out.startswith("<svg")
    assert main(["draw", "D", "--term", "25", "--format", "tikz"]) == 0
    assert "V_{(22)(44)}" in capsys.readouterr().out
    assert main(["draw", "D", "--term", "99"]) == 1
    assert "There is no term 99" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.nc", "arrays are written as npz"),
        ("out.CSV", "arrays are written as npz"),
        ("out.json", "for JSON give --format json"),
    ],
)
def test_names_of_files_say_what_is_in_them(name, message, tmp_path, capsys):
    data = tmp_path / "x.csv"
    data.write_text("1,2\n")
    arguments = ["propagate", "--activation", "sin", "--widths", "4", "--data", str(data)]
    with pytest.raises(SystemExit):
        main([*arguments, "-o", str(tmp_path / name)])
    assert message in capsys.readouterr().err


def test_a_nan_in_a_file_is_found(tmp_path, capsys):
    data = tmp_path / "x.csv"
    data.write_text("1,2\n3,nan\n")
    assert main(["propagate", "--activation", "sin", "--widths", "4", "--data", str(data)]) == 1
    assert "x.csv': row 2 has nan at place 2" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["-tanh(z)", "-1*tanh(z)", "0 - tanh(z)"])
def test_an_activation_may_start_with_a_minus(text, capsys):
    assert main(["gain", text]) == main(["gain", "tanh"]) == 0
    first, second = capsys.readouterr().out.split()
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--C-b", "0.5", "--layer", "z' = W s(z)"], "--C-b is of no layer; they have C_W"),
        (["--C-W", "2", "--layer", "z' = W s(z)", "--value", "C_W=3"], "are the same; give one"),
        (["--layer", "z' = W s(z)", "--value", "C_W=3", "--value", "C_W=4"], "C_W is given twice"),
        (["--layer", "h = U z; z' = W s(h)", "--inner", "h=3", "--inner", "h=4"], "h is given tw"),
    ],
)
def test_no_number_of_a_network_is_passed_over(arguments, message, tmp_path, capsys):
    (tmp_path / "x.txt").write_text("1 2")
    network = ["propagate", "--activation", "tanh", "--widths", "8", "--tensors", "G"]
    with pytest.raises(SystemExit) as refused:
        main([*network, "--data", str(tmp_path / "x.txt"), *arguments])
    assert refused.value.code == 2
    assert message in capsys.readouterr().err


def test_values_of_layers_are_given_once(capsys):
    with pytest.raises(SystemExit):
        main(["fixed-point", "tanh", "--value", "C_b=0", "--value", "C_W=1", "--value", "C_b=1"])
    assert "C_b is given twice" in capsys.readouterr().err
