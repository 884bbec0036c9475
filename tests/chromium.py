"""A Chromium without a window, driven through its own pipe: open a page, run scripts in it, move the mouse, take a picture."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from inertica.report.browser import BROWSERS, flags

OWN = "GPU stall due to ReadPixels"
"""What the browser says of itself where it fetches pictures in three dimensions without a graphics card."""


def where() -> str | None:
    """The browser, when there is one."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


class Chromium:
    """One page of one browser.

    Args:
        width, height: of the window.
        drawing: let pages draw with WebGL, worked out by the processor, as browsers do on machines without a graphics card;
            "emulated": the whole page is drawn by a card that is emulated.
    """

    def __init__(self, width: int = 1280, height: int = 800, drawing: bool | str = False) -> None:
        self.profile = tempfile.mkdtemp(prefix="page-")
        inward, self.write = os.pipe()
        self.read, outward = os.pipe()
        words = [str(where()), *flags(self.profile), "--remote-debugging-pipe", f"--window-size={width},{height}"]
        words += [
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--hide-scrollbars",
        ]  # nothing outside can be reached
        if drawing:
            words += ["--enable-unsafe-swiftshader"]
        else:
            words += ["--disable-3d-apis"]
        if drawing == "emulated":
            words = [w for w in words if w != "--disable-gpu"] + ["--use-angle=swiftshader"]
        line = f'exec "$@" 3<&{inward} 4>&{outward}'
        self.process = subprocess.Popen(
            ["bash", "-c", line, "bash", *words], pass_fds=(inward, outward), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(inward)
        os.close(outward)
        self.pending, self.count, self.session = b"", 0, ""
        self.errors: list[str] = []
        self.size = width, height
        self.tabs: list[str] = []
        self.session = self.tab()

    def tab(self) -> str:
        """Another tab of the same browser; `session` says which one is driven."""
        before, self.session = self.session, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = new = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        width, height = self.size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.session = before or new
        self.tabs.append(new)
        return new

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.count += 1
        mine = self.count
        message: dict[str, Any] = {"id": mine, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == mine:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.pending:
            chunk = os.read(self.read, 1 << 20)
            assert chunk, "the browser has ended"
            self.pending += chunk
        raw, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(raw)
        kind, said = message.get("method", ""), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(said["exceptionDetails"]))
        if kind == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(said["args"]))
        if kind == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning") and OWN not in said["entry"]["text"]:
            self.errors.append(json.dumps(said["entry"]))
        return message

    def open(self, place: Path | str) -> None:
        """A file, or an address of this machine."""
        self.call("Page.navigate", url=place if isinstance(place, str) else place.resolve().as_uri())
        for _ in range(600):
            if self.run("document.readyState") == "complete" and self.run("location.href") != "about:blank":
                return
            time.sleep(0.05)
        raise AssertionError("the page does not load")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str, seconds: float = 60.0) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"after {seconds:g} s still not: {script}"
            time.sleep(0.05)

    def key(self, name: str, text: str = "", shift: bool = False) -> None:
        """Press a key, by the name that pages see."""
        code = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37}.get(name, 0)
        more = {
            "key": name,
            "code": "Space" if name == " " else name,
            "windowsVirtualKeyCode": code,
            "modifiers": 8 if shift else 0,
        }
        typed = text or {"Enter": "\r", " ": " "}.get(name, "")
        self.call("Input.dispatchKeyEvent", type="keyDown", **more, **({"text": typed} if typed else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    def middle(self, selector: str, index: int = 0) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element on the screen, after it was scrolled there."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{index}]"
        self.run(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        return tuple(self.run(f"(b => [b.left, b.top, b.width, b.height])({found}.getBoundingClientRect())"))

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self._mouse("mouseMoved", *start)
        self._mouse("mousePressed", *start)
        for k in (0.5, 1.0):
            self._mouse("mouseMoved", start[0] + k * (end[0] - start[0]), start[1] + k * (end[1] - start[1]), held=1)
        self._mouse("mouseReleased", *end)

    def click(self, x: float, y: float, count: int = 1) -> None:
        for k in range(1, count + 1):
            self._mouse("mousePressed", x, y, count=k)
            self._mouse("mouseReleased", x, y, count=k)

    def move(self, x: float, y: float) -> None:
        self._mouse("mouseMoved", x, y)

    def _mouse(self, kind: str, x: float, y: float, held: int = 0, count: int = 1) -> None:
        button = "none" if kind == "mouseMoved" and not held else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=count)

    def dark(self, on: bool) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.session = ""
        self.call("Browser.close")
        self.process.wait(timeout=20)
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)
