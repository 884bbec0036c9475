"""The whole workflow in a browser: robot, motion, data, identification, trust, export.

Opens a local web application on this machine only.  Everything it does is kept in a project folder of plain files and opens again as
it was left; logs and models named here stay where they are.  The address holds a token that changes with every start; without it
nothing is served.  Ends with Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import warnings

from inertica.cli.console import Answer
from inertica.errors import ModelWarning

EXAMPLES = """\
inertica studio
inertica studio arm.urdf run1.csv run2.csv --project arm/
inertica studio tx40 --port 8000 --no-browser
"""


def add(parser: argparse.ArgumentParser) -> None:
    from inertica.studio.start import FOLDER

    parser.add_argument(
        "robot", metavar="ROBOT", nargs="?", help="catalog name, model file or card; the project's own by default"
    )
    parser.add_argument("logs", metavar="LOG", nargs="*", help="logs to add to the project; they stay where they are")
    parser.add_argument("--project", metavar="DIR", default=FOLDER, help=f"folder of the project (default {FOLDER})")
    parser.add_argument("--port", type=int, default=0, help="to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="to listen on (default 127.0.0.1, this machine only)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser, only print the address")


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.studio.start import start

    started = start(arguments.project, arguments.robot, arguments.logs, port=arguments.port, host=arguments.host)
    if started.warning:
        warnings.warn(ModelWarning(started.warning), stacklevel=1)
    folder = str(started.project.folder)
    if arguments.json:  # now, for the program that waits for the address, and nothing else at the end
        messages = [started.warning] if started.warning else []
        print(json.dumps({"project": folder, "address": started.address, "warnings": messages}, ensure_ascii=False), flush=True)
    else:
        print(f"project: {folder}\nopen in a browser: {started.address}\nCtrl-C ends the studio", flush=True)
    started.run(not arguments.no_browser)
    return Answer({"project": folder}, lambda: iter([f"the project is in {folder}"]), written=arguments.json)
