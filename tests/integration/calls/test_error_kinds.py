import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from calls.scripted_server import ScriptedServer, reply

from toolc import Cancellation, Executor, Proposal, Registry, ToolCall, ToolResult
from toolc.model.result import ToolFailure
from toolc.model.spec.code_backends import ErrorKind
from toolc.sandbox.oci.engine import OciEngine

TOOLS = """\
toolc: 1
defaults: {sandbox: {limits: {memory: 64MiB, tmp: 1MiB, output: 1KiB, timeout: 100s}}}
tools:
  - name: shell
    description: Run one line of shell, for tests of toolc itself and for nothing else.
    parameters: {line: {type: string, description: The line}}
    backend: {shell: {argv: [sh, -c, "{{ line }}"], runs_caller_code: true}}
  - name: program
    description: Run a program that is not there, for tests of toolc itself and for nothing else.
    parameters: {}
    backend: {shell: {argv: [no-such-program]}}
  - name: slow
    description: Take longer than it may, for tests of toolc itself and for nothing else.
    parameters: {}
    backend: {shell: {argv: [sleep, "60"]}}
    sandbox: {limits: {timeout: 300ms}}
  - name: python
    description: Raise one error, for tests of toolc itself and for nothing else.
    parameters: {name: {type: string, description: What to raise}}
    backend:
      python:
        function: fail
        code: |
          import json, os, socket, sys

          def fail(name, ctx):
              if name == "memory":
                  return len(bytearray(512 << 20))
              if name == "open":
                  return open("/no/such/file").read()
              if name == "forbidden":
                  return os.setuid(0)
              if name == "directory":
                  return os.rmdir("/proc")
              if name == "connect":
                  return socket.create_connection(("127.0.0.1", 9)).close()
              if name == "json":
                  return json.loads("{")
              if name == "object":
                  return {"key": object()}
              if name == "long":
                  return ["x" * 4096]
              if name == "own":
                  raise ctx.error("rate_limit", "slow down")
              raise RuntimeError("a bug")
  - name: editing
    description: Write a file of the workspace, for tests of toolc itself and for nothing else.
    parameters: {}
    backend: {shell: {argv: [sh, -c, echo mine > a]}}
    sandbox: {workspace: {mode: transaction, commit: ask}}
  - name: asking
    description: Say something after a person has allowed it, for tests of toolc itself and for nothing else.
    parameters: {}
    confirm: true
    backend: {shell: {argv: [echo]}}
  - name: http
    description: Ask the server of a test, for tests of toolc itself and for nothing else.
    parameters: {path: {type: string, description: What to ask for}}
    annotations: {idempotent: true, open_world: true}
    retry: {kinds: [rate_limit], attempts: 2, backoff: 1ms}
    backend: {http: {url: "URL/{{ path }}"}}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer({"/401": reply(b"who?", status=401), "/503": reply(b"later", status=503)}) as made:
        yield made


@pytest.fixture(scope="module")
def executor(engine: OciEngine, server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    path = tmp_path_factory.mktemp("specs") / "tools.yaml"
    path.write_text(TOOLS.replace("URL", server.url))

    def write_and_approve(proposal: Proposal) -> bool:
        return Path(proposal.workspace, "a").write_text("theirs") > 0

    folder = tmp_path_factory.mktemp("workspace")
    with Executor(Registry.load(path), engine=engine, workspace=folder, approve_changes=write_and_approve) as made:
        yield made


Make = Callable[[Executor], ToolResult]


def cancelled(executor: Executor) -> ToolResult:
    with Cancellation() as cancellation:
        timer = threading.Timer(0.2, cancellation.cancel)
        timer.start()
        result = executor.run("shell", {"line": "sleep 60"}, cancellation=cancellation)
        timer.join()
    return result


def shell(line: str) -> Make:
    return lambda executor: executor.run("shell", {"line": line})


def python(name: str) -> Make:
    return lambda executor: executor.run("python", {"name": name})


def http(path: str) -> Make:
    return lambda executor: executor.run("http", {"path": path})


def in_batch(name: str) -> Make:
    return lambda executor: executor.run_batch([ToolCall(name=name, arguments={})])[0]


def hurried(executor: Executor) -> ToolResult:
    return executor.run_batch([ToolCall(name="shell", arguments={"line": "sleep 60"})], timeout=1)[0]


CAUSES: list[tuple[ErrorKind, str, Make]] = [
    ("invalid_args", "wrong arguments for shell:\n- line: required", lambda executor: executor.run("shell", {})),
    ("not_found", "no-such-program", lambda executor: executor.run("program", {})),
    ("not_found", "No such file or directory", python("open")),
    ("not_found", "there is no tool 'nope'", in_batch("nope")), ("not_found", "HTTP 404", http("404")),
    ("denied", "each call must be confirmed", in_batch("asking")),
    ("denied", "Operation not permitted", python("forbidden")),
    ("cancelled", "the call was cancelled before it finished", cancelled),
    ("timeout", "the call did not finish within 0.3 s and was stopped", lambda executor: executor.run("slow", {})),
    ("timeout", "before the time limit of the whole operation", hurried),
    ("out_of_memory", "the call exceeded its memory limit of 64MiB", shell("tail -c 512m /dev/zero | tail")),
    ("output_limit", "", python("long")), ("exit_status", "the command ended with exit status 3", shell("exit 3")),
    ("network", "", python("connect")), ("network", "HTTP 503", http("503")),
    ("authentication", "HTTP 401", http("401")), ("rate_limit", "slow down", python("own")),
    ("serialization", "", python("json")), ("serialization", "['key'] has the type object", python("object")),
    ("file", "", python("directory")),
    ("conflict", "- a: it was changed by another process", lambda executor: executor.run("editing", {})),
    ("execution", "RuntimeError: a bug", python("bug")), ("exit_status", "SIGKILL", shell("kill -9 $$")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "message", "make"), CAUSES, ids=[f"{kind}-{n}" for n, (kind, *_) in enumerate(CAUSES)]
)
def test_causes_have_a_kind_and_a_message(executor: Executor, kind: ErrorKind, message: str, make: Make) -> None:
    result = make(executor)
    assert result.error is not None, result
    assert (result.error.kind, result.is_error) == (kind, True)
    assert message in result.error.message
    assert result.text


def test_every_error_kind_is_tested() -> None:
    assert {kind for kind, *_ in CAUSES} == set(get_args(ErrorKind))


@pytest.mark.parametrize(("header", "least_ms"), [(b"", 1), (b"Retry-After: 1\r\n", 1000)], ids=["none", "one second"])
def test_retry_after_is_respected(executor: Executor, server: ScriptedServer, header: bytes, least_ms: int) -> None:
    answers = [b"HTTP/1.1 429 Too Many Requests\r\n" + header + b"Content-Length: 0\r\n\r\n", reply(b"at last")]
    server.answers["/429"] = lambda _, connection: connection.sendall(answers.pop(0))
    result = executor.run("http", {"path": "429"})
    assert result.text == "at last"
    attempts = result.details["attempts"]
    assert isinstance(attempts, list)
    first, second = (each for each in attempts if isinstance(each, dict))
    assert (first["wait_ms"], second["error"]) == (least_ms, None)


def test_a_long_retry_after_is_not_waited_for(executor: Executor, server: ScriptedServer) -> None:
    server.answers["/429"] = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
    result = executor.run("http", {"path": "429"})
    assert result.error == ToolFailure(
        "rate_limit", "HTTP 429 Too Many Requests (try again in 3600 seconds)",
    )  # fmt: skip
    error = {"kind": "rate_limit", "message": result.error.message}
    assert result.details["attempts"] == [{"error": error, "duration_ms": result.details["duration_ms"], "wait_ms": 0}]
