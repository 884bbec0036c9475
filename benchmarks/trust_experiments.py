"""Simulated experiments with known truth for trust.py: rows, true friction laws, wrong priors, cards, logs; all kept on disk.

A *row* is a catalog robot with one of its noise presets.  Its runs take the robot's true laws in turn, and with every round of laws
the motions move on by one, so that laws and motions are spread evenly.

True laws (friction values of the catalog; Jaco2's catalog has none, those are ours and `none` is one of its laws):

    viscous_coulomb   Fv dq + Fc sign(dq)
    offset            + off, 30 % of Fc with alternating sign
    directional       Coulomb friction 20 % larger forwards, 20 % smaller backwards; the same torque as Fc and off = 0.2 Fc
    stribeck          + 0.5 Fc exp(-(dq/vs)^2) sign(dq), vs 0.12 of the joint's 95 % speed
    load              + 0.1 |torque of gravity| sign(dq), on joints where gravity varies enough to be seen

A joint on which a constant torque cannot be told from the weight it carries (a vertical slide) gets no offset: that is no friction.
Robots without varying gravity have no load law.

A *defect* of a recorder is put into the finished log (tests/changes.py), so that the same experiment is read with and without it:

    repeats   5 % of the rows repeat the one before
    jitter    stamps off by 14 % of the sampling interval (standard deviation)
    bits      positions of 12 bits a turn; rows with sliding joints have none of it
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

import inertica as ia
from inertica.cli.main import main as command
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.files import catalog_path
from inertica.robot.friction import LAWS as FRICTION_LAWS
from inertica.robot.friction import Offset

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from changes import Columns, jittering_stamps, quantised, repeated_rows

Array = NDArray[np.float64]

VERSION = "1"
"""Of what is below; logs of another version are not used."""

OWN_FRICTION = {"jaco2": {"Fv": (0.2, 0.7, 0.1, 0.3, 0.06, 0.06, 0.025), "Fc": (0.2, 0.5, 0.1, 0.2, 0.05, 0.05, 0.02)}}
"""Link-side friction of robots whose catalog entry has none; ours."""

OFFSET, ASYMMETRY, STRIBECK, STRIBECK_SPEED, MU = 0.3, 0.2, 0.5, 0.12, 0.1
VISIBLE = 0.02
"""Load-dependent friction must vary by this share of Coulomb friction (standard deviation), or the joint has none."""

SPREAD = 0.15
"""Standard deviation of the entries of E in the prior's pseudo-inertia L (1+E)(1+E)' L'; half that of log(Ia), log(Fv), log(Fc)."""

GEOMETRY = (
    *("name", "angles", "types", "dh", "parameter_frame", "base", "gravity", "home", "limits"),
    *("friction", "armature", "links"),
)
"""Keys of a catalog file that a wrong model keeps; values of `links` are drawn anew."""

FRESH = 2000
"""Samples kept of a fresh motion."""

DEFECTS: dict[str, Callable[[int], Callable[[Columns], Sequence[Columns]]]] = {
    "repeats": lambda seed: repeated_rows(0.05, seed),
    "jitter": lambda seed: jittering_stamps(0.14, seed),
    "bits": lambda seed: quantised(12, "q"),
}
"""What a defect does to the columns of a log, given the seed of its draws."""


@dataclass(frozen=True)
class Row:
    """A robot and a noise preset."""

    robot: str
    preset: str

    @property
    def name(self) -> str:
        return f"{self.robot} {self.preset}"

    def has(self, defect: str) -> bool:
        """Whether its logs can have this defect: an encoder counts turns, not what slides."""
        return defect != "bits" or not any(joint.prismatic for joint in ia.load(self.robot).robot.joints)


ROWS = tuple(
    Row(robot, preset)
    for robot, preset in (
        ("scara2", "standard"),
        ("rv2sq", "standard"),
        ("panda7", "standard"),
        ("scara4", "standard"),
        ("tx40", "low_position"),
        ("tx40", "standard"),
        ("tx40", "high_position"),
        ("jaco2", "standard"),
    )
)


@dataclass(frozen=True)
class Truth:
    """A simulated robot.

    Args:
        law: name of its friction law.
        values: standard parameters by name, those of its friction among them (mu and dFs, too).
        pieces: per joint the symbols of its friction: Fv, Fc, off, dFs, mu.
        card: what `inertica simulate` reads.
    """

    law: str
    values: dict[str, float]
    pieces: tuple[tuple[str, ...], ...]
    card: dict[str, Any]

    def value(self, name: str) -> float:
        """The true value of any parameter; zero for one that this robot does not have, such as dFs of a joint without it."""
        symbol, joint = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
        if symbol in ("Fcp", "Fcn"):
            side = 1.0 if symbol == "Fcp" else -1.0
            return self.value(f"Fc{joint}") + side * self.value(f"off{joint}")
        return self.values.get(name, 0.0)

    def stated(self, vs: tuple[float, ...]) -> dict[int, list[Any]]:
        """Friction as a card for identification states it, joint by joint."""
        words = {"Fv": "viscous", "Fc": "coulomb", "off": "offset", "mu": "load"}
        out: dict[int, list[Any]] = {}
        for j, own in enumerate(self.pieces):
            laws: list[Any] = [words[p] for p in own if p in words and not (p == "Fc" and "dFs" in own)]
            out[j + 1] = laws + ([{"stribeck": {"vs": vs[j]}}] if "dFs" in own else [])
        return out


@dataclass(frozen=True)
class World:
    """What is needed of a robot to make its truths.

    Args:
        robot: catalog name.
        speed: (n,) 95 % speeds of the joints on the identification motion.
        loaded: (n,) whether load-dependent friction could be seen.
        offset: (n,) whether a constant torque can be told from weight.
        motions: names of the catalog's trajectories.
    """

    robot: str
    speed: tuple[float, ...]
    loaded: tuple[bool, ...]
    offset: tuple[bool, ...]
    motions: tuple[str, ...]

    @property
    def laws(self) -> tuple[str, ...]:
        first = ("none",) if self.robot in OWN_FRICTION else ()
        last = ("load",) if any(self.loaded) else ()
        return (*first, "viscous_coulomb", "offset", "stribeck", "directional", *last)

    @property
    def vs(self) -> tuple[float, ...]:
        return tuple(float(f"{STRIBECK_SPEED * v:.3g}") for v in self.speed)

    def plan(self, run: int) -> tuple[str, str, str]:
        """True law, motion, and the motion on which predictions are judged, of a run."""
        turn, law = divmod(run, len(self.laws))
        m = len(self.motions)
        return self.laws[law], self.motions[(turn + law) % m], self.motions[(turn + law + 1) % m]


class Cache:
    """A folder of logs, cards and priors; what is not there is made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / f"v{VERSION}"

    def world(self, robot: str) -> World:
        path = self.folder / robot / "world.json"
        if not path.is_file():
            _write(path, json.dumps(asdict(_world(robot))))
        return World(**{k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(path.read_text()).items()})

    def truth(self, robot: str, law: str) -> Truth:
        path = self.folder / robot / f"{law}.json"
        if not path.is_file():
            truth = _truth(self.world(robot), law)
            _write(path.with_suffix(".yaml"), yaml.safe_dump(truth.card, sort_keys=False))
            _write(path, json.dumps(asdict(truth)))
        stored = json.loads(path.read_text())
        return Truth(stored["law"], stored["values"], tuple(map(tuple, stored["pieces"])), stored["card"])

    def fresh(self, robot: str, law: str, motion: str) -> dict[str, Array]:
        """q, dq, ddq, tau of a noise-free experiment."""
        path = self.folder / robot / f"{law}_{motion}.npz"
        if not path.is_file():
            whole, part = (path.with_name(f"{path.stem}.{word}{os.getpid()}.npz") for word in ("whole", "part"))
            self._simulate(robot, law, motion, whole)
            with np.load(whole, allow_pickle=False) as file:
                step = -(-len(file["t"]) // FRESH)
                np.savez(part, allow_pickle=False, **{s: file[f"truth/{s}"][::step] for s in ("q", "dq", "ddq", "tau")})
            whole.unlink()
            part.replace(path)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def log(self, row: Row, run: int, defect: str = "") -> Path:
        """The log of a run, with one of `DEFECTS` or none."""
        if defect:
            return self._spoilt(row, run, defect)
        law, motion, _ = self.world(row.robot).plan(run)
        path = self._run(row, run) / "log.npz"
        if not path.is_file():
            part = path.with_name(f"log.{os.getpid()}.npz")
            self._simulate(row.robot, law, motion, part, "--noise", row.preset, "--seed", str(_seed(row, run)))
            part.replace(path)
        return path

    def _spoilt(self, row: Row, run: int, defect: str) -> Path:
        path = self._run(row, run) / f"log_{defect}.npz"
        if not path.is_file():
            with np.load(self.log(row, run), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            part = path.with_name(f"log_{defect}.{os.getpid()}.npz")
            np.savez(part, allow_pickle=False, **arrays | with_defect(arrays, defect, _seed(row, run)))
            part.replace(path)
        return path

    def card(self, row: Row, run: int, loop: str, friction: Any = "auto") -> Path:
        """A card with a wrong prior, without anything of the truth; `loop` is known or unknown."""
        folder = self._run(row, run)
        path = folder / (f"{loop}.yaml" if friction == "auto" else f"{loop}_stated.yaml")
        if not path.is_file():
            _write(folder / "model.yaml", yaml.safe_dump(wrong_model(row, run), sort_keys=False))
            own = {"loop": _catalog(row.robot)["loop"]} if loop == "known" else {}
            _write(path, yaml.safe_dump({"model": "model.yaml", "friction": friction} | own, sort_keys=False))
        return path

    def kept(self, row: Row, run: int, name: str) -> Path:
        """A file of a run by name, for what several records share."""
        return self._run(row, run) / name

    def _run(self, row: Row, run: int) -> Path:
        return self.folder / row.robot / row.preset / f"run{run:03d}"

    def _simulate(self, robot: str, law: str, motion: str, target: Path, *options: str) -> None:
        self.truth(robot, law)
        target.parent.mkdir(parents=True, exist_ok=True)
        card = self.folder / robot / f"{law}.yaml"
        words = ["simulate", str(card), "-t", str(_trajectory(robot, motion)), "-o", str(target), *options, "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            code = command(words)
        if code:
            raise SystemExit(f"{' '.join(words)}: {said.getvalue()}")


def with_defect(arrays: dict[str, Array], defect: str, seed: int) -> dict[str, Array]:
    """Clock and recorded signals of a log, t (N,) and others (N, n), with a defect."""
    recorded = {name: x for name, x in arrays.items() if re.fullmatch("[a-z]+", name) and x.ndim == 2}
    columns = {"t": arrays["t"]} | {f"{name}{j + 1}": x[:, j] for name, x in recorded.items() for j in range(x.shape[1])}
    (changed,) = DEFECTS[defect](seed)(columns)
    joined = {name: np.column_stack([changed[f"{name}{j + 1}"] for j in range(x.shape[1])]) for name, x in recorded.items()}
    return {"t": changed["t"]} | joined


def wrong_model(row: Row, run: int) -> dict[str, Any]:
    """The catalog's DH file with other inertial, drive and friction values, without loop, noise presets and published numbers."""
    rng = np.random.default_rng([_seed(row, run), 7])
    catalog = _catalog(row.robot)
    model = {key: catalog[key] for key in GEOMETRY if key in catalog}
    return model | {"links": [_wrong_link(link, rng) for link in catalog["links"]]}


def wrong_body(ten: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
    """A body that can exist, off by tens of percent in its own metric, so that a small link is not moved by more than its size."""
    A = np.linalg.cholesky(inertia.pseudo_inertia(ten)) @ (np.eye(4) + SPREAD * rng.standard_normal((4, 4)))
    return inertia.from_pseudo_inertia(A @ A.T)


def _wrong_link(link: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
    values = dict(zip(inertia.NAMES, wrong_body([link[name] for name in inertia.NAMES], rng), strict=True))
    values |= {name: link[name] * np.exp(2.0 * SPREAD * rng.standard_normal()) for name in ("Ia", "Fv", "Fc") if name in link}
    return {name: float(f"{value:.6g}") for name, value in values.items()}


def _world(robot: str) -> World:
    description = ia.load(robot)
    log = Experiment.of(description).run(ia.catalog_trajectory(robot).trajectory)[0]
    q, dq = log.truth["q"], log.truth["dq"]
    weight = np.abs(ia.Engine(description.layout, threads=1).inverse_dynamics(q, 0.0 * q, 0.0 * q, description.prior))
    fc = np.array([_plain_friction(description, "Fc", j) for j in range(description.robot.n)])
    offsets = tuple(Offset(j) for j in range(description.robot.n))
    classes = base_model(replace(description.layout, terms=(*description.layout.terms, *offsets))).classes()
    kinds = ("identification", "validation", *(f"comparison{k}" for k in range(1, 6)))
    return World(
        robot,
        tuple(float(f"{v:.4g}") for v in np.quantile(np.abs(dq), 0.95, axis=0)),
        tuple(bool(x) for x in MU * weight.std(axis=0) > VISIBLE * fc),
        tuple(classes[f"off{j + 1}"] == "alone" for j in range(description.robot.n)),
        tuple(kind for kind in kinds if _trajectory(robot, kind).is_file()),
    )


def _plain_friction(description: Description, symbol: str, j: int) -> float:
    own = OWN_FRICTION.get(description.name)
    return own[symbol][j] if own else description.prior[f"{symbol}{j + 1}"]


def _truth(world: World, law: str) -> Truth:
    description = ia.load(world.robot)
    names, values = description.layout.names, description.prior.values
    out = {n: float(v) for n, v in zip(names, values, strict=True)}
    pieces, friction = [], {}
    for j in range(description.robot.n):
        own = _pieces(world, law, j)
        fc = _plain_friction(description, "Fc", j)
        off = {"offset": OFFSET * (-1.0) ** j, "directional": ASYMMETRY}.get(law, 0.0) * fc
        sizes = {"Fv": _plain_friction(description, "Fv", j), "Fc": fc, "off": off, "dFs": STRIBECK * fc, "mu": MU}
        out |= {f"{symbol}{j + 1}": sizes[symbol] for symbol in own}
        pieces.append(own)
        friction[j + 1] = _simulated(world, law, j, own)
    return Truth(law, out, tuple(pieces), _truth_card(world.robot, friction, out))


def _pieces(world: World, law: str, j: int) -> tuple[str, ...]:
    if law == "none":
        return ()
    more = {"offset": "off", "directional": "off", "stribeck": "dFs", "load": "mu"}.get(law)
    there = {"off": world.offset[j], "mu": world.loaded[j]}.get(more or "", True)
    return ("Fv", "Fc", more) if more and there else ("Fv", "Fc")


def _simulated(world: World, law: str, j: int, own: tuple[str, ...]) -> list[Any]:
    """Friction of one joint of the simulated robot in the words of a card."""
    if not own:
        return []
    if "dFs" in own:
        return ["viscous", {"stribeck": {"vs": world.vs[j]}}]
    if law == "directional" and "off" in own:
        return ["viscous", "directional"]
    load: list[Any] = [{"load": {"mu": MU}} if "mu" in FRICTION_LAWS["load"].__dataclass_fields__ else "load"]
    return ["viscous", "coulomb", *(["offset"] if "off" in own else []), *(load if "mu" in own else [])]


def _truth_card(robot: str, friction: dict[int, list[Any]], values: dict[str, float]) -> dict[str, Any]:
    listed = {j: laws or "none" for j, laws in friction.items()}
    stated = {}
    for j, laws in friction.items():
        words = {next(iter(w)) if isinstance(w, dict) else w for w in laws}
        symbols = {"viscous": ["Fv"], "coulomb": ["Fc"], "offset": ["off"], "stribeck": ["Fc", "dFs"]}
        if "load" in laws:  # where the share is a parameter
            symbols["load"] = ["mu"]
        for symbol in (s for w in words for s in symbols.get(w, [])):
            stated[f"{symbol}{j}"] = values[f"{symbol}{j}"]
        if "directional" in words:
            fc, off = values[f"Fc{j}"], values[f"off{j}"]
            stated |= {f"Fcp{j}": fc + off, f"Fcn{j}": fc - off}
    return {"model": robot, "friction": listed} | ({"parameters": stated} if stated else {})


@lru_cache
def _catalog(robot: str) -> dict[str, Any]:
    """The catalog's file as it stands."""
    read: dict[str, Any] = yaml.safe_load(catalog_path(robot).read_text())
    return read


@lru_cache
def _trajectory(robot: str, kind: str) -> Path:
    return Path(str(resources.files("inertica.excitation") / "catalog" / f"{robot}_{kind}.yaml"))


def _seed(row: Row, run: int) -> int:
    return zlib.crc32(f"{row.name} {run}".encode()) % 2**31


def _write(path: Path, text: str) -> Path:
    """A whole file or none, whatever other processes do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)
    return path
