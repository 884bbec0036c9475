"""Constraints that cards state: each word, geometry of URDFs, what values break, and what a weighing and geometry are worth."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from estimators.consistent.test_strategy import one_sine_for_all_joints
from estimators.simulated import noisy, robot
from inertica.errors import FileError, InputError, MissingDependencyError
from inertica.estimators.base import Problem
from inertica.estimators.consistent.bounded import ConsistentInside
from inertica.estimators.consistent.charts import ConsistentChart as InCoordinates
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.registry import method
from inertica.physical.check import check_model
from inertica.physical.cone import InfeasibleError, Program
from inertica.physical.conflict import conflict_error
from inertica.physical.constraints import PHYSICAL, Equal, MassBounds, RealBody, TotalMass, assembled, combined, slack
from inertica.physical.priors import Entropic, Euclidean
from inertica.physical.regions import CentreInBox, CentreInEllipsoid, MassInEllipsoid, MassInHull
from inertica.physical.repair import repair
from inertica.physical.scales import Reference
from inertica.physical.stated import broken, stated
from inertica.robot import inertia
from inertica.robot.load import load
from inertica.robot.model import rotation_x, rotation_y, rotation_z
from inertica.robot.shapes import COARSE, FINE, Solid, round_points
from physical.problems import other_values

INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
BOX = '<collision><origin xyz="0.1 0 0"/><geometry><box size="0.4 0.2 0.2"/></geometry></collision>'


def urdf(upper: str = BOX, hand: str = "", hand_inertial: str = INERTIAL) -> str:
    """Two moving links; a hand is welded to the first, turned and 0.5 m along its x."""
    return f"""<robot name="two"><link name="base"/>
<link name="upper">{INERTIAL}{upper}</link><link name="lower">{INERTIAL}</link><link name="hand">{hand_inertial}{hand}</link>
<joint name="one" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<joint name="two" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/></joint>
<joint name="weld" type="fixed"><parent link="upper"/><child link="hand"/><origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/>
</joint></robot>"""


@pytest.fixture
def card(tmp_path):
    def write(said: str, model: str | None = None):
        (tmp_path / "two.urdf").write_text(urdf() if model is None else model)
        (tmp_path / "card.yaml").write_text(f"model: two.urdf\nfriction: [viscous]\nconstraints: {said}\n")
        return load(tmp_path / "card.yaml")

    return write


def names(description) -> list[str]:
    reference = Reference.of(description.layout, description.prior.values)
    return [b.name for b in assembled(stated(description).constraints, reference)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("total_mass: [3, 5]", ["total mass at least 3 kg", "total mass at most 5 kg"]),
        ("total_mass: [3, .inf]", ["total mass at least 3 kg"]),
        ("total_mass: 4", ["total mass 4 kg"]),
        ("links: {lower: {mass: [1, 3]}}", ["link 2: mass at least 1 kg", "link 2: mass at most 3 kg"]),
        ("links: {two: {mass: 2}}", ["link 2: mass 2 kg"]),
        ("links: {1: {com: {box: [[0, 0, 0], [1, 1, 1]]}}}", ["link 1: centre of mass in its box"]),
        ("links: {1: {com: {ellipsoid: {semi_axes: [1, 1, 1]}}}}", ["link 1: centre of mass in its ellipsoid"]),
        ("links: {1: {inside: {ellipsoid: {semi_axes: [1, 1, 1]}}}}", ["link 1: mass inside its ellipsoid"]),
        ("links: {1: {inside: {box: [[0, 0, 0], [1, 1, 1]]}}}", ["link 1: mass inside its hull"]),
        ("links: {1: {inside: {hull: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}}", ["link 1: mass inside its hull"]),
        ("links: {1: {symmetric: xz}}", [f"link 1: symmetric ({x}1 = 0)" for x in ("XY", "YZ", "MY")]),
        ("bounds: {Fv1: [0, 30]}", ["Fv1 at least 0", "Fv1 at most 30"]),
        ("bounds: {Fv1: 3}", ["Fv1 = 3"]),
        ("equal: [{of: {Ia1: 1, Ia2: -1}}]", ["Ia1 - Ia2 = 0"]),
        ("margin: 0.001", ["link 1: a body that can exist", "link 2: a body that can exist"]),
    ],
)
def test_each_word_gives_its_constraint(card, said: str, expected: list[str]) -> None:
    assert names(card(f"{{{said}}}")) == expected


def test_regions_are_the_ones_stated(card) -> None:
    d = card("{links: {1: {com: {ellipsoid: {centre: [0.1, 0, 0], semi_axes: [0.3, 0.1, 0.1], rpy: [0, 0, pi/2]}}}}}")
    (c,) = stated(d).constraints
    assert isinstance(c, CentreInEllipsoid)
    centre = c.ellipsoids[1].centre
    assert np.allclose(centre, [0.1, 0, 0]) and np.allclose(np.diag(c.ellipsoids[1].Q), [100.0, 1 / 0.09, 100.0])  # long along y
    (c,) = stated(card("{links: {2: {com: {box: [[0, -1, -2], [1, 2, 3]]}}}}")).constraints
    assert isinstance(c, CentreInBox) and c.boxes[2].lower.tolist() == [0, -1, -2] and c.boxes[2].upper.tolist() == [1, 2, 3]
    (c,) = stated(card("{links: {2: {inside: {box: [[0, -1, -2], [1, 2, 3]]}}}}")).constraints
    assert isinstance(c, MassInHull) and np.ptp(c.vertices[2], axis=0).tolist() == [1, 3, 5] and len(c.vertices[2]) == 8


def test_a_stated_margin_takes_the_place_of_the_usual_one(card) -> None:
    all_of_it = combined(PHYSICAL, stated(card("{margin: 0.001, total_mass: 4}")).constraints)
    assert [c.margin for c in all_of_it if isinstance(c, RealBody)] == [0.001]
    assert len(all_of_it) == len(PHYSICAL) + 1 and isinstance(all_of_it[-1], TotalMass)
    assert combined(PHYSICAL, stated(load("tx40")).constraints) == PHYSICAL
    part = (RealBody(0.01, links=(1,)),)
    assert combined(PHYSICAL, part) == (*PHYSICAL, *part)


def test_what_the_chosen_friction_does_not_have_is_left_out_with_a_note(card) -> None:
    d = card("{bounds: {Fc1: [0, 3], Fv1: [0, 3]}, equal: [{of: {off1: 1, off2: 1}}]}")
    found = stated(d)
    assert len(found.constraints) == 1
    assert found.notes == (
        "the constraint on Fc1 is not used: the model has no Fc1",
        "the constraint on off1, off2 is not used: the model has no off1, off2",
    )


# geometry


def random_pose(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = rng.uniform(-3, 3, 3)
    return rotation_z(a) @ rotation_y(b) @ rotation_x(c), rng.normal(size=3) * 0.2


def random_solid(rng: np.random.Generator) -> tuple[Solid, np.ndarray]:
    """A shape and points of its inside and surface."""
    kind, (R, p) = ("box", "cylinder", "sphere")[rng.integers(3)], random_pose(rng)
    size = tuple(rng.uniform(0.05, 0.4, {"box": 3, "cylinder": 2, "sphere": 1}[kind]))
    unit = rng.normal(size=(40, 3))
    if kind == "box":
        own = rng.uniform(-0.5, 0.5, (40, 3)) * size
    elif kind == "cylinder":
        ring = unit[:, :2] / np.linalg.norm(unit[:, :2], axis=1, keepdims=True) * size[0]
        own = np.column_stack([ring, rng.uniform(-0.5, 0.5, 40) * size[1]])
    else:
        own = size[0] * unit / np.linalg.norm(unit, axis=1, keepdims=True)
    return Solid(kind, size, R, p), own @ R.T + p


def body(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ten parameters of random masses at points."""
    m = rng.exponential(size=len(points))
    lifted = np.column_stack([points, np.ones(len(points))])
    return inertia.from_pseudo_inertia((lifted.T * m) @ lifted)


def to_urdf(shape: Solid) -> str:
    R = shape.rotation
    rpy = np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])
    words = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}[shape.kind]
    values = [" ".join(map(repr, map(float, shape.size)))] if shape.kind == "box" else [repr(float(x)) for x in shape.size]
    attributes = " ".join(f'{w}="{v}"' for w, v in zip(words, values, strict=True))
    xyz, rpy = (" ".join(repr(float(x)) for x in v) for v in (shape.position, rpy))
    return f'<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry><{shape.kind} {attributes}/></geometry></collision>'


@pytest.mark.parametrize("seed", range(12))
def test_mass_inside_the_geometry_of_a_link_is_allowed_and_mass_outside_is_not(card, seed: int) -> None:
    rng = np.random.default_rng(seed)
    solids = [random_solid(rng) for _ in range(rng.integers(1, 4))]
    d = card("{links: {upper: {inside: geometry}}}", urdf("".join(to_urdf(s) for s, _ in solids), hand_inertial=""))
    said = stated(d).constraints
    points = np.vstack([p for _, p in solids])
    for _ in range(5):
        some = points[rng.choice(len(points), 30)]
        values = d.prior.replaced(dict(zip(d.layout.names[d.layout.link(0)], body(some, rng), strict=True)))
        assert broken(values, said) == ()
    centre = points.mean(axis=0)
    far = centre + 2.5 * (points[np.argmax(np.linalg.norm(points - centre, axis=1))] - centre)
    outside = inertia.from_com(1.0, far, 1e-4 * np.eye(3))
    values = d.prior.replaced(dict(zip(d.layout.names[d.layout.link(0)], outside, strict=True)))
    assert broken(values, said) != ()


@pytest.mark.parametrize("sides", [COARSE, FINE])
def test_polyhedra_enclose_round_shapes(sides: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        shape, inside = random_solid(rng)
        planes = ConvexHull(shape.points(sides)).equations
        assert (inside @ planes[:, :3].T + planes[:, 3]).max() < 1e-9
    assert np.linalg.norm(round_points(300), axis=1).max() < 1.02


def test_what_is_welded_to_a_link_belongs_to_it(card) -> None:
    hand = '<visual><origin xyz="0.3 0 0"/><geometry><box size="0.2 0.1 0.1"/></geometry></visual>'
    (c,) = stated(card("{links: {1: {inside: geometry}}}", urdf(hand=hand))).constraints
    points = np.asarray(c.vertices[1])
    assert np.allclose(points[:8].min(axis=0), [-0.1, -0.1, -0.1]) and np.allclose(points[:8].max(axis=0), [0.3, 0.1, 0.1])
    # the hand's x is the link's y
    assert np.allclose(points[8:].min(axis=0), [0.45, 0.2, -0.05]) and np.allclose(points[8:].max(axis=0), [0.55, 0.4, 0.05])


def test_mass_without_geometry_is_noted_and_no_geometry_at_all_refused(card) -> None:
    (note,) = stated(card("{links: {1: {inside: geometry}}}")).notes
    assert note.startswith("link 'hand', part of link 1, has mass and no geometry")
    with pytest.raises(FileError, match=r"two.urdf:2: link 'lower' has neither collision nor visual geometry"):
        stated(card("{links: {2: {inside: geometry}}}"))


def test_a_hull_of_many_facets_becomes_an_ellipsoid(card) -> None:
    points = round_points(60) * [1.0, 2.0, 0.5]
    d = card("{links: {1: {inside: {hull: " + str(points.tolist()) + "}}}}")
    found = stated(d)
    (c, box), (note,) = found.constraints, found.notes
    assert isinstance(c, MassInEllipsoid) and "more than 12; the smallest ellipsoid and a box around it are used" in note
    out = points - c.ellipsoids[1].centre
    assert np.einsum("ki,ij,kj->k", out, c.ellipsoids[1].Q, out).max() == pytest.approx(1.0)
    assert isinstance(box, MassInHull)
    planes = ConvexHull(np.asarray(box.vertices[1])).equations
    reach = (points @ planes[:, :3].T + planes[:, 3]).max(axis=0)
    assert np.allclose(reach, 0.0, atol=1e-12)  # all inside, and every side touched


def tetrahedron(path, size: float) -> None:
    a, b, c, d = size * np.vstack([np.zeros(3), np.eye(3)])
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in f) + "endloop\nendfacet\n"
        for f in ((a, c, b), (a, b, d), (a, d, c), (b, c, d))
    )
    path.write_text(f"solid t\n{facets}endsolid t\n")


def test_meshes(card, tmp_path, monkeypatch) -> None:
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    tetrahedron(tmp_path / "arm" / "meshes" / "t.stl", 100.0)
    mesh = '<collision><geometry><mesh filename="{}" scale="0.001 0.001 0.002"/></geometry></collision>'
    for name in ("package://arm/meshes/t.stl", "arm/meshes/t.stl"):
        (c,) = stated(card("{links: {1: {inside: geometry}}}", urdf(mesh.format(name), hand_inertial=""))).constraints
        assert len(c.vertices[1]) == 4 and np.allclose(np.max(c.vertices[1], axis=0), [0.1, 0.1, 0.2], atol=1e-6)
    with pytest.raises(FileError, match=r"the mesh 'gone.stl' is not there"):
        stated(card("{links: {1: {inside: geometry}}}", urdf(mesh.format("gone.stl"))))
    (tmp_path / "bad.stl").write_text("nothing")
    with pytest.raises(FileError, match=r"the mesh 'bad.stl' cannot be read"):
        stated(card("{links: {1: {inside: geometry}}}", urdf(mesh.format("bad.stl"))))
    monkeypatch.setitem(sys.modules, "coal", None)
    (c,) = stated(card("{links: {1: {inside: geometry}}}", urdf(mesh.format("arm/meshes/t.stl"), hand_inertial=""))).constraints
    assert len(c.vertices[1]) == 4  # STL and OBJ need no package
    (tmp_path / "t.dae").write_text("<COLLADA/>")
    with pytest.raises(MissingDependencyError, match=r"reading the mesh 't.dae' needs the package pin"):
        stated(card("{links: {1: {inside: geometry}}}", urdf(mesh.format("t.dae"))))


# models and methods


def test_check_and_repair_know_what_is_stated(card) -> None:
    d = card("{total_mass: [3, 5], links: {lower: {mass: [2.5, 3]}}}")  # links of 4 kg (with the hand) and 2 kg
    said = stated(d).constraints
    checked = check_model(d.prior, 20, constraints=said)
    assert checked.consistent and checked.broken == ("total mass at most 5 kg", "link 2: mass at least 2.5 kg")
    assert checked.sentence.endswith("is physically consistent; it breaks: total mass at most 5 kg, link 2: mass at least 2.5 kg")
    fixed = repair(d.prior, constraints=combined(PHYSICAL, said)).parameters
    assert check_model(fixed, 20, constraints=said).broken == ()
    assert fixed["M1"] + fixed["M2"] == pytest.approx(5.0) and fixed["M2"] == pytest.approx(2.5)


def boxes_and_weighing(description, reach: float = 2.0) -> dict:
    """The whole robot on a scale, and for every link a box of `reach` standard deviations of its mass to each side."""
    links = {}
    for k, (_, where) in enumerate(description.layout.bodies):
        J = inertia.pseudo_inertia(description.prior.values[where])
        com = J[:3, 3] / J[3, 3]
        half = reach * np.sqrt(np.maximum(np.diag(J)[:3] / J[3, 3] - com**2, 1e-8))
        links[k + 1] = {"inside": {"box": (tuple(com - half), tuple(com + half))}}
    total = float(sum(description.prior[f"M{j + 1}"] for j in range(description.robot.n)))
    return {"total_mass": (total, total), "links": links}


def poor_problems(description, base, said, runs: int):
    motion = one_sine_for_all_joints(description.prior)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        given = noisy(motion, 0.1 * motion.tau.std(axis=0) * rng.normal(size=motion.tau.shape))
        yield Problem(base, (given,), description.prior.with_values(other_values(description, rng)), constraints=said)


@pytest.mark.parametrize("name", ["tx40", "jaco2"])
def test_after_poor_excitation_a_weighing_and_geometry_bring_masses_nearer_the_truth(name: str) -> None:
    description, base = robot(name)
    said = stated(replace(description, constraints=boxes_and_weighing(description))).constraints
    reference = Reference.of(description.layout, description.prior.values)
    assert min(slack(b, description.prior.values) for b in assembled(said, reference)) > -1e-12  # the truth is allowed
    masses = [description.layout.index(f"M{j + 1}") for j in range(description.robot.n)]
    truth = description.prior.values[masses]
    errors = {}
    for given in ((), said):
        estimator = Wls(solve=Consistent(prior=Euclidean(1.0)))
        found = [estimator.estimate(p).chi[masses] for p in poor_problems(description, base, given, 30)]
        errors[bool(given)] = np.sqrt(np.mean((np.array(found) - truth) ** 2, axis=1))
        if given:
            assert np.allclose(np.sum(found, axis=1), truth.sum(), rtol=1e-6)
    gain = errors[False] - errors[True]
    assert gain.mean() > 3.0 * gain.std() / np.sqrt(len(gain)) and errors[True].mean() < 0.9 * errors[False].mean()


KEEPING = {
    "pc-ols": Ols(solve=Consistent()),
    "pc-irls": Irls(solve=Consistent()),
    "entropic": Wls(solve=Consistent(prior=Entropic(1.0))),
    "cls-3": ConsistentInside(),
}


@pytest.mark.parametrize("name", KEEPING)
def test_methods_with_a_consistent_solve_keep_to_them(name: str) -> None:
    description, base = robot("scara4")
    masses = [f"M{j + 1}" for j in range(4)]
    said = (TotalMass(10.0, 10.0), MassBounds({2: (2.0, 3.0)}), Equal({"Fv1": 1.0, "Fv2": -1.0}))
    (problem,) = poor_problems(description, base, said, 1)
    found = description.prior.with_values(KEEPING[name].estimate(problem).chi)
    assert sum(found[m] for m in masses) == pytest.approx(10.0) and 2.0 - 1e-6 <= found["M2"] <= 3.0 + 1e-6
    assert found["Fv1"] == pytest.approx(found["Fv2"])


def test_a_solve_that_is_used_again_sees_other_constraints() -> None:
    description, base = robot("scara4")
    (problem,) = poor_problems(description, base, (), 1)
    weighed, estimator = replace(problem, constraints=(TotalMass(10.0, 10.0),)), method("pc-wls")
    masses = [description.layout.index(f"M{j + 1}") for j in range(4)]
    first, second, third = (estimator.estimate(p).chi[masses].sum() for p in (problem, weighed, problem))
    assert first == third != pytest.approx(10.0) and second == pytest.approx(10.0)


def test_contradictions_between_statements_are_named(card) -> None:
    d = card("{total_mass: 3, links: {upper: {mass: [3.5, 5]}}}")
    program = Program(Reference.of(d.layout, d.prior.values), combined(PHYSICAL, stated(d).constraints))
    with pytest.raises(InfeasibleError, match=r"total mass 3 kg; link 1: mass at least 3.5 kg; link 2: a body that can exist"):
        raise conflict_error(program.reference, program.conflict)


def test_log_cholesky_coordinates_take_a_margin_and_refuse_the_rest() -> None:
    description, base = robot("scara4")
    (problem,) = poor_problems(description, base, (RealBody(0.002),), 1)
    assert InCoordinates.of(problem).chart.margin == 0.002
    with pytest.raises(InputError, match="use pc-didim or pc-wls"):
        InCoordinates.of(replace(problem, constraints=(RealBody(0.002), TotalMass(1.0, 9.0))))
