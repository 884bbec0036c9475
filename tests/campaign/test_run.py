"""Campaigns give the same bytes on every engine and after every crash; what goes wrong is a sentence."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaign import small
from inertica.campaign import engines
from inertica.campaign.bench import bench
from inertica.campaign.engines import Dask, InProcess, Processes, UnitOutcome
from inertica.campaign.plan import Unit, cells, plan
from inertica.campaign.rows import content_hash, read_bytes, read_rows
from inertica.campaign.run import run
from inertica.campaign.spec import Entry, NoiseRow, Spec
from inertica.campaign.store import Store
from inertica.campaign.summary import groups, lines
from inertica.campaign.work import execute
from inertica.campaign.written import FORMATS
from inertica.cli.main import main
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Estimate
from inertica.estimators.registry import METHODS
from inertica.writing import remove_leftovers
from leftovers import left_behind


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A finished campaign, computed in this process."""
    folder = tmp_path_factory.mktemp("campaign")
    store = Store.begin(folder / "store", small.spec(folder))
    state = run(store, InProcess())
    assert (state.done, state.failed) == (4, 0)
    return store


def test_two_processes_give_the_same_bytes(done: Store, tmp_path: Path) -> None:
    other = Store.begin(tmp_path / "store", done.spec)
    run(other, Processes(2))
    assert content_hash(other.files()) == content_hash(done.files())


def test_rows_say_what_they_are(done: Store) -> None:
    rows = read_rows(done.files()).to_pylist()
    assert len(rows) == 2 * 4 * 6 and all(row["ok"] for row in rows)
    assert {row["start"] for row in rows if row["method"] == "ols"} == {-1}
    assert {row["start"] for row in rows if row["method"] == "didim"} == {0, 1}
    row = rows[0]
    assert len(row["beta"]) == len(row["truth"]) == len(row["std"]) == 8
    assert row["spec"] == done.spec.digest and row["version"] and row["code"] and row["robot_hash"]


def test_figures_of_the_truth_hold_noise_and_tracking_only(done: Store) -> None:
    seen = bench(replace(done.spec, noise=(NoiseRow("none"),)), replace(cells(done.spec)[0], noise=NoiseRow("none")))
    log = seen.logs([0], validation=True)[0]
    d_q, d_tau = seen.figures(np.array([seen.truth, 1.5 * seen.truth]), log)
    assert d_q[0] < 1e-9 < 1e-4 < d_q[1]
    assert 0.0 < d_tau[0] < 0.5 * d_tau[1]  # what the loop does not follow is left for the truth, too


def test_tables_average_in_three_ways(done: Store) -> None:
    found = {average: lines(done, average) for average in ("all", "converged", "mean-first")}
    assert len(found["all"]) == 2 * 4 and sorted(line.rank for line in found["all"][:4]) == [1, 2, 3, 4]
    first = sorted(found["all"][:4], key=lambda line: line.rank)
    assert [line.mean["d_par"] for line in first] == sorted(line.mean["d_par"] for line in first)
    first = next(g for g in groups(done) if g.place.method == "didim")
    line = next(x for x in found["all"] if x.place == first.place)
    assert line.rows == (8, 8) and line.mean["d_beta"] == pytest.approx(first.columns["d_beta"].mean())
    averaged = next(x for x in found["mean-first"] if x.place == first.place)
    assert averaged.mean["d_beta"] <= line.mean["d_beta"] + 1e-12 and np.isnan(averaged.sd["d_tau"])
    for form in FORMATS.values():
        assert "didim" in form(found["all"])
    with pytest.raises(InputError, match="unknown average 'best'"):
        lines(done, "best")


def test_the_command_goes_on_where_it_was_ended(done: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, folder = small.written(tmp_path), tmp_path / "store"
    store = Store.begin(folder, done.spec)
    for unit, file in list(zip(plan(done.spec), done.files(), strict=True))[:3]:
        store.finish(unit, file.read_bytes())
    left_behind(folder / "units" / "x.parquet")
    remove_leftovers.cache_clear()  # which this process has done for the folder
    assert main(["campaign", str(path), "-o", str(folder), "--workers", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["finished"], said["units"], said["content"]) == (4, 4, content_hash(done.files()))
    assert not list((folder / "units").glob(".*"))
    assert main(["campaign", "tables", str(folder)]) == 0
    assert "didim" in capsys.readouterr().out
    assert main(["campaign", "report", str(folder)]) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "didim" in page and "<svg" in page


@dataclass(frozen=True)
class Failing:
    """An engine whose first units fail a number of times."""

    times: int
    lost: bool = False
    seen: dict[str, int] = None  # type: ignore[assignment]
    device: str = "cpu"

    @property
    def workers(self) -> int:
        return 1

    def outcomes(self, spec: Mapping[str, Any], units: Sequence[Unit], code: str) -> Iterator[UnitOutcome]:
        for unit in units:
            count = self.seen[unit.id] = self.seen.get(unit.id, 0) + 1
            if count <= self.times:
                yield UnitOutcome(unit, error="ZeroDivisionError: by zero", lost=self.lost)
            else:
                yield UnitOutcome(unit, b"rows")


def test_failed_units_are_tried_again_and_then_recorded(done: Store, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    assert run(store, Failing(2, seen={}), retries=2).failed == 0
    store = Store.begin(tmp_path / "b", done.spec)
    assert run(store, Failing(3, seen={}), retries=2).failed == 4
    failures = store.failures()
    assert {f["error"] for f in failures.values()} == {"ZeroDivisionError: by zero"}
    assert {f["attempts"] for f in failures.values()} == {3}
    assert run(store, Failing(0, seen={})).done == 4 and not store.failures()
    store = Store.begin(tmp_path / "c", done.spec)
    assert run(store, Failing(4, lost=True, seen={}), retries=0).done == 4  # a lost worker says nothing about the unit


class CUBLASError(RuntimeError):
    """As CuPy names it."""


def test_a_full_graphics_card_is_told_in_words(done: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> bytes:
        raise CUBLASError("CUBLAS_STATUS_ALLOC_FAILED")

    monkeypatch.setattr(engines, "execute", full)
    (outcome, *_) = InProcess().outcomes(done.spec.document(), plan(done.spec), "")
    assert "ALLOC_FAILED; the graphics card has no memory left, fewer --workers" in outcome.error


def test_a_changed_spec_is_refused_unless_new(done: Store, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    store.finish(plan(done.spec)[0], b"rows")
    with pytest.raises(InputError, match="another spec; state --new"):
        Store.begin(tmp_path / "a", replace(done.spec, runs=5))
    assert not Store.begin(tmp_path / "a", replace(done.spec, runs=5), new=True).files()


def test_rows_of_two_devices_are_mixed_only_when_asked_for(done: Store, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    run(store, Failing(0, seen={}))
    assert store.devices == ("cpu",)
    run(store, Failing(0, seen={}))  # the same device goes on
    with pytest.raises(InputError, match="computed on the device 'cpu'; go on there with --device cpu, state --mix-devices"):
        run(store, Failing(0, seen={}, device="cuda"))
    run(store, Failing(0, seen={}, device="cuda"), mix_devices=True)
    assert store.devices == ("cpu", "cuda")
    empty = Store.begin(tmp_path / "b", done.spec)
    empty.claim("cuda")
    empty.claim("cpu")  # nothing was computed yet
    assert not empty.devices


def test_rows_say_what_computed_them(done: Store) -> None:
    assert set(read_rows(done.files()).column("device").to_pylist()) == {"cpu"}


def test_two_processes_on_one_folder(done: Store, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    with store.locked(), pytest.raises(InputError, match=f"another process \\({os.getpid()}\\) works on"), store.locked():
        pass


def test_a_folder_is_not_emptied_under_someone_who_works_on_it(done: Store, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    other = replace(done.spec, runs=5)
    with store.locked():
        for new in (False, True):  # no unit is finished yet, so that another spec would be taken
            with pytest.raises(InputError, match="another process"):
                Store.begin(tmp_path / "a", other, new=new)
        store.finish(plan(done.spec)[0], b"rows")
        with pytest.raises(InputError, match="another process"):
            Store.begin(tmp_path / "a", done.spec, new=True)
    assert Store.open(tmp_path / "a").spec == done.spec and len(store.files()) == 1


def test_a_damaged_folder_can_be_begun_anew(done: Store, tmp_path: Path) -> None:
    Store.begin(tmp_path / "a", done.spec)
    for text, sentence in (("{half", "cannot be read .* begin anew with --new"), ("{}", "not what this version writes")):
        (tmp_path / "a" / "campaign.json").write_text(text)
        with pytest.raises(InputError, match=sentence):
            Store.open(tmp_path / "a")
    assert Store.begin(tmp_path / "a", done.spec, new=True).spec == done.spec
    assert Store.open(tmp_path / "a").spec == done.spec


def test_a_process_killed_before_its_first_file_leaves_a_folder_that_can_be_used(done: Store, tmp_path: Path) -> None:
    for name in ("units", "failed"):
        (tmp_path / "a" / name).mkdir(parents=True)
    left_behind(tmp_path / "a" / "campaign.json")
    assert Store.begin(tmp_path / "a", done.spec).pending()
    assert not list((tmp_path / "a").glob(".*"))


def _one_bit_off(file: Path, draw: random.Random) -> bytes:
    content = bytearray(file.read_bytes())
    place = draw.randrange(8 * len(content))
    content[place // 8] ^= 1 << place % 8
    return bytes(content)


@pytest.fixture
def copied(done: Store, tmp_path: Path) -> Store:
    """The finished campaign in a folder that a test may damage."""
    return Store.open(shutil.copytree(done.path, tmp_path / "copy"))


def test_every_flipped_bit_of_a_row_file_is_found(copied: Store) -> None:
    """Six of 150 changed a table silently when files had no checksum."""
    file, draw = copied.files()[1], random.Random(3)
    content = file.read_bytes()
    for k in range(150):
        file.write_bytes(_one_bit_off(file, draw))
        os.utime(file, ns=(k, k))  # files are checked once per process and time of writing
        assert copied.damaged() == [plan(copied.spec)[1].id] and len(copied.files()) == 3
        file.write_bytes(content)


def test_a_flipped_bit_of_the_manifest_is_found(copied: Store) -> None:
    """But in white space between its values, which says nothing."""
    file, draw = copied.path / "campaign.json", random.Random(4)
    content, same = file.read_bytes(), json.loads(file.read_bytes())
    for _ in range(150):
        file.write_bytes(changed := _one_bit_off(file, draw))
        with suppress(ValueError):
            if json.loads(changed) == same:
                file.write_bytes(content)
                continue
        with pytest.raises(InputError, match=re.escape(str(file))):
            Store.open(copied.path)
        file.write_bytes(content)


@pytest.mark.parametrize("damage", [lambda f: f.write_bytes(f.read_bytes()[:-20]), lambda f: f.write_bytes(b"")])
def test_a_damaged_unit_is_named_and_computed_again(
    copied: Store, damage: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    content = content_hash(copied.files())
    damage(copied.files()[2])
    unit, folder = plan(copied.spec)[2].id, str(copied.path)
    for action, code in (("status", 0), ("tables", 0), ("report", 0)):
        assert main(["campaign", action, folder]) == code
        assert f"unit {unit} is damaged" in capsys.readouterr().err
    assert main(["campaign", "resume", folder, "--workers", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    assert f"unit {unit} is damaged: not the bytes that were written; it is computed again" in err
    assert (json.loads(out)["content"], json.loads(out)["damaged"]) == (content, [])
    assert len(list((copied.path / "units").iterdir())) == 4


def test_rows_of_an_earlier_version_have_no_checksum_and_are_read(copied: Store) -> None:
    content, files = content_hash(copied.files()), copied.files()
    for file in files:
        file.rename(file.with_name(file.name.partition("-")[0] + ".parquet"))
    assert content_hash(copied.files()) == content
    copied.files()[0].write_bytes(b"PAR1 no more")
    assert copied.damaged() == [plan(copied.spec)[0].id]


def test_a_damaged_note_of_a_failure_is_a_note(copied: Store) -> None:
    (copied.path / "failed" / "x.json").write_text("[" * 100_000)
    assert "is damaged" in copied.failures()["x"]["error"]


def test_without_pyarrow_nothing_is_computed(
    done: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for words in (["--workers", "1"], ["--plan"]):
        assert main(["campaign", str(small.written(tmp_path)), "-o", str(tmp_path / "new"), *words]) == 1
        assert "needs the package pyarrow" in capsys.readouterr().err
    assert main(["campaign", "resume", str(done.path)]) == 1
    assert not (tmp_path / "new").exists()


def test_errors_of_an_engine_are_not_taken_for_a_full_disk(done: Store, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "a", done.spec)
    with pytest.raises(ConnectionResetError), store.locked():
        raise ConnectionResetError("scheduler")


def test_full_disks_and_foreign_folders_are_sentences(done: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.begin(tmp_path / "a", done.spec)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InerticaError, match="No space left on device"):
        store.finish(plan(done.spec)[0], b"rows")
    assert not store.files() and not list((tmp_path / "a" / "units").iterdir())
    monkeypatch.undo()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is no campaign but holds letter"):
        Store.begin(tmp_path / "b", done.spec)
    (tmp_path / "c").write_text("a file")
    with pytest.raises(InerticaError, match="cannot be written"):
        Store.begin(tmp_path / "c" / "store", done.spec)
    with pytest.raises(InputError, match="holds no campaign"):
        Store.open(tmp_path / "b")
    with pytest.raises(InputError, match="c is a file, not the folder of a campaign"):
        Store.open(tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda e: {"beta": np.full_like(e.beta, np.nan)}, "the method found parameters that are no numbers"),
        (lambda e: {"failed": True, "stop_reason": "the filter broke down"}, "the filter broke down"),
    ],
)
def test_what_is_no_answer_becomes_a_row_with_a_sentence(
    change: Callable[[Estimate], dict[str, Any]], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = METHODS["ols"]()

    @dataclass(frozen=True)
    class Broken(type(made)):  # type: ignore[misc]
        def estimate(self, problem: object, rng: object = None) -> object:
            found = super().estimate(problem, rng)
            return replace(found, **change(found))

    monkeypatch.setitem(METHODS, "ols", Broken)
    spec = small.spec(tmp_path)
    rows = read_bytes(execute(spec.document(), plan(spec)[0].document(), "")).to_pylist()
    assert {row["error"] for row in rows if row["method"] == "ols"} == {sentence}
    assert not any(row["ok"] or row["beta"] for row in rows if row["method"] == "ols")
    assert all(row["ok"] for row in rows if row["method"] == "didim")


def test_a_worker_whose_parent_is_gone_before_it_begins_ends() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    code = f"import time; from inertica.campaign.engines import begin_worker; begin_worker({gone.pid}, 1); time.sleep(60)"
    assert subprocess.run([sys.executable, "-c", code], timeout=50, check=False).returncode == 1


def _killed(path: Path, folder: Path, kills: int, *more: str) -> None:
    """Runs the command and kills it at random moments until it ends by itself."""
    draw = random.Random(1)
    command = [sys.executable, "-m", "inertica.cli.main", "campaign", str(path), "-o", str(folder), *more]
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(1.0, 9.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_killed_and_resumed_gives_the_same_bytes(done: Store, tmp_path: Path) -> None:
    _killed(small.written(tmp_path), tmp_path / "store", 1, "--workers", "1")
    assert content_hash(Store.open(tmp_path / "store").files()) == content_hash(done.files())


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_ten_times(done: Store, tmp_path: Path, workers: str) -> None:
    _killed(small.written(tmp_path), tmp_path / "store", 10, "--workers", workers)
    assert content_hash(Store.open(tmp_path / "store").files()) == content_hash(done.files())


@pytest.mark.slow
def test_dask_gives_the_same_bytes(done: Store, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    store = Store.begin(tmp_path / "store", done.spec)
    run(store, Dask(local=2))
    assert content_hash(store.files()) == content_hash(done.files())


@pytest.mark.slow
def test_a_dask_worker_that_dies_is_survived(done: Store, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    store = Store.begin(tmp_path / "store", done.spec)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed = []

        def kill(progress: object) -> None:
            if not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        state = run(store, Dask(cluster.scheduler_address), progress=kill)
    assert killed and (state.done, state.failed) == (4, 0)
    assert content_hash(store.files()) == content_hash(done.files())


@pytest.mark.parametrize("robot", ["scara2", "planar2"])
def test_every_method_has_a_row(robot: str) -> None:
    names = list(METHODS)
    noise = (NoiseRow("row 1", 1e-6, 0.05),)
    methods = tuple(Entry(name, name, filters=("butterworth",)) for name in names)
    seconds, ratio = {"scara2": (2.0, 4), "planar2": (5.0, 1)}[robot]
    spec = Spec("all", (robot,), methods, noise=noise, duration=seconds, cutoff=15.0, border=10, decimate=(ratio,), runs=1)
    rows = read_bytes(execute(spec.document(), plan(spec)[0].document(), "")).to_pylist()
    assert [row["method"] for row in rows] == names
    assert all(row["ok"] or row["error"] for row in rows)
    failed = {row["method"]: row["error"] for row in rows if not row["ok"]}
    assert set(failed) == (
        {"pc-clie", "pc-cloe", "pc-ekf", "pc-ekf-ct"} if robot == "planar2" else set()
    )  # its first link is partly fixed
    assert all("partly fixed" in sentence for sentence in failed.values())
