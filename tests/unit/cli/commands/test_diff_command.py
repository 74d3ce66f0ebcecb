"""``toolc diff``: output, formats and exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

from toolc.model.json_schema import JsonObject, Schema
from toolc.model.registry import RegistryFile
from toolc.model.registry_io import register, registry_bytes
from toolc.review.sources.states import state_of

WIDER = f"{PLAIN.replace('50', '20')}sandbox: {{network: {{allow: [b.example.com:443]}}}}\n"
SUMMARY = """\
tools: 1 changed
changes: 1 high, 1 breaking
new hosts: b.example.com:443
tokens of these definitions, about: 73 before, 73 after (+0)
"""


@pytest.fixture
def repository(repository: Repository) -> Repository:
    """A repository with changed specs in the working tree."""
    repository.commit({"specs/a.yaml": PLAIN})
    repository.write({"specs/a.yaml": WIDER})
    return repository


def fingerprints(printed: str) -> list[str]:
    return [change["fingerprint"] for tool in json.loads(printed)["tools"] for change in tool["changes"]]


def test_equal_states_have_no_differences(repository: Repository) -> None:
    found = diff("HEAD", "HEAD")
    assert (found.exit_code, found.stdout, found.stderr) == (0, "no differences\n", "")
    assert diff("HEAD", "HEAD", "--summary").stdout == "no differences\n"
    assert diff("HEAD", "HEAD", "--format", "markdown", "--fail-on", "low").stdout == ""


def test_summary_counts_changes(repository: Repository) -> None:
    assert diff("HEAD", "--summary").stdout == SUMMARY


@pytest.mark.parametrize("name", ["text", "markdown", "json", "sarif", "github"])
def test_every_format_is_deterministic(repository: Repository, name: str) -> None:
    found = diff("HEAD", "--format", name)
    assert (found.exit_code, found.stdout) == (0, diff("HEAD", "--format", name).stdout)
    assert "RSK01" in found.stdout
    assert "CON105" in found.stdout


@pytest.mark.parametrize(
    ("bars", "status"),
    [("breaking", 1), ("risk:high", 1), ("RSK01", 2), ("risk:critical", 0), ("critical", 0), ("surface:low", 0)],
)
def test_fail_on_sets_the_exit_code(repository: Repository, bars: str, status: int) -> None:
    found = diff("HEAD", "--fail-on", bars)
    assert found.exit_code == status
    assert ("look: changed" in found.stdout) == (status < 2)


def test_a_base_may_have_no_specs_or_errors(repository: Repository) -> None:
    repository.git("rm", "-q", "--cached", "-r", "specs")
    empty = repository.git("commit-tree", "-m", "empty", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    assert "look: added" in diff(empty).stdout
    broken = repository.commit({"specs/a.yaml": PLAIN.replace("name: look", "nam: look")})
    repository.write({"specs/a.yaml": PLAIN})
    found = diff(broken)
    assert (found.exit_code, "look: added" in found.stdout) == (0, True)
    assert "errors in its specs; tools that cannot be read count as new" in found.stderr


@pytest.mark.parametrize(
    ("format_name", "beginning"),
    [
        ("json", '{\n  "report": 1,\n  "findings": ['), ("sarif", '{\n  "$schema"'), ("github", "::error col=1,"),
        ("text", "specs/a.yaml:1:1: error TC102"),
    ],
)  # fmt: skip
def test_head_with_errors(repository: Repository, format_name: str, beginning: str) -> None:
    repository.write({"specs/a.yaml": PLAIN.replace("name: look", "nam: look")})
    found = diff("HEAD", "--format", format_name)
    printed, silent = found[1:] if format_name != "text" else found[:0:-1]
    assert (found.exit_code, silent) == (1, "")
    assert printed.startswith(beginning)
    assert "TC101" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "'nowhere' is neither a commit in this repository nor an existing file or folder"),
        (["HEAD", "--fail-on", "bad"], "'bad' is not a grade"),
        (["HEAD", "--accepted", "gone.yaml"], "gone.yaml"),
        (["HEAD", "--path", "/"], "/ is not in the repository"),
        (["--", "-x"], "'-x' is neither a commit"),
    ],
)
def test_invalid_diff_arguments_are_rejected(repository: Repository, arguments: list[str], message: str) -> None:
    found = diff(*arguments)
    assert found.exit_code == 2
    assert message in found.stderr


def write_registry(path: str, schema: JsonObject) -> None:
    """Write a registry with the tool and other parameters."""
    with state_of(None, [Path()]) as state:
        tool = replace(state.tools["look"].spec, parameters=Schema(schema))
    Path(path).write_bytes(registry_bytes(RegistryFile((register(tool),))))


def test_registry_with_an_invalid_schema(repository: Repository) -> None:
    write_registry("bad.json", {"type": None})
    found = diff("HEAD", "bad.json")
    assert found.exit_code == 2
    assert "bad.json: a schema of the tool look is not a JSON Schema; build the registry again" in found.stderr


@pytest.mark.parametrize("pattern", [r"^\p{Lu}", "[[a]", "(?i)a"])
def test_registry_with_a_pattern_that_python_reads_differently(repository: Repository, pattern: str) -> None:
    a: JsonObject = {"type": ["string", "null"], "pattern": pattern}
    write_registry("other.json", {"type": "object", "properties": {"a": a}})
    found = diff("HEAD", "other.json")
    assert (found.exit_code, found.stderr) == (0, "")
