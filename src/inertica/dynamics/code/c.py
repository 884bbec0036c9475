"""A program in C99: a header, a source, and a test that holds the compiled functions against numbers of the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.dynamics.code.functions import Function
from inertica.dynamics.code.text import CodeProgram, body, number
from inertica.dynamics.kernels import Array
from inertica.dynamics.statements import Language
from inertica.escape import c_string, code_comment

C = Language("const double {} = {};", number)

TOLERANCE = 1e-10
"""Largest difference, relative to the largest torque, that the test program accepts; compilers that reorder sums stay below."""

_HELPERS = """\
static inline double sign_of(double x) { return (double)((x > 0.0) - (x < 0.0)); }
static inline double smaller(double a, double b) { return b < a ? b : a; }
static inline double larger(double a, double b) { return b > a ? b : a; }
"""


@dataclass(frozen=True, eq=False)
class Expected:
    """Motions (K, n) and their torques as the engine computes them."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array


def c_files(program: CodeProgram, expected: Expected) -> dict[str, str]:
    """Name of each file -> its text."""
    name = program.name
    return {f"{name}.h": _header(program), f"{name}.c": _source(program), f"{name}_test.c": _test(program, expected)}


def _header(program: CodeProgram) -> str:
    name, upper = program.name, program.name.upper()
    prototypes = "\n".join(f"/* {_says(f)} */\n{_prototype(program, f)};\n" for f in program.functions)
    return (
        f"{_comment(program)}\n#ifndef {upper}_H\n#define {upper}_H\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
        f"#define {upper}_JOINTS {program.model.n}\n#define {upper}_PARAMETERS {len(program.model.retained)}\n\n"
        f"extern const char *const {name}_joint_names[{program.model.n}];\n"
        f"extern const char *const {name}_parameter_names[{len(program.model.retained)}];\n"
        f"extern const double {name}_parameters[{len(program.model.retained)}];\n\n{prototypes}\n"
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )  # fmt: skip


def _source(program: CodeProgram) -> str:
    name, model = program.name, program.model
    rows = zip(program.parameter_names, model.values, program.meanings, strict=True)
    values = "\n".join(f"  {float(v)!r}, /* {code_comment(f'{n}: {meaning}')} */" for n, v, meaning in rows)
    parts = [
        f'{_comment(program)}\n#include <math.h>\n\n#include "{name}.h"\n\n{_HELPERS}',
        f"const char *const {name}_joint_names[{model.n}] = {{{_strings(model.layout.robot.joint_names)}}};\n",
        f"const char *const {name}_parameter_names[{len(model.retained)}] = {{{_strings(program.parameter_names)}}};\n",
        f"const double {name}_parameters[{len(model.retained)}] = {{\n{values}\n}};\n",
        *(_function(program, f) for f in program.functions),
    ]
    return "\n".join(parts)


def _function(program: CodeProgram, function: Function) -> str:
    lines, outputs = body(function, C)
    lines = [f"(void){key};" for key in function.inputs if not any(f" {key}[" in line for line in lines)] + lines
    lines += [f"{function.result}[{i}] = {value};" for i, value in enumerate(outputs)]
    return f"{_prototype(program, function)}\n{{\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"


def _prototype(program: CodeProgram, function: Function) -> str:
    arguments = [f"const double {key}[{count}]" for key, count in function.inputs.items()]
    arguments.append(f"double {function.result}[{math.prod(function.shape)}]")
    return f"void {program.name}_{function.name}({', '.join(arguments)})"


def _says(function: Function) -> str:
    rows = f"; {function.shape[0]} x {function.shape[1]}, row by row" if len(function.shape) > 1 else ""
    return function.summary + rows


def _comment(program: CodeProgram) -> str:
    return "/*\n" + "\n".join(f" * {code_comment(line)}".rstrip() for line in program.remarks) + "\n */"


def _strings(names: Sequence[str]) -> str:
    return ", ".join(map(c_string, names))


def _test(program: CodeProgram, expected: Expected) -> str:
    """The torques of `inverse_dynamics`, of its parts added up, and of the regressor, beside those of the engine."""
    name, n, P = program.name, program.model.n, len(program.model.retained)
    tables = "\n".join(
        f"static const double {key}_at[{len(values)}][{n}] = {{\n{_rows(values)}\n}};"
        for key, values in (("q", expected.q), ("dq", expected.dq), ("ddq", expected.ddq), ("tau", expected.tau))
    )
    p = "" if program.model.baked else f", {name}_parameters"
    by_regressor = "" if program.linear else "/* not compared: terms without a linear parameter add to it */ if (0) "
    return f"""\
/* cc -O2 {name}.c {name}_test.c -lm && ./a.out: are the compiled functions those of the model they were written from? */
#include <math.h>
#include <stdio.h>

#include "{name}.h"

{tables}

static double worst = 0.0;

static void compare(const double *found, const double *wanted)
{{
  for (int i = 0; i < {n}; i++) {{
    const double off = fabs(found[i] - wanted[i]) / {number(float(np.abs(expected.tau).max()) or 1.0)};
    if (!(off <= worst)) worst = off;
  }}
}}

static void multiply(const double *A, const double *x, int columns, double *y)
{{
  for (int i = 0; i < {n}; i++) {{
    y[i] = 0.0;
    for (int j = 0; j < columns; j++) y[i] += A[columns * i + j] * x[j];
  }}
}}

int main(void)
{{
  static double Y[{n * P}], M[{n * n}], C[{n * n}];
  double tau[{n}], sum[{n}], back[{n}], g[{n}], c[{n}], f[{n}], Cdq[{n}];
  for (int k = 0; k < {len(expected.q)}; k++) {{
    const double *q = q_at[k], *dq = dq_at[k], *ddq = ddq_at[k];
    {name}_inverse_dynamics(q, dq, ddq{p}, tau);
    compare(tau, tau_at[k]);
    {name}_mass_matrix(q{p}, M);
    {name}_coriolis(q, dq{p}, c);
    {name}_coriolis_matrix(q, dq{p}, C);
    {name}_gravity(q{p}, g);
    {name}_friction(q, dq{p}, f);
    multiply(C, dq, {n}, Cdq);
    compare(Cdq, c);
    multiply(M, ddq, {n}, sum);
    for (int i = 0; i < {n}; i++) sum[i] += c[i] + g[i] + f[i];
    compare(sum, tau_at[k]);
    {name}_regressor(q, dq, ddq, Y);
    multiply(Y, {name}_parameters, {P}, sum);
    {by_regressor}compare(sum, tau_at[k]);
    {name}_forward_dynamics(q, dq, tau{p}, back);
    {name}_inverse_dynamics(q, dq, back{p}, sum);
    compare(sum, tau);
  }}
  printf("largest difference from the engine: %.1e of the largest torque\\n", worst);
  return worst <= {TOLERANCE!r} ? 0 : 1;
}}
"""


def _rows(values: Array) -> str:
    return "\n".join("  {" + ", ".join(repr(float(x)) for x in row) + "}," for row in values)
