"""Models by name of robot_descriptions: a made-up package with a cache of its own stands in for the one that fetches."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import inertica as ia
from documents import ROOT
from inertica.cli.main import main
from inertica.errors import InputError, MissingDependencyError

ARM = ROOT / "examples" / "data" / "arm.urdf"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "robot_descriptions"
    folder.mkdir()
    cached = tmp_path / "cache" / "arm.urdf"
    cached.parent.mkdir()
    cached.write_bytes(ARM.read_bytes())
    (folder / "__init__.py").write_text("")
    (folder / "arm_description.py").write_text(f"URDF_PATH = {str(cached)!r}\n")
    (folder / "xacro_description.py").write_text("XACRO_PATH = 'x.urdf.xacro'\n")
    (folder / "offline_description.py").write_text("raise OSError('no network')\n")
    (folder / "unreachable_description.py").write_text(
        "from git.exc import GitCommandError\nraise GitCommandError('fetch\\n  no host')\n"
    )
    (folder / "gitless_description.py").write_text("raise ImportError('Bad git executable')\n")
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "__init__.py").write_text("")
    (tmp_path / "git" / "exc.py").write_text("class GitError(Exception): ...\nclass GitCommandError(GitError): ...\n")
    (folder / "broken_description.py").write_text("import no_such_package\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "git"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("robot_descriptions", "git")]:
        del sys.modules[name]


@pytest.mark.usefixtures("package")
def test_a_name_is_the_file_that_the_package_keeps(tmp_path: Path) -> None:
    found = ia.load("arm_description")
    assert found.source.path == tmp_path / "cache" / "arm.urdf"
    assert found.robot.joint_names == ia.load(ARM).robot.joint_names


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody_description", "has no 'nobody_description'"),
        ("xacro_description", "only a xacro"),
        ("offline_description", "no network"),
        ("unreachable_description", r"cannot fetch 'unreachable_description' \(fetch no host\)"),
        ("gitless_description", "Bad git executable"),
    ],
)
def test_what_is_not_there_is_one_sentence(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ia.load(name)


@pytest.mark.usefixtures("package")
def test_a_fault_of_the_package_is_not_taken_for_a_wrong_name() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        ia.load("broken_description")


def test_without_the_package_the_hint_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(MissingDependencyError, match="descriptions"):
        ia.load("arm_description")
    assert main(["show", "arm_description"]) == 1
    with pytest.raises(InputError, match=r"no robot or file 'os\.description'"):
        ia.load("os.description")


def test_a_file_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_description").write_bytes(ARM.read_bytes())
    assert ia.load("my_description").robot.n == 3
