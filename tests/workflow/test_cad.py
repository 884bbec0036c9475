"""CAD values in other frames: a robot whose frames were moved at random gives back its own parameters."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pair
from inertica.cli.main import main
from inertica.errors import FileError, InputError
from inertica.excitation.kinematics import frames
from inertica.robot import inertia
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import catalog_path, load
from inertica.robot.model import matrix, vector
from inertica.workflow.cad import import_cad

BASE = (0.1, -0.2, 0.3, 0.4, -0.5, 0.6)
HEADER = "link,frame,about,mass,cx,cy,cz,ixx,ixy,ixz,iyy,iyz,izz\n"


def reframed(description, rng, signs, pose, base):
    """The same robot with every link frame elsewhere in its link, other zeros, other directions of joints, another base."""
    robot = description.robot
    seen = frames(robot, pose[None])
    B, b = Rotation.from_euler("xyz", base[3:]).as_matrix(), np.array(base[:3])
    R0, p0 = [np.eye(3)], [np.zeros(3)]  # of the new frames in the new base; index j + 1 for link j
    joints, tens = [], []
    for j, joint in enumerate(robot.joints):
        X, x = Rotation.random(random_state=rng).as_matrix(), rng.normal(scale=0.1, size=3)  # old link <- new link
        R = B.T @ seen.rotation[0, j] @ X
        p = B.T @ (seen.origin[0, j] + seen.rotation[0, j] @ x - b)
        pivot, axis = B.T @ (seen.pivot[0, j] - b), signs[j] * (B.T @ seen.axis[0, j])
        up, at = R0[joint.parent + 1], p0[joint.parent + 1]
        place = {"rotation": matrix(up.T @ R), "position": vector(up.T @ (pivot - at))}
        joints.append(replace(joint, **place, axis=vector(R.T @ axis), arm=vector(R.T @ (p - pivot)), lengths=()))
        tens.append(inertia.change_frame(description.prior.link(j), X.T, -X.T @ x))
        R0.append(R)
        p0.append(p)
    moved = replace(robot, joints=tuple(joints), gravity=vector(B.T @ robot.gravity))
    layout = Layout(moved)
    return replace(description, robot=moved, layout=layout, prior=Parameters(layout, np.concatenate(tens)))


@pytest.mark.parametrize("name", ["tx40", "jaco2", "scara4"])
def test_frames_moved_at_random_give_the_same_robot_back(name):
    """Proximal, distal with parameters about the near origin, and one with a sliding joint."""
    rng = np.random.default_rng(5)
    description = load(name)
    n = description.robot.n
    signs, pose = rng.choice([-1.0, 1.0], n), rng.uniform(-1.0, 1.0, n)
    found = import_cad(description, reframed(description, rng, signs, pose, BASE), pose=pose, base=BASE)
    for j in range(n):
        assert found.parameters.link(j) == pytest.approx(description.prior.link(j), abs=1e-12)
    assert found.difference < 1e-12 and sum("other way" in note for note in found.notes) == np.count_nonzero(signs < 0)
    others = [k for k in description.layout.names if k[:2] in ("Ia", "Fv", "Fc")]
    assert all(found.parameters[k] == description.prior[k] for k in others) and found.parameters.origin == "CAD"


def test_axes_that_do_not_coincide_are_named():
    rng = np.random.default_rng(6)
    description = load("tx40")
    other = reframed(description, rng, np.ones(6), np.zeros(6), np.zeros(6))
    with pytest.raises(InputError, match=r"axis of joint3 lies .* mm and .* deg .* first that differs"):
        import_cad(description, other, pose=[0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
    joints = description.robot.joints
    off = replace(joints[4], position=vector(np.add(joints[4].position, (0.0, 5e-4, 0.0))))
    longer = replace(description.robot, joints=(*joints[:4], off, joints[5]))
    slightly = replace(description, robot=longer, layout=Layout(longer), prior=description.prior.on(Layout(longer)))
    found = import_cad(description, slightly)
    assert 1e-6 < found.difference < 1e-2 and "slightly different lengths" in found.notes[0]
    with pytest.raises(InputError, match=r"has 6 joints and scara4\.yaml 4"):
        import_cad("tx40", "scara4")
    with pytest.raises(InputError, match="gives no inertial values"):
        import_cad(description, replace(description, prior=description.layout.zeros()))


def row(link, frame, ten, scale=(1.0, 1.0), products=1.0):
    """A line of a table about the centre of mass."""
    body = inertia.to_com(ten)
    m, l = scale
    I = body.inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]] / (m * l * l) * [1, products, products, 1, products, 1]
    return ",".join([link, frame, "com", *(repr(float(x)) for x in (body.mass / m, *body.com / l, *I))]) + "\n"


def test_a_table_of_parts_drawn_in_one_pose(tmp_path):
    """Grams and millimetres, products of inertia the other way, one link in two parts, one in its own frame."""
    description = load("tx40")
    pose = np.array([0.3, -0.4, 0.5, 0.1, 0.2, -0.3])
    seen = frames(description.robot, pose[None])
    in_base = [inertia.change_frame(description.prior.link(j), seen.rotation[0, j], seen.origin[0, j]) for j in range(6)]
    header = HEADER.replace("mass", "mass [g]").replace("cx,cy,cz", "cx [mm],cy [mm],cz [mm]")
    header = header.replace("ixx", "ixx [g mm^2]")
    for name in ("ixy", "ixz", "iyy", "iyz", "izz"):
        header = header.replace(f",{name}", f",{name} [g mm^2]")
    scale = (1e-3, 1e-3)
    text = "# drawn in the pose of the test\n" + header
    for j in (0, 1, 3, 4):
        text += row(str(j + 1), "base", in_base[j], scale, -1.0)
    text += row("link3", "base", 0.25 * in_base[2], scale, -1.0) + row("link3", "base", 0.75 * in_base[2], scale, -1.0)
    text += row("link6", "link", description.prior.link(5), scale, -1.0)
    (tmp_path / "parts.csv").write_text(text)
    found = import_cad(description, tmp_path / "parts.csv", pose=pose, positive_products=True)
    assert found.parameters.values == pytest.approx(description.prior.values, abs=1e-12)
    assert found.difference is None and "7 parts weigh" in found.notes[0] and len(found.notes) == 1


def test_the_command_writes_a_file_that_reads_back(tmp_path, capsys):
    """From a URDF whose second link turns about y into DH frames, whose axes are z."""
    (tmp_path / "pair.urdf").write_text(pair.URDF)
    dh = "name: dh\ndh: {convention: proximal, alpha: [0, -1.5707963267948966], a: [0, 0.3], d: [0, 0], theta: [0, 0]}\n"
    (tmp_path / "dh.yaml").write_text(dh + "friction: [viscous]\nlinks: [{M: 1.0, Fv: 0.7}, {M: 1.0}]\n")
    words = ["import-cad", str(tmp_path / "dh.yaml"), str(tmp_path / "pair.urdf"), "-o", str(tmp_path / "out.yaml")]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["difference"] < 1e-12 and document["mass"] == pytest.approx(3.0)
    again = load(tmp_path / "out.yaml").prior
    assert again["Fv1"] == 0.7 and again["M2"] == 1.0
    assert document["links"][1]["centre"] == pytest.approx([0.15, 0.0, 0.01])  # y of the URDF is z of the DH frame
    assert all(link["possible"] for link in document["links"])
    assert main(words) == 0 and "3 kg in all" in capsys.readouterr().out
    assert "the first that differs" in pair.refused(capsys, *words, "--base", "0", "0", "0.1", "0", "0", "0")
    assert "six numbers" not in pair.refused(capsys, *words, "--pose", "0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("link,mass\n1,2\n", "no column cx, cy"),
        (HEADER + "9,link,com,1,0,0,0,1,0,0,1,0,1\n", "no link '9'"),
        (HEADER + "1,world,com,1,0,0,0,1,0,0,1,0,1\n", "frame is 'world'"),
        (HEADER + "1,link,com,one,0,0,0,1,0,0,1,0,1\n", "no number"),
        (HEADER + "1,link,com,-1,0,0,0,1,0,0,1,0,1\n", "cannot be -1 kg"),
        (HEADER + "1,link,com,1\n", "4 values for 13 columns"),
        (HEADER.replace("mass", "mass [lb]") + "1,link,com,1,0,0,0,1,0,0,1,0,1\n", "unit 'lb'"),
        (HEADER.replace("mass", "weight") + "1,link,com,1,0,0,0,1,0,0,1,0,1\n", "column 'weight'"),
        (HEADER, "a header and one row"),
    ],
)
def test_tables_that_cannot_be_read_say_where(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FileError, match=said):
        import_cad("planar2", tmp_path / "t.csv")


def test_impossible_and_missing_links_are_told(tmp_path):
    (tmp_path / "t.csv").write_text(HEADER + "1,link,com,1,0,0,0,1,0,0,1,0,5\n")
    notes = import_cad(catalog_path("planar2"), tmp_path / "t.csv").notes
    assert any("no values for link2" in note for note in notes) and any(
        "no real body has the values of link1" in note for note in notes
    )
