"""The folder of a campaign: its spec, one Parquet file per finished unit, one JSON per failed one; a lock while someone works on it.

    DIR/campaign.json           spec, its hash, the program's hash and version, what units were computed on
    DIR/units/ID-HASH.parquet   HASH is that of the file's bytes: one that a disk changed is known, and its unit computed again
    DIR/failed/ID.json          error and number of attempts
    DIR/lock

Files appear whole or not at all.  A process that is killed loses the units in flight, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import inertica
from inertica.campaign.plan import Unit, plan
from inertica.campaign.program import code_hash
from inertica.campaign.rows import read_bytes, schema
from inertica.campaign.spec import Spec, digest
from inertica.errors import FileError, InerticaError, InputError, ModelWarning
from inertica.logs.readers.guard import reading
from inertica.writing import is_temporary, remove_leftovers, write_whole

MANIFEST, UNITS, FAILED, LOCK = "campaign.json", "units", "failed", "lock"
KEYS, CHECKSUM = ("spec", "digest", "code", "version", "devices"), "checksum"
"""Of the manifest."""


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
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{folder / MANIFEST} is not what this version writes ({error!r}); begin anew with --new") from None

    @classmethod
    def begin(cls, path: str | Path, spec: Spec, *, new: bool = False, mix_versions: bool = False) -> Store:
        """A folder for a spec; one that holds another spec, or rows of another program, is refused unless `new` empties it.

        Args:
            path: the folder.
            spec: what is to be computed.
            new: throw away what is there.
            mix_versions: go on although finished units were computed by another state of the program; every row says by which.
        """
        folder, store = Path(path), cls(Path(path), spec)
        with _said(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / MANIFEST).is_file():
            held = None if new else _manifest(folder)  # what begins anew may be damaged
            same = held is not None and held.get("digest") == spec.digest
            if same and held is not None and held.get("code") == code_hash():
                return store
            if same and held is not None and mix_versions and not new:
                with store.locked(), _said(folder):
                    _write_manifest(folder, held | {"code": code_hash(), "version": inertica.__version__})
                return store
            if not new and any((folder / UNITS).glob("*.parquet")):
                what = "another state of the program" if same else "another spec"
                mixing = ", --mix-versions to go on all the same" if same else ""
                raise InputError(
                    f"{folder} holds rows of {what}; state --new to throw them away{mixing}, or another folder with -o"
                )
        elif others := _others(folder):
            raise InputError(f"{folder} is no campaign but holds {others[0]}; name an empty folder with -o")
        with store.locked(), _said(folder):  # somebody may be at work here whose first unit is not finished
            store._empty()
            for name in (UNITS, FAILED):
                (folder / name).mkdir(exist_ok=True)
            document = {"spec": spec.document(), "digest": spec.digest, "code": code_hash(), "version": inertica.__version__}
            _write_manifest(folder, document)
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
            for name in ("", UNITS, FAILED):
                remove_leftovers(self.path / name)
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
            _write_manifest(self.path, document)

    def files(self) -> list[Path]:
        """Files of finished units in the order of the plan, without damaged ones."""
        return [state.sound for state in self._states() if state.sound is not None]

    def pending(self) -> list[Unit]:
        """Units that are not finished, failed and damaged ones included, in the order of the plan."""
        return [state.unit for state in self._states() if state.sound is None]

    def damaged(self) -> list[str]:
        """Units whose file is no longer what was written; they are computed again when the campaign goes on."""
        return [state.unit.id for state in self._states() if state.sound is None and state.files]

    def warn_of_damage(self, consequence: str) -> None:
        """Name the damaged units, and what becomes of them."""
        if damaged := self.damaged():
            units = f"unit {damaged[0]} is" if len(damaged) == 1 else f"units {', '.join(damaged)} are"
            problem = f"{self.path}: the file of {units} damaged: not the bytes that were written"
            warnings.warn(ModelWarning(f"{problem}; {'it is' if len(damaged) == 1 else 'they are'} {consequence}"), stacklevel=3)

    def failures(self) -> dict[str, Mapping[str, Any]]:
        """Unit -> what went wrong."""
        return {p.stem: _failure(p) for p in sorted((self.path / FAILED).glob("*.json")) if not is_temporary(p.name)}

    def finish(self, unit: Unit, content: bytes) -> None:
        """A unit's rows, to stay; in place of a damaged file."""
        file = self.path / UNITS / f"{unit.id}-{_checksum(content)}.parquet"
        with _said(self.path):
            write_whole(file, content)
            for other in (self.path / UNITS).glob(f"{unit.id}[-.]*"):
                if other != file:
                    other.unlink()
            (self.path / FAILED / f"{unit.id}.json").unlink(missing_ok=True)

    def fail(self, unit: Unit, error: str, attempts: int) -> None:
        """A unit that could not be computed."""
        document = {"unit": unit.document(), "error": error, "attempts": attempts}
        with _said(self.path):
            write_whole(self.path / FAILED / f"{unit.id}.json", json.dumps(document, indent=1))

    def _states(self) -> list[_State]:
        """Every unit with its files, in the order of the plan."""
        files: dict[str, list[Path]] = {}
        for file in sorted((self.path / UNITS).glob("*.parquet")):
            if not is_temporary(file.name):
                files.setdefault(re.split("[-.]", file.name)[0], []).append(file)
        return [_State(unit, tuple(files.get(unit.id, ()))) for unit in plan(self.spec)]

    def _empty(self) -> None:
        for old in (*self.path.glob(f"{UNITS}/*"), *self.path.glob(f"{FAILED}/*"), self.path / MANIFEST):
            old.unlink(missing_ok=True)


@dataclass(frozen=True)
class _State:
    """A unit and its files: none before it is finished, two when a process was killed as it replaced one."""

    unit: Unit
    files: tuple[Path, ...]

    @cached_property
    def sound(self) -> Path | None:
        """The file that is as it was written."""
        return next((file for file in self.files if _is_sound(file)), None)


def _is_sound(file: Path) -> bool:
    try:
        return _has_its_bytes(file, file.stat().st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=100_000)
def _has_its_bytes(file: Path, stamp: int) -> bool:
    """Whether a file has the bytes that its name states; read once per process."""
    _, dash, checksum = file.stem.partition("-")
    content = file.read_bytes()
    return _checksum(content) == checksum if dash else _is_whole(content)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _is_whole(content: bytes) -> bool:
    """Whether rows of an earlier version, whose name states no hash, can be read."""
    try:
        with reading(Path(UNITS), "Parquet file"):
            return bool(read_bytes(content).schema.remove_metadata() == schema())
    except FileError:
        return False


def _failure(path: Path) -> Mapping[str, Any]:
    """What a note of a failure says; a damaged one is only a note."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {"unit": document["unit"], "error": str(document["error"]), "attempts": int(document["attempts"])}
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return {"unit": None, "error": f"the note of its failure, {path}, is damaged", "attempts": 0}


def _write_manifest(folder: Path, document: Mapping[str, Any]) -> None:
    stated = {key: document[key] for key in KEYS if key in document}
    write_whole(folder / MANIFEST, json.dumps(stated | {CHECKSUM: digest(stated)}, indent=1))


def _manifest(folder: Path) -> dict[str, Any]:
    """What the manifest states; refused when its bytes changed, which its checksum tells (earlier versions wrote none)."""
    try:
        held = dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
        stated = {key: held[key] for key in KEYS if key in held}
        if set(held) - {*KEYS, CHECKSUM} or held.get(CHECKSUM, digest(stated)) != digest(stated):
            raise ValueError("its content is not what its checksum says")
        return stated
    except FileNotFoundError:
        raise InputError(f"{folder} holds no campaign; begin one with: inertica campaign SPEC -o {folder}") from None
    except NotADirectoryError:
        raise InputError(f"{folder} is a file, not the folder of a campaign") from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{folder / MANIFEST} cannot be read ({error}); the folder is damaged, begin anew with --new") from None


def _others(folder: Path) -> list[str]:
    """What a folder without a manifest holds, apart from what is left of a process that was killed before it had written one."""
    empty = [p for p in (folder / UNITS, folder / FAILED) if p.is_dir() and not any(p.iterdir())]
    ours = {LOCK, *(p.name for p in empty), *(p.name for p in folder.iterdir() if is_temporary(p.name))}
    return sorted({p.name for p in folder.iterdir()} - ours)


@contextmanager
def _said(folder: Path) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except (OSError, FileError) as error:
        why = error if isinstance(error, FileError) else f"{folder} cannot be written ({error.strerror or error})"
        raise InerticaError(f"{why}; finished units are safe, free space or choose another folder") from None
