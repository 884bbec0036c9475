"""Your URDF and your recorded CSV become an identified URDF, a report and C code for a controller.

    python examples/own_robot.py [MODEL LOG VALIDATION [FOLDER]]

The CSV has a column t and q1, q2, ..., tau1, tau2, ... in SI units, or names like position_0 [deg]; see docs/identify.md.
"""

import sys
from pathlib import Path

import inertica as ia

data = Path(__file__).parent / "data"
model, log, validation = sys.argv[1:4] or (data / "arm.urdf", data / "run1.csv.gz", data / "run2.csv.gz")
folder = Path(sys.argv[4] if len(sys.argv) > 4 else "result")

for finding in ia.check(model, [log]).findings:  # is the log any good?
    if finding.verdict not in ("fine", "not testable"):
        print(f"{finding.verdict}: {finding.text}")

result = ia.identify(model, [log], validate=[validation])
print(result)
for choice in result.choices:  # why this filter, this delay, this friction
    print("-", choice.sentence)

known = [name for name, label in result.labels.items() if label == "determined"]
for name in known:
    low, high = result.intervals[result.parameters.layout.index(name)]
    print(f"{name:6} {result.parameters[name]:10.4f}   95 %: {low:.4f} ... {high:.4f}")

ia.write_folder(result, folder, [log], [validation])  # result.json, identified.urdf, parameters.csv, report.html
ia.export_code(result, folder / "code", "c")  # inverse dynamics, gravity, ... without dependencies
print(f"see {folder / 'report.html'}")
