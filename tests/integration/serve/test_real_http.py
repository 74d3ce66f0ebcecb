"""``toolc serve --http`` with real sandboxes: many clients, reloads and kills during calls, secrets, TLS, proxies."""

import json
import signal
import ssl
import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from calls.real_http import RealServer, prepare, real_server, toolc
from calls.task_requests import task_request
from mcp import Client
from mcp.types import TextContent

pytestmark = [pytest.mark.needs_engine, pytest.mark.slow]
NAP = "61873"
CLIENTS = 100
get, post = partial(httpx2.get, timeout=60), partial(httpx2.post, timeout=60)


def nappers() -> list[int]:
    """Return the processes of calls of ``take_nap``, also those in sandboxes."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (path / "cmdline").read_bytes() == f"sleep\0{NAP}\0".encode():
                found.append(int(path.name))
    return found


async def make_call(client: httpx2.AsyncClient, tool: str, **arguments: str) -> Any:
    response = await client.post(f"/api/v1/tools/{tool}", json=arguments)
    return response.status_code, response.json()


def wait_until(condition: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def napping(server: RealServer, number: int) -> None:
    """Start calls that take hours, and return when they run."""
    for _ in range(number):
        headers = {"Prefer": "respond-async"}
        started = post(f"{server.url}/api/v1/tools/take_nap", json={"seconds": NAP}, headers=headers)
        assert started.status_code == 202
    wait_until(lambda: len(nappers()) >= number)


def status(folder: Path) -> Any:
    return json.loads(toolc(folder, "serve", "--status"))


READER = """\
toolc: 1
name: read_note
description: Print the note of the workspace. Use it to read the note.
backend: {shell: {argv: [cat, note.txt]}}
sandbox: {workspace: ro}
"""


def test_tools_that_need_a_workspace_are_counted_at_the_start(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "specs" / "reader.yaml").write_text(READER, encoding="utf-8")
    said = "toolc: only clients with a workspace can call 1 tool; set one with --workspace DIR, or for each client"
    with real_server(tmp_path):
        assert (tmp_path / "log").read_text(encoding="utf-8").startswith(said)
    with real_server(tmp_path, "--workspace", "."):
        assert (tmp_path / "log").read_text(encoding="utf-8").startswith("toolc: serving 4 tools")


@pytest.mark.integrations
def test_a_hundred_clients_of_both_revisions_and_the_api_get_their_own_results(tmp_path: Path) -> None:
    prepare(tmp_path)
    with real_server(tmp_path) as server:
        results: list[tuple[str, str]] = []

        async def official(number: int) -> None:
            mode = "legacy" if number % 2 else "auto"
            async with Client(f"{server.url}/mcp", mode=mode) as client:
                result = await client.call_tool("echo_words", {"words": f"w{number}"})
                assert isinstance(result.content[0], TextContent)
                results.append((f"w{number}", result.content[0].text))

        async def plain(number: int) -> None:
            async with httpx2.AsyncClient(base_url=server.url, timeout=120) as client:
                _, result = await make_call(client, "echo_words", words=f"w{number}")
                results.append((f"w{number}", result["content"][0]["text"]))

        async def talk() -> None:
            async with anyio.create_task_group() as tasks:
                for number in range(CLIENTS):
                    tasks.start_soon(plain if number % 3 == 2 else official, number)

        anyio.run(talk)
        assert sorted(results) == sorted((f"w{each}", f"w{each}\n") for each in range(CLIENTS))


@pytest.mark.integrations
def test_no_call_fails_when_the_tools_change_during_a_hundred_calls(tmp_path: Path) -> None:
    prepare(tmp_path)
    spec = tmp_path / "specs" / "tools.yaml"
    with real_server(tmp_path, "--watch") as server:
        results: list[Any] = []

        async def talk() -> None:
            async with (
                httpx2.AsyncClient(base_url=server.url, timeout=120) as client,
                anyio.create_task_group() as every,
            ):

                async def call(number: int) -> None:
                    results.append(await make_call(client, "echo_words", words=f"w{number}"))

                for number in range(100):
                    every.start_soon(call, number)
                    if number % 25 == 12:
                        spec.write_text(spec.read_text().replace("Print the words", f"Print the {number} words"))
                        server.process.send_signal(signal.SIGHUP)
                    await anyio.sleep(0.05)

        anyio.run(talk)
        assert [(status, result) for status, result in results if status != 200] == []
        assert {result["content"][0]["text"] for _, result in results} == {f"w{each}\n" for each in range(100)}
        # A reload may have read a file that was only half written. Then another follows.
        wait_until(lambda: (state := status(tmp_path))["generation"] > 1 and state["problem"] == "")


def test_nothing_of_the_calls_is_left_after_a_kill_and_the_next_start(tmp_path: Path) -> None:
    prepare(tmp_path)
    with real_server(tmp_path) as server:
        napping(server, 4)
        killed = server.process.pid
        server.process.kill()
        server.process.wait()
    with real_server(tmp_path) as server:
        wait_until(lambda: not nappers())
        state = status(tmp_path)
        assert (state["pid"], state["calls"]) == (server.process.pid, [])
        assert get(f"{server.url}/api/v1/calls").json() == {"calls": []}
    wait_until(lambda: f".{killed}." not in toolc(tmp_path, "gc", "--dry-run", "--json"))


def test_tasks_end_with_a_killed_server(tmp_path: Path) -> None:
    def send(server: RealServer, method: str, params: dict[str, Any]) -> Any:
        headers, message = task_request(method, params)
        return post(f"{server.url}/mcp", json=message, headers=headers).json()

    prepare(tmp_path)
    with real_server(tmp_path) as server:
        call = {"name": "take_nap", "arguments": {"seconds": NAP}}
        tasks = [send(server, "tools/call", call)["result"]["taskId"] for _ in range(3)]
        wait_until(lambda: len(nappers()) >= 3)
        assert {send(server, "tasks/get", {"taskId": each})["result"]["status"] for each in tasks} == {"working"}
        server.process.kill()
        server.process.wait()
    with real_server(tmp_path) as server:
        wait_until(lambda: not nappers())
        errors = [send(server, "tasks/get", {"taskId": each})["error"] for each in tasks]
    assert {error["code"] for error in errors} == {-32602}
    assert "which ends all tasks" in errors[0]["message"]


def test_the_end_waits_for_calls_refuses_others_and_leaves_nothing(tmp_path: Path) -> None:
    prepare(tmp_path)
    with real_server(tmp_path, "--drain", "10m") as server:
        napping(server, 2)
        server.process.terminate()
        wait_until(lambda: get(f"{server.url}/readyz").status_code == 503)
        refused = post(f"{server.url}/api/v1/tools/echo_words", json={"words": "late"})
        assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert len(nappers()) >= 2
        server.process.terminate()  # the second signal ends the calls
        assert server.process.wait(120) == 0
        assert not nappers()


def test_each_client_has_its_own_secret_and_learns_which_tool_lacks_one(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a-long-value-of-ci")
    (tmp_path / "key").chmod(0o600)
    prepare(tmp_path, f"clients: {{ci: {{secrets: {{SERVICE_KEY: {{file: {tmp_path}/key}}}}}}}}\n")
    headers = {"Authorization": f"Bearer {toolc(tmp_path, 'token', 'create', 'ci').strip()}"}
    with real_server(tmp_path) as server:
        url = f"{server.url}/api/v1/tools/measure_secret"
        assert post(url, json={}, headers=headers).json()["content"][0]["text"] == "18\n"
        refused = post(url, json={})
        assert (refused.status_code, "a-long-value-of-ci" in refused.text) == (403, False)
        assert "'measure_secret' cannot be called:\nthe secret 'SERVICE_KEY' has no value" in refused.json()["detail"]


def test_settings_with_errors_are_in_the_status_until_they_are_corrected(tmp_path: Path) -> None:
    prepare(tmp_path, "clients: {default: {deny: [echo_words]}}\n")
    path = tmp_path / "config" / "toolc" / "config.yaml"

    def offered() -> list[str]:
        return [each["name"] for each in get(f"{server.url}/api/v1/tools").json()["tools"]]

    def problem() -> str:
        return str(status(tmp_path)["problem"])

    with real_server(tmp_path) as server:
        assert "echo_words" not in offered()
        path.write_text("clients: {default: {deny: 5}}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(problem)
        assert "config.yaml:1:" in problem()
        assert "the settings of clients are unchanged" in (tmp_path / "log").read_text()
        assert "echo_words" not in offered()
        path.write_text("clients: {}\n")
        assert "echo_words" in offered()
        assert problem() == ""


def test_tls_with_the_files_of_a_certificate(tmp_path: Path) -> None:
    prepare(tmp_path)
    for name in ("a", "b"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key",
             "-out", f"{name}.pem", "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
    with real_server(tmp_path, "--tls-cert", "a.pem", "--tls-key", "a.key") as server:
        assert server.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=tmp_path / "a.pem")
        origin = {"Origin": server.url}
        assert get(f"{server.url}/api/v1/tools", verify=trusted, headers=origin).status_code == 200
        with pytest.raises(httpx2.HTTPError):
            get(server.url.replace("https", "http"))
    for certificate, key in (("a.pem", "b.key"), ("missing.pem", "a.key"), ("a.key", "a.pem")):
        with pytest.raises(subprocess.CalledProcessError) as failed:
            toolc(tmp_path, "serve", "specs", "--http", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key)
        assert f"--tls-cert {certificate} and --tls-key {key} are not a certificate" in failed.value.stderr
        assert failed.value.returncode == 2


@pytest.mark.parametrize("is_configured", [True, False])
def test_what_a_proxy_says_counts_only_if_it_is_configured(tmp_path: Path, *, is_configured: bool) -> None:
    prepare(tmp_path)
    options = ["--proxy", "127.0.0.1", "--base-path", "/tools", "--allowed-host", "tools.example"]
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "tools.example", "X-Forwarded-Prefix": "/other"}
    with real_server(tmp_path, *(options if is_configured else [])) as server:
        own = f"http://127.0.0.1:{server.port}"
        assert server.url == ("https://tools.example/tools" if is_configured else own)
        headers = {"Host": "tools.example" if is_configured else f"127.0.0.1:{server.port}"} | forwarded
        document = get(f"{own}/api/v1/openapi.json", headers=headers).json()
        assert document["servers"] == [{"url": "/tools/api/v1" if is_configured else "/api/v1"}]
        moved = get(f"{own}/mcp/", headers=headers)
        assert moved.headers["location"] == ("https://tools.example/tools/mcp" if is_configured else f"{own}/mcp")
        evil = headers | {"Host": "evil.example"}
        assert get(f"{own}/api/v1/tools", headers=evil).status_code == 421
