"""``toolc explain``: one page, the list, all pages as the docs have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolc.cli import main
from toolc.compiler import codes
from toolc.diagnostics import Code

CHECKS = Path(__file__).parent.parent.parent / "docs" / "checks.md"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(["explain", *arguments])
    assert isinstance(raised.value.code, int)
    return raised.value.code


@pytest.mark.parametrize("code", ["TC007", "tc007"])
def test_a_page_says_why_and_shows_both_examples(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(code) == 0
    assert capsys.readouterr().out == (
        """\
## TC007: a key that is not a string

Error.

Every key of a spec is text: JSON, TOML and the providers know no other. In YAML a key without
quotes may be a number, a boolean or null. Put it in quotes.

This `tool.yaml` has a finding:

```yaml
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
    errors: {2: invalid_args}
```

```text
tool.yaml:7:14: error TC007: the key 2 is a number, and keys are text
  7 |     errors: {2: invalid_args}
    |              ^
    = help: write "2" [fixable with --unsafe-fixes]

1 error
```

Put right:

```yaml
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
    errors: {"2": invalid_args}
```
"""
    )


def test_a_page_lists_the_sides_of_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("TC406") == 0
    assert (
        "\n- a template that names no parameter (error)\n"
        "- a parameter that nothing uses (warning)\n"
        "- a template that uses a parameter which may be absent (error)\n"
    ) in capsys.readouterr().out


def test_files_beside_the_example_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("TC111") == 0
    assert "\nBeside it stands `hello.sh`:\n\n```\necho hello\n```\n" in capsys.readouterr().out


@pytest.mark.parametrize("selectable", [code for code in codes.ALL if not code.on], ids=lambda code: code.number)
def test_a_finding_that_is_off_is_shown_nevertheless(selectable: Code, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(selectable.number) == 0
    page = capsys.readouterr().out
    assert "off unless it is selected" in page
    assert f" {selectable.number}: " in page.split("```text")[1]


def test_the_list_has_one_line_for_each_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(codes.ALL)
    assert lines[0] == "TC001  error    on   the file is not valid YAML or TOML"
    assert "TC208  warning  off  a tool without a label for people" in lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["401"], "there is no code '401'; did you mean TC401?"),
        (["TC999"], "there is no code 'TC999'; did you mean TC909?"),
        (["tc11"], "'tc11' is the beginning of several codes; explain one of TC110, TC111, TC112, TC113, TC114"),
        (["hello"], "there is no code 'hello'; see the list: toolc explain"),
        (["TC401", "--all"], "name a code or ask for --all, not both"),
    ],
)
def test_a_code_that_does_not_exist(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr() == ("", f"toolc: {told}\n")


@pytest.mark.slow
def test_the_docs_are_these_pages(golden: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--all") == 0
    pages = capsys.readouterr().out
    if golden:
        CHECKS.write_text(pages, encoding="utf-8")
    assert CHECKS.read_text(encoding="utf-8") == pages, "make golden writes it anew"
