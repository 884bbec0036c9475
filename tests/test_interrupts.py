"""Ctrl-C ends every command with exit code 130 and no traceback, whatever it is at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaign import small
from inertica.interrupts import deaf_to_interrupts, interrupts_at_the_end

RUN = [sys.executable, "-c", "import sys; from inertica.cli import run; sys.exit(run())"]


def interrupted(words: list[str], seconds: float) -> tuple[int, str]:
    """Exit code and words of a command that its whole group of processes is interrupted in, as a terminal does."""
    process = subprocess.Popen(
        [*RUN, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # background jobs of a shell ignore it
    )  # fmt: skip
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


@pytest.mark.slow  # by the clock: on a busy machine one signal of a dozen still gets lost inside compiled code
@pytest.mark.parametrize("more", [["--workers", "1"], ["--workers", "2"]])
@pytest.mark.parametrize("seconds", [1.5, 4.0])
def test_campaigns(tmp_path: Path, more: list[str], seconds: float) -> None:
    path = small.written(tmp_path, small.TEXT.replace("runs: 4", "runs: 400"))
    code, out = interrupted(["campaign", str(path), "-o", str(tmp_path / "c"), *more], seconds)
    assert code == 130 and "Traceback" not in out and "Error" not in out, out


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [3.0, 6.0, 9.0, 14.0])
def test_dask(tmp_path: Path, seconds: float) -> None:
    pytest.importorskip("distributed")
    path = small.written(tmp_path, small.TEXT.replace("runs: 4", "runs: 400"))
    code, out = interrupted(["campaign", str(path), "-o", str(tmp_path / "c"), "--dask-local", "2"], seconds)
    assert code == 130 and "Traceback" not in out, out


@pytest.mark.parametrize("held", [interrupts_at_the_end, deaf_to_interrupts])
def test_an_interrupt_within_is_raised_at_the_end(held) -> None:
    done = []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it

    def work() -> None:
        with held():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
