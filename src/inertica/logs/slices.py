"""Time slices in the name of a log: `FILE@t0:t1`."""

from __future__ import annotations

import math
import re
from pathlib import Path

from inertica.errors import InputError, is_there

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SLICE = re.compile(rf"(?P<file>.+)@(?P<low>{_NUMBER})?:(?P<high>{_NUMBER})?", re.DOTALL)


def split_slice(spec: str | Path) -> tuple[Path, tuple[float, float] | None]:
    """The file and the interval of a spec; open ends are infinite, no slice is None.

    Only a trailing `@a:b` of numbers counts, and a file that bears the whole name wins, so that names with @ and drive letters
    stay what they are.
    """
    text = str(spec)
    match = _SLICE.fullmatch(text)
    if match is None or is_there(Path(text)):
        return Path(text), None
    low, high = match["low"], match["high"]
    interval = (float(low) if low else -math.inf, float(high) if high else math.inf)
    if not interval[0] < interval[1]:
        raise InputError(f"the slice of '{text}' ends before it begins; write FILE@t0:t1 with t0 < t1")
    return Path(match["file"]), interval
