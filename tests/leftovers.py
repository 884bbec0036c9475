"""What a process leaves behind that is killed while it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CODE = """
import os, signal, sys
from inertica.writing import whole_file, whole_folder
with whole_folder(sys.argv[2], "last") if sys.argv[1] == "folder" else whole_file(sys.argv[2]) as temporary:
    (temporary / "half" if sys.argv[1] == "folder" else temporary).write_bytes(b"half a file")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left_behind(target: Path, kind: str = "file") -> Path:
    """The hidden file or folder of a process that was killed as it wrote the target."""
    before = set(target.parent.iterdir())
    subprocess.run([sys.executable, "-c", _CODE, kind, str(target)], check=False)
    (left,) = set(target.parent.iterdir()) - before
    return left
