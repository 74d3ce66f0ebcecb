"""``toolc show``: a tool and its permissions as text and as JSON."""

import json
from pathlib import Path

import pytest
from cli.command_line import toolc
from compiling.project_cases import expected

from toolc.client.build import build
from toolc.model.json_schema import JsonObject
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import canonical

SPECS = """\
toolc: 1
tools:
  - name: fetch
    label: Fetch
    description: |
      Fetch one page.
      Not for pictures.
    parameters:
      page: {type: string, maxLength: 99, description: Which page.}
      limit: {type: [integer, "null"], default: 5, description: How many.}
      any: {optional: true, description: Anything.}
    backend:
      http: {method: GET, url: "https://api.example.com/{{ page }}", query: {n: "{{ limit }}", a: "{{ any }}"}}
    sandbox: {secrets: {TOKEN: {hosts: [api.example.com]}}, limits: {timeout: 90s, memory: 1GiB}}
  - name: store
    description: Store a text in a file of the workspace.
    parameters: {text: {type: string, maxLength: 99, description: The text.}}
    backend: {python: {code: "def store(text):\\n    open('a', 'w').write(text)\\n", requirements: [idna==3.10]}}
    sandbox: {workspace: {mode: transaction, writes: [a]}, run_as: nonroot}
  - name: mirror
    description: Fetch one page and store it, one after the other.
    backend:
      composite:
        strategy: pipeline
        steps: [{id: get, tool: fetch, args: {page: index}}, {id: put, tool: store}]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SPECS, encoding="utf-8")


def show(*arguments: str) -> str:
    found = toolc("show", *arguments)
    assert (found.exit_code, found.stderr) == (0, "")
    return found.stdout


@pytest.mark.parametrize("name", ["fetch", "mirror"])
def test_page_shows_parameters_and_permissions(name: str, golden: bool) -> None:
    page, _, digests = show(f"s.yaml#{name}").rpartition("\n\n")
    page += "\n"
    assert page == expected(f"cli/show-{name}", page, golden=golden)
    assert [line.split()[0] for line in digests.splitlines()] == ["surface", "effect"]


def test_json_output_is_complete() -> None:
    build("s.yaml", "build")
    tool = json.loads(show("mirror", "--registry", "build/registry.json", "--json"))
    stored = {tool["name"]: tool for tool in json.loads(Path("build/registry.json").read_bytes())["tools"]}

    granted = tool.pop("permissions")
    assert tool == stored["mirror"]
    assert granted["hosts"] == [{"value": "api.example.com:443", "by": ["get"]}]
    assert granted["transactions"] == [{"value": "commit: ask, writes: a", "by": ["put"]}]
    assert granted["images"] == [{"value": None, "by": ["get", "put"]}]


def test_changed_step_changes_the_effect_of_the_composite() -> None:
    was = json.loads(show("s.yaml#mirror", "--json"))["digests"]
    Path("s.yaml").write_text(SPECS.replace("writes: [a]", "writes: [a, b]"), encoding="utf-8")
    now = json.loads(show("s.yaml#mirror", "--json"))["digests"]
    assert (now["surface"], now["effect"] != was["effect"]) == (was["surface"], True)


def entries(provider: str) -> dict[str, JsonObject]:
    """Return the entries of a provider's file in the folder ``build``, by the names of their tools."""
    value = json.loads(Path(f"build/providers/{provider}.json").read_bytes())
    if provider == "gemini":
        value = value[0]["functionDeclarations"]
    named = {name_of(each): each for each in value}
    assert len(named) == 3
    return named


def name_of(definition: JsonObject) -> str:
    inner = definition.get("function") or definition.get("toolSpec") or definition
    assert isinstance(inner, dict)
    return str(inner["name"])


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_a_definition_is_the_entry_of_a_build(provider: str) -> None:
    build("s.yaml", "build")
    expected = entries(provider)["fetch"]
    in_registry = ("fetch", "--registry", "build/registry.json")
    for arguments in (("s.yaml#fetch",), ("fetch", "s.yaml"), ("fetch",), in_registry):
        shown = show(*arguments, "--as", provider)
        assert canonical(json.loads(shown)) == canonical(expected)
        assert shown == json.dumps(json.loads(shown), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("option", ["--as=mcp", "--effective"])
def test_other_files_do_not_matter_for_a_tool_that_is_named(option: str) -> None:
    Path("workflow.yml").write_text("on: push\n", "utf-8")
    Path("broken.yaml").write_text("toolc: 1\nname: broken\nextra: 1\n", "utf-8")
    assert "fetch" in show("fetch", option)
    lines = toolc("show", "broken", option).stderr.splitlines()
    assert {line.split(":")[0] for line in lines if " error " in line} == {"broken.yaml"}


def test_a_name_of_two_tools_needs_a_file() -> None:
    Path("z.yaml").write_text(Path("s.yaml").read_text("utf-8"), "utf-8")
    message = "toolc: 2 tools in . are called 'fetch': in s.yaml, z.yaml; name the file: s.yaml#fetch\n"
    assert toolc("show", "fetch", "--as", "mcp").stderr == message


def test_openapi_is_a_document_with_the_tool() -> None:
    document = json.loads(show("fetch", "--as", "openapi"))
    build("s.yaml", "build")
    built = json.loads(Path("build/openapi.json").read_bytes())
    assert list(document["paths"]) == ["/tools/fetch"]
    assert document["paths"]["/tools/fetch"] == built["paths"]["/tools/fetch"]
    assert document["components"]["schemas"].items() <= built["components"]["schemas"].items()


def test_a_definition_is_that_of_a_request_with_all_tools() -> None:
    names = [f"tool{at:02}" for at in range(21)]
    tool = "  - {name: NAME, description: Count the lines of a file., backend: {shell: {argv: [wc, -l]}}}\n"
    specs = "toolc: 1\ndefaults: {providers: {anthropic: {strict: true}}}\ntools:\n"
    Path("many.yaml").write_text(specs + "".join(tool.replace("NAME", name) for name in names), encoding="utf-8")
    shown = [json.loads(show(f"many.yaml#{name}", "--as", "anthropic")) for name in names]
    assert ["strict" in each for each in shown] == [True] * 20 + [False]


def test_characters_that_cannot_be_seen_are_escaped() -> None:
    Path("a.yaml").write_text(
        'toolc: 1\nname: look\ndescription: "Größe of a\\u00a0file"\nbackend: {shell: {argv: [ls]}}\n', "utf-8"
    )
    assert '"Größe of a\\u00a0file"' in show("a.yaml", "--as", "mcp")


@pytest.mark.slow
def test_a_builtin_tool_is_shown_by_its_name_or_alias() -> None:
    for name in ("bash", "shell_exec"):
        assert show(name, "--builtin", "coding").startswith("bash (shell): Run a command\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "bash", "--builtin", "all", "--effective"], "--effective reads specs and cannot be used with"),
        (["show", "bash", "--builtin", "all", "--registry", "a.json"], "--builtin and --registry cannot be combined"),
        (["run", "bash", "--builtin", "readonly"], "there is no tool 'bash'; the tools are: file_info"),
        (["run", "bash", "--builtin", "bash"], "'bash' is a tool, not a toolset"),
        (["show", "fetch", "--as", "mcp", "--json"], "--as cannot be combined with --effective or --json"),
        (["show", "fetch", "--as", "mcp", "--effective"], "--as cannot be combined with --effective or --json"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(arguments: list[str], message: str) -> None:
    found = toolc(*arguments)
    assert (found.exit_code > 0, message in found.stderr) == (True, True)


@pytest.mark.parametrize("option", ["--effective", "--as=mcp", "--json"])
def test_warnings_are_for_check_and_build(option: str) -> None:
    Path("toolc.yaml").write_text("lint: {max_tokens: {tool: 10}}\n", encoding="utf-8")
    assert show("s.yaml#fetch", option)
