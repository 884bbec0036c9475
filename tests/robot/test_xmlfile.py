"""XML files are read without trusting them, and edited without disturbing them."""

import pytest

from inertica.errors import FileError
from inertica.robot.xmledit import Edits
from inertica.robot.xmlfile import children, floats, parse_xml, read_xml

BOMB = (
    """<?xml version="1.0"?>
<!DOCTYPE robot [
  <!ENTITY a "0123456789">
"""
    + "".join(f'  <!ENTITY {b} "{f"&{a};" * 10}">\n' for a, b in zip("abcdefghijk", "bcdefghijkl", strict=True))
    + """]>
<robot name="&l;"><link name="x">&l;</link></robot>
"""
)


def document(tmp_path, content):
    path = tmp_path / "model.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_xml(path)


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE robot SYSTEM "http://localhost/x.dtd">',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        "<!DOCTYPE a>",
    ],
)
def test_document_types_are_refused(tmp_path, head):
    with pytest.raises(FileError, match="document type"):
        document(tmp_path, f"<!-- a comment -->\n{head}\n<a/>")


def test_entity_bomb_is_refused_before_it_is_declared(tmp_path):
    with pytest.raises(FileError, match="document type") as caught:
        document(tmp_path, BOMB)
    assert caught.value.line == 2


def test_doctype_in_a_comment_is_harmless(tmp_path):
    assert document(tmp_path, "<a><!-- <!DOCTYPE a> --></a>").root.tag == "a"


@pytest.mark.parametrize(
    ("content", "line"),
    [("<a>\n<b></a>", 2), ("<a/>\n<b/>", 2), ("<a>\n\n<x:b/></a>", 3), ("<a x=1/>", 1), ("<a>&nosuch;</a>", 1), ("not xml", 1)],
)
def test_malformed_xml_is_located(tmp_path, content, line):
    with pytest.raises(FileError, match="well-formed") as caught:
        document(tmp_path, content)
    assert caught.value.line == line
    assert caught.value.column is not None


def test_missing_file_directory_and_empty_file(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read_xml(tmp_path / "nothing.urdf")
    with pytest.raises(FileError, match="directory"):
        read_xml(tmp_path)
    with pytest.raises(FileError, match="empty"):
        document(tmp_path, "  \n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "shift_jis", "nonsense"])
def test_encodings_that_cannot_be_edited_are_refused(tmp_path, encoding):
    content = f"<?xml version='1.0' encoding='{encoding}'?><a/>"
    with pytest.raises(FileError, match=r"UTF-8|encoding"):
        document(tmp_path, content.encode(encoding if encoding != "nonsense" else "ascii"))


@pytest.mark.parametrize(
    ("value", "problem"), [("1 2", "3 numbers, not 2"), ("1 2 x", "'x'"), ("1 nan 2", "finite"), ("1 2 inf", "finite")]
)
def test_numbers_that_are_none_are_named_with_line_and_element(tmp_path, value, problem):
    doc = document(tmp_path, f'<a>\n  <b name="n" xyz="{value}"/>\n</a>')
    with pytest.raises(FileError, match=problem) as caught:
        floats(doc, next(children(doc.root)), "xyz", 3)
    assert caught.value.line == 2
    assert '<b name="n">' in caught.value.problem


@pytest.mark.parametrize(("encoding", "bom"), [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("iso-8859-1", b"")])
def test_edits_change_what_they_name_and_nothing_else(tmp_path, encoding, bom):
    before = (
        f"<?xml version='1.0' encoding='{encoding}'?>\r\n<!-- é --><a   x = '1'  y=\"2 > 1\" >\r\n\t<b/>é<c  z='3' />\r\n"
        "\t<!-- <c/> --><?pi <c/>?><![CDATA[<c/>]]>\r\n\t<d\r\n\t\tw='5'></d>\r\n</a>\r\n"
    )
    doc = document(tmp_path, bom + before.encode(encoding))
    edits = Edits(doc)
    a, (b, c, d) = doc.root, children(doc.root)
    edits.set(a, "x", "7")
    edits.remove(a, "y")
    edits.set(c, "new", "8")
    edits.add(b, "e", {"f": "9"})
    edits.set(d, "w", "6")
    edits.add(a, "last", {}, [("inner", {"g": "1"})])
    after = edits.apply()
    expected = (
        before.replace("x = '1'", 'x = "7"')
        .replace('  y="2 > 1"', "")
        .replace("z='3' />", "z='3' new=\"8\" />")
        .replace("<b/>", '<b>\r\n\t\t<e f="9"/>\r\n\t</b>')
        .replace("w='5'", 'w="6"')
        .replace("</d>\r\n", '</d>\r\n\t<last>\r\n\t\t<inner g="1"/>\r\n\t</last>\r\n')
    )
    assert after == bom + expected.encode(encoding)
    parse_xml(doc.path, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<a/>", '<a v="1">\n  <!-- m: w -->\n  <n/>\n</a>'),
        ("<a></a>", '<a v="1">\n  <!-- m: w -->\n  <n/>\n</a>'),
        ("<a><b/></a>", '<a v="1">\n  <!-- m: w -->\n  <b/>\n  <n/>\n</a>'),
        ("<a>\n  <!-- m: old --><b/>\n</a>", '<a v="1">\n  <!-- m: w --><b/>\n  <n/>\n</a>'),
    ],
)
def test_additions_find_their_place(tmp_path, before, after):
    doc = document(tmp_path, before)
    edits = Edits(doc)
    edits.add(doc.root, "n", {})
    edits.comment(doc.root, "m", "w")
    edits.set(doc.root, "v", "1")
    assert edits.apply().decode() == after
