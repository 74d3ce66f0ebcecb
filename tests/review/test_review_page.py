"""docs/review.md: its table is that of the rules, and its examples are what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from repositories import Repository
from test_diff_command import diff

from toolc.providers.table import PROVIDERS
from toolc.review import accepted
from toolc.review.rules import rules

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "review.md"


def table() -> str:
    lines = [f"| {each.number} | {each.kind} | {each.name} |" for each in rules()]
    return "\n".join(["| rule | kind | about |", "|---|---|---|", *lines])


def block(name: str) -> str:
    """The fenced text after a mark of the page."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def put(name: str, text: str, pattern: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(rf"(<!-- {name} -->\n){pattern}", lambda found: found[1] + text, page, flags=re.DOTALL),
        encoding="utf-8",
    )


def test_the_table_has_every_rule(golden: bool) -> None:
    if golden:
        put("rules", f"{table()}\n\n##", r".*?\n##")
    assert table() in PAGE.read_text(encoding="utf-8")


def test_the_rules_of_providers_are_in_the_order_of_their_table() -> None:
    named = [each.name.split(" ")[0] for each in rules() if each.kind == "provider"]
    assert named == [*PROVIDERS]


def test_every_rule_that_the_code_tells_is_in_the_table() -> None:
    modules = [path for path in Path(accepted.__file__).parent.rglob("*.py") if path.name != "rules.py"]
    code = "".join(path.read_text(encoding="utf-8") for path in modules)
    assert set(re.findall(r'"((?:CON3|RSK|SUR)\d+)"', code)) == {
        each.number for each in rules() if re.match("CON3|RSK|SUR", each.number)
    }


def test_the_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: bool
) -> None:
    repository = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(repository.top)
    repository.commit({"specs/look.yaml": block("before")})
    repository.write({"specs/look.yaml": block("before").replace("50", "20") + block("added")})
    printed = diff("HEAD").stdout
    if golden:
        put("printed", f"```text\n{printed}```\n", r"```text\n.*?```\n")
    assert printed == block("printed")


def test_the_accepted_example_is_one(tmp_path: Path) -> None:
    path = tmp_path / "accepted.yaml"
    path.write_text(block("accepted"), encoding="utf-8")
    assert [(each.fingerprint, each.who) for each in accepted.read(path)] == [("0a1b2c3d4e5f", "alice")]
