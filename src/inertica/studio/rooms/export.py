"""Export: the identified model in the formats of other programs, with what a format cannot hold, and how to use it there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import inertica as ia
from inertica.robot.formats.model_format import ModelFormat
from inertica.robot.formats.table import FORMATS, creating_format, format_named
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused, inside
from inertica.studio.project import Project
from inertica.studio.room import OPEN, READY, Document, Room, quoted, same
from inertica.studio.rooms.trust import selected
from inertica.workflow.export.code import LANGUAGES
from inertica.writing import write_whole

OTHERS = {
    "parameters": ("Parameters, CSV", "Every standard parameter with interval, prior and trust label.", "A table, no geometry."),
    "report": ("Report, HTML", "One page with everything, for colleagues and for the record.", "To read, not to load."),
} | {name: (x.title, x.about, "Values, no intervals.") for name, x in LANGUAGES.items()}  # fmt: skip
"""What is written besides model files -> title, what it is, what it cannot hold."""


def state(project: Project) -> tuple[str, str]:
    if not project.results:
        return OPEN, "after a first result"
    count = sum(1 for p in (project.folder / "exports").iterdir() if not p.name.startswith("."))
    return (READY, f"{count} file{'s' if count > 1 else ''} written") if count else (OPEN, "ready to write")


def view(project: Project, arguments: Arguments) -> Document:
    name = selected(project)
    source = project.result(name).description.source.format if name else None
    models = {f.name: (f.title, f.about, f.lacks) for f in FORMATS.values() if source is None or f.name == source or f.create}
    rows = [
        {"format": key, "title": title, "about": about, "lacks": lacks}
        for key, (title, about, lacks) in (models | OTHERS).items()
    ]
    written = sorted(p for p in (project.folder / "exports").rglob("*") if p.is_file() and not p.name.startswith("."))
    folder = f"results/{name or 'result-1'}"
    form = format_named(source) if source else next(iter(FORMATS.values()))
    target = f"exports/identified{form.suffix}"
    return {
        "results": project.results,
        "selected": name,
        "formats": rows,
        "source": source,
        "files": [{"file": str(p.relative_to(project.folder)), "size": p.stat().st_size} for p in written],
        "snippets": snippets(form, target, folder),
        "same": same(
            [["inertica", "export", folder, f"--{form.word}", target]],
            [f'result = ia.Result.load({quoted(folder)})', f'ia.export_model(result, {quoted(target)})',
             'ia.write_parameters(result, "exports/parameters.csv")'],
        ),
    }  # fmt: skip


def snippets(form: ModelFormat, target: str, folder: str) -> list[Document]:
    """How to load what was written elsewhere: a file of a format, or the folder of the result."""
    new = creating_format()  # MuJoCo reads it; a copy of the model where that is in the format, too
    mjcf = target if form is new else f"exports/identified-{new.name}{new.suffix}"
    return [
        {"title": "Pinocchio", "language": "python", "text": "\n".join(_pinocchio(form, target, folder))},
        {"title": "MuJoCo", "language": "python", "text": "import mujoco\n\n"
         f'model = mujoco.MjModel.from_xml_path("{mjcf}")\ndata = mujoco.MjData(model)'},
        {"title": "ROS 2", "language": "python", "text": "\n".join(_ros(form, target))},
    ]  # fmt: skip


def _ros(form: ModelFormat, urdf: str) -> list[str]:
    lines = ["# launch file", "from launch import LaunchDescription", "from launch_ros.actions import Node", "",
             f'urdf = open("{urdf}").read()', "def generate_launch_description():", "    return LaunchDescription([",
             '        Node(package="robot_state_publisher", executable="robot_state_publisher",',
             '             parameters=[{"robot_description": urdf}]),', "    ])"]  # fmt: skip
    if "ROS 2" in form.programs:
        return lines
    return ["# ROS 2 reads URDF, and this model is none: load the robot's URDF in the room Robot and identify with it", *lines]


def _pinocchio(form: ModelFormat, urdf: str, folder: str) -> list[str]:
    if "Pinocchio" in form.programs:
        return ["import pinocchio as pin", "", f'model = pin.buildModelFromUrdf("{urdf}")', "data = model.createData()",
                "tau = pin.rnea(model, data, q, v, a)   # armature counts when set, friction does not"]  # fmt: skip
    return ["import inertica as ia", "", f"model = ia.to_pinocchio(ia.Result.load({quoted(folder)}))"]


def write(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: write one format; model files are read again and their torques compared before they count as written."""
    name = arguments.text("result")
    kind = arguments.word("format", (*FORMATS, *OTHERS))
    folder, exports = project.result_folder(name), project.folder / "exports"
    result = project.result(name)
    say(f"writing {FORMATS[kind].title if kind in FORMATS else OTHERS[kind][0]}")
    if kind in FORMATS:
        same_format = kind == result.description.source.format
        target = (
            exports / f"identified{'' if same_format else f'-{kind}'}{FORMATS[kind].suffix}"
        )  # each has its own card for what it lacks
        approximate, force = arguments.flag("approximate", True), arguments.flag("force")
        exported = ia.export_model(result, target, kind, approximate=approximate, force=force)
        files = [target.name, *([exported.extra.name] if exported.extra else [])]
        return {"files": [f"exports/{f}" for f in files], "sentence": f"{exported.sentence}; {exported.comparison}",
                "notes": [*exported.notes, *exported.warnings]}  # fmt: skip
    if kind == "parameters":
        ia.write_parameters(result, exports / "parameters.csv")
        return {"files": ["exports/parameters.csv"], "sentence": "the table was written", "notes": []}
    if kind == "report":
        notes: tuple[str, ...] = ()
        if (folder / "report.html").is_file():
            write_whole(exports / "report.html", (folder / "report.html").read_bytes())
        else:  # a result that was made elsewhere
            say("reading the logs of the result again")
            motions, notes = ia.motions_again(result)
            ia.write_report(result, motions, exports / "report.html")
        return {"files": ["exports/report.html"], "sentence": "the report was written", "notes": list(notes)}
    program = ia.export_code(result, exports / f"code-{kind}", kind)
    program_files = [f"exports/code-{kind}/{file}" for file in program.files]
    sentence = "; ".join(x for x in (program.sentence, program.comparison) if x)
    return {"files": program_files, "sentence": sentence, "notes": [*program.notes, *program.warnings]}


def remove(project: Project, arguments: Arguments) -> Document:
    """Delete a written file."""
    path = inside(project.folder / "exports", arguments.text("file").removeprefix("exports/"))
    if not path.is_file():
        raise Refused("there is no such file among the exports", 404)
    path.unlink()
    project.changed()
    return {}


ROOM = Room(
    "export",
    "Export",
    "The identified model for other programs, and what each format cannot hold.",
    state,
    view,
    {"remove": remove},
    {"write": write},
)
