"""Whatever files call things, what is written from them holds no code of theirs: programs, pages, tables, figures, LaTeX.

Independent parsers are the referees: the preprocessor of a C compiler and Python's own parser see the same program whatever its
robot is called, an HTML parser the same elements and scripts; programs are compiled and run beside a canary, a file that any piece of
hostile text would make.  Each test has a short form; the long ones (`slow`) make 10 000 tries
(500 where every try compiles and runs programs).
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import json
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import inertica as ia
import pair
from hostile import MARK, hostile_texts, in_plain, in_xml, in_yaml, pieces
from inertica.campaign.summary import Line, RowKey
from inertica.campaign.written import as_csv, as_html, as_latex
from inertica.dynamics.code.c import Expected, c_files
from inertica.dynamics.code.functions import states
from inertica.dynamics.code.python import python_files
from inertica.dynamics.code.text import CodeProgram, identifier
from inertica.dynamics.engine import Engine
from inertica.errors import InerticaError, ModelWarning
from inertica.escape import code_comment, csv_text, figure_text, file_stem, tex, xml_comment
from inertica.identifiability.base import base_model
from inertica.report.fleet import fleet
from inertica.report.paper import write_figure
from inertica.report.report import report
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.terms import UserTerm
from inertica.scalars import sin
from inertica.workflow.export import code as writer
from inertica.workflow.export.code import export_code
from inertica.workflow.export.model import parameters_csv
from inertica.workflow.identify.result import RESULT, Result

COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
ROOT = Path(ia.__file__).parent

CARD = """\
model: arm.urdf
name: card
joints: [shoulder, elbow]
friction: {elbow: [viscous, coulomb], shoulder: [viscous, {stribeck: {vs: 0.1}}]}
armature: true
fixed: {Ia1: 0.02}
terms: [{name: S2, joint: elbow, formula: "sin(q2)", unit: N m}, {name: T1, torque: {shoulder: "q1*q2"}, unit: N m/rad^2}]
spring: {joint: elbow, rest: 0.1}
payload: {link: lower, position: [0.1, 0, 0]}
loop: {law: pd, kp: [10, 10], kd: [1, 1], rate: 1000}
noise: {low: {q: 1.0e-4, tau: 0.1}}
columns: {q: [p1, p2]}
units: {q: deg, t: ms}
"""
DH = """\
name: two
types: [R, R]
joints: [one, two]
dh: {convention: proximal, alpha: [0, 1.5707963267948966], a: [0, 0.3], d: [0, 0], theta: [0, 0]}
friction: [viscous, coulomb]
terms: [{name: S2, joint: two, formula: "sin(q2)", unit: N m}]
links:
  - {M: 2.0, MX: 0.2, ZZ: 0.1, Fv: 0.5, Fc: 0.8}
  - {M: 1.0, MX: 0.15, YY: 0.05, ZZ: 0.05, Fv: 0.2, Fc: 0.3}
"""


# --- referees --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """The file that any of the pieces would make; it is not there in the end."""
    path = tmp_path / MARK
    yield path
    assert not path.exists(), "something of a file was executed"


STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def c_tokens(folder: Path, programs: Sequence[dict[str, str]]) -> list[str]:
    """C programs with their headers as the preprocessor sees them, trigraphs and line splices included, strings emptied."""
    system = folder / "system"
    system.mkdir(parents=True, exist_ok=True)
    for header in ("math.h", "stdio.h"):
        (system / header).write_text("")
    lines = []
    for k, files in enumerate(programs):
        (folder / str(k)).mkdir(exist_ok=True)
        for name in ("arm.h", "arm.c"):
            (folder / str(k) / name).write_bytes(files[name].encode("ascii"))
        lines += [f'#include "{k}/arm.c"', "#undef ARM_H", "end of a program;"]
    (folder / "all.c").write_text("\n".join([*lines, ""]))
    words = [str(COMPILER), "-std=c99", "-E", "-P", "-nostdinc", "-isystem", str(system), "all.c"]
    done = subprocess.run(words, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:2000]
    return [STRING.sub('""', text).strip() for text in done.stdout.decode("ascii").split("end of a program;")[:-1]]


PARSE = """
import ast, hashlib, json, sys
def seen(text):
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
json.dump([seen(text) for text in json.load(sys.stdin)], sys.stdout)
"""


def python_trees(texts: list[str]) -> list[str]:
    """Digests of the syntax trees of programs, strings emptied, made in another process."""
    done = subprocess.run([sys.executable, "-I", "-c", PARSE], input=json.dumps(texts), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


GUARDED = """
import json, sys, math
allowed = {"compile", "exec", "import", "marshal.loads"}
seen = []
def watch(event, arguments):
    if watching and event not in allowed and not event.startswith(("object.", "sys.")):
        seen.append(event)
watching = False
sys.addaudithook(watch)
code = compile(open(sys.argv[1], encoding="ascii").read(), "program", "exec")
module = {"__name__": "program"}
watching = True
exec(code, module)
watching = False
json.dump({"events": seen, "names": sorted(k for k in module if k != "__builtins__"), "joints": module["JOINTS"]}, sys.stdout)
"""


def run_guarded(program: Path) -> dict:
    """What running a program did, and what it defines."""
    done = subprocess.run([sys.executable, "-I", "-c", GUARDED, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


class Structure(HTMLParser):
    """Elements with the names of their attributes, and everything that could run or be fetched."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.active: list[str] = []
        self.inside: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = tuple(sorted(name for name, _ in attributes))
        self.elements[tag, names] += 1
        self.active += [f"{name}={value}" for name, value in attributes if name.startswith("on") or name in ("src", "style")]
        self.active += [f"{name}={value}" for name, value in attributes if name in ("href", "id", "class", "action", "srcdoc")]
        kind = dict(attributes).get("type")
        self.inside = tag if tag == "style" or (tag == "script" and kind != "application/json") else None

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.active.append(f"{self.inside}: {data}")

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_comment(self, data: str) -> None:
        self.elements["!--", (data,)] += 1


def assert_like(text: str, harmless: Structure) -> None:
    """The same kinds of elements with the same attributes; nothing that runs or is fetched is new or holds hostile text."""
    found = Structure(text)
    assert set(found.elements) <= set(harmless.elements), set(found.elements) - set(harmless.elements)
    for tag in ("script", "style", "img", "iframe", "link", "object", "embed", "form", "meta", "base", "input", "section"):
        count = lambda s: sum(n for (name, _), n in s.elements.items() if name == tag)  # noqa: B023, E731
        assert count(found) == count(harmless), tag
    assert not [entry for entry in found.active if MARK in entry]


def assert_no_formulas(table: str) -> None:
    """No cell of a CSV is what a spreadsheet would compute."""
    import csv

    for row in csv.reader(table.splitlines(keepends=True)):  # which ends lines wherever anybody might
        for cell in row:
            if cell.lstrip()[:1] in ("=", "+", "-", "@"):
                float(cell)


# --- programs ----------------------------------------------------------------------------------------------------------------------


@cache
def harmless() -> tuple[Parameters, CodeProgram, Expected]:
    """A small program with a term of a user's, whose names are then changed; functions are traced once."""
    description = load(pair.folder() / "pair.urdf")
    description = description.with_terms((*description.layout.terms, UserTerm("user", lambda x: {0: sin(x.q[0])}, "N m")))
    values = description.prior.replaced({"user": 0.5})
    base = base_model(values.layout)
    program, _ = writer.program_of(values, base, False, "arm")
    q, dq, ddq = states(2, 3)
    expected = Expected(q, dq, ddq, np.asarray(Engine(values.layout).inverse_dynamics(q, dq, ddq, values)))
    return values, program, expected


def renamed(texts: Iterator[str]) -> dict[str, str]:
    """The files of the program when everything that can be called something is called something hostile."""
    values, program, expected = harmless()
    robot = values.layout.robot
    joints = tuple(replace(joint, name=next(texts), link=next(texts)) for joint in robot.joints)
    terms = tuple(replace(t, name=next(texts)) if isinstance(t, UserTerm) else t for t in values.layout.terms)
    layout = replace(values.layout, robot=replace(robot, name=next(texts), joints=joints), terms=terms)
    called = Parameters(layout, values.values, values.shapes, next(texts))
    remarks = writer._remarks(called, len(program.model.retained), True)
    meanings = [f"{meaning}, {next(texts)}" for meaning in program.meanings]
    hostile = replace(program, model=replace(program.model, layout=layout), remarks=remarks, meanings=meanings)
    return c_files(hostile, expected) | python_files(hostile)


def assert_programs_stay(folder: Path, canary: Path, tries: int, seed: int) -> None:
    _, program, expected = harmless()
    texts = hostile_texts(seed, canary)
    plain = c_files(program, expected) | python_files(program)
    tried = [renamed(texts) for _ in range(tries)]
    wanted, *found = c_tokens(folder, [plain, *tried])
    assert "arm_inverse_dynamics" in wanted and MARK not in wanted
    assert len(found) == tries and set(found) == {wanted}
    assert len(set(python_trees([files["arm.py"] for files in (plain, *tried)]))) == 1


@compiled
def test_programs_are_the_same_whatever_things_are_called(tmp_path: Path, canary: Path) -> None:
    assert_programs_stay(tmp_path, canary, 40, 0)


@compiled
@pytest.mark.slow
def test_programs_are_the_same_in_ten_thousand_tries(tmp_path: Path, canary: Path) -> None:
    for seed in range(100):
        assert_programs_stay(tmp_path, canary, 100, seed)


@compiled
def test_names_arrive_as_they_are_and_nothing_else_does(tmp_path: Path, canary: Path) -> None:
    """Compiled and run: strings of the programs are the very names, in UTF-8; no symbol and no event besides those of any program."""
    texts = [t for t in pieces(canary) if "\x00" not in t]
    files = renamed(iter(texts * 3))
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="ascii", newline="")
    words = [str(COMPILER), "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-overlength-strings", "-Wno-trigraphs"]
    words += ["-fPIC", "-shared", "-o", "libarm.so", "arm.c", "-lm"]
    subprocess.run(words, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "libarm.so"))
    names = [n.decode() for n in (ctypes.c_char_p * 2).in_dll(library, "arm_joint_names")]
    assert names == [texts[0], texts[2]]
    assert not hasattr(library, MARK)
    ran = run_guarded(tmp_path / "arm.py")
    assert ran["joints"] == names and ran["events"] == []
    plain = tmp_path / "plain.py"
    program = harmless()[1]
    plain.write_text(python_files(program)["arm.py"])
    assert ran["names"] == run_guarded(plain)["names"] and MARK not in ran["names"]
    subprocess.run([str(COMPILER), "-std=c99", "-o", "test", "arm.c", "arm_test.c", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run(["./test"], cwd=tmp_path, capture_output=True).returncode == 0


def test_the_guard_sees_what_a_program_does(tmp_path: Path, canary: Path) -> None:
    """A program that is not ours: what the tests above would see."""
    program = tmp_path / "evil.py"
    program.write_text("JOINTS = ()\nimport os\nos.listdir('.')\nkanarie = 1\n")
    ran = run_guarded(program)
    assert "os.listdir" in ran["events"] and MARK in ran["names"]
    assert Structure("<p onclick=kanarie()>x</p><script>kanarie</script>").active == ["onclick=kanarie()", "script: kanarie"]


@pytest.mark.parametrize("name", ["math", "stdio", "x" * 400, "../../etc/passwd", "class", "9", "é", "CON", ""])
def test_programs_have_names_of_their_own(name: str) -> None:
    word = identifier(name)
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,65}", word) and word not in ("math", "stdio", "class")


# --- files in, programs and tables out ---------------------------------------------------------------------------------------------


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "arm.urdf").write_text(pair.URDF)
    (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder / name


SOURCES: dict[str, tuple[str, list[Callable[[str], str]]]] = {
    "card.yaml": (CARD, in_yaml(CARD)),
    "dh.yaml": (DH, in_yaml(DH)),
    "arm.urdf": (pair.URDF, in_xml(pair.URDF)),
    "arm.xml": (pair.MJCF, in_xml(pair.MJCF)),
}


def exported(path: Path, folder: Path) -> bool:
    """Whether a file can be read; then programs of it are written, compiled and run, and its torques go into a report of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            description = load(path)
        except InerticaError:
            return False
        c = export_code(description, folder / "c", "c", name="arm")
        python = export_code(description, folder / "python", "python", name="arm")
    assert python.difference is not None and python.difference < 1e-12
    assert run_guarded(folder / "python" / "arm.py")["events"] == []
    if COMPILER is not None:
        words = [COMPILER, "-std=c99", "-fsyntax-only", *(name for name in c.files if name.endswith(".c"))]
        assert subprocess.run(words, cwd=folder / "c").returncode == 0
        (seen,) = c_tokens(folder / "seen", [{name: (folder / "c" / name).read_text("ascii") for name in c.files}])
        assert MARK not in seen
    return True


def assert_files_stay(tmp_path: Path, canary: Path, source: str, tries: int, seed: int) -> Counter[bool]:
    _, edits = SOURCES[source]
    texts, outcomes = hostile_texts(seed, canary), Counter[bool]()
    assert exported(written(tmp_path / "plain", source, SOURCES[source][0]), tmp_path / "out")
    for k in range(tries):
        text = edits[(7 * k + seed) % len(edits)](next(texts))
        outcomes[exported(written(tmp_path / "in", source, text), tmp_path / "out")] += 1
    return outcomes


@pytest.mark.parametrize("source", SOURCES)
def test_every_string_of_a_model_file(tmp_path: Path, canary: Path, source: str) -> None:
    outcomes = assert_files_stay(tmp_path, canary, source, len(SOURCES[source][1]) // (1 if source == "card.yaml" else 2), 1)
    assert outcomes[False] and outcomes[True]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_every_string_of_a_model_file_often(tmp_path: Path, canary: Path, source: str) -> None:
    assert_files_stay(tmp_path, canary, source, 500, 2)


def test_the_card_that_ran_a_command(tmp_path: Path, canary: Path) -> None:
    """The unit of a term went into a comment of the program, and the comment ended with its line."""
    unit = f"1\n *[__import__('os').system('touch {canary}')][:0], #"
    text = CARD.replace("unit: N m}", f"unit: {json.dumps(unit)}}}")
    with pytest.raises(InerticaError, match=r"card\.yaml:7: '1\n .* is not the unit of a parameter; write a product of kg, m, s"):
        load(written(tmp_path, "card.yaml", text))
    for unit in ("Nm", "N*m", "kg/m/s", "N m\n", "furlong", "kg^99", "1 "):
        with pytest.raises(InerticaError, match="is not the unit"):
            UserTerm("K", lambda x: {0: x.q[0]}, unit)
    for unit in ("1", "", "N m", "kg m^2", "N m s^2/rad^2", "1/s", "V s/rad"):
        assert UserTerm("K", lambda x: {0: x.q[0]}, unit).unit == unit


# --- results -----------------------------------------------------------------------------------------------------------------------


@cache
def saved() -> Path:
    """The folder of a result, written once."""
    folder = pair.folder() / "saved"
    ia.write_folder(pair.identified(), folder, [pair.files()[1]], validate=[pair.files()[2]])
    return folder


@cache
def plain_report() -> Structure:
    return Structure(report(Result.load(saved()), pair.motions()))


DAMAGED = (InerticaError, LookupError, TypeError, ValueError, AttributeError)
"""What a result may end in that lacks a key or has another word in its place: what is said then is not the subject here."""


def assert_result_stays(folder: Path, result: Result) -> None:
    """Everything that a result is written as, as far as it is whole."""
    with contextlib.suppress(*DAMAGED):
        assert_like(report(result, pair.motions()), plain_report())
    assert_no_formulas(parameters_csv(result))
    assert_no_formulas(fleet([result, result], ["=1+1", "-a|b"]).table())
    code = export_code(result, folder / "python", "python", name="arm")
    assert run_guarded(folder / "python" / code.files[0])["events"] == []


def results_with(
    edits: list[Callable[[str], str]], name: str, folder: Path, texts: Iterator[str], every: int
) -> Iterator[Result]:
    """The saved result with one string of one of its files replaced, as far as it can be read."""
    for edit in edits[::every]:
        target = folder / "result"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(saved(), target)
        (target / name).write_text(edit(next(texts)), encoding="utf-8", errors="surrogatepass")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                yield Result.load(target)
            except DAMAGED:
                continue


def result_edits(name: str) -> list[Callable[[str], str]]:
    text = (saved() / name).read_text()
    if name == RESULT:
        document = json.loads(text)
        del document["checksum"]  # an edited result is refused by it; one without it is an older one
        return [lambda new, edit=edit: json.dumps(edit(new)) for edit in in_plain(document)]
    return in_xml(text) if name.endswith(".urdf") else in_yaml(text)


@pytest.mark.parametrize(("name", "every"), [(RESULT, 60), ("robot.yaml", 3), ("model.urdf", 4)])
def test_every_string_of_a_saved_result(tmp_path: Path, canary: Path, name: str, every: int) -> None:
    read = 0
    for result in results_with(result_edits(name), name, tmp_path, hostile_texts(3, canary), every):
        read += 1
        assert_result_stays(tmp_path, result)
    assert read


@pytest.mark.slow
def test_every_string_of_a_saved_result_often(tmp_path: Path, canary: Path) -> None:
    for name, every in ((RESULT, 15), ("robot.yaml", 1), ("model.urdf", 1)):
        for result in results_with(result_edits(name), name, tmp_path, hostile_texts(4, canary), every):
            assert_result_stays(tmp_path, result)


# --- tables, figures, LaTeX, pages -------------------------------------------------------------------------------------------------


def lines_of(texts: Iterator[str]) -> list[Line]:
    """Lines of a campaign's table whose every word is hostile."""
    figures = dict.fromkeys(("d_q", "d_tau", "d_par", "d_beta", "seconds", "iterations", "simulations"), 0.5)
    place = lambda: RowKey(*islice(texts, 4), 0.0, 1, next(texts), next(texts))  # noqa: E731
    return [Line(place(), figures, figures, (1, 2), 0.5, 0.9, 0.1, 1, next(texts)) for _ in range(5)]


def assert_tables_stay(canary: Path, tries: int, seed: int) -> None:
    texts = hostile_texts(seed, canary)
    plain = lines_of(iter(lambda: "x", ""))
    html = Structure(as_html([replace(line, place=replace(line.place, method=str(k))) for k, line in enumerate(plain)]))
    for _ in range(tries):
        found = lines_of(texts)
        assert_no_formulas(as_csv(found))
        assert set(Structure(as_html(found)).elements) <= set(html.elements)
        latex = as_latex(found)
        for allowed in (
            r"\\textbackslash\{\}",
            r"\\[\^~]\{\}",
            r"\\[&%#_{}$]",
            r"\\(begin|end)\{(table|tabular)\}",
            r"\\caption\{",
        ):
            latex = re.sub(allowed, "", latex)
        assert not set(re.findall(r"\\[a-zA-Z]+|\$|%|#", latex)) - {"\\hline"}
        words = list(islice(texts, 4))
        assert len(csv_text([words]).splitlines()) == 1
        assert_no_formulas(csv_text([words]))


def test_tables_of_campaigns(canary: Path) -> None:
    assert_tables_stay(canary, 30, 6)


@pytest.mark.slow
def test_tables_of_campaigns_often(canary: Path) -> None:
    assert_tables_stay(canary, 10_000, 7)


def test_numbers_in_tables_stay_numbers() -> None:
    assert csv_text([["a", -1.5, "-1.5e-3", "+2", "", "-inf"]]) == "a,-1.5,-1.5e-3,+2,,-inf\n"
    assert csv_text([["=1", "+a", "-a", "@a", "\t=a", "a=1\r=2", " =1"]]) == "'=1,'+a,'-a,'@a,' =a,a=1 =2,' =1\n"


def test_every_function_of_every_language(canary: Path) -> None:
    """What the ends of the languages are, never comes out."""
    for text in islice(hostile_texts(8, canary), 2000):
        comment = code_comment(text)
        assert re.fullmatch(r"[ -~]*", comment) and not re.search(r"[\\\"'?\n]|\*/|/\*", comment)
        inner = xml_comment(text)[4:-3]
        assert "--" not in inner and not inner.endswith("-") and "\n" not in inner
        assert "\n" not in tex(text)
        assert figure_text(text).count("$") == figure_text(text).count(r"\$")
        stem = file_stem(text)
        assert "/" not in stem and not stem.startswith(".") and 0 < len(stem) <= 60


def test_names_are_no_formulas_in_figures(tmp_path: Path, canary: Path) -> None:
    """Matplotlib would refuse them, or set them as mathematics."""
    result = pair.identified()
    robot = result.description.robot
    names = [r"$\frac{kanarie}$ </text><script>", r"\$a$ \input{x} $"]
    joints = tuple(replace(joint, name=name, link=name) for joint, name in zip(robot.joints, names, strict=True))
    called = replace(result, description=replace(result.description, robot=replace(robot, joints=joints)))
    for kind in ("torque", "map", "friction"):
        picture = write_figure(called, pair.motions(), kind, tmp_path / f"{kind}.svg").read_text()
        tags = {etree.QName(node).localname for node in etree.fromstring(picture.encode()).iter() if isinstance(node.tag, str)}
        assert "script" not in tags and "kanarie" in picture, kind


def test_model_files_are_still_model_files(tmp_path: Path, canary: Path) -> None:
    """Comments that are written into models hold names and labels."""
    result = pair.identified()
    for text in ("-->" + MARK, "a---b--", f"--><{MARK}/>"):
        hostile = replace(result, labels=dict.fromkeys(result.labels, text))
        for suffix in ("urdf", "xml"):
            target = tmp_path / f"model.{suffix}"
            ia.export_model(hostile, target, force=True)
            assert not etree.parse(target).findall(f".//{MARK}") and "- -" in target.read_text()
            assert load(target).robot.joint_names == result.description.robot.joint_names


# --- the studio --------------------------------------------------------------------------------------------------------------------


def test_lines_that_the_studio_shows_are_what_they_seem(tmp_path: Path, canary: Path) -> None:
    """Names of logs go into lines of Python and of a shell that people copy."""
    pytest.importorskip("starlette", reason="the extra inertica[studio] is not installed")
    from inertica.studio.arguments import Arguments
    from inertica.studio.project import Project
    from inertica.studio.rooms import ROOMS

    project = Project(tmp_path / "project")
    project.choose_robot("planar2")
    calls: dict[str, set[str]] = {}
    for k, text in enumerate([None, *pieces(canary)]):
        name = "run.csv" if text is None else f"{text}.csv".replace("/", "|").replace("\x00", "")[-200:]
        (tmp_path / name).write_text("t,q1,q2,tau1,tau2\n0,0,0,0,0\n")
        project.update(logs=[], links=[])
        project.add_log(project.link(tmp_path / name))
        for room in ("data", "identify", "motion", "robot"):
            shown = ROOMS[room].view(project, Arguments({}))["same"]
            tree = ast.parse("\n".join(shown["python"]))
            called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            assert calls.setdefault(room, called) == called
            for line in shown["shell"]:
                assert shlex.split(line)[0] == "inertica"
        if k:
            lines = ROOMS["data"].view(project, Arguments({}))["same"]["shell"]
            assert str(tmp_path / name) in [word for line in lines for word in shlex.split(line)]


def test_the_pages_never_take_text_for_html() -> None:
    """The studio sets text only; the report's script makes drawings of numbers, and what it writes of words it escapes."""
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc", 'setTimeout("')
    for script in (ROOT / "studio" / "static").rglob("*.js"):
        if "vendor" in script.parts:
            continue
        text = script.read_text(encoding="utf-8")
        for way in ways:
            assert way not in text, (script.name, way)
    report_script = (ROOT / "report" / "page.js").read_text(encoding="utf-8")
    assert report_script.count("innerHTML") == 2 and "escaped(body.words)" in report_script
    assert not re.search(r"eval\(|new Function|document\.write|insertAdjacentHTML|srcdoc", report_script)


def test_a_robot_named_like_a_path_stays_in_the_project(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="the extra inertica[studio] is not installed")
    from inertica.errors import InputError
    from inertica.studio.arguments import Arguments
    from inertica.studio.project import Project
    from inertica.studio.rooms import motion

    project = Project(tmp_path / "project")
    (project.folder / "model" / "two.yaml").write_text(DH.replace("name: two", "name: x/../../catalog/tx40"))
    project.choose_robot("model/two.yaml")
    with pytest.raises(InputError, match="no identification trajectory"):
        motion.shipped(project, Arguments({}))


# --- the package itself --------------------------------------------------------------------------------------------------------------

EXECUTES = re.compile(
    r"(?<![.\w])(?<!def )(exec|eval|compile|__import__)\(|\bos\.(system|popen|exec\w+|spawn\w+)\(|\bshell=|"
    r"\byaml\.(unsafe_|full_)?load\(|"
    r"\bimport (pickle|marshal|shelve|dill|cloudpickle|joblib)\b|\bfrom (pickle|marshal|shelve|dill|cloudpickle|joblib) |"
    r"\bmcap_ros1\b|\ballow_pickle=True|\bLoader=yaml\.(?!SafeLoader)"
)
"""Ways by which text of a file becomes code; ruff refuses most of them as well (rules S in pyproject.toml)."""


def test_nothing_in_the_package_executes_text() -> None:
    for file in ROOT.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name == "compiled.py":  # the user's own cache of machine code, kept as Numba keeps it
            text = text.replace("import pickle\n", "")
        assert (found := EXECUTES.search(text)) is None, (file.name, found)
        assert len(re.findall(r"\bnp\.(?:load|savez\w*)\(", text)) == text.count("allow_pickle=False"), file.name


def test_what_is_promised_is_what_is_tested_here() -> None:
    """The promise stands where people look for it, and names this file, its referees and the one place where text is escaped."""
    root = Path(__file__).parents[2]
    promise = (root / "SECURITY.md").read_text(encoding="utf-8")
    assert "**Nothing in a file is executed**" in promise and Path(__file__).relative_to(root).as_posix() in promise
    assert all((ROOT.parent / name).is_file() for name in re.findall(r"`(inertica/[\w/]+\.py)`", promise))
    for page in ("recipes.md", "studio.md"):
        assert re.search(r"Nothing in .{1,30} is executed", (root / "docs" / page).read_text(encoding="utf-8")), page


def test_pickles_in_logs_and_results_are_not_loaded(tmp_path: Path, canary: Path) -> None:
    class Evil:
        def __reduce__(self):
            return (exec, (f"open({str(canary)!r}, 'w')",))

    np.savez(tmp_path / "log.npz", t=np.arange(9.0), q=np.array([Evil()], object))
    with pytest.raises(InerticaError):
        ia.read_log(tmp_path / "log.npz")
    target = tmp_path / "result"
    shutil.copytree(saved(), target)
    np.savez(target / "result.npz", beta=np.array([Evil()], object))
    with pytest.raises(InerticaError):
        Result.load(target)
    card = tmp_path / "card.yaml"
    card.write_text(f"model: tx40\nname: !!python/object/apply:os.system ['touch {canary}']\n")
    with pytest.raises(InerticaError):
        load(card)


@pytest.mark.parametrize("form", ["a.mcap", "a.bag"])
def test_definitions_in_recordings_are_not_run(tmp_path: Path, canary: Path, form: str) -> None:
    """Decoders make types of the definitions that a recording carries; one of them made a module of their text and imported it."""
    pytest.importorskip("rosbags.highlevel")
    pytest.importorskip("mcap")
    from logfiles import write_mcap_ros1, write_ros1

    kind = "sensor_msgs/JointState"
    definition = "Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"
    write_ros1(tmp_path / "plain.bag")
    raw = (tmp_path / "plain.bag").read_bytes()
    for k, text in enumerate(islice(hostile_texts(9, canary), 60)):
        text = text.replace("\ud800", "")
        path = tmp_path / form
        if form == "a.mcap":
            write_mcap_ros1(path, f"{text}/JTCState" if k % 2 else kind, definition + f"string A={text}\n")
        else:  # of the same length, as the bag counts its bytes
            new = text.encode()[:15].ljust(15, b"x")
            path.write_bytes(raw.replace(b"sensor_msgs/Joi" if k % 2 else b"float64[] veloc", new))
        with contextlib.suppress(InerticaError):
            ia.read_log(path)
