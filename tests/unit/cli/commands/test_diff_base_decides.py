"""``toolc diff`` applies the acceptances and settings of the base: a change cannot accept itself."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli.command_line import Result
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

WIDER = f"{PLAIN.replace('50', '20')}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n"
BASE = {"specs/a.yaml": PLAIN, "toolc.yaml": "exclude: []\n"}
GATE = ("--fail-on", "breaking,risk:high")


def changes(found: Result) -> dict[str, str]:
    """Return the message of each change with its rule and grade as the key, from output as JSON."""
    value = json.loads(found.stdout)
    every = [*value["shared"], *(change for tool in value["tools"] for change in tool["changes"])]
    return {f"{each['grade']} {each['rule']}": each["message"] for each in every}


def acceptances(*arguments: str) -> str:
    """Return a file that accepts every change that ``toolc diff`` with these arguments reports."""
    value = json.loads(diff(*arguments, "--format", "json").stdout)
    every = [*value["shared"], *(change for tool in value["tools"] for change in tool["changes"])]
    lines = [f"  - {{fingerprint: '{each['fingerprint']}', reason: It is ours., who: mallory}}" for each in every]
    return "\n".join(["accepted:", *lines, ""])


def accept_in_head(repository: Repository, base: Mapping[str, str], *, is_committed: bool) -> tuple[str, ...]:
    """Commit the base, widen the tool and accept that in the head; return the arguments of the comparison."""
    first = repository.commit(base)
    repository.write({"specs/a.yaml": WIDER})
    repository.write({"toolc.accepted.yaml": acceptances(first)})
    return (first, repository.commit({})) if is_committed else (first,)


@pytest.mark.parametrize("is_committed", [True, False])
def test_acceptances_of_the_head_have_no_effect_and_are_reported(repository: Repository, *, is_committed: bool) -> None:
    arguments = accept_in_head(repository, BASE, is_committed=is_committed)
    assert diff(*arguments, *GATE).exit_code == 1
    found = changes(diff(*arguments, "--format", "json"))
    assert {"breaking CON105", "high RSK01", "breaking RSK14", "high RSK14"} <= found.keys()
    assert found["high RSK14"] == (
        "mallory accepts RSK01 high of look in this change: a call may now reach b.example.com:443; it has no effect, "
        "because the base does not set review: {accept_from: head}"
    )


@pytest.mark.parametrize("name", ["text", "markdown", "json", "sarif", "github"])
def test_every_format_names_the_setting(repository: Repository, name: str) -> None:
    arguments = accept_in_head(repository, BASE, is_committed=True)
    printed = diff(*arguments, "--format", name).stdout.replace("\\", "").replace("&#58;", ":")
    assert "accept_from" in printed


def test_acceptances_of_the_base_have_an_effect(repository: Repository) -> None:
    arguments = accept_in_head(repository, BASE, is_committed=True)
    accepted = Path("toolc.accepted.yaml").read_text(encoding="utf-8")
    base = repository.commit(BASE | {"toolc.accepted.yaml": accepted})
    repository.git("rm", "--quiet", "toolc.accepted.yaml")
    head = repository.commit({"specs/a.yaml": WIDER})
    found = diff(base, head, *GATE)
    assert (found.exit_code, found.stdout) == (0, "no other differences\n")
    assert found.stderr == "toolc: 2 changes accepted in toolc.accepted.yaml\n"
    assert diff(arguments[0], head, *GATE).exit_code == 1


@pytest.mark.parametrize(
    ("in_base", "status"),
    [
        ({"toolc.yaml": "review: {accept_from: head}\n"}, 0),
        ({"toolc.yaml": "review: {accept_from: base}\n"}, 1),
        ({"toolc.toml": "review.accept_from = 'head'\n"}, 0),
        ({"specs/toolc.yaml": "review: {accept_from: head}\n"}, 0),
        ({"toolc.yaml": "review: {accept_from: head}\n", "specs/toolc.yaml": "out: build\n"}, 0),
        ({"toolc.yaml": "review: {accept_from: head}\n", "specs/toolc.yaml": "review: {accept_from: base}\n"}, 1),
        ({"toolc.yaml": "out: build\n", "specs/toolc.yaml": "review: {accept_from: head}\n"}, 1),
        ({"specs/toolc.yaml": "review: {accept_from: head}\n", "b.yaml": PLAIN.replace("look", "see")}, 0),
    ],
)
def test_the_base_lets_the_head_decide(repository: Repository, in_base: Mapping[str, str], status: int) -> None:
    arguments = accept_in_head(repository, {"specs/a.yaml": PLAIN, **in_base}, is_committed=True)
    assert diff(*arguments, *GATE).exit_code == status


def test_a_project_file_in_a_subfolder_decides_only_about_its_specs(repository: Repository) -> None:
    in_base = {"specs/a.yaml": PLAIN, "b.yaml": PLAIN.replace("look", "see")}
    base = repository.commit(in_base | {"specs/toolc.yaml": "review: {accept_from: head}\n"})
    repository.write({"b.yaml": in_base["b.yaml"].replace("50", "20")})
    repository.write({"toolc.accepted.yaml": acceptances(base)})
    assert diff(base, *GATE).exit_code == 1


def test_the_head_cannot_let_itself_decide(repository: Repository) -> None:
    base, _ = accept_in_head(repository, BASE, is_committed=True)
    head = repository.commit({"toolc.yaml": "review: {accept_from: head}\n"})
    found = diff(base, head, "--format", "json", "--fail-on", "critical")
    assert found.exit_code == 1
    assert {"critical RSK16", "high RSK01", "high RSK14"} <= changes(found).keys()
    assert "later pull requests may accept their own changes to all specs: review.accept_from is head" in found.stdout


@pytest.mark.parametrize("name", ["text", "markdown", "json", "sarif", "github"])
def test_first_adoption_applies_the_settings_of_the_head_and_says_so(repository: Repository, name: str) -> None:
    base = repository.commit(
        {"README.md": "toolc: 1\n", ".github/workflows/toolc.yml": "on: push\njobs: {toolc: {}}\n"}
    )
    repository.write({"specs/a.yaml": WIDER})
    arguments = (base, "--path", "specs")
    repository.write({"toolc.accepted.yaml": acceptances(*arguments)})
    found = diff(*arguments, "--format", name, "--fail-on", "breaking,medium")
    assert found.exit_code == 0
    assert "RSK17" in found.stdout
    assert "first adoption" in found.stdout


@pytest.mark.parametrize("path", ["other/b.yaml", "toolc.lock", "x/toolc.toml", "toolc.accepted.yaml"])
def test_a_base_that_uses_toolc_is_not_a_first_adoption(repository: Repository, path: str) -> None:
    text = {"other/b.yaml": PLAIN, "toolc.accepted.yaml": "accepted: []\n"}.get(path, "")
    base = repository.commit({path: text})
    repository.write({"specs/a.yaml": WIDER})
    repository.write({"toolc.accepted.yaml": acceptances(base, "--path", "specs")})
    found = diff(base, "--path", "specs", "--format", "json", "--fail-on", "medium")
    assert found.exit_code == 1
    assert "low RSK17" not in changes(found)


def test_a_link_to_a_device_in_the_repository_is_not_a_file_of_accepted_changes(repository: Repository) -> None:
    arguments = accept_in_head(repository, BASE, is_committed=False)
    Path("toolc.accepted.yaml").unlink()
    Path("toolc.accepted.yaml").symlink_to("/dev/zero")
    found = diff(*arguments, *GATE)
    assert found.exit_code == 1
    assert "toolc.accepted.yaml" not in found.stderr


def test_a_linked_file_of_accepted_changes_in_the_repository_has_no_effect(
    repository: Repository, tmp_path: Path
) -> None:
    arguments = accept_in_head(repository, BASE, is_committed=False)
    outside = tmp_path / "outside.yaml"
    Path("toolc.accepted.yaml").rename(outside)
    Path("toolc.accepted.yaml").symlink_to(outside)
    assert diff(*arguments, *GATE).exit_code == 1
    assert diff(*arguments, *GATE, "--accepted", str(outside)).exit_code == 0
    (tmp_path / "inside.yaml").symlink_to(Path("toolc.accepted.yaml").absolute())
    assert diff(*arguments, *GATE, "--accepted", str(tmp_path / "inside.yaml")).exit_code == 2
    (tmp_path / "folder").symlink_to(Path("folder").absolute())
    Path("folder").symlink_to(tmp_path)
    through = tmp_path / "folder/outside.yaml"
    assert through.exists()
    assert diff(*arguments, *GATE, "--accepted", str(through)).exit_code == 2
