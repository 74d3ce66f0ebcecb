"""Links between tools: renamed, copied and similar ones, in what ``toolc diff`` prints for two commits."""

import json
from pathlib import Path

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

DESCRIPTION = "Look a thing up by its name. Use it for names of things, not for their numbers."
WEATHER = PLAIN.replace("name: look", "name: weather").replace(
    DESCRIPTION, "Report the weather of one city today. Use it for questions about rain and wind."
)
OTHERS = {
    f"other{n}.yaml": PLAIN.replace("name: look", f"name: {word}")
    .replace(DESCRIPTION, f"The {word} of the {n}th row, which nobody but the {word} office needs, as a {word} list.")
    .replace("echo", f"{word}-program")
    for n, word in enumerate(["invoice", "garden", "planet", "kitchen"])
}


@pytest.fixture
def repository(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository.commit({"look.yaml": PLAIN, "weather.yaml": WEATHER.replace("echo", "cat"), **OTHERS})
    assert diff("HEAD").stdout == "no differences\n"  # the cache knows all specs
    return repository


def links(repository: Repository, files: dict[str, str]) -> list[str]:
    """Return the links that are reported for changed files, from a narrow comparison and from one of all specs."""
    repository.commit(files)
    found = [_links("HEAD~1", "HEAD")]
    repository.git("worktree", "add", "--quiet", "../old", "HEAD~1")
    found.append(_links("../old", "."))
    assert found[0] == found[1]
    return found[0]


def _links(*states: str) -> list[str]:
    tools = json.loads(diff(*states, "--format", "json").stdout)["tools"]
    return [f"{each['name']}: {one['message']}" for each in tools for one in each["changes"] if one["rule"] == "SUR02"]


def test_a_copy_names_the_original_and_what_differs(repository: Repository) -> None:
    copy = PLAIN.replace("name: look", "name: look_fast") + "sandbox: {network: {allow: [c.example.com:443]}}\n"
    assert links(repository, {"copy.yaml": copy}) == [
        "look_fast: the tool is a copy of look: the descriptions are 100% alike; it differs in sandbox.network.allow"
    ]


@pytest.mark.parametrize(("limits", "more"), [(7, ""), (8, " and 1 more")])
def test_a_link_names_at_most_eight_differences(repository: Repository, limits: int, more: str) -> None:
    keys = "timeout: 9s, memory: 99MiB, cpus: 2, pids: 99, output: 9KiB, tmp: 9MiB, files: 99, file_size: 9MiB"
    changed = ", ".join(keys.split(", ")[:limits])
    copy = PLAIN.replace("name: look", "name: look_fast") + f"sandbox: {{limits: {{{changed}}}}}\n"
    (link,) = links(repository, {"copy.yaml": copy})
    assert link.partition(" more")[0].endswith(" and 1") == bool(more)
    assert ("more" in link) == bool(more)


def test_a_copy_is_linked_by_its_effect(repository: Repository) -> None:
    copy = PLAIN.replace("name: look", "name: find").replace(
        DESCRIPTION, "Search everything, whatever the question is."
    )
    assert links(repository, {"copy.yaml": copy}) == [
        "find: the tool is a copy of look: calls have the same effect; it differs in description"
    ]


def test_a_tool_that_becomes_similar_is_linked(repository: Repository) -> None:
    changed = WEATHER.replace("echo", "cat").replace(
        "Report the weather of one city today. Use it for questions about rain and wind.",
        "Look a thing up by its name. Use it for names of things, not for their weather.",
    )
    assert links(repository, {"weather.yaml": changed}) == [
        (
            "weather: the tool is now similar to look: the descriptions are 94% alike; it differs in description, "
            "backend.shell.command.argv.elements"
        )
    ]


def test_a_tool_that_now_has_the_effect_of_another_one_is_linked(repository: Repository) -> None:
    assert links(repository, {"weather.yaml": WEATHER}) == [
        "weather: the tool is now similar to look: calls have the same effect; it differs in description"
    ]


def test_two_similar_new_tools_are_linked_once(repository: Repository) -> None:
    first = WEATHER.replace("name: weather", "name: rain").replace("Report the weather", "Tell the amount of rain")
    second = first.replace("name: rain", "name: snow")
    assert [each.partition(":")[0] for each in links(repository, {"a.yaml": first, "b.yaml": second})] == [
        "rain",
        "snow",
    ]


def test_similar_tools_that_stay_similar_are_not_linked(repository: Repository) -> None:
    copy = PLAIN.replace("name: look", "name: look_fast")
    repository.commit({"copy.yaml": copy})
    assert links(repository, {"look.yaml": PLAIN.replace("numbers", "number")}) == []


def test_other_changes_have_no_links(repository: Repository) -> None:
    new = PLAIN.replace("name: look", "name: paint").replace(DESCRIPTION, "Paint one wall in a colour that you choose.")
    changed = {"look.yaml": PLAIN.replace("50", "20"), "paint.yaml": new.replace("echo", "paint")}
    assert links(repository, changed) == []


def test_a_renamed_tool_is_paired_by_its_description(repository: Repository) -> None:
    """The tool with the same description is the partner, not an unrelated one that happens to do the same."""
    find = PLAIN.replace("name: look", "name: look_up").replace("echo", "printf")
    paint = PLAIN.replace("name: look", "name: a_paint").replace(
        DESCRIPTION, "Paint one wall in a colour that you choose."
    )
    repository.git("rm", "--quiet", "look.yaml")
    repository.commit({"find.yaml": find, "paint.yaml": paint})
    tools = {each["name"]: each for each in json.loads(diff("HEAD~1", "HEAD", "--format", "json").stdout)["tools"]}
    assert (tools["look_up"]["status"], tools["look_up"]["from"]) == ("renamed", "look")
    assert tools["a_paint"]["status"] == "added"


def test_two_renamed_tools_are_paired_by_name(repository: Repository) -> None:
    """Both new descriptions are similar to both old ones; the names decide."""
    old = {
        f"{name}.yaml": PLAIN.replace("name: look", f"name: {name}").replace("names of things", f"names of {name}")
        for name in ("read_notes", "read_tasks")
    }
    repository.commit(old)
    repository.git("rm", "--quiet", *old)
    new = {path.replace("_", "-"): text.replace("name: read_", "name: read-") for path, text in reversed(old.items())}
    repository.commit(new)
    tools = json.loads(diff("HEAD~1", "HEAD", "--format", "json").stdout)["tools"]
    assert {each["name"]: each["from"] for each in tools} == {"read-notes": "read_notes", "read-tasks": "read_tasks"}


CODE = """\
toolc: 1
name: look
description: Look a thing up by its name. Use it for names of things, not for their numbers.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'"}
backend:
  python:
    code: |
      def look(name):
          return f"things/{name}"
"""


def test_a_new_tool_is_linked_to_a_renamed_one(repository: Repository) -> None:
    """Of two new tools with the description of the old one, the renamed one is the one that runs the same."""
    repository.commit({"look.yaml": CODE})
    renamed = CODE.replace("look(", "name_it(").replace("name: look", "name: name_it")
    other = CODE.replace("look(", "look_at(").replace("name: look", "name: look_at").replace("things/", "offers/")
    repository.git("rm", "--quiet", "look.yaml")
    repository.commit({"it.yaml": renamed, "at.yaml": other})
    tools = {each["name"]: each for each in json.loads(diff("HEAD~1", "HEAD", "--format", "json").stdout)["tools"]}
    assert (tools["name_it"]["from"], tools["look_at"]["status"]) == ("look", "added")
    (link,) = _links("HEAD~1", "HEAD")
    assert link.startswith("look_at: the tool is similar to name_it: the descriptions are 100% alike")


def test_the_program_of_a_renamed_tool_is_shown_as_one_change(repository: Repository) -> None:
    repository.commit({"look.yaml": CODE})
    repository.commit({"look.yaml": CODE.replace("look(", "name_it(").replace("name: look", "name: name_it")})
    (tool,) = json.loads(diff("HEAD~1", "HEAD", "--format", "json").stdout)["tools"]
    messages = [each["message"] for each in tool["changes"] if each["rule"] == "RSK07"]
    assert messages == [
        "the program look.py is now name_it.py, with changes", "the effect of a call changed: backend.python.function",
    ]  # fmt: skip
