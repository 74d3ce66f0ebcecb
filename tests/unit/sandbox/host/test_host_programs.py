"""Programs of toolc that run beside its process."""

import os

import pytest

from toolc.sandbox.host.programs import start_program


def test_a_program_has_only_the_variables_that_name_the_runtime_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    environments: list[dict[str, str]] = []
    monkeypatch.setattr(os, "posix_spawn", lambda _file, _argv, environment, **_: environments.append(environment))
    folders = {"XDG_RUNTIME_DIR": "/run/user/1000", "TMPDIR": "/var/tmp"}
    for name, value in {**folders, "SECRET": "value"}.items():
        monkeypatch.setenv(name, value)
    start_program("janitor_process.py", "/folder", 0)
    assert environments == [folders]
