"""The stricter of two lint settings, and the nearest project file."""

from pathlib import Path

import pytest

from toolc.compiler.project.baseline import nearest, stricter
from toolc.compiler.project.project import Project
from toolc.compiler.project.settings import Settings, TokenBudget, severity_of
from toolc.model import codes
from toolc.model.diagnostics import Severity
from toolc.model.source import start_of_file

PLACE = start_of_file("toolc.yaml")
LEVELS = {None: 0, Severity.WARNING: 1, Severity.ERROR: 2}
SETTINGS = [
    Settings(),
    Settings(ignore=("TC2",)),
    Settings(select=("TC204",)),
    Settings(severity={"TC4": Severity.ERROR, "TC404": None}),
    Settings(severity={"TC204": Severity.ERROR}, ignore=("TC2",)),
]


@pytest.mark.parametrize("one", SETTINGS)
@pytest.mark.parametrize("other", SETTINGS)
def test_no_finding_is_reported_less_severely(one: Settings, other: Settings) -> None:
    both = stricter(one, other)
    for code in codes.ALL:
        least = max(LEVELS[severity_of(code, [one])], LEVELS[severity_of(code, [other])])
        assert LEVELS[severity_of(code, [both])] >= least, code.number


def test_only_hosts_that_both_list_are_allowed() -> None:
    one, other = Settings(hosts=("example.com", "a.example.org")), Settings(hosts=("docs.example.com", "example.org"))
    assert sorted(stricter(one, other).hosts) == ["a.example.org", "docs.example.com"]


def test_the_smaller_token_budget_applies_at_the_place_in_the_head() -> None:
    head = {"tool": TokenBudget(300, PLACE), "toolset": TokenBudget(10, PLACE)}
    base = {"tool": TokenBudget(200, None), "registry": TokenBudget(900, None)}
    found = stricter(Settings(max_tokens=head), Settings(max_tokens=base)).max_tokens
    assert {scope: (budget.tokens, budget.span) for scope, budget in found.items()} == {
        "tool": (200, PLACE), "toolset": (10, PLACE), "registry": (900, None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("place", "folder"), [("a/b/c", "a/b"), ("a/x", "."), (".", "."), ("b", "."), ("a/b", "a/b"), ("a/bc", ".")]
)
def test_the_nearest_project_applies(place: str, folder: str) -> None:
    projects = {each: Project(folder=Path(each)) for each in (".", "a/b", "..", "../..")}
    found = nearest(projects, place)
    assert found is not None
    assert found.folder == Path(folder)


def test_a_project_file_above_applies_if_the_folder_has_none() -> None:
    projects = {each: Project(folder=Path(each)) for each in ("../..", "..", "other")}
    found = nearest(projects, "a/b")
    assert found is not None
    assert found.folder == Path("..")
    assert nearest({"other": Project()}, "a") is None
