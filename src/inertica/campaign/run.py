"""Runs a campaign: what is not in the store yet is computed and kept; the same call goes on where another one was ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inertica.campaign.engines import CampaignEngine, Processes
from inertica.campaign.plan import Unit, plan
from inertica.campaign.program import code_hash
from inertica.campaign.spec import Spec
from inertica.campaign.specfile import read_spec
from inertica.campaign.store import Store

RETRIES = 2
"""Times that a unit is tried again after an error of its own."""

LOSSES = 20
"""Times that units whose worker died are tried again in all."""


@dataclass(frozen=True)
class Progress:
    """How far a campaign is.

    Args:
        done, total: units.
        failed: units given up.
        seconds: since this call began.
        remaining: seconds, by the pace so far; None before the first unit.
    """

    done: int
    total: int
    failed: int
    seconds: float
    remaining: float | None


def run(
    store: Store,
    engine: CampaignEngine,
    *,
    retries: int = RETRIES,
    mix_devices: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Compute all units that are not finished.

    Args:
        store: where they go.
        engine: where they are computed.
        retries: of a unit that raises; then its error is recorded, and a later call tries it again.
        mix_devices: go on although finished units were computed on another device.
        progress: told after every unit.
    """
    with store.locked():
        store.warn_of_damage("computed again")
        store.claim(engine.device, mix_devices)
        waiting, total = store.pending(), len(plan(store.spec))
        begun, before, failed = time.perf_counter(), total - len(waiting), 0
        attempts: dict[str, int] = {}
        losses, done = 0, before
        state = Progress(done, total, failed, 0.0, None)
        while waiting:
            again: list[Unit] = []
            for outcome in engine.outcomes(store.spec.document(), waiting, code_hash()):
                unit = outcome.unit
                if outcome.content is not None:
                    store.finish(unit, outcome.content)
                    done += 1
                elif outcome.lost and losses < LOSSES:
                    losses += 1
                    again.append(unit)
                else:
                    attempts[unit.id] = attempts.get(unit.id, 0) + 1
                    if attempts[unit.id] <= retries and not outcome.lost:
                        again.append(unit)
                    else:
                        store.fail(unit, outcome.error, attempts[unit.id])
                        failed += 1
                passed = time.perf_counter() - begun
                pace = passed / max(done + failed - before, 1)
                state = Progress(done, total, failed, passed, pace * (total - done - failed) if done > before else None)
                if progress is not None:
                    progress(state)
            waiting = again
        return state


def run_campaign(
    spec: str | Path | Spec,
    folder: str | Path,
    *,
    engine: CampaignEngine | None = None,
    new: bool = False,
    mix_devices: bool = False,
    mix_versions: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Store:
    """A campaign into a folder, or the rest of one that is there already.

    Args:
        spec: its file, the name of a shipped one, or the spec itself.
        folder: where its rows are kept.
        engine: where it is computed; all cores of this machine by default.
        new: empty a folder that holds another campaign.
        mix_devices: go on although finished units were computed on another device than the engine's.
        mix_versions: go on although finished units were computed by another state of the program.
        progress: told after every unit.

    Examples:
        >>> report = ia.run_campaign("study.yaml", "study")
    """
    made = spec if isinstance(spec, Spec) else read_spec(spec)
    store = Store.begin(folder, made, new=new, mix_versions=mix_versions)
    run(store, engine or Processes(), mix_devices=mix_devices, progress=progress)
    return store
