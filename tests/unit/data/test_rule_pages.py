"""The pages of all rules: they match the declarations in the code, and their examples have the findings."""

import re
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
import yaml
from reviews.reviewing import difference

import toolc.review
from toolc.cli.commands.explain import compile_example
from toolc.compiler.checks import check_each
from toolc.compiler.checks.check_registry import TOOL_CHECKS, TOOL_SET_CHECKS
from toolc.data.rule_pages import PageCode, RulePage, parse_page, rule_pages
from toolc.model import codes
from toolc.model.names import PROVIDER_NAMES
from toolc.reporters.text import render
from toolc.review.contract.movement import Aspect, rule
from toolc.review.model.change import Grade, Side

FOLDER = files("toolc.data") / "rules"
REVIEWS = Path(toolc.review.__file__).parent
SIDES: tuple[Side, ...] = get_args(Side)
ALL = [pytest.param(page, id=page.number) for page in rule_pages().values()]
CHECKS = [pytest.param(page, id=page.number) for page in rule_pages().values() if page.bad]
REVIEW = [pytest.param(page, id=page.number) for page in rule_pages().values() if page.before]


def test_each_file_is_one_page_with_the_number_of_its_name() -> None:
    names = sorted(each.name for each in FOLDER.iterdir())
    assert names == sorted(f"{number}.md" for number in rule_pages())


def test_each_code_of_the_compiler_is_on_the_page_of_its_number() -> None:
    declared = sorted((code.number, code.slug, code.severity.value, code.enabled) for code in codes.ALL)
    pages = [page for page in rule_pages().values() if page.number.startswith("TC")]
    listed = [(page.number, code.slug, code.severity, code.enabled) for page in pages for code in page.codes]
    assert sorted(listed) == declared
    without = {codes.INTERNAL_ERROR.number, codes.TOO_MANY_STEPS.number, codes.REFUSED.number}
    assert {page.number for page in pages if not page.bad} == without


def test_each_rule_of_a_review_has_a_page() -> None:
    sources = [each.read_text(encoding="utf-8") for each in REVIEWS.rglob("*.py")]
    numbers = {number for text in sources for number in re.findall(r'"((?:CON|RSK|SUR)[0-9]{2,3})"', text)}
    numbers |= {rule(side, aspect) for side in SIDES for aspect in Aspect}
    numbers |= {f"PRV{position:02}" for position, _ in enumerate(PROVIDER_NAMES, 1)}
    assert {number for number in rule_pages() if not number.startswith("TC")} == numbers


def test_the_worst_grade_of_a_review_rule_is_on_its_page() -> None:
    grades = {code.severity for number, page in rule_pages().items() if number[:2] != "TC" for code in page.codes}
    assert grades <= {*get_args(Grade)}


def test_names_are_unique_and_one_line_without_a_full_stop() -> None:
    names = [code.name for page in rule_pages().values() for code in page.codes]
    assert len(set(names)) == len(names)
    assert [name for name in names if re.search(r"\n|\.$", name)] == []


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
