"""``toolc build`` and ``toolc check``: files, messages and exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

from toolc.client.registry import Registry
from toolc.model.registry_io import surfaces_digest
from toolc.providers.limits import limits_of

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


def test_builtin_tools_are_built_by_toolset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("build", "--builtin", "readonly", "--out", "out") == 0
    assert capsys.readouterr().out == "built 5 tools for 9 providers into out\n"
    built, packaged = Registry.load("out/registry.json"), Registry.builtin("readonly")
    assert built.names == packaged.names
    for name in built.names:
        assert built.registered(name) == packaged.registered(name), "with the same digests"
    assert len(json.loads(Path("out/providers/anthropic.json").read_bytes())) == 5
    assert built.toolsets == {}
    assert run("build", "--builtin", "all", "--out", "out") == 0
    assert Registry.load("out/registry.json").toolsets == Registry.builtin().toolsets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("specs", "--builtin", "coding"), "--builtin replaces PATHS; remove 'specs' or --builtin coding"),
        (("--builtin", "none"), "the toolset none has no tools"),
        (("--builtin", "nothing"), "there is no toolset 'nothing'"),
    ],
)
def test_wrong_uses_of_builtin_write_nothing(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("build", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("build").exists()


def test_a_policy_applies_to_builtin_tools(capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").write_text("policy: {workspace: [ro]}\n", encoding="utf-8")
    assert run("build", "--builtin", "coding", "--policy", "policy.yaml") == 2
    assert "bash" in capsys.readouterr().err


def test_a_build_writes_the_registry_and_every_provider(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    assert run("build", "specs", "--out", "out") == 0
    assert capsys.readouterr() == ("built 1 tool for 9 providers into out\n", "")
    written = {str(path.relative_to("out")) for path in Path("out").rglob("*.json")}
    assert written == {
        "registry.json",
        "loss.json",
        "openapi.json",
        "providers/anthropic.json",
        "providers/bedrock.json",
        "providers/cohere.json",
        "providers/gemini.json",
        "providers/mcp.json",
        "providers/mistral.json",
        "providers/ollama.json",
        "providers/openai_chat.json",
        "providers/openai_responses.json",
    }
    assert json.loads(Path("out/registry.json").read_bytes())["tools"][0]["name"] == "hello"


def test_error_leaves_the_output_folder_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD)
    assert run("build", "specs") == 0
    before = Path("build/registry.json").read_bytes()
    write("bad.yaml", BAD)
    capsys.readouterr()
    assert run("build", "specs") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "specs/bad.yaml:1:1: error TC102: " in err
    assert "1 error" in err
    assert Path("build/registry.json").read_bytes() == before


def test_warnings_are_errors_with_strict(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", WARNED)
    assert run("check", "specs") == 0
    assert run("check", "specs", "--strict") == 1
    assert run("build", "specs", "--strict") == 1
    assert not Path("build").exists()
    assert "toolc: nothing was written: --strict treats warnings as errors\n" in capsys.readouterr().err
    assert run("build", "specs") == 0


def test_check_prints_findings_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    assert run("check", "specs") == 0
    assert capsys.readouterr() == ("1 tool: no errors\n", "")
    write("bad.yaml", BAD)
    assert run("check", "specs") == 1
    out, err = capsys.readouterr()
    assert "specs/bad.yaml:1:1: error TC102: " in out
    assert err == ""
    assert [path.name for path in Path().iterdir()] == ["specs"]


@pytest.mark.parametrize("command", ["build", "check", "test"])
@pytest.mark.parametrize(("path", "expected"), [("nope", "nope: no such file or folder"), ("specs", "no specs found")])
def test_invalid_paths_are_exit_code_2(
    command: str, path: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, path) == 2
    assert expected in capsys.readouterr().err


def test_a_file_that_is_not_utf8_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    Path("specs/latin.yaml").write_bytes(b"toolc: 1\nname: caf\xe9\n")
    assert run("check", "specs") == 1
    assert "specs/latin.yaml:2:10: error TC013: " in capsys.readouterr().out


def test_clients_are_written_also_if_the_build_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    clients = ("--client", "python:clients/tools.py", "--client", "typescript:clients/tools.ts")
    assert run("build", "specs") == 0
    assert run("build", "specs", *clients) == 0
    texts = {path.name: path.read_text(encoding="utf-8") for path in Path("clients").iterdir()}
    assert texts.keys() == {"tools.py", "tools.ts"}
    digest = surfaces_digest(
        {"hello": json.loads(Path("build/registry.json").read_bytes())["tools"][0]["digests"]["surface"]}
    )
    assert {text.partition("\n")[0][-71:] for text in texts.values()} == {digest}
    before = Path("build/registry.json").read_bytes()
    Path("clients/tools.py").unlink()
    assert run("build", "specs", *clients) == 0
    assert Path("clients/tools.py").read_text(encoding="utf-8") == texts["tools.py"]
    assert Path("build/registry.json").read_bytes() == before


def test_an_unknown_language_is_refused_before_the_build(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD)
    assert run("build", "specs", "--client", "java:Tools.java") == 2
    assert "--client java:Tools.java: write LANGUAGE:PATH" in capsys.readouterr().err
    assert not Path("build").exists()


LOSSY = """\
toolc: 1
name: book
description: Book a room for some guests. Use it when a user wants to reserve a room.
parameters:
  room: {type: string, description: Which room, minLength: 2}
backend: {shell: {argv: [book, --, "{{ room }}"]}}
"""


def test_losses_are_printed_with_their_position(capsys: pytest.CaptureFixture[str]) -> None:
    write("book.yaml", LOSSY)
    for _ in range(2):  # the second build changes nothing
        assert run("build", "specs", "--losses", "--provider", "gemini", "--provider", "anthropic") == 0
        assert capsys.readouterr().out == (
            "built 1 tool for 9 providers into build\n"
            "specs/book.yaml:5:49: gemini: book: Gemini does not support minLength here; moved to the description\n"
        )


def test_losses_within_an_sdk_are_marked() -> None:
    write("book.yaml", LOSSY)
    assert run("build", "specs") == 0
    losses = json.loads(Path("build/loss.json").read_bytes())["ollama"]
    assert [each for each in losses if "sdk" in each] == [
        {
            "tool": "book", "pointer": "/parameters/additionalProperties", "position": "specs/book.yaml:4:1",
            "action": "dropped", "message": "the ollama package does not send additionalProperties", "sdk": "ollama",
        }
    ]  # fmt: skip


def test_a_loss_can_be_a_failure() -> None:
    write("book.yaml", LOSSY)
    assert run("build", "specs", "--fail-on", "loss") == 1
    assert run("build", "specs", "--fail-on", "loss", "--provider", "anthropic") == 0
    write("book.yaml", LOSSY.replace(", minLength: 2", ""))
    assert run("build", "specs", "--fail-on", "loss") == 0  # what only an SDK loses does not count


def test_too_many_tools_for_a_provider_are_a_note_or_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = limits_of("openai_chat")
    monkeypatch.setitem(known, "tools", replace(known["tools"], value=20))
    for number in range(21):
        write(f"book_{number}.yaml", LOSSY.replace("name: book", f"name: book_{number}"))
    assert run("build", "specs") == 0
    problem = "toolc: openai_chat does not accept 21 tools in one request (at most 20, as of 2025-11-29); define at"
    assert problem in capsys.readouterr().err
    assert run("build", "specs", "--provider", "anthropic") == 0
    assert "openai_chat" not in capsys.readouterr().err
    assert run("build", "specs", "--provider", "openai_chat") == 1
    assert problem in capsys.readouterr().err
    half = ", ".join(f"book_{number}" for number in range(11))
    rest = ", ".join(f"book_{number}" for number in range(11, 21))
    Path("toolc.yaml").write_text(f"toolsets: {{first: [{half}], second: [{rest}]}}\n", encoding="utf-8")
    assert run("build", "specs", "--provider", "openai_chat") == 0
