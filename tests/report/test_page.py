"""The page in a browser: no errors, nothing from outside, and everything that can be pressed does what it says."""

import json

import numpy as np
import pytest

import chromium
import pair
from inertica.identifiability.labels import LABELS
from inertica.report.browser import print_pdf
from inertica.report.report import write_report
from inertica.report.together import write_together

pytestmark = pytest.mark.skipif(chromium.where() is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = write_report(pair.identified(), pair.motions(), tmp_path_factory.mktemp("page") / "report.html")
    browser = chromium.Chromium()
    browser.open(path)
    yield browser
    browser.close()
    assert browser.errors == []


def column(page, k):
    """Cells of the table of parameters that are shown, from top to bottom."""
    rows = "[...document.querySelectorAll('#values tbody tr')].filter(r => !r.hidden)"
    return page.run(f"{rows}.map(r => r.children[{k}].dataset.v ?? r.children[{k}].textContent)")


def press(page, selector, index=0):
    left, top, width, height = page.middle(selector, index)
    page.click(left + width / 2, top + height / 2)


def shown(page):
    """Bounds of the time axes of the first log, one per joint."""
    return page.run("[...document.querySelectorAll('svg[data-link=log1]')].map(s => s.dataset.shown ?? s.dataset.x)")


def test_it_opens_without_errors_and_stays_inside_the_window(page):
    assert page.errors == [] and page.run("document.documentElement.classList.contains('live')")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.run("performance.getEntriesByType('resource').length") == 0


def test_what_is_determined_comes_first_and_symbols_say_what_they_are(page):
    result = pair.identified()
    order = [result.labels[name] for name in column(page, 0)]
    assert order == sorted(order, key=LABELS.index)
    words = page.run("Object.fromEntries([...document.querySelectorAll('#map th abbr')].map(a => [a.textContent, a.title]))")
    assert words["Fv"] == "viscous friction" and words["XX"] == "moment of inertia about x"


def test_the_table_sorts_by_the_numbers_of_the_result(page):
    result = pair.identified()
    press(page, "#values thead th:nth-child(2) button")
    values = [float(x) for x in column(page, 1)]
    assert values == sorted(result.parameters.values.tolist())
    by_name = dict(zip(column(page, 0), values, strict=True))
    assert by_name == dict(zip(result.parameters.layout.names, result.parameters.values.tolist(), strict=True))
    press(page, "#values thead th:nth-child(2) button")
    assert [float(x) for x in column(page, 1)] == values[::-1]
    press(page, "#values thead th:nth-child(1) button")
    assert column(page, 0)[0] == min(result.parameters.layout.names, key=str.lower)


def test_the_search_shows_rows_with_all_words(page):
    result = pair.identified()

    def search(words):
        field = "document.querySelector('input[type=search]')"
        page.run(f"{field}.value = {json.dumps(words)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        return set(column(page, 0))

    assert search("fv DETERMINED") == {n for n, label in result.labels.items() if n.startswith("Fv") and label == "determined"}
    assert search("no such thing") == set() and search("") == set(result.parameters.layout.names)


def test_a_drag_zooms_all_joints_of_a_log_and_a_double_click_shows_all_again(page):
    home = shown(page)
    before = page.run("document.querySelector('svg[data-link=log1] path.c-predicted').getAttribute('d')")
    left, top, width, height = page.middle("svg[data-link=log1]")
    inside = 52 / 460 * width  # where the axes begin
    page.drag((left + inside + 50, top + height / 2), (left + inside + 150, top + height / 2))
    low, high = map(float, shown(page)[0].split())
    scale = 6.0 / (width * 400 / 460)  # the log is 6 s long
    assert low == pytest.approx(50 * scale, abs=0.05) and high == pytest.approx(150 * scale, abs=0.05)
    assert len(set(shown(page))) == 1 and page.run("document.querySelector('svg[data-link=log2]').dataset.shown") is None
    cursors = page.run("[...document.querySelectorAll('svg[data-link=log1]')].map(s => [s.parentElement.querySelector('.readout')"
                       ".textContent, Number(s.querySelector('.mark').getAttribute('x'))])")  # fmt: skip
    at = low + (high - low) * 150 / (width * 400 / 460)  # where the pointer is now, in every joint, without a further move
    for words, place in cursors:
        assert float(words.removeprefix(" at ").split(":")[0]) == pytest.approx(at, abs=0.02)
        assert place == pytest.approx(cursors[0][1])
    assert page.run("document.querySelector('svg[data-link=log1] path.c-predicted').getAttribute('d')") != before
    page.click(left + width / 2, top + height / 3, count=2)
    assert [list(map(float, s.split())) for s in shown(page)] == [pytest.approx(list(map(float, s.split()))) for s in home]
    press(page, "button[data-zoom=in]")
    low, high = map(float, shown(page)[1].split())
    assert high - low == pytest.approx(3.0, abs=0.02)
    press(page, "button[data-zoom=reset]")


def test_readings_under_the_pointer_are_those_of_the_log(page):
    left, top, width, height = page.middle("svg[data-link=log1]")
    page.move(left + 300 / 460 * width, top + height / 3)
    words = page.run("document.querySelector('svg[data-link=log1]').parentElement.querySelector('.readout').textContent")
    time, rest = words.removeprefix(" at ").split(": ")
    said = dict(part.rsplit(" ", 1) for part in rest.split(", "))
    motion = pair.motions()["identification"][0]
    nearest = int(np.abs(motion.t - float(time)).argmin())
    near = motion.tau_raw[max(nearest - 1, 0) : nearest + 2, 0]
    assert np.abs(near - float(said["measured"])).min() < 1e-3 * max(1.0, np.abs(near).max())
    assert {"measured", "predicted", "residual"} <= set(said)


def test_curves_go_and_come_back(page):
    display = "getComputedStyle(document.querySelector('svg[data-link=log1] path.c-predicted')).display"
    assert page.run(display) == "inline"
    press(page, "#torque button[data-series=predicted]")
    assert page.run(display) == "none"
    press(page, "#torque button[data-series=predicted]")
    assert page.run(display) == "inline"


def test_a_figure_grows_and_shrinks(page):
    width = page.middle("figure.plot")[2]
    press(page, "figure.plot .enlarge")
    assert page.middle("figure.plot")[2] > 1.5 * width
    press(page, "figure.plot .enlarge")
    assert page.middle("figure.plot")[2] == pytest.approx(width)


def test_the_robot_turns_moves_and_shows_what_it_is_asked_to(page):
    picture, view = (
        "document.querySelector('figure.robot svg').innerHTML",
        "document.querySelector('figure.robot svg').dataset.view",
    )
    before, seen = page.run(picture), page.run(view)
    assert before.count("<ellipse") == 4
    left, top, width, height = page.middle("figure.robot svg")
    page.drag((left + width / 2, top + height / 2), (left + width / 2 + 90, top + height / 2 + 30))
    turned = [float(b) - float(a) for a, b in zip(seen.split(), page.run(view).split(), strict=True)]
    assert turned[:2] == pytest.approx([-0.6, 0.2], abs=0.02) and page.run(picture) != before
    press(page, "figure.robot input[value=before]")
    assert page.run(picture).count("<ellipse") == 2
    press(page, "figure.robot input[value=before]")
    middle = page.run(picture)
    page.run(
        "(s => { s.value = 40; s.dispatchEvent(new Event('input')) })(document.querySelector('figure.robot input[type=range]'))"
    )
    assert page.run(picture) != middle


def test_light_and_dark_follow_the_system_and_the_button(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    page.dark(True)
    dark = page.run(paper)
    page.dark(False)
    light = page.run(paper)
    press(page, "#theme")
    press(page, "#theme")
    assert dark != light and page.run(paper) == dark
    press(page, "#theme")
    assert page.run(paper) == light


def test_several_results_open_too(page, tmp_path):
    result = pair.identified()
    page.open(write_together(["one", "two"], [result, result], [pair.motions(), pair.motions()], tmp_path / "both.html"))
    assert page.errors == [] and page.run("document.querySelectorAll('#pair1 tbody tr').length") == result.estimate.base.rank


def test_it_prints(page, tmp_path):
    path = write_report(pair.identified(), pair.motions(), tmp_path / "report.html")
    assert print_pdf(path, tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")


def test_the_contents_stay_in_sight(page):
    page.run("window.scrollTo(0, 2000)")
    top, bottom = page.run("(r => [r.top, r.bottom])(document.querySelector('nav').getBoundingClientRect())")
    assert top == 0 and bottom < 80
    page.run("location.hash = '#parameters'")
    heading = page.run("document.querySelector('#parameters h2').getBoundingClientRect().top")
    assert heading >= page.run("document.querySelector('nav').getBoundingClientRect().bottom")
