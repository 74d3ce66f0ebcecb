"""The table of probes is complete, and each attempt succeeds without a sandbox."""

import os
import socket
from pathlib import Path

import pytest

from toolc.client.registry import Registry
from toolc.data.probes import attempts
from toolc.doctor.probes import FOLDER, load_probes, load_tools

HOST: attempts.Host = {"secret": "/dev/null", "word": "", "socket": "", "port": 1}
TRACES = {"follow_link", "write_read_only", "leave_processes", "leave_files", "find_files", "leave_mounts"}


def test_probe_table_is_complete() -> None:
    names = [probe.name for probe in load_probes()]
    limits = {tool.name for tool in Registry.load(FOLDER) if tool.tests}
    assert len(names) == len(set(names)) >= 40
    assert set(names) == set(attempts.attempts(HOST)) | limits | TRACES


def test_the_table_names_probes_only() -> None:
    probes = {probe.name: probe for probe in load_probes()}
    assert probes["memory_of_many"].limit == "memory"
    assert probes["tunnel"].own_kernel
    assert sum(probe.own_kernel for probe in probes.values()) == 4
    assert [probe.name for probe in probes.values() if probe.ended_by_memory] == ["number_of_files"]
    assert sum(probe.limit is not None for probe in probes.values()) == 6


def test_probe_tools_require_the_probed_isolation() -> None:
    assert {tool.sandbox.min_isolation for tool in load_tools("gvisor")} == {"gvisor"}


def test_system_call_numbers_cover_every_machine() -> None:
    x86, arm = attempts.NUMBERS["x86_64"], attempts.NUMBERS["aarch64"]
    assert list(x86) == list(arm)
    assert len(set(x86.values())) == len(x86)
    assert len(set(arm.values())) == len(arm)


@pytest.mark.parametrize(
    "name",
    [
        "no-new-privileges", "system-call-filter", "set-user-id-file", "interfaces", "file-of-the-host",
        "environment-of-the-host", "abstract-socket", "port-of-the-host", "processes-of-the-host", "other-devices",
    ],
)  # fmt: skip
def test_harmless_attempts_succeed_without_a_sandbox(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{tmp_path}")
        listener.listen()
        host: attempts.Host = {
            "secret": str(secret),
            "word": "PATH=",
            "socket": str(tmp_path),
            "port": server.getsockname()[1],
        }
        monkeypatch.setattr(attempts, "PROGRAM", str(tmp_path / "program"))
        output = attempts.attempt(attempts.attempts(host)[name])
    assert output.startswith("done: "), output


def test_attempt_outcomes() -> None:
    def broken() -> object:
        raise KeyError("x")

    assert attempts.attempt(attempts.refused) == "refused"
    assert attempts.attempt(lambda: 7) == "done: 7"
    assert attempts.attempt(broken) == "broken: KeyError('x')"
    assert attempts.attempt(lambda: os.kill(os.getpid(), 31)) == "refused"  # SIGSYS, as a filter answers
    assert attempts.attempt(lambda: os.kill(os.getpid(), 9)) == "ended by signal 9"
