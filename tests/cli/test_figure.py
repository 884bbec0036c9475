"""`inertica figure`: a file for a paper from the folder of a result."""

import json

import pytest

import pair
from inertica.cli.main import main


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure") / "result"
    pair.identified().save(folder)
    return folder


def test_a_figure_is_written(result, tmp_path, capsys):
    target = tmp_path / "t.pdf"
    words = ["--kind", "torque", "-o", target, "--joints", "2", "--log", "run1", "--json"]
    assert main(["figure", str(result), *map(str, words)]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(target) and target.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "torque", "-o", "a.pdf", "--joints", "1,b"], "numbers of joints"),
        (["--kind", "map", "-o", "a.pdf", "--tool", "1,2"], "three numbers in m"),
        (["--kind", "map", "-o", "a.gif"], "not a vector format"),
    ],
)
def test_mistakes_are_one_sentence(result, words, said, capsys):
    assert said in pair.refused(capsys, "figure", result, *words)
