"""TC203's milder side: names that a model can take for each other."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from compiled import compile_text, found_in

from toolc.compiler import codes


def tools(*names: str) -> str:
    each = "".join(
        f"  - {{name: {name}, description: Say it to {name} and the world., backend: {{shell: {{argv: [a]}}}}}}\n"
        for name in names
    )
    return f"toolc: 1\ntools:\n{each}"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("file_read", "fileRead"),
        ("file_read", "file-read"),
        ("get_comment", "get_comments"),
        ("serach_files", "search_files"),
        ("list_tabels", "list_tables"),
    ],
)
def test_near_names(tmp_path: Path, one: str, two: str) -> None:
    found = [each for each in found_in(tmp_path, tools(one, two)) if "TC203" in each]
    where = f"{tmp_path / 'tool.yaml'}:3:12"
    assert found == [f"4:12 TC203 '{two}' is easily taken for '{one}', the tool at {where}"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("get_file", "set_file"),
        ("read", "reads"),
        ("sha1_checksum", "sha2_checksum"),
        ("file_read_v1", "file_read_v12"),
        ("get_comment", "list_comments"),
        ("search_files", "search_mails"),
    ],
)
def test_names_that_differ_enough(tmp_path: Path, one: str, two: str) -> None:
    assert [each for each in found_in(tmp_path, tools(one, two)) if "TC203" in each] == []


def test_one_name_in_other_letters_is_an_error_alone(tmp_path: Path) -> None:
    found = compile_text(tmp_path, tools("search_files", "Search_Files")).diagnostics.sorted()
    assert [each.code for each in found] == [codes.DUPLICATE_NAME]


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    names = ("list_item", "list_items", "listitem")
    expected = None
    for order in itertools.permutations(range(3)):
        folder = tmp_path / "".join(map(str, order))
        for index in order:
            compile_text(folder, tools(names[index]), f"{index}.yaml")
        from toolc.compiler.compile import compile_specs

        found = [each.message.replace(str(folder), "") for each in compile_specs([folder]).diagnostics.sorted()]
        expected = expected or found
        assert found == expected
        assert len(found) == 2
