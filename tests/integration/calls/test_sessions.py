import json
import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from engines.configurations import CONFIGURATIONS, available
from engines.waiting_sandboxes import until

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import ENGINES
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.interface import Engine
from toolc.sandbox.selection import load

PLUGIN = """
import json, os, socket, sys
DEFINITION = {"name": "notes", "description": "Keep notes for as long as the session lives.", "parameters": {
    "type": "object", "properties": {"add": {"type": "string"}}, "required": ["add"]}}
notes = []
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "describe":
        answer = DEFINITION
    else:
        word = request["params"]["add"]
        if word == "sleep":
            import time
            print("asleep", file=sys.stderr, flush=True)
            time.sleep(1000)
        if word == "who":
            notes.append(str(os.getuid()) + os.environ["GREETING"] + os.getcwd())
        elif word == "write":
            open("note.txt", "a").write("x")
        else:
            notes.append(word)
        print("noted", file=sys.stderr, flush=True)
        answer = {"content": [{"type": "text", "text": " ".join(notes)}], "error": False}
    print(json.dumps(answer), flush=True)
"""
PYTHON = '''
NAMES = {}
def repl(code, ctx):
    print("evaluated", ctx.call_id[:5])
    exec(code, NAMES)
    return NAMES.get("_")
'''  # fmt: skip


def spec(sandbox: JsonObject) -> str:
    def session(**more: JsonValue) -> JsonObject:
        return {**sandbox, "lifetime": "session", "limits": {"timeout": "100s", "memory": "128MiB"}, **more}

    code: JsonObject = {"code": {"type": "string"}}
    return json.dumps(
        {
            "toolc": 1,
            "tools": [
                {
                    "name": "notes",
                    "description": "Keep notes for as long as the session lives.",
                    "parameters": {"type": "object", "properties": {"add": {"type": "string"}}, "required": ["add"]},
                    "backend": {"plugin": {"command": ["python3", "notes.py"], "files": ["notes.py"]}},
                    "sandbox": session(env={"GREETING": "hello"}, workspace="rw"),
                },
                {
                    "name": "repl",
                    "description": "Run Python in an interpreter that stays.",
                    "parameters": code,
                    "backend": {"python": {"code": PYTHON}},
                    "sandbox": session(),
                },
                {
                    "name": "sh",
                    "description": "Run a shell script in a sandbox that stays.",
                    "parameters": code,
                    "backend": {
                        "shell": {
                            "argv": ["sh", "-c", "{{ code }}"],
                            "stdin": "in",
                            "allow_dash": ["code"],
                            "runs_caller_code": True,
                        }
                    },
                    "sandbox": session(limits={"timeout": "100s", "files": 32}),
                },
            ],
        }
    )


def summary(result: ToolResult) -> JsonValue:
    """Return the parts of a result that do not depend on the engine."""
    session = result.details.get("session")
    call = session["call"] if isinstance(session, dict) else None
    return [result.error.kind if result.error else None, result.text.strip(), call]


def calls(engine: Engine, sandbox: JsonObject, *made: tuple[str, str]) -> JsonValue:
    """Return the results of consecutive calls of the tools above."""
    with tempfile.TemporaryDirectory(prefix="toolc-sessions-") as name:
        folder = Path(name)
        (folder / "notes.py").write_text(PLUGIN, encoding="utf-8")
        (folder / "spec.yaml").write_text(spec(sandbox), encoding="utf-8")
        (folder / "workspace").mkdir()
        registry = Registry.load(folder / "spec.yaml")
        with Executor(registry, engine=engine, workspace=folder / "workspace") as executor:
            results = [executor.run(tool, {"add" if tool == "notes" else "code": word}) for tool, word in made]
        written = sorted(each.read_text() for each in (folder / "workspace").iterdir())
    return {"results": [summary(each) for each in results], "written": [*written]}


def found(configuration: str, *made: tuple[str, str]) -> JsonObject:
    where = available(configuration)
    answer = where.run(lambda engine: calls(engine, where.sandbox, *made))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_background_processes_do_not_use_up_the_open_files_of_a_session(configuration: str) -> None:
    answer = found(configuration, *(("sh", f"sleep 1000 & ulimit -Hn; echo {number}") for number in range(20)))
    assert answer == {"results": [[None, f"32\n{number}", number + 1] for number in range(20)], "written": []}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_state_of_a_process_is_kept_between_calls(configuration: str) -> None:
    answer = found(
        configuration,
        ("notes", "milk"),
        ("notes", "write"),
        ("notes", "bread"),
        ("repl", "x = 20"),
        ("repl", "_ = x + 1"),
        ("repl", "raise KeyError(x)"),
        ("repl", "_ = x"),
        ("sh", "echo kept > /tmp/file; sleep 1000 > /dev/null & echo $! > /tmp/pid; echo $TOOLC_CALL_ID | cut -c 1-5"),
        ("sh", "cat; cat /tmp/file; kill -0 $(cat /tmp/pid) && exit 3"),
    )
    assert answer == {
        "results": [
            [None, "milk", 1],
            [None, "milk", 2],
            [None, "milk bread", 3],
            [None, "evaluated call_", 1],
            [None, "21", 2],
            ["execution", "KeyError: 20", 3],
            [None, "20", 4],
            [None, "call_", 1],
            ["exit_status", "inkept\n[exit status 3]", 2],
        ],
        "written": ["x"],
    }


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_an_out_of_memory_call_ends_the_session(configuration: str) -> None:
    answer = found(
        configuration,
        ("repl", "x = 1"),
        ("repl", "y = bytearray(1 << 30)"),
        ("repl", "_ = 'x' in globals()"),
        ("sh", "echo kept > /tmp/file"),
        ("sh", "python3 -c 'bytearray(1 << 30)'; echo and on"),
        ("sh", "cat /tmp/file || echo gone"),
    )
    results = answer["results"]
    assert isinstance(results, list)
    kinds = [each[0] for each in results if isinstance(each, list)]
    assert kinds == [None, "out_of_memory", None, None, "out_of_memory", None]
    assert results[2] == [None, "false", 1]
    assert results[5] == [None, "gone", 1]


@pytest.mark.parametrize("name", ENGINES)
def test_a_cancelled_call_ends_the_session_immediately(name: str, tmp_path: Path) -> None:
    engine = load(name)
    if not engine.probe().available:
        pytest.skip(engine.probe().reason)
    (tmp_path / "notes.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(spec({}), encoding="utf-8")
    (tmp_path / "workspace").mkdir()

    def cancel(event: Event) -> None:
        if isinstance(event, ToolUpdate):
            cancellation.cancel()

    found = Registry.load(tmp_path / "spec.yaml")
    with Executor(found, engine=engine, workspace=tmp_path / "workspace") as executor:
        executor.run("notes", {"add": "milk"})
        with Cancellation() as cancellation:
            asleep = executor.run("notes", {"add": "sleep"}, cancellation=cancellation, on_event=cancel)
            unanswered = executor.run("notes", {"add": "bread"}, cancellation=cancellation)
        after = [summary(executor.run("notes", {"add": "bread"})) for _ in range(2)]
    assert [each.error and each.error.kind for each in (asleep, unanswered)] == ["cancelled", "cancelled"]
    assert (asleep.details["stderr"], "asleep" in asleep.text) == ("asleep\n", False)
    assert after == [[None, "bread", 1], [None, "bread bread", 2]]


@pytest.mark.parametrize("name", ENGINES)
def test_sessions_of_different_names_share_nothing_and_each_call_can_have_its_own_workspace(
    name: str, tmp_path: Path
) -> None:
    engine = load(name)
    if not engine.probe().available:
        pytest.skip(engine.probe().reason)
    (tmp_path / "notes.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(spec({}), encoding="utf-8")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Executor(Registry.load(tmp_path / "spec.yaml"), engine=engine) as executor:

        def note(session: str, word: str) -> JsonValue:
            return summary(executor.run("notes", {"add": word}, session=session, workspace=tmp_path / session))

        assert [note("a", "milk"), note("b", "bread"), note("a", "salt"), note("a", "write")] == [
            [None, "milk", 1], [None, "bread", 1], [None, "milk salt", 2], [None, "milk salt", 3],
        ]  # fmt: skip
        executor.end_session("a")
        assert [note("a", "eggs"), note("b", "eggs")] == [[None, "eggs", 1], [None, "bread eggs", 2]]
        timed_out = executor.run("notes", {"add": "sleep"}, workspace=tmp_path / "a", timeout=2)
    assert (timed_out.error and timed_out.error.kind) == "timeout"
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["note.txt"]
    assert [*(tmp_path / "b").iterdir()] == []


OWNER = """\
import sys
from toolc.client.registry import Executor, Registry
from toolc.sandbox.host.owner import Owner
executor = Executor(Registry.load(sys.argv[1]), engine=sys.argv[2], workspace=sys.argv[3])
print(executor.run("notes", {"add": "milk"}).text, Owner.current().label(), flush=True)
END
"""


def running(word: str) -> list[int]:
    """Return the processes of this machine with ``word`` in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        # It may end while it is looked at.
        with suppress(OSError):
            if word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("end", ["kill -9", "exit"])
def test_a_session_ends_with_its_owner(name: str, end: str, tmp_path: Path) -> None:
    engine = load(name)
    if not engine.probe().available:
        pytest.skip(engine.probe().reason)
    mark = f"notes_{os.getpid()}_{time.monotonic_ns()}.py"
    (tmp_path / mark).write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(spec({}).replace("notes.py", mark), encoding="utf-8")
    (tmp_path / "workspace").mkdir()
    then = "sys.stdin.read()" if end == "kill -9" else "sys.exit(0)"
    argv = [sys.executable, "-c", OWNER.replace("END", then), str(tmp_path / "spec.yaml"), name]
    with subprocess.Popen(
        [*argv, str(tmp_path / "workspace")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        words, label = owner.stdout.readline().split(" ", 1)
        assert words == "milk"
        if end == "kill -9":
            assert running(f"/tool/{mark}")
            owner.send_signal(signal.SIGKILL)
        owner.wait(60)
    until(lambda: not running(f"/tool/{mark}"))
    until(lambda: not [each for each in engine.leftovers() if each.owner == label.strip()])


CLIENT = '''
import json, os, socket, sys
DEFINITION = {"name": "ask", "description": "Ask a server over one connection.", "parameters": {
    "type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}}
kept = None
for line in sys.stdin:
    request = json.loads(line)
    answer = DEFINITION
    if request["type"] == "call":
        where = request["params"]["where"]
        if where == "kept":
            kept = kept or socket.create_connection(("127.0.0.1", int(os.environ["SERVER"])))
            kept.sendall(b"hello\\n")
            said = kept.recv(100).decode()
        else:
            try:
                said = str(socket.create_connection((where, 443), 5))
            except OSError as error:
                said = "no: " + type(error).__name__
        answer = {"content": [{"type": "text", "text": said}], "error": False}
    print(json.dumps(answer), flush=True)
'''  # fmt: skip


class Echo(socketserver.StreamRequestHandler):
    """Answers each line with the number of connections so far."""

    def handle(self) -> None:
        server = self.server
        assert isinstance(server, Counted)
        server.connections += 1
        with suppress(ConnectionError):
            for _ in self.rfile:
                self.wfile.write(b"%d\n" % server.connections)


class Counted(socketserver.ThreadingTCPServer):
    connections = 0
    daemon_threads = True


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_connection_survives_calls_and_each_call_is_checked(configuration: str) -> None:
    where = available(configuration)

    def work(engine: Engine) -> JsonValue:
        with tempfile.TemporaryDirectory(prefix="toolc-sessions-") as name, Counted(("127.0.0.1", 0), Echo) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            port = str(server.server_address[1])
            sandbox: JsonObject = {
                "network": {"allow": [f"127.0.0.1:{port}"]},
                "env": {"SERVER": port},
                **where.sandbox,
            }
            (Path(name) / "ask.py").write_text(CLIENT, encoding="utf-8")
            spec: JsonObject = {
                "toolc": 1,
                "name": "ask",
                "description": "Ask a server over one connection.",
                "parameters": {"where": {"type": "string"}},
                "backend": {"plugin": {"command": ["python3", "ask.py"], "files": ["ask.py"]}},
                "sandbox": {**sandbox, "lifetime": "session"},
            }
            (Path(name) / "ask.yaml").write_text(json.dumps(spec), encoding="utf-8")
            with Executor(Registry.load(Path(name) / "ask.yaml"), engine=engine) as executor:
                results = [executor.run("ask", {"where": each}) for each in ("kept", "kept", "example.com", "kept")]
            server.shutdown()
        return [[each.text.strip(), _connected(each, port)] for each in results]

    assert where.run(work) == [
        ["1", [["the server", True]]],
        ["1", [["the server", True]]],
        ["no: gaierror", [["the server", True]]],
        ["1", [["the server", True]]],
    ]


def _connected(result: ToolResult, port: str) -> list[JsonValue]:
    """Return the connections in a result: the destination, and whether it was allowed."""
    found = result.details.get("network")
    attempts: list[JsonValue] = []
    for each in found if isinstance(found, list) else []:
        assert isinstance(each, dict)
        attempts.append(["the server" if str(each["port"]) == port else each["host"], each["allowed"]])
    return attempts


@pytest.mark.parametrize(("name", "lifetime"), [("oci", "session"), ("docker", "session"), ("oci", "fork")])
def test_callers_do_not_share_the_state_of_a_session(name: str, lifetime: str, tmp_path: Path) -> None:
    engine = load(name)
    if not engine.probe().available:
        pytest.skip(engine.probe().reason)
    (tmp_path / "spec.yaml").write_text(f"""\
toolc: 1
name: seen
description: Return the tenants that this process has seen, for the tests of sessions only.
parameters: {{tenant: {{type: string, from: caller.sub}}}}
backend:
  python:
    code: |
      SEEN = []
      def seen(tenant: str) -> str:
          SEEN.append(tenant)
          return " ".join(SEEN)
sandbox: {{lifetime: {lifetime}}}
""")
    with Executor(Registry.load(tmp_path / "spec.yaml"), engine=engine) as executor:
        texts = [executor.run("seen", {}, session="same", caller={"sub": each}).text for each in ("a", "b", "a")]
    assert texts == (["a", "b", "a a"] if lifetime == "session" else ["a", "b", "a"])
