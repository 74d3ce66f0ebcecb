"""A mounted workspace: a tool cannot reach anything outside, and the folder cannot be exchanged."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from engines.configurations import Configuration
from test_workspace_views import configuration, give, workspace
from workspaces.transaction_cases import call, tool

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonValue
from toolc.model.spec.sandbox import WorkspaceMode
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.workspace.dir_handle import RENAME_EXCHANGE, DirHandle, rename
from toolc.sandbox.interface import Engine

__all__ = ["configuration", "workspace"]

LOOK = """
cat out 2>&1 || true; cat up 2>&1 || true; cat /proc/self/mounts; cat ../secret/key 2>&1 || true
"""


class Disturbed:
    """An engine that calls ``act`` before its first use, after the workspace was checked."""

    def __init__(self, engine: Engine, act: Callable[[], object]) -> None:
        self._engine = engine
        self._act = act
        self._acted = False

    def __getattr__(self, name: str) -> object:
        if not self._acted:
            self._acted = True
            self._act()
        return getattr(self._engine, name)


def _call_while(act: Callable[[threading.Event], None], engine: Engine, spec: ToolSpec, folder: Path) -> str:
    """Return the result of a call while another thread runs ``act``."""
    stop = threading.Event()
    other = threading.Thread(target=act, args=(stop,))
    try:
        return call(cast("Engine", Disturbed(engine, other.start)), spec, folder).text
    except InfrastructureError as error:
        return str(error)
    finally:
        stop.set()
        other.join()


def mounted(script: str, mode: WorkspaceMode, configuration: Configuration) -> ToolSpec:
    """Return a tool whose workspace is the real folder."""
    spec = tool(script, min_isolation=configuration.min_isolation)
    return replace(spec, sandbox=replace(spec.sandbox, workspace=mode, transaction=None))


@pytest.fixture
def secret(workspace: Path) -> Path:
    """Create a folder next to the workspace with a file that the tool must not read."""
    give(workspace, 1234)
    folder = workspace.with_name("secret")
    folder.mkdir()
    (folder / "key").write_text("hidden\n")
    return folder


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_links_lead_to_the_files_of_the_sandbox(
    configuration: Configuration, workspace: Path, secret: Path, mode: WorkspaceMode
) -> None:
    (workspace / "out").symlink_to(secret / "key")
    (workspace / "up").symlink_to("../secret/key")
    spec = mounted(LOOK, mode, configuration)
    output = str(configuration.run(lambda engine: call(engine, spec, workspace).text))
    assert "hidden" not in output
    assert " /workspace " in output


HARM = """
import os, errno
def attempt(name, *arguments, **keywords):
    try:
        getattr(os, name)(*arguments, **keywords)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
print(attempt("mknod", "disk", 0o60600, os.makedev(8, 0)))
print(attempt("mknod", "mem", 0o20600, os.makedev(1, 1)))
print(attempt("link", "/etc/passwd", "passwd"))
print(attempt("chown", "a", 0, 0) if os.getuid() else "EPERM")
print(attempt("rename", "/workspace", "/elsewhere"))
print(attempt("rename", "a", "../a"))
print(attempt("rmdir", "/workspace"))
"""


def test_devices_links_and_renames_do_not_leave_the_workspace(
    configuration: Configuration, workspace: Path, secret: Path
) -> None:
    (workspace / "harm.py").write_text(HARM)
    spec = mounted("python3 harm.py; cp /bin/true set; chmod 6755 set || true", "rw", configuration)
    output = str(configuration.run(lambda engine: call(engine, spec, workspace).text)).split()
    assert "done" not in output, output
    assert len(output) == 7
    assert not (workspace / "set").stat().st_mode & 0o6000
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["secret", "work"]


def output_after_replacement(configuration: Configuration, spec: ToolSpec, workspace: Path) -> str:
    """Return the output of a call whose workspace is replaced by a link before the engine starts."""

    def replace_folder() -> None:
        workspace.rename(workspace.with_name("moved"))
        workspace.symlink_to("secret")

    def work(engine: Engine) -> JsonValue:
        try:
            return call(cast("Engine", Disturbed(engine, replace_folder)), spec, workspace).text
        except InfrastructureError as error:
            return str(error)

    workspace.parent.chmod(0o777)
    return str(configuration.run(work))


def test_a_replaced_workspace_is_detected_before_the_tool_runs(
    configuration: Configuration, workspace: Path, secret: Path
) -> None:
    """The folder is replaced between its check and the mount."""
    spec = mounted("cat key", "ro", configuration)

    output = output_after_replacement(configuration, spec, workspace)
    assert "hidden" not in output
    assert f"a different folder than {workspace}" in output


def test_a_transaction_uses_the_folder_that_was_checked(
    configuration: Configuration, workspace: Path, secret: Path
) -> None:
    spec = tool("cat a; cat key || true; echo new > a", min_isolation=configuration.min_isolation)
    output = output_after_replacement(configuration, spec, workspace)
    assert "hidden" not in output
    if configuration.uid:
        # Without root the folder is mounted by its path, and the replacement is detected.
        assert f"a different folder than {workspace}" in output
    else:
        assert output.startswith("a\n")
        assert (workspace.with_name("moved") / "a").read_text() == "new\n"
    assert sorted(path.name for path in secret.iterdir()) == ["key"]


@pytest.mark.parametrize("mode", ["rw", "transaction"])
def test_a_parent_that_is_swapped_for_a_link_is_not_followed_by_a_call(
    configuration: Configuration, workspace: Path, secret: Path, mode: WorkspaceMode
) -> None:
    (secret / "work").mkdir()
    (secret / "work" / "key").write_text("hidden\n")
    real = workspace.parent / "real"
    real.mkdir()
    workspace.rename(real / "work")
    (workspace.parent / "bait").symlink_to("secret")
    spec = mounted("ls; cat key || true; echo x > key", "rw", configuration)
    if mode == "transaction":
        spec = tool("ls; cat key || true; echo x > key", min_isolation=configuration.min_isolation)

    def swap(stop: threading.Event) -> None:
        with DirHandle.open(str(workspace.parent)) as folder:
            # An even number of times, so that each call finds the folder where it belongs.
            while not stop.is_set():
                for _ in range(2):
                    rename(folder.descriptor, b"real", folder.descriptor, b"bait", RENAME_EXCHANGE)
                    time.sleep(0.01)

    def work(engine: Engine) -> JsonValue:
        return "\n".join(_call_while(swap, engine, spec, real / "work") for _ in range(4))

    workspace.parent.chmod(0o777)
    output = str(configuration.run(work))
    assert "hidden" not in output
    assert (secret / "work" / "key").read_text() == "hidden\n"
