"""A runtime that hangs before it has started anything is killed with its children."""

from pathlib import Path

import pytest
from engines.oci_cases import needs_oci, traces
from engines.waiting_sandboxes import until

from toolc.model.errors import InfrastructureError
from toolc.sandbox.oci import oci_sandbox
from toolc.sandbox.oci.oci_sandbox import OciSandbox, SandboxPaths

pytestmark = needs_oci


def test_a_runtime_that_hangs_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_SECONDS", "CLOSE_SECONDS", "KILL_SECONDS"):
        monkeypatch.setattr(oci_sandbox, name, 0.2)
    runtime = tmp_path / "runtime"
    runtime.write_text(f"#!/bin/sh\nsh -c 'sleep 1000; : {tmp_path}'\n", encoding="utf-8")
    runtime.chmod(0o755)
    place = SandboxPaths(
        name="toolc-test-stuck",
        runtime=str(runtime),
        state=tmp_path / "state",
        bundle=tmp_path / "bundle",
        pid_file=tmp_path / "pid",
        mount_point=tmp_path / "workspace",
        memory_events=tmp_path / "group" / "memory.events",
    )
    with pytest.raises(InfrastructureError, match="could not start a sandbox: nothing happened for"):
        OciSandbox(place, "1:1")
    until(lambda: traces(str(tmp_path)) == [])
