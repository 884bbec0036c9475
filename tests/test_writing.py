"""Folders and files that appear whole or not at all."""

import ast
import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import inertica
from inertica.errors import FileError
from inertica.logs import Log
from inertica.writing import is_temporary, make_folder, refuse_other_suffix, whole_file, whole_folder, write_whole
from leftovers import left_behind


def test_a_folder_appears_whole(tmp_path):
    with whole_folder(tmp_path / "deep" / "out", "last.json") as inside:
        (inside / "last.json").write_text("1")
        (inside / "table.csv").write_text("2")
        assert not (tmp_path / "deep" / "out").exists()
    assert sorted(p.name for p in (tmp_path / "deep" / "out").iterdir()) == ["last.json", "table.csv"]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["out"]


def _interrupted(folder):
    with whole_folder(folder, "last.json") as inside:
        (inside / "last.json").write_text("new")
        raise KeyboardInterrupt


def test_an_interrupted_job_leaves_what_was_there(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "last.json").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(tmp_path / "out")
    assert (tmp_path / "out" / "last.json").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_files_of_an_earlier_result_go_and_others_stay(tmp_path):
    (tmp_path / "identified.urdf").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    with whole_folder(tmp_path, "last.json", stale=("identified.*",)) as inside:
        (inside / "last.json").write_text("new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["last.json", "notes.txt"]


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(FileError, match="folder"), whole_folder(tmp_path / "out", "x"):
        pass
    with pytest.raises(FileError, match="no folder"), whole_file(tmp_path / "none" / "x.csv"):
        pass
    with pytest.raises(FileError, match="is a folder"), whole_file(tmp_path):
        pass


def _stopped(path):
    with whole_file(path) as temporary:
        assert temporary.suffix == path.suffix
        temporary.write_text("half")
        raise ValueError("stop")


def test_a_failed_file_leaves_the_old_one(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="stop"):
        _stopped(path)
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_modes_links_and_pipes_stay_what_they_were(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")
    path.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(path)
    write_whole(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_whole("/dev/null", "nothing")
    assert Path("/dev/null").is_char_device()


def test_a_mounted_folder_is_filled_from_inside(tmp_path, monkeypatch):
    """Nothing can be moved into it from beside it."""
    monkeypatch.setattr("inertica.writing._stands_alone", lambda folder: True)
    (tmp_path / "out").mkdir()
    with whole_folder(tmp_path / "out", "last") as inside:
        assert inside.parent == tmp_path / "out"
        (inside / "last").write_text("new")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["last"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_killed_processes_left_is_removed_by_the_next_one(tmp_path, kind):
    left = left_behind(tmp_path / "result.npz", kind)
    assert is_temporary(left.name)
    alive = left.with_name(left.name.replace(f"-{left.name.split('-')[2]}-", f"-{os.getpid()}-"))
    elsewhere = left.with_name(left.name.replace(left.name.split("-")[1], "0" * 8))
    for other in (alive, elsewhere, tmp_path / ".mine.inertica-notes"):
        other.write_text("stays")
    with whole_file(tmp_path / "other.csv"):
        assert not left.exists() and alive.exists()
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"other.csv", alive.name, elsewhere.name, ".mine.inertica-notes"}


def test_names_that_no_system_takes_are_sentences(tmp_path):
    for name in ("a" * 300 + ".csv", f"{'a' * 300}/x.csv"):
        with pytest.raises(FileError, match=r"cannot be written|there is no folder"):
            write_whole(tmp_path / name, "x")
        with pytest.raises(FileError, match="cannot be written"), whole_folder(tmp_path / name, "x"):
            pass
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        with pytest.raises(FileError, match="the folder cannot be written"):
            make_folder(place)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    refuse_other_suffix(tmp_path / "X.CSV.gz", ".csv", ".csv.gz")
    with pytest.raises(FileError, match=r"should end in \.csv or \.csv\.gz"):
        refuse_other_suffix(tmp_path / "x.txt", ".csv", ".csv.gz")


def test_long_names_can_be_written(tmp_path):
    for name in ("a" * 250 + ".csv", "\u6a5f" * 83 + ".npz", "a." + "b" * 250):
        write_whole(tmp_path / name, "x")
        left = left_behind(tmp_path / name)
        assert (is_temporary(left.name) and left.suffix[:12] == Path(name).suffix[:12]) or "bbb" in left.suffix
        (tmp_path / name).unlink()


_LIMITED = """
import resource, signal, sys
from inertica.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
raise SystemExit(main(sys.argv[1:]))
"""
"""The command line where no file may grow beyond 4 kB, as on a full disk."""


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.npz"])
def test_a_full_disk_leaves_the_old_log_whole(tmp_path, name):
    """An existing log was replaced by a fragment that `check` called usable."""
    words = ["simulate", "planar2", "--duration", "2", "-o", str(tmp_path / name)]
    subprocess.run([sys.executable, "-m", "inertica.cli.main", *words], check=True, capture_output=True)
    before = (tmp_path / name).read_bytes()
    assert len(before) > 4_000
    done = subprocess.run([sys.executable, "-c", _LIMITED, *words, "--seed", "2"], capture_output=True, text=True)
    assert done.returncode == 2 and f"{name}: the file cannot be written (File too large)" in done.stderr
    assert (tmp_path / name).read_bytes() == before and os.listdir(tmp_path) == [name]


def test_a_disk_that_is_full_when_it_is_flushed(tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    t = np.arange(10) / 100.0
    log = Log(t, {"q": np.zeros((10, 1)), "tau": np.zeros((10, 1))}, ("j1",))
    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda path: write_whole(path, "new"), lambda path: log.save(path)):
        (tmp_path / "x.csv").write_text("old")
        with pytest.raises(FileError, match="No space left"):
            write(tmp_path / "x.csv")
        assert (tmp_path / "x.csv").read_text() == "old" and os.listdir(tmp_path) == ["x.csv"]


WRITERS = {"write_text", "write_bytes", "savez", "savez_compressed", "savetxt", "savefig", "copyfile"}
IN_MEMORY = {"out", "picture", "text"}
"""Names of buffers."""


def written_at(file: Path) -> Iterator[tuple[int, str]]:
    """Line and name of what every plain write of a file writes to."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        modes = [
            a.value for a in (*node.args, *(k.value for k in node.keywords if k.arg == "mode")) if isinstance(a, ast.Constant)
        ]
        opens = name == "open" and any(isinstance(m, str) and set(m) & set("wx") and set(m) <= set("wxbt+") for m in modes)
        if name in WRITERS or opens:
            receiver = name in ("write_text", "write_bytes") or (opens and isinstance(node.func, ast.Attribute))
            at = node.func.value if receiver else node.args[1 if name == "copyfile" else 0]
            yield node.lineno, ast.unparse(at).split(" / ")[0].strip("(")


def test_every_writer_writes_whole_files():
    """Plain writes go to the `temporary` of `writing`, or into memory."""
    root = Path(inertica.__file__).parent
    wrong = [f"{f.relative_to(root)}:{line} writes to {at}" for f in sorted(root.rglob("*.py")) for line, at in written_at(f)
             if at not in {"temporary", "file", *IN_MEMORY}]  # fmt: skip
    assert not wrong
