"""Programs of toolc that run beside its process."""

import os

import pytest

from toolc.sandbox.host.programs import start_program


def test_a_program_has_only_the_variables_that_name_the_runtime_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    environments: list[dict[str, str]] = []

    def spawn(_file: str, _arguments: list[str], environment: dict[str, str], **_: object) -> int:
        environments.append(environment)
        return 1

    monkeypatch.setattr(os, "posix_spawn", spawn)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setenv("SECRET", "value")
    start_program("janitor_process.py", "/folder", 0)
    assert environments == [{"XDG_RUNTIME_DIR": "/run/user/1000", "TMPDIR": "/var/tmp"}]
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.delenv("TMPDIR")
    start_program("janitor_process.py", "/folder", 0)
    assert environments[1:] == [{}]
