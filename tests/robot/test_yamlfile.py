"""Plain YAML only, and every complaint with its line."""

import math

import pytest

from inertica.errors import FileError
from inertica.robot.yamlfile import parse_yaml, read_yaml


def root(text):
    return parse_yaml(text, "robot.yaml")


def value(text):
    return root(f"x: {text}\n").mapping()["x"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("1e-4", 1e-4),
        ("-1E5", -1e5),
        (".5", 0.5),
        ("1_000.5", 1000.5),
        ("-pi/2", -math.pi / 2),
        ("010", 10.0),
        ("2*pi", 2 * math.pi),
    ],
)
def test_numbers_in_every_spelling(text, number):
    assert value(text).number() == number


@pytest.mark.parametrize(
    "text", ["abc", "'1'", "[1]", "{a: 1}", "", "yes", ".nan", ".inf", "1:30", "0x1F", "pi*", "__import__('os')*pi"]
)
def test_what_is_no_number_is_refused_with_key_and_line(text):
    with pytest.raises(FileError, match=r"robot\.yaml:1: x should be a (finite )?number"):
        value(text).number()


def test_infinite_limits_are_allowed_where_asked():
    assert value("[.inf, -.inf]").numbers(2, infinite=True) == (math.inf, -math.inf)


def test_lists_have_the_right_length():
    assert value("[1, 2]").numbers(2) == (1.0, 2.0)
    assert value("3").per_joint(2) == (3.0, 3.0)
    with pytest.raises(FileError, match="x has 2 values for 6 joints"):
        value("[1, 2]").numbers(6)
    with pytest.raises(FileError, match="x should be a list"):
        value("1").numbers(1)
    with pytest.raises(FileError, match="x has 1 rows for 2 joints"):
        value("[[1, 2]]").matrix(2, 2)


def test_words_booleans_and_choices():
    assert value("on").boolean() is True
    assert value("off").text() == "off"
    with pytest.raises(FileError, match="did you mean 'distal'"):
        value("distall").text(("distal", "proximal"))
    with pytest.raises(FileError, match="true or false"):
        value("1").boolean()
    with pytest.raises(FileError, match="whole number"):
        value("1.5").whole()
    with pytest.raises(FileError, match="greater than zero"):
        value("-1").positive()


def test_plain_values_keep_text_keys_and_read_exponents():
    data = root("a: {1: 1e-4, off: no, d: 2001-01-01, n: ~, s: '5', i: 7}\n").plain()
    assert data == {"a": {"1": 1e-4, "off": False, "d": "2001-01-01", "n": None, "s": "5", "i": 7}}


def test_unknown_and_missing_keys():
    with pytest.raises(FileError, match=r"robot\.yaml:2: unknown key 'fricton'; did you mean 'friction'\?"):
        root("model: a\nfricton: b\n").mapping(("model", "friction"))
    with pytest.raises(FileError, match="lacks the key 'dh'"):
        root("a: 1").mapping(required=("dh",))


BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{c}: &{c} [{','.join(['*' + p] * 10)}]\n" for p, c in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: !!python/object/apply:os.system ['x']\n", 2, "tag '!!python/object/apply:os.system' is not allowed"),
        ("a: !thing 3\n", 1, "tag '!thing' is not allowed"),
        ("a: !!binary aGk=\n", 1, "not allowed"),
        ("? !!python/name:os.system\n: 1\n", 1, "not allowed"),
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice \\(first in line 1\\)"),
        ("a: &x {k: 1}\nb:\n  <<: *x\n", 3, "merge keys"),
        ("? [1, 2]\n: 3\n", 1, "keys should be words"),
        ("a: &x [*x]\n", 1, "refers to the value that contains it"),
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: 1\n--- \nb: 2\n", 2, "not valid YAML"),
        ("a: *nowhere\n", 1, "not valid YAML"),
        ("a: 1\nb: \x07\n", 2, "not valid YAML"),
        (BOMB, None, "once its aliases are expanded"),
    ],
)
def test_refused_documents_name_the_line(text, line, problem):
    with pytest.raises(FileError, match=problem) as caught:
        root(text)
    assert line is None or caught.value.line == line


def test_deep_nesting_is_refused_not_a_recursion_error():
    with pytest.raises(FileError, match="nested too deeply"):
        root("[" * 20000 + "]" * 20000)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(FileError, match="folder"):
        read_yaml(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(FileError, match="not UTF-8"):
        read_yaml(tmp_path / "latin.yaml")
    for text in ("", "# only a comment\n"):
        (tmp_path / "empty.yaml").write_text(text)
        with pytest.raises(FileError, match="empty"):
            read_yaml(tmp_path / "empty.yaml")


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfname: x\n")
    assert list(read_yaml(tmp_path / "bom.yaml").mapping()) == ["name"]
