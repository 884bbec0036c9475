"""Differences between results: found where they are, not found where they are chance, never claimed of shared data."""

from dataclasses import replace

import numpy as np
import pytest
from lxml import etree, html

import pair
from inertica.errors import InputError
from inertica.report.compared import compare_parameters, compare_predictions, holm, normal_tail, paired_p, share_data
from inertica.report.data import record
from inertica.report.together import CONTENTS, common_logs, together


def shifted(result, seed, by=None, log="other.csv"):
    """The result of another log of the same robot: beta drawn by its own covariance, one entry moved by some standard deviations."""
    e = result.estimate
    beta = np.random.default_rng(seed).multivariate_normal(e.beta, e.covariance)
    if by is not None:
        beta[by[0]] += by[1] * e.std[by[0]]
    return replace(result, estimate=replace(e, beta=beta), logs={"identification": (log,)})


def test_chance_is_called_chance_about_as_often_as_stated():
    """200 pairs of the same robot: any single claim in 5 % of them by Holm, 5 % by the joint test; 12 % is 4.5 deviations away."""
    result = pair.identified()
    pairs = [compare_parameters(shifted(result, 2 * k, log="one.csv"), shifted(result, 2 * k + 1)) for k in range(200)]
    assert np.mean([any(d.differs for d in p.differences) for p in pairs]) < 0.12
    assert np.mean([p.p < 0.05 for p in pairs]) < 0.12
    assert all(not p.shared and p.left_out == 0 for p in pairs)


def test_a_real_difference_is_named():
    result = pair.identified()
    found = compare_parameters(shifted(result, 0, log="one.csv"), shifted(result, 1, (3, 20.0)))
    name = result.estimate.base.names[3]
    assert [d.name for d in found.differences if d.differs] == [name] and found.p < 1e-6
    assert name in found.sentence and "different robots" in found.sentence


def test_results_of_the_same_log_are_held_against_the_sum_of_their_deviations():
    result = pair.identified()
    same = compare_parameters(result, result)
    assert same.shared and np.isnan(same.p) and not any(d.differs for d in same.differences)
    assert same.differences[0].std == pytest.approx(2.0 * result.estimate.std[0]) and "err together" in same.sentence


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("a.csv", "a.csv", True), ("a.csv", "b.csv", False), ("a.csv@0:2", "a.csv@2:4", False), ("a.csv@0:2", "a.csv@1:4", True),
        ("a.csv@:2", "a.csv", True), ("a.csv, b.csv@3:", "b.csv@0:4", True), ("me@home.csv", "me@home.csv", True),
    ],
)  # fmt: skip
def test_slices_share_data_where_they_overlap(one, other, shared):
    result = pair.identified()
    assert share_data(*(replace(result, logs={"identification": tuple(name.split(", "))}) for name in (one, other))) == shared


def test_p_values_are_those_of_the_books():
    assert normal_tail([1.959964, 2.575829]) == pytest.approx([0.05, 0.01], abs=1e-6)
    assert paired_p([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(0.0132, abs=1e-4)  # t = 4.243, 4 degrees of freedom
    assert np.isnan(paired_p([1.0, 2.0])) and paired_p([0.0] * 5) == 1.0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_better_prediction_wins_and_equal_ones_do_not():
    result, motion = pair.identified(), pair.motions()["identification"][0]
    worse = replace(result, parameters=result.parameters.replaced({"Fv1": 1.3 * result.parameters["Fv1"]}))
    one, two = (record(r, "identification", motion) for r in (result, worse))
    contest = compare_predictions(one, two)
    assert contest.ratio > 1.0 and contest.p < 0.01 and contest.sentence.startswith("the first is better")
    assert compare_predictions(two, one).ratio == pytest.approx(1.0 / contest.ratio)
    assert compare_predictions(one, one).sentence == "no difference beyond chance"


def test_one_page_of_two_results_is_valid_and_says_what_differs():
    result = pair.identified()
    other = shifted(result, 1, (3, 40.0))
    text = together(["monday", "<friday>"], [result, other], [pair.motions(), pair.motions()])
    etree.fromstring(text[text.index("<body>") : text.index("</html>")])
    tree = html.fromstring(text)
    assert {e.get("id") for e in tree.iter("section")} == set(CONTENTS)
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids)) and "<friday>" not in text
    rows = {tr.findtext("th"): tr.text_content() for tr in tree.xpath("//table[@id='pair1']/tbody/tr")}
    assert rows[result.estimate.base.names[3]].endswith("differs")
    assert len(tree.xpath("//section[@id='torque']//figure")) == 2 * 2


def test_results_of_other_robots_and_without_logs():
    result = pair.identified()
    joints = tuple(replace(j, name=f"{j.name}x") for j in result.description.robot.joints)
    stranger = replace(result, description=replace(result.description, robot=replace(result.description.robot, joints=joints)))
    with pytest.raises(InputError, match="other joints"):
        together(["a", "b"], [result, stranger], [{}, {}])
    assert "were not there" in together(["a", "b"], [result, result], [{}, {}]) and common_logs([[], []]) == []
