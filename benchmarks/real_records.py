"""Records of real robots that benchmarks/real.py and its parts share: the manifest, and what their page states.

The records are not part of the repository: INERTICA_REAL_DATA, or shared/data beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

from inertica.benchmark.manifest import Record, Split, Window, read_window, records

__all__ = ["DATA", "RECORDS", "STATED", "Record", "Split", "Window", "read_window"]

DATA = Path(os.environ.get("INERTICA_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

RECORDS = records(DATA)

STATED = {
    ("panda", "excitation, 70 %"): (0.0412, 0.0280),
    ("kr300", "all but traj_c"): (0.229, 0.212),
    ("kr300", "all but traj_b"): (0.240, 0.203),
    ("kr300", "all but traj_a"): (0.227, 0.202),
    ("xmate3pro", "excitation, 70 %"): (0.0540, 0.0349),
    ("lbr_med7", "slow_fourier, 70 %"): (0.0532, 0.0517),
    ("dvrk_mtm", "one_motor, 70 %"): (0.174, 0.128),
    ("kuka_lwr4", "ident_slow_1, 70 %"): (0.0184, 0.0179),
    ("kuka_lwr4", "all but ident_slow_2"): (0.0170, 0.0168),
    ("ur10e", "all but valid_ptp"): (0.0611, 0.0478),
    ("ur10e", "ident_unloaded_a, 70 %"): (0.0799, 0.0521),
}
"""(record, split) -> raw and low-passed residual that the page of the records states for a plain pipeline like the one in real.py."""
