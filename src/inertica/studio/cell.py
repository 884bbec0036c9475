"""What stands around the robot: floor, a box to stay inside, obstacles, and the clearance that motions keep from all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inertica.errors import InputError
from inertica.excitation.collision import Collisions
from inertica.excitation.safety import AUTO, NONE, surroundings, upwards, usual_floor
from inertica.excitation.solids import Obstacle
from inertica.robot.description import Description
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused

Document = dict[str, Any]

MOST = 50
"""Obstacles."""


@dataclass(frozen=True)
class Cell:
    """Surroundings as `ia.excite` takes them.

    Args:
        floor: height in m, `auto` or `none`.
        box: lowest and highest corner.
        obstacles: boxes, spheres and cylinders in the base frame.
        clearance: m; None for the usual one.
    """

    floor: float | str = AUTO
    box: tuple[float, ...] | None = None
    obstacles: tuple[Obstacle, ...] = ()
    clearance: float | None = None

    @classmethod
    def of(cls, arguments: Arguments) -> Cell:
        """From the form of the page, or from what was remembered; sizes and corners that cannot be are refused with a sentence."""
        floor: float | str = arguments.word("floor", (AUTO, NONE)) if isinstance(arguments.values.get("floor"), str) else AUTO
        if (height := arguments.values.get("floor")) is not None and not isinstance(height, str):
            floor = arguments.number("floor", None, -100.0, 100.0)
        box = tuple(arguments.numbers("box", 6)) if "box" in arguments else None
        if box is not None and not all(low < high for low, high in zip(box[:3], box[3:], strict=True)):
            raise Refused("the working box needs a highest corner above its lowest one in x, y and z", 400)
        obstacles = arguments.values.get("obstacles") or []
        if not isinstance(obstacles, list) or len(obstacles) > MOST or not all(isinstance(o, Mapping) for o in obstacles):
            raise Refused(f"'obstacles' should be a list of at most {MOST} objects", 400)
        clearance = arguments.number("clearance", None, 1e-4, 10.0) if "clearance" in arguments else None
        return cls(floor, box, tuple(_obstacle(Arguments(o), k + 1) for k, o in enumerate(obstacles)), clearance)

    def document(self) -> Document:
        obstacles = [{"kind": o.kind, "size": list(o.size), "position": list(o.position)} for o in self.obstacles]
        box = None if self.box is None else list(self.box)
        return {"floor": self.floor, "box": box, "obstacles": obstacles, "clearance": self.clearance}

    @property
    def options(self) -> dict[str, Any]:
        """What differs from the defaults of `ia.excite`."""
        options = {"box": self.box, "obstacles": self.obstacles or None, "clearance": self.clearance}
        known = {key: value for key, value in options.items() if value is not None}
        return known if self.floor == AUTO else {"floor": self.floor, **known}

    def bodies(self, description: Description) -> Collisions:
        """The robot and everything it must not touch."""
        return surroundings(description, self.floor, self.box, self.obstacles, self.clearance)

    def scene(self, description: Description) -> Document:
        """What the page draws: the cell with the floor's height, None where there is none, and which way is up."""
        height = usual_floor(description) if self.floor == AUTO else None if self.floor == NONE else self.floor
        return self.document() | {"height": height, "up": list(upwards(description.robot))}

    @property
    def words(self) -> list[str]:
        """Options of `inertica excite`."""
        out = [] if self.floor == AUTO else [f"--floor={_said(self.floor)}"]
        out += [] if self.box is None else ["--box=" + ",".join(map(_said, self.box))]
        for o in self.obstacles:
            out += ["--obstacle", f"{o.kind}:{','.join(map(_said, o.size))}@{','.join(map(_said, o.position))}"]
        return out if self.clearance is None else [*out, "--clearance", _said(self.clearance)]

    @property
    def python(self) -> list[str]:
        """Arguments of `ia.excite`."""
        obstacles = ", ".join(f'Obstacle("{o.kind}", {o.size}, {o.position})' for o in self.obstacles)
        return [f"{key}={f'[{obstacles}]' if key == 'obstacles' else repr(value)}" for key, value in self.options.items()]


def _obstacle(arguments: Arguments, number: int) -> Obstacle:
    kind = arguments.word("kind", ("box", "sphere", "cylinder"))
    size = tuple(arguments.numbers("size", {"box": 3, "sphere": 1, "cylinder": 2}[kind]))
    x, y, z = arguments.numbers("position", 3)
    try:
        return Obstacle(kind, size, (x, y, z))
    except InputError as error:
        raise Refused(f"obstacle {number}: {error}", 400) from error


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"
