"""`Log`: the signals of a robot as recorded, on their clock, with masks instead of edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array, Mask
from inertica.display import html_table, line, paragraph, titled
from inertica.errors import FileError, Fix, InputError, nearest
from inertica.frames import Tabular
from inertica.logs.breaks import Breaks
from inertica.logs.noise import position_noise, quantisation_step, repeated_rows
from inertica.logs.readers.table import SIMULATED
from inertica.logs.save import write_csv, write_npz
from inertica.logs.units import SIGNALS
from inertica.robot.model import Robot

GAINS = Fix(
    "torque",
    "state what they are worth in the card: torque: {from: current, gain: [N m per A of each joint]}; `inertica drive-gains` finds "
    "the gains with a load of known mass",
)


@dataclass(frozen=True, eq=False)
class Channel:
    """One recorded signal, untouched.

    Args:
        name: what the file calls it.
        symbol: q, dq, ddq, qr, dqr, ddqr, taur, tau, i, theta, dtheta, taum, ql, temp; empty for what is none of these.
        joint: 0-based joint; None when it belongs to none.
        unit: the unit it was recorded in.
        samples: (N,) values in that unit.
    """

    name: str
    symbol: str
    joint: int | None
    unit: str
    samples: NDArray[np.generic]

    @property
    def kind(self) -> str:
        """position, velocity, acceleration, torque, current, reference ..., or other."""
        return SIGNALS[self.symbol].kind if self.symbol in SIGNALS else "other"


@dataclass(frozen=True)
class Origin:
    """Where a log came from.

    Args:
        path: the file or folder; None for a log made in memory.
        format: csv, parquet, npz, mat, ros1, ros2, mcap, lerobot, or simulation.
        interval: the time slice that was asked for, open ends infinite.
        columns: symbol -> the file's columns, one per joint, empty where the file has none.
        start: seconds since 1970 of t = 0, when the file's clock counts from there.
        seconds_assumed: nobody states the unit of the file's clock, and its numbers do not tell it.
    """

    path: Path | None = None
    format: str = ""
    interval: tuple[float, float] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    start: float | None = None
    seconds_assumed: bool = False

    def __str__(self) -> str:
        name = str(self.path) if self.path else self.format or "memory"
        if self.interval is None:
            return name
        low, high = ("" if np.isinf(x) else f"{x:g}" for x in self.interval)
        return f"{name}@{low}:{high}"


@dataclass(frozen=True, eq=False)
class Log(Tabular):
    """Signals of one experiment.  Arrays are read-only; whoever finds a sample doubtful adds a mask.

    Args:
        t: (N,) clock in s.  Where the mask is False it is finite and increases.
        signals: symbol -> (N, n) in SI units, NaN where there is no value; on the joint side but for theta, dtheta, taum.
        joints: names of the n joints.
        channels: everything the file holds, as recorded; empty for a log made in memory.
        masks: reason -> (N,) True for samples that fits should not use.
        origin: where it came from.
        warnings: what users should know before they trust the log, one sentence each.
        notes: what was done on reading, one sentence each.
        truth: noise-free signals of a simulated experiment: symbol -> (N, n), and what else the simulation knows.
        linkage: the robot whose closed loops tie the joints to each other; None where none do.
    """

    t: Array
    signals: Mapping[str, Array]
    joints: tuple[str, ...]
    channels: tuple[Channel, ...] = ()
    masks: Mapping[str, Mask] = field(default_factory=dict)
    origin: Origin = Origin()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    truth: Mapping[str, Array] = field(default_factory=dict)
    linkage: Robot | None = None

    def __post_init__(self) -> None:
        t = _frozen(self.t)
        if t.ndim != 1:
            raise InputError(f"the clock of a log should have the shape (N,), not {t.shape}")
        shape = (len(t), len(self.joints))
        signals = {symbol: _frozen(values) for symbol, values in self.signals.items()}
        for symbol, values in signals.items():
            if symbol not in SIGNALS:
                raise InputError(f"a log has no signal '{symbol}'; {nearest(symbol, SIGNALS)}")
            if values.shape != shape:
                raise InputError(f"the signal {symbol} has the shape {values.shape}, expected {shape}: samples, joints")
        masks = {reason: _frozen(mask, np.bool_) for reason, mask in self.masks.items()}
        for reason, mask in masks.items():
            if mask.shape != t.shape:
                raise InputError(f"the mask '{reason}' has the shape {mask.shape}, expected {t.shape}")
        truth = {key: _frozen(values) for key, values in self.truth.items()}
        for key, values in truth.items():
            if values.shape[:1] != t.shape:
                raise InputError(f"the true {key} has the shape {values.shape}, expected {len(t)} samples first")
        ordered = {symbol: signals[symbol] for symbol in SIGNALS if symbol in signals}
        for name, value in (("signals", ordered), ("masks", masks), ("truth", truth)):
            object.__setattr__(self, name, MappingProxyType(value))
        object.__setattr__(self, "t", t)

    @classmethod
    def from_arrays(
        cls,
        t: ArrayLike,
        signals: Mapping[str, ArrayLike],
        joints: Sequence[str] | None = None,
        origin: Origin | None = None,
        truth: Mapping[str, ArrayLike] | None = None,
        notes: Sequence[str] = (),
    ) -> Log:
        """A log made in memory from SI arrays (N, n), such as a simulated one; joints are called joint_1, ... by default."""
        if not signals:
            raise InputError("a log needs at least one signal, such as q or tau")
        arrays = {symbol: np.asarray(values, float) for symbol, values in signals.items()}
        first = next(iter(arrays.values()))
        if first.ndim != 2:
            raise InputError(f"signals of a log have the shape (N, n), not {first.shape}")
        names = tuple(joints) if joints is not None else tuple(f"joint_{j + 1}" for j in range(first.shape[1]))
        exact = {key: np.asarray(values, float) for key, values in (truth or {}).items()}
        return cls(np.asarray(t, float), arrays, names, origin=origin or Origin(), truth=exact, notes=tuple(notes))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        signals = ", ".join(self.signals)
        return f"Log({self.origin}: {len(self)} samples, {self.n} joints, {signals}, {self.duration:g} s)"

    def _repr_html_(self) -> str:
        shown = [symbol for symbol in self.signals if not symbol.startswith(("ddq", "dqr"))]
        rows = [[name, *(line(self.signals[symbol][:, j]) for symbol in shown)] for j, name in enumerate(self.joints)]
        masked = {reason: int(np.count_nonzero(mask)) for reason, mask in self.masks.items()}
        lines = [f"{count} samples masked: {reason}" for reason, count in masked.items()] + list(self.warnings)
        return titled(repr(self), html_table(("joint", *shown), rows), *map(paragraph, lines))

    def table(self) -> dict[str, Array]:
        """The plain form: t, then q1, q2, ... of every signal, SI units."""
        return {"t": self.t} | {f"{s}{j + 1}": x[:, j] for s, x in self.signals.items() for j in range(self.n)}

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def q(self) -> Array | None:
        return self.signals.get("q")

    @cached_property
    def dq(self) -> Array | None:
        """Recorded velocities; None where a joint has none, so that positions have to tell them."""
        dq = self.signals.get("dq")
        return dq if dq is not None and np.isfinite(dq).any(axis=0).all() else None

    @property
    def ddq(self) -> Array | None:
        return self.signals.get("ddq")

    @property
    def tau(self) -> Array | None:
        return self.signals.get("tau")

    @property
    def current(self) -> Array | None:
        return self.signals.get("i")

    @property
    def reference(self) -> Array | None:
        """Reference position."""
        return self.signals.get("qr")

    def need(self, symbol: str) -> Array:
        """A signal that must be there."""
        if symbol not in self.signals:
            if symbol == "tau" and "i" in self.signals:
                raise InputError(f"{self.origin} has currents (i) and no torque", fix=GAINS)
            raise InputError(
                f"{self.origin} has no {SIGNALS[symbol].kind} ({symbol}), only {', '.join(self.signals)}",
                fix=Fix("columns", f'if it is there under another name, say so in the card: columns: {{{symbol}: "NAME_{{}}"}}'),
            )
        return self.signals[symbol]

    @property
    def mask(self) -> Mask:
        """(N,) True for samples that fits should not use, for whatever reason."""
        out = np.zeros(len(self), bool)
        for mask in self.masks.values():
            out |= mask
        return out

    @cached_property
    def breaks(self) -> Breaks:
        """Pauses and jumps of the clock that are never filled in."""
        return Breaks.of(self.t[~self.mask & np.isfinite(self.t)])

    @cached_property
    def running(self) -> Array:
        """(N,) the clock on which samples are laid out: t, but that breaks last as long as the longest gap that is filled."""
        return self.breaks.running(self.t)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last usable sample, breaks of the clock shortened as in `running`."""
        t = self.running[~self.mask]
        return float(t[-1] - t[0]) if len(t) > 1 else 0.0

    @property
    def rate(self) -> float:
        """Mean sampling rate of the usable samples in Hz."""
        usable = int(np.count_nonzero(~self.mask))
        return (usable - 1) / self.duration if self.duration > 0.0 else float("nan")

    @cached_property
    def position_noise(self) -> Array:
        """(n,) standard deviation of the noise of the recorded positions, see `inertica.logs.noise`."""
        return position_noise(self.need("q")[~self.mask] if self.mask.any() else self.need("q"))

    @cached_property
    def repeated(self) -> Mask:
        """(N,) samples that repeat all measured values of the one before, see `inertica.logs.noise`; references need not repeat."""
        other = {"qr", "dqr", "ddqr", "taur", *(symbol for symbol, signal in SIGNALS.items() if signal.partial)}
        measured = [values for symbol, values in self.signals.items() if symbol not in other]
        return repeated_rows(measured) if measured and len(self) > 1 else np.zeros(len(self), bool)

    @cached_property
    def steps(self) -> Mapping[str, Array]:
        """Symbol -> (n,) quantisation steps of recorded positions and torques, 0 where there are none, see `inertica.logs.noise`."""
        recorded = {symbol: self.signals[symbol] for symbol in ("q", "tau") if symbol in self.signals}
        return {symbol: np.array([quantisation_step(x) or 0.0 for x in values.T]) for symbol, values in recorded.items()}

    def sliced(self, t0: float = -np.inf, t1: float = np.inf) -> Log:
        """The samples whose t lies in [t0, t1]; ends beyond 1e8 s are seconds since 1970 when the clock counts from there."""
        low, high = (x - self.origin.start if self.origin.start and 1e8 < abs(x) < np.inf else x for x in (t0, t1))
        inside = np.flatnonzero((self.t >= low) & (self.t <= high))
        if len(inside) < 2:
            t = self.t[np.isfinite(self.t)]
            span = f"it runs from {t.min():g} to {t.max():g} s" if len(t) else "its clock has no value"
            raise InputError(f"{replace(self.origin, interval=(t0, t1))} holds fewer than two samples; {span}")
        lost = int(np.count_nonzero(~np.isfinite(self.t)))
        notes = (f"{lost} samples without a time belong to no slice",) if lost else ()
        ends = slice(inside[0], inside[-1] + 1)
        rows = ends if ends.stop - ends.start == len(inside) else inside  # mostly in one piece, which is copied much more quickly
        return replace(
            self,
            t=np.array(self.t[rows]),
            signals={symbol: np.array(values[rows]) for symbol, values in self.signals.items()},
            channels=tuple(replace(c, samples=np.array(c.samples[rows])) for c in self.channels),
            masks={reason: np.array(mask[rows]) for reason, mask in self.masks.items() if mask[rows].any()},
            origin=replace(self.origin, interval=(t0, t1)),
            notes=(*self.notes, *notes),
            truth={key: np.array(values[rows]) for key, values in self.truth.items()},
        )

    def without(self, *symbols: str) -> Log:
        """The same log without some of its signals; the recorded channels stay."""
        return replace(self, signals={symbol: x for symbol, x in self.signals.items() if symbol not in symbols})

    def without_torque_of(self, joints: Sequence[int]) -> Log:
        """The same log with the torque of some joints (from 0) not recorded."""
        if "tau" not in self.signals or not joints:
            return self
        tau = np.array(self.signals["tau"], float)
        tau[:, list(joints)] = np.nan
        return replace(self, signals={**self.signals, "tau": tau})

    def with_mask(self, mask: ArrayLike, reason: str) -> Log:
        """The same log with more samples masked; the same reason twice covers both."""
        added = np.asarray(mask, bool)
        if added.shape != self.t.shape:
            raise InputError(f"the mask '{reason}' has the shape {added.shape}, expected {self.t.shape}")
        before = self.masks.get(reason, np.zeros(len(self), bool))
        return replace(self, masks={**self.masks, reason: before | added})

    def write_csv(self, path: str | Path) -> None:
        """Write the plain form, gzipped when the name ends in .gz; numbers are written so that they read back exactly."""
        write_csv(Path(path), self.t, self.signals, [note for note in self.notes if note.startswith(SIMULATED)])

    def save(self, path: str | Path) -> None:
        """Write as NPZ (with masks, truth, notes) or, for names in .csv and .csv.gz, in the plain form (signals only)."""
        name = str(path).lower()
        if name.endswith((".csv", ".csv.gz")):
            self.write_csv(path)
        elif name.endswith(".npz"):
            metadata = {"joints": self.joints, "notes": self.notes, "warnings": self.warnings}
            words = {**metadata, "start": self.origin.start, "origin": str(self.origin)}
            write_npz(Path(path), {"t": self.t, **self.signals}, {"mask": self.masks, "truth": self.truth}, words)
        else:
            raise FileError(path, "logs are written as .npz, .csv or .csv.gz")


def _frozen(values: ArrayLike, dtype: type = np.float64) -> NDArray[Any]:
    """A read-only view; the caller's own array stays writable."""
    array: NDArray[Any] = np.asarray(values, dtype).view()
    array.flags.writeable = False
    return array
