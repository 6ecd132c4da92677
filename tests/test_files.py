"""What is written is written whole, and nothing that a user has is lost on the way."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from symdlt import files, memory
from symdlt.cli import main
from symdlt.errors import KernelError, SchemaError
from symdlt.files import whole_file, write_whole
from symdlt.networks import MLP, Propagation, pack, read_data
from symdlt.networks import files as saved_tensors

NET = MLP(activation="sin", widths=[8], C_b=0.0, C_W=1.0)


def test_an_interrupted_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "R.txt"
    target.write_text("old")

    def interrupted():
        with whole_file(target) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["R.txt"]


def test_a_full_disk_names_the_file(tmp_path, monkeypatch, capsys):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    target = tmp_path / "V.txt"
    target.write_text("old")
    assert main(["derive", "V", "-o", str(target)]) == 1
    assert f"cannot write {str(target)!r}: No space left on device." in capsys.readouterr().err
    with pytest.raises(OSError, match=r"V\.npz"):
        NET.propagate([[1.0]], ["G"]).save(tmp_path / "V.npz")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["V.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="no links or modes as elsewhere")
def test_links_and_modes_are_kept(tmp_path):
    target, link = tmp_path / "R.txt", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_output_that_is_an_input_is_refused(tmp_path, capsys):
    data = tmp_path / "x.csv"
    data.write_text("1,0\n")
    options = ["--activation", "sin", "--widths", "4", "--data", str(data)]
    with pytest.raises(SystemExit) as stop:
        main(["check", *options, "-o", f"{tmp_path}/../{tmp_path.name}/x.csv"])
    assert stop.value.code == 2
    assert "is also --data; name another file" in capsys.readouterr().err
    assert data.read_text() == "1,0\n"


def test_a_hyphen_is_standard_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = []
    for output in (["-o", "-"], []):
        assert main(["kernel", "F", "--inputs", "one", *output]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != ""
    assert os.listdir(tmp_path) == []


def test_archives_that_expand_beyond_memory_are_refused_by_their_header(tmp_path, monkeypatch):
    zeros = tmp_path / "zeros.npz"
    np.savez_compressed(zeros, x=np.zeros((1000, 1000)), y=np.ones(2))
    saved = tmp_path / "saved.npz"
    saved.write_bytes(pack({saved_tensors.HEADER: np.array("{}"), "G": np.zeros((1000, 1000))}))
    monkeypatch.setattr(saved_tensors, "memory_of_machine", lambda: 1e6)
    with pytest.raises(KernelError, match=r"expand to 0\.008 GB, and this machine has 0\.001 GB"):
        read_data(zeros)
    assert read_data(zeros, "y").tolist() == [1.0, 1.0]
    with pytest.raises(SchemaError, match=r"expand to 0\.008 GB"):
        Propagation.load(saved)


def test_a_system_without_sysconf_has_no_bound(monkeypatch):
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.memory_of_machine() == float("inf")


@pytest.mark.skipif(sys.platform == "win32", reason="no signals as elsewhere")
def test_an_interrupt_has_its_own_exit_code():
    code = (
        "import os, signal, sys, threading; from symdlt.__main__ import main; "
        # where a shell runs it behind, interrupts are ignored unless told
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start(); "
        "sys.argv = ['symdlt', 'list', '--order', '4']; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "symdlt: interrupted; nothing was written.\n"
