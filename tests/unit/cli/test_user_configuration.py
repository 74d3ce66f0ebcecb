"""Commands with a configuration of the user."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = """\
toolc: 1
name: hello
description: Say hello, for tests of toolc itself and for nothing else at all.
backend: {shell: {argv: [echo, hello]}}
tests:
  - expect: {text: "hello\\n"}
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "hello.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return str(path)


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the user's configuration of this test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    path = tmp_path / "home/toolc/config.yaml"
    path.parent.mkdir(parents=True)
    return path


def toolc(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolc", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.slow
@pytest.mark.parametrize(("options", "engine"), [((), "oci"), (("--engine", "docker"), "docker")])
def test_configured_engine_is_the_default(spec: str, configure: Path, options: tuple[str, ...], engine: str) -> None:
    configure.write_text("engine: oci\n", encoding="utf-8")
    done = toolc("run", "--json", *options, spec)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["details"]["engine"] == engine


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "test", "serve"])
def test_invalid_configuration_stops_commands_that_call_tools(command: str, spec: str, configure: Path) -> None:
    configure.write_text("engine: podman\n", encoding="utf-8")
    done = toolc(command, spec)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"toolc: {configure}:1:9: 'engine' must be one of 'auto', 'docker', 'oci', but is the text 'podman'\n"
    )


def test_invalid_configuration_does_not_stop_other_commands(spec: str, configure: Path) -> None:
    configure.write_text("engine: podman\n", encoding="utf-8")
    assert toolc("check", spec).returncode == 0


@pytest.mark.slow
def test_accepting_an_enforced_protection(spec: str, configure: Path) -> None:
    configure.write_text("accept_unenforced: [memory, cpus, pids]\n", encoding="utf-8")
    done = toolc("run", spec)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
