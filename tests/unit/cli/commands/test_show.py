"""``toolc show``: a tool and its permissions as text and as JSON."""

import json
from pathlib import Path

import pytest
from project_cases import expected

from toolc.cli.main import main
from toolc.client.build import build

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


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as raised:
        main(("show", *arguments))
    assert raised.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", ["fetch", "mirror"])
def test_page_shows_parameters_and_permissions(name: str, golden: bool, capsys: pytest.CaptureFixture[str]) -> None:
    page, _, digests = show(capsys, f"s.yaml#{name}").rpartition("\n\n")
    page += "\n"
    assert page == expected(f"cli/show-{name}", page, golden=golden)
    assert [line.split()[0] for line in digests.splitlines()] == ["surface", "effect"]


def test_json_output_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    build("s.yaml", "build")
    tool = json.loads(show(capsys, "mirror", "--registry", "build/registry.json", "--json"))
    stored = {tool["name"]: tool for tool in json.loads(Path("build/registry.json").read_bytes())["tools"]}

    granted = tool.pop("permissions")
    assert tool == stored["mirror"]
    assert granted["hosts"] == [{"value": "api.example.com:443", "by": ["get"]}]
    assert granted["transactions"] == [{"value": "commit: ask, writes: a", "by": ["put"]}]
    assert granted["images"] == [{"value": None, "by": ["get", "put"]}]


def test_changed_step_changes_the_effect_of_the_composite(capsys: pytest.CaptureFixture[str]) -> None:
    was = json.loads(show(capsys, "s.yaml#mirror", "--json"))["digests"]
    Path("s.yaml").write_text(SPECS.replace("writes: [a]", "writes: [a, b]"), encoding="utf-8")
    now = json.loads(show(capsys, "s.yaml#mirror", "--json"))["digests"]
    assert (now["surface"], now["effect"] != was["effect"]) == (was["surface"], True)
