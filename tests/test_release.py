"""What is installed from: wheel and sdist in an empty environment, hints that name what can be installed, one version everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import inertica as ia
from documents import ROOT
from inertica import installation
from inertica.installation import install_command, requirements

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_one_version_everywhere() -> None:
    assert "version" in PROJECT["dynamic"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == ia.__version__
    assert f'set version = "{ia.__version__}"' in (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    recipe = re.sub(r"\{%.*%\}|\{\{|\}\}", "", (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8"))
    needs = {
        line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in yaml.safe_load(recipe)["requirements"]["run"]
    }
    assert needs == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_the_image_installs_extras_that_exist() -> None:
    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_in_a_clone_a_hint_installs_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert install_command("studio").endswith('pip install -e ".[studio]"')
    monkeypatch.chdir(tmp_path)
    assert install_command("studio").endswith(f'pip install -e "{ROOT}[studio]"')


def test_elsewhere_a_hint_names_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever index knows inertica: the packages of the extra, with their versions."""
    monkeypatch.setattr(installation, "__file__", str(tmp_path / "site-packages" / "inertica" / "installation.py"))
    if not requirements("studio"):
        pytest.skip("inertica is not installed here, only on the path")
    words = install_command("studio").split()
    assert words[-3:] == [f'"{package}"' for package in PROJECT["optional-dependencies"]["studio"]]
    assert requirements("no such extra") == ()
    assert install_command("no such extra").endswith('"inertica[no such extra]"')


def pythons() -> Iterator[Path]:
    """This interpreter, and the newest other one that is supported."""
    yield Path(sys.executable)
    places = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    places += [str(p) for p in Path.home().glob(".pyenv/versions/3.1[234].*/bin/python")]
    others = {
        tuple(map(int, out.stdout.split())): Path(place)
        for place in places
        if place
        and (
            out := subprocess.run([place, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
        ).stdout
    }
    others.pop(sys.version_info[:2], None)
    if others:
        yield others[max(others)]


def lowest(extra: str = "") -> str:
    """The first minor version that pyproject.toml allows of every dependency, as pip takes constraints.

    Which patch of it fits those of the others is for pip to find: Matplotlib 3.8.0 is not for the first NumPy that is allowed.
    """
    needs = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return "".join(f"{need.replace('>=', '==')}.*\n" for need in needs)


def environments() -> Iterator[object]:
    """Newest packages on every Python, and the oldest ones on the oldest Python, for which they were built."""
    for python in pythons():
        yield pytest.param(python, False, id=f"{python} newest")
    if sys.version_info[:2] == (3, 11):
        yield pytest.param(Path(sys.executable), True, id=f"{sys.executable} lowest")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is built of it."""
    pytest.importorskip("build", reason="the package build is not installed")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "-o", str(folder), str(ROOT)], check=True, capture_output=True)
    return folder


def done(words: list[str], folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    out = subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True)
    assert out.returncode == code, f"{words}: {out.stdout[-2000:]}{out.stderr[-2000:]}"
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("python", "oldest"), list(environments()))
def test_the_wheel_in_an_empty_environment(built: Path, tmp_path: Path, python: Path, oldest: bool) -> None:
    """Demo, one identification, a hint that can be typed, and the studio with its extra."""
    (wheel,), (archive,) = built.glob("*.whl"), built.glob("*.tar.gz")
    done([str(python), "-m", "venv", "env"], tmp_path)
    bin = tmp_path / "env" / "bin"
    (tmp_path / "lowest.txt").write_text(lowest() + lowest("studio") if oldest else "")
    done([str(bin / "pip"), "install", "-q", "-c", "lowest.txt", str(wheel)], tmp_path)
    program = str(bin / "inertica")
    assert done([program, "--version"], tmp_path).stdout == f"inertica {ia.__version__}\n"
    assert "Verdict: good" in done([program, "demo", "-o", "demo"], tmp_path).stdout
    with tarfile.open(archive) as source:
        source.extractall(tmp_path / "source", filter="data")
    for file in (tmp_path / "source").glob("*/examples/data/*"):
        shutil.copy(file, tmp_path)
    words = ["identify", "arm.urdf", "run1.csv.gz", "--validate", "run2.csv.gz", "-o", "result"]
    assert done([program, *words], tmp_path).stdout.rstrip().endswith("Verdict: good. Predicts torque well.")
    assert (tmp_path / "result" / "identified.urdf").is_file()
    hint = (
        done([program, "studio", "arm.urdf", "--no-browser"], tmp_path, code=1).stderr.partition("install it with: ")[2].strip()
    )
    assert "starlette" in hint
    done(["bash", "-c", f'PATH="{bin}:$PATH" {hint} -q -c lowest.txt'], tmp_path)
    studio = subprocess.Popen(
        [program, "studio", "arm.urdf", "--no-browser", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert studio.stdout is not None
        address = json.loads(studio.stdout.readline())["address"]
        visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # the address's token becomes a cookie
        with visitor.open(address) as page:
            assert b"inertica" in page.read()
    finally:
        studio.terminate()
        studio.wait()
