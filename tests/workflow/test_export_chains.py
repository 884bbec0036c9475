"""Sub-chains and links with tools: every link of the written file could exist; what a format lacks is in a card beside it."""

from dataclasses import replace

import numpy as np
import pytest

import pair
from inertica.cli.main import main
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.physical.check import check_model
from inertica.robot import inertia
from inertica.robot.drives import Coupling
from inertica.robot.formats.urdf_file import read_urdf
from inertica.robot.formula import Formula, FormulaTerm
from inertica.robot.friction import law
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.terms import Spring, UserTerm
from inertica.workflow.export.model import export_model

TOOL = """  <link name="hand"><inertial><origin xyz="0.05 0 0.02"/><mass value="0.8"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial></link>
  <joint name="wrist" type="{type}"><parent link="lower"/><child link="hand"/><origin xyz="0.25 0 0" rpy="0 0 0.3"/>
    <axis xyz="1 0 0"/>{limit}</joint>
</robot>"""
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="5"/>'


def with_hand(tmp_path, kind):
    """The pair with a hand, at a fixed joint or at one that a card leaves out; and the card."""
    limit = LIMIT if kind == "revolute" else ""
    (tmp_path / "arm.urdf").write_text(pair.URDF.replace("</robot>", TOOL.format(type=kind, limit=limit)))
    (tmp_path / "card.yaml").write_text("model: arm.urdf\njoints: [shoulder, elbow]\n")
    return load(tmp_path / "card.yaml")


@pytest.mark.parametrize("kind", ["fixed", "revolute"])
def test_a_body_lighter_than_its_tool_is_shared_out(tmp_path, kind):
    """Lower arm and hand were found to weigh less together than the file's hand: no link of the file may become impossible."""
    robot = with_hand(tmp_path, kind)
    prior = robot.prior
    light = {name: 0.4 * prior[name] for name in prior.layout.names[prior.layout.link(1)]}
    result = pair.result_on(robot, prior.replaced(light))
    assert result.parameters["M2"] < 0.8 and result.physically_consistent
    written = export_model(result, tmp_path / "out.urdf")
    tree = read_urdf(tmp_path / "out.urdf")
    for link in ("upper", "lower", "hand"):
        assert inertia.physically_consistent(tree.ten(link)), link
    assert check_model(load(tmp_path / "out.urdf").prior).consistent
    assert written.possible and "every link in it could exist" in written.sentence


def test_the_model_check_of_the_command_line_agrees(tmp_path, capsys):
    """What failed before: read again as a sub-chain the file was fine, as a file it was not."""
    robot = with_hand(tmp_path, "revolute")
    light = {name: 0.4 * robot.prior[name] for name in robot.prior.layout.names[robot.prior.layout.link(1)]}
    export_model(pair.result_on(robot, robot.prior.replaced(light)), tmp_path / "out.urdf")
    assert main(["check-model", str(tmp_path / "out.urdf"), "--strict"]) == 0


def test_what_stays_possible_changes_one_link_only(tmp_path):
    robot = with_hand(tmp_path, "revolute")
    heavy = {name: 1.3 * robot.prior[name] for name in robot.prior.layout.names[robot.prior.layout.link(1)]}
    export_model(pair.result_on(robot, robot.prior.replaced(heavy)), tmp_path / "out.urdf")
    before, after = read_urdf(tmp_path / "arm.urdf"), read_urdf(tmp_path / "out.urdf")
    assert np.array_equal(before.ten("hand"), after.ten("hand")) and not np.allclose(before.ten("lower"), after.ten("lower"))


def test_the_card_beside_the_file_is_the_whole_result(tmp_path):
    """Armature, Stribeck friction with its shape, a coupling, a spring, a formula, an offset, another mounting."""
    plain = load(pair.folder() / "pair.urdf")
    formula = FormulaTerm("K1", ((0, Formula("sin(q1)", 2)), (1, Formula("0.1*q2", 2))))
    laws = (law("viscous", 0), law("stribeck", 0, vs=0.07), law("smooth", 1, vc=0.03), law("offset", 1))
    drives = tuple(t for t in plain.layout.terms if type(t).__name__ == "Armature")
    described = plain.with_terms((*drives, *laws, Coupling(1, (0, 1), (1.0, -0.5)), Spring(1, 0.2), formula))
    turned = replace(described.layout, robot=described.robot.with_gravity((0.0, 9.81, 0.0)))
    rng = np.random.default_rng(3)
    values = described.prior.on(turned)
    extra = {n: float(rng.uniform(0.1, 1.0)) for n in turned.names if n not in plain.layout.names or n[:2] in ("Ia", "Fc")}
    values = Parameters(turned, values.replaced(extra).values, [0.07, 1.7, 0.04])
    result = pair.result_on(replace(described, robot=turned.robot, layout=turned, prior=values), values)
    written = export_model(result, tmp_path / "out.urdf", approximate=False)
    (note,) = written.notes
    for name in ("Ia1", "dFs1", "Fc2", "off2", "Iam2", "Ks2", "K1", "direction of gravity"):
        assert name in note
    assert "Fc1" not in note.replace("dFs1", "") and "Fv1" not in note
    assert load(tmp_path / "out.urdf").prior["Fc2"] == 0.0  # a smooth sign is no Coulomb friction
    again = load(tmp_path / "out.extra.yaml")
    q, dq, ddq = rng.normal(size=(3, 30, 2))
    wanted = Engine(turned).inverse_dynamics(q, dq, ddq, values.values, values.shapes)
    got = Engine(again.layout).inverse_dynamics(q, dq, ddq, again.prior.values, again.prior.shapes)
    assert np.abs(wanted - got).max() < 1e-9 * np.abs(wanted).max()


def test_a_function_in_python_is_named_as_lost(tmp_path):
    plain = load(pair.folder() / "pair.urdf")
    described = plain.with_terms((*plain.layout.terms, UserTerm("Kx", lambda x: {0: x.q[1]})))
    result = pair.result_on(described, described.prior.replaced({"Kx": 0.5}))
    written = export_model(result, tmp_path / "out.urdf")
    assert any("no file can hold Kx" in note for note in written.notes)


def test_an_old_card_beside_the_file_goes_when_nothing_is_missing(tmp_path):
    plain = load(pair.folder() / "pair.xml")
    written = export_model(pair.result_on(plain, plain.prior), tmp_path / "out.xml")
    assert written.extra is None and written.notes == ()
    (tmp_path / "out.extra.yaml").write_text("# mine\n")
    export_model(pair.result_on(plain, plain.prior), tmp_path / "out.xml")
    assert (tmp_path / "out.extra.yaml").exists()  # not ours, so it stays
    (tmp_path / "out.extra.yaml").write_text("# inertica: what out.xml has no place for\n")
    export_model(pair.result_on(plain, plain.prior), tmp_path / "out.xml")
    assert not (tmp_path / "out.extra.yaml").exists()


def test_files_of_one_name_keep_their_own_cards(tmp_path):
    """As in the guide: NAME.urdf, then NAME.xml beside it."""
    described = load(pair.folder() / "pair.urdf")
    result = pair.result_on(described, described.prior.replaced({"Ia1": 0.03}))
    card = export_model(result, tmp_path / "out.urdf").extra
    assert card == tmp_path / "out.extra.yaml" and export_model(result, tmp_path / "out.xml", "mjcf").extra is None
    assert load(card).prior["Ia1"] == 0.03  # MJCF has a place for it; the card of the URDF stays
    more = described.with_terms((*described.layout.terms, UserTerm("Kx", lambda x: {0: x.q[1]})))
    other = pair.result_on(more, more.prior.replaced({"Kx": 0.5}))
    assert export_model(other, tmp_path / "out.xml", "mjcf").extra == tmp_path / "out.xml.extra.yaml"
    assert load(card).prior["Ia1"] == 0.03


def test_approximation_needs_a_speed(tmp_path):
    plain = load(pair.folder() / "pair.urdf")
    laws = tuple(law(name, j) for j in range(2) for name in ("viscous", "stribeck"))
    described = plain.with_terms(laws)
    result = replace(pair.result_on(described, described.prior.replaced({"dFs1": 0.3})), speeds=(), logs={})
    with pytest.raises(InputError, match="does not know how fast"):
        export_model(result, tmp_path / "out.urdf")
    assert export_model(result, tmp_path / "out.urdf", approximate=False).extra is not None
    with pytest.raises(InputError, match="greater than zero"):
        export_model(result, tmp_path / "out.urdf", speed=-1.0)
