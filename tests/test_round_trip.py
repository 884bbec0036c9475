"""Typed values to JSON and back: whatever is a field is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import pair
from inertica.checks.findings import Finding, Quality
from inertica.documents import INLINE, ONE_BASED, infinite, plain, typed
from inertica.errors import FileError, InputError
from inertica.estimators.structure.bandwidth import BandGain
from inertica.guard import Comparison
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.recipe import Recipe
from inertica.validation.lack_of_fit import FamilyTest, LackOfFit
from inertica.workflow.friction.bristles import Bristles, JointFriction
from inertica.workflow.identify import reasons
from inertica.workflow.identify.choice import Alternative, Choice, readable
from inertica.workflow.identify.mount import Mount
from inertica.workflow.identify.result import OWN_FORM, RESULT, Identification
from inertica.workflow.identify.saved import read_stamped, stamped_text

FRICTION = JointFriction("shoulder", "lugre", {"sigma0": 1e4}, {"sigma0": math.inf, "fc": 0.1}, 0.2, 0.1)
TRIED = Alternative("1 Hz", 0.1, True, "joint 1", 1.0, "Hz", "a")
COMPARED = Comparison(0.1, 0.12, -4.0, 10)
REASONS = (
    reasons.Words("so it is"), reasons.Stated(), reasons.Outliers(0.01, 5.0, {"wls": 0.1, "irls": 0.09}),
    reasons.Outliers(0.0, 5.0, {}),
    reasons.HeldMasses("2, 3", 3.0, True, COMPARED), reasons.RoundedFriction(False, COMPARED),
    reasons.CorrectedPredictions(True, COMPARED), reasons.FollowsPosition(COMPARED),
    reasons.Friction({"stribeck": 3.3, "saturating": 4.5}, 0.02, reasons.Piece("stribeck", 2, 0.1, -1.5), COMPARED),
    reasons.RefinedShapes(0.1, True), reasons.SharedBandwidth((12.0, 14.0), None),
    reasons.Widening(1.5, 4, 0.3, True, "", False, True), reasons.Widening(1.5, 0, None, False, "no loop is known", True, False),
    reasons.BandwidthOfFit(3.0, 6.0, 12.0, BandGain(10.0, 12.0, 0.98, 0.97), COMPARED, 0.02, 0.05, 7), reasons.StatedCutoff(),
    reasons.SearchedDelay("torque lags on all joints", COMPARED, True), reasons.SearchedDelay("none shows in these data", None, False),
    reasons.EveryRow(0.2, 5.0, None), reasons.EveryRow(0.2, 5.0, COMPARED),
    reasons.EveryRow(0.2, 5.0, COMPARED, reasons.BandwidthOfFit(3.0, 6.0, 6.0, None, None, 0.1, 0.2, 3)),
    reasons.LoadWidening(1.2, 1.1, "no loop is known"),
)  # fmt: skip
"""One of every kind at least."""

EVERYTHING: dict[str, Any] = {
    "recipe": Recipe(filter=Butterworth(9.0, 2), delay=(0.001, 0.002), period="detect", prediction=Butterworth(20.0)),
    "choices": (
        Choice("friction", "viscous", reasons.Words("it brakes"), False, (TRIED,), 0.1, 0.2, True),
        *(Choice(type(reason).__name__, "20 Hz", reason, candidates=(TRIED,)) for reason in REASONS),
    ),
    "time": {"fit": 0.25},
    "warnings": ("a", "b"),
    "logs": {"identification": ("a, b.csv", "c.csv@1:2"), "d.csv": ("d.csv",)},
    "speeds": (1.5, 2.5),
    "check": Quality("pair", ("a",), (Finding("clock", "note", "it jitters", "look", "a", {"worst": 3.0}),)),
    "lack_of_fit": LackOfFit((FamilyTest("time", True, "", 2, 4.0, 1e-5, "by 20 %", True),), ("time",), 4, 0.01),
    "gravity": Mount(
        (0.0, 0.0, -9.8), (0.0, 0.1, -9.8), "it leans", True, True, True, (1.0, 2.0), (0.1, 0.2),
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), 1e-4, "which way", (0.3, 0.2),
    ),
    "command": "inertica identify",
    "shape_std": {"vs1": math.inf, "vs2": 0.1},
    "bristles": Bristles((FRICTION,), ("slow.csv",)),
}  # fmt: skip
"""A value of its own for every field of the record that a plain fit leaves empty."""


def test_every_field_of_the_record_survives(tmp_path: Path) -> None:
    found = replace(pair.identified(), **EVERYTHING)
    for f in fields(found):
        assert f.name in OWN_FORM or f.default is not getattr(found, f.name), f"{f.name} needs a value in this test"
    found.save(tmp_path / "result")
    again = Identification.load(tmp_path / "result")
    for f in fields(found):
        if f.name not in (*OWN_FORM, "residuals", "before"):
            assert getattr(again, f.name) == getattr(found, f.name), f.name
        assert f.name in OWN_FORM or plain(getattr(again, f.name)) == plain(getattr(found, f.name)), f.name
    assert plain(again.document()) == plain(found.document())


def test_every_reason_says_itself_in_words() -> None:
    assert {type(reason) for reason in REASONS} == set(reasons.Reason.__subclasses__())
    sentences = [choice.sentence for choice in EVERYTHING["choices"]]
    assert len(set(sentences)) == len(sentences) and all(
        20 < len(s) < 600 for s in sentences if s not in ("it brakes", "so it is")
    )


def test_reasons_of_another_version_are_read_as_they_were_written() -> None:
    document = plain(Choice("colour", "red", reasons.Stated())) | {
        "reason": {"kind": "SeenBest", "by": 3},
        "sentence": "red: seen best",
    }
    assert typed(Choice, readable(document)).sentence == "red: seen best"


def test_results_of_the_first_schema_are_read(tmp_path: Path) -> None:
    """What version 1 wrote: no schema, logs in one text, no intervals of fields that are derived now."""
    found = replace(pair.identified(), **EVERYTHING | {"logs": {"identification": ("a.csv", "c.csv")}})
    file = found.save(tmp_path / "result") / RESULT
    document = read_stamped(file)
    for key in ("schema", "log_files", "shape_std"):
        del document[key]
    for key in ("half_width", "residuals"):
        del document["gravity"][key]
    for choice in document["choices"]:
        del choice["reason"]
    document["shapes"] = [{"name": "vs1", "std": None}, {"name": "vs2", "std": 0.1}, {"name": "vs3"}]
    document["lack_of_fit"]["tests"].append({"family": "tilt", "tested": False, "why": "no replicas"})
    file.write_text(stamped_text(document))
    again = Identification.load(tmp_path / "result")
    assert again.logs == found.logs and again.shape_std == found.shape_std and again.check == found.check
    assert [c.sentence for c in again.choices] == [c.sentence for c in found.choices]
    assert again.gravity is not None and again.gravity.half_width == pytest.approx((0.1, 0.2))
    assert again.gravity.residuals == (0.3, 0.2) and again.lack_of_fit is not None
    assert again.lack_of_fit["tilt"].why == "no replicas" and again.lack_of_fit.findings == found.lack_of_fit.findings


def test_results_of_a_later_schema_are_refused(tmp_path: Path) -> None:
    file = pair.identified().save(tmp_path / "result") / RESULT
    file.write_text(stamped_text(read_stamped(file) | {"schema": 99}))
    with pytest.raises(FileError, match="newer version"):
        Identification.load(tmp_path / "result")


@dataclass(frozen=True)
class Inner:
    size: float
    share: float = 1.0


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(metadata=INLINE)
    joint: int | None = field(default=None, metadata=ONE_BASED)
    joints: tuple[int, ...] = field(default=(), metadata=ONE_BASED)
    way: Literal["up", "down"] = "up"
    pair: tuple[str, float] = ("a", 1.0)
    limits: Mapping[str, float] = field(default_factory=dict)
    spread: float = field(default=0.0, metadata=infinite("std"))
    file: Path | None = None


def test_documents_say_what_fields_ask_for() -> None:
    value = Outer(Inner(math.nan, 2.0), 0, (1, 2), "down", ("b", 2.0), {"x": math.inf}, math.inf, Path("a/b"))
    document = plain(value)
    assert document == {
        "size": None, "share": 2.0, "joint": 1, "joints": [2, 3], "way": "down", "pair": ["b", 2.0], "limits": {"x": None},
        "std": None, "file": "a/b",
    }  # fmt: skip
    again = typed(Outer, json.loads(json.dumps(document)) | {"further": 1})
    assert math.isnan(again.inner.size) and again.spread == math.inf and again.file == Path("a/b")
    assert (again.joint, again.joints, again.pair, again.way) == (0, (1, 2), ("b", 2.0), "down")
    assert plain(np.array([1.0, np.nan])) == [1.0, None]


@pytest.mark.parametrize(
    ("kind", "document"),
    [(float, "1"), (int, True), (Literal["a"], "b"), (tuple[int, int], "xy"), (Inner, [1]), (Inner, {}), (int | str, 2.5)],
)
def test_what_does_not_fit_is_refused(kind: Any, document: Any) -> None:
    with pytest.raises(InputError):
        typed(kind, document)


def test_candidates_of_the_first_schema_are_read_from_their_names(tmp_path: Path) -> None:
    found = pair.identified()
    file = found.save(tmp_path / "result") / RESULT
    document = read_stamped(file)
    scores = {"10 Hz, differences": 0.2, "20 Hz, recorded": 0.1, "joint 1: viscous": 0.3}
    choice = {"subject": "filter", "value": "x", "sentence": "x", "automatic": True, "scores": scores}
    del document["schema"]
    file.write_text(stamped_text(document | {"choices": [choice], "logs": {}, "gravity": {}}))
    (again,) = Identification.load(tmp_path / "result").choices
    assert again.scores == scores and again.candidates[1] == Alternative(
        "20 Hz, recorded", 0.1, number=20.0, unit="Hz", series="recorded"
    )
    assert again.candidates[2].group == "joint 1" and again.candidates[2].number is None
