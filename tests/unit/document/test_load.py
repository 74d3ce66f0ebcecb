"""Loading files: a document, or findings that explain why there is none."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text
from compiling.places import load

from toolc.document.loader import MAX_BYTES
from toolc.document.nodes import Document, strings, to_json
from toolc.model.diagnostics import Diagnostics
from toolc.reporters.text import render


def read(folder: Path, data: bytes, name: str = "a.yaml") -> tuple[Document | None, str]:
    """Return the document of a file with these bytes, and the findings as text."""
    (folder / name).write_bytes(data)
    diagnostics = Diagnostics()
    document = load(folder / name, f"specs/{name}", diagnostics)
    assert (document is None) <= (diagnostics.sorted() != ())
    return document, render(diagnostics, color=False)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.yaml", b"toolc: 1\nname: x\n"), ("a.yml", b"toolc: 1\r\nname: x\r\n"), ("a.YAML", b"{toolc: 1, name: x}"),
        ("a.txt", b'{"toolc": 1, "name": "x"}'), ("a.toml", b'toolc = 1\nname = "x"\n'),
        ("a.TOML", b'toolc = 1\r\nname = "x"'),
    ],
)  # fmt: skip
def test_the_suffix_determines_the_language(tmp_path: Path, name: str, data: bytes) -> None:
    document, findings = read(tmp_path, data, name)
    assert findings == ""
    assert document is not None
    assert to_json(document.root) == {"toolc": 1, "name": "x"}
    assert document.source.path == f"specs/{name}"


@pytest.mark.parametrize("text", ["toolc: 1\nname: x\nname: other\n", "toolc: 1\nname: !upper x\n"])
def test_a_document_with_a_duplicate_key_or_a_tag_is_complete(tmp_path: Path, text: str) -> None:
    document, findings = read(tmp_path, text.encode())
    assert findings.endswith("1 error\n")
    assert document is not None
    assert to_json(document.root) == {"toolc": 1, "name": "x"}


@pytest.mark.parametrize("text", ["toolc: 1\nname: x\nlabel: [a\n", "toolc: 1\nname: x\nlabel: *missing\n"])
def test_a_document_with_another_error_is_not_used(tmp_path: Path, text: str) -> None:
    document, findings = read(tmp_path, text.encode())
    assert findings.endswith("1 error\n")
    assert document is None


def test_invalid_utf_8_is_reported_with_its_line(tmp_path: Path) -> None:
    assert read(tmp_path, "toolc: 1\nlabel: Grüße ".encode() + b"caf\xe9 \xff\n") == (
        None,
        (
            "specs/a.yaml:2:17: error TC013: the byte 0xe9 is not UTF-8\n"
            "  2 | label: Grüße caf\ufffd \ufffd\n"
            "    |                 ^\n"
            "    = help: save the file as UTF-8\n"
            "\n"
            "1 error\n"
        ),
    )


def test_utf_16_is_reported(tmp_path: Path) -> None:
    _, findings = read(tmp_path, "toolc: 1\n".encode("utf-16"))
    assert findings.startswith("specs/a.yaml:1:1: error TC013: the file is UTF-16\n")


def test_control_characters_are_reported_with_their_position(tmp_path: Path) -> None:
    assert read(tmp_path, b"toolc: 1\nname: a\0b\x1b\nlabel: x\ry\n") == (
        None,
        (
            "specs/a.yaml:2:8: error TC009: U+0000 is not allowed in a spec\n"
            "  2 | name: a<U+0000>b<U+001B>\n"
            "    |        ^^^^^^^^\n"
            "    = help: delete it, or write it as an escape in double quotes\n"
            "\n"
            "specs/a.yaml:2:10: error TC009: U+001B is not allowed in a spec\n"
            "  2 | name: a<U+0000>b<U+001B>\n"
            "    |                 ^^^^^^^^\n"
            "    = help: delete it, or write it as an escape in double quotes\n"
            "\n"
            "specs/a.yaml:3:9: error TC009: a carriage return without a line feed is not allowed in a spec\n"
            "  3 | label: x<U+000D>y\n"
            "    |         ^^^^^^^^\n"
            "    = help: delete it, or write it as an escape in double quotes\n"
            "\n"
            "3 errors\n"
        ),
    )


@pytest.mark.parametrize("name", ["a.yaml", "a.toml"])
def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path, name: str) -> None:
    text = 'toolc = 1 # "ok"' if name == "a.toml" else "toolc: 1 # ok"
    document, findings = read(tmp_path, b"\xef\xbb\xbf" + text.encode(), name)
    assert document is not None
    assert document.source.text == text
    assert document.root.entries[0].key_span.start.column == 1
    assert findings == (
        f"specs/{name}:1:1: warning TC009: the file starts with a byte order mark\n"
        f"  1 | {text}\n"
        "    | ^\n"
        "    = help: save the file as UTF-8 without BOM [fixable with --fix]\n"
        "\n"
        "1 warning\n"
    )


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    diagnostics = Diagnostics()
    assert load(tmp_path / "gone.yaml", "gone.yaml", diagnostics) is None
    assert load(tmp_path / "folder.yaml", "folder.yaml", diagnostics) is None
    assert render(diagnostics, color=False) == (
        "folder.yaml:1:1: error TC111: cannot read folder.yaml: is a directory\n"
        "\n"
        "gone.yaml:1:1: error TC111: cannot read gone.yaml: no such file or directory\n"
        "\n"
        "2 errors\n"
    )


def test_files_have_a_maximum_size(tmp_path: Path) -> None:
    document, _ = read(tmp_path, b"toolc: 1\n#".ljust(MAX_BYTES, b"x"))
    assert document is not None
    assert read(tmp_path, b"toolc: 1\n#".ljust(MAX_BYTES + 1, b"x")) == (
        None,
        (
            "specs/a.yaml:1:1: error TC012: specs/a.yaml is larger than 4MiB\n"
            "    = help: split it into several files\n\n1 error\n"
        ),
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", ""),
        ("a.yaml", "# only a comment\n"),
        ("a.yaml", "- a\n- b\n"),
        ("a.yaml", "just text\n"),
        ("a.yaml", "kind: A\n---\nkind: B\n"),
        ("a.yaml", "site: !ENV x\nbase: &b {a: no}\nuse: {<<: *b}\n"),
        ("a.toml", "date = 2026-11-21\n"),
    ],
)
def test_a_file_that_is_not_a_spec_gets_one_warning(tmp_path: Path, name: str, text: str) -> None:
    document, findings = read(tmp_path, text.encode(), name)
    assert document is None
    assert findings.startswith(f"specs/{name}:1:1: warning TC113: specs/{name} is not a spec: it has no key 'toolc'\n")
    assert findings.endswith("\n\n1 warning\n")


def test_a_map_without_the_key_toolc_is_a_document(tmp_path: Path) -> None:
    document, findings = read(tmp_path, b"on: push\nflag: no\n")
    assert document is not None
    assert findings == "", "its YAML habits are not our business"


SPEC = f"""{HEAD}backend:
  shell:
    argv: [echo, 7, {{when: loud, argv: ["!"]}}]
    stdin: quiet
parameters: {{loud: {{type: boolean}}}}
"""


def test_strings_are_returned_in_order_with_their_position(tmp_path: Path) -> None:
    (tool,) = compile_text(tmp_path, SPEC.replace("7", "'7'")).located
    found = [*strings(tool.node.get("backend"))]
    assert [text for _, text in found] == ["echo", "7", "loud", "!", "quiet"]
    assert [node.span.start.line for node, _ in found] == [6, 6, 6, 6, 7]


def test_numbers_and_identifiers_are_skipped(tmp_path: Path) -> None:
    (tool,) = compile_text(tmp_path, SPEC.replace("echo, 7", "echo")).located
    assert [text for _, text in strings(tool.node.get("backend"), {"when", "stdin"})] == ["echo", "!"]
    assert [*strings(tool.node.get("result"))] == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_mark_is_one_error(tmp_path: Path, encoding: str) -> None:
    _, findings = read(tmp_path, "toolc: 1\nname: a\n".encode(encoding))
    assert findings == (
        "specs/a.yaml:1:1: error TC013: the file is UTF-16\n"
        "  1 | toolc: 1\n    | ^\n    = help: save the file as UTF-8\n"
        "\n1 error\n"
    )
