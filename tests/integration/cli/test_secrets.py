"""``--secrets``, and the messages for secrets without a value."""

import json
import os
import resource
import signal
import sys
from pathlib import Path

import pytest
from cli.cli_engines import engines
from cli.command_line import run as run_command

SPEC = """\
toolc: 1
name: who
label: Who
description: Say who we are. It exists for the tests of the command line and for nothing else.
backend: {shell: {script: "echo I am $USER_NAME"}}
sandbox: {secrets: {USER_NAME: {expose: env}}}
tests:
  - expect: {text: "I am [secret USER_NAME]\\n"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("TOOLC_SECRET_USER_NAME", raising=False)
    (tmp_path / "who.yaml").write_text(SPEC)
    (tmp_path / "mine.yaml").write_text("USER_NAME: deploy-bot\n")
    return tmp_path


def run(*arguments: str) -> int:
    return run_command(*arguments)


@pytest.mark.usefixtures("folder")
def test_missing_secret_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "who.yaml") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("toolc: tool 'who' cannot be called:\nthe secret 'USER_NAME' has no value; set the variable ")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("engine", engines())
def test_a_file_of_secrets_is_used_and_its_values_are_not_shown(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run", "who.yaml", "--engine", engine, "--secrets", "mine.yaml") == 0
    assert capsys.readouterr().out == "I am [secret USER_NAME]\n"
    assert run("run", "who.yaml", "--engine", engine, "--secrets", "mine.yaml", "--events") == 0
    out = capsys.readouterr().out
    assert json.loads(out.splitlines()[-1])["result"]["content"][0]["text"] == "I am [secret USER_NAME]\n"
    assert "deploy-bot" not in out


@pytest.mark.needs_engine
def test_the_configuration_and_the_environment_are_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLC_SECRET_USER_NAME", "deploy-bot")
    assert run("run", "who.yaml") == 0
    monkeypatch.delenv("TOOLC_SECRET_USER_NAME")
    (folder / "config" / "toolc").mkdir(parents=True, mode=0o700)
    configuration = folder / "config" / "toolc" / "config.yaml"
    configuration.write_text("secrets: {USER_NAME: {env: MY_NAME}}\n")
    configuration.chmod(0o600)
    monkeypatch.setenv("MY_NAME", "deploy-bot")
    assert run("run", "who.yaml") == 0
    assert capsys.readouterr().out == "I am [secret USER_NAME]\n" * 2


@pytest.mark.needs_engine
@pytest.mark.usefixtures("folder")
def test_tests_receive_only_the_secrets_of_the_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLC_SECRET_USER_NAME", "deploy-bot")
    assert run("test", "who.yaml") == 2
    assert (
        "the secret 'USER_NAME' has no value; tests receive only the secrets in the file of --secrets"
        in capsys.readouterr().out
    )
    assert run("test", "who.yaml", "--secrets", "mine.yaml") == 0
    assert capsys.readouterr().out.endswith("1 passed, 0 failed\n")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_crash_writes_no_core_file() -> None:
    Path("mine.yaml").write_text("USER_NAME: {command: [sh, -c, 'kill -SEGV $PPID; echo deploy-bot']}\n")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_CORE, ({hard}, {hard}))\n"
        "from toolc.cli.main import main; main(['run', 'who.yaml', '--engine', 'oci', '--secrets', 'mine.yaml'])"
    )
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    status = os.waitpid(child, 0)[1]
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGSEGV, False)


def test_an_invalid_secrets_file_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yaml").write_text("USER_NAME: short\n")
    assert run("run", "who.yaml", "--secrets", "mine.yaml") == 2
    assert "has fewer than 8 characters" in capsys.readouterr().err
    assert run("run", "who.yaml", "--secrets", "none.yaml") == 2
    assert "none.yaml does not exist" in capsys.readouterr().err
