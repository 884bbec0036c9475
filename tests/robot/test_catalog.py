"""The catalog says what its sources say."""

import math
import re

import numpy as np
import pytest

from inertica.robot import inertia
from inertica.robot.drives import Armature, ToolboxCoupling
from inertica.robot.files import catalog
from inertica.robot.formula import FormulaTerm
from inertica.robot.load import load, save_model

COLUMNS = {
    "tx40": 78, "tx40_coupled": 80, "rv2sq": 78, "jaco2": 70, "jaco2_cls3": 70, "scara2": 25, "planar2": 26, "panda7": 91,
    "scara4": 52,
}  # fmt: skip


def test_the_catalog_is_complete():
    assert catalog() == sorted(COLUMNS)


@pytest.mark.parametrize("name", sorted(COLUMNS))
class TestEveryRobot:
    def test_reads_with_all_that_a_simulation_needs(self, name):
        d = load(name)
        assert d.name == name and d.layout.size == COLUMNS[name]
        assert d.friction_stated and d.loop is not None and d.noise and d.reference["origin"]
        limits = d.robot.limits
        assert all(math.isfinite(v) for values in vars(limits).values() for v in values)
        assert all(low <= q <= high for low, q, high in zip(limits.lower, d.home, limits.upper, strict=True))

    def test_links_can_exist(self, name):
        expected = ["link1", "link2"] if name == "planar2" else []  # that paper's values cannot, and the file says so
        d = load(name)
        assert d.prior.inconsistent_links() == expected and len(d.notes) == len(expected)

    def test_values_survive_writing(self, name, tmp_path):
        d = load(name)
        target = tmp_path / "x.yaml"
        save_model(d, d.prior, target)
        assert target.read_bytes() == d.source.path.read_bytes()
        changed = d.prior.with_values(np.abs(d.prior.values) * 1.1 + 1e-3)
        save_model(d, changed, target)
        assert np.array_equal(load(target).prior.values, changed.values)


@pytest.mark.parametrize("name", ["tx40", "tx40_coupled", "rv2sq"])
def test_derived_base_parameters_follow_from_the_links(name):
    d = load(name)
    derived = d.reference["derived_base_parameters"]
    assert len(derived["values"]) == derived["count"]
    for parameter, entry in derived["values"].items():
        value = sum(
            (-1.0 if sign == "-" else 1.0) * float(factor or 1.0) * d.prior[symbol]
            for sign, factor, symbol in re.findall(r"([+-]?) ?(?:([\d.]+)\*)?([A-Z][A-Za-z]*\d)", entry.get("equals", parameter))
        )
        assert value == pytest.approx(entry["value"], abs=1e-9)


@pytest.mark.parametrize("name", ["tx40", "tx40_coupled", "rv2sq"])
def test_gains_and_noise_hold_together(name):
    d = load(name)
    motor = d.loop["motor_side"]
    for gain in ("kp", "kd"):
        assert np.allclose(np.array(motor[gain]) * motor["ktau"], d.loop[gain], rtol=1e-9)
    for preset in d.noise.values():
        assert np.allclose(np.radians(preset["q_deg"]), preset["q"], rtol=1e-12)
    assert [p["row"] for p in d.noise.values() if "row" in p] == [1, 2, 3, 4, 5]


def test_smallest_pseudo_inertia_eigenvalues_are_those_checked_for_the_sources():
    expected = {
        "tx40": [0.176, 0.0052, 0.00121, 0.00138, 0.000499, 0.000176],
        "rv2sq": [0.0076, 0.0499, 0.0212, 0.0165, 0.0116, 0.0008],
    }
    for name, values in expected.items():
        d = load(name)
        ours = [np.linalg.eigvalsh(inertia.pseudo_inertia(d.prior.link(j)))[0] for j in range(6)]
        assert ours == pytest.approx(values, rel=0.05)


def test_rv2sq_link_inertias_come_from_its_centre_of_mass_form():
    d = load("rv2sq")
    source = d.reference["source_com_form"]
    for j in range(6):
        body = inertia.to_com(d.prior.link(j))
        assert np.allclose(body.com, source["com"][j], atol=1e-9)
        assert np.allclose(body.inertia, inertia.matrix([*source["inertia_com"][j], 0, 0, 0, 0]), atol=1e-9)


def test_the_toolbox_form_of_the_coupling():
    d = load("tx40_coupled")
    assert ToolboxCoupling(5, 4) in d.layout.terms and Armature(5, 4) in d.layout.terms
    assert (d.prior["Fvm6"], d.prior["Fcm6"]) == (0.8, 1.6)
    table = d.reference["table2"]
    ref, b, e = np.array(list(table["parameters"].values())).T
    assert len(ref) == table["counts_checked"]["listed"]
    for column, printed in ((b, table["relative_change"]["b"]), (e, table["relative_change"]["e"])):
        assert np.linalg.norm(column - ref) / np.linalg.norm(ref) == pytest.approx(printed, abs=5e-5)


def test_scara2_has_the_published_base_values():
    d = load("scara2")
    p, nominal = d.prior, d.reference["base_parameters"]["nominal"]
    ours = {"ZZ1R": p["ZZ1"] + p["Ia1"] + 0.25 * p["M2"], "ZZ2R": p["ZZ2"], "LMX2": 0.5 * p["MX2"], "LMY2": 0.5 * p["MY2"]}
    ours |= {name: p[name] for name in ("Fv1", "Fc1", "Fv2", "Fc2")}
    assert ours == pytest.approx(nominal, rel=1e-12)
    J = [nominal["ZZ1R"] + nominal["ZZ2R"] + 2 * nominal["LMX2"], nominal["ZZ2R"]]
    assert np.allclose(d.loop["kv"], 2 * np.array(d.loop["zeta"]) * d.loop["wn"] * J)
    assert np.allclose(d.loop["kp"], np.array(d.loop["wn"]) / 2)


def test_planar2_has_the_published_base_values():
    d = load("planar2")
    p = d.prior
    ours = [p["Fv1"], p["Fv2"], p["Fc1"], p["Fc2"], p["Im2"], (p["M1"] + p["M2"]) / 2 + p["MX1"]]
    ours += [p["ZZ1"] + p["Im1"] / 100 - (p["M1"] + p["M2"]) / 4, p["M2"] / 2 + p["MX2"], p["ZZ2"] - p["M2"] / 4]
    assert ours == pytest.approx([entry["value"] for entry in d.reference["base_parameters"]], abs=1e-4)
    assert d.layout.fixed == {"MY1", "MY2"}
    assert sum(isinstance(t, FormulaTerm) for t in d.layout.terms) == 2
    assert d.robot.joints[0].arm == (0.5, 0.0, 0.0)


@pytest.mark.parametrize(("robot", "column"), [("jaco2", 0), ("jaco2_cls3", 7)])
def test_jaco2_combinations_are_near_their_column(robot, column):
    d, published = load(robot), load("jaco2").reference
    table = published["table4"]
    lengths = {"d3": -0.41, "d4": -0.0098, "d5": -0.3111}
    symbols = {"xx": "XX", "yy": "YY", "zz": "ZZ", "yz": "YZ", "x": "MX", "y": "MY", "z": "MZ"}

    def value(match):
        if match[0] in lengths:
            return f"({lengths[match[0]]})"
        kind, link, axes = re.fullmatch(r"(I|mc|m)(\d)([xyz]*)", match[0]).groups()
        return repr(d.prior[(symbols[axes] if kind != "m" else "M") + link])

    for name, text in published["base_parameters"]["combinations"].items():
        ours = eval(re.sub(r"[Imdc]+\d[xyz]*", value, text).replace("^", "**"))
        if robot == "jaco2":
            assert ours == pytest.approx(table[name][0], rel=1e-3, abs=2e-6)
        else:
            assert d.reference["table4_cls3"][name] == table[name][7:9]
            assert ours == pytest.approx(table[name][column], abs=0.15 * table[name][8])
    for name in (name for name in table if not name.startswith("beta")):  # single parameters; L7xy is XY7, mc2x is MX2
        kind, link, axes = re.fullmatch(r"(L|mc)(\d)([xyz]+)", name).groups()
        printed, std = table[name][column], 2e-6 if robot == "jaco2" else 0.15 * table[name][8]
        assert d.prior[("M" if kind == "mc" else "") + axes.upper() + link] == pytest.approx(printed, abs=std)
    assert d.layout.terms == () and (robot != "jaco2" or d.prior["ZZ7"] == 0.000582)


def test_scara4_slides():
    d = load("scara4")
    assert [j.prismatic for j in d.robot.joints] == [False, False, True, False]
