import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from calls.http_tools import failed
from calls.scripted_tools import error_kind
from engines.configurations import CONFIGURATIONS, available

from toolc import Executor, Registry, ToolResult
from toolc.config.configuration import Configuration
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.interface import Engine
from toolc.sandbox.oci.engine import OciEngine

TOOLS = r"""
toolc: 1
defaults: {sandbox: {limits: {output: 1KiB}}}
tools:
  - name: count
    description: Count to a number, one a line, for tests of toolc itself and for nothing else.
    parameters: {to: {type: integer, description: How far to count}}
    backend: {shell: {argv: [seq, "{{ to }}"]}}
  - name: complain
    description: Fail with many words on both streams, for tests of toolc itself and for nothing else.
    backend: {shell: {script: "seq 1000; seq 2000 3000 >&2; exit 3"}}
  - name: numbers
    description: Numbers as one JSON array, for tests of toolc itself and for nothing else at all.
    backend: {shell: {script: "seq 1000 | paste -sd, | sed 's/.*/[&]/'"}}
    result: {format: json}
  - name: page
    description: A long text of a Python function, for tests of toolc itself and for nothing else.
    parameters: {size: {type: integer, description: How many characters}}
    backend: {python: {function: page, code: "def page(size):\n    return 'ä' * size\n"}}
  - name: spill
    description: Print a secret in the middle of many words, for tests of toolc itself and nothing else.
    backend: {shell: {script: "seq 1000; echo $KEY; seq 1000"}}
    sandbox: {secrets: {KEY: {hosts: [api.example.com], expose: env}}}
"""
SECRET = "correct-horse-battery"


@pytest.fixture
def executor(engine: OciEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    monkeypatch.setenv("TOOLC_SECRET_KEY", SECRET)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    with Executor(Registry.load(tmp_path / "tools.yaml"), engine=engine, keep_results=True) as made:
        yield made


def read_on(executor: Executor, result: ToolResult) -> str:
    """Return a stored result, read page by page as the hint describes."""
    hint = re.search(r"to read on, call read_result with (\{.*?\})\]", result.text)
    assert hint is not None
    arguments: JsonObject = json.loads(hint[1]) | {"offset": 0}
    text = ""
    while True:
        page, note = executor.run("read_result", arguments | {"limit": 1000}).content
        assert hasattr(page, "text")
        assert hasattr(note, "text")
        text += page.text
        if note.text.endswith("; end of the result]"):
            return text
        arguments["offset"] = int(note.text.rpartition("offset ")[2].rstrip("]"))


def test_a_programs_whole_output_can_be_read(executor: Executor) -> None:
    result = executor.run("count", {"to": 5000})
    whole = "".join(f"{number}\n" for number in range(1, 5001))
    assert result.details["truncated"] is True
    assert result.details["full_result"] == {"id": result.details["full_result"]["id"], "bytes": len(whole)}  # type: ignore[index,call-overload]
    assert result.text.partition("\n")[2].startswith("1\n2\n3\n")
    assert result.text.endswith("4999\n5000\n")
    assert len(result.text) < 1200
    assert read_on(executor, result) == whole


@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_results_can_be_read_on_every_engine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = available(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spec = yaml.safe_load(TOOLS)
    spec["defaults"]["sandbox"] |= configuration.sandbox
    (tmp_path / "tools.yaml").write_text(json.dumps(spec), encoding="utf-8")
    registry = Registry.load(tmp_path / "tools.yaml").only("count", "page")

    def run(engine: Engine) -> JsonValue:
        # Another user, in another process, has a home of his own.
        state = Path(os.environ.setdefault("XDG_STATE_HOME", f"{os.environ['HOME']}/state"))
        with Executor(registry, engine=engine, keep_results=True, configuration=Configuration()) as executor:
            results = executor.run("count", {"to": 1000}), executor.run("page", {"size": 3000})
            (folder,) = {path.parent for path in state.glob("toolc/scratch/*/*/result_*")}
            mode = folder.stat().st_mode & 0o777
            wholes = [read_on(executor, result) for result in results]
        return [*wholes, mode, folder.exists()]

    assert configuration.run(run) == ["".join(f"{number}\n" for number in range(1, 1001)), "ä" * 3000, 0o700, False]


def test_output_of_a_failed_call_can_be_read(executor: Executor) -> None:
    result = executor.run("complain", {})
    assert error_kind(result) == "exit_status"
    assert result.text.endswith("3000\n[exit status 3]")
    whole = read_on(executor, result)
    assert whole.count("\n") == 1000 + 1 + 1001
    assert "\n[stderr]\n2000\n" in whole


def test_data_beyond_the_limit_can_be_read(executor: Executor) -> None:
    result = executor.run("numbers", {})
    assert error_kind(result) == "output_limit"
    assert json.loads(read_on(executor, result)) == [*range(1, 1001)]


def test_long_text_of_a_function_can_be_read(executor: Executor) -> None:
    result = executor.run("page", {"size": 300_000})
    assert result.error is None
    assert result.details["full_result"]["bytes"] == 600_000  # type: ignore[index,call-overload]
    assert read_on(executor, executor.run("page", {"size": 3000})) == "ä" * 3000


def test_no_secret_is_kept(executor: Executor, tmp_path: Path) -> None:
    whole = read_on(executor, executor.run("spill", {}))
    assert "\n[secret KEY]\n" in whole
    (kept,) = (tmp_path / "state").glob("toolc/scratch/*/*/result_*")
    assert SECRET not in kept.read_text(encoding="utf-8")


def test_a_result_within_the_limit_is_not_stored(executor: Executor, tmp_path: Path) -> None:
    assert executor.run("count", {"to": 3}).text == "1\n2\n3\n"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"id": "result_0"}, "not_found", "there is no stored result 'result_0'; old results and results of other"),
        ({"id": "../x"}, "not_found", "there is no stored result '../x'"),
        ({"id": "x", "limit": 10}, "invalid_args", "limit: expected at least 256, got the number 10"),
        ({}, "invalid_args", "id: required but missing"),
    ],
)
def test_an_invalid_request_gets_a_response(executor: Executor, arguments: JsonObject, kind: str, message: str) -> None:
    result = executor.run("read_result", arguments)
    found = failed(result)
    assert (found[0], message in found[1]) == (kind, True)


def test_an_offset_beyond_the_end_says_where_that_is(executor: Executor) -> None:
    kept = executor.run("count", {"to": 1000}).details["full_result"]
    assert isinstance(kept, dict)
    result = executor.run("read_result", {"id": kept["id"], "offset": 9999})
    assert result.text == "offset 9999 is beyond the end of the result, which has 3893 bytes"


def test_read_result_is_offered_only_with_keep_results(executor: Executor, engine: OciEngine) -> None:
    names = [tool.name for tool in executor.tools]
    assert names == ["complain", "count", "numbers", "page", "read_result", "spill"]
    assert len(executor.definitions("anthropic")) == 6
    assert "read_result" not in executor.registry
    with Executor(executor.registry, engine=engine) as other:
        assert "read_result" not in [tool.name for tool in other.tools]
        result = other.run("count", {"to": 5000})
        assert "\n[22869 bytes cut]\n" in result.text
        assert "full_result" not in result.details


def test_read_result_can_be_denied(executor: Executor) -> None:
    executor.deny("read_result")
    assert len(executor.definitions("anthropic")) == 5
    result = executor.run("read_result", {"id": "x"})
    assert error_kind(result) == "denied"
