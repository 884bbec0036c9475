"""The ten parameters of a load, from what records without it and records with it say of the same base parameters.

A load fixed to a link adds to the base parameters what the link's own ten parameters would: beta_loaded = beta + B p, B the columns
of that link in beta = T chi, seen from the frame of the load.  With rows of unit variance (R, z) of either set of records,

    R_u beta = z_u,    R_l (beta + E phi + B p) = z_l,

phi being what friction has become since: gears warm up and rub harder under load, so that the friction of the loaded records is
fitted on its own.  beta and phi are eliminated, and p is least squares of what is left,

    p = G_u beta_u + G_l beta_l,    cov p = H H'.

Since it is linear in what either side says, whatever changes beta_u or beta_l (a block left out, another cut-off, a bias) changes p
by G times that; errors that both records share cancel.  What either side does not resolve has no row: nothing is believed of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from inertica.arrays import Array
from inertica.estimators.evidence import RESOLVED, ScaledSvd
from inertica.threads import one_thread

CHANCE = 0.025
"""Probability with which noise alone would exceed what counts as significant."""

LOST = 1e-12
"""Eigenvalues of a correlation matrix below this share of the largest are directions that nothing is known of."""


@dataclass(frozen=True, eq=False)
class LoadEquations:
    """What one set of records says of the base parameters: R beta = z, one row of unit variance for every resolved direction."""

    R: Array
    z: Array

    @classmethod
    def stated(cls, beta: Array, covariance: Array) -> LoadEquations:
        """Of base parameters with a covariance; directions without variance are not resolved (`Unconstrained`) and have no row."""
        scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        resolved = scale > 0.0
        with one_thread():
            e, V = np.linalg.eigh(covariance[np.ix_(resolved, resolved)] / np.outer(scale[resolved], scale[resolved]))
        known = e > LOST * e[-1]
        R = np.zeros((int(known.sum()), len(beta)))
        R[:, resolved] = (V[:, known] / np.sqrt(e[known])).T / scale[resolved]
        return cls(R, R @ beta)


@dataclass(frozen=True, eq=False)
class Load:
    """The ten parameters of a load, `inertia.NAMES` order, before anything but the data is asked.

    Args:
        values: (10,).
        covariance: (10, 10).
        by_unloaded, by_loaded: (10, b) change of the values per change of what either set of records says.
        unresolved: (10, k) orthonormal directions, in units of `size`, that the records do not determine; there the values are zero.
        size: (10,) what the columns were divided by.
        misfit: squares that are left, in units of the noise; both records then differ in more than a load and friction.
        freedom: how many there would be by noise alone.
    """

    values: Array
    covariance: Array
    by_unloaded: Array
    by_loaded: Array
    unresolved: Array
    size: Array
    misfit: float
    freedom: int

    @property
    def inflation(self) -> float:
        """Factor on standard deviations by which what is left exceeds noise; 1 when it does not (Birge's ratio)."""
        return float(np.sqrt(max(1.0, self.misfit / self.freedom))) if self.freedom > 0 else 1.0

    @property
    def significant_inflation(self) -> float:
        """The same, 1 unless noise alone would seldom leave so much."""
        return self.inflation if self.misfit > significant(self.freedom) * max(self.freedom, 1) else 1.0

    @property
    def known(self) -> NDArray[np.bool_]:
        """(10,) parameters whose own value the records determine."""
        return np.asarray(np.abs(self.unresolved).max(axis=1, initial=0.0) < 1e-6)

    @property
    def open_directions(self) -> Array:
        """(10, k) changes of the parameters that the records do not see."""
        return self.size[:, None] * self.unresolved

    @property
    def silent(self) -> NDArray[np.bool_]:
        """(10,) parameters that no torque in the loaded records depends on."""
        return _silent(self.unresolved)


def significant(freedom: int) -> float:
    """Ratio of a variance with this freedom to the true one that chance alone seldom exceeds."""
    return float(chdtri(freedom, CHANCE)) / freedom if freedom > 0 else np.inf


def _silent(unresolved: Array) -> NDArray[np.bool_]:
    return np.asarray(np.linalg.norm(unresolved, axis=1) > 1.0 - 1e-9)


def fitted_load(unloaded: LoadEquations, loaded: LoadEquations, columns: Array, friction: Array) -> Load:
    """Least squares for the load, as the first lines of this file say.

    Args:
        unloaded, loaded: what either set of records says of the same base parameters.
        columns: (b, 10) `identifiability.load.load_columns`.
        own: (b, f) directions in which the loaded records have values of their own, `own_friction` beside it.
    """
    first = len(unloaded.z)
    with one_thread():
        nuisance = np.block([[unloaded.R, np.zeros((first, friction.shape[1]))], [loaded.R, loaded.R @ friction]])
        norms = np.linalg.norm(nuisance, axis=0)
        U, s, _ = np.linalg.svd(nuisance / np.where(norms > 0.0, norms, 1.0))
        left = U[:, int(np.count_nonzero(s > RESOLVED * s[0])) :]
        A = left[first:].T @ (loaded.R @ columns)
        freedom = len(A)
        left, A = (np.pad(x, [(0, 0), (0, 10)]) for x in (left, A.T))  # rows that say nothing: at least as many as columns
        svd = ScaledSvd.of(A.T)
        H = svd.half @ (svd.U[:, : len(svd.s)][:, svd.known].T @ left.T)
    H[_silent(svd.unresolved)] = 0.0  # rounding would look like something known to sixteen digits
    z = np.concatenate([unloaded.z, loaded.z])
    values, resolved = H @ z, int(svd.known.sum())
    misfit = float(np.sum((left.T @ z - A.T @ values) ** 2))
    gains = H[:, :first] @ unloaded.R, H[:, first:] @ loaded.R
    return Load(values, H @ H.T, *gains, svd.unresolved, 1.0 / svd.scale, misfit, freedom - resolved)
