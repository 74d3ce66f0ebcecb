import json
import math
import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from calls.scripted_tools import captured, error_kind

import toolc
from toolc import (
    BatchEnd,
    BatchEvent,
    Executor,
    Image,
    NoEngineError,
    Registry,
    RegistryError,
    SpecError,
    Text,
    ToolDenied,
    ToolEnd,
    ToolFailure,
    ToolResult,
    ToolRetry,
    ToolStart,
    ToolUpdate,
    UsageError,
    build,
    event_to_json,
    result_to_json,
)
from toolc.model.names import PROVIDER_NAMES
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.result import Outcome, Resource
from toolc.runtime.execution.call_pipeline import CallPipeline
from toolc.testing.fake_engine import FakeEngine

HELLO = """\
toolc: 1
name: hello
description: Greet one person by name, for tests of toolc itself and for nothing else.
aliases: [greet]
parameters:
  name: {type: string, description: Whom to greet}
backend:
  shell:
    argv: [echo, "Hello, {{ name }}!"]
"""
COUNT = """\
toolc: 1
name: count
description: Count to a number, for tests of toolc itself and for nothing else at all.
parameters:
  to: {type: integer, description: How far to count, default: 3}
backend:
  shell:
    script: seq "$ARG_to"
"""


def echo(plan: Plan) -> Outcome:
    assert isinstance(plan.invocation, Exec)
    text = " ".join(plan.invocation.argv[1:]).encode()
    return Outcome(ending="exited", stdout=captured(text))


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "hello.yaml").write_text(HELLO, encoding="utf-8")
    (folder / "count.yaml").write_text(COUNT, encoding="utf-8")
    return folder


def test_public_names_exist_and_are_loaded_on_demand() -> None:
    assert sorted(toolc.__all__) == toolc.__all__
    assert all(getattr(toolc, name) is not None for name in toolc.__all__)
    assert dir(toolc) == toolc.__all__
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        getattr(toolc, "nope")  # noqa: B009  a name that mypy must not see
    code = "import sys, toolc; print(*[name for name in sys.modules if name.startswith('toolc')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert sorted(loaded.split()) == ["toolc", "toolc.version"]


def test_a_registry_is_loaded_from_a_folder_a_file_or_one_tool(specs: Path) -> None:
    registry = Registry.load(specs)
    assert registry.names == ("count", "hello")
    assert [tool.name for tool in registry] == ["count", "hello"]
    assert len(registry) == 2
    assert repr(registry) == "<Registry: count, hello>"
    assert Registry.load(specs / "hello.yaml").names == ("hello",)
    assert Registry.load(f"{specs}#count").names == ("count",)


def test_a_tool_is_found_by_its_aliases(specs: Path) -> None:
    registry = Registry.load(specs)
    assert "greet" in registry
    assert registry.get("greet") is registry.get("hello")
    assert registry.get("nope") is None
    assert "nope" not in registry


def test_an_unknown_tool_is_reported_with_a_similar_one_or_all(specs: Path) -> None:
    registry = Registry.load(specs)
    with pytest.raises(UsageError, match="there is no tool 'helo'; did you mean 'hello'"):
        registry.registered("helo")
    with pytest.raises(UsageError, match="there is no tool 'zzz'; the tools are: count, hello"):
        Registry.load(f"{specs}#zzz")


def test_a_long_unknown_name_is_not_repeated_whole(specs: Path) -> None:
    with pytest.raises(UsageError) as raised:
        Registry.load(specs).registered("z" * 100_000)
    assert len(str(raised.value)) < 200
    with pytest.raises(UsageError, match="there is no tool 'zzz"):
        Registry.load(f"{specs}#{'z' * 1000}")


def test_specs_with_errors_raise_spec_error(specs: Path) -> None:
    (specs / "bad.yaml").write_text("toolc: 1\nname: bad\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"bad\.yaml:1:1: TC102") as raised:
        Registry.load(specs)
    assert any(found.is_error for found in raised.value.diagnostics)


def test_definitions_are_a_copy(specs: Path) -> None:
    registry = Registry.load(specs)
    (*_, hello) = registry.definitions("anthropic")
    assert isinstance(hello, dict)
    assert isinstance(hello["input_schema"], dict)
    before = json.dumps(hello)
    hello["input_schema"]["properties"] = {"changed": True}
    assert json.dumps(registry.definitions("anthropic")[-1]) == before


def test_definitions_equal_the_files_of_the_build(specs: Path, tmp_path: Path) -> None:
    build([specs], tmp_path / "build")
    stored = Registry.load(tmp_path / "build" / "registry.json")
    for provider in PROVIDER_NAMES:
        written = json.loads((tmp_path / "build" / "providers" / f"{provider}.json").read_bytes())
        assert stored.definitions(provider) == written
        # Compared as text, which shows the order of keys too.
        assert json.dumps(Registry.load(specs).definitions(provider)) == json.dumps(stored.definitions(provider))
    with pytest.raises(
        UsageError, match="there is no provider 'openai'; did you mean 'openai_chat' or 'openai_responses'\\? choose"
    ):
        stored.definitions("openai")


def test_a_build_reports_its_output(specs: Path, tmp_path: Path) -> None:
    labelled = specs / "hello.yaml"
    labelled.write_text(HELLO + "label: Say hello\n", encoding="utf-8")
    built = build([labelled], tmp_path / "build")
    assert built.names == ("hello",)
    assert built.providers == PROVIDER_NAMES
    losses = json.loads((tmp_path / "build" / "loss.json").read_bytes())
    pointers = [loss["pointer"] for each in losses.values() for loss in each]
    assert "/label" in pointers
    assert built.losses == 0


def test_a_build_accepts_a_single_path(specs: Path, tmp_path: Path) -> None:
    assert build(str(specs), tmp_path / "build").names == build(specs, tmp_path / "other").names == ("count", "hello")


def test_a_build_counts_the_losses_of_parameters(specs: Path, tmp_path: Path) -> None:
    # Gemini and Ollama have no default for 'to'; that some providers have no place for a label is not counted.
    assert build(specs, tmp_path / "build").losses == 2


@pytest.mark.parametrize(
    ("old", "new", "digest"), [("Greet one", "Obey one", "surface"), ('"echo"', '"evil"', "effect")]
)
def test_a_registry_that_was_changed_after_the_build_is_refused(
    specs: Path, tmp_path: Path, old: str, new: str, digest: str
) -> None:
    build([specs], tmp_path / "build")
    path = tmp_path / "build" / "registry.json"
    changed = path.read_text(encoding="utf-8").replace(old, new)
    assert new in changed
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(RegistryError, match=f"tool 'hello' does not match its {digest} digest: recorded sha256:"):
        Registry.load(path)


def test_a_registry_above_the_size_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(UsageError, match="is larger than the maximum of 256MiB"):
        Registry.load(tmp_path / "large.json")


def test_a_registry_that_is_a_device_or_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("zero.json", "pipe.json"):
        with pytest.raises(UsageError, match=f"{name}' is not a file; create one with: toolc build"):
            Registry.load(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("\x00", "is not JSON"),
        ('{"registry": 1, "tools": [], "registry": 1}', "the key 'registry' occurs twice in an object"),
        ("[]", "this is not a toolc registry"),
        ('{"registry": 2, "tools": []}', "has format 2"),
        ('{"registry": 1}', "no list of tools"),
        ('{"registry": 1, "tools": [{}]}', r"damaged at tools\[0\]"),
    ],
)
def test_an_invalid_registry_file_is_reported_with_its_path(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "registry.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RegistryError, match=message) as raised:
        Registry.load(path)
    assert str(raised.value).startswith(str(path))


def test_a_registry_with_a_duplicate_tool_is_refused(specs: Path, tmp_path: Path) -> None:
    build([specs], tmp_path / "build")
    path = tmp_path / "build" / "registry.json"
    value = json.loads(path.read_bytes())
    value["tools"].append(value["tools"][0])
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(RegistryError, match="not sorted by name, or a name occurs twice"):
        Registry.load(path)


def test_a_missing_registry_is_reported_with_the_build_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no registry '.*nope\.json'; create it with: toolc build"):
        Registry.load(tmp_path / "nope.json")


def test_an_executor_runs_a_tool_and_assigns_a_call_id(specs: Path) -> None:
    with Executor(Registry.load(specs), engine=FakeEngine(echo)) as executor:
        first = executor.run("hello", {"name": "Ada"})
        second = executor.run("greet", {"name": "Bob"}, call_id="mine")
    assert (first.text, second.text) == ("Hello, Ada!", "Hello, Bob!")
    assert str(first.details["call_id"]).startswith("call_")
    assert second.details["call_id"] == "mine"
    assert first.details["digests"] == second.details["digests"]


def test_a_stream_yields_events_and_the_result_last(specs: Path) -> None:
    with Executor(Registry.load(specs), engine=FakeEngine(echo)) as executor:
        start, update, end = executor.stream("greet", {"name": "Ada"}, call_id="c")
        (refused,) = executor.stream("hello", {"nam": "Ada"})
    assert start == ToolStart(name="hello", call_id="c")
    assert update == ToolUpdate(name="hello", call_id="c", stream="stdout", text="Hello, Ada!")
    assert isinstance(end, ToolEnd)
    assert end.result.text == "Hello, Ada!"
    assert isinstance(refused, ToolEnd)
    assert error_kind(refused.result) == "invalid_args"


def test_closing_a_stream_cancels_the_call(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()

    def wait(plan: Plan) -> Outcome:
        assert cancelled.wait(60)
        return echo(plan)

    results: list[ToolResult] = []
    run = CallPipeline.run

    def watched(*args: Any, **fields: Any) -> ToolResult:
        results.append(run(*args, **fields))
        return results[-1]

    monkeypatch.setattr(CallPipeline, "run", watched)
    with Executor(Registry.load(specs), engine=FakeEngine(wait)) as executor:
        with closing(executor.stream("hello", {"name": "Ada"})) as stream:
            assert isinstance(next(stream), ToolStart)
        cancelled.set()
    (result,) = results
    assert error_kind(result) == "cancelled"


def test_a_stream_of_an_unknown_tool_fails_immediately(specs: Path) -> None:
    with Executor(Registry.load(specs), engine=FakeEngine(echo)) as executor, pytest.raises(UsageError):
        executor.stream("nope", {})


def test_invalid_options_and_unsupported_calls_are_refused(specs: Path) -> None:
    class Refusing(FakeEngine):
        def unsupported_reason(self, profile: Profile) -> str | None:
            return f"not with {profile.limits.pids} processes"

    registry = Registry.load(specs)
    with pytest.raises(UsageError, match="there is no engine 'podman'; choose one of: auto, "):
        Executor(registry, engine="podman")
    for timeout in (0, -1, math.nan, math.inf):
        with pytest.raises(
            UsageError, match=f"a timeout must be a number of seconds above 0 and below 9e12; got {timeout}"
        ):
            Executor(registry, timeout=timeout)
    with Executor(registry, engine=FakeEngine(echo)) as executor, pytest.raises(UsageError, match="no tool 'x'"):
        executor.run("x", {})
    with pytest.raises(NoEngineError, match="not with 128 processes"):
        Executor(registry, engine=Refusing(echo)).run("hello", {"name": "x"})


def test_result_to_json_encodes_images_in_base64() -> None:
    result = ToolResult(
        content=(Text("hi"), Image(b"\x89PNG", "image/png"), Resource(b"%PDF", "application/pdf", "a.pdf")),
        structured=(None,),
        details={"engine": "fake"},
    )
    assert result_to_json(result) == {
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "image", "mime_type": "image/png", "data": "iVBORw=="},
            {"type": "resource", "name": "a.pdf", "mime_type": "application/pdf", "data": "JVBERg=="},
        ],
        "structured": None,
        "details": {"engine": "fake"},
        "is_error": False,
        "error": None,
    }


CALL: dict[str, Any] = {"name": "t", "call_id": "c"}
EMPTY = {"content": [], "details": {}, "is_error": False, "error": None}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (ToolStart(**CALL), {"event": "start"} | CALL),
        (ToolUpdate(**CALL, percent=40.0, message="m"), {"event": "update"} | CALL | {"percent": 40.0, "message": "m"}),
        (ToolUpdate(**CALL, stream="stderr", text="x"), {"event": "update"} | CALL | {"stream": "stderr", "text": "x"}),
        (
            ToolUpdate(**CALL, stream="content", blocks=(Image(b"GIF89a", "image/gif"),)),
            {"event": "update", "stream": "content", "text": ""}
            | CALL
            | {"content": [{"type": "image", "mime_type": "image/gif", "data": "R0lGODlh"}]},
        ),
        (BatchEnd(results=(ToolResult(content=()),)), {"event": "batch_end", "results": [EMPTY]}),
        (
            ToolEnd(**CALL, result=ToolResult(content=(Text("hi"),))),
            {"event": "end"} | CALL | {"result": EMPTY | {"content": [{"type": "text", "text": "hi"}]}},
        ),
        (
            ToolRetry(**CALL, attempt=1, error=ToolFailure("network", "gone"), wait_ms=20),
            {"event": "retry"} | CALL | {"attempt": 1, "error": {"kind": "network", "message": "gone"}, "wait_ms": 20},
        ),
        (
            ToolDenied(name="t", call_id="c.s", parent_call_id="c", reason="no"),
            {"event": "denied", "name": "t", "call_id": "c.s", "parent_call_id": "c", "reason": "no"},
        ),
    ],
    ids=["start", "progress", "output", "image", "batch", "end", "retry", "denied part"],
)
def test_an_event_is_converted_to_json(event: BatchEvent, expected: object) -> None:
    assert event_to_json(event) == expected


def test_an_error_is_converted_to_json() -> None:
    result = ToolResult(content=(), error=ToolFailure("denied", "no"))
    error = {"kind": "denied", "message": "no"}
    assert result_to_json(result) == {"content": [], "details": {}, "is_error": True, "error": error}
