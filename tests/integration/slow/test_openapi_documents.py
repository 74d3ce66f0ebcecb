"""Documents that npm packages ship become specs, and their tools send what the documents say, as a server records it.

What they say comes from ``openapi_rules``, which reads the documents by the rules of OpenAPI and RFC 6570.
"""

import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls.scripted_server import Request
from cli.command_line import toolc
from openapi_rules.argument_values import argument_values
from openapi_rules.comparison import compared, expected_request, plan_differences, rules_of, specs_of
from openapi_rules.expected_request import SECRET
from openapi_rules.sent_requests import received, wires
from schemas.npm_documents import github_document, npm_documents

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.importers.openapi.generate import Generated, Options, generate
from toolc.importers.openapi.operations import Choice
from toolc.importers.openapi.servers import Server
from toolc.importers.openapi.source import Document
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.spec.http_backend import HttpBackend, OAuth2Auth
from toolc.model.spec.tool import ToolSpec

pytestmark = [pytest.mark.integrations, pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")]

PUBLIC = {
    "@octokit/openapi/generated/api.github.com.json": 1_000,
    "@figma/rest-api-spec/openapi/openapi.yaml": 50,
    "@netlify/open-api/dist/swagger.json": 150,
    "@scalar/galaxy/dist/3.1.json": 10,
}
"""Documents of services, with the least number of their operations."""

CALLED = (
    *(f"@readme/oas-examples/{name}.json" for name in (
        "2.0/json/petstore", "2.0/json/petstore-expanded", "3.0/json/complex-nesting", "3.0/json/file-uploads",
        "3.0/json/parameters-common", "3.0/json/parameters-style", "3.0/json/petstore",
        "3.0/json/request-examples", "3.0/json/schema-types", "3.0/json/star-trek", "3.0/json/uspto",
        "3.1/json/train-travel",
    )),
    "@netlify/open-api/dist/swagger.json",
)  # fmt: skip
"""The documents whose operations are called."""

MAX_CALLS = 30
SERVER = "https://api.example.com/v1"
FILES = {"a.png": b"\x89PNG a", "b.png": b"\x89PNG b"}


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder with the packages."""
    return npm_documents()


def imported(path: Path, server: str = SERVER) -> tuple[JsonObject, Generated]:
    """Return a document and what is generated from all of its operations."""
    document = Document.of(path.read_bytes(), str(path), lambda place: Path(place).read_bytes())
    options = Options(name="api", choice=Choice(is_all=True), server=Server(server), renamed={})
    return document.root, generate(document, options, {})


def differences(root: JsonObject, generated: Generated) -> list[str]:
    """Return how the plans differ from the rules. Each generated spec is valid."""
    specs = [*specs_of(generated)]
    assert len(specs) == len(generated.files)
    return [f"{key}: {each}" for key, spec in specs for each in plan_differences(root, key, spec, SERVER)]


def test_every_request_of_the_examples_is_as_the_rules_say(packages: Path) -> None:
    paths = sorted(path for path in (packages / "@readme/oas-examples").rglob("*.json") if "json" in path.parts[-3:])
    assert len(paths) > 60
    empty = []
    for path in paths:
        try:
            root, generated = imported(path)
        except UsageError as error:
            assert str(error) == "the document has no operation to import"  # noqa: PT017  most have some
            empty.append(path.name)
            continue
        assert generated.files or generated.left_out
        assert all(each.reason for each in generated.left_out)
        assert differences(root, generated) == [], path
    assert empty == ["title.json", "webhooks.json"]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_request_of_a_public_document_is_as_the_rules_say(name: str, packages: Path) -> None:
    root, generated = imported(packages / name)
    assert (len(generated.files) >= PUBLIC[name], generated.left_out) == (True, [])
    assert differences(root, generated) == []


class Recorder(http.server.BaseHTTPRequestHandler):
    """Records each request, and answers with an empty object."""

    received: list[Request]

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.received.append(Request(method=self.command, path=self.path, headers=dict(self.headers), body=body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}" if self.command != "HEAD" else b"")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def recording() -> Iterator[tuple[int, list[Request]]]:
    requests: list[Request] = []
    handler = type("Handler", (Recorder,), {"received": requests})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1], requests
        server.shutdown()
        thread.join()


def arguments_of(spec: ToolSpec, is_file: Mapping[str, bool]) -> JsonObject:
    """Return arguments from the schema of a tool, with the names of files where it takes them."""
    values = argument_values(spec.parameters.value)
    return {
        name: (["a.png", "b.png"] if isinstance(each, list) else "a.png") if is_file.get(name) else each
        for name, each in values.items()
    }


@pytest.mark.needs_engine
@pytest.mark.parametrize("name", CALLED)
def test_requests_arrive_as_the_rules_say(
    name: str, packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, data in FILES.items():
        Path(file).write_bytes(data)
    with recording() as (port, requests):
        server = f"http://127.0.0.1:{port}/base"
        command = ("--all", "--server", server, "--name", "api", "--out", "specs")
        result = toolc("import", "openapi", str(packages / name), *command)
        assert result.exit_code == 0, result.stderr
        root, _ = imported(packages / name, server)
        names = json.loads(Path("specs/.toolc-import/api.json").read_text(encoding="utf-8"))["names"]
        registry = Registry.load("specs")
        needed = {each.name for tool in registry for each in tool.sandbox.secrets}
        secrets = SecretStore({each: LiteralSource(SECRET) for each in needed})
        called, found = 0, list[str]()
        with Executor(registry, workspace=".", secrets=secrets) as executor:
            for key, tool in [*names.items()][:MAX_CALLS]:
                spec = registry.registered(tool).spec
                if isinstance(spec.backend, HttpBackend) and isinstance(spec.backend.auth, OAuth2Auth):
                    continue  # its token comes from another server
                rules = rules_of(root, key)
                listed = [*wires(spec, rules)]
                arguments = arguments_of(spec, {each.argument: each.is_file for each in listed})
                before = len(requests)
                ran = executor.run(tool, arguments)
                if ran.error and ran.error.kind == "invalid_args":
                    continue  # the simplest value does not fit
                request = received(requests[before], {data: file for file, data in FILES.items()})
                expected = expected_request(rules, spec, listed, arguments, server)
                found += [f"{key}: {each}" for each in compared(request, expected, rules)]
                called += 1
        assert found == []
        assert called >= min(len(names), MAX_CALLS) * 0.8


def test_the_largest_document_is_imported_with_progress(packages: Path, tmp_path: Path) -> None:
    document = str(github_document(packages))
    result = toolc("import", "openapi", document, "--only", "issues", "--out", str(tmp_path), "--name", "github")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^toolc: reading 1\d\.\d+MiB; ", result.stderr)
    assert re.search(r": \d\d operations imported", result.stdout)
