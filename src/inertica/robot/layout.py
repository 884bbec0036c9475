"""Layout and Parameters: the ordered list of a robot's parameters, and values for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.display import html_table, titled
from inertica.errors import InputError, nearest
from inertica.frames import Tabular
from inertica.robot import inertia
from inertica.robot.model import Robot
from inertica.robot.terms import Parameter, RigidBody, ShapeParameter, Term

_SLIDING = {"N m": "N", "N m s/rad": "N s/m", "N m/rad": "N/m", "kg m^2": "kg"}


@dataclass(frozen=True)
class Layout:
    """The parameters of a robot in their fixed order.

    Link by link, a floating base first: ten inertial parameters, then the terms of that joint (Ia, Fv, Fc, off, others); after the
    last link the terms that span several joints and the payloads.

    Args:
        robot: whose parameters these are.
        terms: armature, friction, couplings, springs, formulas; any per joint.
        payloads: bodies attached to links besides the links themselves.
        fixed: names of parameters that are known and keep their prior value.
    """

    robot: Robot
    terms: tuple[Term, ...] = ()
    payloads: tuple[RigidBody, ...] = ()
    fixed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        names = self.names
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise InputError(f"{self.robot.name}: parameter {twice[0]} is defined by two terms; leave one of them out")
        for name in self.fixed:
            if name not in names:
                raise InputError(f"{self.robot.name}: cannot fix unknown parameter '{name}'; {nearest(name, names)}")

    @cached_property
    def blocks(self) -> tuple[RigidBody | Term, ...]:
        """Bodies and terms in the order of their parameters."""
        out: list[RigidBody | Term] = []
        for j in self.robot.links:
            of_joint = [t for t in self.terms if t.joint == j]
            out += [RigidBody(j, self.robot.number(j)), *sorted(of_joint, key=lambda t: t.rank)]
        out.extend(t for t in self.terms if t.joint is None)
        out.extend(self.payloads)
        return tuple(out)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        of_blocks = (p for block in self.blocks for p in block.parameters)
        return tuple(replace(p, fixed=p.name in self.fixed, unit=self._unit(p)) for p in of_blocks)

    def _unit(self, parameter: Parameter) -> str:
        """Drives and friction of a sliding joint act on forces instead of torques."""
        slides = parameter.joint is not None and self.robot.joints[parameter.joint].prismatic
        inertial = parameter.kind in ("inertia", "first_moment", "mass")
        return _SLIDING.get(parameter.unit, parameter.unit) if slides and not inertial else parameter.unit

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for block in self.blocks for p in block.parameters)

    @cached_property
    def shapes(self) -> tuple[ShapeParameter, ...]:
        return tuple(s for block in self.blocks if isinstance(block, Term) for s in block.shapes)

    @cached_property
    def memory(self) -> tuple[str, ...]:
        return tuple(m for block in self.blocks if isinstance(block, Term) for m in block.memory)

    @property
    def size(self) -> int:
        return len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        try:
            return self._index[name]
        except KeyError:
            raise InputError(f"{self.robot.name} has no parameter '{name}'; {nearest(name, self.names)}") from None

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def bodies(self) -> tuple[tuple[RigidBody, slice], ...]:
        """Every rigid body with the slice of its ten parameters."""
        return tuple((b, s) for b, s in self._sliced if isinstance(b, RigidBody))

    @cached_property
    def drives(self) -> tuple[tuple[Term, slice], ...]:
        """Every term with the slice of its parameters."""
        return tuple((b, s) for b, s in self._sliced if isinstance(b, Term))

    @cached_property
    def _sliced(self) -> tuple[tuple[RigidBody | Term, slice], ...]:
        out, start = [], 0
        for block in self.blocks:
            count = len(block.parameters)
            out.append((block, slice(start, start + count)))
            start += count
        return tuple(out)

    def link(self, j: int) -> slice:
        """Where the ten inertial parameters of link j (0-based) are."""
        return next(s for b, s in self.bodies if b.link == j and b.suffix == self.robot.number(j))

    def cells(self) -> tuple[dict[int, dict[str, str]], list[str]]:
        """Per link its parameters by symbol (`XX` -> `XX1`), and the names of those that belong to no single link or are a user's."""
        rows: dict[int, dict[str, str]] = {j: {} for j in self.robot.links}
        extra = []
        for p in self.parameters:
            symbol = p.name.removesuffix(self.robot.number(p.joint)) if p.joint is not None else p.name
            if p.joint is None or p.kind == "user" or symbol == p.name or symbol[-1:].isdigit():
                extra.append(p.name)
            else:
                rows[p.joint][symbol] = p.name
        return rows, extra

    def zeros(self, origin: str = "zero") -> Parameters:
        return Parameters(self, np.zeros(self.size), origin=origin)

    def with_terms(self, terms: Iterable[Term]) -> Layout:
        return replace(self, terms=tuple(terms))


@dataclass(frozen=True, eq=False)
class Parameters(Tabular):
    """Values for a layout.

    Args:
        layout: what the values mean.
        values: (P,) the linear parameters chi.
        shapes: values of the nonlinear ones; those of the layout when not given.
        origin: where they come from: CAD, file, identified, ...
    """

    layout: Layout
    values: Array
    shapes: Array = None  # type: ignore[assignment]
    origin: str = "unknown"

    def __post_init__(self) -> None:
        values = np.array(self.values, float)
        if values.shape != (self.layout.size,):
            raise InputError(
                f"expected {self.layout.size} parameter values for {self.layout.robot.name}, got shape {values.shape}"
            )
        default = [s.value for s in self.layout.shapes]
        shapes = np.array(default if self.shapes is None else self.shapes, float)
        if shapes.shape != (len(default),):
            raise InputError(f"expected {len(default)} shape values for {self.layout.robot.name}, got shape {shapes.shape}")
        values.setflags(write=False)
        shapes.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "shapes", shapes)

    def __repr__(self) -> str:
        return f"Parameters({self.layout.robot.name}: {self.layout.size} values, {self.origin})"

    def _repr_html_(self) -> str:
        rows, extra = self.layout.cells()
        kinds = list(dict.fromkeys(kind for row in rows.values() for kind in row))
        joints = self.layout.robot.joints
        body = [[joints[j].link, *(self[row[kind]] if kind in row else "" for kind in kinds)] for j, row in rows.items()]
        others = [html_table(("parameter", "value"), [[name, self[name]] for name in extra])] if extra else []
        return titled(repr(self), html_table(("link", *kinds), body), *others)

    def table(self) -> dict[str, list[str] | Array]:
        """name, value, unit, link of every parameter."""
        parameters, joints = self.layout.parameters, self.layout.robot.joints
        links = ["" if p.joint is None else joints[p.joint].link for p in parameters]
        return {"name": [p.name for p in parameters], "value": self.values, "unit": [p.unit for p in parameters], "link": links}

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.layout.index(name)])

    def __array__(self, dtype: object = None, copy: object = None) -> Array:
        return np.array(self.values)

    def replaced(self, changes: Mapping[str, float], origin: str | None = None) -> Parameters:
        """A copy with some parameters changed by name."""
        values = self.values.copy()
        for name, value in changes.items():
            values[self.layout.index(name)] = value
        return Parameters(self.layout, values, self.shapes, origin or self.origin)

    def with_values(self, values: ArrayLike, origin: str | None = None) -> Parameters:
        return Parameters(self.layout, np.asarray(values, float), self.shapes, origin or self.origin)

    def on(self, layout: Layout) -> Parameters:
        """The same values on another layout; parameters it adds are zero, those it lacks are dropped."""
        known = dict(zip(self.layout.names, self.values, strict=True))
        known_shapes = dict(zip((s.name for s in self.layout.shapes), self.shapes, strict=True))
        shapes = [known_shapes.get(s.name, s.value) for s in layout.shapes]
        return Parameters(layout, np.array([known.get(n, 0.0) for n in layout.names]), np.array(shapes), self.origin)

    def link(self, j: int) -> Array:
        """The ten inertial parameters of link j (0-based); zeros for what stands between world and floating base."""
        return np.array(self.values[self.layout.link(j)]) if j in self.layout.robot.links else np.zeros(10)

    def moments(self) -> tuple[float, ...]:
        """MX, MY, MZ, M of every link with the payloads it carries, one after the other: what gravity acts on."""
        out = np.zeros((self.layout.robot.n, 10))
        for body, where in self.layout.bodies:
            out[body.link] += inertia.frame_change_matrix(body.rotation, body.position) @ self.values[where]
        return tuple(out[:, 6:].ravel().tolist())

    def inconsistent_links(self) -> list[str]:
        """Names of links that no real body can have."""
        robot = self.layout.robot
        return [robot.joints[j].link for j in robot.links if not inertia.physically_consistent(self.link(j))]
