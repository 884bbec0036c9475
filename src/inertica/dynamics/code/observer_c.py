"""A momentum observer in C99 beside the functions of a program: external torques sample by sample, and which joint is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inertica.arrays import Array
from inertica.dynamics.code.text import CodeProgram, number

MEMORY = 3.0
"""Time constants after which a low-pass has forgotten: 5 % are left."""


@dataclass(frozen=True, eq=False)
class ObserverSettings:
    """Numbers of an observer; all arrays (n,).

    Args:
        pole: of its low-pass, 1/s.
        velocity_pole: of the low-pass behind which positions are differentiated, 1/s; None where velocities are passed.
        rest: velocities up to which a joint rests.
        hidden: torque that dry friction may hide at rest.
        width: of the rounded sign of dry friction near standstill, zero where it is sharp and held.
        threshold: external torque from which on a joint counts as touched.
        next_to_nothing: velocity, or share of `width`, that has a sign and no effect otherwise.
        delay: s by which torque is measured later than motion.
    """

    pole: float
    velocity_pole: float | None
    rest: Array
    hidden: Array
    width: Array
    threshold: Array
    next_to_nothing: float
    delay: Array


def observer_files(program: CodeProgram, settings: ObserverSettings) -> dict[str, str]:
    """Name of each file -> its text; they are compiled with those of `c_files`."""
    return {f"{program.name}_observer.h": _header(program, settings), f"{program.name}_observer.c": _source(program, settings)}


def _header(program: CodeProgram, settings: ObserverSettings) -> str:
    name, upper, n = program.name, program.name.upper(), program.model.n
    signals = 3 * n if settings.velocity_pole is None else 6 * n
    velocity = (
        "measured velocities" if settings.velocity_pole is None else "not read, may be NULL: velocities come from positions"
    )
    late = (
        f"   Torque was measured {_numbers(settings.delay)} s later than motion: pass motion of that age.\n"
        if settings.delay.any()
        else ""
    )
    return f"""\
#ifndef {upper}_OBSERVER_H
#define {upper}_OBSERVER_H

#include "{name}.h"

#ifdef __cplusplus
extern "C" {{
#endif

/* State of an observer; all zero before the first sample. */
typedef struct {{
  long samples;
  int settled;
  double age;
  double side[{n}], value[{signals}], last[{signals}];
}} {name}_observer;

extern const double {name}_observer_threshold[{n}];

/* External torques of one sample behind a low-pass of {number(settings.pole)} 1/s.
   dt: s since the sample before.  q, tau: positions and torques.  dq: {velocity}.
{late}   external: torques that the model does not explain, positive where they push the joint forward.
   hidden: what dry friction of a joint that rests may hide of them.
   Returns the joint, from 0, that is furthest beyond its threshold, or -1.
   It has forgotten its start after {MEMORY * _memory(settings):.3g} s. */
int {name}_observer_step({name}_observer *o, double dt, const double q[{n}], const double dq[{n}], const double tau[{n}],
                         double external[{n}], double hidden[{n}]);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _source(program: CodeProgram, settings: ObserverSettings) -> str:
    name, n = program.name, program.model.n
    p = "" if program.model.baked else f", {name}_parameters"
    first = "" if settings.velocity_pole is None else _DIFFERENTIATED
    offset = 0 if settings.velocity_pole is None else 3 * n
    wait = _WAIT if settings.velocity_pole else ""
    fast = f"static const double velocity_pole = {number(settings.velocity_pole)};\n" if settings.velocity_pole else ""
    motion = "q, dq, tau, rest" if settings.velocity_pole is None else "low, velocity, low + JOINTS, unsure"
    rounded, rounding = (_rounded(name, p, settings), _ROUNDING) if settings.width.any() else ("", "")
    return f"""\
#include <math.h>

#include "{name}_observer.h"

#define JOINTS {n}

const double {name}_observer_threshold[JOINTS] = {{{_numbers(settings.threshold)}}};
static const double pole = {number(settings.pole)};
{fast}static const double rest[JOINTS] = {{{_numbers(settings.rest)}}};
static const double most_hidden[JOINTS] = {{{_numbers(settings.hidden)}}};

/* y with dy/dt = pole (u - y), exact for u in straight lines from sample to sample */
static void low_pass(double pole, double dt, int count, const double *u, double *y, double *last)
{{
  const double x = pole * dt, decay = exp(-x), mean = x > 0.0 ? -expm1(-x) / x : 1.0;
  for (int i = 0; i < count; i++) {{
    y[i] = decay * y[i] + (mean - decay) * last[i] + (1.0 - mean) * u[i];
    last[i] = u[i];
  }}
}}

static double sign_of(double x) {{ return (double)((x > 0.0) - (x < 0.0)); }}

static void settle(int count, const double *u, double *y, double *last)
{{
  for (int i = 0; i < count; i++) y[i] = last[i] = u[i];
}}

static int observed({name}_observer *o, double dt, const double *q, const double *dq, const double *tau,
                    const double *unsure, double *external, double *hidden)
{{
  double held[JOINTS], p[JOINTS], flow[JOINTS], friction[JOINTS], u[3 * JOINTS];
  double *y = o->value + {offset}, *last = o->last + {offset};
  for (int i = 0; i < JOINTS; i++) {{
    const int resting = fabs(dq[i]) <= rest[i];
    if (!resting && dq[i] != 0.0) o->side[i] = sign_of(dq[i]);
    held[i] = resting ? {number(settings.next_to_nothing)} * o->side[i] : dq[i];
    u[2 * JOINTS + i] = fabs(dq[i]) <= unsure[i] ? most_hidden[i] : 0.0;
  }}
{rounded}  {name}_friction(q, held{p}, friction);
{rounding}  {name}_momentum(q, dq{p}, p);
  {name}_momentum_flow(q, dq{p}, flow);
  for (int i = 0; i < JOINTS; i++) {{
    u[i] = flow[i] + friction[i] - tau[i];
    u[JOINTS + i] = p[i];
  }}
  if (!o->settled) {{  /* the residual begins at zero */
    settle(3 * JOINTS, u, y, last);
    for (int i = 0; i < JOINTS; i++) y[i] = 0.0;
    o->settled = 1;
  }} else {{
    low_pass(pole, dt, 3 * JOINTS, u, y, last);
  }}
  int touched = -1;
  double furthest = 1.0;
  for (int i = 0; i < JOINTS; i++) {{
    external[i] = y[i] + pole * (p[i] - y[JOINTS + i]);
    hidden[i] = fmax(u[2 * JOINTS + i], y[2 * JOINTS + i]);
    const double ratio = fabs(external[i]) / ({name}_observer_threshold[i] + hidden[i]);
    if (ratio > furthest) {{
      furthest = ratio;
      touched = i;
    }}
  }}
  return touched;
}}

int {name}_observer_step({name}_observer *o, double dt, const double q[JOINTS], const double dq[JOINTS], const double tau[JOINTS],
                         double external[JOINTS], double hidden[JOINTS])
{{
  if (!o->samples) dt = 0.0;
  o->age += dt;
{first}  o->samples++;
{wait}  return observed(o, dt, {motion}, external, hidden);
}}
"""


_DIFFERENTIATED = """\
  (void)dq;
  double *low = o->value, signals[2 * JOINTS], velocity[JOINTS], unsure[JOINTS];
  for (int i = 0; i < JOINTS; i++) {
    signals[i] = q[i];
    signals[JOINTS + i] = tau[i];
  }
  if (!o->samples) {
    settle(2 * JOINTS, signals, low, o->last);
  } else {
    if (o->samples == 1) /* positions begin as straight lines */
      for (int i = 0; i < JOINTS; i++) low[i] -= (signals[i] - o->last[i]) / dt / velocity_pole;
    low_pass(velocity_pole, dt, 2 * JOINTS, signals, low, o->last);
  }
  for (int i = 0; i < JOINTS; i++) velocity[i] = velocity_pole * (q[i] - low[i]);
  double *late = o->value + 2 * JOINTS;
  if (!o->samples)
    settle(JOINTS, velocity, late, o->last + 2 * JOINTS);
  else
    low_pass(velocity_pole, dt, JOINTS, velocity, late, o->last + 2 * JOINTS);
  /* what velocity gains in one time constant: within it friction may have changed sides */
  for (int i = 0; i < JOINTS; i++) unsure[i] = fmax(rest[i], fabs(velocity[i] - late[i]));
"""
"""Positions and torques behind the low-pass, and the exact rate of those positions."""

_WAIT = f"""\
  for (int i = 0; i < JOINTS; i++) {{
    external[i] = 0.0;
    hidden[i] = fabs(velocity[i]) <= unsure[i] ? most_hidden[i] : 0.0;
    if (fabs(velocity[i]) > rest[i] && velocity[i] != 0.0) o->side[i] = sign_of(velocity[i]);
  }}
  if (o->age < {MEMORY!r} / velocity_pole) return -1;
"""
"""Nothing is said before velocities are right."""


def _rounded(name: str, p: str, settings: ObserverSettings) -> str:
    """Friction at standstill, and on either side of it, for joints whose sign of friction is rounded."""
    tiny = [float(w) * settings.next_to_nothing for w in settings.width]
    return f"""\
  static const double width[JOINTS] = {{{_numbers(settings.width)}}};
  static const double forward[JOINTS] = {{{_numbers(tiny)}}}, none[JOINTS] = {{0.0}};
  static const double backward[JOINTS] = {{{_numbers([-w for w in tiny])}}};
  double up[JOINTS], still[JOINTS], down[JOINTS];
  {name}_friction(q, forward{p}, up);
  {name}_friction(q, none{p}, still);
  {name}_friction(q, backward{p}, down);
  for (int i = 0; i < JOINTS; i++)
    if (width[i] > 0.0) held[i] = dq[i];
"""


_ROUNDING = """\
  for (int i = 0; i < JOINTS; i++) {
    const double jump = dq[i] >= 0.0 ? up[i] - still[i] : still[i] - down[i];
    if (width[i] > 0.0) friction[i] += jump * (tanh(dq[i] / width[i]) - sign_of(dq[i]));
  }
"""
"""What the rounded sign adds to the jump of dry friction."""


def _memory(settings: ObserverSettings) -> float:
    """Sum of the time constants."""
    return 1.0 / settings.pole + (1.0 / settings.velocity_pole if settings.velocity_pole else 0.0)


def _numbers(values: Sequence[float] | Array) -> str:
    return ", ".join(number(float(value)) for value in values)
