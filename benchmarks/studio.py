"""The studio with a long log: ten minutes at 1 kHz of seven joints.  Time to a usable page, frames while zooming and moving the
cursor, memory of the tab.  Prints, and asserts nothing.  Without a graphics card 3-D is drawn in software, which takes most of
the time; --flat leaves it out."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import inertica as ia

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

FRAMES = """(async (move) => {
  const times = [];
  let last = performance.now();
  for (let k = 0; k < 60; k++) {
    await move(k);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  times.sort((a, b) => a - b);
  return JSON.stringify({ median: times[30], p95: times[57], worst: times[59] });
})"""

CURSOR = """(k) => {
  const over = document.querySelectorAll('.chart .u-over')[2], box = over.getBoundingClientRect();
  const at = { clientX: box.left + 20 + k * 6, clientY: box.top + 20, bubbles: true };
  over.dispatchEvent(new MouseEvent('mousemove', at));
}"""

ZOOM = """(k) => {
  const c = studio.benchCharts, [a, b] = c.whole, w = (b - a) * 0.94 ** k;
  c.zoom(a + (b - a - w) / 2, a + (b - a + w) / 2);
}"""


def main() -> None:
    import chromium
    from inertica.studio.start import start
    from studio_serving import served

    with tempfile.TemporaryDirectory() as folder:
        t = np.arange(600_000) / 1000.0
        rng = np.random.default_rng(0)
        q = np.stack([np.sin(0.3 * (j + 1) * t + j) for j in range(7)], axis=1)
        tau = 10.0 * np.cos(0.2 * t)[:, None] + rng.normal(size=(len(t), 7))
        names = ia.load("panda7").robot.joint_names
        ia.Log.from_arrays(t, {"q": q, "tau": tau}, names).save(Path(folder) / "long.npz")
        page = chromium.Chromium(1920, 1080, drawing="--flat" not in sys.argv)
        with served(start(Path(folder) / "project", "panda7", [Path(folder) / "long.npz"])) as address:
            began = time.perf_counter()
            page.open(address)
            page.until("document.querySelector('#to-data') && document.querySelector('#room h1') && studio.current?.seen")
            print(f"page usable: {time.perf_counter() - began:.2f} s")
            page.until("studio.viewer.opened && (studio.viewer.links?.length === 7 || !studio.viewer.renderer)")
            print(f"robot drawn: {time.perf_counter() - began:.2f} s")
            began = time.perf_counter()
            page.run("location.hash = 'data'")
            page.until("document.querySelectorAll('.chart .uplot').length === 7", 120.0)
            print(f"600,000 samples of 7 joints read and drawn: {time.perf_counter() - began:.2f} s")
            page.until("studio.viewer.player", 120.0)
            for what, move in (("cursor over the charts, robot following", CURSOR), ("zoom, finer detail fetched", ZOOM)):
                page.run("studio.benchCharts = studio.current.room.charts; 0")
                before = _renderer(page)[1]
                found = json.loads(page.run(f"{FRAMES}({move})"))
                work = (_renderer(page)[1] - before) / 60
                frames = ", ".join(f"{found[key]:.1f} ms ({key})" for key in ("median", "p95", "worst"))
                print(f"{what}: frames of {frames}; the tab's processor time {1e3 * work:.1f} ms a frame", flush=True)
            page.call("HeapProfiler.enable")
            page.call("HeapProfiler.collectGarbage")
            used = page.run("performance.memory.usedJSHeapSize")
            print(f"memory of the tab, JavaScript: {used / 2**20:.0f} MB; resident: {_renderer(page)[0]:.0f} MB")
            page.call("Page.navigate", url="about:blank")
        page.close()


def _renderer(page: object) -> tuple[float, float]:
    """Resident MB and processor seconds of the largest process that draws a page."""
    largest = (0.0, 0.0)
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            line = (status.parent / "cmdline").read_bytes()
            if b"--type=renderer" in line and page.profile.encode() in line:  # type: ignore[attr-defined]
                size = next(int(x.split()[1]) for x in status.read_text().splitlines() if x.startswith("VmRSS")) / 1024
                ticks = (status.parent / "stat").read_text().rpartition(")")[2].split()[11:13]
                largest = max(largest, (size, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return largest


if __name__ == "__main__":
    main()
