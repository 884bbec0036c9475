"""Recorded signals: what a robot logged, read from many formats, never edited."""

from __future__ import annotations

from inertica.logs.log import Channel, Log, Origin
from inertica.logs.read import read_log
from inertica.logs.readers.options import ReadOptions

__all__ = ["Channel", "Log", "Origin", "ReadOptions", "read_log"]
