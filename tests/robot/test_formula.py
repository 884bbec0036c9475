"""Formulas compute what they say and refuse everything else."""

import contextlib
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertica.errors import InputError
from inertica.robot.formula import Formula, FormulaTerm, constant
from inertica.robot.terms import State

X = State((0.3, -1.2), (0.5, -0.7), (2.0, 3.0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sin(q2)", math.sin(-1.2)),
        ("0.1*ddq1 + 0.01*ddq2", 0.23),
        ("-q1**2", -0.09),
        ("q2**3", -1.728),
        ("q2**-2", 1 / 1.44),
        ("(q1 - pi/2)*dq1", (0.3 - math.pi / 2) * 0.5),
        ("abs(dq2)**0.5", math.sqrt(0.7)),
        ("power(q1, 2)", 0.09),
        ("maximum(q1, q2) + minimum(q1, q2)", -0.9),
        ("tanh(dq1)*exp(-q1)/sqrt(q1) + sign(dq2)*log(q1)*cos(q1)", None),
        ("+1e-3", 1e-3),
        ("ddq1*cos(q1)/2", 2.0 * math.cos(0.3) / 2),
    ],
)
def test_values(text, expected):
    value = Formula(text, 2)(X)
    if expected is None:
        expected = math.tanh(0.5) * math.exp(-0.3) / math.sqrt(0.3) - math.log(0.3) * math.cos(0.3)
    assert value == pytest.approx(expected, rel=1e-14)


def test_arrays_go_through():
    q = np.linspace(-1, 1, 5)
    x = State((q,), (q,), (q,))
    assert np.allclose(Formula("sin(q1)*dq1**2", 1)(x), np.sin(q) * q**2)


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("q3", "'q3' but the robot has 2 joints"),
        ("q0", "unknown name 'q0'"),
        ("q", "unknown name 'q'"),
        ("__import__", "unknown name"),
        ("sin", "needs brackets"),
        ("sinn(q1)", "did you mean 'sin'"),
        ("sin(q1, q2)", "takes 1 argument"),
        ("power(q1)", "takes 2 arguments"),
        ("q1.real", "q1.real"),
        ("q1[0]", r"'\['"),
        ("'a'", "contains '''"),
        ("lambda", "cannot be read"),
        ("[x for x in q1]", r"'\['"),
        ("q1 if q2 else q1", "which formulas do not have"),
        ("q1 or q2", "which formulas do not have"),
        ("not q1", "which formulas do not have"),
        ("q1 // 2", "which formulas do not have"),
        ("(q1, q2)", "which formulas do not have"),
        ("sin(*q1)", "which formulas do not have"),
        ("True", "which formulas do not have"),
        ("None", "which formulas do not have"),
        ("1j", "which formulas do not have"),
        ("q1**q2", "as exponent"),
        ("q1**1000", "as exponent"),
        ("9**9**9**9", "as exponent"),
        ("q1**2**3", "as exponent"),
        ("1/0", "no finite value"),
        ("1/(1-1)*q1", "no finite value"),
        ("1e300*1e300*q1", "no finite value"),
        ("log(0)*q1", "no finite value"),
        ("sqrt(-1)", "no finite value"),
        ("1e999", "no finite value"),
        ("", "empty"),
        ("q1 +", "cannot be read"),
        ("q1\n+ q2", "which formulas do not have"),
        ("import os", "cannot be read"),
        ("(" * 300 + "q1" + ")" * 300, "nested too deeply|cannot be read"),
        ("-" * 200 + "q1", "nested too deeply"),
        ("q1+" * 400 + "q1", "longer than"),
        ("ddq1*ddq2", "not linear in the accelerations"),
        ("ddq1**2", "not linear in the accelerations"),
        ("sin(ddq1)", "not linear in the accelerations"),
        ("1/ddq1", "not linear in the accelerations"),
    ],
)
def test_refused_with_the_offending_piece(text, piece):
    with pytest.raises(InputError, match=piece):
        Formula(text, 2)


@given(st.text(max_size=60))
def test_any_text_is_a_formula_or_an_input_error(text):
    with contextlib.suppress(InputError):
        Formula(text, 2)


@given(st.text(alphabet="q12d()+-*/., sincopwer_e", max_size=40))
def test_near_formulas_too(text):
    with contextlib.suppress(InputError):
        Formula(text, 2)


def test_constants():
    assert constant("-3*pi/4") == -3 * math.pi / 4
    with pytest.raises(InputError):
        constant("q1")


def test_terms_are_hashable_with_a_stable_repr_and_survive_pickling():
    make = lambda: FormulaTerm("Im2", ((0, Formula("0.1*ddq2", 2)), (1, Formula("0.1*ddq1 + 0.01*ddq2", 2))), "kg m^2", 0.0)  # noqa: E731
    a, b = make(), make()
    assert a == b and hash(a) == hash(b) and repr(a) == repr(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert a.columns(X) == [{0: pytest.approx(0.3), 1: pytest.approx(0.23)}]
    assert a.parameters[0].lower == 0.0 and a.joint is None


def test_parameter_names_are_words():
    with pytest.raises(InputError, match="cannot name a parameter"):
        FormulaTerm("2x", ((0, Formula("q1", 1)),))
    with pytest.raises(InputError, match="no formula"):
        FormulaTerm("x", ())
