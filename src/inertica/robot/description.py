"""What a model file says, in one object: the robot, its layout with the terms, the prior values, and the facts beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.display import paragraph, titled
from inertica.robot.layout import Layout, Parameters
from inertica.robot.model import IDENTITY, ORIGIN, Matrix, Robot, Vector
from inertica.robot.terms import Term


@dataclass(frozen=True)
class Source:
    """Where a description came from, so that values can be written back into the same file.

    Args:
        format: dh, urdf or mjcf.
        path: the model file (not the card that points to it).
        card: the robot card, when there is one.
        root, tip, joints: the sub-chain that was selected.
        movable: all joints of the model file that move, in its order; empty where no selection is possible.
        sliding: those of them that slide.
        floating: whether the base moves freely.
    """

    format: str
    path: Path
    card: Path | None = None
    root: str | None = None
    tip: str | None = None
    joints: tuple[str, ...] | None = None
    movable: tuple[str, ...] = ()
    sliding: tuple[str, ...] = ()
    floating: bool = False

    @property
    def selection(self) -> dict[str, Any]:
        """What `reduce` and writers are told of the part of the file that was selected."""
        return {"root": self.root, "tip": self.tip, "joints": self.joints, "floating": self.floating}


@dataclass(frozen=True)
class Contact:
    """A link of the model file on which the surroundings act.

    Args:
        name: of the link, as columns of a log call it.
        link: 0-based robot link that it belongs to.
        rotation, position: of its frame in the frame of that link.
    """

    name: str
    link: int
    rotation: Matrix = IDENTITY
    position: Vector = ORIGIN


@dataclass(frozen=True)
class Description:
    """A robot as a model file or card describes it.

    Args:
        robot: geometry, limits, gravity.
        layout: its parameters, with the terms the file or card asks for.
        prior: values of the file (CAD or reference), origin says which.
        source: the file.
        friction_stated: whether friction was stated; when not, identification chooses.
        loop: control law and gains as stated (`law`, `kp`, `kd`, `ki`, `rate`, ...), joint-side SI units; None when not stated.
        noise: named noise presets: name -> {q: sd in rad (number or per joint), tau: sd in N m, ...}.
        sensors: what `simulate` records with: `rate`, `position_step`, `torque_step`.
        friction_sets: other stated friction values by name (stribeck, lugre, ...), for simulation.
        home: joint coordinates of the home pose.
        log: how a log of this robot is to be read: `columns`, `log_joints`, `units`, `rate`, `torque`, `transmission`, `side`,
            `most_unpacked`, `topic`, `episode`, `features`.
        trust: trust in the file's own values, as stated under `prior`.
        constraints: what the user knows of masses, geometry and symmetry, as `stated.read_constraints` leaves it.
        reference: published numbers and remarks kept with a catalog robot; free form.
        notes: remarks of the reader, one sentence each.
        gravity_stated: whether a card states gravity (True) or leaves it to the data (`auto`, False); None when it does not say.
        shapes: capsules stated for links: 0-based link (-1 the base) -> (start, end, radius) in the link's frame; see `outline`.
        contacts: where the surroundings act on a robot with a floating base; None where nothing is stated.
        base_at_rest: the base stands still on a sensor that measures the force on it; its rows are those of a floating base.
        controller: values that the controller computes torques with, where they are no longer those of `prior`.
    """

    robot: Robot
    layout: Layout
    prior: Parameters
    source: Source
    friction_stated: bool = False
    loop: Mapping[str, Any] | None = None
    noise: Mapping[str, Any] = field(default_factory=dict)
    friction_sets: Mapping[str, Any] = field(default_factory=dict)
    home: tuple[float, ...] = ()
    log: Mapping[str, Any] = field(default_factory=dict)
    trust: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    gravity_stated: bool | None = None
    sensors: Mapping[str, Any] = field(default_factory=dict)
    shapes: Mapping[int, tuple[tuple[Vector, Vector, float], ...]] = field(default_factory=dict)
    contacts: tuple[Contact, ...] | None = None
    base_at_rest: bool = False
    controller: Parameters | None = None

    @property
    def name(self) -> str:
        return self.robot.name

    def __repr__(self) -> str:
        friction = "stated" if self.friction_stated else "left to identification"
        values = f"{self.layout.size} parameters ({self.prior.origin})"
        return (
            f"Description({self.name}: {self.robot.driven} joints, {values}, friction {friction}, from {self.source.path.name})"
        )

    def _repr_html_(self) -> str:
        return titled(repr(self), self.robot._repr_html_(), self.prior._repr_html_(), *map(paragraph, self.notes))

    @property
    def gravity_given(self) -> bool:
        """Whether gravity is known: stated by a card, or by a model file that does not simply stand upright."""
        return not self.robot.upright if self.gravity_stated is None else self.gravity_stated

    @property
    def controller_values(self) -> Parameters:
        """What the controller computes torques with, if it does."""
        return self.prior if self.controller is None else self.controller

    def with_prior(self, prior: Parameters) -> Description:
        """The same robot with other values to start from; its controller computes with those it had."""
        return replace(self, prior=prior, controller=self.controller_values)

    def with_gravity(self, gravity: ArrayLike) -> Description:
        """The same robot mounted otherwise; gravity in the base frame."""
        robot = self.robot.with_gravity(gravity)
        prior = _mounted(self.prior, robot)
        controller = None if self.controller is None else _mounted(self.controller, robot)
        return replace(self, robot=robot, layout=prior.layout, prior=prior, controller=controller)

    def with_terms(self, terms: tuple[Term, ...], payloads: tuple[Any, ...] | None = None) -> Description:
        """The same robot with other terms; prior values are carried over by name."""
        layout = replace(self.layout, terms=terms, payloads=self.layout.payloads if payloads is None else payloads)
        return replace(self, layout=layout, prior=self.prior.on(layout))

    def with_loads(self, links: Parameters | None = None) -> Description:
        """The same with the links' moments in load-dependent friction that states none, or only those of the prior.

        Args:
            found: links that load the joints; those of the prior when not given.
        """
        by_prior = self.prior.moments()
        carried = by_prior if links is None else links.moments()
        if not any(carried):
            return self
        terms = tuple(
            replace(t, moments=carried) if t.load in ((), by_prior) else t  # type: ignore[type-var]
            for t in self.layout.terms
        )
        return self if terms == self.layout.terms else self.with_terms(terms)

    def friction_value(self, symbol: str, joint: int) -> float:
        """The stated value of a drive or friction parameter of a 0-based joint; zero where there is none."""
        full = f"{symbol}{joint + 1}"
        if full in self.layout.names:
            return self.prior[full]
        return self.friction_constant("viscous_coulomb", symbol, joint, 0.0)

    def friction_constant(self, law: str, name: str, joint: int, otherwise: float) -> float:
        """A value of a stated friction set, for simulation."""
        stated = self.friction_sets.get(law, {})
        return float(np.broadcast_to(stated[name], self.robot.n)[joint]) if name in stated else otherwise


def _mounted(values: Parameters, robot: Robot) -> Parameters:
    """Values of the same robot mounted otherwise."""
    return Parameters(replace(values.layout, robot=robot), values.values, values.shapes, values.origin)
