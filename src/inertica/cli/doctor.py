"""Tells what this installation has (processor, graphics card, packages, compiled kernels), tests it and says how fast it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from inertica.cli.console import Answer, progress, table
from inertica.robot.load import load
from inertica.workflow.doctor import examination

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica doctor
inertica doctor --seconds 1 --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", default="tx40", metavar="ROBOT", help="what the self-test simulates (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S", help="for the self-test (default: %(default)s)")


def run(arguments: argparse.Namespace) -> Answer:
    with progress("testing this installation"):
        report = examination(load(arguments.robot), arguments.seconds)

    def text() -> Iterator[RenderableType]:
        cpu, cache = report["processor"], report["cache"]
        fused = "with" if cpu["fused_multiply_add"] else "without"
        threads = f"{cpu['threads']} thread{'s' if cpu['threads'] != 1 else ''}"
        rows = [
            ["inertica", f"{report['inertica']}, Python {report['python']}"],
            ["processor", f"{cpu['name']}, vectors of {cpu['vector_bits']} bits, {fused} fused multiply-add, {threads}"],
            ["compiled kernels", f"{cache['kernels']} in {cache['folder']}, {cache['bytes'] / 1e6:.1f} MB"],
            *([name, version or "not installed"] for name, version in report["packages"].items()),
        ]
        yield table("this installation", ("what", "found"), rows)
        yield table("self-test", ("device", "found"), [[d["device"], _said(d)] for d in report["devices"]])

    return Answer(report, text)


def _said(device: dict[str, Any]) -> str:
    if not device["usable"]:
        return str(device["reason"])
    verdict = "right" if device["passed"] else "WRONG"
    test = f"{verdict} to {device['largest_error']:.0e}, ready after {device['first_use_seconds']:.2g} s"
    return f"{device['name']}: {test}, {device['simulations_per_second']:.3g} seconds of simulated motion (1 kHz) per second"
