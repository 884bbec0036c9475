"""Whether everything that a spec names is there: robots, trajectories, gains, presets, filters, methods and their options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.campaign.spec import Entry, Spec
from inertica.dynamics.noise import DISTRIBUTIONS
from inertica.dynamics.simulate import INTEGRATORS
from inertica.errors import InputError, nearest
from inertica.estimators.options import with_options
from inertica.estimators.registry import method
from inertica.excitation.files import catalog_trajectory, load_trajectory
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.experiment import noise_preset
from inertica.experiment.loop import ControlLoop
from inertica.experiment.truth import true_parameters
from inertica.preprocessing.filters import FILTERS
from inertica.robot.description import Description
from inertica.robot.friction import check_laws, law
from inertica.robot.load import load
from inertica.robot.plain import with_laws, with_sign_width
from inertica.robot.yamlfile import Item


def check_spec(spec: Spec, keys: Mapping[str, Item]) -> None:
    """Refuse a spec that cannot be run, at the line of the word that is wrong."""
    described = []
    for item, name in zip(keys["robots"].items(), spec.robots, strict=True):
        with item.located():
            described.append(simulated_robot(name, spec.sign_width))
    for item, entry in zip(keys["methods"].items(), spec.methods, strict=True):
        _check_entry(item, entry)
        with item.located():
            if [e.label for e in spec.methods].count(entry.label) > 1:
                raise InputError(f"two methods are called '{entry.label}'; give one of them another label")
    _words(keys, "distributions", spec.distributions, DISTRIBUTIONS, "distribution of noise")
    if "integrator" in keys:
        with keys["integrator"].located():
            _known(spec.integrator, INTEGRATORS, "integrator")
    for description in described:
        _check_robot(spec, keys, description)


def _check_entry(item: Item, entry: Entry) -> None:
    """A method, its options and filters, each at its own line."""
    keys = {} if item.is_scalar else item.mapping()
    with keys.get("method", item).located():
        made = method(entry.method)
    if "filters" in keys:
        for options_of, name in zip(keys["filters"].items(), entry.filters, strict=True):
            with options_of.located():
                _known(name, FILTERS, "filter")
    with item.located():
        try:
            with_options(made, entry.options)
        except InputError:
            for name, options_of in keys["options"].mapping().items():  # which of them it is
                with options_of.located():
                    with_options(made, {name: entry.options[name]})
            raise


def _check_robot(spec: Spec, keys: Mapping[str, Item], description: Description) -> None:
    stated = keys["trajectories"].mapping() if "trajectories" in keys else {}
    for kind, name in (("identification", spec.identification), ("validation", spec.validation)):
        with stated.get(kind, keys["robots"]).located():
            trajectory = trajectory_of(description, name)
            if trajectory.n != description.robot.n:
                raise InputError(
                    f"the trajectory '{name}' moves {trajectory.n} joints, {description.name} has {description.robot.n}"
                )
    with keys["robots"].located():
        loop = ControlLoop.of(description)
    if "loops" in keys:
        for item in keys["loops"].items():
            _check_factors(item, description, loop)
    if "noise" in keys:
        for item, noise in zip(keys["noise"].items(), spec.noise, strict=True):
            with item.located():
                if noise.preset is not None and noise.preset != "none":
                    noise_preset(description, noise.preset)
    if "friction" in keys:
        with keys["friction"].located():
            true_parameters(description, spec.data_friction)
            with_model_friction(description, spec.model_friction)


def _check_factors(item: Item, description: Description, loop: ControlLoop) -> None:
    """Gains of a row of loops: names, and one factor or one per joint."""
    sides = item.mapping()
    for gain, factors in ((k, v) for side in ("data", "model") if side in sides for k, v in sides[side].mapping().items()):
        with factors.located():
            _known(gain, loop.gains, f"gain of {description.name}'s loop")
            if factors.is_list and len(factors.items()) != description.robot.n:
                raise InputError(
                    f"{len(factors.items())} factors of '{gain}' for {description.robot.n} joints; state one, or one each"
                )


def simulated_robot(name: str, sign_width: float | None) -> Description:
    """A robot by its name or file, the sign of its dry friction smooth over a width when one is stated."""
    plain = load(name)
    return plain if sign_width is None else with_sign_width(plain, sign_width)


def trajectory_of(description: Description, name: str) -> Trajectory:
    """A trajectory of the catalog robot by its kind, or from a file."""
    if Path(name).suffix:
        return load_trajectory(name)
    return catalog_trajectory(description.name, name).trajectory


def with_model_friction(description: Description, laws: tuple[str, ...] | None) -> Description:
    """The robot with the friction that is to be identified."""
    if laws is None:
        return description
    chosen = [law(name, j, description.robot) for j in range(description.robot.n) for name in laws]
    check_laws(chosen)
    return with_laws(description, chosen).with_loads()


def _words(keys: Mapping[str, Item], key: str, values: tuple[str, ...], choices: Mapping[str, object], what: str) -> None:
    if key in keys:
        for item, value in zip(keys[key].items(), values, strict=True):
            with item.located():
                _known(value, choices, what)


def _known(word: str, choices: Mapping[str, object], what: str) -> None:
    if word not in choices:
        raise InputError(f"unknown {what} '{word}'; {nearest(word, choices)}")
