"""One body's new inertia shared out among the source links that it is merged from, so that each of them can exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from inertica.arrays import Array
from inertica.robot import inertia


def shared(wanted: Array, bodies: Sequence[Array], taker: int) -> list[Array]:
    """New ten parameters of every source link, all in the body's frame; their sum is `wanted`.

    One link takes the whole change when it can: the others then stay as the file has them.  When that would make it a body that
    cannot exist (a tool heavier than what was found for link and tool together), all links change alike: their pseudo-inertias
    P_i become L P_i L', L the map closest to the identity with L (sum P_i) L' = P.  Where links of the file cannot exist themselves,
    each takes the share of the body that its mass had.

    Args:
        wanted: (10,) of the body.
        own: (10,) of each source link as the file has it.
        taker: which of them takes the change.
    """
    rest = sum((ten for i, ten in enumerate(bodies) if i != taker), np.zeros(10))
    simple = [wanted - rest if i == taker else np.array(ten) for i, ten in enumerate(bodies)]
    if inertia.physically_consistent(simple[taker]) or not inertia.physically_consistent(wanted):
        return simple
    full = [i for i, ten in enumerate(bodies) if np.any(ten)]
    ways: tuple[Callable[[Array, list[Array]], list[Array] | None], ...] = (_stretched, _by_mass)
    for way in ways:
        parts = way(wanted, [bodies[i] for i in full])
        if parts is not None and all(inertia.physically_consistent(part) for part in parts):
            out = [np.zeros(10) for _ in bodies]
            for i, part in zip(full, parts, strict=True):
                out[i] = part
            return out
    return simple


def _stretched(wanted: Array, bodies: list[Array]) -> list[Array] | None:
    """L P_i L' with the symmetric L of optimal transport, in lengths of the body's own size; None where the links span no body."""
    P, W = inertia.pseudo_inertia(np.sum(bodies, axis=0)), inertia.pseudo_inertia(wanted)
    size = float(np.sqrt(np.trace(W[:3, :3]) / W[3, 3])) if W[3, 3] > 0.0 else 1.0
    unit = np.diag([1.0 / size] * 3 + [1.0])
    P, W = unit @ P @ unit, unit @ W @ unit
    if not np.linalg.eigvalsh(P)[0] > 1e-12 * np.trace(P):
        return None
    root = _root(P)
    back = np.linalg.inv(root)
    L = np.linalg.inv(unit) @ back @ _root(root @ W @ root) @ back @ unit
    parts = [inertia.from_pseudo_inertia(L @ inertia.pseudo_inertia(ten) @ L.T) for ten in bodies]
    parts[0] = wanted - sum(parts[1:], np.zeros(10))  # the sum is exact
    return parts


def _by_mass(wanted: Array, bodies: list[Array]) -> list[Array] | None:
    masses = np.array([max(float(ten[9]), 0.0) for ten in bodies])
    if not masses.min() > 0.0:
        return None
    return [wanted * mass / masses.sum() for mass in masses]


def _root(matrix: Array) -> Array:
    """Symmetric square root."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)
