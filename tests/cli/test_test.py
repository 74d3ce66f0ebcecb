"""``toolc test``: each test of a spec in a workspace of its own, and a difference for each that fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_engines import engines

from toolc.api import build
from toolc.cli import main

HEAD = """\
toolc: 1
name: t
description: A tool that exists for the tests of the command line and for nothing else.
parameters:
  word: {type: string, description: What to write, default: hi}
backend:
  shell:
    script: |
      test "$ARG_word" != fail || exit 3
      cat before.txt 2>/dev/null || true
      printf %s "$ARG_word" > after.txt
      printf '{"word": "%s"}\\n' "$ARG_word"
sandbox: {workspace: rw}
"""


def run(tests: str, *options: str) -> int:
    Path("t.yaml").write_text(HEAD + tests, encoding="utf-8")
    with pytest.raises(SystemExit) as raised:
        main(("test", "t.yaml", *options))
    assert isinstance(raised.value.code, int)
    return raised.value.code


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("engine", engines())
def test_what_is_as_expected_passes(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    tests = """\
tests:
  - expect: {text: "{\\"word\\": \\"hi\\"}\\n", json: {word: hi}, matches: 'h.\\"', files: {after.txt: hi}}
  - args: {word: x}
    files: {before.txt: "was here\\n"}
    expect: {text: "was here\\n{\\"word\\": \\"x\\"}\\n"}
  - args: {word: fail}
    expect: {error: exit_status}
"""
    assert run(tests, "--engine", engine) == 0
    out = re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
    assert out == "ok   t[1] (N ms)\nok   t[2] (N ms)\nok   t[3] (N ms)\n3 passed, 0 failed\n"
    assert [path.name for path in Path().iterdir()] == ["t.yaml"]


def test_what_is_not_fails_with_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    tests = """\
tests:
  - args: {word: a}
    expect: {text: "{\\"word\\": \\"b\\"}", json: {word: b}, matches: z, files: {after.txt: b, none.txt: ""}}
  - args: {word: fail}
  - expect: {error: timeout}
"""
    assert run(tests) == 1
    assert (
        re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
        == """\
FAIL t[1] (N ms)
     the text differs:
     --- expected
     +++ got
     @@ -1 +1 @@
     -{"word": "b"}
     \\ no line feed at the end
     +{"word": "a"}
     the text does not match 'z':
     {"word": "a"}
     the JSON differs:
     --- expected
     +++ got
     @@ -1,3 +1,3 @@
      {
     -  "word": "b"
     +  "word": "a"
      }
     after.txt differs:
     --- expected
     +++ got
     @@ -1 +1 @@
     -b
     \\ no line feed at the end
     +a
     \\ no line feed at the end
     none.txt: expected a file, and there is none
FAIL t[2] (N ms)
     expected no error, got the error exit_status:
     [exit status 3]
FAIL t[3] (N ms)
     expected the error timeout, got no error
0 passed, 3 failed
"""
    )


def test_nothing_to_test_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("") == 2
    assert capsys.readouterr().err == "toolc: there is nothing to test: none of 1 tools has `tests:`\n"


def test_a_spec_with_errors_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nonsense: 1\n") == 1
    assert "t.yaml:14:1: error TC101" in capsys.readouterr().err


SEVERAL = """\
toolc: 1
defaults: {backend: {shell: {argv: [echo, hi]}}}
tools:
  - {name: one, description: Say hi to the first of two., tests: [{expect: {text: "hi\\n"}}]}
  - {name: two, description: Say hi to the second one., tests: [{expect: {text: "hi\\n"}}, {}]}
"""


@pytest.mark.parametrize(
    ("targets", "ran"),
    [
        (("s.yaml",), ["one[1]", "two[1]", "two[2]"]),
        (("s.yaml#two",), ["two[1]", "two[2]"]),
        (("s.yaml#two", "s.yaml#one"), ["two[1]", "two[2]", "one[1]"]),
        (("build/registry.json",), ["one[1]", "two[1]", "two[2]"]),
        (("build/registry.json#one",), ["one[1]"]),
    ],
)
def test_what_can_be_named(targets: tuple[str, ...], ran: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(SEVERAL, encoding="utf-8")
    if targets[0].startswith("build"):
        build("s.yaml", "build")
    with pytest.raises(SystemExit) as raised:
        main(("test", *targets))
    assert raised.value.code == 0
    out = capsys.readouterr().out
    assert re.findall(r"^ok   (\S+)", out, re.MULTILINE) == ran


@pytest.mark.parametrize("target", ["s.yaml#tow", "build/registry.json#tow"])
def test_a_tool_that_is_not_there(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(SEVERAL, encoding="utf-8")
    build("s.yaml", "build")
    with pytest.raises(SystemExit) as raised:
        main(("test", target))
    assert raised.value.code == 2
    assert capsys.readouterr().err == "toolc: there is no tool 'tow'; did you mean 'two'?\n"
