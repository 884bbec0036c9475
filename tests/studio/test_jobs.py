"""Long work: progress, cancel, a worker that dies; each is a message, and the project stays usable."""

import os
import signal
import time

import pytest

from inertica.errors import InputError
from inertica.studio.jobs import WORK, Jobs
from inertica.studio.project import Project

LONG = {"seconds": 3600.0, "period": 20.0, "harmonics": 30}
"""A search that does not end while the test lasts."""


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_cancel_and_crash(tmp_path):
    project = Project(tmp_path / "project")
    project.choose_robot("scara4")
    news = []
    jobs = Jobs(project.folder, lambda: news.append(1))
    try:
        one, two = jobs.start("motion", "design", LONG), jobs.start("motion", "design", LONG)
        with pytest.raises(InputError, match="running already"):
            jobs.start("motion", "design", LONG)
        until(lambda: len(one.lines) > 1)
        assert "cond(W)" in one.lines[1][1]
        jobs.cancel(one.number)
        os.kill(jobs._processes[two.number].pid, signal.SIGKILL)
        until(lambda: two.state != "running")
        assert one.state == "cancelled" and not one.error
        assert two.state == "failed" and "signal 9" in two.error and "started again" in two.error
        until(lambda: not list((project.folder / WORK).glob("*")))
        assert len(news) > 4
    finally:
        jobs.close()
    assert project.description.robot.n == 4 and list((project.folder / "trajectories").iterdir()) == []
