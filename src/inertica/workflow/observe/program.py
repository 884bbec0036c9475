"""An observer with its thresholds as a C program without dependencies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inertica.dynamics.code.c import c_files
from inertica.dynamics.code.observer_c import ObserverSettings, observer_files
from inertica.dynamics.code.text import identifier
from inertica.identifiability.base import base_model
from inertica.workflow.export.code import expected_torques, program_of
from inertica.workflow.identify.standstill import NEXT_TO_NOTHING
from inertica.workflow.observe.monitor import ContactMonitor
from inertica.writing import whole_folder


def write_observer(monitor: ContactMonitor, folder: str | Path, name: str | None = None) -> tuple[Path, ...]:
    """Writes the dynamics that the observer computes with, and its step, as C99; gives the files.

    Args:
        monitor: observer and thresholds.
        folder: to write into; made when it is not there.
        name: prefix of functions and files; the robot's by default.

    Examples:
        >>> files = ia.write_observer(ia.observer("result"), "observer_code")
        >>> sorted(file.suffix for file in files)
        ['.c', '.c', '.c', '.h', '.h']
    """
    observer = monitor.observer
    values = observer.parameters
    program, _ = program_of(values, base_model(values.layout), False, identifier(name or values.layout.robot.name))
    n = observer.n
    widths = np.array([w or 0.0 for w in observer.standstill.widths] or [0.0] * n)
    settings = ObserverSettings(
        observer.pole, observer.velocity_pole, observer.rest, observer.hidden, widths, monitor.thresholds.torque,
        NEXT_TO_NOTHING, observer.delay,
    )  # fmt: skip
    files = observer_files(program, settings) | c_files(program, expected_torques(values))
    with whole_folder(folder, last=list(files)[-1]) as temporary:
        for file, text in files.items():
            (temporary / file).write_text(text, encoding="ascii")
    return tuple(Path(folder) / file for file in files)
