"""Documents that npm packages ship become specs, and their tools send what the documents say, as a server records it.

The packages are installed into the cache folder: ``@readme/oas-examples``, and the document of GitHub.
"""

import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli.command_line import toolc
from schemas.npm_documents import github_document, npm_documents

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.importers.openapi.generate import Generated, Options, generate
from toolc.importers.openapi.operations import Choice
from toolc.importers.openapi.source import Document
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue

pytestmark = [pytest.mark.integrations, pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")]

CALLED = (
    "2.0/json/petstore", "2.0/json/petstore-expanded", "3.0/json/complex-nesting", "3.0/json/discriminators",
    "3.0/json/parameters-common", "3.0/json/parameters-style", "3.0/json/petstore", "3.0/json/request-examples",
    "3.0/json/schema-types", "3.0/json/star-trek", "3.0/json/uspto", "3.1/json/readme", "3.1/json/train-travel",
)  # fmt: skip
"""The documents whose operations are called."""

MAX_CALLS = 30


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder with the packages."""
    return npm_documents()


def imported(path: Path, server: str = "https://api.example.com/v1") -> Generated:
    document = Document.of(path.read_bytes(), str(path), lambda place: Path(place).read_bytes())
    return generate(document, Options(name="api", choice=Choice(is_all=True), server=server, renamed={}), {})


def test_each_document_becomes_specs_or_reasons(packages: Path) -> None:
    paths = sorted(path for path in (packages / "@readme/oas-examples").rglob("*.json") if "json" in path.parts[-3:])
    assert len(paths) > 60
    empty = []
    for path in paths:
        try:
            generated = imported(path)
        except UsageError as error:
            assert str(error) == "the document has no operation to import"  # noqa: PT017  most have some
            empty.append(path.name)
            continue
        assert generated.files or generated.left_out
        assert all(each.reason for each in generated.left_out)
    assert empty == ["title.json", "webhooks.json"]


class Recorder(http.server.BaseHTTPRequestHandler):
    """Records the method and the target of each request."""

    received: list[tuple[str, str]]

    def do(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.rfile.read(length)
        self.received.append((self.command, self.path))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}" if self.command != "HEAD" else b"")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def recording() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    received: list[tuple[str, str]] = []
    handler = type("Handler", (Recorder,), {"received": received})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1], received
        server.shutdown()
        thread.join()


def value_of(schema: JsonObject, definitions: JsonObject, depth: int = 0) -> JsonValue:
    """Return the simplest value that fits most schemas."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = definitions.get(reference.rpartition("/")[2])
        return value_of(target, definitions, depth + 1) if isinstance(target, dict) and depth < 5 else {}
    for key in ("enum", "examples"):
        if isinstance(choices := schema.get(key), list) and choices:
            return choices[0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := schema.get(key), list) and isinstance(branches[0], dict):
            return value_of({**{k: v for k, v in schema.items() if k != key}, **branches[0]}, definitions, depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties")
        needed = schema.get("required")
        names = needed if isinstance(needed, list) else []
        inner = properties if isinstance(properties, dict) else {}
        return {
            str(name): value_of(each, definitions, depth + 1)
            for name in names
            if isinstance(each := inner.get(str(name)), dict)
        }
    texts = {
        "date": "2026-01-31", "date-time": "2026-01-31T10:00:00Z", "uuid": "00000000-0000-4000-8000-000000000000",
        "email": "a@example.com", "uri": "https://example.com/",
    }  # fmt: skip
    simple: dict[object, JsonValue] = {
        "integer": schema.get("minimum", 1), "number": schema.get("minimum", 1.5), "boolean": True, "array": [],
        "null": None,
    }  # fmt: skip
    return simple.get(kind, texts.get(str(schema.get("format")), "abc"))


@pytest.mark.needs_engine
@pytest.mark.parametrize("name", CALLED)
def test_requests_have_the_method_and_the_path_of_the_document(
    name: str, packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = packages / "@readme/oas-examples" / f"{name}.json"
    with recording() as (port, received):
        server = f"http://127.0.0.1:{port}/base"
        result = toolc("import", "openapi", str(path), "--all", "--server", server, "--name", "api", "--out", "specs")
        assert result.exit_code == 0, result.stderr
        names = json.loads(Path("specs/.toolc-import/api.json").read_text(encoding="utf-8"))["names"]
        registry = Registry.load("specs")
        needed = {each.name for tool in registry for each in tool.sandbox.secrets}
        secrets = SecretStore({each: LiteralSource("secret-of-the-tests") for each in needed})
        called = 0
        with Executor(registry, workspace=".", secrets=secrets) as executor:
            for key, tool in [*names.items()][:MAX_CALLS]:
                schema = registry.registered(tool).spec.parameters.value
                definitions = schema.get("$defs")
                arguments = value_of(schema, definitions if isinstance(definitions, dict) else {})
                assert isinstance(arguments, dict)
                ran = executor.run(tool, arguments)
                if ran.error and ran.error.kind in {"invalid_args", "file"}:
                    continue  # the simplest value does not fit, or names a file
                method, template = key.split(" ", 1)
                sent_method, target = received[-1]
                pattern = re.sub(r"\\\{[^/{}]*\\\}", "[^/?]+", re.escape(f"/base{template.partition('?')[0]}"))
                assert (sent_method, re.fullmatch(pattern, urlsplit(target).path) is not None) == (method, True), target
                called += 1
        assert called >= min(len(names), MAX_CALLS) * 0.25


def test_the_largest_document_is_imported_with_progress(packages: Path, tmp_path: Path) -> None:
    github = github_document(packages)
    result = toolc("import", "openapi", str(github), "--only", "issues", "--out", str(tmp_path), "--name", "github")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^toolc: reading 1\d\.\d+MiB; ", result.stderr)
    assert re.search(r": \d\d operations imported", result.stdout)
    everything = imported(github)
    assert (len(everything.files) > 1_000, everything.left_out) == (True, [])
