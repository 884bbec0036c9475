"""Robot cards and the one door `load`."""

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.robot import friction
from inertica.robot.drives import Armature, Coupling, ToolboxCoupling
from inertica.robot.files import catalog
from inertica.robot.load import load, save_model
from inertica.workflow.excite import excite

URDF = """<?xml version="1.0"?>
<!-- <mujoco/> -->
<robot name="pair">
  <link name="base"/>
  <link name="upper"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="lower"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <dynamics damping="0.5" friction="0.2"/><limit lower="-1" upper="1" velocity="2" effort="30"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="2" effort="30"/></joint>
</robot>
"""
MJCF = """<mujoco model="pair"><compiler angle="radian"/><worldbody><body name="upper">
<joint name="shoulder" axis="0 0 1" armature="0.3"/><inertial mass="2" pos="0.1 0 0" diaginertia="0.1 0.1 0.1"/>
</body></worldbody></mujoco>
"""


@pytest.fixture
def card(tmp_path):
    (tmp_path / "pair.urdf").write_text(URDF)

    def write(text, model="pair.urdf"):
        path = tmp_path / "card.yaml"
        path.write_text(f"model: {model}\n{text}")
        return path

    return write


def test_a_bare_card_is_its_model(card):
    d = load(card(""))
    assert d.robot.joint_names == ("shoulder", "elbow") and not d.friction_stated
    assert d.source.format == "urdf" and d.source.card is not None and d.source.path.name == "pair.urdf"
    assert d.prior["M1"] == 2.0 and d.prior["Fv1"] == 0.5 and d.prior["Fc1"] == 0.2 and d.prior["MX2"] == pytest.approx(0.2)
    assert d.loop is None and d.log == {} and d.trust == {}


FULL = """\
name: twin
joints: [shoulder, elbow]
gravity: [0, -9.81, 0]
friction: {shoulder: [viscous, coulomb], 2: [{stribeck: {vs: 0.1}}]}
armature: [true, false]
coupling: [{motor: 2, joints: [1, 2]}]
torque: {from: current, gain: [11.98, -9.84]}
transmission: [[32, 0], [32, 32]]
columns: {q: "position_{}", tau: [a, b], t: stamp}
terms: [{name: spring2, joint: 2, formula: "sin(q2)"}]
payload: {link: lower, position: [0, 0, 0.1]}
fixed: {M1: 2.5}
limits: {velocity: 3, acceleration: [10, 20]}
loop: {law: pd, kp: [10, 20], kd: 2, rate: 5e3}
prior: {masses: 10 %, ZZ1: 0.5}
parameters: {Ia1: 0.7, Mp: 0.3}
"""


def test_everything_a_card_can_say(card):
    d = load(card(FULL))
    assert d.name == "twin" and d.robot.gravity == (0.0, -9.81, 0.0) and d.friction_stated
    terms = set(d.layout.terms)
    assert {Armature(0), friction.Viscous(0), friction.Coulomb(0), friction.Stribeck(1, vs=0.1), Coupling(1, (0, 1))} < terms
    assert d.layout.names[-10:] == tuple(f"{s}p" for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"))
    assert (d.prior["M1"], d.prior["Ia1"], d.prior["Mp"], d.prior["Fv1"]) == (2.5, 0.7, 0.3, 0.5)
    assert d.layout.fixed == {"M1"} and "spring2" in d.layout.names
    assert (
        d.robot.limits.velocity == (3.0, 3.0)
        and d.robot.limits.acceleration == (10.0, 20.0)
        and d.robot.limits.upper == (1.0, 1.0)
    )
    assert d.loop == {"law": "pd", "kp": [10.0, 20.0], "kd": [2.0, 2.0], "rate": 5000.0}
    assert d.trust == {"masses": 0.1, "ZZ1": 0.5}
    assert d.log["torque"] == {"from": "current", "gain": (11.98, -9.84)}
    assert d.log["transmission"] == ((32.0, 0.0), (32.0, 32.0))
    assert d.log["columns"] == {"q": "position_{}", "tau": ("a", "b"), "t": "stamp"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fricton: [viscous]", "card.yaml:2: unknown key 'fricton'; did you mean 'friction'"),
        ("joints: [shoulder, wrist]", "card.yaml:2: .*wrist"),
        ("torque: {from: current}", "needs a gain"),
        ("torque: {from: current, gain: [1]}", "torque.gain has 1 values for 2 joints"),
        ("torque: {from: current, gain: [1, 0]}", "holds a zero"),
        ("torque: {from: volts}", "cannot be 'volts'"),
        ("transmission: [[1, 2]]", "1 rows for 2 joints"),
        ("transmission: [[1, 2], [3]]", "1 values for 2 joints"),
        ("transmission: [[1, 2], [2, 4]]", "cannot be inverted"),
        ("transmission: [[1, 2], [0, 0]]", "cannot be inverted"),
        ("columns: {q: position}", r"should contain \{\} once"),
        ("columns: {q: [a]}", "lists 1 columns, expected 2"),
        ("columns: {position: a}", "unknown key 'position'"),
        ("coupling: [{motor: 2, joints: [2, 3]}]", "no joint 3"),
        ("loop: {law: pd, kp: [1]}", "loop.kp has 1 values for 2 joints"),
        ("loop: {law: pd, rate: 0}", "greater than zero"),
        ("prior: {mases: 10 %}", "did you mean 'masses'"),
        ("prior: {masses: ten %}", "percentage"),
        ("prior: {masses: -10 %}", "greater than zero"),
        ("parameters: {Mq: 1}", "unknown key 'Mq'"),
        ("gravity: 9.81", "should be a list"),
        ("gravity: [1, 2]", "gravity has 2 values for 3 coordinates"),
        ("gravity: [0, 0, 0]", "gravity has no direction"),
        ("gravity: down", "should be a list"),
        ("limits: {lower: [2, 0]}", "lower limit of shoulder"),
        ("fixed: [M7]", "card.yaml:2: .*cannot fix unknown parameter 'M7'"),
        ("friction: [lugree]", "did you mean 'lugre'"),
        ("root: nowhere", "nowhere"),
    ],
)
def test_mistakes_in_cards(card, text, problem):
    with pytest.raises(FileError, match=problem):
        load(card(text + "\n"))


def test_the_model_of_a_card(card, tmp_path):
    with pytest.raises(FileError, match=r"card.yaml:1: the model 'gone.urdf' does not exist; paths are relative"):
        load(card("", model="gone.urdf"))
    with pytest.raises(FileError, match="catalog robots: "):
        load(card("", model="gone"))
    with pytest.raises(FileError, match="does not exist"):
        load(card("", model="1" + 5000 * "0"))  # longer than names of files may be
    (tmp_path / "other.yaml").write_text("model: pair.urdf\n")
    with pytest.raises(FileError, match="itself a card"):
        load(card("", model="other.yaml"))
    with pytest.raises(FileError, match=r"card\.yaml:2: .*a DH YAML file is one chain"):
        load(card("tip: hand\n", model="scara2"))


def test_a_card_on_a_catalog_robot_changes_only_what_it_states(card):
    base = load("tx40_coupled")
    same = load(card("joints: [a, b, c, d, e, f]\n", model="tx40_coupled"))
    assert same.robot.joint_names == tuple("abcdef") and same.friction_stated
    assert same.layout.terms == base.layout.terms and np.array_equal(same.prior.values, base.prior.values)
    assert same.loop == base.loop
    other = load(card("friction: auto\ncoupling: [{motor: 6, joints: [5, 6]}]\n", model="tx40_coupled"))
    assert not other.friction_stated and Coupling(5, (4, 5)) in other.layout.terms and Armature(5) in other.layout.terms
    assert not any(isinstance(t, ToolboxCoupling) for t in other.layout.terms)
    assert other.prior["Fvm6"] == 0.8 and other.prior["Iam6"] == 0.0


def test_files_are_told_by_what_they_contain(tmp_path):
    (tmp_path / "a.xml").write_text(URDF)
    (tmp_path / "b.xml").write_text(MJCF)
    (tmp_path / "c").write_text("dh: {convention: standard, a: [1]}\n")
    assert load(tmp_path / "a.xml").source.format == "urdf"
    mjcf = load(str(tmp_path / "b.xml"))
    assert mjcf.source.format == "mjcf" and mjcf.prior["Ia1"] == 0.3
    assert load(tmp_path / "c").source.format == "dh"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.xml", "<sdformat/>", "root element is <sdformat>"),
        ("a.yaml", "name: x\n", "neither a DH YAML file"),
        ("a.yaml", "- 1\n", "not a robot description"),
        ("a.yaml", "", "empty"),
        ("a.urdf", "", "a.urdf"),
        ("a.urdf", "nonsense", "a.urdf"),
        ("a.xml", "<robot", "a.xml"),
        ("a.xml", "<mujoco><worldbody>", "a.xml"),
    ],
)
def test_files_that_are_no_robots(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=problem):
        load(tmp_path / name)


def test_names_that_are_no_robots(tmp_path):
    with pytest.raises(InputError, match="did you mean 'tx40'"):
        load("tx4O")
    for path in ("none.urdf", "folder/robot", "a.yaml"):
        with pytest.raises(FileError, match="no such file"):
            load(path)
    with pytest.raises(FileError, match="folder"):
        load(tmp_path)
    with pytest.raises(InputError):
        load("a\0b")
    with pytest.raises(InputError):
        load("")


@pytest.mark.parametrize("model", ["pair.urdf", "scara2"])
def test_values_are_saved_into_the_kind_of_file_they_came_from(card, tmp_path, model):
    d = load(card("", model=model))
    target = tmp_path / ("out.urdf" if model.endswith("urdf") else "out.yaml")
    save_model(d, d.prior.replaced({"M1": 17.0, "MX2": 0.25}), target)
    back = load(target)
    assert back.prior["M1"] == pytest.approx(17.0) and back.prior["MX2"] == pytest.approx(0.25)
    assert back.source.format == d.source.format and load(card("", model=model)).prior["M1"] != 17.0


def test_catalog_names_come_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tx40").write_text("dh: {convention: standard, a: [1]}\n")
    assert load("tx40").robot.n == 6 and "tx40" in catalog()


CONSTRAINTS = """\
friction: [viscous]
constraints:
  margin: 1e-4
  total_mass: [2.5, .inf]
  links:
    upper: {mass: [1, 3], com: {box: [[0, -0.1, -0.1], [0.3, 0.1, 0.1]]}, symmetric: [xy, xz]}
    elbow:
      mass: 1
      com: {ellipsoid: {centre: [0.2, 0, 0], semi_axes: [0.2, 0.1, 0.1]}}
      inside: geometry
      symmetric: xz
  bounds: {Fv1: [0, 30], Fc2: 0.3}
  equal: [{of: {Ia1: 1, Ia2: -1}}, {of: {MX1: 2}, value: 0.4}]
"""


def test_constraints_are_read_as_plain_data(card):
    said = load(card(CONSTRAINTS)).constraints
    assert said["margin"] == 1e-4 and said["total_mass"] == (2.5, np.inf)
    assert said["links"][1] == {
        "mass": (1.0, 3.0),
        "com": {"box": ((0.0, -0.1, -0.1), (0.3, 0.1, 0.1))},
        "symmetric": ("xy", "xz"),
    }
    region = {"centre": (0.2, 0.0, 0.0), "semi_axes": (0.2, 0.1, 0.1), "rpy": (0.0, 0.0, 0.0)}
    assert said["links"][2] == {
        "mass": (1.0, 1.0),
        "com": {"ellipsoid": region},
        "inside": "geometry",
        "symmetric": ("xz",),
    }
    assert said["bounds"] == {"Fv1": (0.0, 30.0), "Fc2": (0.3, 0.3)}
    assert said["equal"] == ({"of": {"Ia1": 1.0, "Ia2": -1.0}, "value": 0.0}, {"of": {"MX1": 2.0}, "value": 0.4})


def test_without_the_section_nothing_is_stated(card):
    assert load(card("")).constraints == {} and load("tx40").constraints == {}


def test_a_card_replaces_the_constraints_of_a_dh_file(tmp_path, card):
    text = "dh: {convention: proximal, alpha: [0], a: [0], d: [0], theta: [0]}\nconstraints: {total_mass: 3}\n"
    (tmp_path / "one.yaml").write_text(text)
    assert load(tmp_path / "one.yaml").constraints == {"total_mass": (3.0, 3.0)}
    assert load(card("", "one.yaml")).constraints == {"total_mass": (3.0, 3.0)}
    assert load(card("constraints: {margin: 0.001}", "one.yaml")).constraints == {"margin": 0.001}
    with pytest.raises(FileError, match="no geometry that is read"):
        load(card("constraints: {links: {1: {inside: geometry}}}", "one.yaml"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mass: 3", r"card.yaml:3: unknown key 'mass' in constraints; did you mean"),
        ("totalmass: 3", "did you mean 'total_mass'"),
        ("total_mass: [3, 2]", "card.yaml:3: constraints.total_mass: the lower bound 3 is above the upper bound 2"),
        ("total_mass: [1, 2, 3]", "3 values for 2 bounds"),
        ("total_mass: -2", "should be greater than zero"),
        ("total_mass: heavy", "should be a number"),
        ("margin: 0.5", "between 1e-07 and 0.1, not 0.5"),
        ("margin: 0", "between 1e-07 and 0.1"),
        ("links: {uper: {mass: 1}}", "card.yaml:3: pair has no link 'uper' and no such joint; did you mean 'upper'"),
        ("links: {3: {mass: 1}}", "pair has no link '3'"),
        ("links: {upper: {mass: 1}, shoulder: {mass: 2}}", "states link 1 twice, the second time as 'shoulder'"),
        ("links: {1: {masss: 1}}", "unknown key 'masss' in constraints.links.1; did you mean 'mass'"),
        ("links: {1: {com: {box: [[0, 0, 0], [1, 0, 1]]}}}", "its lower and its upper corner"),
        ("links: {1: {com: {box: [[0, 0, 0]]}}}", "its lower and its upper corner"),
        ("links: {1: {com: {box: [[0, 0], [1, 1]]}}}", "2 values for 3 coordinates"),
        ("links: {1: {com: {hull: []}}}", "unknown key 'hull'"),
        ("links: {1: {com: {ellipsoid: {centre: [0, 0, 0]}}}}", "lacks the key 'semi_axes'"),
        ("links: {1: {com: {ellipsoid: {semi_axes: [1, 0, 1]}}}}", "semi_axes should be greater than zero"),
        ("links: {1: {inside: geometri}}", "cannot be 'geometri'; did you mean 'geometry'"),
        ("links: {1: {inside: {hull: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]}}}", "do not lie in one plane"),
        ("links: {1: {symmetric: zx}}", "cannot be 'zx'"),
        ("bounds: {Fv7: [0, 1]}", "unknown key 'Fv7' in constraints.bounds"),
        ("bounds: {Fv1: [.inf, .inf]}", "leaves no finite value"),
        ("equal: [{of: {Ia1: 0}}]", "a coefficient that is not zero"),
        ("equal: [{value: 0}]", r"constraints.equal\[1\] lacks the key 'of'"),
        ("equal: {of: {Ia1: 1}}", "should be a list"),
    ],
)
def test_mistakes_in_constraints(card, text, problem):
    with pytest.raises(FileError, match=problem):
        load(card(f"constraints:\n  {text}\n"))


@pytest.mark.parametrize("other", ["coulomb", "smooth", "stribeck", "offset"])
def test_laws_that_no_motion_tells_apart_are_refused(tmp_path, other):
    """sign(dq) is the sum of the two columns of a directional law, and a constant their difference."""
    card = tmp_path / "card.yaml"
    card.write_text(f"model: planar2\nfriction: [viscous, directional, {other}]\n")
    with pytest.raises(InputError, match=f"joint 1 has the friction laws 'directional' and '{other}'"):
        load(card)
    card.write_text("model: planar2\nfriction: [viscous, directional]\n")
    load(card)


@pytest.mark.parametrize("option", ["name", "joint", "candidate", "at", "vz"])
def test_only_a_laws_own_options_may_be_stated(tmp_path, option):
    """`name` was a TypeError; what a law says of itself was listed among its options."""
    (tmp_path / "pair.urdf").write_text(URDF)
    (tmp_path / "card.yaml").write_text(f"model: pair.urdf\nfriction: [{{stribeck: {{{option}: 1}}}}]\n")
    with pytest.raises(InputError, match=rf"card.yaml:2.*'stribeck' has no option '{option}'") as error:
        load(tmp_path / "card.yaml")
    assert "symbols" not in str(error.value)


def test_a_card_lets_the_base_float(tmp_path):
    """Values, friction and limits are those of the joints; the base's ten parameters are written back into its link."""
    (tmp_path / "pair.urdf").write_text(
        URDF.replace(
            '<link name="base"/>',
            """<link name="base"><inertial><mass value="7"/>
    <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial></link>""",
        )
    )
    card = tmp_path / "card.yaml"
    card.write_text(
        "model: pair.urdf\nbase: floating\nfriction: [viscous]\nlimits: {velocity: [3, 4]}\n"
        "loop: {law: pd, kp: [1, 2], kd: [1, 1], rate: 500}\nconstraints: {links: {base: {mass: [6, 8]}}}\n"
    )
    found = load(str(card))
    robot = found.robot
    assert (robot.driven, robot.n, robot.number(7), robot.joints[7].link) == (2, 8, "0", "base")
    assert found.prior["M0"] == 7.0 and found.prior["Fv1"] == 0.5 and "Fv3" not in found.layout.names
    assert robot.limits.velocity[:3] == (3.0, 4.0, float("inf")) and found.constraints["links"].keys() == {8}
    save_model(found, found.prior.replaced({"M0": 9.0}), tmp_path / "again.urdf")
    card.write_text("model: again.urdf\nbase: floating\n")
    assert load(str(card)).prior["M0"] == 9.0
    card.write_text("model: pair.urdf\nbase: swimming\n")
    with pytest.raises(FileError, match="fixed, floating"):
        load(str(card))
    card.write_text("model: tx40\nbase: floating\n")
    with pytest.raises(FileError, match="'base' is for"):
        load(str(card))


def test_robots_on_a_floating_base_are_refused_where_the_base_is_held(tmp_path):
    (tmp_path / "pair.urdf").write_text(URDF)
    (tmp_path / "card.yaml").write_text("model: pair.urdf\nbase: floating\n")
    with pytest.raises(InputError, match="the design of motions is for robots whose base is fixed"):
        excite(str(tmp_path / "card.yaml"))
