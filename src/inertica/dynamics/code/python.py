"""A program in Python: one module that imports `math` and nothing else."""

from __future__ import annotations

from inertica.dynamics.code.functions import Function
from inertica.dynamics.code.text import CodeProgram, body, number
from inertica.dynamics.statements import Language
from inertica.escape import code_comment, python_string

PYTHON = Language("{} = {}", number, absolute="abs({})", minimum="min({}, {})", maximum="max({}, {})")

_HEAD = """
from math import cos, exp, log, sin, sqrt, tanh

JOINTS = ({joints},)
NAMES = ({names},)
PARAMETERS = (
{values}
)


def sign_of(x):
    return (x > 0.0) - (x < 0.0)
"""


def python_files(program: CodeProgram) -> dict[str, str]:
    """Name of each file -> its text."""
    joints = program.model.layout.robot.joint_names
    values = "\n".join(
        f"    {float(value)!r},  # {code_comment(f'{name}: {meaning}')}"
        for name, value, meaning in zip(program.parameter_names, program.model.values, program.meanings, strict=True)
    )
    head = _HEAD.format(
        joints=", ".join(map(python_string, joints)), names=", ".join(map(python_string, program.parameter_names)), values=values
    )
    remarks = "\n".join(map(code_comment, program.remarks))
    parts = [f'"""{remarks}\n"""\n{head}', *(_function(f) for f in program.functions)]
    return {f"{program.name}.py": "\n\n".join(parts)}


def _function(function: Function) -> str:
    lines, outputs = body(function, PYTHON)
    arguments = ", ".join("p=PARAMETERS" if key == "p" else key for key in function.inputs)
    if len(function.shape) == 1:
        result = f"[{', '.join(outputs)}]"
    else:
        rows, columns = function.shape
        inner = ",\n".join(f"        [{', '.join(outputs[i * columns : (i + 1) * columns])}]" for i in range(rows))
        result = f"[\n{inner},\n    ]"
    text = "\n".join(f"    {line}" for line in [*lines, f"return {result}"])
    return f'def {function.name}({arguments}):\n    """{function.summary[0].upper()}{function.summary[1:]}."""\n{text}\n'
