"""``toolc diff`` applies the policy, lint settings and exclusions of the base to the head."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli.command_line import Result
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

HOST = f"{PLAIN}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n"
POLICY = "policy: {hosts: []}\n"
LINT = "lint: {severity: {TC204: error}}\n"
SHORT = PLAIN.replace("Look a thing up by its name. Use it for names of things, not for their numbers.", "Look.")


def change(
    repository: Repository, base: Mapping[str, str], head: Mapping[str, str | None], *arguments: str, commit: bool
) -> Result:
    """Return the result of ``toolc diff`` from one set of files to another; None deletes a file."""
    first = repository.commit(base)
    for path, text in head.items():
        if text is None:
            (repository.top / path).unlink()
    repository.write({path: text for path, text in head.items() if text is not None})
    return diff(first, *([repository.commit({})] if commit else []), *arguments)


PERMISSIVE: tuple[dict[str, str | None], ...] = (
    {"toolc.yaml": ""},
    {"toolc.yaml": None},
    {"toolc.yaml": None, "toolc.toml": "policy.hosts = ['b.example.com:443']\n"},
    {"specs/toolc.yaml": "policy: {hosts: ['*.example.com:443']}\n", "toolc.yaml": None},
    {"toolc.yaml": "policy: {public_egress: false}\n"},
)
LENIENT: tuple[dict[str, str | None], ...] = (
    {"toolc.yaml": ""},
    {"toolc.yaml": None},
    {"toolc.yaml": "lint: {ignore: [TC204]}\n"},
    {"toolc.yaml": "lint: {select: [TC1]}\n"},
    {"toolc.yaml": "lint: {severity: {TC2: 'off', TC20: warning}}\n"},
    {"specs/toolc.yaml": "lint: {severity: {TC204: 'off'}}\n"},
)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(
    ("project", "spec", "finding", "head"),
    [
        *((POLICY, HOST, "TC902", head) for head in PERMISSIVE),
        *((LINT, SHORT, "error TC204", head) for head in LENIENT),
    ],
)
def test_the_policy_and_the_lint_settings_of_the_base_apply(
    repository: Repository, project: str, spec: str, finding: str, head: Mapping[str, str | None], *, commit: bool
) -> None:
    base = {"specs/a.yaml": PLAIN, "toolc.yaml": project}
    found = change(repository, base, {"specs/a.yaml": spec, **head}, commit=commit)
    assert (found.exit_code, finding in found.stderr) == (1, True)


def test_a_stricter_policy_of_the_head_applies(repository: Repository) -> None:
    found = change(repository, {"a.yaml": HOST}, {"toolc.yaml": POLICY}, commit=True)
    assert (found.exit_code, found.stderr.count("TC902")) == (1, 1)


def test_a_violation_is_reported_once(repository: Repository) -> None:
    found = change(repository, {"a.yaml": PLAIN, "toolc.yaml": POLICY}, {"a.yaml": HOST}, commit=False)
    assert (found.exit_code, found.stderr.count("TC902")) == (1, 1)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(
    "head",
    [
        {"toolc.yaml": "exclude: [specs]\n"},
        {"toolc.yaml": None, "toolc.toml": "exclude = ['*.yaml']\n"},
        {"specs/toolc.yaml": "exclude: ['**']\n"},
        {"specs/a.yaml": None, "drafts/b.yaml": HOST, "toolc.yaml": "exclude: [drafts]\n"},
    ],
)
def test_a_newly_excluded_spec_is_compared_and_reported_like_its_removal(
    repository: Repository, head: Mapping[str, str | None], *, commit: bool
) -> None:
    base = {"specs/a.yaml": PLAIN, "toolc.yaml": "exclude: [old]\n"}
    changed: dict[str, str | None] = {"specs/a.yaml": HOST, **head}
    found = change(repository, base, changed, "--format", "json", "--fail-on", "breaking", commit=commit)
    assert found.exit_code == 1
    value = json.loads(found.stdout)
    grades = {(each["rule"], each["grade"]) for each in value["shared"]}
    assert ("RSK15", "breaking") in grades
    assert {each["rule"] for tool in value["tools"] for each in tool["changes"]} == {"RSK01"}


def test_a_renamed_tool_that_is_excluded_is_reported(repository: Repository) -> None:
    base = {"a.yaml": PLAIN, "b.yaml": PLAIN.replace("name: look", "name: other"), "toolc.yaml": ""}
    head = {
        "a.yaml": f"{PLAIN.replace('name: look', 'name: see')}aliases: [look]\n",
        "toolc.yaml": "exclude: [a.yaml]\n",
    }
    found = change(repository, base, head, "--fail-on", "breaking", commit=True)
    assert found.exit_code == 1
    assert "breaking RSK15: the file of see is excluded" in found.stdout


def test_a_spec_that_both_sides_exclude_is_not_compared(repository: Repository) -> None:
    base = {"specs/a.yaml": PLAIN, "drafts/b.yaml": "toolc: 1\n", "toolc.yaml": "exclude: [drafts]\n"}
    assert change(repository, base, {"drafts/b.yaml": "toolc: 2\n"}, commit=True).stdout == "no differences\n"


def test_a_spec_that_the_head_no_longer_excludes_is_compared(repository: Repository) -> None:
    base = {"drafts/a.yaml": HOST, "toolc.yaml": "exclude: [drafts]\n"}
    assert "look: added" in change(repository, base, {"toolc.yaml": ""}, commit=True).stdout


def test_the_settings_of_the_head_apply_if_the_base_allows_it(repository: Repository) -> None:
    base = {"specs/a.yaml": PLAIN, "toolc.yaml": f"{POLICY}review: {{accept_from: head}}\n"}
    found = change(repository, base, {"specs/a.yaml": HOST, "toolc.yaml": ""}, commit=True)
    assert found.exit_code == 0
    assert "RSK12" in found.stdout
    assert "it has no effect" not in found.stdout


def test_a_folder_as_the_base_decides(repository: Repository) -> None:
    repository.write({"old/specs/a.yaml": PLAIN, "old/toolc.yaml": POLICY})
    repository.write({"new/specs/a.yaml": HOST, "new/toolc.yaml": "review: {accept_from: head}\n"})
    assert diff("./old", "./new").exit_code == 1
    assert diff("old/specs", "new/specs").exit_code == 1
    repository.write({"old/toolc.yaml": f"{POLICY}review: {{accept_from: head}}\n"})
    assert diff("./old", "./new").exit_code == 0


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("text", ["policy: {hosts: ['b.example.com:443']}\n", "policy: {}\n", None])
def test_a_central_policy_in_the_repository_is_that_of_the_base(
    repository: Repository, text: str | None, *, commit: bool
) -> None:
    base, head = {"a.yaml": PLAIN, "ci/p.yaml": POLICY}, {"a.yaml": HOST, "ci/p.yaml": text}
    found = change(repository, base, head, "--policy", "ci/p.yaml", commit=commit)
    assert found.exit_code == 1
    assert "TC902" in found.stderr


def test_a_relaxed_central_policy_is_a_change(repository: Repository) -> None:
    base, head = {"a.yaml": PLAIN, "ci/p.yaml": POLICY}, {"ci/p.yaml": "policy: {}\n"}
    found = change(repository, base, head, "--policy", "ci/p.yaml", "--fail-on", "risk:high", commit=True)
    assert found.exit_code == 1
    assert "the policy in ci/p.yaml allows more: 'hosts'; it has no effect" in found.stdout


def test_a_central_policy_outside_the_repository_counts_as_it_is(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY, encoding="utf-8")
    assert change(repository, {"a.yaml": PLAIN}, {"a.yaml": HOST}, "--policy", "../p.yaml", commit=True).exit_code == 1


def test_a_stricter_central_policy_of_the_head_applies(repository: Repository) -> None:
    base, head = {"a.yaml": PLAIN, "ci/p.yaml": "policy: {}\n"}, {"a.yaml": HOST, "ci/p.yaml": POLICY}
    assert change(repository, base, head, "--policy", "ci/p.yaml", commit=True).exit_code == 1
    repository.git("rm", "--quiet", "ci/p.yaml")
    assert diff("HEAD", "--policy", "ci/p.yaml", "--fail-on", "risk:high").exit_code == 1
    assert diff("HEAD", "--policy", "ci/none.yaml").exit_code == 2


IGNORE = "# toolc: ignore[TC204] it is short"
TWO = "toolc: 1\ntools:\n" + "".join(
    "  - " + text.removeprefix("toolc: 1\n").replace("\n", "\n    ").rstrip() + "\n"
    for text in (PLAIN, PLAIN.replace("name: look", "name: see").replace("thing", "place"))
)


def ignoring(text: str, *, after: str) -> str:
    """Return a spec with a comment above the first description after a line."""
    at = text.index("description:", text.index(after))
    start = text.rindex("\n", 0, at) + 1
    indent = " " * (at - start)
    return f"{text[:start]}{indent}{IGNORE}\n{text[start:]}"


@pytest.mark.parametrize("commit", [True, False])
def test_a_comment_of_the_head_has_no_effect(repository: Repository, *, commit: bool) -> None:
    base, head = {"a.yaml": PLAIN, "toolc.yaml": LINT}, {"a.yaml": ignoring(SHORT, after="name: look")}
    found = change(repository, base, head, commit=commit)
    assert found.exit_code == 1
    assert "error TC204" in found.stderr


@pytest.mark.parametrize("commit", [True, False])
def test_a_comment_of_the_base_has_an_effect(repository: Repository, *, commit: bool) -> None:
    old = ignoring(SHORT, after="name: look")
    head = {"specs/b.yaml": f"\n{old}".replace("50", "60"), "a.yaml": None, "c.yaml": PLAIN.replace("look", "see")}
    base = {"a.yaml": old, "toolc.yaml": LINT, "other.yaml": old.replace("name: look", "name: other")}
    found = change(repository, base, head, commit=commit)
    assert (found.exit_code, found.stderr) == (0, "")
    assert "RSK12" not in found.stdout


def test_a_comment_that_is_moved_to_another_tool_is_new(repository: Repository) -> None:
    base, head = {"a.yaml": ignoring(TWO, after="name: look")}, {"a.yaml": ignoring(TWO, after="name: see")}
    found = change(repository, base, head, commit=True)
    assert "RSK12: a comment ignores the finding TC204; it has no effect" in found.stdout


def test_a_comment_moves_with_its_renamed_tool(repository: Repository) -> None:
    old = ignoring(PLAIN, after="name: look")
    found = change(repository, {"a.yaml": old}, {"a.yaml": old.replace("name: look", "name: see")}, commit=True)
    assert "RSK12" not in found.stdout


@pytest.mark.parametrize("path", ["toolc.yaml", "specs/toolc.yaml"])
def test_a_commit_decides_about_a_folder(repository: Repository, path: str) -> None:
    base = repository.commit({"specs/a.yaml": PLAIN, path: POLICY})
    repository.write({"specs/a.yaml": HOST, path: ""})
    found = diff(base, "./specs", "--path", "specs")
    assert found.exit_code == 1
    assert "TC902" in found.stderr
