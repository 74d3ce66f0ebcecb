"""``toolc list``: the columns of text, and JSON."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolc.cli.commands.list import command
from toolc.model.errors import UsageError

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


def test_builtin_tools_are_listed_without_a_target() -> None:
    found = CliRunner().invoke(command, ["--builtin", "readonly"])
    names = [line.split()[0] for line in found.stdout.splitlines()]
    assert names == ["file_info", "file_list", "file_read", "json_query", "word_count"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "TARGET is missing; pass a spec, a folder or a registry.json, or use --builtin TOOLSET"),
        (("specs", "--builtin", "data"), "--builtin replaces TARGET; remove 'specs' or --builtin data"),
        (("--builtin", "nothing"), "there is no toolset 'nothing'"),
    ],
)
def test_target_and_toolset_exclude_each_other(arguments: tuple[str, ...], message: str) -> None:
    found = CliRunner().invoke(command, arguments)
    assert isinstance(found.exception, UsageError)
    assert message in str(found.exception)


def test_tokens_are_listed_the_largest_first(tmp_path: Path) -> None:
    specs = SPECS.replace("Count the words of a file.", "Count the words and lines and letters of a file.")
    assert listed(tmp_path, "--tokens", specs=specs) == "40  count\n39  remove_file\n79  2 tools\n"


def test_tokens_of_another_provider_as_json(tmp_path: Path) -> None:
    found = json.loads(listed(tmp_path, "--tokens", "--as", "gemini", "--json"))
    assert found["provider"] == "gemini"
    assert found["tools"].keys() == {"count", "remove_file"}
    assert found["total"] == sum(found["tools"].values()) < json.loads(listed(tmp_path, "--tokens", "--json"))["total"]
    assert found["toolsets"] == {}


def test_tokens_of_toolsets_count_each_tool_once(tmp_path: Path) -> None:
    (tmp_path / "toolc.yaml").write_text("toolsets: {all: [count, remove_file], one: [count]}\n", encoding="utf-8")
    found = json.loads(listed(tmp_path, "--tokens", "--json"))
    assert found["toolsets"] == {"all": found["total"], "one": found["tools"]["count"]}
    assert listed(tmp_path, "--tokens").splitlines()[-3:] == [
        f"{found['total']}  toolset all (2 tools)", f"{found['tools']['count']}  toolset one (1 tool)",
        f"{found['total']}  2 tools",
    ]  # fmt: skip


def test_a_provider_without_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "specs.yaml").write_text(SPECS, encoding="utf-8")
    found = CliRunner().invoke(command, [str(tmp_path / "specs.yaml"), "--as", "mcp"])
    assert (found.exit_code, "add --tokens" in found.stderr) == (2, True)
