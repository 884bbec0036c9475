"""`SimulateOptions`: everything that can be stated of a simulated experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from inertica.options import listed, option, per_joint

SENSED = (
    *("rate", "position_step", "torque_step", "current", "delay", "hysteresis", "torque_offset", "velocity", "jitter", "dropped"),
    *("outliers", "outlier_size"),
)
"""Options that are fields of `Sensors`; those that are not stated are as the robot states them."""


@listed
@dataclass(frozen=True)
class SimulateOptions:
    """How an experiment is simulated; see `simulate`."""

    noise: str | None = option(None, "one of the robot's noise presets; no noise by default", unit="PRESET")
    position_noise: ArrayLike | None = option(
        None, "standard deviation of positions in rad (m), one or one per joint", unit="SD[,..]", read=per_joint
    )
    torque_noise: ArrayLike | None = option(None, "the same of torques in N m (N)", unit="SD[,..]", read=per_joint)
    loop: str | Mapping[str, Any] | None = option(
        None,
        "as in a card: '{law: pd, kp: [..], kd: [..], rate: 1000}', or wn in rad/s in place of gains (docs/recipes.md)",
        unit="YAML",
    )
    radians: bool = option(False, "read the preset's position noise as radians, as printed")
    distribution: str = option("normal", "of the noise: normal (default), uniform or laplace")
    friction: str | None = option(None, "of the simulated robot: none, viscous, coulomb, viscous_coulomb, ...", unit="LAW")
    integrator: str = option("rk4", "euler, rk2, rk4 (default) or variable")
    rate: float | None = option(None, "sample rate of the log; what the robot states by default", unit="HZ", read=float)
    duration: float | None = option(None, "seconds; one period of the trajectory by default", unit="S", read=float)
    runs: int = option(1, "repetitions with different noise")
    seed: int = option(0, "of the noise")
    delay: ArrayLike | None = option(
        None, "by which recorded torque lags the motion, one or one per joint", unit="S[,..]", read=per_joint
    )
    jitter: float | None = option(None, "standard deviation of the sampling instants", unit="S", read=float)
    dropped: float | None = option(None, "share of missing samples", unit="SHARE", read=float)
    outliers: float | None = option(None, "share of torque samples with a spike", unit="SHARE", read=float)
    outlier_size: float | None = option(None, "of spikes, in standard deviations of the torque", unit="SIZE", read=float)
    hysteresis: float | None = option(None, "of the torque sensor, as a share of the torque's range", unit="SHARE", read=float)
    torque_offset: ArrayLike | None = option(None, "added to recorded torques", unit="TORQUE[,..]", read=per_joint)
    velocity: float | None = option(
        None, "also record velocities, with this standard deviation", unit="SD", read=float, flag="velocity_noise"
    )
    position_step: ArrayLike | None = option(
        None, "resolution of recorded positions; the card's sensors: by default", unit="STEP[,..]", read=per_joint,
        flag="quantise",
    )  # fmt: skip
    torque_step: ArrayLike | None = option(
        None, "resolution of recorded torques, likewise", unit="STEP[,..]", read=per_joint, flag="quantise_torque"
    )
    current: bool = option(False, "record currents instead of torques")

    @property
    def sensed(self) -> dict[str, Any]:
        """What is stated of the sensors."""
        stated = {name: getattr(self, name) for name in SENSED}
        return {name: value for name, value in stated.items() if value is not None and value is not False}
