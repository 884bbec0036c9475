"""A robot card with what was found: the model it points to, gains of the loop, friction and armature as values."""

from __future__ import annotations

from pathlib import Path

import yaml

from inertica.estimators.actuators.values import QUANTITIES
from inertica.workflow.actuators.result import UNSEEN, ActuatorsResult
from inertica.writing import write_whole

CARD = "actuators.yaml"


def write_card(result: ActuatorsResult, folder: str | Path) -> Path:
    """Writes `actuators.yaml`: every quantity of every joint with interval and label, for people and programs."""
    joints = {}
    for joint in result.joints:
        entry: dict[str, object] = {}
        for name, quantity in joint.quantities().items():
            if QUANTITIES[name].optional is not None and quantity.label == UNSEEN:
                continue
            line: dict[str, object] = {"value": float(f"{quantity.value:.6g}")}
            if quantity.interval is not None:
                line["interval"] = [float(f"{x:.4g}") for x in quantity.interval]
            entry[name] = {**line, "label": quantity.label}
        joints[joint.name] = entry
    units = {name: kind.unit for name, kind in QUANTITIES.items()}
    document = {"robot": result.robot, "model": result.model, "units": units, "joints": joints,
                "not determined alone": [c.text for c in result.confounded]}  # fmt: skip
    path = Path(folder) / CARD
    write_whole(path, yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=130))
    return path
