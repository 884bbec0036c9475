"""Pictures of the tour in docs/studio.md, and its animation, taken from the studio as it is.  `make tour` runs it.

A project of the built-in TX40 is walked through: its own motion, a rehearsal, the log of the rehearsal checked and identified, a model
written.  Needs Chromium.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1] / "studio"
sys.path[:0] = [str(Path(__file__).parent), str(HERE.parents[1] / "tests")]

from PIL import Image  # noqa: E402

import chromium  # noqa: E402
from inertica.studio.start import start  # noqa: E402
from pictures import ROOMS, TOUR  # noqa: E402
from studio_serving import served  # noqa: E402

FRAMES, WIDTH = 36, 720
"""Of the animation."""


def call(page: chromium.Chromium, path: str, body: dict[str, object]) -> None:
    said = json.dumps(body)
    page.run(
        f"fetch('/api/{path}', {{method: 'POST', headers: {{'content-type': 'application/json'}}, body: JSON.stringify({said})}})"
        ".then(async r => { if (!r.ok) throw new Error(await r.text()); return 0 })"
    )


def work(page: chromium.Chromium, room: str, name: str, body: dict[str, object]) -> None:
    print(f"{room}: {name}", flush=True)
    call(page, f"{room}/start/{name}", body)
    page.until(f"['done', 'failed'].includes(studio.job('{room}', '{name}')?.state)", 600.0)
    assert page.run(f"studio.job('{room}', '{name}').error") == "", page.run(f"studio.job('{room}', '{name}').error")


def enter(page: chromium.Chromium, room: str) -> None:
    page.run(f"location.hash = '{room}'")
    page.until(f"studio.current?.name === '{room}' && studio.current.seen !== null")
    page.until("!document.querySelector('.toast')", 60.0)
    time.sleep(3.0)
    page.until("studio.viewer.pace.rested")


def picture(page: chromium.Chromium, name: str) -> None:
    """A PNG with a palette: these pages have few colours."""
    page.until("studio.viewer.pace.rested")
    time.sleep(0.2)
    data = page.call("Page.captureScreenshot", format="png")["data"]
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(HERE / f"{name}.png", optimize=True)
    print(f"{name}.png: {(HERE / f'{name}.png').stat().st_size / 1024:.0f} kB", flush=True)


def animation(page: chromium.Chromium) -> None:
    """The motion played on the robot."""
    enter(page, "motion")
    page.until("studio.viewer.player")
    end = float(page.run("Number(studio.viewer.player.input.max)"))
    pictures = []
    for k in range(FRAMES):
        page.run(f"studio.viewer.at({end * k / FRAMES}); 0")
        page.until("studio.viewer.pace.rested")
        time.sleep(0.1)
        data = page.call("Page.captureScreenshot", format="png")["data"]
        image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
        pictures.append(image.resize((WIDTH, WIDTH * image.height // image.width), Image.Resampling.LANCZOS))
    target = HERE / "motion.webp"
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=120, loop=0, quality=60, method=6)
    print(f"motion.webp: {target.stat().st_size / 1024:.0f} kB", flush=True)


def main() -> None:
    began = time.time()
    with tempfile.TemporaryDirectory() as folder:
        page = chromium.Chromium(1280, 800, drawing=True)
        page.dark(False)
        with served(start(Path(folder) / "tx40", "tx40")) as address:
            page.open(address)
            page.until("studio.viewer?.opened && studio.viewer.links?.length === 6")
            call(page, "motion/shipped", {})
            work(page, "motion", "rehearse", {"trajectory": "tx40-identification-1.yaml"})
            call(page, "motion/keep", {"rehearsal": "rehearsal-1"})
            work(page, "data", "check", {})
            work(page, "identify", "run", {"name": "tuesday"})
            work(page, "export", "write", {"result": "tuesday", "format": "mjcf"})
            for room in ROOMS:
                enter(page, room)
                if room == "data":
                    page.until("document.querySelectorAll('.chart .uplot').length >= 6")
                if room == "robot":
                    page.run("studio.viewer.pose([0.5, 0.5, 1.1, 0.3, 0.6, 0]); studio.viewer.home(); 0")
                    time.sleep(1.0)
                if room in ("motion", "data", "trust"):
                    page.until("studio.viewer.player")
                    page.run("studio.viewer.at(2.2); studio.viewer.home(); 0")
                    time.sleep(1.0)
                picture(page, room)
            page.dark(True)
            enter(page, "trust")
            page.run("document.querySelector('#room').scrollTop = 640")
            time.sleep(3.0)
            picture(page, "dark")
            page.dark(False)
            animation(page)
            page.call("Page.navigate", url="about:blank")
        page.close()
        assert page.errors == [], page.errors
    assert all((HERE / name).stat().st_mtime >= began for name in TOUR), "a picture was not taken"


if __name__ == "__main__":
    main()
