"""The summary of a difference, and the tokens of definitions."""

from pathlib import Path

from project.paths import SPECS
from reviews.reviewing import PLAIN, difference

from toolc.review.project_changes import provider_changes
from toolc.review.sources.states import state_of
from toolc.review.summary import summary, tokens

CALCULATOR = SPECS / "calculator.yaml"
EVERYTHING = """\
sandbox:
  workspace: rw
  image: x/y:1
  network: {allow: [%s]}
  secrets: {TOKEN: {hosts: [a.example.com]}}
"""


def test_summary_lists_new_permissions(tmp_path: Path) -> None:
    hosts = ", ".join(f"h{number}.example.com:443" for number in range(10, 30))
    new = PLAIN + EVERYTHING % hosts
    assert summary(difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": new})) == (
        "tools: 1 changed",
        "changes: 2 critical, 21 high",
        (
            "new hosts: h10.example.com:443, h11.example.com:443, h12.example.com:443, h13.example.com:443, "
            "h14.example.com:443, h15.example.com:443, h16.example.com:443, h17.example.com:443 and 12 more"
        ),
        "new workspaces: rw",
        "new secrets: TOKEN",
        "new images: x/y:1",
        "tokens of these definitions, about: 73 before, 73 after (+0)",
    )


def test_tokens_are_estimated() -> None:
    with state_of(str(CALCULATOR), []) as state:
        (tool,) = (each.spec for each in state.tools.values())
    assert tokens([]) == 0
    assert tokens([tool]) == tokens([tool, tool]) - tokens([tool])
    assert 50 < tokens([tool]) < 1000


def test_provider_losses_are_reported_with_their_place(tmp_path: Path) -> None:
    old = PLAIN.replace("maxLength: 50", "title: Name")
    new = PLAIN.replace("maxLength: 50", "pattern: '^(?!x)[a-z]+$', not: {const: b}")
    (tool,) = difference(tmp_path, {"a.yaml": old}, {"a.yaml": new}).tools
    assert tool.pair.old
    assert tool.pair.new
    found = [*provider_changes(tool.pair.old, tool.pair.new)]
    assert "PRV04" in {each.rule for each in found}
    assert {each.path for each in found} == {("parameters",)}
    assert all("/parameters" in each.message and each.grade == "warning" for each in found)
    assert [*provider_changes(tool.pair.new, tool.pair.old)] == []
