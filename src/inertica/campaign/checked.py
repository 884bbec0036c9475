"""Whether everything that a spec names is there: robots, trajectories, gains, presets, filters, methods and their options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inertica.campaign.spec import Spec
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
from inertica.robot.plain import with_laws
from inertica.robot.yamlfile import Item


def check_spec(spec: Spec, keys: Mapping[str, Item]) -> None:
    """Refuse a spec that cannot be run, at the line of the word that is wrong."""
    described = []
    for item, name in zip(keys["robots"].items(), spec.robots, strict=True):
        with item.located():
            described.append(load(name))
    for item, entry in zip(keys["methods"].items(), spec.methods, strict=True):
        with item.located():
            with_options(method(entry.method), entry.options)
            for name in entry.filters:
                _known(name, FILTERS, "filter")
            if [e.label for e in spec.methods].count(entry.label) > 1:
                raise InputError(f"two methods are called '{entry.label}'; give one of them another label")
    _words(keys, "distributions", spec.distributions, DISTRIBUTIONS, "distribution of noise")
    if "integrator" in keys:
        with keys["integrator"].located():
            _known(spec.integrator, INTEGRATORS, "integrator")
    for description in described:
        _check_robot(spec, keys, description)


def _check_robot(spec: Spec, keys: Mapping[str, Item], description: Description) -> None:
    place = keys["trajectories"] if "trajectories" in keys else keys["robots"]
    with place.located():
        for name in (spec.identification, spec.validation):
            found = trajectory_of(description, name)
            if found.n != description.robot.n:
                raise InputError(f"the trajectory '{name}' moves {found.n} joints, {description.name} has {description.robot.n}")
    with keys["robots"].located():
        loop = ControlLoop.of(description)
    if "loops" in keys:
        with keys["loops"].located():
            for row in spec.loops:
                for gain, factor in (*row.data.items(), *row.model.items()):
                    _known(gain, loop.gains, f"gain of {description.name}'s loop")
                    if isinstance(factor, tuple) and len(factor) != description.robot.n:
                        raise InputError(
                            f"{len(factor)} factors of '{gain}' for {description.robot.n} joints; state one, or one each"
                        )
    if "noise" in keys:
        with keys["noise"].located():
            for noise in spec.noise:
                if noise.preset is not None and noise.preset != "none":
                    noise_preset(description, noise.preset)
    if "friction" in keys:
        with keys["friction"].located():
            true_parameters(description, spec.data_friction)
            with_model_friction(description, spec.model_friction)


def trajectory_of(description: Description, name: str) -> Trajectory:
    """A trajectory of the catalog robot by its kind, or from a file."""
    if Path(name).suffix:
        return load_trajectory(name)
    return catalog_trajectory(description.name, name).trajectory


def with_model_friction(description: Description, laws: tuple[str, ...] | None) -> Description:
    """The robot with the friction that is to be identified."""
    if laws is None:
        return description
    chosen = [law(name, j) for j in range(description.robot.n) for name in laws]
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
