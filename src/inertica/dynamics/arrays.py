"""Large robots: functions of samples by loops over bodies, on NumPy arrays.

Straight-line code of a regressor grows with the number of pairs of a joint and a link that it carries, the square of a chain's
length, and compile time grows faster still.  Beyond `LARGE` pairs the same recursions run on arrays of samples instead.  What joints
transmit of wrenches is linear: those of the links' parameters are brought to the base once, where every joint feels them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics import recursions
from inertica.dynamics.equations import Equations
from inertica.dynamics.kernels import Array
from inertica.dynamics.triangle import cholesky_factor, stacked_factor
from inertica.robot.layout import Layout
from inertica.robot.model import Robot
from inertica.scalars import Scalar
from inertica.threads import one_thread

LARGE = 150
"""Pairs of a joint and a link it carries from which on robots count as large; a chain of 17 joints has 153."""

NUMBERS = 2_400_000
"""Numbers that a function of samples leaves at a time, within the bounds of SAMPLES."""

SAMPLES = (128, 2048)

GENERIC, ZERO = 5, 1e-13
"""Samples at which an entry is looked at, and the share of its row's largest one below which it is rounding of zero."""

UNIT_WRENCHES = list(np.eye(6)[:, :, None])
"""Components of force and moment of the six unit wrenches, (6, 1) each, beside samples in the last axis."""

Inputs = Mapping[str, Array]
Scalars = Mapping[str, Sequence[Scalar]]


def is_large(robot: Robot) -> bool:
    """Whether loops over bodies are better than straight-line code, which alone projects the efforts of closed loops."""
    return robot.loops is None and sum(len(robot.ancestors(j)) for j in robot.links) > LARGE


class ArraySamples:
    """`SampleFunction` of a function on arrays: the equations run with an array over some samples in place of each scalar.

    Args:
        evaluate: (outputs, count) from the inputs' scalars.
        outputs: numbers per sample.
    """

    def __init__(self, evaluate: Callable[[Any], Sequence[Scalar] | Array], outputs: int) -> None:
        self._evaluate, self.outputs = evaluate, outputs
        # so many that Python's own time is small beside theirs, whatever the number of outputs
        self._chunk = int(np.clip(NUMBERS // max(outputs, 1), *SAMPLES))

    def __call__(self, inputs: Inputs, out: Array, columns: NDArray[np.int64], directions: Sequence[Inputs] = ({},)) -> None:
        for d, direction in enumerate(directions):
            for part, values in self.chunks({**inputs, **direction}):
                out[part, columns + d * self.outputs] = values.T

    def chunks(self, inputs: Inputs) -> Iterator[tuple[slice, Array]]:
        count = max(len(values) for values in inputs.values() if values.ndim == 2)
        for first in range(0, count, self._chunk):
            part = slice(first, min(first + self._chunk, count))
            yield part, self._stacked({k: v[part].T if v.ndim == 2 else v for k, v in inputs.items()}, part.stop - first)

    def _stacked(self, inputs: Inputs, count: int) -> Array:
        rows = self._evaluate({name: list(np.ascontiguousarray(values)) for name, values in inputs.items()})
        if isinstance(rows, np.ndarray):
            return rows
        out = np.empty((self.outputs, count))
        for row, value in zip(out, rows, strict=True):
            row[:] = value
        return out


class ArrayRegressor:
    """The regressor on arrays: entries that are not zero by structure.

    Args:
        equations: of the layout.
        inputs: names of what it depends on: `q` with `dq` and `ddq`, or at rest without them; `shapes`; `gravity` instead of the
            robot's own.
    """

    def __init__(self, equations: Equations, inputs: Sequence[str]) -> None:
        self._equations, self._robot = equations, equations.robot
        layout, n = equations.layout, self._robot.n
        # structure by evaluation: what is below rounding at generic states is zero by structure
        generic = np.random.default_rng(7)
        x: dict[str, Sequence[Scalar]] = {name: list(generic.normal(size=(n, GENERIC))) for name in inputs}
        x |= {"gravity": list(generic.normal(size=(3, GENERIC)))} if "gravity" in inputs else {}
        x |= {"shapes": [s.value for s in layout.shapes]} if "shapes" in inputs else {}
        felt = [
            (joint, 10 * number + k, where.start + k)  # joint, row of the wrenches, parameter
            for number, (body, where) in enumerate(layout.bodies)
            for joint in self._robot.ancestors(body.link)
            for k in range(10)
        ]
        every = np.array([(i, row, e) for e, (i, row, _) in enumerate(felt)], np.intp).reshape(-1, 3)
        sizes = np.abs(self._of_links(x, every, len(felt))).max(axis=1, initial=0.0)
        largest = np.zeros(n)
        np.maximum.at(largest, [i for i, _, _ in felt], sizes)
        links = [each for each, size in zip(felt, sizes, strict=True) if size > ZERO * largest[each[0]]]
        terms = [(joint, k) for joint, k, value in self._of_terms(x) if np.ndim(value) or value != 0.0]
        self.entries = sorted([(joint, k) for joint, _, k in links] + terms)
        index = {entry: e for e, entry in enumerate(self.entries)}
        self._term_place = {entry: index[entry] for entry in terms}
        self._links = np.array([(i, row, index[i, k]) for i, row, k in links], np.intp).reshape(-1, 3)

    def __call__(self, x: Scalars) -> Array:
        """(E, count) the entries, in their order."""
        out = self._of_links(x, self._links, len(self.entries))
        for joint, k, value in self._of_terms(x):
            if (joint, k) in self._term_place:
                out[self._term_place[joint, k]] = value
        return out

    def dense(self, x: Scalars) -> Array:
        """(count, n, P) with zeros where the structure has them."""
        values = self(x)
        out = np.zeros((values.shape[1], self._robot.n, self._equations.layout.size))
        joints, parameters = np.array(self.entries).T
        out[:, joints, parameters] = values.T
        return out

    def _of_terms(self, x: Scalars) -> Iterator[tuple[int, int, Scalar]]:
        zero = [0.0] * self._robot.n
        return self._equations.term_entries(x["q"], x.get("dq", zero), x.get("ddq", zero), x.get("shapes", ()))

    def _of_links(self, x: Scalars, wanted: NDArray[np.intp], rows: int) -> Array:
        """(rows, count) torques of joints per unit of bodies' parameters, of (joint, row of the wrenches, row of the result) each.

        All wrenches are brought to the origin of the base once, and so are the joints: each entry is a product of six numbers there.
        """
        from inertica.dynamics.wrenches import products, seen_from_base, through

        robot, layout, count = self._robot, self._equations.layout, len(x["q"][0])
        zero, at = [0.0] * robot.n, recursions.poses(robot, x["q"])
        unit_wrenches = recursions.unit_wrenches(at, x.get("dq", zero), x.get("ddq", zero), x.get("gravity", robot.gravity))
        to_base, axes = np.empty((robot.n, 6, 6, count)), np.empty((robot.n, 6, count))
        for joint in robot.order:
            share, force, moment = recursions.transmitted(at[joint], UNIT_WRENCHES[:3], UNIT_WRENCHES[3:])
            to_parent = np.empty((6, 6, count))
            for k, component in enumerate([*force, *moment]):
                to_parent[:, k] = component
            parent = robot.joints[joint].parent
            if parent >= 0:
                through(to_parent, to_base[parent], to_base[joint])
            else:
                to_base[joint] = to_parent
            seen_from_base(np.ascontiguousarray(np.broadcast_to(share, (6, count))), to_base[joint], axes[joint])
        wrenches = np.empty((10 * len(layout.bodies), 6, count))
        of_link: dict[int, Array] = {}
        for number, (body, _) in enumerate(layout.bodies):
            if body.link not in of_link:
                of_link[body.link] = _filled(unit_wrenches[body.link], (10, 6, count))
            A, of_body = self._equations.to_link[number], of_link[body.link]
            of_body = of_body if A is None else np.tensordot(A.T, of_body, 1)
            through(of_body, to_base[body.link], wrenches[10 * number : 10 * number + 10])
        out = np.empty((rows, count))
        products(axes, wrenches, wanted, out)
        return out


class ArrayFactors:
    """`FactorFunction` of a regressor on arrays: R factors of its rows and a torque, joint by joint.

    Args:
        regressor: as samples, with its entries.
        columns: per joint the entries that are its columns.
    """

    def __init__(self, regressor: ArraySamples, columns: Sequence[NDArray[np.intp]]) -> None:
        self._regressor, self._columns = regressor, columns

    def __call__(self, inputs: Inputs, weights: Array | None) -> list[Array]:
        """R factors from products of columns where these are accurate enough (`triangle.cholesky_factor`), otherwise from the rows."""
        products = [np.zeros((len(c) + 1, len(c) + 1)) for c in self._columns]
        with one_thread():
            for j, rows in self._rows(inputs, weights):
                products[j] += rows @ rows.T
        triangles = {j: R for j, G in enumerate(products) if (R := cholesky_factor(G)) is not None}
        if dependent := set(range(len(products))) - set(triangles):
            triangles |= {j: np.zeros((len(products[j]),) * 2) for j in dependent}
            for j, rows in self._rows(inputs, weights, dependent):
                triangles[j] = stacked_factor(triangles[j], rows.T)
        return [triangles[j] for j in range(len(products))]

    def _rows(self, inputs: Inputs, weights: Array | None, joints: Collection[int] | None = None) -> Iterator[tuple[int, Array]]:
        """(joint, (k, count) columns and torque), chunk by chunk."""
        tau = inputs["tau"]
        for part, entries in self._regressor.chunks({name: v for name, v in inputs.items() if name != "tau"}):
            for j in range(len(self._columns)) if joints is None else joints:
                rows = np.vstack([entries[self._columns[j]], tau[part, j]])
                yield j, rows if weights is None else rows * weights[part, j]


def regressor_function(equations: Equations, inputs: Sequence[str]) -> tuple[ArraySamples, list[tuple[int, int]]]:
    """The regressor as a function of samples, and (joint, parameter) of its entries."""
    regressor = ArrayRegressor(equations, inputs)
    return ArraySamples(regressor, len(regressor.entries)), regressor.entries


def array_regressor(layout: Layout, q: Array, dq: Array, ddq: Array) -> Array:
    """`plain_regressor` by loops over bodies."""
    x = {"q": list(q.T), "dq": list(dq.T), "ddq": list(ddq.T), "shapes": [s.value for s in layout.shapes]}
    return ArrayRegressor(Equations(layout), list(x)).dense(x)


def _filled(rows: Sequence[Sequence[Scalar]], shape: tuple[int, ...]) -> Array:
    """Rows of scalars, arrays over samples among them, as one array (rows, columns, count)."""
    out = np.empty(shape)
    for i, row in enumerate(rows):
        for k, value in enumerate(row):
            out[i, k] = value
    return out
