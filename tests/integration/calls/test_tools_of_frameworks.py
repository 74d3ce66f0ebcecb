"""The tools of five agent frameworks, with the arguments of their documentation, called as built-in tools of toolc.

``CASES`` is the table in ``docs/reference/tools/of-frameworks.md``, row by row. Where toolc differs on purpose, the
table says so, and the case expects what toolc does.
"""

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from calls.http_tools import failed
from calls.postgres_server import PASSWORD, postgres_server, programs
from calls.scripted_server import Request, ScriptedServer, json_reply, reply
from cli.command_line import run
from engines.image_cases import usable
from models.scripted_model import OpenAISpeech, ScriptedModel
from project.paths import DOCS, SPECS

from toolc import Executor, Registry, ToolCall, ToolResult, define, step
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.oci.engine import OciEngine

pytestmark = pytest.mark.timeout(900)

TRAIT, GO, MANAGER = "Rust agent trait", "Go tool interface", "Tool manager"
BUILDER, PLUGINS = "Tool builder", "Plugins"

HERE = "http://HERE"
"""The address of the local server, in arguments and in expected text."""


@dataclass(frozen=True, slots=True)
class Case:
    """A call of ``tool``, which is ``theirs`` in the documentation of a framework.

    The result has the kind of error ``error``, at least the names of ``data``, and text that ``text`` matches.
    """

    framework: str
    theirs: str
    tool: str
    arguments: JsonObject
    data: JsonObject = field(default_factory=dict)
    text: str = ""
    error: str | None = None


USERS = "CREATE TABLE users AS SELECT 'Ada' AS name, 36 AS age UNION SELECT 'Bob', 20"
OLDER: JsonObject = {"query": "SELECT * FROM users WHERE age > $1", "params": [25]}
WEATHER: JsonObject = {"latitude": 35.68, "longitude": 139.69, "unit": "fahrenheit"}
FACT: JsonObject = {"text": "The user lives in Tokyo.", "topic": "user"}
WEEKLY: JsonObject = {"what": "Report", "cron": "0 9 * * MON", "time_zone": "Asia/Tokyo"}
PEOPLE = '{"users": [{"name": "Ada", "age": 36}]}'

# The calls are made in this order, in one workspace with the file path/to/file.txt.
CASES = (
    Case(TRAIT, "bash tool", "bash", {"command": "echo out; echo broken >&2; exit 101"}, text="(?s)out.*broken.*101"),
    Case(TRAIT, "bash tool", "bash", {"command": "no-such-program"}, text="(?s)command not found.*127"),
    Case(TRAIT, "get_weather", "get_weather", WEATHER, {"temperature": 72, "unit": "°F", "humidity": 65}),
    Case(TRAIT, "get_weather", "get_weather", {"city": "Tokyo"}, text="latitude", error="invalid_args"),
    Case(TRAIT, "reading a file", "file_read", {}, text="path", error="invalid_args"),
    Case(TRAIT, "reading a file", "file_read", {"path": "none.txt"}, text="none.txt: No such", error="not_found"),
    Case(GO, "remember", "remember", FACT, {"id": 1, "new": True}),
    Case(GO, "knowledge_search", "knowledge_search", {"query": "where does the user live?"}, text="lives in Tokyo"),
    Case(GO, "web_search", "web_search", {"query": "tea"}, text="(?s)1. Tea 1\n.*5. Tea 5"),
    Case(GO, "web_search", "web_search", {"query": "tea", "limit": 10}, text="10. Tea 10"),
    Case(GO, "web_search", "web_search", {"limit": 10}, text="query", error="invalid_args"),
    Case(GO, "schedule_create", "schedule_create", WEEKLY, {"id": 1, "cron": "0 9 * * MON"}, text="T00:00:00Z"),
    Case(GO, "schedule_list", "schedule_list", {}, text='"what":"Report"'),
    Case(GO, "schedule_update", "schedule_update", {"id": 1, "every": "30min"}, {"every": "30min", "cron": None}),
    Case(GO, "schedule_delete", "schedule_delete", {"id": 1}, {"id": 1, "what": "Report"}),
    Case(GO, "shell_exec", "shell_exec", {"command": "ls path/to"}, text="^file.txt\n$"),
    Case(GO, "file_write", "file_write", {"path": "a.txt", "content": "one\n"}, {"bytes": 4}),
    Case(GO, "file_read", "file_read", {"path": "a.txt"}, {"content": "one\n"}),
    Case(GO, "file_list", "file_list", {}, text="(?s)^a.txt\n.*path/"),
    Case(GO, "http_fetch", "http_fetch", {"url": f"{HERE}/page"}, {"title": "A", "body": "words"}),
    Case(MANAGER, "Calculator", "calculator", {"expression": "2 + 3 * 4"}, {"result": 14, "expression": "2 + 3 * 4"}),
    Case(MANAGER, "Calculator", "calculator", {"expression": "15 * 23"}, {"result": 345}),
    Case(MANAGER, "Calculator", "calculator", {}, text="expression", error="invalid_args"),
    Case(MANAGER, "WebSearch", "web_search", {"query": "Rust programming language", "limit": 3}, text="Rust.* 3\n"),
    Case(MANAGER, "FileReader", "file_read", {"path": "path/to/file.txt"}, {"content": "Hi"}),
    Case(MANAGER, "FileReader", "file_read", {"path": "path/to/file.txt", "encoding": "utf-8"}, {"content": "Hi"}),
    Case(MANAGER, "FileReader", "file_read", {"path": "/workspace/path/to/file.txt"}, {"content": "Hi"}),
    Case(MANAGER, "FileReader", "file_read", {"path": "/path/to/file.txt"}, text="outside the work", error="denied"),
    Case(MANAGER, "FileWriter", "file_write", {"path": "path/to/output.txt", "content": "Hello, world!",
         "append": False}, {"bytes": 13, "append": False}),
    Case(MANAGER, "FileWriter", "file_write", {"path": "path/to/output.txt", "content": "!", "append": True},
         {"bytes": 1, "append": True}),
    Case(MANAGER, "FileWriter", "file_read", {"path": "path/to/output.txt"}, {"content": "Hello, world!!"}),
    Case(MANAGER, "FileWriter", "file_write", {"path": "/path/to/output.txt", "content": ""}, error="denied"),
    Case(MANAGER, "HttpClient", "http_request", {"url": f"{HERE}/data", "method": "POST",
         "headers": {"Content-Type": "application/json"}, "body": '{"key": "value"}'},
         {"status": 201, "body": 'POST application/json {"key": "value"}'}),
    Case(MANAGER, "HttpClient", "http_request", {"url": f"{HERE}/data"}, {"status": 201, "body": "GET - "}),
    Case(MANAGER, "DatabaseQuery", "database_execute", {"path": "users.sqlite", "query": USERS}),
    Case(MANAGER, "DatabaseQuery", "database_query", {"path": "users.sqlite", **OLDER},
         {"columns": ["name", "age"], "rows": [["Ada", 36]]}),
    Case(MANAGER, "get_weather", "get_weather", {"location": "Tokyo", "units": "metric"}, error="invalid_args"),
    Case(BUILDER, "search", "web_search", {"query": "current information"}, text="5. Current information 5"),
    Case(BUILDER, "calculator", "calculator", {"expression": "137 * 48"}, {"result": 6576}),
    Case(BUILDER, "calculator", "calculator", {"expression": "round(10000 * (1 + 7 / 100) ** 10, 2)"},
         {"result": 19671.51}),
    Case(BUILDER, "fetching a URL", "http_fetch", {"url": "file:///etc/passwd"}, text="https", error="invalid_args"),
    Case(PLUGINS, "bash_plugin", "bash", {"command": "echo hello"}, text="^hello\n$"),
    Case(PLUGINS, "stats", "stats", {"numbers": [1, 2, 3, 4, 5], "precision": 2},
         {"n": 5, "min": 1, "max": 5, "mean": 3, "stddev": 1.58}),
    Case(PLUGINS, "stats", "stats", {"numbers": [1, 2]}, {"mean": 1.5, "stddev": 0.7071}),
    Case(PLUGINS, "stats", "stats", {"numbers": []}, text="numbers", error="invalid_args"),
    Case(PLUGINS, "stats", "stats", {"numbers": [1, "two"]}, text="numbers.1: ", error="invalid_args"),
    Case(PLUGINS, "json_query", "json_query", {"query": "users[0].name", "json": PEOPLE}, {"result": "Ada"}),
    Case(PLUGINS, "json_query", "json_query", {"query": "users.0.name", "json": PEOPLE},
         text=r"users\[0\]", error="invalid_args"),
    Case(PLUGINS, "file_info", "file_info", {"path": "path/to/file.txt"}, {"kind": "file", "size": 2, "lines": 1}),
    Case(PLUGINS, "file_info", "file_info", {"path": "path/to"}, {"kind": "folder", "entries": 2}),
    Case(PLUGINS, "sys_info", "sys_info", {}, text="(?s)os: .*disk: .*memory|memory: .*disk: "),
    Case(PLUGINS, "template", "template", {"template": "Hello {{ name }}", "values": {"name": "Ada"}},
         {"text": "Hello Ada"}),
    Case(PLUGINS, "template", "template", {"template": "Hello {{ name }}"}, text="'name' is und", error="invalid_args"),
    Case(PLUGINS, "preset coding", "file_edit", {"path": "a.txt", "old_text": "one", "new_text": ""}, {"changes": 1}),
)  # fmt: skip


def test_each_tool_in_the_table_has_a_case() -> None:
    page = (DOCS / "reference/tools/of-frameworks.md").read_text(encoding="utf-8")
    framework, listed = "", set()
    for first, theirs, ours, _ in re.findall(r"^\| (.*?) ?\| (.*?) \| (.*?) \| ?(.*?) ?\|$", page, re.MULTILINE):
        framework = next((each for each in (TRAIT, GO, MANAGER, BUILDER, PLUGINS) if f"[{each}]" in first), framework)
        if "(" in ours and "](../" not in ours.partition(",")[0]:
            names = [each.strip("`") for each in re.findall(r"`\w+`|^[a-z ]+$", theirs)]
            listed |= {(framework, name) for name in names}
    assert len(listed) >= 22
    assert listed <= {(case.framework, case.theirs) for case in CASES}


def search(request: Request, connection: socket.socket) -> None:
    """Answer as many results as the request asks for."""
    fields = parse_qs(request.path.partition("?")[2])
    words, count = fields["q"][0].capitalize(), int(fields["count"][0])
    pages: list[JsonValue] = [
        {"title": f"{words} {number}", "url": f"https://{number}.example/", "description": fields["search_lang"][0]}
        for number in range(1, count + 1)
    ]
    connection.sendall(json_reply({"web": {"results": pages}}))


def echo(request: Request, connection: socket.socket) -> None:
    words = f"{request.method} {request.headers.get('content-type', '-')} {request.body.decode()}"
    connection.sendall(reply(words.encode(), status=201))


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    current: JsonObject = {"time": "2026-11-22T07:00", "temperature_2m": 72, "relative_humidity_2m": 65}
    weather: JsonObject = {"current_units": {"temperature_2m": "°F"}, "current": current}
    with ScriptedServer() as server:
        server.answers |= {
            "/res/v1/web/search": search,
            "/v1/forecast": json_reply(weather),
            "/data": echo,
            "/page": reply(b"<title>A</title><p>words", kind="text/html"),
        }
        yield server


HOSTS = {
    "web_search": "api.search.brave.com", "get_weather": "api.open-meteo.com", "http": "public:443",
}  # fmt: skip
"""The specs of tools with a network, and the host that the local server replaces."""


@pytest.fixture(scope="module")
def registry(server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Return the built-in tools. Those with a network have the address of the local server."""
    folder, here = tmp_path_factory.mktemp("specs"), f"127.0.0.1:{server.port}"
    for name, host in HOSTS.items():
        text = (SPECS / f"{name}.yaml").read_text(encoding="utf-8")
        assert host in text
        text = text.replace(f"https://{host}", f"http://{here}").replace("public:443", here).replace(host, "127.0.0.1")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    for code in ("http_client.py", "web_page.py"):
        shutil.copy(SPECS / code, folder)
    local, registry = Registry.load(folder), Registry.builtin("all")
    for name in local.names:
        registry.remove(name)
    registry.add(local)
    return registry


@pytest.fixture(scope="module", params=["oci", pytest.param("docker", marks=pytest.mark.integrations)])
def executor(
    request: pytest.FixtureRequest, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Executor]:
    usable(request.param)
    work = tmp_path_factory.mktemp("work")
    (work / "path/to").mkdir(parents=True)
    (work / "path/to/file.txt").write_text("Hi", encoding="utf-8")
    store = SecretStore({"BRAVE_API_KEY": LiteralSource("brave-key-1")}, {})
    with Executor(registry, workspace=work, engine=request.param, secrets=store) as executor:
        yield executor


@pytest.fixture(scope="module")
def results(executor: Executor, server: ScriptedServer) -> list[ToolResult]:
    """Make all calls in their order, those between two changes concurrently."""
    made: list[ToolResult] = []

    def is_change(case: Case) -> bool:
        return not executor.registry.registered(case.tool).spec.annotations.read_only

    for are_changes, cases in groupby(CASES, is_change):
        calls = [
            ToolCall(name=case.tool, arguments=json.loads(json.dumps(case.arguments).replace(HERE, server.url)))
            for case in cases
        ]
        made += executor.run_batch(calls, mode="sequential" if are_changes else "parallel")
    return made


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number].theirs}, {number}")
def test_a_call_has_the_result_of_its_row(results: list[ToolResult], number: int) -> None:
    case, result = CASES[number], results[number]
    assert (result.error and result.error.kind) == case.error, result
    data = result.data if isinstance(result.data, dict) else {}
    assert {name: data.get(name) for name in case.data} == case.data
    assert re.search(case.text, result.text), result.text


def test_the_data_of_a_search_has_titles_and_addresses(executor: Executor, server: ScriptedServer) -> None:
    found = executor.run("web_search", {"query": "a", "limit": 1, "language": "de"}).data
    assert found == {"results": [{"title": "A 1", "url": "https://1.example/", "description": "de"}]}
    assert server.received[-1].headers["x-subscription-token"] == "brave-key-1"


def test_the_query_of_a_database_is_the_same_on_postgresql(engine: OciEngine, tmp_path: Path) -> None:
    if programs() is None:
        pytest.skip("this needs Debian's package postgresql")
    run("init", str(tmp_path), "--tool", "postgres")
    store = SecretStore({"PGPASSWORD": LiteralSource(PASSWORD)}, {})
    with postgres_server() as server:
        server.query(USERS)
        project = tmp_path / "toolc.yaml"
        text = project.read_text(encoding="utf-8").replace("verify-full", "disable").replace("5432", str(server.port))
        project.write_text(text.replace("postgres_user: postgres", "postgres_user: toolc"), encoding="utf-8")
        with Executor(Registry.load(tmp_path / "specs"), engine=engine, secrets=store) as executor:
            result = executor.run("postgres_query", OLDER)
    assert result.data == {"columns": ["name", "age"], "rows": [["Ada", 36]], "truncated": False}


def test_the_calls_of_one_response_run_concurrently_and_one_failure_stops_no_other(executor: Executor) -> None:
    calls = [
        ToolCall(name="web_search", arguments={"query": "tea"}),
        ToolCall(name="knowledge_search", arguments={"query": "Tokyo"}),
        ToolCall(name="calculator", arguments={"expression": "1 / 0"}),
        ToolCall(name="no_such_tool", arguments={}),
        ToolCall(name="file_read", arguments={"path": "path/to/file.txt"}),
    ]
    made = executor.run_batch(calls)
    assert [each.error and each.error.kind for each in made] == [None, None, "invalid_args", "not_found", None]
    assert made[4].text == "Hi"


def test_calls_after_a_message_of_the_user_are_skipped(executor: Executor) -> None:
    calls = [ToolCall(name="calculator", arguments={"expression": "1 + 1"})] * 3
    messages = iter(["stop"])
    made = executor.run_batch(calls, mode="sequential", steer=lambda _: next(messages))
    assert [each.error and each.error.kind for each in made] == [None, "cancelled", "cancelled"]


def test_a_tool_is_denied_before_and_after_the_start(executor: Executor) -> None:
    executor.deny("forget")
    assert executor.run("forget", {"ids": [1]}).text.startswith("the tool 'forget'")
    definitions = executor.definitions("openai_chat")
    assert "forget" not in [each["function"]["name"] for each in definitions]  # type: ignore[call-overload, index]
    executor.allow("forget")
    assert executor.run("forget", {"query": "nothing here"}).data == {"removed": 0, "matching": 0, "facts": []}


def test_a_composite_searches_writes_and_calculates(executor: Executor, registry: Registry) -> None:
    steps = (
        step("search", "web_search", {"query": "{{ topic }}", "limit": 2}),
        step("write", "file_write", {"path": "found.txt", "content": "{{ steps.search.text }}"}),
        step("count", "calculator", {"expression": "{{ steps.write.outputs.bytes }} * 2"}),
    )
    name, purpose = "research_assistant", "Search, write down the first page, and count. Use it for research."
    registry.add(define(name, purpose).param("topic", "string", "The topic").composite("pipeline", *steps))
    try:
        result = executor.run(name, {"topic": "tea"})
    finally:
        registry.remove(name)
    found = "1. Tea 1\n   https://1.example/\n   en\n2. Tea 2\n   https://2.example/\n   en\n"
    assert result.data == {"result": 2 * len(found), "expression": f"{len(found)} * 2"}
    assert executor.run("file_read", {"path": "found.txt"}).text == found


@pytest.mark.parametrize("strategy", ["sequential", "parallel", "conditional", "pipeline"])
def test_a_composite_has_each_strategy(strategy: str, executor: Executor, registry: Registry) -> None:
    sums = [step(name, "calculator", {"expression": f"{name[1:]} * 2"}) for name in ("n1", "n2")]
    if strategy == "conditional":
        sums = [step("n1", "calculator", {"expression": "2"}, condition="args.big"), *sums[1:]]
    if strategy == "pipeline":
        sums[1] = step("n2", "calculator", {"expression": "{{ steps.n1.outputs.result }} * 2"})
    tool = define("both", "Calculate twice. Use it for two sums.").param("big", "boolean", "Whether to start")
    try:
        registry.add(tool.composite(strategy, *sums))  # type: ignore[arg-type]
        result = executor.run("both", {"big": False})
    finally:
        if "both" in registry:
            registry.remove("both")
    assert result.error is None
    assert "4" in result.text


def test_a_sub_agent_is_called_like_a_tool(executor: Executor, registry: Registry) -> None:
    speech = OpenAISpeech()
    script = [speech.calls(("calculator", {"expression": "15 * 23"})), speech.text("345")]
    purpose = "Answer a question of mathematics. Use it for questions that need several calculations."
    with ScriptedModel(speech=speech, script=[*script]) as model:
        registry.add(
            define("math_specialist", purpose)
            .param("question", "string", "The question")
            .agent(provider="openai", model="m", base_url=model.base_url, instructions="Calculate.",
                   tools=["calculator"], api_key="{{ secrets.BRAVE_API_KEY }}",
                   secrets={"BRAVE_API_KEY": {"hosts": ["127.0.0.1"]}})
        )  # fmt: skip
        try:
            result = executor.run("math_specialist", {"question": "What is 15 * 23?"})
        finally:
            registry.remove("math_specialist")
    assert result.text == "345"
    assert speech.results(model.requests[1]) == [("id_1", "345")]


PLUGIN = """\
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "describe":
        count = {"type": "integer", "description": "How many times"}
        parameters = {"type": "object", "properties": {"input": {"type": "string"}, "count": count}}
        tool = {"name": "my_tool", "description": "Repeat a text.", "parameters": parameters | {"required": ["input"]}}
        print(json.dumps({"tools": [tool, tool | {"name": "tool_b"}]} if "--two" in sys.argv else tool), flush=True)
        continue
    params = request["params"]
    is_error = params["input"] == ""
    text = "Error: nothing to repeat" if is_error else params["input"] * params.get("count", 1)
    blocks = [{"type": "text", "text": text}, {"type": "text", "text": request["call_id"][:5]}]
    print(json.dumps({"content": blocks, "error": is_error}), flush=True)
"""


@pytest.mark.parametrize("options", [[], ["--two"]])
def test_a_plugin_that_speaks_the_protocol_is_imported_and_called(
    options: list[str], engine: OciEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert (
        run("import", "plugin", "--engine", "oci", "--out", "plugin.yaml", "--", "python3", "plugin.py", *options) == 0
    )
    registry = Registry.load("plugin.yaml")
    assert registry.names == (("my_tool", "tool_b") if options else ("my_tool",))
    with Executor(registry, engine=engine) as executor:
        done = executor.run("my_tool", {"input": "hello", "count": 3}, call_id="call_abc123")
        assert (done.error, done.text) == (None, "hellohellohellocall_")
        _, message = failed(executor.run("my_tool", {"input": ""}, call_id="call_abc123"))
        assert message.startswith("Error: nothing to repeat")


def test_a_plugin_answers_requests_on_its_standard_input() -> None:
    requests = '{"type":"describe"}\n{"type":"call","call_id":"c1","params":{"numbers":[1,2,3,4,5]}}\n'
    argv = [sys.executable, str(SPECS / "plugins/python/stats.py")]
    done = subprocess.run(argv, input=requests, capture_output=True, text=True, check=True)
    described, called = map(json.loads, done.stdout.splitlines())
    assert (described["name"], described["parameters"]["required"]) == ("stats", ["numbers"])
    assert called["content"][0]["text"] == "n=5  min=1.00  max=5.00  mean=3.00  stddev=1.41"
