"""The folder of a campaign: its spec, one Parquet file per finished unit, one JSON per failed one; a lock while someone works on it.

    DIR/campaign.json    spec, its hash, the program's hash and version, what units were computed on
    DIR/units/ID.parquet
    DIR/failed/ID.json   error and number of attempts
    DIR/lock

Files appear whole or not at all: they are written beside their place, flushed to disk and renamed.  A process that is killed loses
the units in flight, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import inertica
from inertica.campaign.plan import Unit, plan
from inertica.campaign.spec import Spec
from inertica.errors import InerticaError, InputError

MANIFEST, UNITS, FAILED, LOCK = "campaign.json", "units", "failed", "lock"


@dataclass(frozen=True)
class Store:
    """A campaign on disk.

    Args:
        path: the folder.
        spec: what is computed.
    """

    path: Path
    spec: Spec

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """A campaign that was begun."""
        folder = Path(path)
        try:
            return cls(folder, Spec.of(_manifest(folder)["spec"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{folder / MANIFEST} is not what this version writes ({error!r}); begin anew with --new") from None

    @classmethod
    def begin(cls, path: str | Path, spec: Spec, *, new: bool = False) -> Store:
        """A folder for a spec; one that holds another spec, or rows of another program, is refused unless `new` empties it."""
        folder, store = Path(path), cls(Path(path), spec)
        with _said(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / MANIFEST).is_file():
            held = None if new else _manifest(folder)  # what begins anew may be damaged
            same = held is not None and held.get("digest") == spec.digest
            if same and held is not None and held.get("code") == code_hash():
                return store
            if not new and any((folder / UNITS).glob("*.parquet")):
                what = "another program" if same else "another spec"
                raise InputError(f"{folder} holds rows of {what}; state --new to throw them away, or another folder with -o")
        elif others := _others(folder):
            raise InputError(f"{folder} is no campaign but holds {others[0]}; name an empty folder with -o")
        with store.locked(), _said(folder):  # somebody may be at work here whose first unit is not finished
            store._empty()
            for name in (UNITS, FAILED):
                (folder / name).mkdir(exist_ok=True)
            document = {"spec": spec.document(), "digest": spec.digest, "code": code_hash(), "version": inertica.__version__}
            store._write(folder / MANIFEST, json.dumps(document, indent=1).encode())
        return store

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While this lasts nobody else works on the folder; the system gives the lock back when the process ends, however it does."""
        import fcntl

        with _said(self.path):
            file = (self.path / LOCK).open("a+b", buffering=0)  # nothing is left to be written when it is closed
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                who = file.read().decode(errors="replace").strip() or "unknown"
                raise InputError(f"another process ({who}) works on {self.path}; wait for it, or name another folder") from None
            with _said(self.path):
                file.truncate(0)
                file.write(str(os.getpid()).encode())
                for left in (*self.path.glob(".*.part"), *self.path.glob("*/.*.part")):
                    left.unlink()
            yield

    @property
    def devices(self) -> tuple[str, ...]:
        """What finished units were computed on."""
        return tuple(_manifest(self.path).get("devices", ("cpu",))) if self.files() else ()

    def claim(self, device: str, mix: bool = False) -> None:
        """Write down what the units to come are computed on; rows of several devices are not mixed unless so asked.

        Args:
            device: cpu, cuda or auto.
            mix: go on although the rows that are there were computed elsewhere.
        """
        known = self.devices
        if known and device not in known and not mix:
            raise InputError(
                f"{self.path} holds rows computed on the device '{known[0]}'; go on there with --device {known[0]}, state "
                "--mix-devices to have both in one campaign, or --new to begin again"
            )
        document = _manifest(self.path) | {"devices": list(dict.fromkeys((*known, device)))}
        with _said(self.path):
            self._write(self.path / MANIFEST, json.dumps(document, indent=1).encode())

    def files(self) -> list[Path]:
        """Finished units in the order of the plan."""
        return [f for f in (self._file(u) for u in plan(self.spec)) if f.is_file()]

    def pending(self) -> list[Unit]:
        """Units that are not finished, failed ones included, in the order of the plan."""
        return [u for u in plan(self.spec) if not self._file(u).is_file()]

    def failures(self) -> dict[str, Mapping[str, Any]]:
        """Unit -> what went wrong."""
        return {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in sorted((self.path / FAILED).glob("*.json"))}

    def finish(self, unit: Unit, content: bytes) -> None:
        """A unit's rows, to stay."""
        with _said(self.path):
            self._write(self._file(unit), content)
            (self.path / FAILED / f"{unit.id}.json").unlink(missing_ok=True)

    def fail(self, unit: Unit, error: str, attempts: int) -> None:
        """A unit that could not be computed."""
        document = {"unit": unit.document(), "error": error, "attempts": attempts}
        with _said(self.path):
            self._write(self.path / FAILED / f"{unit.id}.json", json.dumps(document, indent=1).encode())

    def _file(self, unit: Unit) -> Path:
        return self.path / UNITS / f"{unit.id}.parquet"

    def _empty(self) -> None:
        for old in (*self.path.glob(f"{UNITS}/*"), *self.path.glob(f"{FAILED}/*"), self.path / MANIFEST):
            old.unlink(missing_ok=True)

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no campaign; begin one with: inertica campaign SPEC -o {folder}") from None
    except NotADirectoryError:
        raise InputError(f"{folder} is a file, not the folder of a campaign") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / MANIFEST} cannot be read ({error}); the folder is damaged, begin anew with --new") from None


def _others(folder: Path) -> list[str]:
    """What a folder without a manifest holds, apart from what is left of a process that was killed before it had written one."""
    empty = [p for p in (folder / UNITS, folder / FAILED) if p.is_dir() and not any(p.iterdir())]
    ours = {LOCK, *(p.name for p in empty), *(p.name for p in folder.glob(f".{MANIFEST}.*.part"))}
    return sorted({p.name for p in folder.iterdir()} - ours)


@contextmanager
def _said(folder: Path) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise InerticaError(
            f"{folder} cannot be written ({why}); finished units are safe, free space or choose another folder"
        ) from None


@cache
def code_hash() -> str:
    """Of the program's own files."""
    root, out = Path(inertica.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.suffix in (".py", ".yaml") and "specs" not in file.parts:
            out.update(str(file.relative_to(root)).encode())
            out.update(file.read_bytes())
    return out.hexdigest()[:16]
