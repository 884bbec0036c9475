"""Several loads in one fit, with torques and with currents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.load_sets import known_load
from inertica.workflow.payload.loads import LoadedLogs, fit_loads

DISC = inertia.from_com(2.5, [0.02, 0.03, 0.05], np.diag([0.006, 0.007, 0.004]))
TOOL = inertia.from_com(1.2, [-0.03, 0.02, 0.08], np.diag([0.004, 0.003, 0.002]))
GAINS = np.array([12.0, 14.0, 9.0, 6.0, 5.0, 4.0])
FIXED = Settings(cutoff=30.0, delay=0.0, friction=("viscous", "coulomb"), gravity=(0.0, 0.0, -9.81))


@pytest.fixture(scope="module")
def records() -> dict[str, Log]:
    description = load("tx40")
    empty = Experiment.of(description, friction="viscous_coulomb", noise="low_position", threads=1)
    out = {}
    listed = (("empty", 0.0 * DISC, "identification"), ("disc", DISC, "identification"), ("tool", TOOL, "identification"))
    for k, (name, added, kind) in enumerate((*listed, ("tool again", TOOL, "validation"))):
        values = np.array(empty.truth.values)
        values[empty.truth.layout.link(5)] += added
        full = replace(empty, truth=Parameters(empty.truth.layout, values, empty.truth.shapes))
        log = full.run(catalog_trajectory("tx40", kind).trajectory, seed=k)[0]
        out[name] = replace(log, signals={**log.signals, "i": log.need("tau") / GAINS})
    return out


def test_a_shared_load_is_found_beside_a_known_one(records) -> None:
    logs = ((records["empty"], None), (records["disc"], "disc"), (records["tool"], "tool"), (records["tool again"], "tool"))
    known = known_load(2.5, [0.02, 0.03, 0.05], [0.006, 0.0, 0.0, 0.007, 0.0, 0.004])
    found = fit_loads("tx40", LoadedLogs(logs, {"disc": known}), frame=(0.0, 0.0, 0.0), settings=FIXED)
    assert set(found.loads) == {"tool"} and found.gains is None
    tool = found.loads["tool"]
    assert tool["M"] == pytest.approx(1.2, rel=0.05) and tool.labels[9] == "determined"
    inside = (tool.intervals[:, 0] <= TOOL) & (tool.intervals[:, 1] >= TOOL)
    assert inside.sum() >= 8


def test_gains_become_absolute_with_one_known_mass(records) -> None:
    logs = ((records["empty"], None), (records["disc"], "disc"), (records["tool"], "tool"))
    loads = {"disc": known_load(2.5)}
    found = fit_loads("tx40", LoadedLogs(logs, loads, estimate_gains=True), frame=(0.0, 0.0, 0.0), settings=FIXED)
    assert found.gains is not None and np.allclose(found.gains.values[1:5] / GAINS[1:5], 1.0, atol=0.1)
    assert found.loads["tool"]["M"] == pytest.approx(1.2, rel=0.1)
    assert found.loads["disc"]["M"] == pytest.approx(2.5, rel=1e-3) and found.loads["disc"].labels[9] == "fixed"
    assert set(found.document()["loads"]) == {"disc", "tool"}


def test_what_cannot_be_told_is_said(records) -> None:
    empty, tool = (records["empty"], None), (records["tool"], "tool")
    with pytest.raises(InputError, match="cannot be told apart"):
        fit_loads("tx40", LoadedLogs((tool,)))
    with pytest.raises(InputError, match="no log carries a load"):
        fit_loads("tx40", LoadedLogs((empty,)))
    with pytest.raises(InputError, match="need a load of known mass"):
        fit_loads("tx40", LoadedLogs((empty, tool), estimate_gains=True))
    with pytest.raises(InputError, match="no log carries the load 'disc'"):
        fit_loads("tx40", LoadedLogs((empty, tool), {"disc": known_load(1.0)}))


def test_an_experiment_file(tmp_path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        "loads: {disc: {mass: 2.5, com: [0, 0, 0.1]}}\ngains: estimate\n"
        "logs:\n  - {log: a.csv, load: none}\n  - {log: b.csv@1:5, load: disc}\n  - {log: c.csv, load: tool}\n"
    )
    read = LoadedLogs.read(path)
    assert read.estimate_gains and [load for _, load in read.logs] == [None, "disc", "tool"]
    assert read.logs[1][0] == str(tmp_path / "b.csv@1:5")
    assert list(read.loads["disc"].known) == [False] * 6 + [True] * 4
    path.write_text("logs:\n  - {log: a.csv}\n")
    with pytest.raises(FileError, match="load"):
        LoadedLogs.read(path)
