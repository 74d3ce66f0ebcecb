"""The files of a build are put together from texts, and taken apart again by their sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolc.compiler.finished import Finished, Layout

LAYOUT = Layout({"a.json": (b"[", b"]"), "b.json": (b'{"x":[', b'],"y":[', b"]}")})
TOOLS = [Finished((b"1", b"", b"7"), 0), Finished((b"2", b"3,4", b""), 1), Finished((b"5", b"6", b""), 0)]


def test_a_tool_has_its_entries_in_each_list() -> None:
    assert LAYOUT.join(TOOLS) == {"a.json": b"[1,2,5]", "b.json": b'{"x":[3,4,6],"y":[7]}'}


def write(folder: Path) -> None:
    for path, data in LAYOUT.join(TOOLS).items():
        (folder / path).write_bytes(data)


def test_what_was_joined_is_cut_into_the_same_texts(tmp_path: Path) -> None:
    write(tmp_path)
    sizes = [[*map(len, tool.texts)] for tool in TOOLS]
    assert [Finished(each, 0).texts for each in LAYOUT.cut(tmp_path, sizes)] == [tool.texts for tool in TOOLS]


def test_tools_in_a_row_are_cut_as_one_and_joined_again(tmp_path: Path) -> None:
    write(tmp_path)
    one, both = LAYOUT.cut(tmp_path, [[1, 0, 1], [3, 5, 0]])
    assert [*map(bytes, both)] == [b"2,5", b"3,4,6", b""]
    assert LAYOUT.join([Finished(one, 0), Finished(both, 1)]) == LAYOUT.join(TOOLS)


@pytest.mark.parametrize("sizes", [[[1, 0, 1]], [[1, 0, 1], [3, 5, 1]], [[9, 9, 9]], []])
def test_files_of_another_size_are_refused(tmp_path: Path, sizes: list[list[int]]) -> None:
    write(tmp_path)
    with pytest.raises(ValueError, match=r"written|shorter"):
        LAYOUT.cut(tmp_path, sizes)
