"""Shapes of whole robots: from files, stated in cards, built; meshes."""

from __future__ import annotations

import struct
import sys

import numpy as np
import pytest

import inertica as ia
from inertica.errors import FileError
from inertica.robot.meshes import convex_parts, read_mesh
from inertica.robot.outline import BASE, DENSITY, outlines
from inertica.robot.shapes import Solid

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def boxes(*places):
    """Triangles of boxes, each given by lowest corner and sides."""
    out = []
    for low, sides in places:
        c = CORNERS * sides + low
        out += [c[[q[0], q[k], q[k + 1]]] for q in QUADS for k in (1, 2)]
    return np.array(out)


def test_stl_and_obj_are_read_without_any_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "coal", None)
    triangles = boxes(((0, 0, 0), (1, 2, 3)))
    records = b"".join(struct.pack("<12fH", 0, 0, 1, *t.ravel(), 0) for t in triangles)
    (tmp_path / "b.stl").write_bytes(b"solid" + b" " * 75 + struct.pack("<I", 12) + records)
    facets = ["facet normal 0 0 1\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) for t in triangles]
    (tmp_path / "a.stl").write_text("solid x\n" + "endloop\nendfacet\n".join(facets) + "endsolid x\n")
    c = CORNERS * [1, 2, 3]
    lines = [f"v {x} {y} {z}" for x, y, z in c] + ["f " + " ".join(f"{i + 1}//1" for i in q) for q in QUADS]
    (tmp_path / "o.obj").write_text("\n".join(lines))
    for name in ("b.stl", "a.stl", "o.obj"):
        found = read_mesh(tmp_path / name)
        assert found.shape == (12, 3, 3) and np.allclose(found, triangles)


def test_meshes_agree_with_coal(tmp_path):
    coal = pytest.importorskip("coal")
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + ["f " + " ".join(str(i + 1) for i in q) for q in QUADS]
    (tmp_path / "o.obj").write_text("\n".join(lines))
    theirs = coal.MeshLoader().load(str(tmp_path / "o.obj"), np.ones(3)).vertices()
    assert {tuple(p) for p in read_mesh(tmp_path / "o.obj").reshape(-1, 3)} == {tuple(p) for p in theirs}


def test_a_bent_mesh_is_cut_where_that_is_worth_it():
    from scipy.spatial import ConvexHull

    bent = boxes(((0, 0, 0), (1, 0.1, 0.1)), ((0, 0, 0.1), (0.1, 0.1, 0.9)))
    parts = convex_parts(bent)
    hull = ConvexHull(bent.reshape(-1, 3)).volume
    assert len(parts) > 1 and sum(ConvexHull(p).volume for p in parts) < 0.85 * hull
    for corner in bent.reshape(-1, 3):
        assert any(np.max(ConvexHull(p).equations @ [*corner, 1.0]) < 1e-9 for p in parts)
    assert len(convex_parts(boxes(((0, 0, 0), (1, 1, 1))))) == 1


def test_cores_enclose_their_solids():
    rng = np.random.default_rng(0)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    from scipy.spatial import ConvexHull

    for kind, size in (("box", (0.1, 0.2, 0.3)), ("cylinder", (0.1, 0.4))):
        points, radius = Solid(kind, size, R, np.ones(3)).core()
        inner = Solid(kind, size, R, np.ones(3)).points(48)
        shrunk = (inner - np.ones(3)) * 0.997 + np.ones(3)  # 48 sides stick out by 0.2 %
        assert radius == 0.0 and np.max(ConvexHull(points).equations @ np.column_stack([shrunk, np.ones(len(shrunk))]).T) < 1e-9
    ends, radius = Solid("capsule", (0.1, 0.4), R, np.ones(3)).core()
    assert radius == 0.1 and np.linalg.norm(ends[1] - ends[0]) == pytest.approx(0.4)
    assert np.allclose((ends[1] - ends[0]) / 0.4, R[:, 2])


def test_built_capsules_hold_the_mass_at_the_density_of_water():
    """The upper arm goes along its axis and across; the volume of a capsule of its straight length is that of its mass."""
    d = ia.load("tx40")
    found = outlines(d)
    assert [o.link for o in found.links] == [BASE, *range(6)] and {o.origin for o in found.links} == {"built"}
    base = found.links[0].solids[0]
    assert base.kind == "capsule" and np.allclose(sorted(base.core()[0][:, 2]), [0.0, 0.32])
    upper = found.links[2]
    r = upper.solids[0].size[0]
    length = float(np.hypot(0.225, 0.035))
    assert np.pi * r**2 * (length + 4.0 * r / 3.0) == pytest.approx(d.prior["M2"] / DENSITY)
    assert sum(s.size[1] for s in upper.solids) == pytest.approx(0.225 + 0.035)  # along the axis, then across


def test_capsules_of_a_card_and_of_the_catalog(tmp_path):
    (tmp_path / "card.yaml").write_text(
        "model: tx40\nshapes:\n  0: [{from: [0, 0, 0], to: [0, 0, 0.2], radius: 0.1}]\n  2: [{from: [0.1, 0, 0], radius: 0.05}]\n"
    )
    found = outlines(ia.load(tmp_path / "card.yaml"))
    assert [o.origin for o in found.links] == ["stated", "built", "stated", *["built"] * 4]
    assert found.links[2].solids[0].kind == "sphere" and np.allclose(found.links[2].solids[0].position, [0.1, 0, 0])
    assert {o.origin for o in outlines(ia.load("panda7")).links} == {"stated"}
    (tmp_path / "bad.yaml").write_text("model: tx40\nshapes: {9: [{from: [0, 0, 0], radius: 0.1}]}\n")
    with pytest.raises(FileError, match="unknown key '9'"):
        ia.load(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text("model: tx40\nshapes: {1: [{from: [0, 0, 0], radius: -1}]}\n")
    with pytest.raises(FileError, match="radius"):
        ia.load(tmp_path / "bad.yaml")


MJCF = """
<mujoco><compiler angle="radian"/><asset><mesh name="m" file="m.stl" scale="0.1 0.1 0.1"/></asset><worldbody>
<geom type="plane" size="1 1 1"/><geom type="box" size="0.1 0.2 0.3" pos="0 0 0.3"/>
<body name="a" pos="0 0 0.6"><joint axis="0 1 0" range="-2 2"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.05"/><geom type="sphere" size="0.3" contype="0" conaffinity="0"/>
  <body name="tip" pos="0 0 0.4"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="cylinder" size="0.04 0.1" euler="1.5707963267948966 0 0"/></body>
  <body name="b" pos="0.1 0 0.4"><joint axis="0 0 1" range="-2 2"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="m" pos="0 0 0.1"/></body>
</body></worldbody></mujoco>"""


def test_shapes_of_an_mjcf_agree_with_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    triangles = boxes(((0, 0, 0), (1, 2, 3)))
    records = b"".join(struct.pack("<12fH", 0, 0, 1, *t.ravel(), 0) for t in triangles)
    (tmp_path / "m.stl").write_bytes(b" " * 80 + struct.pack("<I", 12) + records)
    (tmp_path / "arm.xml").write_text(MJCF)
    found = outlines(ia.load(tmp_path / "arm.xml"))
    assert not found.notes
    kinds = [[s.kind for s in o.solids] for o in found.links]
    assert kinds == [["box"], ["capsule", "cylinder"], ["mesh"]]  # planes have no body, what does not collide does not count
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    box, capsule, cylinder = (data.geom_xpos[k] for k in (1, 2, 4))
    assert np.allclose(found.links[0].solids[0].position, box) and np.allclose(found.links[0].solids[0].size, (0.2, 0.4, 0.6))
    up = np.array([0.0, 0.0, 0.6])
    assert np.allclose(found.links[1].solids[0].position + up, capsule)
    assert np.allclose(found.links[1].solids[0].size, (0.05, 0.4))
    assert np.allclose(found.links[1].solids[1].position + up, cylinder)
    mesh = found.links[2].solids[0].points() + np.array([0.1, 0, 1.0])
    corners = data.geom_xpos[5] + model.mesh_vert @ data.geom_xmat[5].reshape(3, 3).T
    assert np.allclose(np.sort(mesh, axis=0), np.sort(corners, axis=0), atol=1e-6)


def test_a_shape_that_cannot_be_read_is_said_and_built(tmp_path):
    link = '<link name="{}"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>{}</link>'
    mesh = '<collision><geometry><mesh filename="gone.stl"/></geometry></collision>'
    joint = (
        '<joint name="j" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/></joint>'
    )
    (tmp_path / "arm.urdf").write_text(f'<robot name="r">{link.format("base", "")}{link.format("a", mesh)}{joint}</robot>')
    found = outlines(ia.load(tmp_path / "arm.urdf"))
    assert [o.origin for o in found.links] == ["built", "built"] and "the mesh 'gone.stl' is not there" in found.notes[0]
