"""Cholesky coordinates: every parameter vector they describe is physically consistent, so no constraint is needed.

With C J C' the pseudo-inertia of a body in reference units,

    C J C' = H H' + margin I,   H lower triangular          (survey, eq. 64)

and what must not be negative is lower + scale h^2.  The logarithmic chart has exp(theta) on the diagonal of H and for h^2: it is
one-to-one and has no boundary at all, which suits sampling.  For fitting it is flat towards the boundary, where a search
gets stuck; so `cholesky_solve` takes the plain chart, whose stationary points of second order are minima of the convex problem.
An alternative to the cone solver that needs no cone solver, not the default: it takes a hundred times longer or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.physical.cone import Metric, Outcome, Program
from inertica.physical.constraints import MARGIN, SIGN_MARGIN, slack
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic, metric_point
from inertica.physical.pseudo import PSEUDO, smat, svec
from inertica.physical.scales import Reference
from inertica.scalars import Scalar, exp
from inertica.threads import one_thread

Array = NDArray[np.float64]

_LOW = np.tril_indices(4)
_DIAGONAL = _LOW[0] == _LOW[1]


@dataclass(frozen=True, eq=False)
class LogCholesky:
    """Cholesky coordinates theta (P,) of a robot's parameters.

    Args:
        reference: scales, and values of fixed parameters; a body must be free as a whole or fixed as a whole.
        log: logarithms of what is positive.
        margin: of bodies, as in `constraints.RealBody`.
    """

    reference: Reference
    log: bool = True
    margin: float = MARGIN

    def __post_init__(self) -> None:
        for body, where, _ in self.reference.bodies:
            free = self.reference.free[where]
            if free.any() and not free.all():
                label = self.reference.label(body)
                raise InputError(f"{label} is partly fixed, which Cholesky coordinates cannot express; use the cone solver")

    def theta(self, chi: Array) -> Array:
        """Coordinates of strictly consistent parameters."""
        out = np.array(chi, float) / self.reference.scale
        for k in self._signed:
            part = max((chi[k] - self._lower(k)) / self.reference.scale[k], 1e-300)
            out[k] = np.log(part) if self.log else np.sqrt(part)
        for body, where, size in self.reference.bodies:
            K = size.pseudo @ np.tensordot(chi[where], PSEUDO, axes=1) @ size.pseudo - self.margin * np.eye(4)
            try:
                low = np.linalg.cholesky(K)[_LOW]
            except np.linalg.LinAlgError:
                label = self.reference.label(body)
                raise InputError(f"{label} is not a body that can exist, so it has no Cholesky coordinates") from None
            out[where] = np.where(_DIAGONAL, np.log(np.where(_DIAGONAL, low, 1.0)), low) if self.log else low
        return out

    def chi(self, theta: Array) -> tuple[Array, Array]:
        """Parameters (P,) and their derivative (P, P); fixed parameters keep their value with zero derivative."""
        scale = self.reference.scale
        chi, J = theta * scale, np.diag(scale)
        for k in self._signed:
            value, slope, _ = self._scalar(theta[k])
            chi[k], J[k, k] = self._lower(k) + scale[k] * value, scale[k] * slope
        for _, where, size in self.reference.bodies:
            H, first = self._factor(theta[where])
            moves = np.zeros((10, 4, 4))
            moves[np.arange(10), _LOW[0], _LOW[1]] = first
            both = moves @ H.T
            to_ten = _to_ten(size.pseudo)
            chi[where] = to_ten @ svec(H @ H.T + self.margin * np.eye(4))
            J[where, where] = to_ten @ svec(both + both.transpose(0, 2, 1)).T
        fixed = ~self.reference.free
        chi[fixed], J[fixed] = self.reference.values[fixed], 0.0
        return chi, J

    def scalars(self, theta: Sequence[Scalar]) -> list[Scalar]:
        """The same parameters from coordinates of any type, to be traced; logarithmic ones only."""
        out: list[Scalar] = [float(s) * x for s, x in zip(self.reference.scale, theta, strict=True)]
        for k in self._signed:
            out[k] = float(self._lower(k)) + float(self.reference.scale[k]) * exp(theta[k])
        basis = np.eye(16).reshape(16, 4, 4)
        for _, where, size in self.reference.bodies:
            H: list[list[Scalar]] = [[0.0] * 4 for _ in range(4)]
            for value, i, j in zip(theta[where], *_LOW, strict=True):
                H[i][j] = exp(value) if i == j else value
            K = [
                combined(np.ones(4), [H[i][k] * H[j][k] for k in range(4)]) + (self.margin if i == j else 0.0)
                for i in range(4)
                for j in range(4)
            ]
            to_ten = _to_ten(size.pseudo) @ svec(0.5 * (basis + basis.transpose(0, 2, 1))).T
            out[where] = [combined(row, K) for row in to_ten]
        return [float(self.reference.values[k]) if not self.reference.free[k] else x for k, x in enumerate(out)]

    def curvature(self, theta: Array, slope: Array) -> Array:
        """(P, P) sum_k slope_k d^2 chi_k / d theta^2: what Gauss-Newton leaves out.

        For a body, with G the symmetric matrix for which slope . d ten = tr(G dK): 2 tr(dH' G dH) + 2 tr(G d^2H H').
        """
        out = np.zeros((len(theta), len(theta)))
        for k in self._signed:
            out[k, k] = slope[k] * self.reference.scale[k] * self._scalar(theta[k])[2]
        row, column = _LOW
        for _, where, size in self.reference.bodies:
            H, first = self._factor(theta[where])
            G = smat(_to_ten(size.pseudo).T @ slope[where])
            bend = 2.0 * np.where(column[:, None] == column, G[np.ix_(row, row)], 0.0) * np.outer(first, first)
            if self.log:
                bend[np.diag_indices(10)] += np.where(_DIAGONAL, 2.0 * (G @ H)[_LOW] * H[_LOW], 0.0)
            out[where, where] = bend
        return out

    def _factor(self, theta: Array) -> tuple[Array, Array]:
        """H and the derivative of its entries."""
        H = np.zeros((4, 4))
        H[_LOW] = np.where(_DIAGONAL, np.exp(np.where(_DIAGONAL, theta, 0.0)), theta) if self.log else theta
        return H, np.where(_DIAGONAL, H[_LOW], 1.0) if self.log else np.ones(10)

    def _scalar(self, theta: float) -> tuple[float, float, float]:
        """Value of a positive scalar and its two derivatives."""
        if self.log:
            e = float(np.exp(theta))
            return e, e, e
        return theta**2, 2.0 * theta, 2.0

    @property
    def _signed(self) -> list[int]:
        kinds = ("inertia", "first_moment", "mass")
        return [k for k, p in enumerate(self.reference.layout.parameters) if p.kind not in kinds and np.isfinite(p.lower)]

    def _lower(self, k: int) -> float:
        return self.reference.layout.parameters[k].lower + SIGN_MARGIN * self.reference.scale[k]


def cholesky_solve(program: Program, fit: Fit, penalty: Quadratic, start: Array | None = None) -> Outcome:
    """The constrained minimum by a trust-region Newton method in Cholesky coordinates.

    Args:
        program, fit, penalty: as for the cone solver; the constraints are those of the chart, others are only checked.
        start: (P,) strictly consistent parameters; the prior when not given, links of it that are none replaced by real ones.

    Raises:
        InputError: a constraint that the chart does not keep is broken.
    """
    search = _CholeskyFit(program, Metric.of(program, fit, penalty), LogCholesky(program.reference, log=False))
    with one_thread():
        chi, iterations, arrived = search.run(metric_point(program.reference).values if start is None else start)
    broken = [b.name for b in program.blocks if slack(b, chi) < -1e-9]
    if broken:
        raise InputError(f"Cholesky coordinates do not keep '{broken[0]}'; use the cone solver")
    squares, best = fit.squares(chi), program.chi(search.metric.x)
    objective = squares + penalty.value(chi)
    gap = 0.0
    if not arrived:  # how far it is from the end is known from the other solver
        exact = program.solve(fit, penalty)
        gap = max((objective - exact.objective) / fit.noise, 0.0) + exact.gap
    way = "converged" if arrived else "stopped short"
    return Outcome(chi, objective, squares, fit.squares(best), program.active(chi), iterations, way, "cholesky", gap)


class _CholeskyFit:
    """Minimises |M (x - x_u)|^2, x the scaled free part of chi(theta)."""

    def __init__(self, program: Program, metric: Metric, chart: LogCholesky) -> None:
        self.program, self.chart, self.metric, self.M = program, chart, metric, metric.M

    def run(self, start: Array) -> tuple[Array, int, bool]:
        """First with the data's strongest statements weakened, which leaves a wide valley; then less and less so.

        The point, the steps it took, and whether the last stage converged.
        """
        theta, count, arrived = self.chart.theta(start), 0, True
        _, s, Vt = np.linalg.svd(self.metric.M)
        decades = int(np.ceil(np.log10(s[0] / s[-1])))
        for limit in [*(s[-1] * 10.0 ** np.arange(1, decades)), np.inf]:
            self.M = np.minimum(s, limit)[:, None] * Vt
            theta, used, arrived = self._descend(theta, last=bool(limit == np.inf))
            count += used
        return self.chart.chi(theta)[0], count, arrived

    def _descend(self, theta: Array, *, last: bool) -> tuple[Array, int, bool]:
        """One stage, in coordinates in which the curvature at its start is one."""
        from scipy.optimize import minimize

        e, U = np.linalg.eigh(self.derivatives(theta)[1])
        B = np.zeros((len(theta), len(e)))
        B[self.program.free] = U / np.sqrt(np.maximum(np.abs(e), 1e-8 * np.abs(e).max()))

        def value(y: Array) -> float:
            r = self._residual(self.chart.chi(theta + B @ y)[0])
            return float(r @ r)

        free = B[self.program.free]
        size = max(1.0, float(np.sqrt(value(np.zeros(len(e))))))
        found = minimize(
            value,
            np.zeros(len(e)),
            jac=lambda y: free.T @ self.derivatives(theta + B @ y)[0],
            hess=lambda y: free.T @ self.derivatives(theta + B @ y)[1] @ free,
            method="trust-exact",
            options={"gtol": 1e-7 if last else 1e-6 * size, "maxiter": 500},
        )
        return theta + B @ found.x, int(found.nit), bool(found.success)

    def derivatives(self, theta: Array) -> tuple[Array, Array]:
        """Gradient and Hessian in the free coordinates."""
        free = self.program.free
        chi, J = self.chart.chi(theta)
        r = self._residual(chi)
        Jr = self.M @ (J[np.ix_(free, free)] / self.program.scale[:, None])
        slope = np.zeros(len(theta))
        slope[free] = (self.M.T @ r) / self.program.scale
        bend = self.chart.curvature(theta, slope)[np.ix_(free, free)]
        return 2.0 * Jr.T @ r, 2.0 * (Jr.T @ Jr + bend)

    def _residual(self, chi: Array) -> Array:
        return np.asarray(self.M @ (chi[self.program.free] / self.program.scale - self.metric.x))


def _to_ten(root: Array) -> Array:
    """(10, 10) from svec of a scaled pseudo-inertia to the ten parameters."""
    return np.asarray(np.linalg.inv(svec(root @ PSEUDO @ root).T), float)


def combined(weights: Array, values: Sequence[Scalar]) -> Scalar:
    """Sum of scalars of any type with these weights."""
    total: Scalar = 0.0
    for w, v in zip(weights, values, strict=True):
        if w:
            total = total + float(w) * v
    return total
