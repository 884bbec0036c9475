"""What a campaign is: robots, loops, noise, filters, methods, numbers of runs and starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class NoiseRow:
    """Noise of an experiment.

    Args:
        name: for tables.
        q: standard deviation of positions in rad.
        tau: of torques in N m.
        preset: a preset of the robot instead of both.
    """

    name: str
    q: float = 0.0
    tau: float = 0.0
    preset: str | None = None


@dataclass(frozen=True)
class LoopRow:
    """What the experiment's loop and the one that methods simulate differ by.

    Args:
        name: for tables.
        data: gain -> factor on it in the experiment, or one per joint.
        model: the same for the simulations of methods.
    """

    name: str = "known"
    data: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)
    model: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> LoopRow:
        sides = ({k: tuple(v) if isinstance(v, list) else v for k, v in document[side].items()} for side in ("data", "model"))
        return cls(document["name"], *sides)


@dataclass(frozen=True)
class Entry:
    """A method with its options.

    Args:
        label: for tables; unique.
        method: by its name.
        options: name -> word, as for `identify --option`.
        filters: of the positions, each by its name.
    """

    label: str
    method: str
    options: Mapping[str, str] = field(default_factory=dict)
    filters: tuple[str, ...] = ("none",)


@dataclass(frozen=True)
class Spec:
    """A campaign.

    Args:
        name, about: for people.
        robots: catalog names or model files.
        identification, validation: catalog names of trajectories, or files.
        loops, noise, distributions, quantise: axes of the experiment; quantise is the resolution of recorded positions in rad.
        data_friction: of the simulated robot; its own when None.
        model_friction: laws that are identified; the robot's own when None.
        sign_width: rad/s (m/s) over which the sign of dry friction is smooth, tanh(dq / width), in the simulated robot and in the
            identified one; as the robot's own laws have it when None.
        decimate: ratios.
        decimate_of: robot -> ratios of its own.
        cutoff: of filters, in Hz.
        border: samples left out at each end, before decimation.
        integrator: of the experiment.
        duration: of it in s; a period of the trajectory when None.
        methods: to run.
        runs: noise realisations.
        starts: distorted start vectors, shared by all methods and runs; none: the robot's own prior.
        share: standard deviation by which they are distorted.
        seed: of noise and starts.
        block: runs of one unit of work.
    """

    name: str
    robots: tuple[str, ...]
    methods: tuple[Entry, ...]
    about: str = ""
    identification: str = "identification"
    validation: str = "validation"
    loops: tuple[LoopRow, ...] = (LoopRow(),)
    noise: tuple[NoiseRow, ...] = (NoiseRow("none"),)
    distributions: tuple[str, ...] = ("normal",)
    quantise: tuple[float, ...] = (0.0,)
    data_friction: str | None = None
    model_friction: tuple[str, ...] | None = None
    sign_width: float | None = None
    decimate: tuple[int, ...] = (1,)
    decimate_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    cutoff: float | None = None
    border: int = 50
    integrator: str = "rk4"
    duration: float | None = None
    runs: int = 1
    starts: int = 0
    share: float = 0.15
    seed: int = 0
    block: int = 4

    def document(self) -> dict[str, Any]:
        """Plain data from which `Spec.of` makes the same spec."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Spec:
        made = dict(document)
        made["methods"] = tuple(Entry(**{**m, "filters": tuple(m["filters"])}) for m in document["methods"])
        made["loops"] = tuple(LoopRow.of(row) for row in document["loops"])
        made["noise"] = tuple(NoiseRow(**row) for row in document["noise"])
        for name in ("robots", "distributions", "quantise", "decimate"):
            made[name] = tuple(document[name])
        made["decimate_of"] = {robot: tuple(ratios) for robot, ratios in document["decimate_of"].items()}
        laws = document["model_friction"]
        return cls(**{**made, "model_friction": None if laws is None else tuple(laws)})

    def ratios(self, robot: str) -> tuple[int, ...]:
        """Decimation of a robot's rows."""
        return self.decimate_of.get(robot, self.decimate)

    @property
    def digest(self) -> str:
        """Of everything that shapes numbers; name and about do not."""
        return digest({k: v for k, v in self.document().items() if k not in ("name", "about")})


def digest(document: object) -> str:
    """A short hash of plain data."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
