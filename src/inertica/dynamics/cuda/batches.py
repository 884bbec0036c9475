"""Rows of many motions at once, on the card: their R factors, and products of the rows of pairs of them.

Motions of different lengths are filled up with their last sample, whose rows have no weight.  A row of the card's arrays is a
column of W, so that (motions, columns, samples) are matrices side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.cuda.device import Device
from inertica.dynamics.kernels import Array
from inertica.dynamics.llvm.parallel import for_all
from inertica.dynamics.sums import Misfit, Pair

FLOOR = 1e-13
"""Added to squared unit columns before the first Cholesky factorisation, so that dependent columns do not end it."""

LEFT = 1e-14
"""The same for the second one, whose columns are nearly orthogonal: half of it is the relative error that it leaves."""

ENOUGH = 1000
"""Samples by which a run is judged fine."""

Launched = Callable[[Mapping[str, Array], int], Iterator[tuple[slice, Any]]]


def groups(lengths: Sequence[int], samples: int) -> Iterator[slice]:
    """Motions that are computed together: about so many samples, filled up to the longest."""
    count = max(1, samples // max(lengths, default=1))
    for first in range(0, len(lengths), count):
        yield slice(first, min(first + count, len(lengths)))


def filled(signals: Sequence[Array], length: int) -> Array:
    """(motions * length, n) of signals (N, n), each filled up with its last sample."""
    out = np.empty((len(signals), length, signals[0].shape[1]))

    def fill(k: int) -> None:
        N = len(signals[k])
        out[k, :N], out[k, N:] = signals[k], signals[k][-1]

    for_all(range(len(signals)), fill, os.cpu_count() or 1)
    return out.reshape(-1, signals[0].shape[1])


def filled_weights(weights: Sequence[Array], length: int) -> Array:
    """(joints, motions, 1, length), zero where motions were filled up."""
    out = np.zeros((weights[0].shape[1], len(weights), 1, length))
    for k, own in enumerate(weights):
        out[:, k, 0, : len(own)] = own.T
    return out


def whole(xp: Any, launched: Launched, inputs: Mapping[str, Array], count: int) -> Any:
    """(outputs, count) of a kernel, on the card."""
    parts = [values for _, values in launched(inputs, count)]
    return parts[0] if len(parts) == 1 else xp.concatenate(parts, axis=1)


def triangles(xp: Any, rows: Any) -> Any:
    """(B, k, k) upper triangular R with R'R = A A' of rows A (B, k, samples): Cholesky QR of unit columns, twice.

    The second factorisation is of nearly orthogonal columns, which gives back the digits that products lose.
    """
    scale = xp.sqrt(xp.sum(rows * rows, axis=2))
    unit = rows / xp.where(scale > 0.0, scale, 1.0)[:, :, None]
    eye = xp.eye(rows.shape[1])
    first = xp.linalg.cholesky(xp.matmul(unit, unit.transpose(0, 2, 1)) + FLOOR * eye)
    unit = xp.matmul(xp.linalg.inv(first), unit)
    second = xp.linalg.cholesky(xp.matmul(unit, unit.transpose(0, 2, 1)) + LEFT * eye)
    return xp.matmul(first, second).transpose(0, 2, 1) * scale[:, None, :]


def crossed(xp: Any, launched: Launched, pairs: Sequence[Pair], entries: Sequence[NDArray[np.intp]], shapes: Array) -> list[Any]:
    """Per joint (B, k, 2 k + 1): [Z'Z, Z'W, Z'y] of every pair; see `inertica.dynamics.products`."""
    names, B, length = ("q", "dq", "ddq"), len(pairs), max(len(pair.tau) for pair in pairs)
    sides = []
    for chosen in ("simulated", "measured"):
        motions = zip(*(getattr(pair, chosen) for pair in pairs), strict=True)
        inputs = {name: filled(signals, length) for name, signals in zip(names, motions, strict=True)}
        sides.append(whole(xp, launched, {**inputs, "shapes": shapes}, B * length).reshape(-1, B, length))
    tau = xp.asarray(filled([pair.tau for pair in pairs], length)).reshape(B, length, -1).transpose(2, 0, 1)
    weights = xp.asarray(filled_weights([pair.weights for pair in pairs], length))
    out = []
    for j, own in enumerate(entries):
        Z, W = (side[own].transpose(1, 0, 2) for side in sides)
        right = xp.concatenate([Z, W, tau[j][:, None, :]], axis=1)
        out.append(xp.matmul(Z * weights[j], right.transpose(0, 2, 1)))
    return out


def compared(
    device: Device, signals: Mapping[str, Any], signal: str, given: tuple[Array, Array, Array], limits: tuple[Array, Array, Array]
) -> list[Misfit]:
    """Sums of the runs of some fits, (K, n, runs) of every signal on the card; see `inertica.dynamics.misfits`."""
    xp = device.arrays
    (fits, K, n), steps = given[0].shape, xp.asarray(given[2])
    record, weights = (xp.asarray(x.reshape(fits, 1, K * n)) for x in given[:2])
    seen = xp.ascontiguousarray(signals[signal].reshape(K, n, fits, -1).transpose(2, 3, 0, 1)).reshape(fits, -1, K * n)
    off = (seen - record) * weights
    squares = device.host(xp.sum(off * off, axis=2))
    products, slope = np.zeros((fits, 0, 0)), np.zeros((fits, 0))
    if steps.shape[1]:
        J = (seen[:, 1:] - seen[:, :1]) * (weights / steps[:, :, None])
        products = device.host(xp.matmul(J, J.transpose(0, 2, 1)))
        slope = device.host(xp.matmul(J, off[:, 0, :, None])[:, :, 0])
    low, high, fastest = (xp.asarray(x)[:, None] for x in limits)
    thin = max(1, K // ENOUGH)
    q, dq = signals["q"][::thin], signals["dq"][::thin]
    near = (q.max(axis=0) < high) & (q.min(axis=0) > low) & (xp.sqrt(xp.mean(dq * dq, axis=0)) < fastest)
    fine = device.host((near & xp.isfinite(signals["ddq"][-1])).all(axis=0)).reshape(fits, -1).astype(bool)
    return [Misfit(squares[k], fine[k], products[k], slope[k]) for k in range(fits)]
