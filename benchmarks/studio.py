"""The studio with a long log: ten minutes at 1 kHz of seven joints.  Time to a usable page, frames while zooming and moving the
cursor, memory of the tab.  Prints, and asserts nothing.

The browser runs as on a machine without a graphics card: it composes the page itself and works 3-D out on the processor.  --flat turns
3-D off; --emulated has a graphics card emulated on the processor for the whole page, charts included, which no browser does by itself.
Frames are timed by the clock: say how busy the machine was (the load is printed)."""

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

import chromium
from inertica.studio.start import start
from studio_serving import served

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

REPEATS = 3
"""Of each measurement."""

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
    with tempfile.TemporaryDirectory() as folder:
        t = np.arange(600_000) / 1000.0
        rng = np.random.default_rng(0)
        q = np.stack([np.sin(0.3 * (j + 1) * t + j) for j in range(7)], axis=1)
        tau = 10.0 * np.cos(0.2 * t)[:, None] + rng.normal(size=(len(t), 7))
        names = ia.load("panda7").robot.joint_names
        ia.Log.from_arrays(t, {"q": q, "tau": tau}, names).save(Path(folder) / "long.npz")
        drawing: bool | str = "emulated" if "--emulated" in sys.argv else "--flat" not in sys.argv
        page = chromium.Chromium(1920, 1080, drawing=drawing)
        with served(start(Path(folder) / "project", "panda7", [Path(folder) / "long.npz"])) as address:
            began = time.perf_counter()
            page.open(address)
            page.until("document.querySelector('#to-data') && document.querySelector('#room h1') && studio.current?.seen")
            print(f"page usable: {time.perf_counter() - began:.2f} s")
            page.until("studio.viewer.opened && (studio.viewer.links?.length === 7 || !studio.viewer.renderer)")
            drawn = page.run("Boolean(studio.viewer.renderer)")
            print(f"{'robot drawn' if drawn else 'known that there is no 3-D'}: {time.perf_counter() - began:.2f} s")
            began = time.perf_counter()
            page.run("location.hash = 'data'")
            page.until("document.querySelectorAll('.chart .uplot').length === 7", 120.0)
            print(f"600,000 samples of 7 joints read and drawn: {time.perf_counter() - began:.2f} s")
            page.until("studio.viewer.player", 120.0)
            page.run("studio.benchCharts = studio.current.room.charts; 0")
            for what, move in (
                ("cursor over the charts, robot following", CURSOR),
                ("zoom, finer detail fetched", ZOOM),
            ) * REPEATS:
                page.until("studio.viewer.pace.rested")
                before, pictures = _used(page), page.run("studio.viewer.pace.pictures")
                found = json.loads(page.run(f"{FRAMES}({move})"))
                after, pictures = _used(page), drawn * (page.run("studio.viewer.pace.pictures") - pictures)
                frames = ", ".join(f"{found[key]:.1f} ms ({key})" for key in ("median", "p95", "worst"))
                work = [f"{1e3 * (b[1] - a[1]) / 60:.1f} ms" for a, b in zip(before, after, strict=True)]
                print(f"{what}: frames of {frames}; {pictures} pictures of the robot in 60 frames")
                print(
                    f"    processor time a frame: tab {work[0]}, whole browser {work[1]}; load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
            page.call("HeapProfiler.enable")
            page.call("HeapProfiler.collectGarbage")
            used = page.run("performance.memory.usedJSHeapSize")
            print(f"memory of the tab, JavaScript: {used / 2**20:.0f} MB; resident: {_used(page)[0][0]:.0f} MB")
            page.call("Page.navigate", url="about:blank")
        page.close()


def _used(page: chromium.Chromium) -> tuple[tuple[float, float], tuple[float, float]]:
    """Resident MB and processor seconds of the process that draws the page, and of the whole browser."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            line = (status.parent / "cmdline").read_bytes()
            if page.profile.encode() in line:
                size = next(int(x.split()[1]) for x in status.read_text().splitlines() if x.startswith("VmRSS")) / 1024
                ticks = (status.parent / "stat").read_text().rpartition(")")[2].split()[11:13]
                found.append((b"--type=renderer" in line, size, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")))
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            continue
    largest = max((f[1:] for f in found if f[0]), default=(0.0, 0.0))
    return largest, (sum(f[1] for f in found), sum(f[2] for f in found))


if __name__ == "__main__":
    main()
