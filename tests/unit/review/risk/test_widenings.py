"""Every kind of widening has the grade that it needs, in what ``toolc diff`` prints for two commits."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN, edited, one, review_cases

SPECS, SECTIONS = review_cases("widenings")
CASES = {f"{section}: {name}": case for section, cases in SECTIONS.items() for name, case in cases.items()}


def commit(repository: Repository, case: dict[str, Any], version: str, others: str) -> None:
    """Commit one version of a case: the spec and the other files."""
    files = {"a.yaml": edited(SPECS[case.get("spec", "plain")], case.get(version, {}))}
    for path, file in case.get(others, {}).items():
        edits = {key: value for key, value in file.items() if key != "spec"} if isinstance(file, dict) else {}
        files[path] = edited(SPECS[file["spec"]], edits) if isinstance(file, dict) else file
    repository.commit(files)


def risks(printed: str, spec: str) -> str:
    """Return the risks of the tool of a spec, in the order of the report."""
    name = re.findall("^name: (.*)", SPECS[spec], re.MULTILINE)[0]
    (changes,) = (tool["changes"] for tool in json.loads(printed)["tools"] if tool["name"] == name)
    return ", ".join(f"{each['rule']} {each['grade']}" for each in changes if each["kind"] == "risk")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_widening_has_its_grade(repository: Repository, case: dict[str, Any]) -> None:
    commit(repository, case, "old", "before")
    commit(repository, case, "new", "after")
    found = diff("HEAD~1", "HEAD", "--format", "json")
    assert (found.exit_code, found.stderr) == (0, ""), found.stderr
    assert risks(found.stdout, case.get("spec", "plain")) == case["changes"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a/x:1", "a/x:2", "the image changed"),
        ("a/x", "a/x@sha256:" + "1" * 64, "the image changed"),
        ("a/x@sha256:" + "1" * 64, "a/x:1", "the image is no longer pinned by digest"),
        ("a/x@sha256:" + "1" * 64, "a/x@sha256:" + "2" * 64, "the image digest changed"),
        ("a/x@sha256:" + "1" * 64, "b/x@sha256:" + "2" * 64, "the image comes from another repository"),
    ],
)
def test_the_message_says_what_changed_of_an_image(tmp_path: Path, old: str, new: str, message: str) -> None:
    specs = (f"{PLAIN}sandbox: {{image: '{each}'}}\n" for each in (old, new))
    assert f"RSK03 high: {message}" in one(tmp_path, *specs)
