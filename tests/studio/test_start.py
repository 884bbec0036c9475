"""How the studio starts: on this machine only unless told otherwise, and with a word on what is missing."""

import sys

import pytest

from inertica.cli.main import main
from inertica.errors import InerticaError, InputError, MissingDependencyError
from inertica.studio.start import open_studio, prepare, start


def test_the_command_line_says_what_is_wrong(tmp_path, capsys):
    assert main(["studio", "no-such-robot", "--project", str(tmp_path / "p"), "--no-browser"]) == 2
    assert "no robot or file" in capsys.readouterr().err
    assert main(["studio", "tx40", "no.csv", "--project", str(tmp_path / "p"), "--no-browser"]) == 2
    assert main(["studio", "--help"]) == 0 and "--no-browser" in capsys.readouterr().out


def test_without_the_extra_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .*\[studio\]"):
        start(tmp_path / "p")
    with pytest.raises(MissingDependencyError):
        open_studio(project=tmp_path / "p")


def test_loopback_is_quiet_and_other_hosts_warn(tmp_path):
    pytest.importorskip("uvicorn", reason="the extra inertica[studio] is not installed")
    quiet, loud = start(tmp_path / "a"), start(tmp_path / "b", host="0.0.0.0")
    try:
        assert quiet.warning == "" and quiet.listening.getsockname()[0] == "127.0.0.1"
        assert "other machines" in loud.warning and "?token=" in loud.address
        assert quiet.address.partition("=")[2] != loud.address.partition("=")[2] and len(quiet.address.partition("=")[2]) >= 32
        with pytest.raises(InerticaError, match="port"):
            start(tmp_path / "c", port=quiet.listening.getsockname()[1])
        with pytest.raises(InputError, match="65535"):
            start(tmp_path / "c", port=70_000)
    finally:
        quiet.listening.close()
        loud.listening.close()


def test_files_named_twice_are_there_once(tmp_path):
    (tmp_path / "a.csv").write_text("t,q1,q2\n0,1,1\n1,2,2\n")
    for _ in range(2):
        project = prepare(tmp_path / "p", "planar2", [tmp_path / "a.csv"])
    assert [e.file for e in project.logs] == [str(tmp_path / "a.csv")] == project.state["links"]
    with pytest.raises(InerticaError, match="this is a file"):
        prepare(tmp_path / "a.csv")


def test_a_log_that_is_not_there_is_called_a_log(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.csv: there is no such log"):
        prepare(tmp_path / "project", "scara2", [tmp_path / "nothing.csv"])
