"""What a checkout has and the specs of two commits do not show: submodules, and files that Git converts."""

import json
from pathlib import Path

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

OTHER = PLAIN.replace("name: look", "name: find_it").replace("Look a thing up", "Find the place of one thing")


def shared(*arguments: str) -> list[str]:
    found = diff(*arguments, "--path", "specs", "--format", "json")
    return [f"{each['rule']} {each['grade']}: {each['message']}" for each in json.loads(found.stdout)["shared"]]


def inner(folder: Path, text: str) -> Repository:
    made = Repository.make(folder)
    made.commit({"b.yaml": text})
    return made


@pytest.mark.parametrize("place", ["specs/inner", "specs"])
def test_new_submodule_fails(repository: Repository, tmp_path: Path, place: str) -> None:
    inner(tmp_path / "inner", OTHER)
    repository.commit({"a.yaml" if place == "specs" else "specs/a.yaml": PLAIN})
    repository.git("submodule", "--quiet", "add", str(tmp_path / "inner"), place)
    repository.commit({})
    assert shared("HEAD~1", "HEAD") == [
        f"RSK12 high: the submodule {place} was added, but its specs are not compared; run toolc diff in the submodule"
    ]
    assert diff("HEAD~1", "HEAD", "--path", "specs", "--fail-on", "risk:high").exit_code == 1
    assert diff("HEAD~1", "HEAD", "--path", "a.yaml").stdout == "no differences\n"


def test_changed_submodule_cannot_be_accepted_by_the_head(repository: Repository, tmp_path: Path) -> None:
    library = inner(tmp_path / "inner", PLAIN)
    repository.git("submodule", "--quiet", "add", str(library.top), "specs")
    repository.commit({})
    new = library.commit({"b.yaml": PLAIN.replace("echo", "rm")})
    Repository(repository.top / "specs").git("pull", "--quiet", "origin", new)
    repository.commit({})
    fingerprint = json.loads(diff("HEAD~1", "HEAD", "--format", "json").stdout)["shared"][0]["fingerprint"]
    repository.commit({
        "toolc.accepted.yaml": f'accepted:\n  - {{fingerprint: "{fingerprint}", reason: Because, who: me}}\n'
    })  # fmt: skip
    assert shared("HEAD~2", "HEAD")[0].startswith("RSK12 high: the submodule specs changed")
    assert diff("HEAD~2", "HEAD", "--fail-on", "risk:high").exit_code == 1
    assert diff("HEAD~2", "--fail-on", "risk:high").exit_code == 1


def test_excluded_submodule_is_not_reported(repository: Repository, tmp_path: Path) -> None:
    inner(tmp_path / "inner", OTHER)
    repository.commit({"specs/a.yaml": PLAIN, "specs/toolc.yaml": "exclude: [vendor]\n"})
    repository.git("submodule", "--quiet", "add", str(tmp_path / "inner"), "specs/vendor")
    repository.commit({})
    assert diff("HEAD~1", "HEAD", "--path", "specs").stdout == "no differences\n"


@pytest.mark.parametrize("attribute", ["working-tree-encoding=UTF-7", "text filter=other", "ident"])
def test_attributes_that_convert_files_are_reported(repository: Repository, attribute: str) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    repository.commit({".gitattributes": f"# specs\n*.yaml {attribute}\n"})
    (message,) = shared("HEAD~1", "HEAD")
    assert message.startswith("RSK12 high: Git converts files when it checks them out")
    assert message.endswith(f"so they may differ from the compared ones; remove: *.yaml {attribute}")
    repository.commit({"specs/a.yaml": f"# A comment\n{PLAIN}"})
    assert diff("HEAD~1", "HEAD").stdout == "no differences\n"


@pytest.mark.parametrize("path", [".gitattributes", "docs/.gitattributes"])
def test_harmless_attributes_are_not_reported(repository: Repository, path: str) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    harmful = " filter=other" if path.startswith("docs") else " filter=lfs"
    repository.commit({path: f"*.yaml text eol=lf\n*.bin{harmful}\n"})
    assert diff("HEAD~1", "HEAD", "--path", "specs").stdout == "no differences\n"
