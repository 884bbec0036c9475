"""A small arm for tests of the studio: two joints, boxes and a mesh, a PD loop in its card."""

from __future__ import annotations

from pathlib import Path

import inertica as ia

URDF = """<robot name="arm2">
  <link name="base"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="4" effort="60"/><dynamics damping="0.6" friction="0.9"/>
  </joint>
  <link name="upper">
    <visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.06 0.06"/></geometry></visual>
    <inertial><origin xyz="0.18 0 0"/><mass value="3"/><inertia ixx="0.004" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.4" upper="2.4" velocity="5" effort="30"/><dynamics damping="0.3" friction="0.5"/>
  </joint>
  <link name="fore">
    <visual><origin xyz="0.15 0 0"/><geometry><mesh filename="meshes/fore.stl"/></geometry></visual>
    <visual><geometry><mesh filename="../../secret.stl"/></geometry></visual>
    <inertial><origin xyz="0.14 0 0"/><mass value="1.5"/>
      <inertia ixx="0.002" iyy="0.015" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""

STL = """solid fore
facet normal 0 0 1
outer loop
vertex -0.15 -0.03 0
vertex 0.15 -0.03 0
vertex 0 0.03 0.03
endloop
endfacet
endsolid fore
"""

CARD = """model: arm.urdf
limits: {acceleration: [12, 15]}
loop: {law: pd, kp: [900, 300], kd: [90, 24], rate: 1000}
"""


def write(folder: Path) -> Path:
    """The card, beside the model and its mesh; a mesh outside of the model's folder is there, too, and must never be served."""
    model = folder / "robot"
    (model / "meshes").mkdir(parents=True)
    (model / "arm.urdf").write_text(URDF)
    (model / "meshes" / "fore.stl").write_text(STL)
    (folder.parent / "secret.stl").write_text("solid secret\nendsolid secret\n")
    (model / "card.yaml").write_text(CARD)
    return model / "card.yaml"


def log(card: Path, target: Path, seed: int = 0, duration: float = 8.0) -> Path:
    """A simulated experiment of the arm."""
    (found,) = ia.simulate(card, seed=seed, duration=duration)
    found.save(target)
    return target
