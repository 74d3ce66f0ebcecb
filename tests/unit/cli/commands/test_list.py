"""``toolc list``: the columns of text, and JSON."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolc.cli.commands.list import command

SPECS = """\
toolc: 1
tools:
  - {name: count, label: Count words, description: Count the words of a file., backend: {shell: {argv: [wc]}}}
  - {name: remove_file, description: "Remove a file.\\nThis is final.", backend: {shell: {argv: [rm]}}}
"""


def listed(folder: Path, *options: str, specs: str = SPECS) -> str:
    (folder / "specs.yaml").write_text(specs, encoding="utf-8")
    found = CliRunner().invoke(command, [str(folder / "specs.yaml"), *options])
    assert (found.exit_code, found.stderr) == (0, "")
    return found.stdout


def test_columns_are_name_label_and_description(tmp_path: Path) -> None:
    assert listed(tmp_path) == (
        "count        Count words  Count the words of a file.\n"
        "remove_file               Remove a file. This is final.\n"
    )


@pytest.mark.parametrize(("length", "shown"), [(100, "d" * 100), (101, "d" * 99 + "…")])
def test_long_description_is_cut(tmp_path: Path, length: int, shown: str) -> None:
    specs = SPECS.replace("Count the words of a file.", "d" * length)
    assert listed(tmp_path, specs=specs).splitlines()[0] == f"count        Count words  {shown}"


def test_json_has_whole_texts(tmp_path: Path) -> None:
    assert json.loads(listed(tmp_path, "--json"))[1] == {
        "name": "remove_file", "label": None, "description": "Remove a file.\nThis is final.",
    }  # fmt: skip
