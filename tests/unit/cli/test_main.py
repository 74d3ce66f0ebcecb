"""All commands: help, exit codes, and errors without a traceback."""

import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click
import pytest
from cli.command_line import toolc
from project.paths import ROOT

from toolc.cli import commands as command_modules
from toolc.cli.main import COMMANDS
from toolc.cli.output.failure import exit_code
from toolc.model.errors import InfrastructureError, UsageError

TOOLC = (sys.executable, "-m", "toolc")


def test_future_warnings_of_patterns_are_not_printed(tmp_path: Path) -> None:
    spec = tmp_path / "brackets.yaml"
    spec.write_text(
        "toolc: 1\nname: brackets\ndescription: Say which of these brackets a text has.\n"
        "parameters: {which: {type: string, pattern: '^[[({]$'}}\n"
        "backend: {shell: {argv: [echo, '{{ which }}']}}\n",
        encoding="utf-8",
    )
    done = subprocess.run([*TOOLC, "check", str(spec)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


MODULES = {name: import_module(f"toolc.cli.commands.{name + '_' if name == 'import' else name}") for name in COMMANDS}
TEXT_OPTIONS = [
    (name, option.opts[0])
    for name, module in MODULES.items()
    for option in module.command.params
    if isinstance(option, click.Option) and not option.is_flag and not option.count
]


@pytest.mark.parametrize(("command", "option"), TEXT_OPTIONS)
def test_an_empty_value_of_an_option_is_an_error(command: str, option: str) -> None:
    status, _, error = toolc(command, "x", option, "")
    assert (status, f"Invalid value for '{option}'" in error) == (2, True), error


def test_the_command_of_a_shell_may_have_empty_words() -> None:
    assert toolc("shell", "x.yaml", "echo", "")[2].startswith("toolc: there is no file or folder 'x.yaml'")


@pytest.mark.parametrize("command", ["show", "run", "diff"])
def test_a_name_that_is_too_long_for_a_file_is_not_a_bug(command: str) -> None:
    message = f"toolc: there is no file '{'a' * 80}'...: the name is too long\n"
    assert toolc(command, "a" * 3000) == (2, "", message)


def test_version_is_that_of_the_package() -> None:
    metadata = ROOT / "pyproject.toml"
    version = re.search(r'^version = "(.+)"$', metadata.read_text(encoding="utf-8"), re.MULTILINE)
    out = subprocess.run([*TOOLC, "--version"], capture_output=True, text=True, check=True).stdout
    assert version
    assert out == f"toolc {version[1]}\n"


def test_every_command_in_the_table_has_its_module() -> None:
    for name in COMMANDS:
        assert toolc(name, "--help").stdout.startswith(f"Usage: toolc {name} ")


EXTRAS = ("anyio", "mcp", "mcp_types", "pydantic", "ray", "starlette", "uvicorn")


def test_every_command_starts_without_the_packages_of_extras() -> None:
    modules = [f"toolc.cli.commands.{each.name}" for each in pkgutil.iter_modules(command_modules.__path__)]
    code = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS})); import {', '.join(modules)}"
    subprocess.run([sys.executable, "-c", code], check=True)


IMPORT = ["json", "mcp", "openapi", "plugin", "python", "skill"]
IMAGE = ["build", "export", "import", "list", "prune"]
EMPTY = "the value is empty; leave it out, or set its variable"


@pytest.mark.parametrize(("group", "commands"), [((), COMMANDS), (("image",), IMAGE), (("import",), IMPORT)])
def test_group_without_a_command_prints_help(group: Sequence[str], commands: Sequence[str]) -> None:
    status, out, err = toolc(*group)
    assert (status, out) == (2, "")
    assert err.startswith(f"Usage: {' '.join(('toolc', *group))} [OPTIONS] COMMAND [ARGS]...\n")
    assert re.findall(r"^  ([a-z]+) .+\.$", err.partition("\nCommands:\n")[2], re.MULTILINE) == [*commands]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["biuld"], "toolc: there is no command 'biuld'; did you mean 'build'?\n"),
        (["zzzzz"], "toolc: there is no command 'zzzzz'; see: toolc --help\n"),
        (["image", "lst"], "toolc: there is no command 'lst'; did you mean 'list'?\n"),
        (["import", "zzz"], "toolc: there is no command 'zzz'; see: toolc import --help\n"),
        (["check"], "toolc: pass PATHS of specs, or --mcp FILE without PATHS; see: toolc check --help\n"),
        (["build"], "toolc: PATHS are missing; pass specs or folders of specs, or use --builtin TOOLSET\n"),
        *(
            (
                [command, "specs", ""],
                f"toolc: Invalid value for '{arguments}...': {EMPTY}; see: toolc {command} --help\n",
            )
            for command, arguments in (("build", "PATHS"), ("check", "PATHS"), ("test", "TARGETS"))
        ),
        (["build", "nope"], "toolc: nope: no such file or folder; name a spec file or a folder of specs\n"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], expected: str) -> None:
    assert toolc(*arguments) == (2, "", expected)


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (UsageError("no such folder"), 2, "toolc: no such folder\n"),
        (InfrastructureError("no engine"), 3, "toolc: no engine\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (
            click.UsageError("Did you mean 'b'?", click.Context(click.Command("a"), info_name="a")),
            2,
            "toolc: Did you mean 'b'? See: a --help\n",
        ),
        (click.exceptions.Exit(1), 1, ""),
        (SystemExit(4), 4, ""),
        (OSError(28, "No space left on device"), 2, "toolc: the output cannot be written: No space left on device\n"),
    ],
)
def test_each_error_has_its_exit_code(
    error: BaseException, code: int, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(error) == code
    assert capfd.readouterr().err == expected


def test_bug_is_one_line_with_the_traceback_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError) as raised:
        raise ZeroDivisionError("oh\nno")
    assert exit_code(raised.value) == 3
    (file,) = tmp_path.iterdir()
    assert capsys.readouterr().err == f"toolc: this is a bug in toolc: no; please report it and attach {file}\n"
    assert "ZeroDivisionError: oh\nno" in file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_closed_output_pipe_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "toolc: 1\nname: a\ndescription: A tool that only tests the list of tools.\n"
        "backend: {shell: {argv: ['true']}}\n",
        encoding="utf-8",
    )
    with closed_pipe() as pipe:
        done = subprocess.run(
            [*TOOLC, "list", str(tmp_path)], stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@contextmanager
def closed_pipe() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


# It sleeps in short steps: a signal that arrives just before a sleep begins does not end that sleep.
STUCK = """\
import sys, time, types, click
from toolc.cli.main import main

def work(what):
    print(what, flush=True)
    while True:
        time.sleep(0.05)

@click.command("list")
def command():
    try:
        work("working")
    finally:
        work("clearing up")

sys.modules["toolc.cli.commands.list"] = types.SimpleNamespace(command=command)
main(["list"])
"""


def test_second_ctrl_c_exits_immediately() -> None:
    command = [sys.executable, "-c", STUCK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            for printed in (b"working\n", b"clearing up\n"):
                assert process.stdout.readline() == printed
                process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60) == (b"", b"")
        finally:
            process.kill()
    assert process.returncode == 130
