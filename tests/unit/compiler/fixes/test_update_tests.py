"""Writing what tests expect into specs: the values, where they stand, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from toolc.compiler.fixes.update_tests import ExpectationUpdate, Route, update_tests
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonValue

YAML = """\
toolc: 1
name: t
description: A tool that exists for the tests of this module and for nothing else.
backend: {shell: {argv: [echo, hi]}}
sandbox: {workspace: rw}
"""
TOML = """\
toolc = 1
name = "t"
description = "A tool that exists for the tests of this module and for nothing else."
backend = {shell = {argv = ["echo", "hi"]}}
sandbox = {workspace = "rw"}

"""


def updated(
    folder: Path,
    tests: str,
    values: Mapping[Route, JsonValue],
    gone: frozenset[Route] = frozenset(),
    *,
    suffix: str = ".yaml",
    index: int = 0,
) -> tuple[str, str]:
    """The tests of a spec after an update, and why it was refused."""
    path, head = folder / f"t{suffix}", YAML if suffix == ".yaml" else TOML
    path.write_bytes((head + tests).encode())
    (tool,) = compile_specs([path]).located
    done = update_tests([ExpectationUpdate(tool=tool, index=index, values=values, gone=gone)])
    text = path.read_bytes().decode()
    assert text.startswith(head)
    return text.removeprefix(head), "".join(reason for _, reason in done.refused)


@pytest.mark.parametrize(
    ("tests", "after"),
    [
        ("tests: [{expect: {text: a}}]\n", 'tests: [{expect: {text: "b\\n"}}]\n'),
        ("tests:\n  - expect: {text: a}  # why\n", 'tests:\n  - expect: {text: "b\\n"}  # why\n'),
        ("tests:\n  - expect:\n      text: 'a'\n", 'tests:\n  - expect:\n      text: "b\\n"\n'),
        ("tests:\n- expect:\n    text: |-\n      a\n", "tests:\n- expect:\n    text: |\n      b\n"),
        (
            "tests:\n- expect:\n    text: >\n      a\n      a\n    # then\n    error: timeout\n",
            "tests:\n- expect:\n    text: |\n      b\n    # then\n    error: timeout\n",
        ),
        ("tests: [{expect: {error: timeout}}]\n", 'tests: [{expect: {text: "b\\n", error: timeout}}]\n'),
        ("tests:\n- expect:\n    error: timeout\n", 'tests:\n- expect:\n    text: "b\\n"\n    error: timeout\n'),
        ("tests: [{args: {}}]\n", 'tests: [{expect: {text: "b\\n"}, args: {}}]\n'),
        ("tests:\n  - args: {}\n", 'tests:\n  - expect: {text: "b\\n"}\n    args: {}\n'),
        ("tests: [{}]\n", 'tests: [{expect: {text: "b\\n"}}]\n'),
        ("tests:\r\n- expect:\r\n    text: |\r\n      a\r\n", "tests:\r\n- expect:\r\n    text: |\r\n      b\r\n"),
    ],
)
def test_a_text_is_written_where_it_stands_in_yaml(tmp_path: Path, tests: str, after: str) -> None:
    assert updated(tmp_path, tests, {("text",): "b\n"}) == (after, "")


@pytest.mark.parametrize(
    ("tests", "after"),
    [
        ('[[tests]]\nexpect = {text = "a"}  # why\n', '[[tests]]\nexpect = {text = "b\\n"}  # why\n'),
        ("[[tests]]\n[tests.expect]\ntext = 'a'\n", '[[tests]]\n[tests.expect]\ntext = "b\\n"\n'),
        ('[[tests]]\nexpect.text = """\na\n"""\n', '[[tests]]\nexpect.text = """\nb\n"""\n'),
        ("[[tests]]\nargs = {}\n", '[[tests]]\nexpect = {text = "b\\n"}\nargs = {}\n'),
        (
            '[[tests]]\n[tests.expect]\nerror = "timeout"\n',
            '[[tests]]\n[tests.expect]\ntext = "b\\n"\nerror = "timeout"\n',
        ),
    ],
)
def test_a_text_is_written_where_it_stands_in_toml(tmp_path: Path, tests: str, after: str) -> None:
    assert updated(tmp_path, tests, {("text",): "b\n"}, suffix=".toml") == (after, "")


VALUES: list[JsonValue] = [
    1, -0.5, True, [], {}, [1, [2, {"a": "b"}]], {"yes": "no", "a b": [{"null": False}], "": 0},
    "", " ", "a: b # c", "{{ x }}",
    "\u2028\x7f\x00\ufeff", "\U0001f600", "\\n\"'", "- a\n- b\n", " lead\n", "a\n\n",
    "tab\there\n", "trail \nx\n", "---\n...\n", "a\r\nb", "true", "null", "1.0",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize(
    ("tests", "suffix"),
    [
        ("tests: [{expect: {json: 1, text: a}}]\n", ".yaml"),
        ("tests:\n- expect:\n    text: |\n      a\n    json:\n      - 1\n", ".yaml"),
        ('[[tests]]\n[tests.expect]\njson = 1\ntext = """a\n"""\n', ".toml"),
    ],
)
def test_any_value_is_read_as_it_was(tmp_path: Path, value: JsonValue, tests: str, suffix: str) -> None:
    values: dict[Route, JsonValue] = {("json",): value}
    values |= {("text",): value} if isinstance(value, str) else {}
    _, refused = updated(tmp_path, tests, values, suffix=suffix)

    assert refused == ""
    expect = compile_specs([tmp_path / f"t{suffix}"]).tools[0].tests[0].expect
    assert expect.json == (value,)
    assert expect.text == (value if isinstance(value, str) else "a" if "[{" in tests else "a\n")


def test_several_keys_of_several_tests_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    tests = "tests:\n- expect: {text: a, files: {x: a, y: null}}\n- expect: {error: timeout, changes: {added: [x]}}\n"
    path.write_text(YAML + tests, encoding="utf-8")
    (tool,) = compile_specs([path]).located
    first: dict[Route, JsonValue] = {("text",): "b", ("files", "x"): None, ("files", "y"): "z"}
    second: dict[Route, JsonValue] = {("changes",): {"added": ["x", "y"]}, ("network", "allowed"): []}
    updates = [
        ExpectationUpdate(tool=tool, index=1, values=second, gone=frozenset({("error",)})),
        ExpectationUpdate(tool=tool, index=0, values=first),
    ]
    done = update_tests(updates)

    assert [each.index for each in done.made] == [0]
    assert [reason for _, reason in done.refused] == ["expect.network has no 'allowed'; add it by hand"]
    assert path.read_text(encoding="utf-8") == YAML + (
        'tests:\n- expect: {text: "b", files: {x: null, y: "z"}}\n- expect: {error: timeout, changes: {added: [x]}}\n'
    )


def test_a_test_that_grows_moves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    tests = "tests:\n- expect:\n    text: |\n      a\n- args: {}\n- expect:\n    text: |\n      a\n"
    path.write_text(YAML + tests, encoding="utf-8")
    (tool,) = compile_specs([path]).located
    values: dict[Route, JsonValue] = {("text",): "b\nc\nd\n"}
    done = update_tests([ExpectationUpdate(tool=tool, index=index, values=values) for index in (2, 0)])

    assert [each.index for each in done.made] == [0, 2]
    assert path.read_text(encoding="utf-8") == YAML + tests.replace("      a\n", "      b\n      c\n      d\n")


def test_what_is_gone_goes_with_its_comma_or_line(tmp_path: Path) -> None:
    gone = frozenset[Route]({("error",)})
    assert updated(tmp_path, "tests: [{expect: {error: timeout, text: a}}]\n", {}, gone) == (
        "tests: [{expect: {text: a}}]\n",
        "",
    )
    assert updated(tmp_path, "tests:\n- expect:\n    error: timeout # x\n    text: a\n", {}, gone) == (
        "tests:\n- expect:\n    text: a\n",
        "",
    )


@pytest.mark.parametrize(
    ("tests", "suffix", "value", "reason"),
    [
        ("tests:\n- &one\n  expect: {text: a}\n- *one\n", ".yaml", "b", "it is written in a way that cannot"),
        ("tests: [{expect: {text: &x a, matches: *x}}]\n", ".yaml", "b", "it is written in a way that cannot"),
        ("[[tests]]\nexpect = {json = 1}\n", ".toml", None, "TOML has no null"),
        ("[[tests]]\n", ".toml", "b", "there is no place for what is expected; add 'expect' by hand"),
        ("tests: [{expect: {text: a}}]\n", ".yaml", "\ud800", "it holds half a character"),
    ],
)
def test_what_cannot_be_edited_stays_as_it_is(
    tmp_path: Path, tests: str, suffix: str, value: JsonValue, reason: str
) -> None:
    key = "json" if value is None else "text"
    text, refused = updated(tmp_path, tests, {(key,): value}, suffix=suffix)
    assert text == tests
    assert refused.startswith(reason)


def test_what_a_project_s_variable_says_stays(tmp_path: Path) -> None:
    (tmp_path / "toolc.yaml").write_text("vars: {word: a}\n", encoding="utf-8")
    tests = 'tests: [{expect: {text: "{{ vars.word }}"}}]\n'
    text, refused = updated(tmp_path, tests, {("text",): "b"})
    assert text == tests
    assert refused == "it stands where it cannot be edited; change it by hand"
