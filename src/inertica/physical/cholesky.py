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

from inertica.arrays import Array
from inertica.dynamics.equations import weighted_sum
from inertica.errors import InputError
from inertica.physical.bodies import BodyCoordinates, to_ten
from inertica.physical.cone import ConeSolution, Metric, Program
from inertica.physical.constraints import slack
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic, metric_point
from inertica.physical.pseudo import smat
from inertica.scalars import Scalar, exp
from inertica.threads import one_thread

_LOW = np.tril_indices(4)
_DIAGONAL = _LOW[0] == _LOW[1]


@dataclass(frozen=True, eq=False)
class LogCholesky(BodyCoordinates):
    """Cholesky coordinates theta (P,) of a robot's parameters.

    Args:
        log: logarithms of what is positive.
    """

    log: bool = True

    def _coordinates(self, K: Array) -> Array:
        low = np.linalg.cholesky(K)[_LOW]
        return np.asarray(np.where(_DIAGONAL, np.log(np.where(_DIAGONAL, low, 1.0)), low) if self.log else low)

    def _body(self, theta: Array) -> tuple[Array, Array]:
        H, first = self._factor(theta)
        moves = np.zeros((10, 4, 4))
        moves[np.arange(10), _LOW[0], _LOW[1]] = first
        both = moves @ H.T
        return H @ H.T, both + both.transpose(0, 2, 1)

    def _traced(self, theta: Sequence[Scalar]) -> list[Scalar]:
        """Logarithmic ones only."""
        H: list[list[Scalar]] = [[0.0] * 4 for _ in range(4)]
        for value, i, j in zip(theta, *_LOW, strict=True):
            H[i][j] = exp(value) if i == j else value
        return [weighted_sum(np.ones(4), [H[i][k] * H[j][k] for k in range(4)]) for i in range(4) for j in range(4)]

    def _coordinate(self, part: float) -> float:
        return float(np.log(part) if self.log else np.sqrt(part))

    def _traced_scalar(self, theta: Scalar) -> Scalar:
        return exp(theta)

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
            G = smat(to_ten(size.pseudo).T @ slope[where])
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


def cholesky_solve(program: Program, fit: Fit, penalty: Quadratic, start: Array | None = None) -> ConeSolution:
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
    return ConeSolution(chi, objective, squares, fit.squares(best), program.active(chi), iterations, way, "cholesky", gap)


class _CholeskyFit:
    """Minimises |M (x - x_u)|^2, x the scaled free part of chi(theta)."""

    def __init__(self, program: Program, metric: Metric, chart: LogCholesky) -> None:
        self.program, self.chart, self.metric, self.M = program, chart, metric, metric.M

    def run(self, start: Array) -> tuple[Array, int, bool]:
        """First with the data's strongest statements weakened, which leaves a wide valley; then less and less so.

        The point, the steps it took, and whether the last stage converged.
        """
        theta, count, arrived = self.chart.theta(start), 0, True
        # singular directions of data and prior, so that the strongest can be weakened to a limit, which rises decade by decade
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
        result = minimize(
            value,
            np.zeros(len(e)),
            jac=lambda y: free.T @ self.derivatives(theta + B @ y)[0],
            hess=lambda y: free.T @ self.derivatives(theta + B @ y)[1] @ free,
            method="trust-exact",
            options={"gtol": 1e-7 if last else 1e-6 * size, "maxiter": 500},
        )
        return theta + B @ result.x, int(result.nit), bool(result.success)

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
