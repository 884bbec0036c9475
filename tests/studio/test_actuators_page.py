"""The room for actuators in Chromium: logs are ticked, the job runs, curves and values are drawn."""

import json
import time

import numpy as np
import pytest

import chromium
from inertica.studio.start import start
from mujoco_servos import command, quadruped, random_servos, simulate, write_model
from studio_serving import served

pytestmark = pytest.mark.skipif(chromium.where() is None, reason="no Chromium on this machine")


@pytest.fixture
def project(tmp_path):
    """A leg held by its base with two logs."""
    links, rng = quadruped()[:3], np.random.default_rng(3)
    servos = random_servos(rng, 3, 0.4)
    model, logs = write_model(links, tmp_path / "leg.xml"), []
    for name in ("fit", "other"):
        u = command(rng, 3, 5.0, 100.0)
        q = simulate(links, servos, u, 100.0, settle=1.0) + 3e-4 * rng.normal(size=u.shape)
        logs.append(tmp_path / f"{name}.csv")
        table = np.column_stack([np.arange(len(u)) / 100.0, q, u])
        np.savetxt(logs[-1], table, delimiter=",", comments="", header="t,q1,q2,q3,qr1,qr2,qr3")
    return start(tmp_path / "project", model, logs), servos


def test_from_logs_to_curves(project, tmp_path):
    started, servos = project
    page = chromium.Chromium(drawing=True)
    try:
        with served(started) as address:
            page.open(address)
            page.until("document.querySelector('#to-actuators')")
            page.run("document.querySelector('#to-actuators').click()")
            page.until("document.querySelector('#find-actuators')")
            page.run("document.querySelectorAll('#room fieldset')[0].querySelectorAll('input')[0].click()")
            page.run("document.querySelectorAll('#room fieldset')[1].querySelectorAll('input')[1].click()")
            for k, values in enumerate((servos.kp, servos.kd)):
                words = json.dumps(",".join(f"{x:.6g}" for x in values))
                page.run(f"document.querySelectorAll('#room .fields input')[{k}].value = {words}")
            page.run("document.querySelector('#find-actuators').click()")
            page.until("document.querySelectorAll('#free-run .uplot').length === 3", 300.0)
            page.until("document.querySelectorAll('#actuator-values tbody tr').length === 3")
            assert page.run("document.querySelector('#free-run select').value") == "0"
            # the tick takes the curve of the model that came in away
            page.run("[...document.querySelectorAll('#free-run input[type=checkbox]')][0].click()")
            page.until("document.querySelectorAll('#free-run .uplot').length === 3")
            time.sleep(0.5)
            page.picture(tmp_path / "actuators.png", True)
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
            page.call("Page.navigate", url="about:blank")
    finally:
        page.close()
    assert page.errors == []
