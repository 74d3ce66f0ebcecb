"""Policies in a review: relaxed policies, approvers and violations."""

from pathlib import Path

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN, change_lines, difference

from toolc.review.reports import diff_text, machine, markdown

STRICT = "policy: {hosts: ['*.example.com:443'], limits: {timeout: 1m}}\n"
ASKING = """\
policy:
  approvals:
    - {by: ["@example/network"], risks: [RSK01], paths: ["**/a.yaml"]}
    - {by: ["@example/network", "@example/payments"], risks: [high], tags: [payments]}
    - {by: ["@example/platform"], risks: [RSK12]}
"""
REACHING = PLAIN + "tags: [payments]\nsandbox: {network: {allow: [a.example.com:443]}}\n"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    done = Repository.make(tmp_path / "r")
    monkeypatch.chdir(done.top)
    return done


def test_relaxed_policy_is_reported_without_a_changed_tool(tmp_path: Path) -> None:
    loose = "policy: {hosts: ['*.example.com:443', 'a.example.org:443']}\n"
    found = difference(tmp_path, {"a.yaml": PLAIN, "toolc.yaml": STRICT}, {"a.yaml": PLAIN, "toolc.yaml": loose})
    assert change_lines(found.shared) == [
        "RSK12 critical: the policy in toolc.yaml allows more: 'limits'",
        "RSK12 critical: the policy in toolc.yaml allows more: 'hosts'",
    ]
    assert (found.shared[1].before, found.shared[1].after) == (
        "*.example.com:443",
        "a.example.org:443, *.example.com:443",
    )
    back = difference(tmp_path, {"toolc.yaml": loose}, {"toolc.yaml": STRICT})
    assert [each for each in change_lines(back.shared) if "limits" in each] == []


def test_nested_project_file_with_an_equally_strict_parent_is_not_reported(tmp_path: Path) -> None:
    above = {"toolc.yaml": STRICT, "sub/a.yaml": PLAIN}
    below = above | {"sub/toolc.yaml": "vars: {x: 1}\n"}
    assert change_lines(difference(tmp_path / "1", above, below).shared) == []
    assert change_lines(difference(tmp_path / "2", below, above).shared) == []


def test_relaxed_policy_in_commits_has_its_repository_path(repository: Repository) -> None:
    repository.commit({"specs/a.yaml": PLAIN, "toolc.yaml": STRICT})
    repository.commit({"toolc.yaml": STRICT.replace("1m", "2m")})
    from toolc.review.compare import compare
    from toolc.review.sources.states import two_states

    with two_states("HEAD~1", "HEAD", [Path()]) as (old, new):
        (change,) = compare(old, new).shared
    assert change.message == "the policy in toolc.yaml allows more: 'limits'"
    assert (change.before, change.after) == ("timeout: 1m", "timeout: 2m")


LONG = "# ours\npolicy:\n  limits: {timeout: 1m}\n  hosts:\n    - '*.example.com:443'\n"


@pytest.mark.parametrize(
    ("edited", "names"),
    [
        (LONG.replace("1m", "2m"), ("toolc.yaml:3:3", "toolc.yaml:3:3")),
        (LONG.replace("# ours", "# ours\n#") + "    - a.example.org:443\n", ("toolc.yaml:4:3", "toolc.yaml:5:3")),
        (
            LONG.replace("# ours\n", "\n\n").replace("  limits: {timeout: 1m}\n", ""),
            ("toolc.yaml:3:3", "toolc.yaml:4:3"),
        ),
        ("vars: {x: 1}\n", ("toolc.yaml:3:3", "toolc.yaml:1:1")),
    ],
    ids=["a wider bound", "a longer list", "a bound that is gone", "a policy that is gone"],
)
def test_relaxed_policy_is_reported_with_both_lines(edited: str, names: tuple[str, str], tmp_path: Path) -> None:
    found = difference(tmp_path, {"a.yaml": PLAIN, "toolc.yaml": LONG}, {"a.yaml": PLAIN, "toolc.yaml": edited})
    first = found.shared[0]
    assert (str(first.old), str(first.new)) == names


def test_approvers_include_those_of_the_old_path_and_tags(tmp_path: Path) -> None:
    project = {"toolc.yaml": ASKING}
    moved = REACHING.replace("tags: [payments]\n", "")
    found = difference(tmp_path, {"a.yaml": PLAIN + "tags: [payments]\n"} | project, {"b.yaml": moved} | project)
    named = {each.rule: each.approvers for _, each in found.changes if each.rule in {"RSK01", "RSK12"}}
    assert named == {
        "RSK12": ("@example/network", "@example/payments", "@example/platform"),
        "RSK01": ("@example/network", "@example/payments"),
    }


def test_approvers_are_in_each_change_and_in_the_summary(tmp_path: Path) -> None:
    project = {"toolc.yaml": ASKING}
    found = difference(tmp_path, {"a.yaml": PLAIN} | project, {"a.yaml": REACHING} | project)
    (change,) = (each for _, each in found.changes if each.rule == "RSK01")
    assert change.approvers == ("@example/network", "@example/payments")
    assert "    to be approved by: @example/network, @example/payments\n" in diff_text.report(found)
    assert "; to be approved by &#64;example/network, &#64;example/payments" in markdown.report(found)
    assert '"approvers": [\n' in machine.json_report(found)
    assert "- to be approved by&#58; " not in markdown.report(found)


def test_removed_approval_rule_still_applies(tmp_path: Path) -> None:
    old, new = {"a.yaml": PLAIN, "toolc.yaml": ASKING}, {"a.yaml": REACHING, "toolc.yaml": "vars: {}\n"}
    found = difference(tmp_path, old, new)
    named = {each.rule: each.approvers for _, each in found.changes if each.approvers}
    assert named == {"RSK01": ("@example/network", "@example/payments"), "RSK12": ("@example/platform",)}


def test_central_policy_applies_to_changed_tools(repository: Repository) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    repository.write({"specs/a.yaml": REACHING, "../central.yml": "policy: {hosts: []}\n"})
    code, out, err = diff("HEAD", "--policy", "../central.yml")
    assert (code, out) == (1, "")
    assert err.startswith(
        "specs/a.yaml:11:28: error TC902: 'look': a call may reach a.example.com:443, which ../central.yml does not"
    )
    assert diff("HEAD", "--policy", "../nowhere.yml")[0] == 2
    repository.write({"../central.yml": "policy: {approvals: [{by: ['@boss']}]}\n"})
    code, out, _ = diff("HEAD", "--policy", "../central.yml")
    assert code == 0
    assert "to be approved by: @boss" in out
