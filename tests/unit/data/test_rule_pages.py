"""The pages of all rules: they match the declarations in the code, and their examples have the findings."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from reviewing import difference

from toolc.cli.commands.explain import compile_example
from toolc.compiler.checks import check_each
from toolc.compiler.checks.base import TOOL_CHECKS, TOOL_SET_CHECKS
from toolc.data.rule_pages import PageCode, RulePage, parse_page, rule_pages
from toolc.model import codes
from toolc.reporters.text import render
from toolc.review.rules import rules

FOLDER = files("toolc.data") / "rules"
ALL = [pytest.param(page, id=page.number) for page in rule_pages().values()]
CHECKS = [pytest.param(page, id=page.number) for page in rule_pages().values() if page.bad]
REVIEW = [pytest.param(page, id=page.number) for page in rule_pages().values() if page.before]


def test_each_file_is_one_page_with_the_number_of_its_name() -> None:
    names = sorted(each.name for each in FOLDER.iterdir())
    assert names == sorted(f"{number}.md" for number in rule_pages())


def test_each_code_of_the_compiler_is_on_the_page_of_its_number() -> None:
    declared = {
        (code.number, PageCode(name=code.name, slug=code.slug, severity=code.severity, enabled=code.enabled))
        for code in codes.ALL
    }
    pages = [page for page in rule_pages().values() if page.number.startswith("TC")]
    assert {(page.number, code) for page in pages for code in page.codes} == declared
    without = {codes.INTERNAL_ERROR.number, codes.TOO_MANY_STEPS.number}
    assert {page.number for page in pages if not page.bad} == without


def test_each_rule_of_a_review_has_a_page() -> None:
    declared = {rule.number: (PageCode(name=rule.name, slug=rule.slug, severity=rule.severity),) for rule in rules()}
    pages = [page for page in rule_pages().values() if not page.number.startswith("TC")]
    assert {page.number: page.codes for page in pages} == declared


def test_slugs_are_unique() -> None:
    slugs = [code.slug for page in rule_pages().values() for code in page.codes]
    assert len(set(slugs)) == len(slugs)
    assert [slug for slug in slugs if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)] == []


@pytest.mark.parametrize("number", rule_pages())
def test_front_matter_is_yaml(number: str) -> None:
    text = (FOLDER / f"{number}.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["number"] == number
    assert tuple(PageCode(**each) for each in front["codes"]) == rule_pages()[number].codes


@pytest.mark.parametrize("page", ALL)
def test_a_page_has_an_explanation(page: RulePage) -> None:
    assert len(re.findall(r"[.!?](?=\s)", page.explanation)) >= 2


@pytest.mark.parametrize("page", CHECKS)
def test_the_bad_example_has_only_findings_of_its_number(page: RulePage) -> None:
    found = compile_example(page, page.bad).diagnostics.sorted()
    assert {each.code.number for each in found} == {page.number}


COMPANIONS: dict[str, set[str]] = {codes.RECURSIVE_CALL.number: {codes.DANGLING.number}}
"""Numbers that a check reports in addition to its own."""


@pytest.mark.parametrize("page", CHECKS)
def test_a_check_reports_only_its_own_number(page: RulePage) -> None:
    located = compile_example(page, page.bad).located
    for each in TOOL_CHECKS:
        numbers = {found.code.number for found in check_each(located, [each])}
        assert numbers <= {each.number} | COMPANIONS.get(each.number, set())
    for every in TOOL_SET_CHECKS:
        numbers = {found.code.number for found in every.check(located)}
        assert numbers <= {every.number} | COMPANIONS.get(every.number, set())


@pytest.mark.parametrize("page", CHECKS)
def test_the_good_example_has_no_finding(page: RulePage) -> None:
    compilation = compile_example(page, page.good)
    assert render(compilation.diagnostics, color=False) == ""
    assert compilation.registry().tools


@pytest.mark.parametrize("page", REVIEW)
def test_the_two_versions_differ_by_a_change_of_the_number(
    page: RulePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = difference(tmp_path, {"tool.yaml": page.before}, {"tool.yaml": page.after})
    assert page.number in {change.rule for _, change in found.changes}


def test_escapes_of_an_example_are_bytes_and_characters() -> None:
    page = parse_page(
        "---\nnumber: TC999\ncodes:\n  - name: example\n    slug: example\n    severity: error\n---\n"
        "Text.\n\n## Bad\n\n```yaml name=tool.yaml escape\na: \\xe9 \\u200b \\\\x\n```\n"
    )
    assert page.bad == "a: \udce9 \u200b \\x\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no front matter", "a page starts with front matter"),
        ("---\nname: TC999\n---\n", "front matter has a number, then codes"),
        ("---\nnumber: TC999\ncodes:\n  - title: x\n---\n", "not a line of front matter: '  - title: x'"),
    ],
)
def test_a_page_of_another_form_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_page(text)
