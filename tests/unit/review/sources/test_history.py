"""A history compared commit by commit: no crash, deterministic reports, valid witnesses."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from reviews.repositories import Repository
from reviews.reviewing import PLAIN

from toolc.data.rule_pages import rule_pages
from toolc.review.compare import Difference, compare
from toolc.review.reports import diff_text, machine, markdown
from toolc.review.sources.states import state_of, two_states
from toolc.review.summary import summary
from toolc.validation.validate import validation_errors

COMMITS: Final = 25
PARAMETERS: Final = (
    "type: string, maxLength: 50", "type: string, maxLength: 20, pattern: '^[a-f]+$'",
    "type: [string, 'null'], maxLength: 9", "type: integer, minimum: 1", "enum: [lamp, door, roof]",
    "enum: [lamp, door]", "type: array, items: {type: string, maxLength: 5}, maxItems: 3",
    "anyOf: [{type: string, maxLength: 4}, {type: integer}]",
)  # fmt: skip
BACKENDS: Final = (
    'shell:\n    argv: [echo, --, "{{ name }}"]',
    'shell:\n    script: echo "$ARG_name"',
    "python: {file: lib/code.py, function: go}",
    "http: {url: https://a.example.com/x}",
)
ENDS: Final = (
    "",
    "sandbox: {workspace: ro}\n",
    "sandbox: {network: {allow: ['*.example.com:443']}}\n",
    "result: {format: json, schema: {type: object, properties: {a: {type: string}}, required: [a]}}\n",
    "result: {format: json, schema: {type: object, properties: {a: {type: string, maxLength: 9}}}}\n",
    "annotations: {read_only: true}\n",
    "# toolc: ignore[TC406] it is used elsewhere\n",
)
PROJECTS: Final = (
    "vars: {}\n",
    "defaults: {sandbox: {limits: {timeout: 60s}}}\n",
    "lint: {ignore: [TC501]}\n",
    "toolsets: {all: [tool_0]}\n",
)


def spec(name: str, choices: random.Random) -> str:
    done = PLAIN.replace("name: look", f"name: {name}").replace("Look a thing", f"Look a {choices.choice('xyz')}")
    done = done.replace("type: string, ", "").replace("maxLength: 50", choices.choice(PARAMETERS))
    return done.replace(BACKENDS[0], choices.choice(BACKENDS)) + choices.choice(ENDS)


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    repository = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(repository.top)
    choices = random.Random(4)
    done: list[str] = []
    for number in range(COMMITS):
        edited = range(6) if number == 0 else choices.sample(range(6), 2)
        files = {f"specs/{each}.yaml": spec(f"tool_{each}", choices) for each in edited}
        files["specs/lib/code.py"] = f"def go(name):\n    return {choices.randrange(3)}\n"
        files["toolc.yaml"] = choices.choice(PROJECTS) if number % 5 == 0 else "vars: {}\n"
        done.append(repository.commit(files))
    return done


@pytest.mark.integrations
def test_history_of_this_repository(commits: list[str]) -> None:
    witnesses = 0
    for base, head in pairwise(commits):
        with two_states(base, head, [Path()]) as (old, new):
            assert not old.diagnostics.has_errors
            found = compare(old, new)
            printed = reports(found)
            assert printed == reports(compare(old, new))
            assert {change.rule for _, change in found.changes} <= rule_pages().keys()
            assert len(summary(found)) <= 10
            witnesses += sum(judged(found))
        with state_of(base, [Path()]) as old, state_of(head, [Path()]) as new:
            assert reports(compare(old, new)) == printed
    assert witnesses > 10


def reports(found: Difference) -> list[str]:
    return [
        diff_text.report(found),
        markdown.report(found),
        machine.json_report(found),
        machine.findings_report(found, "sarif"),
    ]


def judged(found: Difference) -> list[bool]:
    """Assert for each witness that one schema accepts it and the other rejects it."""
    done: list[bool] = []
    for tool in found.tools:
        for change in tool.changes:
            if change.witness and tool.pair.old and tool.pair.new:
                old, new = tool.pair.old.spec, tool.pair.new.spec
                takes, refuses = (old.parameters, new.parameters)
                if change.rule.startswith("CON2"):
                    assert new.result_schema
                    assert old.result_schema
                    takes, refuses = new.result_schema, old.result_schema
                value = change.witness.value
                done.append(not validation_errors(takes.value, value) and bool(validation_errors(refuses.value, value)))
            elif change.grade == "breaking" and change.rule < "CON3":
                assert change.no_witness
    assert all(done)
    return done
