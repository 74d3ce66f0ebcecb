"""Maps whose keys a class declares: a list that must have an item. ``test_project_policies`` has one without."""

from pathlib import Path

from toolc.compiler.project.policy import read_policy


def test_a_list_that_must_have_an_item_is_accepted_with_one(tmp_path: Path) -> None:
    (path := tmp_path / "policy.yaml").write_text("policy: {approvals: [{by: [alice]}]}\n")
    assert read_policy(path).approvals[0].by == ("alice",)
