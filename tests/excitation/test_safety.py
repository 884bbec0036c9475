"""Safe motions: limits that must be there, the floor, a start pose, and designs that an independent check finds clear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.errors import InerticaError, InputError
from inertica.excitation import Obstacle, require_limits, safe_start, surroundings, usual_floor
from inertica.excitation.safety import middle_pose
from inertica.robot.outline import arm_length

ROBOTS = ("tx40", "panda7", "ur10e", "mesh", "bare")


def arm(text: str, tmp_path, limit: str = '<limit lower="-2" upper="2" velocity="2" effort="9"/>', kind: str = "revolute"):
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>'
    joint = f'<joint name="j{{k}}" type="{kind}"><parent link="{{p}}"/><child link="{{c}}"/><origin xyz="{text}"/>'
    joint += f'<axis xyz="0 1 0"/>{limit}</joint>'
    body = "".join(link.format(n) for n in ("base", "a", "b"))
    body += joint.format(k=1, p="base", c="a") + joint.format(k=2, p="a", c="b")
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{body}</robot>')
    return ia.load(tmp_path / "arm.urdf")


def test_a_model_without_limits_is_refused_with_the_lines_of_a_card(tmp_path):
    bare = arm("0 0 0.4", tmp_path, limit="")
    with pytest.raises(InputError, match=r"no position limits for j1, j2; no velocity limits for j1, j2") as said:
        ia.excite(bare)
    assert "model: arm.urdf, limits: {lower: [?, ?], upper: [?, ?], velocity: [?, ?]}" in str(said.value)
    lines = str(said.value).split("lines  ")[1].split("  with")[0]
    (tmp_path / "card.yaml").write_text(
        "\n".join(lines.replace("?", "2").replace("lower: [2, 2]", "lower: [-2, -2]").split(", ", 1))
    )
    require_limits(ia.load(tmp_path / "card.yaml"))  # the lines it gives are what it needs
    turning = arm("0 0 0.4", tmp_path, limit='<limit velocity="2" effort="9"/>', kind="continuous")
    require_limits(turning)
    half = replace(turning, robot=replace(turning.robot, limits=replace(turning.robot.limits, velocity=(2.0, np.inf))))
    with pytest.raises(InputError, match="no velocity limits for j2"):
        require_limits(half)


@pytest.mark.parametrize(
    ("name", "height"), [("tx40", 0.0), ("panda7", 0.0), ("scara4", 0.0), ("scara2", None), ("planar2", None)]
)
def test_where_the_floor_is(name, height):
    assert usual_floor(ia.load(name)) == height
    assert [p.name for p in surroundings(ia.load(name)).planes] == ([] if height is None else ["floor"])
    assert surroundings(ia.load(name), "none").planes == () and surroundings(ia.load(name), -0.3).planes[0].level == -0.3


def test_no_default_floor_for_a_robot_that_hangs():
    hanging = ia.load("tx40").with_gravity([0.0, 0.0, 9.81])
    assert usual_floor(hanging) is None
    assert surroundings(hanging, -0.5).planes[0].normal == (0.0, 0.0, -1.0)  # stated heights are against gravity


def test_start_pose_is_the_middle_one_where_that_has_room_else_another(tmp_path):
    description = ia.load("tx40")
    free = surroundings(description)
    assert np.array_equal(safe_start(description, free), middle_pose(description))
    there = surroundings(description, obstacles=[Obstacle("box", (0.3, 0.3, 0.3), (0.0, 0.0, 0.8))])
    assert not there.free(middle_pose(description)[None])
    found = safe_start(description, there)
    assert there.free(found[None])
    assert np.all(found > description.robot.limits.lower) and np.all(found < description.robot.limits.upper)


def test_no_start_pose_says_what_is_in_the_way():
    description = ia.load("tx40")
    with pytest.raises(InerticaError, match=r"no pose to start from was found.*link2 and floor are too close in 8001"):
        safe_start(description, surroundings(description, 0.6))


def test_walls_keep_every_link_inside_a_box():
    description = ia.load("tx40")
    c = surroundings(description, "none", box=(-0.4, -0.4, -np.inf, 0.4, np.inf, 0.9))
    assert [p.name for p in c.planes] == ["wall at x = -0.4", "wall at x = 0.4", "wall at y = -0.4", "wall at z = 0.9"]
    with pytest.raises(InputError, match="the second above the first"):
        surroundings(description, box=(0, 0, 0, 1, 1, -1))
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 6))
    from inertica.excitation.kinematics import frames

    at = frames(description.robot, q)
    points = {o.link: [p for s in o.solids for p in (s.core(),)] for o in c.outlines.links if o.link >= 0}
    inside = np.ones(200, bool)
    for link, cores in points.items():
        for corners, radius in cores:
            p = at.origin[:, link, None] + np.einsum("mij,kj->mki", at.rotation[:, link], corners)
            room = np.stack([p[..., 0] + 0.4, 0.4 - p[..., 0], p[..., 1] + 0.4, 0.9 - p[..., 2]]).min(axis=(0, 2))
            inside &= room - radius >= c.rough
    walls = [k for k, pair in enumerate(c.pairs) if pair.second is None]
    assert np.array_equal(c.distances(q)[:, walls].min(axis=1) >= c.rough, inside) and 0 < inside.sum() < 200


def robot(name: str, tmp_path, request):
    """A robot and an independent referee of its motions."""
    pytest.importorskip("pinocchio")
    from excitation import bodies

    if name == "ur10e":
        source = request.getfixturevalue("real_data") / "ur10e" / "ur10e.urdf"
    else:
        source = bodies.write_arm(tmp_path, name == "mesh") if name in ("mesh", "bare") else name
    description = ia.load(source)
    limits = np.array([description.robot.limits.lower, description.robot.limits.upper])
    makers = {
        "tx40": lambda: bodies.tx40(limits),
        "panda7": lambda: bodies.panda7(limits),
        "ur10e": lambda: bodies.ur10e(source, limits),
        "mesh": lambda: bodies.seven(source, True, limits),
        "bare": lambda: bodies.seven(source, False, limits),
    }
    return description, makers[name]()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mesh", {}),
        ("bare", {"criterion": "frisch"}),
        ("tx40", {"purpose": "payload", "mass": 2.0, "period": 8.0}),
        ("ur10e", {"family": "spline", "harmonics": 6}),
    ],
)
def test_designed_motions_touch_nothing(name, options, tmp_path, request):
    """Short search; the check is Pinocchio's and Coal's, at 1 kHz, with shapes of its own."""
    description, referee = robot(name, tmp_path, request)
    found = ia.excite(description, **({"harmonics": 5, "period": 5.0, "grid": 40, "seconds": 1.0} | options))
    share = 0.02 if name in ("mesh", "panda7") else 0.05
    assert found.feasible and found.approach.distance >= share * arm_length(description.robot)
    assert referee.collisions(found.trajectory) == []
    assert np.ptp(found.trajectory(np.linspace(0, found.trajectory.period, 200)).q, axis=0).min() > 0.05


def test_what_is_not_looked_after_does_collide(tmp_path, request):
    """The referee is no formality: the same search without collisions hits something."""
    from inertica.excitation import Condition, DesignOptions, Fourier, Search, design, robot_constraints
    from inertica.identifiability.base import base_model

    description, referee = robot("mesh", tmp_path, request)
    base = base_model(description.layout)
    constraints = robot_constraints(description, base.engine)
    family = Fourier.still(5.0, np.zeros(7), 5, free_start=True)
    found = design(
        base.engine,
        base,
        family,
        Condition(),
        constraints,
        DesignOptions(grid=40, search=Search(random=50, evaluations=0, rounds=2)),
    )
    assert found.feasible and found.approach is None and referee.collisions(found.trajectory)


def cylinders(folder, length: float):
    """Two links of cylinders, 0.4 long and 0.05 thick, above a floor; lengths in units of which a metre has so many."""
    link = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial><collision>'
    link += '<origin xyz="{1} 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="{2}" length="{3}"/></geometry>'
    link += "</collision></link>"
    joint = '<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3}"/><axis xyz="0 1 0"/>'
    joint += '<limit lower="-2" upper="2" velocity="2" effort="9"/></joint>'
    body = '<link name="base"/>' + "".join(link.format(n, 0.2 * length, 0.05 * length, 0.4 * length) for n in "abc")
    places = (f"0 0 {0.5 * length}", f"{0.45 * length} 0 0", f"{0.45 * length} 0 0")
    body += "".join(joint.format(k + 1, ("base", *"abc")[k], "abc"[k], place) for k, place in enumerate(places))
    (folder / "scaled.urdf").write_text(f'<robot name="arm">{body}</robot>')
    return ia.load(folder / "scaled.urdf")


@pytest.mark.parametrize("length", [0.1, 10.0])
def test_a_robot_of_another_size_is_treated_alike(length, tmp_path):
    from inertica.excitation import Samples

    found = []
    for size in (1.0, length):
        description = cylinders(tmp_path, size)
        bodies = surroundings(description, 0.0)
        assert bodies.clearance == pytest.approx(0.02 * 1.4 * size) and bodies.rough == pytest.approx(0.05 * 1.4 * size)
        q = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 3))
        found.append((bodies.labels, bodies.excess(Samples(q, 0 * q, 0 * q)), safe_start(description, bodies)))
    (names, here, start), (others, there, other_start) = found
    assert names == others and np.allclose(here, there, atol=1e-6) and np.allclose(start, other_start, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_twenty_designs_touch_nothing(name, tmp_path, request):
    description, referee = robot(name, tmp_path, request)
    for seed in range(20):
        found = ia.excite(description, seconds=15, seed=seed)
        share = 0.02 if name in ("mesh", "panda7") else 0.05
        assert found.feasible and found.approach.distance >= share * arm_length(description.robot)
        assert referee.collisions(found.trajectory) == [], seed
