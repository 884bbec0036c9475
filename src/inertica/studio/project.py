"""The project: a folder of plain files that holds everything the studio knows, and opens again as it was left.

card.yaml            the robot with its options
model/               model files that were dropped on the page, and their meshes
logs/                logs that were dropped; others are links: absolute names in studio.json, which only the command line adds
trajectories/        designed motions
rehearsals/          simulated experiments and what was recovered from them
results/NAME/        what `inertica identify -o` writes
exports/             models, tables and reports that were asked for
studio.json          which logs there are and what they are for, links, the last choices of every room
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

import yaml

import inertica as ia
from inertica.errors import FileError, InerticaError, InputError, ModelWarning
from inertica.logs.readers.guard import reading
from inertica.robot.description import Description
from inertica.robot.files import CARD as RESULT_CARD
from inertica.robot.files import catalog
from inertica.robot.formats.table import find_format
from inertica.studio.confined import Refused, allowed, inside, plain_name
from inertica.workflow.identify.result import ARRAYS, RESULT, Result
from inertica.workflow.identify.saved import is_stamped, read_stamped
from inertica.writing import is_temporary, make_folder, whole_file, write_whole

STATE, CARD = "studio.json", "card.yaml"
FOLDERS = ("model", "logs", "trajectories", "rehearsals", "results", "exports")
ROLES = ("identify", "validate", "ignore")
VERSION = 1
PARTS: dict[str, type] = {"logs": list, "links": list, "choices": dict}
"""Of the state, with their kinds."""

FAR = 1e9
"""Seconds at which no slice of a log begins or ends."""

Stored = TypeVar("Stored")
KEPT_LOGS = 6
"""Logs kept in memory."""


@dataclass(frozen=True)
class LogEntry:
    """A log of the project.

    Args:
        name: what the page calls it.
        file: inside the project, or a link.
        role: identify, validate or ignore.
        start, end: the slice in s; None for the ends of the log.
    """

    name: str
    file: str
    role: str = "identify"
    start: float | None = None
    end: float | None = None

    @classmethod
    def of(cls, document: object) -> LogEntry | None:
        """From what `document` gave; None of anything else."""
        if not isinstance(document, dict) or set(document) != {"name", "file", "role", "start", "end"}:
            return None
        words, ends = (document["name"], document["file"], document["role"]), (document["start"], document["end"])
        numbers = all(x is None or (isinstance(x, (int, float)) and abs(x) < FAR) for x in ends)
        known = all(isinstance(x, str) and x and "\0" not in x for x in words) and document["role"] in ROLES
        return cls(*words, *ends) if known and numbers else None

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "file": self.file, "role": self.role, "start": self.start, "end": self.end}

    @property
    def interval(self) -> str:
        """`@t0:t1`, or nothing for the whole log."""
        if self.start is None and self.end is None:
            return ""
        low, high = ("" if x is None else f"{x:.6g}" for x in (self.start, self.end))
        return f"@{low}:{high}"


@dataclass
class Project:
    """A project folder.  What changes it goes through `update`, which writes studio.json and tells whoever listens.

    Args:
        folder: made when it is not there.
        changed: called after every change.
    """

    folder: Path
    changed: Callable[[], None] = lambda: None
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        if self.folder.exists() and not self.folder.is_dir():
            raise FileError(self.folder, "this is a file; give the name of a folder for the project")
        for name in FOLDERS:
            make_folder(self.folder / name)
        self._logs = lru_cache(maxsize=KEPT_LOGS)(self._read_log)
        self._robot = lru_cache(maxsize=4)(self._read_robot)
        self._results = lru_cache(maxsize=8)(_read_result)

    # --- state ---------------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """What studio.json says, links that name no file left out."""
        stated = self._stated()
        return stated | {"links": [name for name in stated["links"] if isinstance(name, str) and "\0" not in name]}

    def _stated(self) -> dict[str, Any]:
        path = self.folder / STATE
        with self._lock:
            if not path.is_file():
                return {"version": VERSION, "logs": [], "links": [], "choices": {}}
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, RecursionError, OSError) as error:
                raise FileError(path, f"the project's state cannot be read ({error}); mend or delete the file") from None
        if not isinstance(state, dict) or state.get("version") != VERSION:
            raise FileError(path, "this is not the state of a project of this version; mend or delete the file")
        return state | {key: state[key] if isinstance(state.get(key), kind) else kind() for key, kind in PARTS.items()}

    @property
    def problems(self) -> list[str]:
        """A sentence for everything in the folder that is damaged and left out."""
        out = []
        try:
            state = self.state
            strange = [str(key) for key in state if key not in ("version", *PARTS)]
            out += [f"{STATE}: the key '{key[:40]}' is not known and is left alone" for key in strange]
            if (lost := len(self._stated()["links"]) - len(state["links"])) > 0:
                out.append(f"{STATE}: {lost} of its links name no file; link those files again")
            if len(self.logs) < len(state["logs"]):
                out.append(f"{STATE}: {len(state['logs']) - len(self.logs)} of its logs cannot be understood; add them again")
        except InputError as error:
            out.append(str(error))
        if self.card.is_file() and (problem := self._robot_problem):
            out.append(f"{problem}; mend the card, or choose a robot anew")
        for folder in self._result_folders:
            if not _is_readable(folder, (folder / RESULT).stat().st_mtime_ns):
                out.append(f"results/{folder.name} is damaged and left out: its {RESULT} is not what was written")
        out += [f"rehearsals/{p.name} is damaged and left out" for p, rehearsal in self._read_rehearsals if rehearsal is None]
        return [self.said(sentence) for sentence in out]

    def update(self, **values: Any) -> None:
        """Change entries of the state."""
        with self._lock:
            text = json.dumps(self.state | values, indent=1, ensure_ascii=False)
            write_whole(self.folder / STATE, text + "\n")
        self.changed()

    def choose(self, room: str, **values: Any) -> None:
        """Remember choices of a room."""
        choices = dict(self.state["choices"])
        before = choices.get(room)
        self.update(choices={**choices, room: {**(before if isinstance(before, dict) else {}), **values}})

    def chosen(self, room: str, key: str, kind: type[Stored]) -> Stored | None:
        """What was chosen last; None where nothing was, or where the file says something of another kind."""
        of_room = self.state["choices"].get(room)
        value = of_room.get(key) if isinstance(of_room, dict) else None
        return value if isinstance(value, kind) else None

    def link(self, path: str | Path) -> str:
        """Allow a file outside of the project; for the command line only.  Returns its name."""
        name = str(Path(path).resolve())
        if not Path(name).exists():
            raise FileError(name, "there is no such file")
        if self.folder in Path(name).parents:
            return str(Path(name).relative_to(self.folder))
        links = self.state["links"]
        if name not in links:
            self.update(links=[*links, name])
        return name

    def path(self, name: str) -> Path:
        """A file that a page names; refused outside of the project and its links."""
        return allowed(self.folder, self.state["links"], name)

    # --- robot ---------------------------------------------------------------------------------------------------------------

    @property
    def card(self) -> Path:
        return self.folder / CARD

    @property
    def has_robot(self) -> bool:
        """Whether there is a card, and it can be read."""
        return self.card.is_file() and not self._robot_problem

    @property
    def _robot_problem(self) -> str:
        try:
            _ = self.description
        except InerticaError as error:
            return str(error)
        return ""

    def card_keys(self) -> dict[str, Any]:
        """What the card says, as plain data."""
        return dict(yaml.safe_load(self.card.read_text(encoding="utf-8"))) if self.has_robot else {}

    def write_card(self, keys: Mapping[str, Any]) -> Description:
        """Replace the card, when it can be read as a robot.

        Raises:
            InputError: it cannot; the old one stays.
        """
        text = "# written by inertica studio; see docs/terms-and-cards.md\n"
        text += yaml.safe_dump(dict(keys), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
        with whole_file(self.card) as temporary:
            temporary.write_text(text, encoding="utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                try:
                    description = ia.load(temporary)
                except FileError as error:
                    of_card = error.path.resolve() == temporary.resolve()
                    what = "the card" if of_card else self.said(str(error.path))
                    raise InputError(f"{what} cannot be read: {error.problem}") from None
        self.changed()
        return description

    def said(self, sentence: str) -> str:
        """A sentence with names of files as they are inside the project."""
        return sentence.replace(f"{self.folder}/", "").replace(f"{self.folder.resolve()}/", "")

    def choose_robot(self, name: str) -> Description:
        """Start a card for a catalog robot, or for a model file or card of the project."""
        if name in catalog():
            return self.write_card({"model": name})
        path = self.path(name)
        if not path.is_file():
            raise FileError(name, "there is no such file in the project")
        if find_format(path) is not None:
            return self.write_card({"model": self._said(path)})
        keys = dict(yaml.safe_load(path.read_text(encoding="utf-8")))
        model = str(keys.get("model", ""))
        beside = path.parent / model
        if not beside.exists() and model in catalog():
            return self.write_card(keys)
        if name not in self.state["links"]:
            inside(self.folder, beside)
        return self.write_card({**keys, "model": self._said(beside.resolve())})

    def _said(self, path: Path) -> str:
        return str(path.relative_to(self.folder)) if self.folder in path.parents else str(path)

    @property
    def description(self) -> Description:
        """The robot of the card."""
        if not self.card.is_file():
            raise InputError("no robot is loaded yet; choose one in the room Robot")
        description = self._robot(self.card.stat().st_mtime_ns, None)
        model = description.source.path
        return self._robot(self.card.stat().st_mtime_ns, model.stat().st_mtime_ns if model.is_file() else 0)

    def _read_robot(self, card: int, model: int | None) -> Description:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return ia.load(self.card)

    # --- logs ----------------------------------------------------------------------------------------------------------------

    @property
    def logs(self) -> list[LogEntry]:
        return [entry for entry in map(LogEntry.of, self.state["logs"]) if entry is not None]

    def entry(self, name: str) -> LogEntry:
        entry = next((e for e in self.logs if e.name == name), None)
        if entry is None:
            raise InputError(f"the project has no log '{name}'")
        return entry

    def add_log(self, file: str, role: str = "identify") -> LogEntry:
        """A file of the project, or a link, as a log."""
        path = self.path(file)
        if not path.exists():
            raise FileError(file, "there is no such file in the project")
        if any(e.file == file for e in self.logs):
            return next(e for e in self.logs if e.file == file)
        taken = {e.name for e in self.logs}
        name, k = path.name, 2
        while name in taken:
            name, k = f"{path.name} ({k})", k + 1
        entry = LogEntry(name, file, role)
        self.put_logs([*self.logs, entry])
        return entry

    def put_logs(self, entries: list[LogEntry]) -> None:
        self.update(logs=[e.document() for e in entries])

    def place(self, entry: LogEntry) -> str:
        """The log as commands take it, with its slice."""
        return f"{self.path(entry.file)}{entry.interval}"

    def role(self, role: str) -> list[str]:
        """Places of the logs of a role."""
        return [self.place(e) for e in self.logs if e.role == role]

    def read_log(self, name: str) -> ia.Log:
        """A whole log, its slice not taken; kept in memory."""
        path = self.path(self.entry(name).file)
        if not path.exists():
            raise FileError(path, "the log is gone")
        robot = self.card.stat().st_mtime_ns if self.has_robot else 0
        return self._logs(str(path), path.stat().st_mtime_ns, robot)

    def _read_log(self, path: str, stamp: int, robot: int) -> ia.Log:
        return ia.read_log(path, self.description if self.has_robot else None)

    # --- results -------------------------------------------------------------------------------------------------------------

    @property
    def results(self) -> list[str]:
        """Names of results, oldest first, without damaged ones."""
        return [p.name for p in self._result_folders if _is_readable(p, (p / RESULT).stat().st_mtime_ns)]

    @property
    def _result_folders(self) -> list[Path]:
        folders = [p.parent for p in (self.folder / "results").glob(f"*/{RESULT}") if not p.parent.name.startswith(".")]
        return sorted(folders, key=lambda p: ((p / RESULT).stat().st_mtime_ns, p.name))

    def result_folder(self, name: str) -> Path:
        folder = inside(self.folder, Path("results") / plain_name(name))
        if not (folder / RESULT).is_file():
            raise Refused(f"the project has no result '{name}'", 404)
        return folder

    def result(self, name: str) -> Result:
        folder = self.result_folder(name)
        return self._results(folder, (folder / RESULT).stat().st_mtime_ns)

    @property
    def rehearsals(self) -> list[dict[str, Any]]:
        """What rehearsals found, oldest first, without damaged ones."""
        return [rehearsal for _, rehearsal in self._read_rehearsals if rehearsal is not None]

    @property
    def _read_rehearsals(self) -> list[tuple[Path, dict[str, Any] | None]]:
        files = sorted((self.folder / "rehearsals").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
        return [(p, _rehearsal(p)) for p in files if not is_temporary(p.name)]

    def free_name(self, folder: str, stem: str, suffix: str = "", taken: Collection[str] = ()) -> str:
        """A name that nothing in a folder has yet, and none of those that are taken."""
        k = 1
        while (name := f"{stem}-{k}{suffix}") in taken or (self.folder / folder / name).exists():
            k += 1
        return name

    def new_name(self, folder: str, stem: str, suffix: str, stated: object, taken: Collection[str]) -> str:
        """The name that a page states for something new, or a free one.

        Raises:
            Refused: the stated one is no name, or something else has it.
        """
        if stated is None:
            return self.free_name(folder, stem, suffix, taken)
        name = plain_name(str(stated))
        if name in taken or inside(self.folder, Path(folder) / name).exists():
            raise Refused(f"there is a {stem} '{name}' already; choose another name", 409)
        return name


def _rehearsal(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(document, dict) and isinstance(document.get("name"), str) and isinstance(document.get("trajectory"), str)
    return document if whole else None


@lru_cache(maxsize=256)
def _is_readable(folder: Path, stamp: int) -> bool:
    """Whether a result is as it was written; looked at once per change of its result.json."""
    try:
        with warnings.catch_warnings(), reading(folder, "result"):
            warnings.simplefilter("ignore", ModelWarning)
            if not is_stamped(folder / RESULT):  # of an earlier version
                Result.load(folder)
                return True
            read_stamped(folder / RESULT)
            ia.load(folder / RESULT_CARD)
            with ZipFile(folder / ARRAYS) as arrays:
                return arrays.testzip() is None
    except InerticaError:
        return False


def _read_result(folder: Path, stamp: int) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Result.load(folder)
