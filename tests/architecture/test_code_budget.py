"""The size of each package has a maximum: see ``code_budget.toml``."""

import tomllib
from pathlib import Path

import pytest
from code_lines import code_lines, lines_by_package, page_lines

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("code_budget.toml")
BUDGET = tomllib.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x = 1\n", 1),
        ("\n# comment\n   # another\nx = (  # and one here\n    1)\n", 2),
        ('"""Text\n\nof a module."""\n\nX = 1\n"""Text of a constant."""\n', 1),
        ('def f() -> str:\n    """Text."""\n    return """not a\n    docstring"""\n', 3),
        ("if x:\n    'a statement'\n", 2),
    ],
)
def test_blank_lines_comments_and_docstrings_do_not_count(text: str, count: int) -> None:
    assert code_lines(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [("a;\n\n// b\nc; // d\n", 2), ("/** a\n * b\n */\nc {\n/* d */\n}\n", 2), ("/* a */ b;\nc\n", 2)],
)
def test_comments_of_javascript_and_css_do_not_count(text: str, count: int) -> None:
    assert page_lines(text) == count


def test_every_package_has_a_budget() -> None:
    assert lines_by_package(ROOT / "toolc").keys() == BUDGET["packages"].keys()


def over_budget(name: str, lines: int, budget: int) -> list[str]:
    """Return what to do if something has more lines than its budget."""
    problem = (
        f"{name} has {lines:,} lines of code, {lines - budget:,} more than its budget; remove code, or raise it in "
        f"{FILE.relative_to(ROOT)} and say what the lines are for in a line of {BUDGET['record']}"
    )
    return [problem] if lines > budget else []


def test_no_package_is_larger_than_its_budget() -> None:
    problems = [
        problem
        for package, lines in sorted(lines_by_package(ROOT / "toolc").items())
        for problem in over_budget(f"toolc/{package}", lines, BUDGET["packages"][package])
    ]
    assert problems == []


def test_the_budgets_of_the_packages_are_together_not_more_than_the_total() -> None:
    assert sum(BUDGET["packages"].values()) <= BUDGET["total"]


def test_the_tests_are_not_larger_than_their_budget() -> None:
    assert over_budget("tests", lines_by_package(ROOT / "tests").total(), BUDGET["tests"]) == []


@pytest.mark.parametrize(("kind", "suffix"), [("javascript", "js"), ("css", "css")])
def test_the_page_is_not_larger_than_its_budget(kind: str, suffix: str) -> None:
    files = sorted((ROOT / "toolc/serve/page").glob(f"*.{suffix}"))
    lines = sum(page_lines(each.read_text(encoding="utf-8")) for each in files)
    assert files
    assert over_budget(f"{kind} of the page", lines, BUDGET["later"]["A page"][kind]) == []


def test_a_package_over_its_budget_is_reported_with_what_to_do() -> None:
    assert over_budget("toolc/cli", 3010, 3010) == []
    (problem,) = over_budget("toolc/cli", 3020, 3010)
    assert problem == (
        "toolc/cli has 3,020 lines of code, 10 more than its budget; remove code, or raise it in "
        "tests/architecture/code_budget.toml and say what the lines are for in a line of "
        "docs/explanation/decisions/0003-code-budget.md"
    )


def test_the_record_exists_and_every_later_subject_has_a_price() -> None:
    assert (ROOT / BUDGET["record"]).is_file()
    assert all(lines >= 0 for price in BUDGET["later"].values() for lines in price.values())
