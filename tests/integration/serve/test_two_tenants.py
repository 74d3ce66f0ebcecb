"""Two users of one issuer on a real server with real sandboxes: each tries to reach what the other one has."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from calls.jwt_issuer import URL, TestIssuer, key_server
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TOOLS = """\
toolc: 1
tools:
  - name: remember
    description: Remember a word, and return all words that this process has received. Only for these tests.
    parameters:
      tenant: {type: string, from: caller.sub}
      word: {type: string, description: A word}
    backend:
      python:
        code: |
          WORDS = []
          def remember(tenant: str, word: str) -> str:
              WORDS.append(f"{tenant}={word}")
              return " ".join(WORDS)
    sandbox: {lifetime: session}
  - name: files
    description: Write a file with the name of the tenant, and list all files. Only for these tests.
    parameters: {tenant: {type: string, from: caller.sub}}
    backend: {shell: {script: 'touch "$ARG_tenant"; ls /workspace ..; cat ../two/secret ../one/secret || true'}}
    sandbox: {workspace: rw}
  - name: twice
    description: Remember two words, one after the other. Only for these tests of servers.
    parameters: {}
    backend:
      composite:
        strategy: sequential
        steps: [{id: a, tool: remember, args: {word: x}}, {id: b, tool: remember, args: {word: y}}]
"""


@pytest.fixture(scope="module")
def issuer() -> TestIssuer:
    return TestIssuer()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tenants")


@pytest.fixture(scope="module")
def url(issuer: TestIssuer, folder: Path) -> Iterator[str]:
    (folder / "tools.yaml").write_text(TOOLS)
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "secret").write_text(f"the secret of {name}")
    with key_server(issuer) as keys:
        clients = {name: {"subject": name, "workspace": str(folder / name)} for name in ("one", "two")}
        config = folder / "config.yaml"
        config.write_text(json.dumps({"issuers": {URL: {"jwks": keys, "audience": "tools"}}, "clients": clients}))
        config.chmod(0o600)
        command = [sys.executable, "-m", "toolc", "serve", str(folder / "tools.yaml"), "--http", "127.0.0.1:0"]
        environment = {**os.environ, "XDG_CONFIG_HOME": str(folder)}
        with subprocess.Popen(
            [*command, "--config", str(config)], stderr=subprocess.PIPE, text=True, env=environment
        ) as server:
            try:
                assert server.stderr
                line = next(each for each in server.stderr if "URL:" in each)
                yield line.split()[-1].removesuffix("/mcp")
            finally:
                server.terminate()


def call(url: str, token: str, tool: str, **arguments: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx2.post(f"{url}/api/v1/tools/{tool}", json=arguments, headers=headers, timeout=60).json()
    return "".join(each["text"] for each in answer["content"]) if "content" in answer else str(answer["detail"])


def test_sessions_and_arguments_are_apart(url: str, issuer: TestIssuer) -> None:
    one, two = (issuer.token(sub=name, aud="tools") for name in ("one", "two"))
    assert call(url, one, "remember", word="a") == "one=a"
    assert call(url, two, "remember", word="b") == "two=b"
    assert call(url, two, "remember", word="c", tenant="one").startswith("'tenant' is set by the host")
    assert call(url, one, "remember", word="d") == "one=a one=d"
    assert call(url, two, "twice") == "a: two=b two=x\nb: two=b two=x two=y\n"


def test_workspaces_are_apart(url: str, issuer: TestIssuer, folder: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        found = call(url, issuer.token(sub=name, aud="tools"), "files")
        assert name in found
        assert other not in found.split()
        assert "the secret of" not in found
    assert [sorted(each.name for each in (folder / name).iterdir()) for name in ("one", "two")] == [
        ["one", "secret"],
        ["secret", "two"],
    ]


def test_an_unknown_user_and_an_old_token_reach_nothing(url: str, issuer: TestIssuer) -> None:
    stranger = call(url, issuer.token(sub="three", aud="tools"), "files")
    assert stranger == "this server does not know the subject of this token"
    assert (
        call(url, issuer.token(sub="one", aud="tools", exp=int(time.time()) - 60), "files")
        == "this token is refused: Signature has expired"
    )


def test_the_official_client_calls_as_its_user(url: str, issuer: TestIssuer) -> None:
    async def talk(name: str) -> str:
        headers = {"Authorization": f"Bearer {issuer.token(sub=name, aud='tools')}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            assert "tenant" not in json.dumps(tools)
            return str((await client.call_tool("remember", {"word": "m"})).content)

    for name in ("one", "two"):
        assert f"{name}=m" in anyio.run(talk, name)
