import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls.scripted_server import Request, ScriptedServer, json_reply, reply
from models.model_responses import Asked
from models.provider_server import KEYS, TEXT, ProviderServer
from models.scripted_model import AnthropicSpeech, OpenAISpeech, ScriptedModel
from pages import DOCS, ROOT, Example, Page

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonValue

GENERATED = {"reference/checks", "reference/engine-behavior", "reference/check-rates"}
"""Pages that other tests write and compare. Their blocks are not examples to run."""

README = "../README"

PAGES = [
    name
    for name in (README, *(str(path.relative_to(DOCS).with_suffix("")) for path in sorted(DOCS.rglob("*.md"))))
    if name not in GENERATED and Page.read(name).steps()
]


READS = (
    Asked("call_notes", "file_read", '{"path": "notes.md"}'),
    Asked("call_missing", "file_read", '{"path": "missing.md"}'),
    Asked("call_list", "file_list", "{}"),
)
"""The calls of the models of several pages."""


@contextmanager
def _shop(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the orders of the guide to HTTP tools, in two pages."""

    def orders(request: Request, connection: socket.socket) -> None:
        if request.headers["authorization"] != "Bearer correct-horse-battery":
            connection.sendall(reply(status=401))
        elif request.path.endswith("?page=2"):
            connection.sendall(json_reply([{"id": "o-3", "total": 8.25}]))
        else:
            first: list[JsonValue] = [{"id": "o-1", "total": 12.5}, {"id": "o-2", "total": 3}]
            connection.sendall(json_reply(first, Link='</customers/C-17/orders?page=2>; rel="next"'))

    with ScriptedServer({"/customers/C-17/orders": orders}) as server:
        yield {"8765": str(server.port)}
        assert server.received[-1].path == "/customers/C%2F99/orders?per_page=2"


@contextmanager
def _model(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the model of the guide to sub-agents: it calls the tool, and then answers."""
    speech = OpenAISpeech()
    answers = [
        speech.calls(("compound_interest", {"amount": 10000, "percent": 7, "years": 10})),
        speech.text("They become 19,671.51 dollars."),
    ]
    with ScriptedModel(script=[*answers, *answers]) as model:
        yield {"8765": str(model.port)}
        assert speech.results(model.requests[1]) == [("id_1", '{"amount":19671.51}')]
        assert model.received[0].headers["authorization"] == "Bearer correct-horse-battery"


@contextmanager
def _plugins(folder: Path) -> Iterator[dict[str, str]]:
    """Add the plugin in Python, which the page calls."""
    shutil.copytree(ROOT / "specs" / "plugins" / "python", folder / "specs" / "plugins" / "python")
    yield {}


@contextmanager
def _claude(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the model of the README, to which the SDK connects: it counts words with the tool, and then answers."""
    speech = AnthropicSpeech()
    answers = [speech.calls(("count_words", {"path": "notes.md"})), speech.text("notes.md has two words.")]
    with ScriptedModel(speech=speech, script=[*answers]) as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_BASE_URL", model.base_url)
        patch.setenv("ANTHROPIC_API_KEY", "correct-horse-battery")
        yield {}
        assert speech.results(model.requests[1]) == [("id_1", "2 notes.md\n")]


@contextmanager
def _providers(folder: Path) -> Iterator[dict[str, str]]:
    """Serve a model of each provider, which reads a file, a folder, and a file that does not exist."""
    with ProviderServer(READS) as server, pytest.MonkeyPatch.context() as patch:
        for key, value in (server.environment | KEYS).items():
            patch.setenv(key, value)
        yield server.constructors
        for provider, bodies in server.bodies.items():
            text = json.dumps(bodies[1])
            assert all(each in text for each in ("two words", "missing.md: No such file", "specs/")), provider


class _FrameworkServer(ProviderServer):
    """Ends the run of an agent of smolagents by its tool ``final_answer``."""

    def turn(self, request: str) -> tuple[str, list[Asked]]:
        if re.search('"name": ?"final_answer"', request) and re.search('"role": ?"assistant"', request):
            return "", [Asked("call_end", "final_answer", json.dumps({"answer": TEXT}))]
        return super().turn(request)


@contextmanager
def _frameworks(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the models of the agents: each reads a file, a folder, and a file that does not exist."""
    with _FrameworkServer(READS) as server, pytest.MonkeyPatch.context() as patch:
        for key, value in (server.environment | KEYS | {"OPENAI_AGENTS_DISABLE_TRACING": "1"}).items():
            patch.setenv(key, value)
        yield {}
        chats, responses, gemini = (server.bodies[each] for each in ("openai_chat", "openai_responses", "gemini"))
        assert (len(chats), len(responses), len(gemini)) == (4, 4, 2)
        for body in (*chats[1::2], *responses[1::2], *gemini[1::2]):
            assert "missing.md: No such file" in json.dumps(body)
            # If one of several calls fails, smolagents keeps only the error.
            assert "final_answer" in json.dumps(body) or "two words" in json.dumps(body)


@contextmanager
def _nothing(folder: Path) -> Iterator[dict[str, str]]:
    yield {}


SETUPS = {
    README: _claude,
    "guides/frameworks": _frameworks,
    "guides/http-tools": _shop,
    "guides/migrating": _plugins,
    "guides/model-loop": _providers,
    "guides/sub-agents": _model,
}
"""What a page needs besides the files that it shows. Each yields the text to replace in the page."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a page's test: whether its examples call tools, or run other commands.

    ``make test`` runs the examples of the README and the tutorial, ``make test-integrations`` those of all pages.
    """
    examples = [step.text for step in Page.read(name).steps() if isinstance(step, Example)]
    marks = [] if name == README or name.startswith("tutorial/") else [pytest.mark.integrations]
    if any(re.search(r"Executor|\.execute\(|toolc (run|test|import)\b", text) for text in examples):
        return [*marks, pytest.mark.needs_engine]
    return [*marks, pytest.mark.slow] if examples else []


@pytest.mark.timeout(900)  # all examples of a page
@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in PAGES])
def test_examples_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    with SETUPS.get(name, _nothing)(folder) as replace:
        page = Page.read(name, replace)
        page.run(folder)
    specs = [path for path in sorted(folder.rglob("specs/*")) if _is_spec(path)]
    found = compile_specs(specs).diagnostics.sorted() if specs else ()
    assert [each for each in found if f" {each.code.number}: {each.message}" not in page.text] == []


@pytest.mark.parametrize("name", PAGES)
def test_yaml_and_python_blocks_are_files_or_programs(name: str) -> None:
    for block in Page.read(name).blocks():
        assert block.language, f"docs/{name}.md:{block.line}: name the language of this block"
        assert block.path or block.language not in {"yaml", "toml"}, (
            f"docs/{name}.md:{block.line}: begin this block with its path, as '# specs/name.yaml'"
        )


def _is_spec(path: Path) -> bool:
    return path.suffix in {".yaml", ".toml"} and path.read_text(encoding="utf-8").partition("\n")[2].startswith("toolc")
