"""Releases of a server, imported one after the other, as those of public servers went: new generators of schemas,
other letters in names, promises about results."""

from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from reviews.repositories import Repository
from reviews.reviewing import change_lines

from toolc.backends.plugin_protocol import Description, Offer
from toolc.importers.plugin_spec import plugin_spec
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.compare import compare
from toolc.review.sources.states import two_states

SAFE: Final = 9007199254740991
COMMAND: Final = ("notes-server",)


def tool(name: str, description: str, properties: JsonObject, **more: JsonValue) -> Description:
    whole: JsonObject = {"type": "object", "properties": properties}
    return Description(name, description, whole | more)


FIND = "Find notes by their words, newest first. Ask for few of them, and for more where they do not do."
PACK = "Pack all notes of a folder into one archive, with the pictures in them, and name its place."

WIDER: Final[JsonObject] = {
    "words": {"type": "string", "minLength": 1},
    "limit": {"type": "integer", "minimum": -SAFE, "maximum": SAFE},
    "labels": {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}},
}
FIRST: Final = (
    tool("findNotes", FIND, {"words": {"type": "string"}, "limit": {"type": "integer"}}, required=["words"]),
    tool("packNotes", PACK, {"folder": {"type": "string"}, "labels": {"type": "object"}}, required=["folder"]),
)
NEWER_GENERATOR: Final = (
    tool("findNotes", FIND, WIDER, required=["words"], additionalProperties=False),
    tool("packNotes", PACK, {"folder": {"type": "string"}, "labels": WIDER["labels"]}, required=["folder"]),
)
OTHER_LETTERS: Final = (
    tool("find-notes", FIND, WIDER, required=["words"]),
    tool("toggle-log", "Write more to the log, or less.", {}),
)
UNSAID: Final = (
    "Gemini does not support propertyNames here; moved to the description (/parameters/properties/labels/propertyNames)"
)
UNSAID_BY_OLLAMA: Final = (
    "Ollama does not support additionalProperties here; moved to the description "
    "(/parameters/properties/labels/additionalProperties)"
)
OTHER: Final = "SUR01 low: the definition for the model changed at parameters.properties.labels"
RENAMED: Final = (
    "probably renamed from findNotes (the descriptions are 100% alike); calls of findNotes fail; add it to aliases"
)
HISTORY: Final[list[tuple[tuple[Description, ...], list[str]]]] = [
    (FIRST, []),
    (FIRST, []),
    (
        NEWER_GENERATOR,
        [
            "findNotes: CON106 breaking: 'words' now has the minLength 1",
            "findNotes: CON105 breaking: 'limit' now has the maximum 9007199254740991",
            "findNotes: CON106 breaking: 'limit' now has the minimum -9007199254740991",
            "findNotes: CON111 compatible: 'labels' was added",
            f"findNotes: PRV04 warning: gemini cannot represent 2 more details: {UNSAID}",
            f"findNotes: PRV09 warning: ollama cannot represent 5 more details: {UNSAID_BY_OLLAMA}",
            f"packNotes: {OTHER}.propertyNames",
            f"packNotes: {OTHER}.additionalProperties",
            f"packNotes: PRV04 warning: gemini cannot represent 1 more detail: {UNSAID}",
            f"packNotes: PRV09 warning: ollama cannot represent 2 more details: {UNSAID_BY_OLLAMA}",
        ],
    ),
    (
        OTHER_LETTERS,
        [
            f"find-notes: CON302 breaking: {RENAMED}",
            "packNotes: CON301 breaking: the tool was removed, so calls fail",
            "toggle-log: CON312 compatible: the tool was added",
            "toggle-log: RSK13 high: all calls of a session share one sandbox",
        ],
    ),
]


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    repository = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(repository.top)
    return [
        repository.commit({"specs/notes.yaml": plugin_spec(Offer(tools, has_several=True), COMMAND, (), {})})
        for tools, _ in HISTORY
    ]


def test_changes_of_each_release_match_the_history(commits: list[str]) -> None:
    found: list[list[str]] = []
    for base, head in pairwise(commits):
        with two_states(base, head, [Path()]) as (old, new):
            assert not new.diagnostics.has_errors
            found.append(
                [f"{each.name}: {line}" for each in compare(old, new).tools for line in change_lines(each.changes)]
            )
    assert found == [expected for _, expected in HISTORY[1:]]
