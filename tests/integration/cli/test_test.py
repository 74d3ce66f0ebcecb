"""``toolc test``: each test in a new workspace, with a difference for each failure."""

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cli.cli_engines import engines
from cli.command_line import run as run_command

from toolc.cli.main import main
from toolc.client.build import build

HEAD = """\
toolc: 1
name: t
description: A tool that exists for the tests of the command line and for nothing else.
parameters:
  word: {type: string, description: What to write, default: hi}
backend:
  shell:
    script: |
      test "$ARG_word" != fail || exit 3
      cat before.txt 2>/dev/null || true
      printf %s "$ARG_word" > after.txt
      printf '{"word": "%s"}\\n' "$ARG_word"
sandbox: {workspace: rw}
"""

pytestmark = pytest.mark.usefixtures("own_folder")


def run(tests: str, *options: str) -> int:
    Path("t.yaml").write_text(HEAD + tests, encoding="utf-8")
    return run_command("test", "t.yaml", *options)


@pytest.mark.parametrize("engine", engines())
def test_expected_results_pass(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    tests = """\
tests:
  - expect: {text: "{\\"word\\": \\"hi\\"}\\n", json: {word: hi}, matches: 'h.\\"', files: {after.txt: hi}}
  - args: {word: x}
    files: {before.txt: "was here\\n"}
    expect: {text: "was here\\n{\\"word\\": \\"x\\"}\\n"}
  - args: {word: fail}
    expect: {error: exit_status}
"""
    assert run(tests, "--engine", engine) == 0
    out = re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
    assert out == "ok   t[1] (N ms)\nok   t[2] (N ms)\nok   t[3] (N ms)\n3 passed, 0 failed\n"
    assert sorted(path.name for path in Path().iterdir()) == [".git", "t.yaml"]


@pytest.mark.needs_engine
def test_unexpected_results_fail_with_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    tests = """\
tests:
  - args: {word: a}
    expect: {text: "{\\"word\\": \\"b\\"}", json: {word: b}, matches: z, files: {after.txt: b, none.txt: ""}}
  - args: {word: fail}
  - expect: {error: timeout}
"""
    assert run(tests) == 1
    assert (
        re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
        == """\
FAIL t[1] (N ms) t.yaml:15:5
     the text differs:
     --- expected
     +++ got
     @@ -1 +1 @@
     -{"word": "b"}
     \\ No newline at end of file
     +{"word": "a"}
     the text does not match 'z':
     {"word": "a"}
     the JSON differs:
     --- expected
     +++ got
     @@ -1,3 +1,3 @@
      {
     -  "word": "b"
     +  "word": "a"
      }
     after.txt differs:
     --- expected
     +++ got
     @@ -1 +1 @@
     -b
     \\ No newline at end of file
     +a
     \\ No newline at end of file
     none.txt: expected a file, but it does not exist
FAIL t[2] (N ms) t.yaml:17:5
     expected no error, got the error exit_status:
     [exit status 3]
FAIL t[3] (N ms) t.yaml:18:5
     expected the error timeout, got no error
0 passed, 3 failed
"""
    )


def test_nothing_to_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("") == 2
    assert capsys.readouterr().err == "toolc: none of the 1 tools has tests; add the key 'tests' to a spec\n"


def test_a_spec_with_errors_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nonsense: 1\n") == 1
    assert "t.yaml:14:1: error TC101" in capsys.readouterr().err


SEVERAL = """\
toolc: 1
defaults: {backend: {shell: {argv: [echo, hi]}}}
tools:
  - {name: one, description: Say hi to the first of two., tests: [{expect: {text: "hi\\n"}}]}
  - {name: two, description: Say hi to the second one., tests: [{expect: {text: "hi\\n"}}, {}]}
"""


@pytest.mark.needs_engine
@pytest.mark.parametrize(
    ("targets", "ran"),
    [
        (("s.yaml",), ["one[1]", "two[1]", "two[2]"]),
        (("s.yaml#two",), ["two[1]", "two[2]"]),
        (("s.yaml#two", "s.yaml#one"), ["two[1]", "two[2]", "one[1]"]),
        (("build/registry.json",), ["one[1]", "two[1]", "two[2]"]),
        (("build/registry.json#one",), ["one[1]"]),
    ],
)
def test_valid_targets_are_tested(targets: tuple[str, ...], ran: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(SEVERAL, encoding="utf-8")
    if targets[0].startswith("build"):
        build("s.yaml", "build")
    assert run_command("test", *targets) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^ok   (\S+)", out, re.MULTILINE) == ran


@pytest.mark.parametrize("target", ["s.yaml#tow", "build/registry.json#tow"])
def test_an_unknown_tool_is_reported(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(SEVERAL, encoding="utf-8")
    build("s.yaml", "build")
    assert run_command("test", target) == 2
    assert capsys.readouterr().err == "toolc: there is no tool 'tow'; did you mean 'two'?\n"


CHOICES = """\
toolc: 1
defaults: {backend: {shell: {argv: [echo, hi]}}}
tools:
  - {name: read_a, tags: [quick, file], description: Say hi to the first of two., tests: [{expect: {matches: hi}}]}
  - {name: read_b, aliases: [old], tags: [slow], description: Say hi to the second one., tests: [{}]}
  - {name: write_c, tags: [file], description: Say hi to somebody who waits., tests: [{}, {expect: {text: no}}]}
  - {name: write_d, description: Say hi to nobody at all this time.}
"""


def run_choices(*options: str) -> object:
    Path("c.yaml").write_text(CHOICES, encoding="utf-8")
    return run_command("test", "c.yaml", *options)


@pytest.mark.needs_engine
@pytest.mark.parametrize(
    ("options", "ran"),
    [
        (("--tool", "read_*"), ["read_a[1]", "read_b[1]"]),
        (("--tool", "read_a", "--tool", "old"), ["read_a[1]", "read_b[1]"]),
        (("--tag", "file"), ["read_a[1]", "write_c[1]", "write_c[2]"]),
        (("--tag", "slow", "--tag", "quick"), ["read_a[1]", "read_b[1]"]),
        (("--tool", "*_c", "--tag", "file"), ["write_c[1]", "write_c[2]"]),
    ],
)
def test_tools_are_chosen_by_name_and_tag(
    options: tuple[str, ...], ran: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_choices(*options)
    assert re.findall(r"^(?:ok  |FAIL) (\S+)", capsys.readouterr().out, re.MULTILINE) == ran


@pytest.mark.parametrize("options", [("--tool", "nothing"), ("--tag", "file", "--tool", "read_b")])
def test_filter_without_matches(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_choices(*options) == 2
    expected = "toolc: no tool matches --tool and --tag; list the tools with: toolc list\n"
    assert capsys.readouterr().err.endswith(expected)


@pytest.mark.needs_engine
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_results_are_printed_in_order(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_choices("-j", jobs) == 1
    out = re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert lines == [
        "ok   read_a[1] (N ms)",
        "ok   read_b[1] (N ms)",
        "ok   write_c[1] (N ms)",
        "FAIL write_c[2] (N ms) c.yaml:6:91",
        "3 passed, 1 failed",
        "without tests: write_d",
    ]


DIFFERENCE = """\
--- expected
+++ got
@@ -1 +1 @@
-no
\\ No newline at end of file
+hi"""


@pytest.mark.needs_engine
def test_the_json_report_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_choices("--format", "json", "--tool", "write_*") == 1
    output = json.loads(capsys.readouterr().out)
    assert all(each.pop("duration_ms") > 0 for each in output["tests"])
    assert all({*each.pop("digests")} == {"surface", "effect"} for each in output["tests"])
    assert output == {
        "tests": [
            {
                "name": "write_c[1]", "tool": "write_c", "number": 1, "place": "c.yaml:6:87", "outcome": "passed",
                "problems": [],
            },
            {
                "name": "write_c[2]", "tool": "write_c", "number": 2, "place": "c.yaml:6:91", "outcome": "failed",
                "problems": [f"the text differs:\n{DIFFERENCE}"],
            },
        ],
        "passed": 1,
        "failed": 1,
        "error": 0,
        "untested": ["write_d"],
    }  # fmt: skip


@pytest.mark.needs_engine
def test_the_junit_report_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_choices("--format", "junit", "--tool", "write_*") == 1
    out = re.sub(r' time="[0-9.]+"', "", capsys.readouterr().out)
    assert (
        out
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="toolc test" failures="1" errors="0" tests="3" skipped="1">
  <testsuite name="c.yaml" failures="1" errors="0" tests="2">
    <testcase name="write_c[1]" classname="c.yaml" />
    <testcase name="write_c[2]" classname="c.yaml">
      <failure message="the text differs:">c.yaml:6:91
the text differs:
--- expected
+++ got
@@ -1 +1 @@
-no
\\ No newline at end of file
+hi</failure>
    </testcase>
  </testsuite>
  <testsuite name="without tests" tests="1">
    <testcase name="write_d" classname="without tests">
      <skipped message="this tool has no tests" />
    </testcase>
  </testsuite>
</testsuites>
"""
    )


@pytest.mark.needs_engine
def test_tests_that_cannot_run_do_not_stop_others(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(
        """\
toolc: 1
defaults: {backend: {shell: {script: 'printf %s "${TOKEN:-none}"'}}}
tools:
  - name: needs
    description: Says what a secret is, which nobody gives it.
    sandbox: {secrets: {TOKEN: {expose: env}}}
    tests: [{}]
  - {name: plain, description: Says that there is no secret here., tests: [{expect: {text: none}}]}
""",
        encoding="utf-8",
    )
    code = run_command("test", "s.yaml")
    out = re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
    assert code == 2
    assert out.startswith("ERR  needs[1] (N ms) s.yaml:7:13\n     ")
    assert "TOKEN" in out
    assert out.endswith("ok   plain[1] (N ms)\n1 passed, 0 failed, 1 could not run\n")


WRITER = """\
toolc: 1
name: w
description: Writes a file, changes another one and deletes a third.
parameters: {commit: {type: boolean, default: true, description: Unused by the script.}}
backend: {shell: {script: 'echo "$ARG_commit" > new.txt; mkdir -p d; echo 2 > d/old.txt; rm gone.txt'}}
sandbox: {workspace: %s}
tests:
  - files: {d/old.txt: "1\\n", gone.txt: x, same.txt: x}
    expect:
      changes: {added: [new.txt], changed: [d/old.txt], deleted: [gone.txt]}
      files: {new.txt: %s, gone.txt: %s}
"""


@pytest.mark.needs_engine
@pytest.mark.parametrize("workspace", ["rw", "{mode: transaction}", "{mode: transaction, commit: never}"])
def test_the_changes_of_a_workspace_are_compared(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    is_made = "never" not in workspace
    files = ('"true\\n"', "null") if is_made else ("null", "x")
    Path("w.yaml").write_text(WRITER % (workspace, *files), encoding="utf-8")
    assert run_command("test", "w.yaml") == 0, capsys.readouterr().out


@pytest.mark.needs_engine
def test_different_changes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = (WRITER % ("rw", "null", "null")).replace("[new.txt]", "[]").replace("deleted: [gone", "deleted: [same")
    Path("w.yaml").write_text(text, encoding="utf-8")
    run_command("test", "w.yaml")
    assert (
        re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
        == """\
FAIL w[1] (N ms) w.yaml:8:5
     new.txt: expected not to exist, but it exists
     the changes differ:
     --- expected
     +++ got
     @@ -1,2 +1,3 @@
     +added new.txt
      changed d/old.txt
     -deleted same.txt
     +deleted gone.txt
0 passed, 1 failed
"""
    )


@pytest.mark.needs_engine
def test_update_writes_results(capsys: pytest.CaptureFixture[str]) -> None:
    tests = """\
tests:
  - args: {word: a}  # the first
    expect: {text: "{\\"word\\": \\"b\\"}", json: {word: b}, files: {after.txt: b}}
  - args: {word: fail}
  - expect: {error: timeout, matches: nothing}
"""
    assert run(tests, "--update") == 1
    output = capsys.readouterr().err
    assert output == (
        "toolc: updated t[1]: files.after.txt, json, text\n"
        "toolc: updated t[2]: error\n"
        "toolc: updated t[3]: error\n"
        "toolc: t[3] (t.yaml:18:5) still fails: its pattern does not match the text; "
        "change it by hand\n"
    )
    written = Path("t.yaml").read_text(encoding="utf-8").removeprefix(HEAD)
    assert (
        written
        == """\
tests:
  - args: {word: a}  # the first
    expect: {text: "{\\"word\\": \\"a\\"}\\n", json: {word: "a"}, files: {after.txt: "a"}}
  - expect: {error: "exit_status"}
    args: {word: fail}
  - expect: {matches: nothing}
"""
    )
    capsys.readouterr()
    run_command("test", "t.yaml")
    assert capsys.readouterr().out.endswith("2 passed, 1 failed\n")


def test_tests_of_a_registry_are_not_updated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(SEVERAL, encoding="utf-8")
    build("s.yaml", "build")
    assert run_command("test", "build/registry.json", "--update") == 2
    assert "pass the specs from which it was built" in capsys.readouterr().err


@pytest.mark.slow
def test_a_progress_bar_is_shown_on_a_terminal() -> None:
    Path("c.yaml").write_text(CHOICES, encoding="utf-8")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        command = [sys.executable, "-m", "toolc", "test", "c.yaml", "-j", "1", "--tag", "file"]
        environment = os.environ | {"TERM": "xterm"}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, check=False)
        os.close(theirs)
        shown = b""
        # A terminal that its last user has closed ends with EIO.
        with contextlib.suppress(OSError):
            while piece := screen.read(4096):
                shown += piece
    drawn = [each for each in shown.partition(b"\r\x1b[K")[2].split(b"\r\x1b[K") if each]
    assert list(dict.fromkeys(drawn)) == [
        b"[########................]  33% 1 of 3",
        b"[################........]  67% 2 of 3",
        b"[########################] 100% 3 of 3, 1 failed",
    ]
    assert shown.endswith(b"\r\x1b[K")
    assert done.returncode == 1
    assert done.stdout.count(b"\n") == 11
    assert b"\x1b" not in done.stdout


NETWORK = """\
toolc: 1
tools:
  - name: fetch
    description: Fetches one page, with a program of its own.
    backend:
      python:
        code: |
          import socket
          def fetch():
              socket.create_connection(("127.0.0.1", %(port)d), 5).close()
              return "fetched"
    sandbox: {network: {allow: ["127.0.0.1:%(port)d"]}}
    tests: [{expect: {network: {allowed: ["127.0.0.1:%(port)d"], refused: []}}}]
  - name: mirror
    description: Does what another tool does, and nothing more.
    backend: {composite: {strategy: sequential, steps: [{id: get, tool: fetch}]}}
    tests:
      - expect: {network: {allowed: ["127.0.0.1:%(port)d"]}}
      - expect: {network: []}
"""


@pytest.mark.needs_engine
def test_connections_of_called_tools_are_included(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        Path("n.yaml").write_text(NETWORK % {"port": port}, encoding="utf-8")
        with pytest.raises(SystemExit) as raised:
            main(("test", "n.yaml"))
    out = re.sub(r"\d+ ms", "N ms", capsys.readouterr().out)
    assert raised.value.code == 1
    assert out == (
        "ok   fetch[1] (N ms)\n"
        "ok   mirror[1] (N ms)\n"
        "FAIL mirror[2] (N ms) n.yaml:19:9\n"
        f"     the call reached 127.0.0.1:{port}, which expect.network does not list\n"
        "2 passed, 1 failed\n"
    )
