"""Which parts of a registry's tools are credentials, and are not printed."""

from pathlib import Path

import pytest
from compiling.compiled import tool_of
from reviews.reviewing import PLAIN, difference

from toolc.compiler.text_analysis import credentials
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry import registry_from_json
from toolc.model.registry_io import register
from toolc.review.concealed import Hidden, credential_parts
from toolc.review.model.state import Reviewed

SECRET = "hunter2-Zq81xVb7"
VARIABLE = f"{PLAIN}sandbox: {{env: {{X: now}}}}\n"


def renamed(value: JsonValue, name: str, text: str) -> JsonValue:
    """Return a value in which the name ``X`` is another name, and the text ``now`` another text."""
    if isinstance(value, dict):
        return {name if key == "X" else key: renamed(each, name, text) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, name, text) for each in value]
    return {"now": text, "X": name}.get(value, value) if isinstance(value, str) else value


def shown(folder: Path, name: str, text: str) -> str:
    """Return a text as a review prints it if a registry's tool sets the variable ``name`` to it."""
    stored: JsonObject = register(tool_of(folder, VARIABLE)).to_json() | {"digests": {"surface": "", "effect": ""}}
    (tool,) = registry_from_json({"registry": 1, "tools": [renamed(stored, name, text)]}).tools
    return Hidden.of([Reviewed(tool.spec)], credential_parts).text(f"was {text} before")


def test_a_variable_named_like_a_credential_is_hidden(tmp_path: Path) -> None:
    assert shown(tmp_path, "API_TOKEN", SECRET) == f"was {'*' * len(SECRET)} before"
    assert shown(tmp_path, "COLOUR", SECRET) == f"was {SECRET} before"


@pytest.mark.parametrize("text", ["true", "/run/secrets/token", "12345", "abc"])
def test_exempt_and_very_short_values_are_shown(tmp_path: Path, text: str) -> None:
    assert shown(tmp_path, "API_TOKEN", text) == f"was {text} before"


def test_a_file_with_many_changed_tools_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    find = credentials.secret_ranges

    def record(text: str) -> list[tuple[int, int]]:
        searched.append(text)
        return [*find(text)]

    def spec(verb: str) -> str:
        each = f"description: Look a thing up, backend: {{shell: {{argv: [{verb}]}}}}}}\n"
        return "toolc: 1\ntools:\n" + "".join(f"- {{name: {verb}_{number}, {each}" for number in range(20))

    monkeypatch.setattr(credentials, "secret_ranges", record)
    old, new = spec("get"), spec("read")
    assert len(difference(tmp_path, {"a.yaml": old}, {"a.yaml": new}).tools) >= 20
    # The compiler also searches each file once.
    assert [searched.count(text) for text in (old, new)] == [2, 2]
