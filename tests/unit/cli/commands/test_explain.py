"""``toolc explain``: one page, the list, and all pages as in the docs."""

import pytest
from cli.command_line import toolc
from project.paths import DOCS

from toolc.data.rule_pages import RulePage, rule_pages
from toolc.model import codes
from toolc.model.diagnostics import Code

CHECKS = DOCS / "reference" / "checks.md"


def explained(*arguments: str) -> str:
    found = toolc("explain", *arguments)
    assert (found.exit_code, found.stderr) == (0, "")
    return found.stdout


@pytest.mark.parametrize("code", ["TC007", "tc007"])
def test_a_page_is_the_section_of_the_docs(code: str) -> None:
    page = explained(code)
    assert page.startswith("## TC007: key that is not a string\n\nError.\n")
    assert f"{page}\n## TC008: " in CHECKS.read_text(encoding="utf-8")


def test_a_page_has_the_codes_of_its_number_and_the_files_of_its_example() -> None:
    assert (
        "\n- template or script that names an unknown parameter (error)\n"
        "- parameter that is not used (warning)\n"
        "- template that uses an optional parameter without a default (error)\n"
    ) in explained("TC406")
    assert "\nWith the file `hello.sh`:\n\n```\necho hello\n```\n" in explained("TC111")


@pytest.mark.parametrize("code", [code for code in codes.ALL if not code.enabled], ids=lambda code: code.slug)
def test_a_finding_that_is_off_by_default_is_shown(code: Code) -> None:
    page = explained(code.number)
    assert "off by default" in page
    assert f" {code.number}: " in page.split("```text")[1]


def test_the_list_has_one_line_for_each_code() -> None:
    lines = explained().splitlines()
    assert len(lines) == sum(len(page.codes) for page in rule_pages().values())
    assert lines[0] == "TC001   error       on   invalid YAML or TOML syntax"
    assert "TC208   warning     off  tool without a label for users" in lines
    assert "RSK02   critical    on   more access to the workspace" in lines


@pytest.mark.parametrize("rule", [page for page in rule_pages().values() if page.before], ids=lambda page: page.number)
def test_every_rule_of_a_review_is_explained(rule: RulePage) -> None:
    page = explained(rule.number)
    assert page.startswith(f"## {rule.number}: {rule.title}\n\nSeverity: at most {rule.codes[0].severity}.\n")


def test_a_page_of_a_review_rule_shows_both_versions() -> None:
    before, after = explained("rsk05").split("Before:")[1].split("After:")
    assert "memory: 128MiB" in before
    assert "memory: 2GiB" in after


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["401"], "there is no code '401'; did you mean TC401?"),
        (["TC999"], "there is no code 'TC999'; did you mean TC909?"),
        (["tc11"], "'tc11' is the start of several codes; choose one of: TC110, TC111, TC112, TC113, TC114"),
        (
            ["RSK1"],
            "'RSK1' is the start of several codes; choose one of: "
            + ", ".join(f"RSK{number}" for number in range(10, 20)),
        ),
        (["CON999"], "there is no code 'CON999'; did you mean CON309?"),
        (["hello"], "there is no code 'hello'; list all codes with: toolc explain"),
        (["TC401", "--all"], "pass either a code or --all, not both"),
    ],
)
def test_a_code_that_does_not_exist(arguments: list[str], message: str) -> None:
    assert toolc("explain", *arguments) == (2, "", f"toolc: {message}\n")


@pytest.mark.slow
def test_the_docs_are_these_pages(golden: bool) -> None:
    pages = explained("--all")
    if golden:
        CHECKS.write_text(pages, encoding="utf-8")
    assert CHECKS.read_text(encoding="utf-8") == pages, "make golden writes it anew"
