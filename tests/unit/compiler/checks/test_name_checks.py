"""Checks of the names of tools: TC203 (duplicate and similar names)."""

import itertools
from pathlib import Path

import pytest
from compiling.compiled import compile_text, found_in

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model import codes


def tools(*names: str) -> str:
    each = "".join(
        f"  - {{name: {name}, description: Say it to {name} and the world., backend: {{shell: {{argv: [a]}}}}}}\n"
        for name in names
    )
    return f"toolc: 1\ntools:\n{each}"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("file_read", "fileRead"), ("file_read", "file-read"), ("get_comment", "get_comments"),
        ("serach_files", "search_files"), ("list_tabels", "list_tables"), ("read_a_file", "readAFile"),
    ],
)  # fmt: skip
def test_similar_names_are_reported(tmp_path: Path, one: str, two: str) -> None:
    found = [each for each in found_in(tmp_path, tools(one, two)) if "TC203" in each]
    where = f"{tmp_path / 'tool.yaml'}:3:12"
    assert found == [f"4:12 TC203 '{two}' is easily confused with '{one}', the tool at {where}"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("get_file", "set_file"), ("read", "reads"), ("sha1_checksum", "sha2_checksum"),
        ("file_read_v1", "file_read_v12"), ("get_comment", "list_comments"), ("search_files", "search_mails"),
    ],
)  # fmt: skip
def test_different_names_are_not_reported(tmp_path: Path, one: str, two: str) -> None:
    assert [each for each in found_in(tmp_path, tools(one, two)) if "TC203" in each] == []


def test_names_that_differ_in_letter_case_are_reported(tmp_path: Path) -> None:
    found = compile_text(tmp_path, tools("search_files", "Search_Files")).diagnostics.sorted()
    assert [each.code for each in found] == [codes.DUPLICATE_NAME]


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    names = ("list_item", "list_items", "listitem")
    expected = None
    for order in itertools.permutations(range(3)):
        folder = tmp_path / "".join(map(str, order))
        for index in order:
            compile_text(folder, tools(names[index]), f"{index}.yaml")
        from toolc.compiler.pipeline.compile import compile_specs

        found = [each.message.replace(str(folder), "") for each in compile_specs([folder]).diagnostics.sorted()]
        expected = expected or found
        assert found == expected
        assert len(found) == 2


def test_names_are_compared_over_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tool = "description: Say hello to the whole world.\nbackend: {shell: {argv: [a]}}\n"
    Path("b.yaml").write_text(f"toolc: 1\nname: hello\n{tool}", encoding="utf-8")
    Path("a.yaml").write_text(f"toolc: 1\nname: greet\naliases: [other, hello]\n{tool}", encoding="utf-8")
    Path("c.yaml").write_text(f"toolc: 1\nname: HELLO\n{tool}", encoding="utf-8")

    assert [f"{each.span} {each.message}" for each in compile_specs([Path()]).diagnostics.sorted()] == [
        "a.yaml:3:18 'hello' is taken: the tool at b.yaml:2:7 has the name 'hello' too",
        "c.yaml:2:7 'HELLO' is taken: the tool at b.yaml:2:7 has the name 'hello' too, in another letter case",
    ]
