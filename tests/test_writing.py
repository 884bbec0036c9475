"""Folders and files that appear whole or not at all."""

import pytest

from inertica.errors import FileError
from inertica.writing import whole_file, whole_folder


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
