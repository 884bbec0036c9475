"""Names of files as people read them: without folders, not too long, and still told apart."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 44
"""Characters of a name that are shown."""


def short_names(names: Sequence[str]) -> list[str]:
    """Data sets without their folders, and long names cut in the middle, as long as that tells them apart."""
    bare = [name.replace("\\", "/").rsplit("/", 1)[-1] for name in names]
    shortest = bare if len(set(bare)) == len(bare) else list(names)
    short = [shortened(name) for name in shortest]
    return short if len(set(short)) == len(short) else shortest


def shortened(name: str, longest: int = LONGEST) -> str:
    """A long name with its middle left out; time slices and endings stay."""
    if len(name) <= longest:
        return name
    tail = longest // 2 + 4
    return f"{name[: longest - tail - 1]}\N{HORIZONTAL ELLIPSIS}{name[-tail:]}"
