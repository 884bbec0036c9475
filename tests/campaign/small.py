"""Small campaigns for tests."""

from __future__ import annotations

from pathlib import Path

from inertica.campaign.spec import Spec
from inertica.campaign.specfile import read_spec

TEXT = """\
name: small
robots: [scara2]
noise:
  - {name: row 1, q: 1e-4, tau: 0.05, unit: deg}
  - {name: row 2, q: 1e-3, tau: 0.05, unit: deg}
methods:
  - {method: ols, filters: [none, butterworth]}
  - {method: adann, filters: [butterworth], options: {passes: 1}}
  - {method: didim, options: {iterations: 2}}
loops: [{name: stiff, data: {kp: [50, 6], kv: [50, 6]}, model: {kp: [50, 6], kv: [50, 6]}}]
cutoff: 20
border: 10
decimate: [4]
duration: 2
runs: 4
starts: 2
block: 2
"""


def written(folder: Path, text: str = TEXT) -> Path:
    path = folder / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def spec(folder: Path, text: str = TEXT) -> Spec:
    return read_spec(written(folder, text))
