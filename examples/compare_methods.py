"""Several methods on the same logs, judged on a motion none of them has seen.

python examples/compare_methods.py [MODEL LOG VALIDATION]
"""

import sys
from pathlib import Path

import inertica as ia

data = Path(__file__).parent / "data"
model, log, validation = sys.argv[1:4] or (data / "arm.urdf", data / "run1.csv.gz", data / "run2.csv.gz")

found = ia.compare(model, [log], ["ols", "wls", "irls", "pc-wls", "pc-wls+entropic"], validate=[validation])
print(f"{'method':18}{'residual':>10}{'determined':>12}{'possible':>10}{'seconds':>9}")
for row in found.rows:
    if row.failure:
        print(f"{row.method:18}{row.failure}")
        continue
    residual = list(row.residuals.values())[-1].raw.all  # of the validation log, raw torque
    print(f"{row.method:18}{100 * residual:9.2f} %{row.determined:12}{row.physically_consistent!s:>10}{row.seconds:9.2f}")
