"""What a saved result must bring back: edits made in Python, every choice of the preprocessing, arrays that are its own."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

import pair
from inertica.documents import plain, typed
from inertica.errors import FileError, InputError
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.readers import guard
from inertica.preprocessing import filters
from inertica.preprocessing.recipe import Recipe
from inertica.robot.drives import Coupling
from inertica.robot.formula import Formula, FormulaTerm
from inertica.robot.load import load
from inertica.robot.terms import Counterbalance, Spring, UserTerm
from inertica.workflow.identify.result import ARRAYS, RESULT, Result
from inertica.workflow.identify.run import identify
from inertica.workflow.identify.saved import upgraded

OPTIONS = {"method": "wls", "cutoff": 10.0, "delay": 0.0, "friction": ("viscous", "coulomb")}


def rewritten(folder, **arrays):
    """The folder with some of its arrays changed."""
    with np.load(folder / ARRAYS) as file:
        old = {name: file[name] for name in file.files}
    np.savez_compressed(folder / ARRAYS, **(old | {name: change(old[name]) for name, change in arrays.items()}))
    return folder


def test_a_reversed_beta_is_refused(tmp_path):
    folder = rewritten(pair.identified().save(tmp_path / "r"), beta=lambda b: b[::-1])
    with pytest.raises(FileError, match=r"'beta' are not those that result.json states"):
        Result.load(folder)


def test_arrays_of_another_shape_or_robot_are_refused(tmp_path):
    folder = rewritten(pair.identified().save(tmp_path / "a"), covariance=lambda c: c[:-1])
    with pytest.raises(FileError, match="'covariance' has the shape"):
        Result.load(folder)
    folder = rewritten(pair.identified().save(tmp_path / "b"), chi=lambda c: 1.01 * c)
    with pytest.raises(FileError, match="'chi' are not those"):
        Result.load(folder)
    folder = pair.identified().save(tmp_path / "c")
    document = json.loads((folder / RESULT).read_text())
    document["base"].reverse()
    del document["checksum"]  # as earlier versions wrote it
    (folder / RESULT).write_text(json.dumps(document))
    with pytest.raises(FileError, match="base parameters are not those of the robot card"):
        Result.load(folder)


def test_arrays_that_would_fill_the_memory_are_refused_before_they_do(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "FREELY", 2.0 / 1024.0)
    folder = pair.identified().save(tmp_path)
    rewritten(folder, beta=lambda _: np.zeros(2_000_000))
    with pytest.raises(FileError, match=r"result\.npz: unpacks to more than"):
        Result.load(folder)


def test_a_model_that_was_changed_beside_the_result_is_refused(tmp_path):
    """Names of base parameters stay when a link grows longer; what they are sums of does not."""
    folder = pair.identified().save(tmp_path / "r")
    assert np.array_equal(Result.load(folder).estimate.base.T, pair.identified().estimate.base.T)
    model = folder / "model.urdf"
    model.write_text(model.read_text().replace('xyz="0.3 0 0"', 'xyz="0.31 0 0"'))
    with pytest.raises(FileError, match="other sums than those of the model"):
        Result.load(folder)


def edited():
    """A description as a user leaves it in Python: a loop, a fixed parameter, terms, a mounting, none of which a file states."""
    plain = load(pair.folder() / "pair.urdf")
    formula = FormulaTerm("K1", ((0, Formula("sin(3*q1)", 2)),), "N m", at=0)
    described = plain.with_terms((*plain.layout.terms, Spring(1, 0.2), Counterbalance(0), Coupling(1, (0, 1)), formula))
    layout = replace(described.layout, fixed=frozenset({"Ia2", "M1"}), robot=described.robot.with_gravity((0.0, 0.0, -9.7)))
    loop = {"law": "pd", "kp": [100.0, 80.0], "kd": (10.0, 8.0), "rate": 1000.0}
    return replace(described, robot=layout.robot, layout=layout, prior=described.prior.on(layout), loop=loop)


def test_a_description_edited_in_python_survives_saving(tmp_path):
    described = edited()
    result = identify(described, [pair.folder() / "run1.csv"], **OPTIONS)
    again = Result.load(result.save(tmp_path / "r"))
    assert again.description.layout.names == described.layout.names
    assert again.description.layout.fixed == described.layout.fixed
    assert again.description.robot.gravity == described.robot.gravity
    assert again.description.loop == {"law": "pd", "kp": [100.0, 80.0], "kd": [10.0, 8.0], "rate": 1000.0}
    assert np.array_equal(again.parameters.values, result.parameters.values) and again.labels == dict(result.labels)


def test_a_loop_that_was_taken_away_stays_away(tmp_path):
    described = replace(load("planar2"), loop={"law": "pd", "kp": 5.0, "kd": 1.0, "rate": 500.0})
    pair.write_log(described.source.path, tmp_path / "log.csv")
    result = identify(described, [tmp_path / "log.csv"], **OPTIONS)
    assert Result.load(result.save(tmp_path / "a")).description.loop["kp"] == [5.0, 5.0]
    card = tmp_path / "card.yaml"
    card.write_text("model: planar2\nloop: {law: pd, kp: 5, kd: 1, rate: 500}\n")
    bare = replace(load(card), loop=None)
    result = identify(bare, [tmp_path / "log.csv"], **OPTIONS)
    assert Result.load(result.save(tmp_path / "b")).description.loop is None


def test_what_a_card_cannot_say_is_refused_when_saving(tmp_path):
    plain = load(pair.folder() / "pair.urdf")
    described = plain.with_terms((*plain.layout.terms, UserTerm("Kx", lambda x: {0: x.q[1]})))
    result = identify(described, [pair.folder() / "run1.csv"], **OPTIONS)
    with pytest.raises(InputError, match=r"term Kx is a function in Python.*FormulaTerm"):
        result.save(tmp_path / "r")
    longer = replace(plain.robot, joints=(plain.robot.joints[0], replace(plain.robot.joints[1], position=(0.5, 0.0, 0.0))))
    layout = replace(plain.layout, robot=longer)
    moved = replace(plain, robot=longer, layout=layout, prior=plain.prior.on(layout))
    result = pair.identified()
    base = base_model(layout)
    result = replace(result, description=moved, estimate=replace(result.estimate, base=base))
    with pytest.raises(InputError, match=r"geometry of pair.*change the model file"):
        result.save(tmp_path / "s")


@pytest.mark.parametrize(
    "chosen",
    [
        filters.Butterworth(20.0, 3), filters.Unfiltered(), filters.Fourier(4.0), filters.SavitzkyGolay(0.1, 3),
        filters.SmoothingSpline(7.0), filters.Equiripple(40.0, 90.0),
    ],
)  # fmt: skip
def test_every_field_of_a_recipe_is_kept(chosen):
    """By the fields themselves, so that a field added later is kept, too."""
    recipe = Recipe(
        100.0, "pchip", (0.001, 0.002), (0.0, 0.003), chosen, "recorded", True, 17, None, 2.5, True, 2, None, 3, "first",
        0.02, filters.Butterworth(9.0, 2), "momentum",
    )  # fmt: skip
    assert all(getattr(recipe, f.name) != f.default for f in fields(recipe) if f.name not in ("decimate", "filter"))
    assert typed(Recipe, json.loads(json.dumps(plain(recipe)))) == recipe


def test_recipes_of_earlier_versions_are_read(tmp_path):
    old = {"cutoff": 12.0, "order": 4, "delay": [0.0, 0.1], "velocity": "differences", "decimate": None, "ratio": 5,
           "standstill": 0.01, "interpolation": "cubic"}  # fmt: skip
    document = {"recipe": old, "residual": {}, "logs": {}}
    assert typed(Recipe, upgraded(tmp_path, document)["recipe"]) == Recipe(
        filter=filters.Butterworth(12.0, 4), delay=(0.0, 0.1), ratio=5
    )


def test_several_logs_in_memory_stay_several(tmp_path):
    robot = load(pair.folder() / "pair.urdf")
    logs = [Log.from_arrays(log.t, log.signals, log.joints) for (log,) in pair.logs().values()]
    result = identify(robot, logs[:1], validate=logs, **OPTIONS)
    assert list(result.residuals) == ["identification", f"{logs[0].origin} 1", f"{logs[0].origin} 2"] and len(result.logs) == 3
    first, second = list(result.residuals.values())[1:]
    assert first.raw.all != second.raw.all


@pytest.mark.parametrize("wrong", [{"cutoff": 0.0}, {"cutoff": -3.0}, {"cutoff": float("nan")}, {"decimate": 0.0}])
def test_frequencies_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match="number of Hz greater than zero"):
        identify(pair.folder() / "pair.urdf", [pair.folder() / "run1.csv"], **wrong)


def _without(folder, key):
    document = json.loads((folder / RESULT).read_text())
    del document[key], document["checksum"]
    (folder / RESULT).write_text(json.dumps(document))


DAMAGES = {
    "zip": lambda folder: (folder / ARRAYS).write_bytes((folder / ARRAYS).read_bytes()[:-40]),
    "lacks": lambda folder: _without(folder, "recipe"),
    "nested too deeply": lambda folder: (folder / RESULT).write_text("[" * 100_000),
    "no JSON": lambda folder: (folder / RESULT).write_text('{"robot": "pa'),
    "delete its line 'checksum'": lambda folder: (folder / RESULT).write_text(
        (folder / RESULT).read_text().replace('"determined"', '"fixed"', 1)
    ),
}


@pytest.mark.parametrize("sentence", DAMAGES)
def test_a_damaged_result_is_a_sentence(tmp_path, sentence):
    folder = pair.identified().save(tmp_path / "r")
    DAMAGES[sentence](folder)
    with pytest.raises(FileError, match=f"(?i){sentence}"):
        Result.load(folder)
