"""``toolc run``: content on stdout, everything else on stderr, on every engine that works here."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.cli_engines import engines
from cli.command_line import run as run_command
from engines.waiting_sandboxes import until

from toolc.model.errors import NoEngineError
from toolc.model.names import engine_names
from toolc.model.plan import Profile
from toolc.sandbox.selection import select

TOOLC = (sys.executable, "-m", "toolc")
SPECS = """\
toolc: 1
tools:
  - name: hello
    description: A tool that exists for the tests of the command line and for nothing else.
    parameters:
      name: {type: string, description: Whom to greet}
      times: {type: integer, description: How often, default: 1}
    backend:
      shell:
        script: |
          for i in $(seq "$ARG_times"); do echo "Hello, $ARG_name!"; done
          echo greeted >&2
  - name: fail
    description: A tool that exists for the tests of the command line and for nothing else.
    backend: {shell: {script: "echo half; echo broken >&2; exit 3"}}
  - name: picture
    description: A tool that exists for the tests of the command line and for nothing else.
    backend:
      python:
        function: picture
        code: |
          def picture():
              return b"\\x89PNG\\r\\n\\x1a\\nrest"
  - name: read
    description: A tool that exists for the tests of the command line and for nothing else.
    parameters:
      path: {type: string, description: What to read}
    backend: {shell: {argv: [cat, --, "{{ path }}"]}}
    sandbox: {workspace: ro}
  - name: slow
    description: A tool that exists for the tests of the command line and for nothing else.
    backend: {shell: {script: "touch started; sleep 1000"}}
    sandbox: {workspace: rw, limits: {timeout: 60s}}
  - name: talk
    description: A tool that exists for the tests of the command line and for nothing else.
    parameters:
      fail: {type: boolean, description: Whether to fail, default: false}
    backend:
      python:
        function: talk
        code: |
          import sys
          def talk(fail):
              print("printed")
              print("warned", file=sys.stderr)
              if fail:
                  raise ValueError("no")
              return "said"
"""


@pytest.fixture(autouse=True)
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.yaml").write_text(SPECS, encoding="utf-8")


def run(*arguments: str) -> int:
    return run_command("run", *arguments)


@pytest.mark.parametrize("engine", engines())
def test_content_is_on_stdout_and_the_rest_on_stderr(engine: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("tools.yaml#hello", "--arg", "name=Ada", "--arg", "times=2", "--engine", engine) == 0
    assert capfdbinary.readouterr() == (b"Hello, Ada!\nHello, Ada!\n", b"greeted\n")


@pytest.mark.parametrize("engine", engines())
def test_failure_is_exit_code_1(engine: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("tools.yaml#fail", "--engine", engine) == 1
    assert capfdbinary.readouterr() == (
        b"half\n[stderr]\nbroken\n[exit status 3]\n",
        b"toolc: the tool failed (exit_status): the command ended with exit status 3\n",
    )


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize(
    ("fail", "code", "out", "output"),
    [
        ("false", 0, b"said\n", b""),
        ("true", 1, b"ValueError: no\n", b"toolc: the tool failed (execution) at talk.py, line 6\n"),
    ],
)
def test_printed_output_of_a_function_is_on_stderr(
    engine: str, fail: str, code: int, out: bytes, output: bytes, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("tools.yaml#talk", "--arg", f"fail={fail}", "--engine", engine) == code
    assert capfdbinary.readouterr() == (out, b"printed\nwarned\n" + output)


@pytest.mark.parametrize("engine", engines())
def test_image_is_raw_bytes_except_on_a_terminal(engine: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("tools.yaml#picture", "--engine", engine) == 0
    assert capfdbinary.readouterr() == (b"\x89PNG\r\n\x1a\nrest", b"")


@pytest.mark.parametrize("engine", engines())
def test_the_default_workspace_is_used(engine: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.txt").write_text("here")
    Path("other").mkdir()
    Path("other/a.txt").write_text("there")
    assert run("tools.yaml#read", "--arg", "path=a.txt", "--engine", engine) == 0
    assert run("tools.yaml#read", "--arg", "path=a.txt", "--engine", engine, "--workspace", "other") == 0
    assert capfdbinary.readouterr().out == b"here\nthere\n"
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("secret")
    assert run("tools.yaml#read", "--arg", f"path={outside}", "--engine", engine) == 1
    assert b"secret" not in capfdbinary.readouterr().out


@pytest.mark.parametrize("engine", engines())
def test_json_is_the_whole_result(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools.yaml#hello", "--args", '{"name": "Ada"}', "--json", "--engine", engine) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["content"] == [{"type": "text", "text": "Hello, Ada!\n"}]
    assert result["is_error"] is False
    assert result["details"]["engine"] == engine
    assert result["details"]["stderr"] == "greeted\n"
    assert err == ""


@pytest.mark.parametrize("engine", engines())
def test_timeout_is_a_tool_error(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools.yaml#slow", "--timeout", "500ms", "--json", "--engine", engine) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["error"]["kind"] == "timeout"
    assert result["error"]["message"].startswith("the call did not finish within 0.5 s")


@pytest.mark.parametrize("engine", engines())
def test_interrupt_is_exit_code_130(engine: str) -> None:
    command = [*TOOLC, "run", "tools.yaml#slow", "--engine", engine]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(Path("started").exists)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err.strip()) == (130, "", "")


@pytest.mark.needs_engine
def test_a_tool_of_a_registry_is_run(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run_command("build", "tools.yaml")
    Path("tools.yaml").unlink()
    capfdbinary.readouterr()
    assert run("hello", "--registry", "build/registry.json", "--arg", "name=Ada") == 0
    assert capfdbinary.readouterr().out == b"Hello, Ada!\n"


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["tools.yaml"], ("tools.yaml has 6 tools; select one: tools.yaml#fail "
                          "(or hello, picture, read, slow, talk)\n")),
        (["tools.yaml#helo"], "there is no tool 'helo'; did you mean 'hello'?\n"),
        (["hello"], ("there is no file or folder 'hello'; write the path of its spec, such as specs/hello.yaml; "
                     "for a tool in a registry, add --registry build/registry.json; "
                     "for a built-in tool, add --builtin all\n")),
        (["hello", "--registry", "nope.json"], "there is no registry 'nope.json'; create it with: toolc build\n"),
        (["tools.yaml#hello", "--arg", "name"], "--arg 'name' is not an assignment; write --arg NAME=VALUE\n"),
        (["tools.yaml#hello", "--timeout", "1:30"], (
            "Invalid value for '--timeout': '1:30' is not a duration; "
            "write it as 500ms, 30s or 10m; see: toolc run --help\n")),
        (["tools.yaml#hello", "--arg", "nam=1", "--arg", "times=0.5"],
         ("wrong arguments for hello:\n"
         "- nam: no such parameter; did you mean 'name'?\n"
         "- name: required but missing; expected a string\n"
         "- times: expected an integer, got the number 0.5\n")),
    ],
)  # fmt: skip
def test_invalid_targets_are_exit_code_2(arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr() == ("", f"toolc: {output}")


def test_an_unknown_engine_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools.yaml#hello", "--engine", "nope") == 2
    assert "'nope' is not one of 'auto', " in capsys.readouterr().err


@pytest.mark.parametrize("workspace", ["/", "nope", "tools.yaml"])
def test_invalid_workspace_is_exit_code_2(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools.yaml#read", "--arg", "path=x", "--workspace", workspace) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("toolc: the workspace ")


def test_invalid_arguments_are_a_json_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools.yaml#hello", "--args", "{}", "--json") == 2
    result = json.loads(capsys.readouterr().out)
    assert result["is_error"] is True
    assert result["error"] == {
        "kind": "invalid_args",
        "message": "wrong arguments for hello:\n- name: required but missing; expected a string",
    }


@pytest.mark.parametrize("args", ["{bad", "[1]", "@nope.json"])
def test_unparsable_arguments_are_a_json_result(args: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools.yaml#hello", "--args", args, "--json") == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["kind"] == "invalid_args"
    assert err == f"toolc: {error['message']}\n"


def test_specs_with_errors_are_exit_code_2_and_their_findings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_text("toolc: 1\nname: bad\n", encoding="utf-8")
    assert run("bad.yaml") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "bad.yaml:1:1: error TC102" in err


@pytest.mark.slow
def test_text_is_printed_on_a_terminal() -> None:
    Path("odd.yaml").write_text(
        "toolc: 1\n"
        "name: odd\n"
        "description: A tool that prints what a terminal would obey, for the tests of the command line.\n"
        "backend: {shell: {argv: [printf, 'a\\033[2Jb\\tc\\177']}}\n",
        encoding="utf-8",
    )
    assert on_a_terminal("odd.yaml") == b"ab\tc\\x7f\n"


@pytest.mark.slow
def test_an_image_is_described_on_a_terminal() -> None:
    assert on_a_terminal("tools.yaml#picture") == b""


@pytest.mark.slow
def test_failure_is_printed_once_on_a_terminal() -> None:
    assert on_a_terminal("tools.yaml#fail", stderr=subprocess.STDOUT) == (
        b"half\nbroken\n[exit status 3]\ntoolc: the tool failed (exit_status)\n"
    )


def on_a_terminal(target: str, stderr: int = subprocess.DEVNULL) -> bytes:
    """Return what ``toolc run`` writes to stdout on a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run([*TOOLC, "run", target], stdout=theirs, stderr=stderr, check=False)
        os.close(theirs)
        shown = b""
        # A terminal that its last user has closed ends with EIO.
        with contextlib.suppress(OSError):
            while piece := screen.read(4096):
                shown += piece
    return shown.replace(b"\r\n", b"\n")


def test_fallback_engine_is_printed_with_the_reason() -> None:
    _, first, second, *_ = engine_names()
    try:
        select(second, Profile())
    except NoEngineError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [*TOOLC, "run", "tools.yaml#hello", "--arg", "name=Ada"],
        env=os.environ | {"DOCKER_HOST": "unix:///nonexistent/socket"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "Hello, Ada!\n")
    reason = "there is no Docker daemon at /nonexistent/socket"
    assert done.stderr == f"greeted\ntoolc: ran with the engine {second!r} ({first}: {reason})\n"
