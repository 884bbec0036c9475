"""Delays in `check` are those of `identify`, sentence for sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inertica.checks.delays import delays
from inertica.checks.gate import checked
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.plain import assumed_friction
from inertica.workflow.decisions.delay import choose_delay
from logs.simulated import changed, clean

TX40, PANDA7 = load("tx40"), load("panda7")
BASE = base_model(TX40.layout)


def said_by_identify(description: Description, log: Log) -> str:
    assumed = assumed_friction(description)
    return choose_delay(assumed, base_model(assumed.layout), [log], Recipe(), lambda _: None).choice.sentence


@pytest.mark.parametrize("late", [0, 3])
def test_check_says_what_identify_says(late: int) -> None:
    log = Experiment.of(PANDA7, noise="standard", threads=1).run(catalog_trajectory("panda7").trajectory, seed=11)[0]
    shifted = np.vstack([log.need("tau")[:1]] * late + [log.need("tau")[: len(log) - late]])
    log = replace(log, signals={"q": log.need("q"), "tau": shifted})
    found = delays(PANDA7, [log])
    assert found.text in said_by_identify(PANDA7, log)
    assert found.verdict == ("note" if late else "fine") and len(found.numbers["joints"]) == (7 if late else 0)
    # a torque held over the control period of 1 ms leads by half of it
    assert found.numbers["taken"] == pytest.approx(np.full(7, 1e-3 * late - 0.5e-3), abs=0.1e-3)


def test_no_delay_is_looked_for_in_a_log_that_is_not_what_it_says() -> None:
    wrong = changed(clean(0), tau=-clean(0).tau)
    (found,) = checked(TX40, [wrong], base=BASE).of("delay")
    assert found.verdict == "not testable" and "before the problem is settled" in found.text


def test_records_of_real_robots(real_data: Path, tmp_path: Path) -> None:
    listed = (
        ("tx40", "tx40_joint_public.csv.gz", "coupling: [{motor: 6, joints: [5, 6]}]\n"),
        ("kuka_lwr4", "ident_slow_1.csv.gz@3:25", ""),
    )
    for folder, file, line in listed:
        card = tmp_path / f"{folder}.yaml"
        card.write_text(f"model: {real_data / folder / (folder + '.urdf')}\narmature: true\n{line}")
        description = load(card)
        log = read_log(f"{real_data / folder / file}", description)
        found = delays(description, [log])
        assert found.text in said_by_identify(description, log)
        assert found.verdict == ("note" if folder == "tx40" else "not testable")
