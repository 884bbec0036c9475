"""Who may talk to the studio and what it gives away: refused is refused, with a status, and nothing is read or written."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("starlette", reason="the extra inertica[studio] is not installed")
pytest.importorskip("httpx2", reason="httpx2, with which tests talk to the studio, is not installed")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import studio_arm as arm
from inertica.studio.guard import HEADER, Guard, is_loopback
from inertica.studio.jobs import Job
from inertica.studio.project import Project
from inertica.studio.server import Studio

TOKEN, PORT = "the-token-of-this-start", 8000
HOST = f"127.0.0.1:{PORT}"
OURS = {"origin": f"http://{HOST}"}
SOCKET = OURS | {"host": HOST}
SECRET = "secret text outside of the project"


@pytest.fixture
def studio(tmp_path):
    (tmp_path / "secret.csv").write_text(SECRET)
    project = Project(tmp_path / "project")
    project.choose_robot("planar2")
    return Studio(project, Guard(TOKEN, PORT), upload=2000, warm=False)


@pytest.fixture
def page(studio):
    """A browser that opened the address with the token."""
    with TestClient(studio.app, base_url=f"http://{HOST}") as client:
        assert client.get("/", params={"token": TOKEN}).status_code == 200
        client.own = SOCKET | {"cookie": f"inertica-studio-{PORT}={TOKEN}"}  # sockets of this client keep no cookies
        yield client


@pytest.fixture
def stranger(studio):
    with TestClient(studio.app, base_url=f"http://{HOST}", follow_redirects=False) as client:
        yield client


def listing(studio):
    return sorted((p.relative_to(studio.project.folder), p.stat().st_mtime_ns) for p in studio.project.folder.rglob("*"))


PLACES = ["/", "/static/app.js", "/api/state", "/api/robot", "/files/card.yaml", "/api/mesh/0"]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_without_the_token(stranger, place):
    for headers in ({}, {HEADER: "wrong"}, {"cookie": f"inertica-studio-{PORT}=wrong"}, {HEADER: ""}):
        answer = stranger.get(place, headers=headers)
        assert answer.status_code == 403 and "planar2" not in answer.text
    assert stranger.get(place, params={"token": "wrong"}).status_code == 403


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(stranger):
    answer = stranger.get("/", params={"token": TOKEN})
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert stranger.get("/api/state").json()["project"] == "project"


def test_the_token_in_the_address_opens_the_page_only(stranger):
    assert stranger.get("/api/state", params={"token": TOKEN}).status_code == 403
    assert stranger.post("/api/robot/load", params={"token": TOKEN}, json={"robot": "tx40"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", ""])
def test_other_hosts_are_refused_even_with_the_token(page, host):
    """A name of another site that leads to this machine."""
    assert page.get("/api/state", headers={"host": host, HEADER: TOKEN}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:8001", f"https://{HOST}"])
def test_other_origins_are_refused(page, studio, origin):
    before = listing(studio)
    assert page.post("/api/robot/load", json={"robot": "scara2"}, headers={"origin": origin}).status_code == 403
    assert page.get("/api/state", headers={"origin": origin}).status_code == 403
    assert page.post("/api/upload?folder=logs&name=a.csv", content=b"t", headers={"origin": origin}).status_code == 403
    assert listing(studio) == before


def test_changes_need_an_origin_or_the_header(page):
    assert page.post("/api/robot/load", json={"robot": "scara2"}).status_code == 403
    assert page.post("/api/robot/load", json={"robot": "scara2"}, headers=OURS).status_code == 200
    page.cookies.clear()
    assert page.post("/api/robot/load", json={"robot": "planar2"}, headers={HEADER: TOKEN}).status_code == 200


OUTWARD = ["../secret.csv", "..%2fsecret.csv", "%2e%2e/secret.csv", "logs/../../secret.csv", "logs/..%2f..%2fsecret.csv",
           "//etc/passwd",
           "%2fetc%2fpasswd", "logs/link.csv", "logs/folder/secret.csv", ".work/x", "a%00b"]  # fmt: skip


@pytest.mark.parametrize("name", OUTWARD)
def test_files_outside_of_the_project_are_not_served(page, studio, tmp_path, name):
    (studio.project.folder / "logs" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (studio.project.folder / "logs" / "folder").symlink_to(tmp_path)
    (studio.project.folder / ".work").mkdir()
    (studio.project.folder / ".work" / "x").write_text(SECRET)
    answer = page.get(f"/files/{name}")
    assert answer.status_code in (400, 403, 404) and SECRET not in answer.text and "root:" not in answer.text


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/passwd", "logs/link.csv", "a\x00b", "logs/../../secret.csv"])
def test_rooms_do_not_take_such_paths_either(page, studio, tmp_path, name):
    (studio.project.folder / "logs" / "link.csv").symlink_to(tmp_path / "secret.csv")
    before = (studio.project.card.read_text(), studio.project.logs)
    for place, body in (("data/add", {"file": name}), ("robot/load", {"robot": name}), ("export/remove", {"file": name}),
                        ("motion/play", {"trajectory": name}), ("motion/keep", {"rehearsal": name})):  # fmt: skip
        answer = page.post(f"/api/{place}", json=body, headers=OURS)
        assert answer.status_code in (400, 403, 404, 422), place
        assert SECRET not in answer.text
    assert (studio.project.card.read_text(), studio.project.logs) == before
    assert (tmp_path / "secret.csv").read_text() == SECRET


def test_a_dropped_card_does_not_lead_out(page, studio, tmp_path):
    (tmp_path / "other.yaml").write_text("dh: [{}]\n")
    assert (
        page.post("/api/upload?folder=model&name=c.yaml", content=b"model: ../../other.yaml\n", headers=OURS).status_code == 200
    )
    answer = page.post("/api/robot/load", json={"robot": "model/c.yaml"}, headers=OURS)
    assert answer.status_code == 403 and "project folder" in answer.json()["error"]
    assert studio.project.card_keys() == {"model": "planar2"}


@pytest.mark.parametrize(
    ("query", "status"),
    [("folder=logs&name=../a.csv", 400), ("folder=logs&name=.a.csv", 400), ("folder=..&name=a.csv", 400),
     ("folder=results&name=a.csv", 400),
     ("folder=logs&name=a.html", 415), ("folder=logs&name=a/b.csv", 400), ("folder=logs", 400), ("folder=logs&name=link.csv", 403)],
)  # fmt: skip
def test_uploads_go_where_they_belong(page, studio, tmp_path, query, status):
    (studio.project.folder / "logs" / "link.csv").symlink_to(tmp_path / "secret.csv")
    before = listing(studio)
    assert page.post(f"/api/upload?{query}", content=b"t,q1\n", headers=OURS).status_code == status
    assert listing(studio) == before and (tmp_path / "secret.csv").read_text() == SECRET


def test_large_uploads_are_refused_before_and_while_they_come(page, studio):
    before = sorted(p.name for p in (studio.project.folder / "logs").iterdir())

    def endless():
        for _ in range(100):
            yield b"x" * 1000

    claimed = page.post("/api/upload?folder=logs&name=a.csv", content=b"", headers=OURS | {"content-length": str(2 * 2**30)})
    assert claimed.status_code == 413 and "command line" in claimed.json()["error"]
    assert page.post("/api/upload?folder=logs&name=a.csv", content=endless(), headers=OURS).status_code == 413
    assert page.post("/api/upload?folder=logs&name=a.csv", content=b"x" * 2001, headers=OURS).status_code == 413
    assert sorted(p.name for p in (studio.project.folder / "logs").iterdir()) == before
    assert page.post("/api/upload?folder=logs&name=a.csv", content=b"x" * 2000, headers=OURS).json()["file"] == "logs/a.csv"


def test_bodies_that_are_no_json_objects_are_refused(page):
    kind = {"content-type": "application/json"}
    for body, headers, status in [
        (b"{}", {"content-type": "text/plain"}, 415), (b"{", kind, 400), (b"[]", kind, 400), (b'"x"', kind, 400),
        (b"\xff\xfe", kind, 400),
        (b"{}" + b" " * 2**20, kind, 413), (b"[" * 100_000, kind, 400), (b'{"robot": 3}', kind, 400), (b'{"robot": ["x"]}', kind, 400),
    ]:  # fmt: skip
        assert page.post("/api/robot/load", content=body, headers=OURS | headers).status_code == status
    assert page.post("/api/robot/nothing", json={}, headers=OURS).status_code == 404
    assert page.post("/api/nowhere/load", json={}, headers=OURS).status_code == 404
    assert page.get("/api/data/series/signal", params={"log": "x", "width": "nan"}).status_code == 400


def test_an_error_of_the_work_is_its_sentence(page):
    answer = page.post("/api/robot/load", json={"robot": "no-such-robot"}, headers=OURS)
    assert answer.status_code == 422 and "no such file" in answer.json()["error"]


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "http://evil.example"}, {"host": "evil.example", "origin": "http://evil.example"}]
)
def test_sockets_of_others_are_refused(page, stranger, headers):
    with pytest.raises(WebSocketDisconnect) as stop, stranger.websocket_connect("/ws", headers=SOCKET | headers):
        pass
    assert stop.value.code == 1008
    if headers:
        with pytest.raises(WebSocketDisconnect) as stop, page.websocket_connect("/ws", headers=page.own | headers):
            pass
        assert stop.value.code == 1008


@pytest.mark.parametrize(
    ("message", "code"),
    [("{", 1008), ("null", 1008), ('{"type": "exec"}', 1008), ('{"type": ["ping"]}', 1008), ("[" * 3000, 1008),
     (b"\x00\x01", 1003), ("x" * 5000, 1009)],
)  # fmt: skip
def test_malformed_messages_end_the_connection_and_nothing_else(page, message, code):
    with page.websocket_connect("/ws", headers=page.own) as socket:
        socket.send_text(json.dumps({"type": "ping"}))
        assert socket.receive_json() == {"type": "pong"}
        (socket.send_bytes if isinstance(message, bytes) else socket.send_text)(message)
        with pytest.raises(WebSocketDisconnect) as stop:
            socket.receive_json()
        assert stop.value.code == code
    assert page.get("/api/state").status_code == 200


def test_a_change_reaches_every_page(page):
    with page.websocket_connect("/ws", headers=page.own) as one, page.websocket_connect("/ws", headers=page.own) as two:
        page.post("/api/robot/load", json={"robot": "scara2"}, headers=OURS)
        assert one.receive_json() == two.receive_json() == {"type": "changed"}
    assert page.get("/api/robot").json()["name"] == "scara2"


def test_answers_carry_a_policy_that_lets_nothing_in(page):
    answer = page.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe-eval" not in policy
    assert "<script>" not in answer.text and "http" not in answer.text.replace("http-equiv", "")
    assert "sandbox" in page.get("/files/card.yaml").headers["content-security-policy"]


def test_meshes_of_the_model_and_no_other_file(tmp_path):
    project = Project(tmp_path / "project")
    project.choose_robot(project.link(arm.write(tmp_path / "arms")))
    with TestClient(
        Studio(project, Guard(TOKEN, PORT), warm=False).app, base_url=f"http://{HOST}", headers={HEADER: TOKEN}
    ) as client:
        shapes = client.get("/api/robot").json()["scene"]["shapes"]
        assert [s["kind"] for link in shapes for s in link] == ["box", "mesh"]  # the one that leads out is not drawn
        assert client.get("/api/mesh/0").text == arm.STL
        assert client.get("/api/mesh/1").status_code == 404


def test_linked_logs_are_read_but_not_served(tmp_path):
    project = Project(tmp_path / "project")
    (tmp_path / "log.csv").write_text("t,q1\n0,1\n0.1,2\n0.2,3\n")
    project.add_log(project.link(tmp_path / "log.csv"))
    with TestClient(
        Studio(project, Guard(TOKEN, PORT), warm=False).app, base_url=f"http://{HOST}", headers={HEADER: TOKEN}
    ) as client:
        assert client.post("/api/data/describe", json={"log": "log.csv"}).json()["samples"] == 3
        assert client.get(f"/files/{tmp_path}/log.csv").status_code in (403, 404)


def test_names_of_hosts():
    assert is_loopback("127.0.0.1") and is_loopback("localhost") and is_loopback("::1")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.168.0.3") and not is_loopback("evil.example")
    Guard(TOKEN, PORT, "0.0.0.0").check_host("192.168.0.3:8000")
    for host in ("evil.example:8000", "192.168.0.3:8001"):
        with pytest.raises(Exception, match="does not belong"):
            Guard(TOKEN, PORT, "0.0.0.0").check_host(host)


def test_projects_beside_this_one_are_made_and_opened_and_nothing_else(page, studio, tmp_path):
    (tmp_path / "no project").mkdir()
    ask = lambda name, new: page.post("/api/project", json={"name": name, "new": new}, headers=OURS)  # noqa: E731
    assert ask("second", True).json() == {"project": "second"}
    state = page.get("/api/state").json()
    assert (state["project"], state["robot"]) == ("second", False) and (tmp_path / "second" / "studio.json").is_file()
    assert ask("second", True).status_code == 409
    for name, status in (("no project", 404), ("../..", 400), (str(tmp_path), 400), ("third", 404)):
        assert ask(name, False).status_code == status
    studio.jobs._all.append(Job(1, "data", "check", {}))
    assert ask("project", False).status_code == 409  # work is running
    studio.jobs._all.clear()
    Project(tmp_path / "project").update()  # a project is one once it has a state
    assert ask("project", False).json() == {"project": "project"}
    assert page.get("/api/state").json()["projects"] == ["project", "second"]
    assert "planar2" in page.get("/api/robot").text
