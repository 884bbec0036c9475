"""Pictures of docs/report.md: the report of a simulated TX40 as Chromium shows it.  `make docs` runs it.  Needs Chromium."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path

HERE = Path(__file__).parents[1] / "report"
sys.path[:0] = [str(Path(__file__).parent), str(HERE.parents[1] / "tests")]

from PIL import Image  # noqa: E402

import chromium  # noqa: E402
import inertica as ia  # noqa: E402
from pictures import REPORT  # noqa: E402

WIDTH = 1000


def page_of(folder: Path) -> Path:
    """The report of one log, judged on another, made where they are: names without folders."""
    names = ["monday.csv.gz"], ["tuesday.csv.gz"]
    with chdir(folder):
        for seed, (name,) in zip((0, 3), names, strict=True):
            ia.simulate("tx40", noise="low_position", seed=seed)[0].save(name)
        ia.write_folder(ia.identify("tx40", names[0], validate=names[1]), "result", *names)
    return folder / "result" / "report.html"


def picture(page: chromium.Chromium, name: str, begin: str, end: str) -> None:
    """From the top of one element to that of another, as a PNG with a palette."""
    top, bottom = (float(page.run(f"document.querySelector('{x}').getBoundingClientRect().top + scrollY")) for x in (begin, end))
    clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 1}
    data = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(HERE / name, optimize=True)
    print(f"{name}: {(HERE / name).stat().st_size / 1024:.0f} kB", flush=True)


def main() -> None:
    began = time.time()
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = chromium.Chromium(WIDTH, 800, drawing=True)
        page.dark(False)
        page.open(page_of(Path(folder)))
        time.sleep(2.0)
        picture(page, "summary.png", "h1", "#summary table")
        picture(page, "friction.png", "#friction", "#map")
        page.run("const pose = document.querySelector('figure.robot input[type=range]'); pose.value = 0.3 * pose.max")
        page.run("document.querySelector('figure.robot input[type=range]').dispatchEvent(new Event('input'))")
        time.sleep(0.5)
        picture(page, "consistency.png", "#consistency", "#correlation")
        page.dark(True)
        time.sleep(0.5)
        picture(page, "dark.png", "#torque", "#residuals")
        page.close()
        assert page.errors == [], page.errors
    assert all((HERE / name).stat().st_mtime >= began for name in REPORT), "a picture was not taken"


if __name__ == "__main__":
    main()
