"""``PUT /api/v1/workspace/PATH``: only what the client's tools could write too, and nothing outside its workspace."""

import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from calls.fake_http import SETTINGS, fake_host, served
from calls.fake_tools import executor, registry, tool

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import ClientSettings, Configuration
from toolc.model.call import Confirm
from toolc.model.spec.sandbox import Commit, SandboxSpec, TransactionSpec
from toolc.model.spec.tool import ToolSpec
from toolc.serve.http import gate
from toolc.serve.http.host import ClientSettingsFile, HttpHost
from toolc.telemetry.audit_log import AuditFiles, AuditLog

pytestmark = pytest.mark.anyio
URL = "/api/v1/workspace/"
ALICE = {"Authorization": "Bearer alice-token"}
WRITER, READER = tool("write", workspace="rw"), tool("read", workspace="ro")


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def changing(*writes: str, commit: Commit = "success") -> ToolSpec:
    """Return a tool with a transaction."""
    sandbox = SandboxSpec(workspace="transaction", transaction=TransactionSpec(commit=commit, writes=writes))
    return replace(tool("change"), sandbox=sandbox)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with ``data/old.csv``, beside a file that is not in it."""
    (tmp_path / "outside").write_text("outside")
    (tmp_path / "work" / "data").mkdir(parents=True)
    (tmp_path / "work" / "data" / "old.csv").write_text("old")
    return tmp_path / "work"


@asynccontextmanager
async def client_of(folder: Path, *tools: ToolSpec, denied: tuple[str, ...] = ()) -> AsyncIterator[httpx2.AsyncClient]:
    host = fake_host(*(tools or (WRITER,)), denied=denied, alice=ClientSettings(workspace=folder))
    async with served(host, SETTINGS) as client:
        client.headers.update(ALICE)
        yield client


async def test_a_file_is_written_with_its_bytes(folder: Path) -> None:
    async with client_of(folder) as client:
        new = await client.put(f"{URL}data/prices%20%C3%A9.csv", content=b"\0\xff")
        empty = await client.put(f"{URL}empty", content=b"")
    assert (new.status_code, empty.status_code) == (201, 201)
    assert (folder / "data" / "prices é.csv").read_bytes() == b"\0\xff"
    assert (folder / "data" / "prices é.csv").stat().st_mode & 0o777 == 0o644
    assert names(folder) == ["data", "empty"]


async def test_the_audit_log_says_who_wrote_which_file_and_not_its_content(folder: Path, tmp_path: Path) -> None:
    log = AuditLog(AuditFiles(log=tmp_path / "log", key=tmp_path / "key"))

    def open_executor(tools: Registry, name: str, _: ClientSettings, confirm: Confirm | None) -> Executor:
        return executor({}, *tools, confirm=confirm, client=name, observers=[log.observe])

    settings = ClientSettingsFile(load=lambda: Configuration(clients={"alice": ClientSettings(workspace=folder)}))
    async with served(HttpHost(registry(WRITER), open_executor, settings=settings)) as client:
        for expected in (201, 412):
            response = await client.put(f"{URL}data/new.csv", content=b"private", headers=ALICE)
            assert response.status_code == expected
    log.close()
    written, refused = map(json.loads, (tmp_path / "log" / "0" / "000001.jsonl").read_text().splitlines())
    digest = hashlib.sha256(b"private").hexdigest()
    assert written["upload"] == {"path": "data/new.csv", "size_bytes": 7, "sha256": digest}
    assert [(each["tool"], each["client"], each["outcome"], each["error"]) for each in (written, refused)] == [
        ("upload", "alice", "ok", None),
        ("upload", "alice", "refused", "ExistingFileError"),
    ]


async def test_a_file_is_replaced_only_if_the_request_says_so(folder: Path) -> None:
    (folder / "data" / "old.csv").chmod(0o600)
    async with client_of(folder) as client:
        refused = await client.put(f"{URL}data/old.csv", content=b"new")
        assert (folder / "data" / "old.csv").read_text() == "old"
        replaced = await client.put(f"{URL}data/old.csv?replace=true", content=b"new")
    assert (refused.status_code, refused.json()["detail"]) == (
        412,
        "'data/old.csv' exists; to replace it, add ?replace=true",
    )
    assert replaced.status_code == 204
    assert (folder / "data" / "old.csv").read_text() == "new"
    assert (folder / "data" / "old.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "%2E%2E", "%2E%2E/outside", "%2e%2e%2foutside", "data%2F..%2F..%2Foutside", "data%2F.%2Fx", "data//x",
        "//etc/x", "data/", "%2Fetc%2Fx", "a%00b", "a%0Ab", "a%1B[2J", "a%E2%80%AEb", "x" * 256, "missing/x",
        "data/old.csv/x", "data", "x/" * 250 + "x",
    ],
)  # fmt: skip
async def test_a_path_that_is_not_one_of_a_file_in_the_workspace_is_refused(folder: Path, path: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    async with client_of(folder) as client:
        response = await client.put(f"{URL}{path}?replace=true", content=b"x")
    assert response.status_code in {400, 404, 409}
    assert "\x1b" not in response.json()["detail"]
    assert sorted(folder.parent.rglob("*")) == before
    assert (folder.parent / "outside").read_text() == "outside"


async def test_links_are_neither_followed_nor_replaced(folder: Path) -> None:
    (folder / "file").symlink_to(folder.parent / "outside")
    (folder / "up").symlink_to(folder.parent)
    (folder / "within").symlink_to(folder / "data")
    os.mkfifo(folder / "fifo")
    async with client_of(folder) as client:
        for path in ("file", "up/outside", "up/new", "within/new", "fifo"):
            response = await client.put(f"{URL}{path}?replace=true", content=b"x")
            assert (response.status_code, path) == (409, path)
    assert (folder.parent / "outside").read_text() == "outside"
    assert names(folder.parent) == ["outside", "work"]
    assert (folder / "file").is_symlink()


async def test_a_workspace_that_was_replaced_is_refused(folder: Path) -> None:
    async with client_of(folder) as client:
        await client.get("/api/v1/tools")
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(folder.parent)
        response = await client.put(f"{URL}new", content=b"x")
    assert (response.status_code, "was replaced" in response.json()["detail"]) == (409, True)
    assert not (folder.parent / "new").exists()


@pytest.mark.parametrize(
    "tools",
    [
        (READER,), (tool("other"),), (replace(WRITER, confirm=True),), (changing(commit="ask"),),
        (changing(commit="never"),), (READER, changing("out/**")),
    ],
)  # fmt: skip
async def test_a_client_can_write_only_what_its_tools_can_write_without_asking(
    folder: Path, tools: tuple[ToolSpec, ...]
) -> None:
    async with client_of(folder, *tools) as client:
        response = await client.put(f"{URL}data/new.csv", content=b"x")
    assert response.status_code == 403
    assert response.json()["detail"].startswith("'data/new.csv' cannot be written: no ")
    assert names(folder / "data") == ["old.csv"]


async def test_one_tool_that_can_write_a_file_is_enough(folder: Path) -> None:
    async with client_of(folder, READER, changing("data/*.csv"), replace(changing(), name="ask")) as client:
        assert (await client.put(f"{URL}data/new.csv", content=b"x")).status_code == 201
    async with client_of(folder, changing("data/*.csv")) as client:
        assert (await client.put(f"{URL}data/new.txt", content=b"x")).status_code == 403


async def test_tools_that_are_denied_to_the_client_do_not_count(folder: Path) -> None:
    async with client_of(folder, WRITER, READER, denied=("write",)) as client:
        assert (await client.put(f"{URL}new", content=b"x")).status_code == 403


@pytest.mark.parametrize("path", [".git/hooks/x", ".GIT/x", "data/.envrc", "toolc.yaml", ".vscode"])
async def test_paths_that_transactions_protect_are_refused(folder: Path, path: str) -> None:
    async with client_of(folder) as client:
        response = await client.put(f"{URL}{path}", content=b"x")
    assert (response.status_code, "is protected" in response.json()["detail"]) == (403, True)


async def test_a_file_does_not_turn_its_folder_into_a_repository(folder: Path) -> None:
    for each in ("objects", "refs"):
        (folder / "data" / each).mkdir()
    async with client_of(folder) as client:
        response = await client.put(f"{URL}data/HEAD", content=b"x")
    assert (response.status_code, "git" in response.json()["detail"]) == (409, True)


async def test_a_client_without_a_workspace_is_refused() -> None:
    async with served(fake_host(WRITER)) as client:
        response = await client.put(f"{URL}new", content=b"x", headers=ALICE)
    assert (response.status_code, response.json()["detail"]) == (403, "this client has no workspace")


async def test_files_may_be_larger_than_other_bodies_but_not_unlimited(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MAX_BODY", 10)
    monkeypatch.setattr(gate, "MAX_UPLOAD", 20)
    async with client_of(folder) as client:
        codes = [(await client.put(f"{URL}{size}", content=b"x" * size)).status_code for size in (20, 21)]
        assert (await client.post("/api/v1/tools/write", content=b"x" * 11)).status_code == 413
    assert codes == [201, 413]
    assert names(folder) == ["20", "data"]


async def test_a_page_of_another_origin_cannot_write(folder: Path) -> None:
    async with client_of(folder) as client:
        response = await client.put(f"{URL}new", content=b"x", headers={"Origin": "https://evil.example"})
    assert response.status_code == 403
