"""Plants secrets and hunts for them: where a call runs, in what comes of it, and in what is left of it."""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import docker
import pytest
from configurations import CONFIGURATIONS
from http_tools import call_http, http_spec
from scripted_server import ScriptedServer, reply

from toolc.api import Executor, Registry, build, event_to_json, result_to_json
from toolc.engines.base import Engine
from toolc.errors import ToolcError
from toolc.events import Event, ToolUpdate
from toolc.runtime.cancellation import Cancellation
from toolc.secret_sources import GivenSource, SecretStore

IN_ENV = "env-value/7f3a+zz"
IN_FILE = "file-value/9c1d+yy"
BY_BROKER = "broker-value/5b2e+xx"
VALUES = {"IN_ENV": IN_ENV, "IN_FILE": IN_FILE, "BY_BROKER": BY_BROKER}
STORE = SecretStore({name: GivenSource(value) for name, value in VALUES.items()}, {})

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
  secrets:
    IN_ENV: {expose: env}
    IN_FILE: {expose: file}
"""

HUNTED = ("environ", "cmdline")


def forms(value: str) -> list[bytes]:
    data = value.encode()
    return [
        data,
        quote(value, safe="").encode(),
        data.hex().encode(),
        base64.b64encode(data)[2:-4],
        base64.b64encode(b"x" + data)[4:-4],
        base64.b64encode(b"xy" + data)[4:-4],
        json.dumps(value)[1:-1].replace("/", "\\/").encode(),
    ]


def assert_clean(what: str, data: bytes) -> None:
    for name, value in VALUES.items():
        for form in forms(value):
            assert form not in data, f"{name} in {what}"


def files(*roots: Path) -> Iterator[Path]:
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink() and path.stat().st_size < 8_000_000:
                    yield path


@pytest.fixture(params=["oci root", "docker"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    configuration = CONFIGURATIONS[request.param]
    if reason := configuration.lacks():
        pytest.skip(reason)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = configuration.make()
    yield made
    made.close()


def registry(folder: Path, script: str) -> Registry:
    path = folder / "spill.yaml"
    path.write_text(SPEC % script.replace("\n", "\n      "))
    return Registry.load(path)


def test_a_tool_gets_what_is_exposed_to_it(engine: Engine, tmp_path: Path) -> None:
    script = """\
        [ "${#IN_ENV}" = 17 ] && [ "$(wc -c <"$IN_FILE_FILE")" = 18 ] && [ -z "${BY_BROKER-}" ]
        stat -c '%a' "$IN_FILE_FILE"; echo "$IN_FILE_FILE"
        if cat "$IN_FILE_FILE" >>"$IN_FILE_FILE" 2>/dev/null; then echo writable; fi"""
    with Executor(registry(tmp_path, script), engine=engine, secrets=STORE) as executor:
        found = executor.run("spill", {"word": "x"})
    assert found.text.splitlines()[:2] == ["400", "/tool/secrets/IN_FILE"]


def test_whatever_a_tool_says_has_no_secret_in_it(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
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
    events: list[Event] = []
    with Executor(registry(tmp_path, script), engine=engine, secrets=STORE) as executor:
        found = executor.run("spill", {"word": "x"}, on_event=events.append)
    told = json.dumps(result_to_json(found), ensure_ascii=False)
    assert told.count("[secret IN_ENV]") >= 7
    assert told.count("[secret IN_FILE]") >= 7
    assert_clean("the result", told.encode())
    assert_clean("the events", json.dumps([event_to_json(each) for each in events]).encode())
    assert_clean("the live output", "".join(e.text for e in events if isinstance(e, ToolUpdate)).encode())
    assert_clean("the log", caplog.text.encode())


def test_nothing_outside_of_the_tool_knows_a_secret(engine: Engine, tmp_path: Path) -> None:
    found: list[str] = []
    places = [tmp_path, Path("/run/toolc"), Path("/tmp") / f"toolc-{os.geteuid()}"]

    def hunt(event: Event) -> None:
        if not isinstance(event, ToolUpdate) or "ready" not in event.text:
            return
        for process in Path("/proc").glob("[0-9]*"):
            for name in HUNTED:
                try:
                    data = (process / name).read_bytes()
                except OSError:
                    continue
                # The tool itself, to which it was exposed.
                if name == "environ" and b"TOOLC_CALL_ID=" in data:
                    found.append("tool")
                    continue
                assert_clean(f"{name} of process {process.name}", data)
        for path in files(*places):
            assert_clean(str(path), path.read_bytes())
        if engine.name == "docker":
            client = docker.APIClient(base_url=os.environ.get("DOCKER_HOST"), version="auto")
            try:
                for each in client.containers(all=True):
                    assert_clean("inspect", json.dumps(client.inspect_container(each["Id"])).encode())
            finally:
                client.close()
        found.append("hunted")
        cancellation.cancel()

    with (
        Cancellation() as cancellation,
        Executor(registry(tmp_path, "echo ready; sleep 60"), engine=engine, secrets=STORE) as executor,
    ):
        result = executor.run("spill", {"word": "x"}, on_event=hunt, cancellation=cancellation)
    assert result.error is not None
    assert result.error.kind == "cancelled"
    assert found[-1] == "hunted"
    assert "tool" in found
    build(tmp_path / "spill.yaml", tmp_path / "build")
    for path in files(*places):
        assert_clean(str(path), path.read_bytes())


def test_what_is_the_brokers_never_enters_the_sandbox(engine: Engine, tmp_path: Path) -> None:
    """A server that says all it was told: compressed or not, the guest passes it on, and it is taken out."""

    def echo(asked, connection) -> None:  # type: ignore[no-untyped-def]
        words = f"{asked.headers} {asked.body!r} {asked.path}".encode()
        connection.sendall(reply(words + base64.b64encode(words), status=500, X_Echo=asked.headers["x-key"]))

    with ScriptedServer({"/": echo}) as server:
        spec = http_spec(
            {
                "method": "POST",
                "url": f"{server.url}/",
                "headers": {"X-Key": "{{ secrets.BY_BROKER }}"},
                "query": {"k": "{{ secrets.BY_BROKER }}"},
                "auth": {"basic": {"username": "me", "password": "{{ secrets.BY_BROKER }}"}},
                "body": {"json": {"k": "{{ secrets.BY_BROKER }}"}},
            },
            sandbox={"secrets": {"BY_BROKER": {"hosts": ["127.0.0.1"]}}},
        )
        found = call_http(engine, tmp_path, spec, secrets={"BY_BROKER": BY_BROKER})
        assert found.text.count("[secret BY_BROKER]") >= 3
        assert_clean("the result", json.dumps(result_to_json(found)).encode())
        pair = base64.b64encode(f"me:{BY_BROKER}".encode()).decode()
        (asked,) = server.asked
        assert asked.headers["authorization"] == f"Basic {pair}"
        assert asked.path == f"/?k={quote(BY_BROKER, safe='')}"
        assert json.loads(asked.body) == {"k": BY_BROKER}


def test_a_secret_goes_only_where_its_spec_says(engine: Engine, tmp_path: Path) -> None:
    with ScriptedServer({"/": reply(b"x")}) as server:
        spec = http_spec(
            {"url": "{{ url }}", "url_from_argument": True, "headers": {"X-Key": "{{ secrets.BY_BROKER }}"}},
            parameters={"url": {"type": "string", "description": "The URL"}},
            sandbox={
                "network": {"allow": [f"127.0.0.1:{server.port}"]},
                "secrets": {"BY_BROKER": {"hosts": ["api.example.com"]}},
            },
        )
        found = call_http(engine, tmp_path, spec, {"url": f"{server.url}/"}, {"BY_BROKER": BY_BROKER})
        assert found.error is not None
        assert (found.error.kind, found.error.message) == (
            "denied",
            "the secret 'BY_BROKER' may go to api.example.com, not to 127.0.0.1",
        )
        assert server.asked == []


def test_all_missing_secrets_are_named_before_anything_starts(tmp_path: Path) -> None:
    def start(_: object) -> object:
        raise AssertionError("nothing may start")

    made = CONFIGURATIONS["oci root"].make()
    made.start = start  # type: ignore[assignment, method-assign]
    with (
        Executor(registry(tmp_path, "true"), engine=made, secrets=SecretStore({}, {})) as executor,
        pytest.raises(ToolcError) as caught,
    ):
        executor.run("spill", {"word": "x"})
    lines = str(caught.value).splitlines()
    assert lines[0] == "tool 'spill' cannot be called:"
    assert [line.split("'")[1] for line in lines[1:]] == ["IN_ENV", "IN_FILE"]
