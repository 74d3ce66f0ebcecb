"""Planted secrets are searched for in a running call, in its result and in its leftovers."""

import base64
import json
import logging
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast
from urllib.parse import quote

import pytest
from calls.http_tools import call_http, http_spec
from calls.scripted_server import ScriptedServer, reply
from calls.scripted_tools import error_kind
from engines.configurations import CONFIGURATIONS, Configuration, available
from engines.gvisor_daemon import gvisor_socket
from planted_secrets import STORE, VALUES, RecordingEngine, SecretScanner, assert_clean, in_files, leaks

from toolc.client.build import build
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.client.serialization import event_to_json, result_to_json
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.errors import ToolcError
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, ToolFailure
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.interface import Engine

BY_BROKER = VALUES["BY_BROKER"]

SPEC = """\
toolc: 1
name: spill
description: Say every secret in every form. Use it in tests and nowhere else at all.
parameters: {word: {type: string, description: A word}}
backend:
  shell:
    script: |
      %s
sandbox:
  min_isolation: %s
  limits: {timeout: 200s}
  secrets:
    IN_ENV: {expose: env}
    IN_FILE: {expose: file}
"""


@pytest.fixture(params=list(CONFIGURATIONS))
def configuration(request: pytest.FixtureRequest) -> Configuration:
    return available(request.param)


@pytest.fixture
def run(
    configuration: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Engine, Path], object]], None]:
    """Call ``work`` with an engine and with the folder for everything that it writes, including the cache."""
    if not configuration.uid:
        (tmp_path / "tmp").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "tmp" / "cache"))

    def ran(work: Callable[[Engine, Path], object]) -> None:
        def there(engine: Engine) -> JsonValue:
            work(engine, Path(tempfile.gettempdir()))
            return None

        configuration.run(there)

    return ran


Run = Callable[[Callable[[Engine, Path], object]], None]
"""See the fixture ``run``."""


def registry(folder: Path, script: str, configuration: Configuration) -> Registry:
    path = folder / "spill.yaml"
    path.write_text(SPEC % (script.replace("\n", "\n      "), configuration.min_isolation))
    return Registry.load(path)


def test_planted_secrets_are_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(base64.b64encode(VALUES["IN_FILE"].encode()).decode())
    with subprocess.Popen(["sleep", "1000"], env={"LEAK": VALUES["IN_ENV"]}) as process, SecretScanner(None) as scanner:
        found = scanner.scan(tmp_path)
        process.kill()
    assert found["leaks"] == [f"IN_ENV in environ of process {process.pid}", f"IN_FILE in {tmp_path}/file"]


def test_a_tool_gets_what_is_exposed_to_it(run: Run, configuration: Configuration) -> None:
    script = """\
        [ "${#IN_ENV}" = 17 ] && [ "$(wc -c <"$IN_FILE_FILE")" = 18 ] && [ -z "${BY_BROKER-}" ]
        python3 -c 'import os, sys; print("%o" % (os.stat(sys.argv[1]).st_mode & 0o777))' "$IN_FILE_FILE"
        echo "$IN_FILE_FILE"
        if cat "$IN_FILE_FILE" >>"$IN_FILE_FILE" 2>/dev/null; then echo writable; fi"""

    def work(engine: Engine, folder: Path) -> None:
        with Executor(registry(folder, script, configuration), engine=engine, secrets=STORE) as executor:
            found = executor.run("spill", {"word": "x"})
        assert found.text.splitlines()[:2] == ["400", "/tool/secrets/IN_FILE"]

    run(work)


def test_all_output_of_a_tool_is_redacted(
    run: Run, configuration: Configuration, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = """\
        for value in "$IN_ENV" "$(cat "$IN_FILE_FILE")"; do
            echo "$value"; echo "$value" >&2
            printf %s "$value" | base64; printf 'x%s' "$value" | base64; printf 'xy%s' "$value" | base64
            printf %s "$value" | od -An -tx1 | tr -d ' \\n'; echo
            printf '%s' "$value" | sed 's,/,%2F,g; s,+,%2B,g'; echo
            for piece in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
                printf %s "$value" | cut -c$piece | tr -d '\\n'
            done
            echo
        done
        cat /proc/self/environ
        exit 3"""

    def work(engine: Engine, folder: Path) -> None:
        events: list[Event] = []
        with Executor(registry(folder, script, configuration), engine=engine, secrets=STORE) as executor:
            found = executor.run("spill", {"word": "x"}, on_event=events.append)
        serialized = json.dumps(result_to_json(found), ensure_ascii=False)
        assert serialized.count("[secret IN_ENV]") >= 7
        assert serialized.count("[secret IN_FILE]") >= 7
        assert_clean("the result", serialized.encode())
        assert_clean("the events", json.dumps([event_to_json(each) for each in events]).encode())
        assert_clean("the live output", "".join(e.text for e in events if isinstance(e, ToolUpdate)).encode())
        assert_clean("the log", caplog.text.encode())

    run(work)


FUNCTION = """\
toolc: 1
name: spill
description: Return secrets where they are no text of their own. Use it in tests and nowhere else at all.
backend:
  python:
    code: |
      import os

      def spill(ctx):
          ctx.progress(40, "x" * 990 + os.environ["IN_ENV"])
          picture = b"GIF89a" + os.environ["IN_ENV"].encode()
          return ctx.result(picture, structured={"pin": int(os.environ["PIN"]), "error": os.environ["WORD"]})
sandbox:
  min_isolation: %s
  limits: {timeout: 200s}
  secrets: {IN_ENV: {expose: env}, PIN: {expose: env}, WORD: {expose: env}}
"""


def test_an_image_a_number_and_a_key_can_contain_secrets(run: Run, configuration: Configuration) -> None:
    values = {"IN_ENV": VALUES["IN_ENV"], "PIN": "48151623", "WORD": "structured"}
    store = SecretStore({name: LiteralSource(value) for name, value in values.items()}, {})

    def work(engine: Engine, folder: Path) -> None:
        (folder / "spill.yaml").write_text(FUNCTION % configuration.min_isolation)
        events: list[Event] = []
        with Executor(Registry.load(folder / "spill.yaml"), engine=engine, secrets=store) as executor:
            found = executor.run("spill", {}, on_event=events.append)
        assert found.content == (Image(b"GIF89a[secret IN_ENV]", "image/gif"),)
        assert found.structured == ({"pin": "[secret PIN]", "error": "[secret WORD]"},)
        assert [each.message for each in events if isinstance(each, ToolUpdate)] == ["x" * 990]

    run(work)


def test_no_secret_leaves_the_tool(run: Run, configuration: Configuration) -> None:
    def work(engine: Engine, folder: Path) -> None:
        assert folder != Path("/tmp")
        places = [folder, Path("/run/toolc"), Path("/tmp") / f"toolc-{os.geteuid()}"]
        found: list[JsonObject] = []

        def scan(event: Event) -> None:
            if isinstance(event, ToolUpdate) and "ready" in event.text:
                found.append(scanner.scan(*places))
                cancellation.cancel()

        tools = registry(folder, "echo ready; sleep 1000", configuration)
        with Cancellation() as cancellation, Executor(tools, engine=engine, secrets=STORE) as executor:
            result = executor.run("spill", {"word": "x"}, on_event=scan, cancellation=cancellation)
        assert error_kind(result) == "cancelled"
        # What runs under a kernel of its own is not a process of this machine.
        assert found == [{"leaks": [], "tool": configuration.min_isolation == "namespace"}]
        build(folder / "spill.yaml", folder / "build")
        assert in_files(*places) == []

    with SecretScanner(_daemon(configuration)) as scanner:
        run(work)


def _daemon(configuration: Configuration) -> str | None:
    if configuration.name == "docker+gvisor":
        return gvisor_socket()
    return find_socket(os.environ) if configuration.name == "docker" else None


def test_broker_secrets_never_enter_the_sandbox(run: Run, configuration: Configuration) -> None:
    def work(engine: Engine, folder: Path) -> None:
        overhearing = RecordingEngine(engine)
        with ScriptedServer({"/": reply(b"fine")}) as server:
            spec = spoken(server, configuration)
            found = call_http(cast("Engine", overhearing), folder, spec, secrets={"BY_BROKER": BY_BROKER})
            (request,) = server.received
        assert found.text == "fine"
        pair = base64.b64encode(f"me:{BY_BROKER}".encode()).decode()
        assert request.headers["authorization"] == f"Basic {pair}"
        assert request.path == f"/?k={quote(BY_BROKER, safe='')}"
        assert json.loads(request.body) == {"k": BY_BROKER}
        assert b"fine" in overhearing.received
        assert leaks("the frames", bytes(overhearing.received)) == []

    run(work)


def test_secrets_sent_back_by_a_server_are_redacted(run: Run, configuration: Configuration) -> None:
    def echo(request, connection) -> None:  # type: ignore[no-untyped-def]
        words = f"{request.headers} {request.body!r} {request.path}".encode()
        connection.sendall(reply(words + base64.b64encode(words), status=500, X_Echo=request.headers["x-key"]))

    def work(engine: Engine, folder: Path) -> None:
        with ScriptedServer({"/": echo}) as server:
            spec = spoken(server, configuration)
            found = call_http(engine, folder, spec, secrets={"BY_BROKER": BY_BROKER})
        assert found.text.count("[secret BY_BROKER]") >= 3
        assert_clean("the result", json.dumps(result_to_json(found)).encode())

    run(work)


def spoken(server: ScriptedServer, configuration: Configuration) -> str:
    """Return the spec of a request with the broker's secret at every allowed position."""
    return http_spec(
        {
            "method": "POST",
            "url": f"{server.url}/",
            "headers": {"X-Key": "{{ secrets.BY_BROKER }}"},
            "query": {"k": "{{ secrets.BY_BROKER }}"},
            "auth": {"basic": {"username": "me", "password": "{{ secrets.BY_BROKER }}"}},
            "body": {"json": {"k": "{{ secrets.BY_BROKER }}"}},
        },
        sandbox={"secrets": {"BY_BROKER": {"hosts": ["127.0.0.1"]}}, **configuration.sandbox},
    )


def test_a_secret_goes_only_where_its_spec_says(run: Run, configuration: Configuration) -> None:
    def work(engine: Engine, folder: Path) -> None:
        with ScriptedServer({"/": reply(b"x")}) as server:
            spec = http_spec(
                {"url": "{{ url }}", "url_from_argument": True, "headers": {"X-Key": "{{ secrets.BY_BROKER }}"}},
                parameters={"url": {"type": "string", "description": "The URL"}},
                sandbox={
                    "network": {"allow": [f"127.0.0.1:{server.port}"]},
                    "secrets": {"BY_BROKER": {"hosts": ["api.example.com"]}},
                    **configuration.sandbox,
                },
            )
            found = call_http(engine, folder, spec, {"url": f"{server.url}/"}, {"BY_BROKER": BY_BROKER})
            assert found.error == ToolFailure(
                "denied", "the secret 'BY_BROKER' may be sent to api.example.com, not to 127.0.0.1"
            )
            assert server.received == []

    run(work)


def test_all_missing_secrets_are_named_before_anything_starts(tmp_path: Path) -> None:
    def start(_: object) -> object:
        raise AssertionError("nothing may start")

    named = CONFIGURATIONS["oci root"]
    made = named.make()
    made.start = start  # type: ignore[assignment, method-assign]
    with (
        Executor(registry(tmp_path, "true", named), engine=made, secrets=SecretStore({}, {})) as executor,
        pytest.raises(ToolcError) as caught,
    ):
        executor.run("spill", {"word": "x"})
    lines = str(caught.value).splitlines()
    assert lines[0] == "tool 'spill' cannot be called:"
    assert [line.split("'")[1] for line in lines[1:]] == ["IN_ENV", "IN_FILE"]
