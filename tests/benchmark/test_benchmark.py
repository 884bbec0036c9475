"""The benchmark of programs on a made-up record: rows, page, manifest, and what is not there."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import inertica as ia
from documents import ROOT
from inertica.benchmark import programs, run
from inertica.benchmark.manifest import MANIFEST, Record, Split, available, read_window, records
from inertica.benchmark.programs import Prediction
from inertica.benchmark.run import page
from inertica.cli.main import main

ENTRY = {
    "name": "arm",
    "folder": "arm",
    "model": "arm.urdf",
    "published": "here",
    "licence": "Apache-2.0",
    "windows": [{"file": f"run{k}.csv.gz", "start": 0.5, "end": 9.5} for k in (1, 2)],
    "positions": 20,
    "columns": 10,
    "motor_side": True,
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "arm").mkdir()
    for file in (ROOT / "examples" / "data").glob("*"):
        shutil.copy(file, tmp_path / "arm")
    (tmp_path / "logs.yaml").write_text(yaml.safe_dump([ENTRY, {**ENTRY, "name": "other", "folder": "other"}]))
    return tmp_path


class Nothing:
    """Predicts no torque at all: it misses everything."""

    name = "nothing"

    def missing(self) -> str:
        return ""

    def settings(self, record: Record) -> tuple[str, ...]:
        return ()

    def predict(self, record: Record, split: Split) -> Prediction:
        return Prediction(np.zeros_like(read_window(record, split.test).tau), None)


class Absent(Nothing):
    name = "absent"

    def missing(self) -> str:
        return "no-such-package"


class Failing(Nothing):
    name = "failing"

    def predict(self, record: Record, split: Split) -> Prediction:
        raise ia.InputError("this does not work")


def test_rows_of_all_programs_and_the_page(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pinocchio")
    every = {p.name: p for p in (programs.Inertica(), programs.Plain(), Nothing(), Absent(), Failing())}
    monkeypatch.setattr(run, "PROGRAMS", every)
    done = ia.benchmark(data, data / "logs.yaml", short=True)
    assert done.absent == ("other",) and done.missing == {"absent": "no-such-package"}
    rows = {row.program: row for row in done.rows}
    assert list(rows) == ["inertica", "plain pipeline", "nothing", "failing"] and len(done.rows) == 4
    assert rows["nothing"].raw == rows["nothing"].low == 1.0
    assert 0.0 < rows["inertica"].raw < 0.1 and 0.0 < rows["plain pipeline"].raw < 0.1
    assert rows["inertica"].consistent is True and rows["inertica"].settings == () and rows["plain pipeline"].consistent is None
    assert np.isnan(rows["failing"].raw) and rows["failing"].problem == "this does not work"
    text = page(done)
    best = min(rows["inertica"].raw, rows["plain pipeline"].raw)
    assert f"**{100 * best:.2f}**" in text and "failing on arm, run1, 70 %: this does not work" in text
    assert "Records that were not in the folder: other." in text and "| arm | here | Apache-2.0 |" in text


def test_intervals_are_counted_where_the_truth_is_known(data: Path) -> None:
    (data / "logs.yaml").write_text(yaml.safe_dump([{**ENTRY, "truth": "arm.urdf"}]))
    (row,) = ia.benchmark(data, data / "logs.yaml", programs=["inertica"], short=True).rows
    (record,) = records(data, data / "logs.yaml")
    split = next(iter(record.splits()))
    result = ia.identify(data / "arm" / "arm.urdf", [w.path(record.folder) for w in split.fit])
    assert row.covered == ia.against_truth(result, str(data / "arm" / "arm.urdf")).covered and row.covered[1] > 10
    assert f"| {row.covered[0]} of {row.covered[1]} |" in page(run.Benchmark((row,), (record,)))


def test_splits_are_frozen(data: Path) -> None:
    arm, _ = records(data, data / "logs.yaml")
    splits = list(arm.splits())
    assert [s.name for s in splits] == ["run1, 70 %", "run2, 70 %", "all but run1", "all but run2"]
    assert (splits[0].fit[0].start, splits[0].fit[0].end, splits[0].test.end) == (0.5, pytest.approx(6.8), 9.5)
    assert [w.file for w in splits[2].fit] == ["run2.csv.gz"] and splits[2].test.file == "run1.csv.gz"


def test_what_programs_are_told_is_what_a_user_knows(data: Path) -> None:
    arm, _ = records(data, data / "logs.yaml")
    known = replace(arm, gains=(1.0, 2.0, 3.0), springs=(2,))
    assert programs.Inertica().settings(known) == ("current gains",)
    assert set(programs.Plain().settings(known)) == {
        "cut-off of positions", "cut-off of columns", "motor side", "springs", "current gains",
    }  # fmt: skip
    card = yaml.safe_load(known.card(data).read_text())
    assert card["torque"] == {"from": "current", "gain": [1.0, 2.0, 3.0]} and "spring" not in str(card)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"modl": "x"}, "arm: there is no key 'modl'; did you mean 'model'"),
        ({"positions": "fast"}, "arm: 'fast' where float should stand"),
        ({"windows": None}, "arm: "),
    ],
)
def test_a_wrong_manifest_is_one_sentence(data: Path, change: dict[str, object], said: str) -> None:
    (data / "logs.yaml").write_text(yaml.safe_dump([{**ENTRY, **change}]))
    with pytest.raises(ia.FileError, match=r"logs\.yaml: ") as caught:
        records(data, data / "logs.yaml")
    assert said in str(caught.value)


def test_a_record_whose_file_no_system_could_name_is_not_there(data: Path) -> None:
    assert not available(replace(records(data)[0], model=5000 * "a"))


def test_the_built_in_manifest_names_sources_and_licences(tmp_path: Path) -> None:
    known = records(tmp_path, MANIFEST)
    assert len(known) == 10 and len({r.name for r in known}) == 10 and not any(available(r) for r in known)
    assert sum(bool(r.published and r.licence) for r in known) == 9


def test_the_command(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PROGRAMS", {"nothing": Nothing()})
    words = ["benchmark", str(data), "--manifest", str(data / "logs.yaml")]
    assert main([*words, "--records", "--json"]) == 0
    assert [r["available"] for r in json.loads(capsys.readouterr().out)["records"]] == [True, False]
    assert main([*words, "-o", str(data / "page.md"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {"robot", "program", "raw", "low", "consistent", "time", "settings"} <= set(rows[0]) and len(rows) == 4
    assert (data / "page.md").read_text().startswith("# Leaderboard")
    assert main([*words, "--only", "nobody"]) == 2 and "there is no record 'nobody'" in capsys.readouterr().err
    assert main(["benchmark", str(data / "empty")]) == 2 and "holds none of the records" in capsys.readouterr().err


def test_figaroh_where_it_is_installed(data: Path) -> None:
    pytest.importorskip("figaroh")
    (row,) = ia.benchmark(data, data / "logs.yaml", programs=["FIGAROH"], short=True).rows
    assert row.raw < 0.2 and row.consistent is None


def test_mujoco_sysid_where_it_is_installed(data: Path) -> None:
    program = programs.MujocoSysid()
    if program.missing():
        pytest.skip("mujoco.sysid is not installed here")
    (row,) = ia.benchmark(data, data / "logs.yaml", programs=[program.name], short=True).rows
    assert row.raw < 0.2 and row.consistent is True


def test_what_mujoco_sysid_fits_is_the_model_of_the_file(data: Path) -> None:
    """Before the fit its torques are ours, joint by joint."""
    if programs.MujocoSysid().missing():
        pytest.skip("mujoco.sysid is not installed here")
    from inertica.benchmark.mujoco_sysid import Fit

    robot = ia.load(data / "arm" / "arm.urdf")
    motion = tuple(np.random.default_rng(1).uniform(-1.0, 1.0, (3, 10, 3)))
    links = robot.prior.replaced({name: 0.0 for name in robot.layout.names if name[:2] in ("Ia", "Fv", "Fc")})
    wanted = ia.Engine(robot.layout).inverse_dynamics(*motion, links.values)
    np.testing.assert_allclose(Fit(data / "arm" / "arm.urdf", False).predict(motion), wanted, rtol=1e-9, atol=1e-9)
