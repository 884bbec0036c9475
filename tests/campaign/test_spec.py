"""Specs are read with exact positions of mistakes; plans are deterministic, ids follow from content."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from campaign import small
from inertica.campaign.bench import bench
from inertica.campaign.plan import Unit, cells, depends_on_start, fits, plan
from inertica.campaign.rows import read_bytes
from inertica.campaign.spec import Entry, Spec
from inertica.campaign.specfile import DEGREES, read_spec, shipped
from inertica.campaign.work import execute
from inertica.errors import FileError, InputError
from inertica.estimators.base import Estimator
from inertica.estimators.options import with_options
from inertica.estimators.registry import method
from inertica.robot.friction import Coulomb, friction_terms

WRONG = {
    "robots: [scara2]": ("robots: [scara]", 2, "scara"),
    "unit: deg}\n  - {name: row 2": ("unit: grad}\n  - {name: row 2", 4, "cannot be 'grad'"),
    "method: adann": ("method: adan", 8, "unknown method 'adan'; did you mean 'adann'"),
    "passes: 1": ("pases: 1", 8, "has no option 'pases'|no method has an option 'pases'"),
    "filters: [none, butterworth]": ("filters: [none, butterwort]", 7, "unknown filter 'butterwort'"),
    "runs: 4": ("runs: 0", 15, "runs should be at least 1"),
    "decimate: [4]": ("decimate: [1.5]", 13, "whole number"),
    "cutoff: 20": ("cut-off: 20", 11, "unknown key 'cut-off'; did you mean 'cutoff'"),
    "border: 10": ("integrator: rk5", 12, "unknown integrator 'rk5'"),
    "starts: 2": ("trajectories: {identification: figure8}", 16, "no figure8 trajectory"),
    "model: {kp: [50, 6]": ("model: {kq: [50, 6]", 10, "unknown gain of scara2's loop 'kq'"),
    "duration: 2": ("distributions: [normal, cauchy]", 14, "unknown distribution of noise 'cauchy'"),
}


@pytest.mark.parametrize("right", WRONG)
def test_mistakes_are_reported_at_their_line(right: str, tmp_path: Path) -> None:
    wrong, line, sentence = WRONG[right]
    with pytest.raises(FileError, match=sentence) as caught:
        small.spec(tmp_path, small.TEXT.replace(right, wrong, 1))
    assert caught.value.line == line


def test_units_and_defaults(tmp_path: Path) -> None:
    spec = small.spec(tmp_path)
    assert spec.noise[0].q == pytest.approx(1e-4 * DEGREES)
    assert [entry.filters for entry in spec.methods] == [("none", "butterworth"), ("butterworth",), ("none",)]
    assert Spec.of(spec.document()) == spec


def test_a_spec_like_another_may_have_other_robots(tmp_path: Path) -> None:
    """What the other says of its robots is neither needed nor in the way, and a mistake is told where it was made."""
    path = tmp_path / "own.yaml"
    path.write_text("like: survey\nrobots: [rv2sq]\n", encoding="utf-8")
    assert read_spec(path).decimate_of == {"rv2sq": (1,)}
    path.write_text("like: survey\nrobots: [tx41]\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"tx41.*did you mean 'tx40'") as caught:
        read_spec(path)
    assert str(caught.value).startswith(f"{path}:2")


def test_a_spec_like_another_takes_its_keys(tmp_path: Path) -> None:
    small.written(tmp_path)
    other = tmp_path / "more.yaml"
    other.write_text("like: small\nruns: 7\n", encoding="utf-8")
    assert read_spec(other) == replace(small.spec(tmp_path), name="more", runs=7)
    other.write_text("like: more\n", encoding="utf-8")
    with pytest.raises(FileError, match="no campaign 'more'"):
        read_spec(other)


def test_a_spec_may_leave_out_methods_of_another(tmp_path: Path) -> None:
    whole = small.spec(tmp_path)
    other = tmp_path / "fewer.yaml"
    gone = whole.methods[0].label
    other.write_text(f"like: small\nwithout: [{gone}]\n", encoding="utf-8")
    assert read_spec(other) == replace(whole, name="fewer", methods=whole.methods[1:])
    other.write_text("like: small\nwithout:\n  - nothing-like-it\n", encoding="utf-8")
    with pytest.raises(FileError, match="no method 'nothing-like-it' to leave out") as caught:
        read_spec(other)
    assert str(caught.value).startswith(f"{other}:3")
    other.write_text(f"like: small\nwithout: [{', '.join(e.label for e in whole.methods)}]\n", encoding="utf-8")
    with pytest.raises(FileError, match="no method is left"):
        read_spec(other)


def test_the_plan_is_deterministic_and_its_ids_follow_from_content(tmp_path: Path) -> None:
    spec = small.spec(tmp_path)
    units = plan(spec)
    assert units == plan(spec) and len(units) == 4 and len({u.id for u in units}) == 4
    assert [u.runs for u in units] == [(0, 1), (0, 1), (2, 3), (2, 3)]  # an early end leaves all conditions with the same runs
    assert [u.cell for u in units] == cells(spec) * 2
    assert [u.id for u in plan(replace(spec, name="other"))] == [u.id for u in units]
    more = {u.id for u in plan(replace(spec, runs=6))}
    assert {u.id for u in units} < more  # further runs leave the others as they are
    assert not {u.id for u in plan(replace(spec, seed=1))} & {u.id for u in units}
    assert [Unit.of(u.document()) for u in units] == units


def test_what_is_computed_once_follows_from_capabilities(tmp_path: Path) -> None:
    once = [name for name in ("ols", "wls", "irls", "tls", "ml", "pc-wls") if not depends_on_start(method(name))]
    assert once == ["ols", "wls", "irls", "tls", "ml", "pc-wls"]
    assert all(depends_on_start(method(n)) for n in ("didim", "clie", "adann", "htrnn", "ridge", "cls-2", "pc-wls+euclidean"))
    assert fits(small.spec(tmp_path)) == 2 * 4 * (2 + 2 + 2)  # noise x runs x (ols twice, adann and didim from two starts)


def test_shipped_specs_are_those_of_the_survey() -> None:
    names = shipped()
    table = [f"mcs-{r}-{k}" for r in ("tx40-1", "tx40-4", "rv2sq-1") for k in range(1, 6)]
    assert {*table, *(f"{n}-quick" for n in table), "survey", "survey-quick"} <= set(names)
    spec = read_spec("mcs-tx40-4-3")
    assert (spec.robots, spec.decimate, spec.runs, spec.starts) == (("tx40",), (4,), 52, 25)
    assert [n.q for n in spec.noise] == [pytest.approx(1e-2 * DEGREES)]
    whole = read_spec("survey")
    assert whole.ratios("tx40") == (1, 4) and whole.ratios("rv2sq") == (1,) and len(whole.noise) == 5
    with pytest.raises(InputError, match="no campaign 'mcs-tx40-1-9'; did you mean"):
        read_spec("mcs-tx40-1-9")


BLOCKS = """\
robots:
  - scara2
loops:
  - name: known
  - name: slow
    model:
      kp: 0.5
      kv: [0.5, 0.5]
noise:
  - {name: row 1, q: 1e-4, tau: 0.05, unit: deg}
  - standard
trajectories:
  identification: identification
  validation: validation
methods:
  - method: ols
    filters:
      - none
      - butterworth
  - method: didim
    options:
      integrator: euler
      iterations: 3
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line", "sentence"),
    [
        ("- butterworth", "- butterwort", 19, "unknown filter 'butterwort'"),
        ("iterations: 3", "iteratons: 3", 23, "'iteratons'; did you mean 'iterations'"),
        ("iterations: 3", "iterations: few", 23, "few"),
        ("kv: [0.5, 0.5]", "kd: 0.5", 8, "unknown gain of scara2's loop 'kd'"),
        ("kv: [0.5, 0.5]", "kv: [0.5]", 8, "1 factors of 'kv' for 2 joints"),
        ("- standard", "- standrd", 11, "standrd"),
        ("validation: validation", "validation: valid", 14, "valid"),
        ("method: didim", "method: didm", 20, "did you mean 'didim'"),
    ],
)
def test_mistakes_deep_in_blocks_are_reported_at_their_own_line(
    right: str, wrong: str, line: int, sentence: str, tmp_path: Path
) -> None:
    assert small.spec(tmp_path, BLOCKS).starts == 0
    with pytest.raises(FileError, match=sentence) as caught:
        small.spec(tmp_path, BLOCKS.replace(right, wrong, 1))
    assert caught.value.line == line


def test_a_spec_may_retain_only_some_methods_of_another(tmp_path: Path) -> None:
    whole = small.spec(tmp_path)
    other = tmp_path / "fewer.yaml"
    other.write_text("like: small\nonly: [didim]\n", encoding="utf-8")
    assert read_spec(other) == replace(whole, name="fewer", methods=whole.methods[2:])
    other.write_text("like: small\nonly: [didin]\n", encoding="utf-8")
    with pytest.raises(FileError, match="no method 'didin' to retain; did you mean 'didim'"):
        read_spec(other)
    labels = {name: sorted(e.label for e in read_spec(name).methods) for name in shipped() if name.startswith("survey")}
    whole = labels["survey-no-kalman"] + labels["survey-regularised"] + labels["survey-kalman"]
    assert sorted(whole) == labels["survey"]
    assert sorted(labels["survey-equations"] + labels["survey-output-error"]) == labels["survey-no-kalman"]


def test_a_smooth_sign_is_that_of_robot_and_model(tmp_path: Path) -> None:
    smooth = small.spec(tmp_path, small.TEXT + "friction: {width: 0.01}\n")
    sharp = small.spec(tmp_path)
    of_both = [bench(spec, cells(spec)[0]) for spec in (sharp, smooth)]
    laws = [t for b in of_both for t in friction_terms(b.experiment.truth.layout.terms) if isinstance(t, Coulomb)]
    assert [law.width for law in laws] == [0.0, 0.0, 0.01, 0.01]
    assert of_both[1].base.layout.terms == of_both[1].experiment.truth.layout.terms
    np.testing.assert_allclose(of_both[1].truth, of_both[0].truth, rtol=1e-9)
    tau = [b.logs([0])[0].truth["tau"] for b in of_both]
    assert 1e-6 < np.abs(tau[1] - tau[0]).max() < 2.0 * max(b.description.friction_value("Fc", 0) for b in of_both)
    with pytest.raises(FileError, match="state it, or other laws"):
        small.spec(tmp_path, small.TEXT + "friction: {width: 0.01, data: stribeck}\n")


def resolved(spec: Spec) -> dict[str, Estimator]:
    return {entry.label: with_options(method(entry.method), entry.options) for entry in spec.methods}


@pytest.mark.parametrize("name", sorted(shipped()))
def test_no_two_lines_of_a_shipped_spec_are_one_estimator(name: str) -> None:
    made = resolved(read_spec(name))
    same = [(a, b) for a, b in combinations(made, 2) if made[a] == made[b]]
    assert not same


def _without_euler(entry: Entry) -> Entry:
    """Whose steps the small robot's stiff loop does not stand."""
    return replace(entry, options={k: v for k, v in entry.options.items() if k != "integrator"})


def test_a_regularised_line_depends_on_its_start(tmp_path: Path) -> None:
    """Fits of the survey's lines on a small motion: lambda = 0.01 gives other estimates than 0, and others for every start."""
    study = small.spec(tmp_path)
    listed = {e.label: e for e in read_spec("survey").methods}
    pairs = [(label.removesuffix(" 0.01"), label) for label in listed if label.endswith(" 0.01")]
    assert [plain for plain, _ in pairs] == ["pc-ols", "pc-wls", "pc-irls", "pc-iv", "pc-didim"]
    methods = tuple(_without_euler(replace(listed[label], filters=("none",))) for pair in pairs for label in pair)
    spec = replace(study, methods=methods, runs=1, block=1, noise=study.noise[:1])
    rows = read_bytes(execute(spec.document(), plan(spec)[0].document(), "")).to_pylist()
    betas = {(row["method"], row["start"]): np.array(row["beta"]) for row in rows}
    for plain, pulled in pairs:
        for k in range(spec.starts):
            free = betas[plain, k] if (plain, k) in betas else betas[plain, -1]
            assert np.linalg.norm(betas[pulled, k] - free) > 1e-6 * np.linalg.norm(free)
        apart = np.linalg.norm(betas[pulled, 0] - betas[pulled, 1])  # what ignores its start gives the same bytes
        assert apart > 1e-9 * np.linalg.norm(betas[pulled, 0])
