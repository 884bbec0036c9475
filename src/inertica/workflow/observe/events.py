"""Alarms: stretches of time in which some joint's external torque is beyond its threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inertica.workflow.observe.observer import Observed, Observer
from inertica.workflow.observe.thresholds import Thresholds


@dataclass(frozen=True)
class ContactEvent:
    """One alarm.

    Args:
        time: s, of the sample at which it began.
        end: s, of the last sample beyond the threshold so far.
        joint: 0-based, of the joint that was furthest beyond its threshold.
        torque: external torque of that joint there, N m or N.
        ratio: of it to the threshold.
    """

    time: float
    end: float
    joint: int
    torque: float
    ratio: float


class Alarms:
    """Joins samples beyond the threshold to events; what the observer's low-pass still remembers belongs to the event before.

    Args:
        observer: that shows the torque.
        limits: its thresholds.
    """

    def __init__(self, observer: Observer, limits: Thresholds) -> None:
        self._limits, self._memory = limits, observer.memory
        self._open: ContactEvent | None = None

    def __call__(self, observed: Observed) -> Iterator[ContactEvent]:
        """Events that these samples begin or go on with; a begun event comes again whenever it has grown."""
        ratios = np.abs(observed.torque) / (self._limits.torque + observed.hidden)
        for k in np.flatnonzero(np.any(ratios > 1.0, axis=1) & observed.settled):
            joint = int(np.argmax(ratios[k]))
            time, torque, ratio = float(observed.t[k]), float(observed.torque[k, joint]), float(ratios[k, joint])
            last = self._open
            if last is None or time - last.end > self._memory:
                self._open = ContactEvent(time, time, joint, torque, ratio)
            elif ratio > last.ratio:
                self._open = ContactEvent(last.time, time, joint, torque, ratio)
            else:
                self._open = ContactEvent(last.time, time, last.joint, last.torque, last.ratio)
            yield self._open


def events(observer: Observer, limits: Thresholds, observed: Observed) -> tuple[ContactEvent, ...]:
    """All events of a record."""
    out: dict[float, ContactEvent] = {event.time: event for event in Alarms(observer, limits)(observed)}
    return tuple(out.values())
