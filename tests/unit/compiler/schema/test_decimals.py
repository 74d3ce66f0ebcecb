"""Decimal numbers that are meant as text. The findings are in ``tests/data/specs/negative``."""

from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text, found_in


@pytest.mark.parametrize("written", ["1.10", "2.0", "1.5"])
def test_unquoted_versions_in_toml_are_reported(tmp_path: Path, written: str) -> None:
    text = (
        f'toolc = 1\nname = "hello"\ndescription = "Say hello to the whole world."\nversion = {written}\n'
        'backend.shell.argv = ["echo", "hello"]\n'
    )
    found = compile_text(tmp_path, text, "tool.toml").diagnostics.sorted()
    assert [(each.code.number, str(each.span), each.hint) for each in found] == [
        ("TC004", f"{tmp_path.as_posix()}/tool.toml:4:11", f'put it in quotes: "{written}"')
    ]


def test_integers_are_not_decimals(tmp_path: Path) -> None:
    assert found_in(tmp_path, HEAD + "version: 2\n" + ECHO) == [
        "4:10 TC108 'version' must be a string, but is the number 2"
    ]


@pytest.mark.parametrize(
    ("written", "span", "hint"),
    [
        ("!!float '1.1'", "4:18", "remove the tag !!float"),
        ("!!float 1.1", "4:18", 'remove the tag !!float and write "1.1"'),
        ("!!int &a 3", "4:19", 'remove the tag !!int and write "3"'),
    ],
)
def test_hints_for_tagged_numbers_remove_the_tag(tmp_path: Path, written: str, span: str, hint: str) -> None:
    found = compile_text(tmp_path, f"{HEAD}version: {written}\n{ECHO}").diagnostics.sorted()
    assert [(each.code.number, str(each.span).rpartition("yaml:")[2], each.hint) for each in found] == [
        ("TC108", span, hint)
    ]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{type: string, enum: [3.9]}", "3.9 without quotes is a number, but this schema requires text"),
        ("{type: string, const: 1.0}", "1.0 without quotes is a number, but this schema requires text"),
        ("{enum: [3.10]}", "3.10 without quotes is the number 3.1"),
        ("{enum: [2.0]}", "2.0 without quotes is the number 2"),
        ("{type: array, items: {enum: [3.10]}}", "3.10 without quotes is the number 3.1"), ("{enum: [3.9]}", None),
        ("{enum: ['3.10']}", None), ("{type: number, enum: [3.10]}", None),
        ("{type: [string, number], enum: [3.10]}", None), ("{type: number, default: 3.10}", None),
    ],
)  # fmt: skip
def test_decimal_choices_that_look_like_text_are_reported(tmp_path: Path, schema: str, message: str | None) -> None:
    use = 'backend: {shell: {argv: [echo, --, "{{ v }}"]}}\n'
    found = found_in(tmp_path, f"{HEAD}parameters: {{v: {schema}}}\n{use}")
    assert [each.partition(" ")[2] for each in found] == ([f"TC004 {message}"] if message else [])


@pytest.mark.parametrize("written", ["3.10", "310", "true"])
def test_hints_suggest_quotes_around_a_default(tmp_path: Path, written: str) -> None:
    use = 'backend: {shell: {argv: [echo, --, "{{ v }}"]}}\n'
    spec = f"{HEAD}parameters: {{v: {{type: string, default: {written}}}}}\n{use}"
    (found,) = compile_text(tmp_path, spec).diagnostics.sorted()
    assert (found.code.number, found.hint) == ("TC304", f'put it in quotes: "{written}"')
