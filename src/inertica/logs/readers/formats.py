"""Formats of logs by suffix.  Adding one: its file in this folder with a function `read`, and one line in FORMATS."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from inertica.errors import FileError, refuse_devices
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table


class ReadFunction(Protocol):
    """The function `read` of a format's file.

    It gives the columns under the names the file has for them, as numbers as they were recorded: what they mean, their units and the
    clock are found in one place for all formats.  `options.joints` are the robot's joints, None when no robot is given; few formats
    need them.  A damaged file raises a `FileError` that says where (`guard.reading` makes one of what foreign parsers raise); a
    package that may be missing is asked for inside the function (`guard.package`).
    """

    def __call__(self, path: Path, options: ReadOptions) -> Table: ...


@dataclass(frozen=True)
class Format:
    """One format.

    Args:
        module: its file in this folder, imported when needed.
        suffixes: of its files, in small letters.
        mark: a file by which a folder in this format is known.
        name: what such a folder is called.
    """

    module: str
    suffixes: tuple[str, ...] = ()
    mark: str = ""
    name: str = ""

    @property
    def read(self) -> ReadFunction:
        """The reader."""
        reader: ReadFunction = import_module(f"inertica.logs.readers.{self.module}").read
        return reader


FORMATS = (
    Format("csvfile", (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")),
    Format("parquet", (".parquet",)),
    Format("npz", (".npz",)),
    Format("matfile", (".mat",)),
    Format("ros", (".bag", ".db3"), mark="metadata.yaml", name="ROS 2 bag"),
    Format("mcapfile", (".mcap",)),
    Format("lerobot", mark="meta/info.json", name="LeRobot dataset"),
    Format("motionfolder", mark="joint_list.txt", name="folder of state_motor.csv and control.csv"),
)

CONVERSIONS = {
    ".pt": "PyTorch files can run code when they are read; save the arrays in Python: "
    "numpy.savez('run.npz', t=t.numpy(), q=q.numpy(), qr=targets.numpy()), one row per sample, and give run.npz",
    ".pkl": "pickles run code when they are read; save the arrays in Python: numpy.savez('run.npz', t=t, q=q, qr=targets)",
}
"""Suffixes that are not read, with what to do instead."""
CONVERSIONS |= {".pth": CONVERSIONS[".pt"], ".pickle": CONVERSIONS[".pkl"]}


def find_format(path: Path) -> Format:
    """The format of a file by its suffix, of a folder by the file that marks it."""
    if not path.exists():
        raise FileError(path, "no such file or folder")
    refuse_devices(path)
    folders = [form for form in FORMATS if form.mark]
    if path.is_dir():
        known = [form for form in folders if (path / form.mark).is_file()]
        problem = f"this folder is neither a {' nor a '.join(f'{form.name} ({form.mark})' for form in folders)}"
    else:
        suffix = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()
        known = [form for form in FORMATS if suffix in form.suffixes]
        names = [*(suffix for form in FORMATS for suffix in form.suffixes), *(f"a {form.name} folder" for form in folders)]
        problem = f"the suffix '{suffix}' is no known format of a log; known are {', '.join(names[:-1])} or {names[-1]}"
        if suffix in CONVERSIONS:
            raise FileError(path, CONVERSIONS[suffix])
    if not known:
        raise FileError(path, problem)
    return known[0]
