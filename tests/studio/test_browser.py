"""The studio in a browser: no errors in any room, two tabs see the same, the whole way by mouse and by keyboard alone."""

from __future__ import annotations

import csv
import json
import multiprocessing
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra inertica[studio] is not installed")
pytest.importorskip("uvicorn", reason="the extra inertica[studio] is not installed")

import chromium
import inertica as ia
import studio_arm as arm
from inertica.checks.findings import Finding
from inertica.studio import rooms
from inertica.studio.marks import placed
from inertica.studio.project import Project
from inertica.studio.rooms import data
from inertica.studio.start import start
from studio_serving import served

pytestmark = pytest.mark.skipif(chromium.where() is None, reason="no Chromium on this machine")

ROOMS = ("robot", "motion", "data", "identify", "trust", "export", "gains", "payload", "actuators")
AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"


@pytest.fixture
def browser():
    page = chromium.Chromium(drawing=True)
    yield page
    page.close()
    assert page.errors == []


@contextmanager
def opened(page, started):
    """The studio in the page; the page is gone before the studio is."""
    with served(started) as address:
        page.open(address)
        yield address
        for tab in page.tabs:
            page.session = tab
            page.call("Page.navigate", url="about:blank")


def enter(page, room):
    """Goes to a room as people do: by its place in the rail."""
    page.until(f"document.querySelector('#to-{room}')")
    page.run(f"document.querySelector('#to-{room}').click()")
    page.until(f"studio.current?.name === '{room}' && studio.current.seen !== null")


def press(page, selector):
    page.until(f"(b => b && !b.disabled)(document.querySelector({json.dumps(selector)}))")
    left, top, width, height = page.middle(selector)
    page.click(left + width / 2, top + height / 2)


def job(page, room, name, seconds=300.0):
    """Waits until work has ended well."""
    page.until(f"['done', 'failed'].includes(studio.job('{room}', '{name}')?.state)", seconds)
    assert page.run(f"studio.job('{room}', '{name}').error") == ""


def faults(page):
    """Violations that axe-core finds, of whatever weight."""
    page.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
    found = page.run(
        "axe.run(document).then(r => JSON.stringify(r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)])))"
    )
    return json.loads(found)


def overflowing(page):
    """Elements of a room with a scrollbar that nobody asked for: sideways, other than long lines of code."""
    return page.run(
        "[...document.querySelectorAll('body, #rail, #room, #stage, #room *')].filter(e => e.clientWidth && e.tagName !== 'PRE'"
        " && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1)"
        ".map(e => `${e.tagName} ${e.className} ${e.id}: ${e.scrollWidth} > ${e.clientWidth}`)"
    )


def choose_files(page, paths):
    """Gives files to the drop zone of the room by its button, as people do."""
    page.until("document.querySelector('.drop input[type=file]')")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector=".drop input[type=file]")["nodeId"]
    page.call("DOM.setFileInputFiles", files=[str(path) for path in paths], nodeId=node)


def type_into(page, selector, text):
    page.run(
        f"((f, v) => {{ f.value = v; f.dispatchEvent(new Event('input')); f.dispatchEvent(new Event('change')) }})"
        f"(document.querySelector({json.dumps(selector)}), {json.dumps(text)})"
    )


def looked_at(page, faulty, room, sizes=((1280, 800), (1440, 900), (1920, 1080))):
    """The room in light and dark: what axe finds, and scrollbars at usual sizes."""
    for dark in (False, True):
        page.dark(dark)
        time.sleep(0.3)
        faulty[room, "dark" if dark else "light"] = faults(page)
    page.dark(False)
    for width, height in sizes:
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        time.sleep(0.3)
        faulty[room, width] = overflowing(page)


def test_every_room_opens_and_a_second_tab_sees_the_same(browser, tmp_path):
    card = arm.write(tmp_path / "arms")
    log = tmp_path / "run.csv"
    log.write_text("t,q1,q2,tau1,tau2\n" + "\n".join(f"{k / 100},{k / 500},{k / 400},1,2" for k in range(300)) + "\n")
    with opened(browser, start(tmp_path / "project", card, [log])) as address:
        for room in ROOMS:
            enter(browser, room)
            browser.until(f"document.querySelector('#room h1')?.textContent === {json.dumps(rooms.ROOMS[room].title)}")
            assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        enter(browser, "robot")
        field = (
            "[...document.querySelectorAll('label.field')].find(l => l.textContent.startsWith('Gravity')).querySelector('select')"
        )
        browser.run(f"(s => {{ s.value = 'auto'; s.dispatchEvent(new Event('change')) }})({field})")
        press(browser, "#write-card")
        browser.until("document.querySelector('#room pre').textContent.includes('gravity: auto')")
        card_now = Project(tmp_path / "project").card_keys()
        assert card_now["gravity"] == "auto" and card_now["loop"]["kp"] == [900, 300]  # the rest of the card stays
        enter(browser, "data")
        browser.until("document.querySelectorAll('.chart .uplot').length === 2")
        browser.until("studio.viewer.links?.length === 2")
        browser.until("studio.viewer.player")
        charts_come_before_the_robot(browser)
        project = Project(tmp_path / "project")
        when = [{"joint": 2, "start": 1.0, "end": 1.2}, {"joint": None, "start": 2.0, "end": 2.1}]
        cut = Finding("saturation", "warning", "the torque of joint 2 is cut off", log="run.csv", numbers={"stretches": when})
        checked = {"for": data._signature(project), "verdict": "warning", "sentence": "one finding"}
        project.choose("data", check=checked | {"findings": placed([cut], {"run.csv": "run.csv"}, ["shoulder", "elbow"])})
        browser.run("studio.news()")
        browser.until("document.querySelector('#marks').textContent.includes('saturation, elbow')")
        bands = [browser.run(f"studio.current.room.charts.options.bands({j}).length") for j in (0, 1)]
        assert bands == [1, 2]  # that of all joints; and the elbow's own
        browser.run("[...document.querySelectorAll('#room td button')].find(b => b.textContent === '1 s').click()")
        browser.until("studio.current.room.charts.span[0] > 0.8 && studio.current.room.charts.span[1] < 1.4")
        enter(browser, "motion")
        browser.run("document.querySelector('details.cell').open = true; document.querySelector('#add-sphere').click()")
        browser.until("studio.viewer.opened")
        if browser.run("Boolean(studio.viewer.renderer)"):
            browser.until("studio.viewer.around?.children.length >= 1")
        press(browser, "#keep-cell")
        browser.until(
            "studio.state && document.querySelector('#room pre').textContent.includes('--obstacle sphere:0.2@0.6,0,0.3')"
        )
        enter(browser, "data")
        first, second = browser.session, browser.tab()
        browser.session = second
        browser.open(address.partition("?")[0] + "#data")
        browser.until("document.querySelector('#room select')")
        browser.run(
            "(s => { s.value = 'validate'; s.dispatchEvent(new Event('change')) })(document.querySelector('#room select'))"
        )
        browser.session = first
        browser.until("document.querySelector('#room select').value === 'validate'")
        browser.until("document.querySelector('#to-data small').textContent.includes('no log to fit')")


def charts_come_before_the_robot(page):
    """A zoom draws no robot; one under the cursor stands, in the end, where the log says, drawn finely."""
    page.until("studio.viewer.pace.rested")
    before = page.run("studio.viewer.pace.pictures")
    charts = "studio.current.room.charts"
    for middle, half in ((1.0, 1.0), (1.0, 0.2), (2.0, 0.4)):
        page.run(f"{charts}.zoom({middle - half}, {middle + half})")
    page.run(f"{charts}.zoom(...{charts}.whole)")
    assert page.run("studio.viewer.pace.pictures") == before
    left, top, width, height = page.middle(".chart .u-over")
    for share in (0.1, 0.3, 0.5):
        page.move(left + share * width, top + height / 2)
    page.until(
        "studio.viewer.pace.rested && studio.viewer.pace.pictures > 0 && Math.abs(studio.viewer.player.time - 1.495) < 0.02"
    )
    q, said = page.run("studio.viewer.q"), page.run("studio.viewer.sliders.map(s => s.output.textContent)")
    assert abs(q[0] - 1.495 / 5) < 0.01 and abs(q[1] - 1.495 / 4) < 0.01
    assert [abs(float(word.rstrip("°")) - np.degrees(x)) < 0.06 for word, x in zip(said, q, strict=True)] == [True, True]
    if page.run("studio.viewer.pace.slow"):
        assert page.run("studio.viewer.renderer.getPixelRatio()") in (1, 2)
    ratios = page.run(PACE)
    assert ratios == [
        [1, 1, 1],  # a graphics card: every change, as fine as the screen
        [0.75] + [0.5] * 9 + [2],  # turned by hand without one: every frame, coarsely; finely at rest
        [0.75, 0.5, 0.5, 0.5, 2],  # under the cursor of charts: at frames 0, 3, 6 and 9
        [0.75, 0.5, 2],  # a picture of 60 ms is not drawn before the cursor rests
    ]


PACE = """import('/static/pace.js').then(({ Pace }) => {
  const { requestAnimationFrame: frames } = window, own = performance.now;
  let now = 1000, waiting = [];
  window.requestAnimationFrame = (f) => waiting.push(f);
  performance.now = () => now;
  const frame = () => { const due = waiting; waiting = []; for (const f of due) f(); now += 16; };
  const drawn = (slow, spare, cost, changes) => {
    const ratios = [];
    const pace = new Pace((ratio) => { ratios.push(ratio); now += cost; }, slow, (back) => back());
    for (let k = 0; k < changes; k++) { pace.wish(spare); frame(); }
    for (let k = 0; k < 30; k++) frame();
    if (!pace.rested || waiting.length) throw new Error("it does not come to rest");
    return ratios;
  };
  const found = [drawn(false, true, 1, 3), drawn(true, false, 21, 10), drawn(true, true, 21, 10), drawn(true, true, 60, 40)];
  window.requestAnimationFrame = frames;
  performance.now = own;
  return found;
})"""


@pytest.mark.slow
def test_the_whole_way_gives_the_values_of_the_command_line(browser, tmp_path, real_data):
    """TX40 from its URDF: a motion, a rehearsal whose log is identified, and the URDF that comes out."""
    project = tmp_path / "project"
    with opened(browser, start(project)) as address:
        enter(browser, "robot")
        (project / "model" / "tx40.urdf").write_bytes((real_data / "tx40" / "tx40.urdf").read_bytes())
        browser.open(address.partition("?")[0])
        browser.until("document.querySelector('#robot-choice option[value=\"model/tx40.urdf\"]')")
        browser.run("document.querySelector('#robot-choice').value = 'model/tx40.urdf'")
        press(browser, "#robot-load")
        browser.until("studio.viewer.links?.length === 6")
        browser.until("document.querySelector('#room').textContent.includes('Not every link could exist')")
        enter(browser, "motion")
        field = (
            "[...document.querySelectorAll('label.field')].find(l => l.textContent.startsWith('Search')).querySelector('input')"
        )
        browser.run(f"{field}.value = 3")
        press(browser, "#design")
        job(browser, "motion", "design")
        press(browser, "#rehearse")
        browser.until("studio.job('motion', 'rehearse')?.state === 'running'")
        press(browser, ".job button")  # a run that is cancelled leaves a usable project
        browser.until("studio.job('motion', 'rehearse').state === 'cancelled'")
        press(browser, "#rehearse")
        browser.until("studio.job('motion', 'rehearse')?.state === 'running'")
        job(browser, "motion", "rehearse")
        browser.until("document.querySelector('#room').textContent.includes('intervals hold what was planted')")
        browser.run("[...document.querySelectorAll('#room button')].find(b => b.textContent === 'Use its log in Data').click()")
        browser.until("document.querySelector('#to-data small').textContent.includes('1 to fit')")
        enter(browser, "data")
        browser.until("document.querySelectorAll('.chart .uplot').length === 6")
        press(browser, "#check")
        job(browser, "data", "check")
        enter(browser, "identify")
        press(browser, "#identify")
        job(browser, "identify", "run")
        browser.until("document.querySelector('details.choices')")
        browser.run("document.querySelector('details.choices').open = true")
        browser.until("document.querySelector('.chart.scores .uplot')")
        enter(browser, "trust")
        browser.until("document.querySelectorAll('#parameters tbody tr').length > 60")
        browser.until("document.querySelectorAll('.chart .uplot').length >= 12")
        enter(browser, "export")
        press(browser, "#export-urdf")
        job(browser, "export", "write")
        browser.until("document.querySelector('#written')?.textContent.includes('identified.urdf')")
        command = browser.run("fetch('/api/trust').then(r => r.json()).then(v => v.card.command)")
    words = command.split()
    assert words[:2] == ["inertica", "identify"]
    words[-1] = "again"
    for typed in (words[1:], ["export", "again", "--urdf", "cli.urdf"]):  # in the project, where its logs are found
        done = subprocess.run([sys.executable, "-m", "inertica.cli.main", *typed], cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    tables = [list(csv.DictReader((project / place / "parameters.csv").open())) for place in ("results/result-1", "again")]
    assert tables[0] == tables[1] and len(tables[0]) > 60
    assert (project / "cli.urdf").read_text() == (project / "exports" / "identified.urdf").read_text()


def drop(page, name, content):
    """Drops a file on the zone of the room, as people do."""
    page.run(
        "((name, text) => { const all = new DataTransfer(); all.items.add(new File([text], name)); document.querySelector('.drop')"
        f".dispatchEvent(new DragEvent('drop', {{ dataTransfer: all, cancelable: true }})) }})"
        f"({json.dumps(name)}, {json.dumps(content)})"
    )


@pytest.mark.slow
def test_a_newcomer_with_broken_files_and_headers_of_his_own(browser, tmp_path):
    log = ia.read_log(arm.log(arm.write(tmp_path / "arms"), tmp_path / "run.npz", duration=4.0))
    rows = np.column_stack([log.t, log.need("q"), log.need("tau")])
    text = "\n".join(["clock;alpha;beta;first;second", *(";".join(f"{x:.9g}" for x in row) for row in rows)])
    said = "document.querySelector('#toasts').textContent.includes({})"
    with opened(browser, start(tmp_path / "project")):
        for room in ROOMS:
            enter(browser, room)  # nothing there yet, and every room says what to do
            assert len(browser.run("document.querySelector('#room').textContent")) > 60
        enter(browser, "robot")
        broken = (("cut.urdf", "<robot name='x'>", "model/cut.urdf cannot be read"), ("a.png", "x", "none of the files"))
        for name, content, words in broken:
            drop(browser, name, content)
            browser.until(said.format(json.dumps(words)))
        drop(browser, "arm.urdf", arm.URDF)
        browser.until("document.querySelector('#room').textContent.includes('arm2: 2 joints')")
        enter(browser, "data")
        for name, content, words in (("empty.csv", "", "logs/empty.csv: is empty"), ("words.csv", "a\nb\n", "is no number")):
            drop(browser, name, content)
            browser.until(f"document.querySelector('[aria-label=\"remove {name}\"]')")
            browser.until(f"document.querySelector('#room .banner.bad')?.textContent.includes({json.dumps(words)})")
            press(browser, f'[aria-label="remove {name}"]')
            browser.until(f"!document.querySelector('[aria-label=\"remove {name}\"]')")
        drop(browser, "mine.csv", text)
        browser.until(
            "document.querySelector('#room .banner.bad')?.textContent.includes('the file has: clock, alpha, beta, first')"
        )
        columns = {
            "position of shoulder": "alpha",
            "position of elbow": "beta",
            "torque of shoulder": "first",
            "torque of elbow": "second",
        }
        for label, value in {"column of the clock": "clock", **columns}.items():
            type_into(browser, f"[aria-label='{label}']", value)
        press(browser, "#save-reading")
        browser.until("document.querySelectorAll('.chart .uplot').length === 2")
        enter(browser, "identify")
        press(browser, "#identify")
        job(browser, "identify", "run")
        browser.until("document.querySelector('#room .banner h2')")
    refused = [json.loads(e) for e in browser.errors]
    assert {e["source"] for e in refused} == {"network"} and len(refused) == 2  # what the browser says of the two refusals
    browser.errors.clear()


@pytest.mark.slow
def test_a_worker_that_dies_is_a_message_and_the_page_goes_on(browser, tmp_path):
    with opened(browser, start(tmp_path / "project", "scara4")):
        enter(browser, "motion")
        press(browser, "#design")
        browser.until("studio.job('motion', 'design')?.lines.length > 1")
        for worker in multiprocessing.active_children():
            worker.kill()
        browser.until("studio.job('motion', 'design').state === 'failed'")
        browser.until("[...document.querySelectorAll('.toast.fault')].some(t => t.textContent.includes('signal 9'))")
        enter(browser, "robot")
        browser.until("document.querySelector('#room').textContent.includes('scara4: 4 joints')")
        assert browser.run("document.querySelectorAll('#work .job').length") == 0
        enter(browser, "motion")
        browser.until("(b => b && !b.disabled)(document.querySelector('#design'))")  # it can be started again


@pytest.mark.slow
def test_the_keyboard_alone_suffices_and_axe_finds_nothing_serious(browser, tmp_path):
    card = arm.write(tmp_path / "arms")
    log = arm.log(card, tmp_path / "run.npz")

    def focus(selector):
        """Tab until the element has the focus, as people do."""
        browser.until(f"(b => b && !b.disabled)(document.querySelector({json.dumps(selector)}))")
        for _ in range(150):
            if browser.run(f"document.activeElement === document.querySelector({json.dumps(selector)})"):
                return
            browser.key("Tab")
        raise AssertionError(f"{selector} is not reached with Tab")

    def use(selector):
        focus(selector)
        browser.key("Enter")

    with opened(browser, start(tmp_path / "project", card, [log])):
        serious = {}
        for room in ("robot", "motion", "data"):
            use(f"#to-{room}")
            browser.until(f"studio.current?.name === '{room}' && studio.current.seen !== null")
            time.sleep(1.0)
            serious[room] = faults(browser)
        use("#check")
        job(browser, "data", "check")
        use("#to-identify")
        use("#identify")
        job(browser, "identify", "run")
        serious["identify"] = faults(browser)
        use("#to-trust")
        browser.until("document.querySelectorAll('#parameters tbody tr').length > 10")
        serious["trust"] = faults(browser)
        use("#to-export")
        use("#export-urdf")
        job(browser, "export", "write")
        serious["export"] = faults(browser)
        browser.dark(True)
        serious["dark"] = faults(browser)
        browser.run(
            "document.querySelector('#to-robot').removeAttribute('href'); document.querySelector('main').append(new Image())"
        )
        assert [v[1] for v in faults(browser)] == ["image-alt"]  # the next line would see one
    assert (tmp_path / "project" / "exports" / "identified.urdf").is_file()
    assert {room: found for room, found in serious.items() if found} == {}


@pytest.mark.slow
def test_the_whole_way_of_a_ur_with_currents(browser, tmp_path, real_data):
    """Model and log are dropped; the page leads to the gains, which it lacks; then check, fit, second fit, comparison, model file."""
    ur = real_data / "ur10e"
    gains = [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]
    with opened(browser, start(tmp_path / "project")):
        faulty: dict[object, object] = {}
        enter(browser, "robot")
        choose_files(browser, [ur / "ur10e.urdf"])
        browser.until("document.querySelectorAll('#joints tbody tr').length === 6")
        enter(browser, "data")
        choose_files(browser, [ur / "valid_ptp.csv.gz", ur / "ident_unloaded_a.csv.gz"])
        browser.until("document.querySelector('#room tbody [aria-pressed=true]')?.textContent === 'ident_unloaded_a.csv.gz'")
        browser.until("document.querySelectorAll('.chart .uplot').length === 6")  # the last upload is looked at
        press(browser, "#no-gains .go")
        browser.until("document.activeElement.id === 'gain-1'")
        for k, gain in enumerate(gains, 1):
            type_into(browser, f"#gain-{k}", str(gain))
        press(browser, "#write-card")
        browser.until("document.querySelector('#room pre').textContent.includes('from: current')")
        looked_at(browser, faulty, "robot")
        enter(browser, "data")
        browser.until("document.querySelectorAll('.chart .uplot').length === 6 && !document.querySelector('#no-gains')")
        press(browser, "#check")
        job(browser, "data", "check")
        browser.until("document.querySelector('#check').textContent === 'Check again'")
        beside = "[...document.querySelectorAll('#room select')].find(s => s.ariaLabel === 'another log beside it')"
        browser.run(f"(s => {{ s.value = 'valid_ptp.csv.gz'; s.dispatchEvent(new Event('change')) }})({beside})")
        browser.until(
            "studio.current.room.charts.rows.filter(r => r.plot?.series.length === 3).length === 6"
        )  # two logs in a chart
        browser.until("studio.viewer.ghostMovers?.length === 6")  # and two robots
        browser.run("studio.viewer.at(20)")
        assert browser.run("studio.viewer.ghostMovers[0].quaternion.angleTo(studio.viewer.movers[0].quaternion)") > 0.01
        browser.run(
            "(s => { s.value = 'validate'; s.dispatchEvent(new Event('change')) })"
            "([...document.querySelectorAll('#room select')].find(s => s.ariaLabel === 'what valid_ptp.csv.gz is used for'))"
        )
        looked_at(browser, faulty, "data")
        enter(browser, "identify")
        press(browser, "#identify")
        job(browser, "identify", "run", 1200.0)
        browser.until("document.querySelectorAll('#runs tbody tr').length === 1")
        browser.run("document.querySelector('details').open = true")
        browser.run("[...document.querySelectorAll('label.tick')].find(l => l.textContent.startsWith('quick')).click()")
        press(browser, "#identify")
        browser.until("studio.state.jobs.filter(j => j.name === 'run').length === 2")
        job(browser, "identify", "run", 1200.0)
        browser.until("document.querySelectorAll('#runs tbody tr').length === 2")
        for k in (1, 2):
            press(browser, f'[aria-label="compare result-{k}"]')
        press(browser, "#compare")
        browser.until("document.querySelectorAll('#differences tbody tr').length > 3")
        type_into(browser, '[aria-label="note on result-1"]', "first try")
        browser.until("fetch('/api/identify').then(r => r.json()).then(v => v.results.at(-1).note === 'first try')")
        looked_at(browser, faulty, "identify")
        enter(browser, "trust")
        browser.until("document.querySelectorAll('#parameters tbody tr').length > 60")
        browser.until("document.querySelectorAll('.chart .uplot').length >= 12")
        looked_at(browser, faulty, "trust")
        for room in ("motion", "export", "gains", "payload"):
            enter(browser, room)
            looked_at(browser, faulty, room)
        enter(browser, "export")
        press(browser, "#export-urdf")
        job(browser, "export", "write")
        browser.until("document.querySelector('#written')?.textContent.includes('identified.urdf')")
        enter(browser, "identify")
        for _ in range(2):  # the second click means it
            press(browser, '[aria-label="delete result-2"]')
        browser.until("document.querySelectorAll('#runs tbody tr').length === 1")
    assert {place: found for place, found in faulty.items() if found} == {}
    result = ia.Result.load(tmp_path / "project" / "results" / "result-1")
    assert max(r.raw.all for r in result.residuals.values()) < 0.2 and set(result.residuals) != {"identification"}
    assert ia.load(tmp_path / "project" / "exports" / "identified.urdf").robot.n == 6


@pytest.mark.slow
def test_a_robot_without_masses_and_an_upload_that_is_broken(browser, tmp_path):
    """Nothing of a body is known before; a log whose end is missing is told, mended and deleted; then a second project."""
    card = arm.write(tmp_path / "arms")
    log = arm.log(card, tmp_path / "run.npz")
    whole = tmp_path / "good.csv"
    log = ia.read_log(log)
    rows = np.column_stack([log.t, log.need("q"), log.need("tau")])
    np.savetxt(whole, rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="", fmt="%.9g")
    broken = tmp_path / "cut.csv"
    broken.write_text(whole.read_text()[:20_000] + "\n1,2")
    bare = tmp_path / "bare.urdf"
    bare.write_text(re.sub(r"<inertial>.*?</inertial>", "", arm.URDF, flags=re.S))
    with opened(browser, start(tmp_path / "first")):
        enter(browser, "robot")
        choose_files(browser, [bare])
        browser.until("document.querySelector('#missing-meshes')?.textContent.includes('meshes/fore.stl')")
        enter(browser, "data")
        choose_files(browser, [broken])
        browser.until("document.querySelector('#room .banner.bad')?.textContent.includes('cut.csv')")
        for _ in range(2):
            press(browser, '[aria-label="delete cut.csv"]')
        browser.until("!document.querySelector('[aria-label=\"delete cut.csv\"]')")
        assert not (tmp_path / "first" / "logs" / "cut.csv").exists()
        choose_files(browser, [whole])
        browser.until("studio.job('data', 'check')")  # at once, without being asked
        job(browser, "data", "check")
        enter(browser, "identify")
        press(browser, "#identify")
        job(browser, "identify", "run")
        browser.until("document.querySelector('#runs tbody tr')")
        browser.run("document.querySelector('#project details').open = true")
        type_into(browser, "#project input", "second")
        press(browser, "#new-project")
        browser.until("document.querySelector('#project b').textContent === 'second'")
        browser.until("document.querySelector('#to-robot small').textContent === 'no robot yet'")
        browser.run("document.querySelector('#project details').open = true")
        press(browser, "#project li button")
        browser.until("document.querySelector('#to-identify small').textContent.startsWith('1 result')")
    assert (tmp_path / "second" / "studio.json").is_file()
