"""Documents that npm packages ship become specs, and their tools send what the documents say, as a server records it.

What they say comes from ``openapi_rules``, which reads the documents by the rules of OpenAPI and RFC 6570.
"""

import http.server
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from calls.scripted_server import Request
from cli.command_line import toolc
from openapi_rules.argument_values import argument_values
from openapi_rules.comparison import compared, expected_request, plan_differences, rules_of, specs_of
from openapi_rules.expected_request import SECRET, Rules
from openapi_rules.sent_requests import Wire, received, wires
from schemas.npm_documents import github_document, npm_documents

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.importers.openapi.generate import Generated, Options, generate
from toolc.importers.openapi.operations import Choice, operations
from toolc.importers.openapi.servers import Server
from toolc.importers.openapi.source import Document
from toolc.model.call import ToolCall
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

EMPTY = ("title.json", "webhooks.json")
"""Documents without an operation."""

MAX_CALLS = 30
"""The operations of each document that are called."""

CALLED = int(os.environ.get("TOOLC_TEST_DOCUMENTS", "16"))
"""The documents whose operations are called. ``make soak`` calls those of all."""

SERVER = "https://api.example.com/v1"
FILES = {"a.png": b"\x89PNG a", "b.png": b"\x89PNG b"}


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder with the packages."""
    return npm_documents()


@pytest.fixture(scope="module")
def examples(packages: Path) -> list[Path]:
    """Return the documents of the package ``@readme/oas-examples``."""
    paths = sorted(path for path in (packages / "@readme/oas-examples").rglob("*.json") if "json" in path.parts[-3:])
    assert len(paths) > 60
    return paths


def imported(path: Path, server: str = SERVER, most: int | None = None) -> tuple[JsonObject, Generated]:
    """Return a document and what is generated from its operations, or from ``most`` of them, from all its parts."""
    document = Document.of(path.read_bytes(), str(path), lambda place: Path(place).read_bytes())
    keys = [each.key for each in operations(document)]
    only = tuple(keys[:: -(-len(keys) // most) or 1]) if most else ()
    options = Options(name="api", choice=Choice(only=only, is_all=True), server=Server(server), renamed={})
    return document.root, generate(document, options, {})


def differences(root: JsonObject, generated: Generated) -> list[str]:
    """Return how the plans differ from the rules. Each generated spec is valid."""
    specs = [*specs_of(generated)]
    assert len(specs) == len(generated.files)
    return [f"{key}: {each}" for key, spec in specs for each in plan_differences(root, key, spec, SERVER)]


def test_every_request_of_the_examples_is_as_the_rules_say(examples: list[Path]) -> None:
    empty = []
    for path in examples:
        try:
            root, generated = imported(path)
        except UsageError as error:
            assert str(error) == "the document has no operation to import"  # noqa: PT017  most have some
            empty.append(path.name)
            continue
        assert generated.files or generated.left_out
        assert all(each.reason for each in generated.left_out)
        assert differences(root, generated) == [], path
    assert empty == [*EMPTY]


@pytest.mark.timeout(1200)  # more than 1,000 operations of GitHub
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
        try:
            yield server.server_address[1], requests
        finally:
            server.shutdown()
            thread.join()


def arguments_of(spec: ToolSpec, is_file: Mapping[str, bool]) -> JsonObject:
    """Return arguments from the schema of a tool, with the names of files where it takes them."""
    values = argument_values(spec.parameters.value)
    return {
        name: (["a.png", "b.png"] if isinstance(each, list) else "a.png") if is_file.get(name) else each
        for name, each in values.items()
    }


class Call(NamedTuple):
    """A call of the tool of an operation."""

    spec: ToolSpec
    rules: Rules
    listed: list[Wire]
    arguments: JsonObject
    server: str

    def differences(self, request: Request | None) -> list[str]:
        """Return how the request that arrived differs from the rules."""
        name = f"{self.rules.method} {self.rules.path} ({self.spec.name})"
        if request is None:
            return [f"{name}: no request arrived"]
        arrived = received(request, {data: file for file, data in FILES.items()})
        expected = expected_request(self.rules, self.spec, self.listed, self.arguments, self.server)
        return [f"{name}: {each}" for each in compared(arrived, expected, self.rules)]


def write_specs(path: Path, prefix: str, host: str) -> dict[str, Rules]:
    """Write specs for a document, and return the rules of each tool.

    The path of its server has the name of the tool, which shows where a request is from although calls run in parallel.
    """
    root, generated = imported(path, f"http://{host}/base", MAX_CALLS)
    found = {}
    for file, text in generated.files.items():
        name = prefix + file.removesuffix(".yaml")
        spec = re.sub(r"(?m)^name: .*", f"name: {name}", text).replace(f"http://{host}/base", f"http://{host}/{name}")
        Path("specs", f"{name}.yaml").write_text(spec, encoding="utf-8")
        found[name] = rules_of(root, generated.operations[file].key)
    return found


def calls_of(registry: Registry, rules: Mapping[str, Rules], host: str) -> Iterator[Call]:
    """Yield a call of each tool, except of those with a token, which comes from another server."""
    for name, each in rules.items():
        spec = registry.registered(name).spec
        if not isinstance(spec.backend, HttpBackend) or isinstance(spec.backend.auth, OAuth2Auth):
            continue
        listed = [*wires(spec, each)]
        arguments = arguments_of(spec, {wire.argument: wire.is_file for wire in listed})
        yield Call(spec, each, listed, arguments, f"http://{host}/{name}")


@pytest.mark.needs_engine
def test_requests_arrive_as_the_rules_say(
    packages: Path, examples: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    for file, data in FILES.items():
        Path(file).write_bytes(data)
    shown = [path for path in examples if path.name not in EMPTY]
    documents = [packages / name for name in PUBLIC] + shown[:: max(1, len(shown) // (CALLED - len(PUBLIC)))]
    with recording() as (port, requests):
        host, rules = f"127.0.0.1:{port}", dict[str, Rules]()
        for number, path in enumerate(documents):
            rules |= write_specs(path, f"d{number}_", host)
        registry = Registry.load("specs")
        calls = [*calls_of(registry, rules, host)]
        needed = {each.name for tool in registry for each in tool.sandbox.secrets}
        secrets = SecretStore({each: LiteralSource(SECRET) for each in needed})
        with Executor(registry, workspace=".", secrets=secrets) as executor:
            results = executor.run_batch([ToolCall(name=each.spec.name, arguments=each.arguments) for each in calls])
    arrived = {request.path.split("/")[1]: request for request in requests}
    # The simplest value does not fit the schema of some arguments.
    fitting = [
        call for call, result in zip(calls, results, strict=True)
        if result.error is None or result.error.kind != "invalid_args"
    ]  # fmt: skip
    assert [each for call in fitting for each in call.differences(arrived.get(call.spec.name))] == []
    assert (len(documents) >= min(CALLED, 70), len(requests)) == (True, len(fitting))
    assert len(fitting) >= max(200, 0.9 * len(calls))


def test_the_largest_document_is_imported_with_progress(packages: Path, tmp_path: Path) -> None:
    document = str(github_document(packages))
    result = toolc("import", "openapi", document, "--only", "issues", "--out", str(tmp_path), "--name", "github")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^toolc: reading 1\d\.\d+MiB; ", result.stderr)
    assert re.search(r": \d\d operations imported", result.stdout)
