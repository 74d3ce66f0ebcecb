"""``toolc lock`` and ``toolc lock --check`` print what changed, per tool, with fields from Git."""

import json
from pathlib import Path

import pytest
from cli.command_line import Result, toolc
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

from toolc.model.lock_file import Lock
from toolc.review.locked import History, as_text, lock_changes, with_known_pins

OTHER = PLAIN.replace("name: look", "name: other").replace("Look a thing up", "Find the place of one thing")
BOTH = """\
toolc: 1
name: both
label: Both
description: Look two things up, one after the other, by their names. Use it for pairs of things.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
backend: {composite: {strategy: sequential, steps: [{id: one, tool: look, args: {name: "{{ name }}"}}]}}
"""
NOTE = "toolc: approve {} with: toolc lock\n"
ANY_BASE = (
    "toolc: toolc.lock says base=any: tools without an image may run in any base image; to pin it: "
    "toolc lock --pin-base-image\n"
)


def lock(*arguments: str) -> Result:
    return toolc("lock", *arguments)


@pytest.fixture
def repository(repository: Repository) -> Repository:
    """A repository with two tools that its lock file approves."""
    repository.write({"a.yaml": PLAIN, "b.yaml": OTHER})
    assert lock() == (0, "", "toolc: toolc.lock approves 2 tools; have the change reviewed\n")
    repository.commit({})
    return repository


def test_an_up_to_date_lock_file_has_no_changes(repository: Repository) -> None:
    assert lock("--check") == (0, "", f"toolc: toolc.lock approves all 2 tools\n{ANY_BASE}")
    assert json.loads(lock("--check", "--format", "json")[1]) == {"lock": "toolc.lock", "changes": []}
    assert lock() == (0, "", "toolc: toolc.lock approves 2 tools; have the change reviewed\n")


def test_a_pinned_base_image_stays_pinned_if_the_notes_are_followed(repository: Repository) -> None:
    pinned = Path("toolc.lock").read_text(encoding="utf-8").replace("base=any", f"base=sha256:{'0' * 64}")
    repository.write({"toolc.lock": pinned, "b.yaml": OTHER.replace("name: other", "name: third")})
    assert lock("--check")[2] == "toolc: approve these 2 changes with: toolc lock --pin-base-image\n"
    _, text, notes = lock()
    assert f"*      base     sha256:{'0' * 12} to any\n" in text
    assert notes.startswith("toolc: the base image is no longer pinned; to pin it again: toolc lock --pin-base-image\n")


def test_a_table_shows_what_changed(repository: Repository) -> None:
    changed = PLAIN.replace("50}", "20}").replace("of things", "of the things")
    repository.commit({"a.yaml": f"{changed}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n"})
    repository.write({"b.yaml": OTHER.replace("name: other", "name: third")})
    status, text, note = lock("--check")
    assert (status, note) == (1, NOTE.format("these 4 changes"))
    assert text == (
        "TOOL   CHANGE   DETAILS\n"
        "look   surface  description, parameters.properties.name.maxLength\n"
        "look   effect   sandbox.network.allow\n"
        "other  removed\n"
        "third  added    same effect as other, which was removed\n"
    )
    moved = json.loads(lock("--check", "--format", "json")[1])["changes"]
    assert [(each["tool"], each["moved"], each["fields"]) for each in moved] == [
        ("look", "surface", ["description", "parameters.properties.name.maxLength"]),
        ("look", "effect", ["sandbox.network.allow"]),
        ("other", "removed", None),
        ("third", "added", None),
    ]
    assert moved[0]["approved"] != moved[0]["actual"]


def test_one_command_approves_with_the_difference_shown(repository: Repository) -> None:
    repository.write({"toolc.yaml": "defaults: {sandbox: {workspace: ro}}\n"})
    status, text, note = lock()
    assert (status, note) == (0, "toolc: toolc.lock approves 2 tools; have the change reviewed\n")
    report, _, table = text.partition("TOOL")
    assert "look: changed\n  critical RSK02: a call may now read the files of the workspace" in report
    assert table == "   CHANGE  DETAILS\nlook   effect  sandbox.workspace\nother  effect  sandbox.workspace\n"
    assert lock("--check")[0] == 0


def test_a_digest_that_changed_without_a_field_is_explained(repository: Repository) -> None:
    text = Path("toolc.lock").read_text(encoding="utf-8")
    digest = Lock.read(Path("toolc.lock")).tools["look"].effect
    commit = repository.commit({"toolc.lock": text.replace(digest, f"sha256:{'0' * 64}", 1)})
    status, table, _ = lock("--check")
    reason = f"no fields since {commit[:12]}; another version of toolc wrote the digest, or the line was edited"
    assert (status, table) == (1, f"TOOL  CHANGE  DETAILS\nlook  effect  {reason}\n")
    assert lock()[1] == table
    assert lock("--check")[0] == 0


def test_fields_are_unknown_if_git_lacks_the_approved_version(repository: Repository) -> None:
    repository.write({"a.yaml": PLAIN.replace("echo", "cat")})
    assert lock()[0] == 0
    repository.write({"a.yaml": PLAIN.replace("echo", "printf")})
    reason = "Git has no version with the approved digest, so the fields are unknown"
    assert lock("--check")[1] == f"TOOL  CHANGE  DETAILS\nlook  effect  {reason}\n"


def test_a_changed_tool_changes_the_effect_of_its_callers(repository: Repository) -> None:
    repository.write({"c.yaml": BOTH})
    lock()
    repository.commit({})
    repository.write({"a.yaml": PLAIN.replace("echo", "cat")})
    assert lock("--check")[1] == (
        "TOOL  CHANGE  DETAILS\n"
        "both  effect  the tools that it calls\n"
        "look  effect  backend.shell.command.argv.elements\n"
    )


def test_outside_of_a_repository_the_fields_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(PLAIN, encoding="utf-8")
    assert lock()[0] == 0
    Path("a.yaml").write_text(PLAIN.replace("echo", "cat"), encoding="utf-8")
    assert "look  effect  Git has no version" in lock("--check")[1]
    assert lock("--check")[2] == NOTE.format("this change")


def test_a_damaged_lock_file_is_replaced(repository: Repository) -> None:
    repository.write({"toolc.lock": "<<<<<<< HEAD\n"})
    assert lock("--check")[0] == 2
    assert lock() == (0, "", "toolc: toolc.lock approves 2 tools; have the change reviewed\n")


def test_changed_images_and_packages_are_listed(tmp_path: Path) -> None:
    digest, other = "sha256:" + "a" * 64, "sha256:" + "b" * 64
    head = f"# toolc.lock 1\nlook surface={digest} effect={digest}"
    before = Lock.parse(f"{head} image=manifest:{digest} package=six==1.0@{digest} package=a==1.0@{digest}\n", "l")
    after = Lock.parse(f"{head} image=config:{other} package=six==1.1@{digest} package=b==2.0@{digest}\n", "l")
    with History(tmp_path / "toolc.lock", [tmp_path]) as history:
        assert as_text([*lock_changes(before, after, (), history)]) == (
            "TOOL  CHANGE    DETAILS\n"
            "look  image     manifest:sha256:aaaaaaaaaaaa to config:sha256:bbbbbbbbbbbb\n"
            "look  packages  a 1.0 to none, b none to 2.0, six 1.0 to 1.1\n"
        )
    assert with_known_pins(before, (), "l").tools == {}
