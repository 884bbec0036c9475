"""Mass, centre of mass and inertia of what the robot carries, from a log without and a log with it.

    python examples/payload.py [MODEL UNLOADED LOADED]

The load is stated in the frame of the flange, for this arm that of its last link; see docs/payload.md.
"""

import sys
from pathlib import Path

import inertica as ia

data = Path(__file__).parent / "data"
model, unloaded, loaded = sys.argv[1:4] or (data / "arm.urdf", data / "run1.csv.gz", data / "run1_loaded.csv.gz")

load = ia.payload(model, unloaded=[unloaded], loaded=[loaded])
print(f"mass {load['M']:.3f} kg, 95 %: {load.intervals[-1][0]:.3f} ... {load.intervals[-1][1]:.3f}")
for axis, centre, std in zip("xyz", load.body.com, load.com_std, strict=True):
    print(f"centre {axis} {centre:.4f} m, standard deviation {std:.4f}")
for name, residual in load.residuals.items():  # what the load explains
    print(f"{name}: {100 * residual.raw.all:.1f} % of the torque with the load is left over")
for controller, statement in load.statements.items():  # to paste
    print(f"{controller}: {statement}")
