"""The programs of the guide to model loops, with the real SDKs and a server that speaks each provider's format.

The model makes three calls in one response: their results are a text, an image and an error.
"""

import base64
import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import pytest
from models.loop_tools import CALLS, PNG, registry
from models.provider_server import KEYS, PLAN, TEXT, ProviderServer
from pages import Page, shell_environment
from project import paths

GOLDEN: Final = paths.GOLDEN / "model_loops"


def programs() -> dict[str, str]:
    """Return the programs of the page with a loop, by provider; the one with a stream as ``stream``."""
    found = {}
    for block in Page.read("guides/model-loop").blocks("python"):
        if "while True:" in block.text:
            match = re.search(r'tool_calls\("(\w+)"', block.text)
            assert match
            found["stream" if "collect_response(" in block.text else match[1]] = block.text
    return found


PROGRAMS: Final = programs()


def run(program: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, list[Any]]]:
    """Run a program of the page with the tools above. Return its output, and the bodies that the server received."""
    with ProviderServer(CALLS) as server:
        for key, value in (server.environment | KEYS).items():
            monkeypatch.setenv(key, value)
        text = program.replace('Registry.builtin("readonly")', "registry()")
        for old, new in server.constructors.items():
            text = text.replace(old, new)
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(text, "model-loop.md", "exec"), {"__name__": "__main__", "registry": registry})
    return printed.getvalue(), server.bodies


@pytest.mark.slow
@pytest.mark.parametrize("provider", sorted(PROGRAMS.keys() - {"stream"}))
def test_the_program_of_a_provider_returns_text_image_and_error(
    provider: str, monkeypatch: pytest.MonkeyPatch, golden: bool
) -> None:
    printed, bodies = run(PROGRAMS[provider], monkeypatch)
    assert printed == f"{TEXT}\n"
    first, second = bodies[provider]
    assert first["tools" if provider != "bedrock" else "toolConfig"]
    compare(provider, second, write=golden)


@pytest.mark.slow
def test_the_program_with_a_stream_shows_the_texts_of_all_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    printed, bodies = run(PROGRAMS["stream"], monkeypatch)
    assert printed == f"{PLAN}{TEXT}"
    streamed, whole = bodies["openai_chat"][1], json.loads((GOLDEN / "openai_chat.json").read_text())
    assert streamed["messages"] == whole


PICTURE: Final = """\
toolc: 1
name: picture
description: Show the picture dot.png of the workspace. Use it to see the picture.
parameters: {}
backend: {shell: {argv: [cat, dot.png]}}
result: {format: image}
sandbox: {workspace: ro}
"""


@pytest.mark.needs_engine
@pytest.mark.integrations
def test_the_program_of_an_mcp_client_returns_text_image_and_error(tmp_path: Path) -> None:
    page = Page.read("guides/model-loop")
    page.write_files(tmp_path)
    (tmp_path / "specs" / "picture.yaml").write_text(PICTURE)
    (tmp_path / "notes.md").write_text("two words\n")
    (tmp_path / "dot.png").write_bytes(PNG)
    (program,) = (block.text for block in page.blocks("python") if "from mcp import" in block.text)
    listed = 'for path in ("notes.md", "missing.md")]'
    assert listed in program
    program = program.replace(listed, f'{listed}\n        calls.append(client.call_tool("picture", {{}}))')
    program = program.replace("result.content[0].text.strip()", 'getattr(result.content[0], "data", "a text")')
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=shell_environment(), capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0] == "['picture', 'read_result', 'word_count']"
    assert lines[1:] == ["False a text", "True a text", f"False {base64.b64encode(PNG).decode()}"]


def compare(provider: str, body: dict[str, Any], *, write: bool) -> None:
    """Compare the conversation in the second request with the golden file."""
    key = {"gemini": "contents", "openai_responses": "input"}.get(provider, "messages")
    path = GOLDEN / f"{provider}.json"
    if write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(body[key], indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == body[key]


def test_the_page_has_a_program_for_each_provider_with_calls() -> None:
    from toolc.providers.response_streams import STREAMING

    assert PROGRAMS.keys() == {*STREAMING, "stream"}


@pytest.mark.parametrize("provider", sorted(PROGRAMS.keys() - {"stream"}))
def test_all_providers_but_cohere_show_the_image(provider: str) -> None:
    text = (GOLDEN / f"{provider}.json").read_text(encoding="utf-8").replace("\\/", "/")
    is_shown = base64.b64encode(PNG).decode() in text or base64.urlsafe_b64encode(PNG).decode() in text
    assert is_shown == (provider != "cohere")
    assert "there is no file 'missing.md'" in text
