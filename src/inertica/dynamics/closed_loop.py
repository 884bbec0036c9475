"""The closed loop of a robot and its control law as kernels.

One control step: measure (optionally with noise), control, forward dynamics, record, integrate with the torque held.
"""

from __future__ import annotations

from dataclasses import dataclass

from inertica.dynamics.equations import Equations
from inertica.dynamics.kernels import Input, Kernel, Loop, Normals, Reference, Symbols, Variable, traced
from inertica.dynamics.laws import Law
from inertica.dynamics.noise import DISTRIBUTIONS, NEXT_CALL, NORMAL, TORQUE_CALL
from inertica.dynamics.trace import Symbol
from inertica.errors import InputError, nearest

Stored = dict[str, list[Symbol]]

INTEGRATORS: dict[str, tuple[tuple[float, float], ...]] = {
    "euler": ((1.0, 0.0),),
    "rk2": ((0.0, 0.5), (1.0, 0.0)),
    "rk4": ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, 0.0)),
    "variable": ((2 / 9, 0.5), (1 / 3, 0.75), (4 / 9, 0.0)),
}
"""Explicit Runge-Kutta methods in which each stage uses only the one before: (weight of this stage, node of the next one).

All have such a chain of stages, so that a lane stores one rate at a time; the others (Dormand and Prince, say) need all of them.
"""

VARIABLE = "variable"
"""Bogacki and Shampine's pair of orders 3 and 2 with as many steps in a control period as its error asks for; the others take one."""

ERROR = (-5 / 72, 1 / 12, 1 / 9, -1 / 8)
"""Weights of its stages, and of the rates at the end of a step, in the difference of both orders."""


@dataclass(frozen=True)
class ClosedLoop:
    """What the kernels depend on besides the robot.

    Args:
        law: of control.
        integrator: one step per control period, or as many as its error asks for.
        noisy: measured positions and recorded torques carry noise.
        difference: the measured velocity is the backward difference of the measured position.
        distribution: of the noise, see `noise.DISTRIBUTIONS`.
    """

    law: Law
    integrator: str
    noisy: bool = False
    difference: bool = False
    distribution: str = NORMAL

    def __post_init__(self) -> None:
        if self.integrator not in INTEGRATORS:
            raise InputError(f"unknown integrator '{self.integrator}'; {nearest(self.integrator, INTEGRATORS)}")
        if self.distribution not in DISTRIBUTIONS:
            raise InputError(f"unknown distribution of noise '{self.distribution}'; {nearest(self.distribution, DISTRIBUTIONS)}")

    def described(self, equations: Equations, retained: tuple[int, ...]) -> Loop:
        """The kernels of a robot whose `retained` parameters are inputs and whose others are zero."""
        n, memory = equations.robot.n, equations.layout.memory
        return Loop(
            self._begin(n),
            _forward(equations, retained),
            tuple(self._stage(n, s) for s in range(len(INTEGRATORS[self.integrator]))),
            ("q", "dq", "ddq", "tau") + (("q_measured", "tau_measured") if self.noisy else ()),
            self._start(n) if self.difference else None,
            _finish(equations) if memory else None,
            self._output(n) if self.noisy else None,
            Variable(ERROR[-1], 3) if self.integrator == VARIABLE else None,
        )

    def _sensed(self, n: int) -> dict[str, Input]:
        """What a measurement of the position reads."""
        return {"q": Input(n)} | ({**self._drawn(n, 0), "sd_q": Input(n)} if self.noisy else {})

    def _measured(self, x: Symbols) -> list[Symbol]:
        return self._noisy(x["q"], x["sd_q"], x) if self.noisy else x["q"]

    def _drawn(self, n: int, first_call: int) -> dict[str, Input]:
        """The normal numbers that one number of noise is made of."""
        count = DISTRIBUTIONS[self.distribution].normals
        return {f"normal {i}" if i else "normal": Normals(n, first_call + i * NEXT_CALL) for i in range(count)}

    def _noisy(self, values: list[Symbol], deviation: list[Symbol], x: Symbols) -> list[Symbol]:
        distribution = DISTRIBUTIONS[self.distribution]
        normals = [x[f"normal {i}" if i else "normal"] for i in range(distribution.normals)]
        return [v + s * distribution.number(*z) for v, s, *z in zip(values, deviation, *normals, strict=True)]

    def _output(self, n: int) -> Kernel:
        """Recorded torque: the applied torque plus noise."""
        inputs: dict[str, int | Input] = {"tau": n, "sd_tau": n, **self._drawn(n, TORQUE_CALL)}
        return traced("output", inputs, lambda x: {"tau_measured": self._noisy(x["tau"], x["sd_tau"], x)})

    def _start(self, n: int) -> Kernel:
        """A previous position such that the first measured velocity is the true one."""

        def initial(x: Symbols) -> Stored:
            (dt,) = x["dt"]
            # q - dt dq, so that the first backward difference gives back the true velocity
            step = [dt * v for v in x["dq"]]  # stored, so that it is rounded before it is taken off
            return {"way": step, "q_before": [a - b for a, b in zip(self._measured(x), step, strict=True)]}

        return traced("start", {**self._sensed(n), "dq": n, "dt": 1}, initial)

    def _begin(self, n: int) -> Kernel:
        """Measure and control."""
        law = self.law

        def control(x: Symbols) -> Stored:
            measured, velocity, (dt,) = self._measured(x), x["dq"], x["dt"]
            out: Stored = {}
            if self.difference:
                (idt,) = x["idt"]
                # 1 / dt is a field: a product with it is faster than a division by dt, and the same in all targets
                velocity = [(a - b) * idt for a, b in zip(measured, x["q_before"], strict=True)]
                out["q_before"] = measured
            if self.noisy:
                out["q_measured"] = measured
            reference = {name: x[f"reference {name}"] for name in law.references}
            gain, memory = {name: x[name] for name in law.gains}, {m: x[f"memory {m}"] for m in law.memory}
            tau, after = law.torques(reference, measured, velocity, gain, memory, dt)
            return out | {f"memory {m}": after[m] for m in law.memory} | {"tau": tau}

        inputs: dict[str, int | Input] = {**self._sensed(n), "dq": n, "dt": 1}
        if self.difference:
            inputs |= {"q_before": n, "idt": 1}
        inputs |= {f"reference {name}": Reference(n, k * n) for k, name in enumerate(law.references)}
        return traced("begin", inputs | dict.fromkeys([*law.gains, *(f"memory {m}" for m in law.memory)], n), control)

    def _stage(self, n: int, s: int) -> Kernel:
        """The kernel that adds this stage to the weighted sums and moves to the next node; the last stage completes the step."""
        tableau = INTEGRATORS[self.integrator]
        weight, node = tableau[s]
        variable = self.integrator == VARIABLE
        step = "step" if variable else "dt"

        def advance(x: Symbols) -> Stored:
            (dt,) = x[step]
            out: Stored = {"ddq0": x["ddq"]} if variable and s == 0 else {}
            for name, rate in (("q", x["dq"]), ("dq", x["ddq"])):
                before = x[name] if s == 0 else x[f"{name}0"]
                total = [weight * r for r in rate]
                if variable:
                    error = [ERROR[s] * r for r in rate]
                    total_error = [a + b for a, b in zip(x[f"error_{name}"], error, strict=True)] if s else error
                    out[f"error_{name}"] = total_error
                if s > 0:
                    # the weighted sum of all stages so far
                    total = [a + b for a, b in zip(x[f"sum_{name}"], total, strict=True)]
                if s == len(tableau) - 1:
                    out[name] = [b + dt * t for b, t in zip(before, total, strict=True)]
                else:
                    out[name] = [b + (node * dt) * r for b, r in zip(before, rate, strict=True)]
                    out[f"sum_{name}"] = total
                    if s == 0:
                        out[f"{name}0"] = before
            return out

        sums = ("q0", "sum_q", "dq0", "sum_dq", *(("error_q", "error_dq") if variable else ())) if s > 0 else ()
        return traced(f"{self.integrator}_{s}", {step: 1} | dict.fromkeys(("q", "dq", "ddq", *sums), n), advance)


def _forward(equations: Equations, retained: tuple[int, ...]) -> Kernel:
    n, layout = equations.robot.n, equations.layout

    def acceleration(x: Symbols) -> Stored:
        chi: list[object] = [0.0] * layout.size
        # eliminated parameters are the constant zero, so that whatever only they enter vanishes from the trace
        for k, value in zip(retained, x["chi"], strict=True):
            chi[k] = value
        return {"ddq": equations.forward_dynamics(x["q"], x["dq"], x["tau"], chi, x["shapes"], x["friction"])}

    sizes = {"chi": len(retained), "shapes": len(layout.shapes), "friction": len(layout.memory)}
    return traced("forward", sizes | dict.fromkeys(("q", "dq", "tau"), n), acceleration)


def _finish(equations: Equations) -> Kernel:
    n, layout = equations.robot.n, equations.layout
    sizes = {"shapes": len(layout.shapes), "friction": len(layout.memory), "dt": 1, "q": n, "dq": n}
    return traced(
        "finish", sizes, lambda x: {"friction": equations.advance_memory(x["q"], x["dq"], x["shapes"], x["friction"], x["dt"][0])}
    )
