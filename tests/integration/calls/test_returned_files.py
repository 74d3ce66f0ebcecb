import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.configurations import CONFIGURATIONS, USER, available

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, Resource, ToolResult
from toolc.sandbox.interface import Engine

SCRIPT = r"""
printf '\211PNG\r\n\032\n%s' "$ARG_word" >drawn
printf '%s' "$ARG_word" >sub/new.txt
printf more >>sub/old.txt
rm -r gone; mkdir gone; printf anew >gone/b.txt
mv moved sub/moved.txt
ln -s /etc/passwd sub/link.txt
mkdir "$ARG_word"; printf own >"$ARG_word/[x].txt"
printf no >sub/.hidden.txt
"""

LEFT = {
    "image/png": "fig",
    "sub/moved.txt": "moved",
    "sub/new.txt": "fig",
    "sub/old.txt": "old, more",
    "gone/b.txt": "anew",
    "fig/[x].txt": "own",
}


def spec(mode: JsonValue, sandbox: JsonObject) -> str:
    described: JsonObject = {
        "toolc": 1,
        "name": "draw",
        "description": "Leave files of every kind. Use it in the tests of the engines and nowhere else.",
        "parameters": {"word": {"type": "string", "description": "A word"}},
        "backend": {"shell": {"script": SCRIPT}},
        "result": {"files": ["drawn", "sub/[mno]*", "**/?.txt", "{{ word }}/[[]x].txt"]},
        "sandbox": {"workspace": mode, **sandbox},
    }
    return json.dumps(described)


def made(folder: Path, owner: int) -> Path:
    """Return a workspace of this user."""
    work = folder / "work"
    for path in ("sub/old.txt", "gone/a.txt", "moved"):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text({"sub/old.txt": "old, ", "moved": "moved"}.get(path, "x"))
    for each in (work, *work.rglob("*")):
        os.chown(each, owner, owner)
    return work


def found(result: ToolResult) -> JsonValue:
    assert result.error is None, (result.error, result.content)
    texts: JsonObject = {}
    for block in result.content:
        if isinstance(block, Image):
            texts[block.mime_type] = block.data.removeprefix(b"\x89PNG\r\n\x1a\n").decode()
        elif isinstance(block, Resource):
            texts[block.name] = block.data.decode()
    return texts


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that every user can enter."""
    with tempfile.TemporaryDirectory(prefix="toolc-left-") as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.mark.parametrize("mode", ["rw", "transaction"])
@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_every_engine_returns_the_files_that_a_tool_leaves(name: str, mode: str, folder: Path) -> None:
    configuration = available(name)
    # The tool of root's own workspace is another user on one engine and root on the others.
    work = made(folder, USER if configuration.uid or mode == "rw" else 0)
    workspace_spec: JsonValue = {"mode": "transaction", "commit": "never"} if mode == "transaction" else mode
    path = folder / "draw.yaml"
    path.write_text(spec(workspace_spec, configuration.sandbox))
    registry = Registry.load(path)

    def run(engine: Engine) -> JsonValue:
        with Executor(registry, engine=engine, workspace=work, configuration=Configuration()) as executor:
            return found(executor.run("draw", {"word": "fig"}))

    assert configuration.run(run) == LEFT
    assert (work / "moved").exists() == (mode == "transaction")
