"""What may go wrong around the studio: two jobs of a name, a full or read-only disk, names too long, connections left open.

Each is a sentence for whoever is there to read it; none ends in a traceback or in a lost result.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time

import pytest

pytest.importorskip("starlette", reason="the extra inertica[studio] is not installed")
pytest.importorskip("httpx2", reason="httpx2, with which tests talk to the studio, is not installed")

from starlette.testclient import TestClient

import studio_arm as arm
from inertica import writing
from inertica.cli.main import main
from inertica.errors import FileError
from inertica.studio import idle, server
from inertica.studio.confined import Refused
from inertica.studio.guard import HEADER, Guard
from inertica.studio.jobs import DONE, RUNNING, Job, Jobs
from inertica.studio.project import Project
from inertica.studio.rooms.identify import placed
from inertica.studio.server import Studio
from inertica.studio.start import Started, start
from studio_serving import served

TOKEN, PORT = "the-token-of-this-start", 8000
HOST = f"127.0.0.1:{PORT}"
LONG = "x" * 300


@pytest.fixture
def studio(tmp_path):
    project = Project(tmp_path / "project")
    project.choose_robot("planar2")
    return Studio(project, Guard(TOKEN, PORT), warm=False)


@pytest.fixture
def page(studio):
    """A client that raises what the studio does not answer."""
    with TestClient(studio.app, base_url=f"http://{HOST}", headers={HEADER: TOKEN}) as client:
        yield client


def ended(jobs: Jobs, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while any(job.state == RUNNING for job in jobs.all):
        assert time.monotonic() < end
        time.sleep(0.05)


# --- names of what jobs leave --------------------------------------------------------------------------------------------------


def two_at_once(tmp_path):
    """A studio with two identify jobs that have just begun, and a client of it."""
    card = arm.write(tmp_path / "arms")
    project = Project(tmp_path / "project")
    project.choose_robot(project.link(card))
    project.add_log(project.link(arm.log(card, tmp_path / "run.npz", duration=3.0)))
    studio = Studio(project, Guard(TOKEN, PORT), warm=False)
    quick = {"method": "ols", "cutoff": 20.0, "friction": ["viscous", "coulomb"], "delay": 0.0, "quick": True, "force": True}
    page = TestClient(studio.app, base_url=f"http://{HOST}", headers={HEADER: TOKEN})
    return studio, page, [quick, quick]


def test_two_jobs_at_once_have_two_names(tmp_path):
    """Both workers would find result-1 free, and the one that ended last would lose its hours."""
    studio, client, jobs = two_at_once(tmp_path)
    with client as page:
        assert [page.post("/api/identify/start/run", json=asked).status_code for asked in jobs] == [200, 200]
        assert [job.arguments["name"] for job in studio.jobs.all] == ["result-1", "result-2"]


@pytest.mark.slow
def test_two_jobs_at_once_leave_two_results(tmp_path):
    studio, client, jobs = two_at_once(tmp_path)
    with client as page:
        for asked in jobs:
            page.post("/api/identify/start/run", json=asked)
        ended(studio.jobs)
        assert [job.state for job in studio.jobs.all] == [DONE, DONE], [job.error for job in studio.jobs.all]
        assert {job.answer["result"] for job in studio.jobs.all} == set(studio.project.results) == {"result-1", "result-2"}


def test_a_stated_name_belongs_to_one_of_two_jobs(studio, page):
    long = {"seconds": 3600.0, "period": 20.0, "harmonics": 30, "name": "mine.yaml"}
    assert page.post("/api/motion/start/design", json=long).status_code == 200
    again = page.post("/api/motion/start/design", json=long)
    assert again.status_code == 409 and "'mine.yaml' already" in again.json()["error"]
    assert page.post("/api/motion/start/design", json=long | {"name": "../out"}).status_code == 400
    assert len(studio.jobs.all) == 1


def test_a_result_whose_place_was_taken_meanwhile_goes_to_the_next(tmp_path):
    project = Project(tmp_path / "project")
    for name in ("results/result-1", ".work/1/result-1"):
        (project.folder / name).mkdir(parents=True)
        (project.folder / name / "result.json").write_text(name)
    made, target = project.folder / ".work/1/result-1", project.folder / "results" / "result-1"
    assert placed(project, made, target) == "result-2"
    assert target.with_name("result-2").joinpath("result.json").read_text() == ".work/1/result-1"
    assert target.joinpath("result.json").read_text() == "results/result-1"


# --- disks -----------------------------------------------------------------------------------------------------------------------


def test_an_upload_onto_a_full_disk_is_a_sentence(page, studio, monkeypatch):
    """The system's own answer, when what was written goes to the disk."""

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(writing, "_flush", full)
    for size in (10, 10**6):
        answer = page.post("/api/upload", params={"folder": "logs", "name": "run.csv"}, content=b"x" * size)
        assert answer.status_code == 507 and "No space left" in answer.json()["error"]
    assert list((studio.project.folder / "logs").iterdir()) == []


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_an_upload_onto_a_disk_that_is_not_to_be_written_is_a_sentence(page, monkeypatch, code):
    def closed(path, make):
        raise OSError(code, os.strerror(code), "/somewhere/.upload-x")

    monkeypatch.setattr(writing, "_created", closed)
    answer = page.post("/api/upload", params={"folder": "logs", "name": "run.csv"}, content=b"x")
    assert answer.status_code == 507
    assert os.strerror(code) in answer.json()["error"] and "/somewhere" not in answer.json()["error"]


def test_a_fault_that_is_ours_is_not_taken_for_the_disk(page, monkeypatch):
    monkeypatch.setattr(writing, "_created", lambda path, make: os.open("/no/such/file", os.O_RDONLY))
    assert page.post("/api/upload", params={"folder": "logs", "name": "run.csv"}, content=b"x").status_code != 507


def test_a_job_whose_choices_cannot_be_kept_has_done_its_work(tmp_path):
    def remember(room, values):
        raise FileError("studio.json", "the file cannot be written (No space left on device)")

    jobs = Jobs(tmp_path, lambda: None, remember)
    job = Job(1, "motion", "design", {})
    jobs._heard(job, "done", {"trajectory": "motion-1.yaml", "remember": {"selected": "motion-1.yaml"}})
    assert job.state == DONE and job.answer == {"trajectory": "motion-1.yaml"}
    assert "choices of this job cannot be kept" in job.lines[-1][1]


def test_a_project_that_cannot_be_made_is_a_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["studio", "--project", str(tmp_path / "file" / "project"), "--no-browser"]) == 2
    assert "the folder cannot be written (Not a directory)" in capsys.readouterr().err


# --- names -----------------------------------------------------------------------------------------------------------------------


def test_names_that_no_file_system_takes_are_sentences(page, studio):
    before = sorted(studio.project.folder.rglob("*"))
    calls = {
        "upload": page.post("/api/upload", params={"folder": "logs", "name": f"{LONG}.csv"}, content=b"x"),
        "file": page.get(f"/files/logs/{LONG}.csv"),
        "deep": page.get("/files/" + "/".join(["x" * 200] * 30)),
        "log": page.post("/api/data/add", json={"file": f"logs/{LONG}.csv"}),
        "robot": page.post("/api/robot/load", json={"robot": f"model/{LONG}.urdf"}),
        "umlauts": page.post("/api/robot/load", json={"robot": "ü" * 150 + ".urdf"}),
        "result": page.post("/api/identify/start/run", json={"name": LONG}),
        "motion": page.post("/api/motion/play", json={"trajectory": f"{LONG}.yaml"}),
    }
    for what, answer in calls.items():
        assert answer.status_code in (400, 404, 409, 422), what
        said = answer.json()["error"]
        assert len(said) < 200 and ("too long" in said or "120" in said), (what, said)
    assert sorted(studio.project.folder.rglob("*")) == before


def test_paths_of_the_project_are_still_found(tmp_path):
    project = Project(tmp_path / "project")
    (project.folder / "logs" / ("x" * 251 + ".csv")).write_text("t\n")
    assert project.path("logs/" + "x" * 251 + ".csv").is_file()
    with pytest.raises(Refused, match="too long"):
        project.path("logs/" + "x" * 252 + ".csv")


# --- connections -----------------------------------------------------------------------------------------------------------------


def test_idle_connections_are_closed_and_busy_ones_stay(tmp_path, monkeypatch):
    """Nothing sent, headers that never end, headers drop by drop, a body that stops; a page with its socket is none of these."""
    patience = 0.5
    own = idle.impatient
    monkeypatch.setattr(idle, "impatient", lambda: own(patience))
    monkeypatch.setattr(server, "IDLE", patience)
    started = start(tmp_path / "project")
    port, token = started.listening.getsockname()[1], started.address.partition("=")[2]
    head = f"Host: 127.0.0.1:{port}\r\n{HEADER}: {token}\r\n"
    upload = f"POST /api/upload?folder=logs&name=a.csv HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\nt,q1"
    upgrade = (
        f"GET /ws HTTP/1.1\r\n{head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Origin: http://127.0.0.1:{port}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )

    def opened(text: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", port), timeout=30.0)
        connection.sendall(text.encode())
        return connection

    def drop_by_drop(connection: socket.socket) -> None:
        for _ in range(200):
            connection.sendall(b"x")
            time.sleep(0.1)

    with served(started):
        page = opened(upgrade)
        assert b"101 Switching Protocols" in page.recv(4096)
        for text in ("", "GET / HTTP/1.1\r\nHost: x"):
            with opened(text) as left:
                assert left.recv(4096) == b""
        with opened("GET / HTTP/1.1\r\nX: ") as slow, pytest.raises(OSError):
            drop_by_drop(slow)
        with opened(upload) as stopped:
            answer = b""
            while chunk := stopped.recv(4096):
                answer += chunk
        assert answer.startswith(b"HTTP/1.1 408") and b"nothing came for" in answer
        page.sendall(bytes((0x81, 0x80 | 15, 0, 0, 0, 0)) + b'{"type":"ping"}')  # a masked frame, some patiences later
        assert b"pong" in page.recv(4096)
        page.close()
    assert list((started.project.folder / "logs").iterdir()) == []


# --- the command line ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def unserved(monkeypatch):
    """Studios that end at once."""
    monkeypatch.setattr(Started, "run", lambda self, browser: self.listening.close())


def test_an_open_address_is_warned_of_once(tmp_path, capsys, unserved):
    words = ["studio", "--project", str(tmp_path / "project"), "--no-browser"]
    assert main([*words, "--host", "0.0.0.0"]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("other machines can reach it") == 1
    assert main(words) == 0
    assert "other machines" not in "".join(capsys.readouterr())


def test_json_is_one_document_with_the_address(tmp_path, capsys, unserved):
    words = ["studio", "--project", str(tmp_path / "project"), "--no-browser", "--json"]
    assert main([*words, "--host", "0.0.0.0"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["project"] == str(tmp_path / "project") and "/?token=" in document["address"]
    assert len(document["warnings"]) == 1 and said.err.count("other machines") == 1
    (tmp_path / "file").write_text("")
    assert main([*words[:2], str(tmp_path / "file"), *words[3:]]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "file" and error["file"] == str(tmp_path / "file") and "this is a file" in error["message"]
