"""Robots under position servos, simulated by MuJoCo: logs of commands and positions that no part of the program under test has made.

The simulation is MuJoCo's fourth-order Runge-Kutta method in steps of 0.2 ms: a first-order one leads by half a step and adds a step's
damping to the inertia, which logs show.  Commands are held between the samples of the log and reach the servo late by a real number
of seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP = 2e-4
"""s of a step of the simulation."""

SETTLE = 4.0
"""s that the robot rests at its first command before the log begins."""


@dataclass(frozen=True)
class Link:
    """A body behind a hinge: where it sits on its parent (-1 the base), the hinge's axis, mass, centre and principal inertias."""

    parent: int
    place: tuple[float, float, float]
    axis: tuple[float, float, float]
    mass: float
    center: tuple[float, ...]
    inertia: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Servos:
    """True actuators, (n,) each."""

    armature: Array
    viscous: Array
    coulomb: Array
    delay: Array
    zero: Array
    kp: Array
    kd: Array
    torque_limit: Array


def arm() -> list[Link]:
    """Six joints."""
    x, y, z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    del x
    return [
        Link(-1, (0, 0, 0.10), z, 2.0, (0, 0.01, 0.06), (0.006, 0.006, 0.004)),
        Link(0, (0, 0, 0.12), y, 2.5, (0.01, 0.03, 0.16), (0.025, 0.026, 0.005)),
        Link(1, (0, 0, 0.35), y, 1.6, (0.02, -0.02, 0.12), (0.012, 0.012, 0.003)),
        Link(2, (0, 0, 0.30), z, 0.8, (0, 0.01, 0.05), (0.0025, 0.0025, 0.001)),
        Link(3, (0, 0, 0.10), y, 0.6, (0.01, 0, 0.05), (0.0015, 0.0015, 0.0006)),
        Link(4, (0, 0, 0.09), z, 0.4, (0.02, 0.01, 0.04), (0.0008, 0.0008, 0.0005)),
    ]


def quadruped() -> list[Link]:
    """Four legs of three joints on a base that is held."""
    x, y = (1, 0, 0), (0, 1, 0)
    out: list[Link] = []
    for fore in (1, -1):
        for side in (1, -1):
            hip = len(out)
            out.append(Link(-1, (0.2 * fore, 0.05 * side, 0), x, 0.7, (-0.005 * fore, 0.001 * side, 0), (0.0005, 0.0008, 0.0006)))
            out.append(Link(hip, (0, 0.085 * side, 0), y, 1.0, (-0.004, -0.02 * side, -0.03), (0.0055, 0.005, 0.001)))
            out.append(Link(hip + 1, (0, 0, -0.213), y, 0.25, (0.005, 0, -0.12), (0.0025, 0.0025, 0.0001)))
    return out


def off_by(links: Sequence[Link], share: float, rng: np.random.Generator) -> list[Link]:
    """Links whose masses, centres and inertias are off by a normal share each."""
    return [
        replace(
            link,
            mass=link.mass * (1 + share * rng.normal()),
            center=tuple(c * (1 + share * rng.normal()) for c in link.center),
            inertia=tuple(np.array(link.inertia) * (1 + share * rng.normal())),
        )
        for link in links
    ]


def random_servos(rng: np.random.Generator, n: int, size: float = 1.0) -> Servos:
    """Actuators as hobby arms and quadrupeds have them; `size` scales all that is a torque."""
    return Servos(
        armature=size * rng.uniform(0.005, 0.05, n),
        viscous=size * rng.uniform(0.05, 0.5, n),
        coulomb=size * rng.uniform(0.1, 0.8, n),
        delay=rng.uniform(0.0, 0.02, n),
        zero=0.02 * rng.normal(size=n),
        kp=size * rng.uniform(30.0, 80.0, n),
        kd=size * rng.uniform(0.5, 2.0, n),
        torque_limit=np.full(n, np.inf),
    )


def command(rng: np.random.Generator, n: int, duration: float, rate: float, reach: float = 0.5) -> Array:
    """(N, n) sums of sines, steps and a chirp about a posture of each joint's own; at rest in the beginning."""
    t = np.arange(round(duration * rate)) / rate
    out = np.zeros((len(t), n))
    for j in range(n):
        for f in rng.uniform(0.1, 1.5, 5):
            out[:, j] += reach / (1.5 * (1 + f)) * np.sin(2 * np.pi * f * t + rng.uniform(0, 2 * np.pi))
        for at in np.arange(1 + rng.random(), duration, 2.5):
            out[:, j] += (t > at) * rng.choice([-1, 1]) * 0.25 * reach * rng.random()
        out[:, j] = (out[:, j] - out[0, j]) * np.minimum(1, t / 0.5)
        out[:, j] += 0.2 * rng.normal() + 0.12 * reach * np.sin(2 * np.pi * (0.3 * t + 0.5 * 5.7 / duration * t * t))
    return out


def mjcf(links: Sequence[Link], servos: Servos | None = None, step: float = STEP, frictionloss: bool = True) -> str:
    """The model; without servos, joints have no armature and no friction and nothing drives them."""
    children: dict[int, list[int]] = {}
    for k, link in enumerate(links):
        children.setdefault(link.parent, []).append(k)

    def words(values: Sequence[float]) -> str:
        return " ".join(f"{v:.12g}" for v in values)

    def body(k: int) -> str:
        link = links[k]
        drive = ""
        if servos is not None:
            coulomb = servos.coulomb[k] if frictionloss else 0.0
            drive = f'armature="{servos.armature[k]:.12g}" damping="{servos.viscous[k]:.12g}" frictionloss="{coulomb:.12g}"'
        inner = "".join(body(child) for child in children.get(k, []))
        return (
            f'<body pos="{words(link.place)}"><joint name="j{k + 1}" axis="{words(link.axis)}" {drive}/>'
            f'<inertial pos="{words(link.center)}" mass="{link.mass:.12g}" diaginertia="{words(link.inertia)}"/>{inner}</body>'
        )

    def actuator(k: int) -> str:
        assert servos is not None
        limit = servos.torque_limit[k]
        force = f'forcelimited="true" forcerange="{-limit:.12g} {limit:.12g}"' if np.isfinite(limit) else ""
        return f'<position joint="j{k + 1}" kp="{servos.kp[k]:.12g}" kv="{servos.kd[k]:.12g}" {force}/>'

    drives = "" if servos is None else f"<actuator>{''.join(actuator(k) for k in range(len(links)))}</actuator>"
    return (
        f'<mujoco model="servos"><compiler angle="radian"/><option timestep="{step}" integrator="RK4"/>'
        f"<worldbody>{''.join(body(k) for k in children[-1])}</worldbody>{drives}</mujoco>"
    )


def write_model(links: Sequence[Link], path: Path) -> Path:
    path.write_text(mjcf(links), encoding="utf-8")
    return path


def simulate(
    links: Sequence[Link], servos: Servos, commands: Array, rate: float, step: float = STEP, settle: float = SETTLE
) -> Array:
    """(N, n) positions at the samples of the commands (N, n), which are held from sample to sample."""
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_string(mjcf(links, servos, step))
    N, n = commands.shape
    per_sample = round(1.0 / (rate * step))
    # the mean of the delayed command over every step, so that the delay need be no whole number of steps
    edges = step * np.arange(N * per_sample + 1)
    whole = np.vstack([np.zeros(n), np.cumsum(commands, axis=0) / rate])
    t = np.arange(N + 1) / rate
    gathered = np.stack([np.interp(edges - late, t, whole[:, j]) for j, late in enumerate(servos.delay)], axis=1)
    before = np.minimum(edges[:, None] - servos.delay, 0.0) * commands[0]
    control = np.diff(gathered + before, axis=0) / step - servos.zero
    rest = np.repeat(commands[:1] - servos.zero, round(settle / step), axis=0)
    data = mujoco.MjData(model)
    data.qpos[:] = commands[0] - servos.zero
    state = np.concatenate([[0.0], data.qpos, data.qvel])
    settled, _ = rollout.rollout(model, data, state, rest)
    state = settled[0, -1]
    out, _ = rollout.rollout(model, data, state, control)
    q = out[0, :, 1 : 1 + n]
    return np.vstack([state[1 : 1 + n], q[per_sample - 1 :: per_sample][:-1]])
