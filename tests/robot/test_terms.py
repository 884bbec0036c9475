"""Terms: the torque they give, law by law, against the formula written out."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from inertica.errors import InputError
from inertica.robot import friction
from inertica.robot.drives import Armature, Coupling, ToolboxCoupling
from inertica.robot.formula import Formula, FormulaTerm
from inertica.robot.layout import Layout
from inertica.robot.model import Joint, Robot
from inertica.robot.terms import Counterbalance, RigidBody, Spring, State, UserTerm

Q, DQ, DDQ = (0.4, -0.9, 1.3), (0.02, -0.6, 0.7), (1.1, -2.0, 0.5)


def torque(term, values, q=Q, dq=DQ, ddq=DDQ, memory=()):
    """Sum of parameter times column, plus the rest, on three joints."""
    x = State(q, dq, ddq, {s.name: s.value for s in term.shapes}, memory)
    columns = term.columns(x)
    assert len(columns) == len(term.parameters) == len(values)
    out = np.zeros(3)
    for value, column in [*zip(values, columns, strict=True), (1.0, term.torque(x))]:
        for joint, entry in column.items():
            out[joint] += value * entry
    return out


@pytest.mark.parametrize(
    ("term", "values", "expected"),
    [
        (friction.Viscous(1), [2.0], [0, 2.0 * -0.6, 0]),
        (friction.Coulomb(1), [2.0], [0, -2.0, 0]),
        (friction.Coulomb(0, 0.01), [2.0], [2.0 * math.tanh(2.0), 0, 0]),
        (friction.Offset(2), [0.3], [0, 0, 0.3]),
        (friction.DirectionalCoulomb(0), [2.0, 3.0], [2.0, 0, 0]),
        (friction.DirectionalCoulomb(1), [2.0, 3.0], [0, -3.0, 0]),
        (friction.Stribeck(0, 0.05, 2.0), [2.0, 0.7], [2.0 + 0.7 * math.exp(-0.16), 0, 0]),
        (friction.Stribeck(1, 0.5, 1.5), [2.0, -0.7], [0, -(2.0 - 0.7 * math.exp(-(1.2**1.5))), 0]),
        (Armature(1), [0.5], [0, -1.0, 0]),
        (Armature(2, 1), [0.5], [0, 0.5 * 0.5, 0.5 * (0.5 - 2.0)]),
        (Coupling(2, (1, 2)), [0.5, 2.0, 3.0], [0, 0.5 * 0.5 + 2 * 0.7 + 3, 0.5 * -2.0 + 2 * -0.6 + 3]),
        (Coupling(2, (1, 2), (-1.0, 2.0)), [0.5, 0, 3.0], [0, -1 * (0.5 * 1.0 + 3), 2 * (0.5 * 2.0 + 3)]),
        (ToolboxCoupling(2, 1), [2.0, 3.0], [0, 2 * 0.7 + 3, 2 * -0.6 - 3]),
        (ToolboxCoupling(2, 1, rotor=True), [2.0, 3.0], [0, 2 * 0.7 + 3, 2 * -0.6 + 3 * (1 - 1)]),  # sign(0.7 - 0.6) - sign(0.7)
        (ToolboxCoupling(1, 2, rotor=True), [2.0, 3.0], [0, 2 * 0.7 + 3 * (1 + 1), 2 * -0.6 - 3]),
        (Spring(1, 0.1), [5.0], [0, 5.0 * -1.0, 0]),
        (Counterbalance(0), [2.0, 3.0], [2 * math.sin(0.4) + 3 * math.cos(0.4), 0, 0]),
        (FormulaTerm("K", ((0, Formula("q1*ddq2", 3)), (2, Formula("dq3**2", 3)))), [2.0], [2 * 0.4 * -2.0, 0, 2 * 0.49]),
        (UserTerm("K", lambda x: {1: x.q[0]}), [2.0], [0, 0.8, 0]),
        (friction.LuGre(0, 100.0, 1.0, 0.5, 1.0, 1.5, 0.05, 2.0), [], None),
    ],
    ids=lambda v: type(v).__name__ if hasattr(v, "columns") else "",
)
def test_torques(term, values, expected):
    if expected is None:  # LuGre: sigma0 z + sigma1 dz/dt + sigma2 dq
        z, dq = 0.003, DQ[0]
        phi = (1.0 + 0.5 * math.exp(-((dq / 0.05) ** 2))) / 100.0
        rate = dq - abs(dq) * z / phi
        assert torque(term, values, memory=(z,)) == pytest.approx([100 * z + rate + 0.5 * dq, 0, 0])
        return
    assert torque(term, values) == pytest.approx(expected)


def test_friction_is_zero_at_rest():
    rest = (0.0, 0.0, 0.0)
    for term in (
        friction.Viscous(0),
        friction.Coulomb(0),
        friction.Coulomb(0, 0.1),
        friction.Stribeck(0),
        friction.DirectionalCoulomb(0),
    ):
        assert not torque(term, [1.0] * len(term.parameters), dq=rest).any()


def test_smooth_sign_approaches_the_sharp_one():
    v = np.linspace(-1, 1, 201)
    errors = [np.abs(friction.direction(v, width) - np.sign(v))[np.abs(v) > 0.05].max() for width in (0.1, 0.02, 0.001)]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-12


def test_stribeck_has_static_friction_at_low_and_coulomb_at_high_speed():
    term = friction.Stribeck(0, vs=0.05, es=2.0)
    low = torque(term, [1.0, 0.5], dq=(1e-9, 0, 0))[0]
    high = torque(term, [1.0, 0.5], dq=(1.0, 0, 0))[0]
    assert low == pytest.approx(1.5) and high == pytest.approx(1.0)


@pytest.mark.parametrize("dq", [0.3, -0.02, 1e-6, 0.0])
@pytest.mark.parametrize("z0", [0.0, 0.004, -0.02])
def test_lugre_memory_advances_exactly(dq, z0):
    term = friction.LuGre(0, 100.0, 1.0, 0.5, 1.0, 1.5, 0.05, 2.0)
    x = State((0,), (dq,), (0,), {s.name: s.value for s in term.shapes}, (z0,))
    phi = (1.0 + 0.5 * math.exp(-((dq / 0.05) ** 2))) / 100.0
    fine = solve_ivp(lambda t, z: dq - abs(dq) * z / phi, (0, 0.05), [z0], rtol=1e-11, atol=1e-14).y[0, -1]
    assert term.advance(x, 0.05)[0] == pytest.approx(fine, rel=1e-8, abs=1e-12)


def test_lugre_settles_on_the_stribeck_curve():
    term = friction.LuGre(0, 1e4, 10.0, 0.0, 1.0, 1.5, 0.05, 2.0)
    memory = (0.0,)
    for _ in range(200):
        x = State((0,), (0.03,), (0,), {s.name: s.value for s in term.shapes}, memory)
        memory = tuple(term.advance(x, 0.01))
    assert torque(term, [], dq=(0.03, 0, 0), memory=memory)[0] == pytest.approx(1.0 + 0.5 * math.exp(-0.36), rel=1e-6)


def test_unknown_laws_and_options():
    with pytest.raises(InputError, match="did you mean 'viscous'"):
        friction.law("viscos", 0)
    with pytest.raises(InputError, match="no option 'widht'"):
        friction.law("coulomb", 0, widht=1.0)


def test_layout_order_and_duplicates():
    robot = Robot("r", (Joint("a", "la", -1), Joint("b", "lb", 0)))
    layout = Layout(
        robot,
        (Coupling(1, (0, 1)), friction.Offset(0), friction.Coulomb(0), friction.Viscous(0), Armature(0)),
        (RigidBody(1, "p"),),
    )
    assert layout.names[10:15] == ("Ia1", "Fv1", "Fc1", "off1", "XX2")
    assert layout.names[24:27] == ("Iam2", "Fvm2", "Fcm2") and layout.names[-1] == "Mp"
    with pytest.raises(InputError, match="defined by two terms"):
        Layout(robot, (friction.Coulomb(0), friction.Stribeck(0)))


def test_couplings_need_matching_joints():
    for joints, ratios in (((1,), ()), ((1, 1), ()), ((0, 1), (1.0,))):
        with pytest.raises(InputError, match="coupling of motor 2"):
            Coupling(1, joints, ratios)
