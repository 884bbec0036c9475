"""The short form of the fuzz suite: some damaged inputs of every reader; `make fuzz` does 100 000."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.harness import BAD, READ, WARNED, Bench, reproducer
from fuzz.subjects import SUBJECTS

INPUTS = 40
"""Of a reader whose cost is one."""


@pytest.mark.parametrize("name", SUBJECTS)
def test_damaged_inputs_end_in_a_result_or_a_sentence(tmp_path: Path, name: str) -> None:
    subject = SUBJECTS[name]
    bench = Bench(subject, tmp_path)
    sound = bench.read()
    assert sound.kind in (READ, WARNED), sound
    for seed in range(max(round(INPUTS / subject.cost), 3)):
        found = bench.outcome(seed)
        assert found.kind != BAD, f"{found.words}\n{found.trace}\n{reproducer(name, seed)}"
