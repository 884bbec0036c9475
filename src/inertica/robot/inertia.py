"""Inertia of one body in the forms the field uses, and the way between them.

The house form is the vector of ten *standard parameters* about the origin of a frame, in the layout's order

    XX XY XZ YY YZ ZZ  MX MY MZ  M

with the entries of the inertia matrix about that origin (XY = -integral of x y dm), the first moments m c and the mass.  Torques
are linear in it.  `pseudo_inertia` is the 4x4 matrix J = [[S, m c], [m c', m]], S = tr(L)/2 I - L, positive definite exactly for
bodies that can exist (survey, eq. 61).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array

NAMES = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
"""Names of the ten standard parameters, in order."""

_ROW = np.array([0, 0, 0, 1, 1, 2])
_COLUMN = np.array([0, 1, 2, 1, 2, 2])
_PINOCCHIO = np.array([9, 6, 7, 8, 0, 1, 3, 2, 4, 5])  # m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz


@dataclass(frozen=True)
class Body:
    """A rigid body seen from its centre of mass: mass, centre (3,), inertia matrix about the centre (3, 3)."""

    mass: float
    com: Array
    inertia: Array


def matrix(ten: ArrayLike) -> Array:
    """The 3x3 inertia matrix of the ten parameters (about the frame's origin)."""
    ten = np.asarray(ten, float)
    out = np.empty((3, 3))
    out[_ROW, _COLUMN] = ten[:6]
    out[_COLUMN, _ROW] = ten[:6]
    return out


def ten(inertia: ArrayLike, first_moment: ArrayLike, mass: float) -> Array:
    """The ten parameters from an inertia matrix about the origin, first moments and mass."""
    return np.concatenate([np.asarray(inertia, float)[_ROW, _COLUMN], np.asarray(first_moment, float), [mass]])


def from_com(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """The ten parameters of a body given by mass, centre of mass and inertia about the centre of mass."""
    com = np.asarray(com, float)
    return ten(np.asarray(inertia, float) + mass * _steiner(com), mass * com, mass)


def to_com(parameters: ArrayLike) -> Body:
    """Mass, centre of mass and central inertia.  A body without mass has no centre; its centre is reported as the origin."""
    p = np.asarray(parameters, float)
    mass = float(p[9])
    com = p[6:9] / mass if mass else np.zeros(3)
    return Body(mass, com, matrix(p) - mass * _steiner(com))


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """The 4x4 pseudo-inertia matrix; linear in the parameters."""
    p = np.asarray(parameters, float)
    inertia = matrix(p)
    out = np.empty((4, 4))
    out[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    out[:3, 3] = out[3, :3] = p[6:9]
    out[3, 3] = p[9]
    return out


def from_pseudo_inertia(pseudo: ArrayLike) -> Array:
    """The ten parameters of a pseudo-inertia matrix."""
    J = np.asarray(pseudo, float)
    second = J[:3, :3]
    return ten(np.trace(second) * np.eye(3) - second, J[:3, 3], J[3, 3])


def to_pinocchio(parameters: ArrayLike) -> Array:
    """Pinocchio's order: m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz (about the origin too)."""
    return np.asarray(parameters, float)[..., _PINOCCHIO]


def from_pinocchio(parameters: ArrayLike) -> Array:
    """Back from Pinocchio's order."""
    source = np.asarray(parameters, float)
    out = np.empty_like(source)
    out[..., _PINOCCHIO] = source
    return out


def change_frame(parameters: ArrayLike, rotation: ArrayLike, position: ArrayLike) -> Array:
    """The same body seen from another frame.

    Args:
        parameters: ten parameters in frame B.
        rotation: (3, 3), A <- B.
        position: origin of B in A.

    Returns:
        Ten parameters in frame A.
    """
    transform = np.eye(4)
    transform[:3, :3] = rotation
    transform[:3, 3] = position
    return from_pseudo_inertia(transform @ pseudo_inertia(parameters) @ transform.T)


def frame_change_matrix(rotation: ArrayLike, position: ArrayLike) -> Array:
    """`change_frame` as the 10x10 matrix it is."""
    return np.column_stack([change_frame(unit, rotation, position) for unit in np.eye(10)])


def physically_consistent(parameters: ArrayLike, margin: float = 0.0) -> bool:
    """Whether a body with these parameters can exist: the pseudo-inertia's smallest eigenvalue exceeds the margin."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(parameters))[0] > margin)


def _steiner(com: Array) -> Array:
    return float(com @ com) * np.eye(3) - np.outer(com, com)
