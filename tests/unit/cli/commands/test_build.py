"""``toolc build`` and ``toolc check``: files, messages and exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli.command_line import toolc

from toolc.client.registry import Registry
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import surfaces_digest
from toolc.providers.provider_limits import limits_of

GOOD = """\
toolc: 1
name: hello
description: Greet one person by name, for tests of toolc itself and for nothing else.
parameters:
  name: {type: string, description: Whom to greet}
backend: {shell: {argv: [echo, "{{ name }}"]}}
"""
WARNED = GOOD.replace(
    "description: Greet one person by name, for tests of toolc itself and for nothing else.\n", ""
).replace("[echo, ", "[echo, --, ")
BAD = "toolc: 1\nname: bad\ndescription: A tool that has no backend, and so is none at all.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    return tmp_path


def write(name: str, text: str) -> None:
    Path("specs", name).write_text(text, encoding="utf-8")


def test_builtin_tools_are_built_by_toolset() -> None:
    built = toolc("build", "--builtin", "readonly", "--out", "out")
    assert built[:2] == (0, "built 5 tools for 9 providers into out\n")
    registry, packaged = Registry.load("out/registry.json"), Registry.builtin("readonly")
    assert registry.names == packaged.names
    for name in registry.names:
        assert registry.registered(name) == packaged.registered(name), "with the same digests"
    assert len(json.loads(Path("out/providers/anthropic.json").read_bytes())) == 5
    assert registry.toolsets == {}
    assert toolc("build", "--builtin", "all", "--out", "out").exit_code == 0
    assert Registry.load("out/registry.json").toolsets == Registry.builtin().toolsets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("specs", "--builtin", "coding"), "--builtin replaces PATHS; remove 'specs' or --builtin coding"),
        (("--builtin", "none"), "the toolset none has no tools"),
        (("--builtin", "nothing"), "there is no toolset 'nothing'"),
        (("specs", "--client", "java:Tools.java"), "--client java:Tools.java: write it as LANGUAGE:PATH"),
    ],
)
def test_wrong_options_write_nothing(arguments: tuple[str, ...], message: str) -> None:
    write("hello.yaml", GOOD)
    found = toolc("build", *arguments)
    assert (found.exit_code, message in found.stderr) == (2, True)
    assert not Path("build").exists()


def test_a_policy_applies_to_builtin_tools() -> None:
    Path("policy.yaml").write_text("policy: {workspace: [ro]}\n", encoding="utf-8")
    found = toolc("build", "--builtin", "coding", "--policy", "policy.yaml")
    assert (found.exit_code, "bash" in found.stderr) == (2, True)


def test_a_build_writes_the_registry_and_every_provider() -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    assert toolc("build", "specs", "--out", "out") == (0, "built 1 tool for 9 providers into out\n", "")
    written = {str(path.relative_to("out")) for path in Path("out").rglob("*.json")}
    providers = {f"providers/{name}.json" for name in PROVIDER_NAMES}
    assert written == {"registry.json", "loss.json", "openapi.json"} | providers
    assert json.loads(Path("out/registry.json").read_bytes())["tools"][0]["name"] == "hello"


def test_error_leaves_the_output_folder_unchanged() -> None:
    write("hello.yaml", GOOD)
    assert toolc("build", "specs").exit_code == 0
    before = Path("build/registry.json").read_bytes()
    write("bad.yaml", BAD)
    status, out, err = toolc("build", "specs")
    assert (status, out) == (1, "")
    assert "specs/bad.yaml:1:1: error TC102: " in err
    assert "1 error" in err
    assert Path("build/registry.json").read_bytes() == before


def test_warnings_are_errors_with_strict() -> None:
    write("hello.yaml", WARNED)
    assert toolc("check", "specs").exit_code == 0
    assert toolc("check", "specs", "--strict").exit_code == 1
    status, _, err = toolc("build", "specs", "--strict")
    assert (status, Path("build").exists()) == (1, False)
    assert "toolc: nothing was written: --strict treats warnings as errors\n" in err
    assert toolc("build", "specs").exit_code == 0


def test_check_prints_findings_on_stdout() -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    assert toolc("check", "specs") == (0, "1 tool: no errors\n", "")
    write("bad.yaml", BAD)
    status, out, err = toolc("check", "specs")
    assert (status, err) == (1, "")
    assert "specs/bad.yaml:1:1: error TC102: " in out
    assert [path.name for path in Path().iterdir()] == ["specs"]


@pytest.mark.parametrize("command", ["build", "check", "test"])
@pytest.mark.parametrize(("path", "expected"), [("nope", "nope: no such file or folder"), ("specs", "no specs found")])
def test_invalid_paths_are_exit_code_2(command: str, path: str, expected: str) -> None:
    found = toolc(command, path)
    assert (found.exit_code, expected in found.stderr) == (2, True)


def test_a_file_that_is_not_utf8_is_a_finding() -> None:
    Path("specs/latin.yaml").write_bytes(b"toolc: 1\nname: caf\xe9\n")
    found = toolc("check", "specs")
    assert (found.exit_code, "specs/latin.yaml:2:10: error TC013: " in found.stdout) == (1, True)


def test_clients_are_written_also_if_the_build_is_unchanged() -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    clients = ("--client", "python:clients/tools.py", "--client", "typescript:clients/tools.ts")
    assert toolc("build", "specs").exit_code == 0
    assert toolc("build", "specs", *clients).exit_code == 0
    texts = {path.name: path.read_text(encoding="utf-8") for path in Path("clients").iterdir()}
    assert texts.keys() == {"tools.py", "tools.ts"}
    digest = surfaces_digest(
        {"hello": json.loads(Path("build/registry.json").read_bytes())["tools"][0]["digests"]["surface"]}
    )
    assert {text.partition("\n")[0][-71:] for text in texts.values()} == {digest}
    before = Path("build/registry.json").read_bytes()
    Path("clients/tools.py").unlink()
    assert toolc("build", "specs", *clients).exit_code == 0
    assert Path("clients/tools.py").read_text(encoding="utf-8") == texts["tools.py"]
    assert Path("build/registry.json").read_bytes() == before


LOSSY = """\
toolc: 1
name: book
description: Book a room for some guests. Use it when a user wants to reserve a room.
parameters:
  room: {type: string, description: Which room, minLength: 2}
backend: {shell: {argv: [book, --, "{{ room }}"]}}
"""


LOSS = """\
built 1 tool for 9 providers into build
specs/book.yaml:5:49: gemini: book: Gemini does not support minLength here; moved to the description
"""


def test_losses_are_printed_with_their_position() -> None:
    write("book.yaml", LOSSY)
    for _ in range(2):  # the second build changes nothing
        built = toolc("build", "specs", "--losses", "--provider", "gemini", "--provider", "anthropic")
        assert (built.exit_code, built.stdout) == (0, LOSS)


def test_losses_within_an_sdk_are_marked() -> None:
    write("book.yaml", LOSSY)
    assert toolc("build", "specs").exit_code == 0
    losses = json.loads(Path("build/loss.json").read_bytes())["ollama"]
    assert [each for each in losses if "sdk" in each] == [
        {
            "tool": "book", "pointer": "/parameters/additionalProperties", "position": "specs/book.yaml:4:1",
            "action": "dropped", "message": "the ollama package does not send additionalProperties", "sdk": "ollama",
        }
    ]  # fmt: skip


def test_a_loss_can_be_a_failure() -> None:
    write("book.yaml", LOSSY)
    assert toolc("build", "specs", "--fail-on", "loss").exit_code == 1
    assert toolc("build", "specs", "--fail-on", "loss", "--provider", "anthropic").exit_code == 0
    write("book.yaml", LOSSY.replace(", minLength: 2", ""))
    assert toolc("build", "specs", "--fail-on", "loss").exit_code == 0  # what only an SDK loses does not count


def test_too_many_tools_for_a_provider_are_a_note_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    known = limits_of("openai_chat")
    monkeypatch.setitem(known, "tools", replace(known["tools"], value=20))
    for number in range(21):
        write(f"book_{number}.yaml", LOSSY.replace("name: book", f"name: book_{number}"))
    problem = "toolc: openai_chat does not accept 21 tools in one request (at most 20, as of 2025-11-29); define at"
    for options, status, is_noted in (
        ([], 0, True), (["--provider", "anthropic"], 0, False), (["--provider", "openai_chat"], 1, True),
    ):  # fmt: skip
        found = toolc("build", "specs", *options)
        assert (found.exit_code, problem in found.stderr, "openai_chat" in found.stderr) == (status, is_noted, is_noted)
    half = ", ".join(f"book_{number}" for number in range(11))
    rest = ", ".join(f"book_{number}" for number in range(11, 21))
    Path("toolc.yaml").write_text(f"toolsets: {{first: [{half}], second: [{rest}]}}\n", encoding="utf-8")
    assert toolc("build", "specs", "--provider", "openai_chat").exit_code == 0
