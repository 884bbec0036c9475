"""Balances of momentum and energy: the torque regressor again, without accelerations."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.dynamics.engine import Engine
from inertica.dynamics.momentum import Balance, balance
from inertica.robot.load import load

H = 1e-3
EIGHTH = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)


def stored(of: Balance, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    return np.concatenate([kept.T.copy() for _, kept, _ in of.chunks(q, dq)])


def columns(of: Balance, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Rate of what is stored along the motion, by differences, and what flows."""
    out = np.concatenate([flow.T.copy() for _, _, flow in of.chunks(q, dq)])
    for i, weight in enumerate(EIGHTH, 1):
        for sign in (1.0, -1.0):
            h = sign * i * H
            out += sign * weight / H * stored(of, q + h * dq + 0.5 * h**2 * ddq, dq + h * ddq)
    return out


@pytest.mark.parametrize("name", ["scara4", "tx40_coupled"])
def test_both_balances_are_the_torque_regressor(name: str) -> None:
    engine = Engine(load(name).layout)
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 20, engine.n))
    Y = engine.regressor(q, dq, ddq)
    momentum, energy = balance(engine, "momentum"), balance(engine, "energy")
    assert set(momentum.entries) == set(engine.entries)
    W, V = np.zeros(Y.shape), np.zeros((len(q), engine.layout.size))
    W[:, *np.transpose(momentum.entries)] = columns(momentum, q, dq, ddq)
    V[:, [k for _, k in energy.entries]] = columns(energy, q, dq, ddq)
    assert np.abs(W - Y).max() < 1e-9 * np.abs(Y).max()
    power = np.einsum("ti,tik->tk", dq, Y)
    assert np.abs(V - power).max() < 1e-9 * np.abs(power).max()


def test_momentum_is_the_mass_matrix_times_velocity() -> None:
    description = load("tx40")
    engine = Engine(description.layout)
    q, dq = np.random.default_rng(2).normal(size=(2, 30, engine.n))
    p = np.einsum("tij,tj->ti", engine.mass_matrix(q, description.prior), dq)
    of = balance(engine, "momentum")
    found = np.zeros(p.shape)
    for (i, k), column in zip(of.entries, stored(of, q, dq).T, strict=True):
        found[:, i] += description.prior.values[k] * column
    assert np.abs(found - p).max() < 1e-12 * np.abs(p).max()
