"""Equations of motion of a robot with its terms, on scalars of any type.

    tau = M(q) ddq + h(q, dq),      tau = Y(q, dq, ddq) chi  (+ torques of terms that have no linear parameter)

The rigid part comes from the recursions, the rest from the terms of the layout.  Where joints form closed loops the motion is that
of the independent ones, and efforts of the others are projected on them (`robot.loops`).  Evaluate them on NumPy arrays for a plain
reference, on symbols to compile them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from inertica.dynamics import recursions
from inertica.errors import InputError
from inertica.robot.inertia import frame_change_matrix
from inertica.robot.layout import Layout
from inertica.robot.loops import completed
from inertica.robot.terms import Column, State, Term
from inertica.scalars import Scalar, solve_positive

Vector = Sequence[Scalar]


class Equations:
    """The equations for one layout.  `shapes` and `memory` are in the layout's order everywhere.

    Args:
        layout: robot and terms.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.robot = layout.robot

    def regressor(self, q: Vector, dq: Vector, ddq: Vector, shapes: Vector) -> list[list[Scalar]]:
        """Y (n rows, one column per parameter) with tau = Y chi."""
        self.require_linear("a regressor")
        n = self.robot.n
        motion = completed(self.robot, q, dq, ddq)
        q, dq, ddq = motion.q, motion.dq, motion.ddq
        links = recursions.regressor(recursions.poses(self.robot, q), dq, ddq, self.robot.gravity)
        Y: list[list[Scalar]] = [[0.0] * self.layout.size for _ in range(n)]
        for (body, where), A in zip(self.layout.bodies, self.to_link, strict=True):
            for i in range(n):
                block = links[i][10 * body.link : 10 * body.link + 10]
                Y[i][where] = block if A is None else [weighted_sum(A[:, k], block) for k in range(10)]
        for joint, k, value in self.term_entries(q, dq, ddq, shapes):
            Y[joint][k] = value
        if not motion.follow:
            return Y
        columns = [motion.projected([row[k] for row in Y]) for k in range(self.layout.size)]
        return [list(row) for row in zip(*columns, strict=True)]

    def term_entries(self, q: Vector, dq: Vector, ddq: Vector, shapes: Vector) -> Iterator[tuple[int, int, Scalar]]:
        """(joint, parameter, value) of the entries of Y that belong to terms."""
        for term, where, x in self._term_states(q, dq, ddq, shapes, ()):
            for k, column in zip(range(where.start, where.stop), term.columns(x), strict=True):
                for joint, value in column.items():
                    yield joint, k, value

    def inverse_dynamics(
        self,
        q: Vector,
        dq: Vector,
        ddq: Vector,
        chi: Vector,
        shapes: Vector,
        memory: Vector = (),
        *,
        sliding: Vector | None = None,
    ) -> list[Scalar]:
        """Joint torques of a motion; terms see the velocities `sliding` where these are stated."""
        motion = completed(self.robot, q, dq, ddq)
        q, dq, ddq = motion.q, motion.dq, motion.ddq
        tau = recursions.inverse_dynamics(recursions.poses(self.robot, q), dq, ddq, self.link_inertia(chi), self.robot.gravity)
        terms = self._term_torques(q, dq if sliding is None else sliding, ddq, chi, shapes, memory)
        return motion.projected([a + b for a, b in zip(tau, terms, strict=True)])

    def mass_matrix(self, q: Vector, chi: Vector, shapes: Vector) -> list[list[Scalar]]:
        """M(q), symmetric, terms included; of closed loops that of the independent joints, zero for the others."""
        n = self.robot.n
        motion = completed(self.robot, q, [0.0] * n, [0.0] * n)
        q = motion.q
        M = recursions.mass_matrix(recursions.poses(self.robot, q), self.link_inertia(chi))
        zero = [0.0] * n
        memory = [0.0] * len(self.layout.memory)
        at_rest = self._term_torques(q, zero, zero, chi, shapes, memory)
        for j in range(n):  # terms are affine in ddq: a unit acceleration reads off a column
            unit = [1.0 if i == j else 0.0 for i in range(n)]
            accelerated = self._term_torques(q, zero, unit, chi, shapes, memory)
            for i in range(n):
                M[i][j] = M[i][j] + (accelerated[i] - at_rest[i])
        if motion.follow:
            half = [motion.projected(column) for column in zip(*M, strict=True)]  # G' M by columns
            M = [motion.projected(row) for row in zip(*half, strict=True)]
        return M

    def bias(self, q: Vector, dq: Vector, chi: Vector, shapes: Vector, memory: Vector = ()) -> list[Scalar]:
        """h(q, dq): Coriolis, gravity, friction and all else that is there without acceleration."""
        return self.inverse_dynamics(q, dq, [0.0] * self.robot.n, chi, shapes, memory)

    def forward_dynamics(
        self, q: Vector, dq: Vector, tau: Vector, chi: Vector, shapes: Vector, memory: Vector = ()
    ) -> list[Scalar]:
        """ddq = M^-1 (tau - h)"""
        h = self.bias(q, dq, chi, shapes, memory)
        M, rest, n = self.mass_matrix(q, chi, shapes), [t - x for t, x in zip(tau, h, strict=True)], self.robot.n
        order = [j for j in self.robot.order if j not in self.robot.dependent]
        x = solve_positive([[M[i][j] for j in order] for i in order], [rest[i] for i in order])
        ddq = [x[order.index(i)] if i in order else 0.0 for i in range(n)]
        return completed(self.robot, q, dq, ddq).ddq

    def advance_memory(self, q: Vector, dq: Vector, shapes: Vector, memory: Vector, dt: Scalar) -> list[Scalar]:
        """Inner states of terms one step later."""
        zero = [0.0] * self.robot.n
        return [z for term, _, x in self._term_states(q, dq, zero, shapes, memory) for z in term.advance(x, dt)]

    def link_inertia(self, chi: Vector) -> list[list[Scalar]]:
        """Ten parameters per link, with the payloads it carries."""
        out: list[list[Scalar]] = [[0.0] * 10 for _ in range(self.robot.n)]
        for (body, where), A in zip(self.layout.bodies, self.to_link, strict=True):
            body_chi = list(chi[where])
            in_link_frame = body_chi if A is None else [weighted_sum(row, body_chi) for row in A]
            out[body.link] = recursions.add(out[body.link], in_link_frame)
        return out

    def require_linear(self, purpose: str) -> None:
        """Refuse terms with memory where only the present motion is known."""
        for term, _ in self.layout.drives:
            if term.memory:
                raise InputError(
                    f"{self.robot.name}: {purpose} is not possible with {type(term).__name__} on joint {(term.joint or 0) + 1}, "
                    "which is not a function of the motion alone; use it in simulation and identify with stribeck",
                    joint=None if term.joint is None else self.robot.joint_names[term.joint],
                )

    def check_terms(self) -> None:
        """Every term must be affine in ddq, with a symmetric inertia, or the forward dynamics would be wrong."""
        n = self.robot.n
        rng = np.random.default_rng(7)
        q, dq, a, b = rng.normal(size=(4, n))
        shapes = [s.value for s in self.layout.shapes]
        memory = [0.1] * len(self.layout.memory)
        # affine: f(a + 2b) - f(0) = f(a) - f(0) + 2 (f(b) - f(0)); unit accelerations give columns of the inertia matrix
        motions = np.vstack([np.zeros(n), a + 2.0 * b, a, b, np.eye(n)])
        per_motion = [self._term_states(list(q), list(dq), list(ddq), shapes, memory) for ddq in motions]
        for same in zip(*per_motion, strict=True):
            term = same[0][0]
            rest, sum_of_both, one, other, *units = (_dense([*term.columns(x), term.torque(x)], n) for _, _, x in same)
            label = ", ".join(p.name for p in term.parameters) or type(term).__name__
            if not np.allclose(sum_of_both - rest, one + 2.0 * other - 3.0 * rest, atol=1e-9):
                raise InputError(f"{self.robot.name}: term {label} is not affine in the joint accelerations")
            inertia = np.stack([unit - rest for unit in units], axis=-1)  # (columns, n, n)
            if not np.allclose(inertia, np.swapaxes(inertia, -1, -2), atol=1e-9):
                raise InputError(f"{self.robot.name}: term {label} makes the inertia matrix unsymmetric, which no drive does")

    def _term_torques(self, q: Vector, dq: Vector, ddq: Vector, chi: Vector, shapes: Vector, memory: Vector) -> list[Scalar]:
        tau: list[Scalar] = [0.0] * self.robot.n
        for term, where, x in self._term_states(q, dq, ddq, shapes, memory):
            for value, column in zip(chi[where], term.columns(x), strict=True):
                for joint, factor in column.items():
                    tau[joint] = tau[joint] + value * factor
            for joint, extra in term.torque(x).items():
                tau[joint] = tau[joint] + extra
        return tau

    def _term_states(self, q: Vector, dq: Vector, ddq: Vector, shapes: Vector, memory: Vector) -> list[tuple[Term, slice, State]]:
        """Every term with the slice of its parameters and the state that it is evaluated at."""
        values = dict(zip((s.name for s in self.layout.shapes), shapes, strict=True))
        loads: dict[tuple[float, ...] | None, list[Scalar]] = {None: [0.0] * self.robot.n}
        out, first = [], 0
        for term, where in self.layout.drives:
            # several terms often state the same load; its torque is traced once
            if term.load not in loads:
                loads[term.load] = self._gravity_load(q, term)
            term_shapes = {s.name: values[s.name] for s in term.shapes}
            out.append((term, where, State(q, dq, ddq, term_shapes, memory[first : first + len(term.memory)], loads[term.load])))
            first += len(term.memory)
        return out

    def _gravity_load(self, q: Vector, term: Term) -> list[Scalar]:
        """Torque of gravity on the links that a term states."""
        n, moments = self.robot.n, term.load
        if moments is None or len(moments) != 4 * n:
            raise InputError(
                f"{self.robot.name}: {type(term).__name__} on joint {(term.joint or 0) + 1} needs the first moments and the mass "
                f"of every link that loads it, {4 * n} numbers, and has {len(moments or ())}",
                joint=None if term.joint is None else self.robot.joint_names[term.joint],
            )
        zero: list[Scalar] = [0.0] * n
        links: list[list[Scalar]] = [[0.0] * 6 + list(moments[4 * j : 4 * j + 4]) for j in range(n)]
        return recursions.inverse_dynamics(recursions.poses(self.robot, q), zero, zero, links, self.robot.gravity)

    @cached_property
    def to_link(self) -> list[np.ndarray | None]:
        """For every body the matrix that moves its ten parameters into the link frame; None when it sits there."""
        return [None if b.at_link_frame else frame_change_matrix(b.rotation, b.position) for b, _ in self.layout.bodies]


def on_arrays(evaluate: Callable[..., list[Scalar]], *vectors: np.ndarray) -> list[Scalar]:
    """Call an equation with (N, n) arrays in place of vectors: each scalar is then an array over the N samples."""
    return evaluate(*(list(np.moveaxis(np.asarray(v, float), -1, 0)) for v in vectors))


def plain_regressor(
    layout: Layout, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, shapes: np.ndarray | None = None
) -> np.ndarray:
    """(N, n, P) regressor on NumPy arrays, without compiling: for a few hundred samples, and as a reference in tests."""
    values = [s.value for s in layout.shapes] if shapes is None else list(shapes)
    equations = Equations(layout)
    rows = on_arrays(lambda q, dq, ddq: equations.regressor(q, dq, ddq, values), q, dq, ddq)
    out = np.empty((len(q), layout.robot.n, layout.size))
    for i, row in enumerate(rows):
        for k, value in enumerate(row):
            out[:, i, k] = value
    return out


def weighted_sum(weights: np.ndarray, values: Sequence[Scalar]) -> Scalar:
    """Sum of scalars of any type with these weights."""
    total: Scalar = 0.0
    for w, v in zip(weights, values, strict=True):
        # skips structural zeros, so that no product with zero reaches the graph
        if w:
            total = total + float(w) * v
    return total


def _dense(columns: list[Column], n: int) -> np.ndarray:
    out = np.zeros((len(columns), n))
    for row, column in zip(out, columns, strict=True):
        for joint, value in column.items():
            row[joint] = value
    return out
