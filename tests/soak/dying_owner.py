"""``python dying_owner.py ENGINE ISOLATION STEP VICTIMS WORKSPACE``: six callers; one kills at a step of its call.

VICTIMS is ``owner``, or ``both`` to kill the janitor first. Prints the owner's label, then the id of each created
container. Each step is a place in the code: the functions are wrapped here, so that toolc has no code for this
test. ``STEPS`` has the names; an unknown step is never reached, and the callers continue until they are killed.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

from calls.scripted_tools import execute, registered
from leftovers import children
from workspaces.transaction_cases import tool

from toolc.model.call import ToolCall
from toolc.model.events import Event, ToolUpdate
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.workspace.mount import WorkspaceFolder
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.selection import EngineSelection

STEPS: Final = (
    "before create", "create in flight", "created", "attached", "started", "source sent", "ready", "call sent",
    "in call", "result read", "closing", "removing", "committing",
)  # fmt: skip
"""The steps of a call, in their order."""

CALLERS: Final = 6
WARM_UP: Final = 3
"""The number of times that the step is reached before the kill, so that other callers are at other steps."""

SCRIPT: Final = "date +%N > a; mkdir -p deep; cp a deep/b; echo begun; setsid sleep 0.1; cat a"


def kill_janitor(owner: int) -> None:
    """Kill the janitor of the process ``owner``, if there is one."""
    for pid in children(owner):
        with contextlib.suppress(OSError):
            if b"janitor_process.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


class Death:
    """Kills the process when a step was reached often enough."""

    def __init__(self, step: str, victims: str) -> None:
        self._step = step
        self._with_janitor = victims == "both"
        self._left = WARM_UP
        self._lock = threading.Lock()

    def at(self, step: str) -> None:
        if step != self._step:
            return
        with self._lock:
            self._left -= 1
            if self._left <= 0:
                if self._with_janitor:
                    kill_janitor(os.getpid())
                os.kill(os.getpid(), signal.SIGKILL)

    def before(self, owner: Any, name: str, step: str) -> None:
        def both(original: Callable[..., Any], *given: Any) -> Any:
            self.at(step)
            return original(*given)

        self._wrap(owner, name, both)

    def after(self, owner: Any, name: str, step: str) -> None:
        def both(original: Callable[..., Any], *given: Any) -> Any:
            result = original(*given)
            self.at(step)
            return result

        self._wrap(owner, name, both)

    def _wrap(self, owner: Any, name: str, instead: Callable[..., Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, wraps(original)(lambda *given: instead(original, *given)))


class Watched:
    """A sandbox that reports the steps of its stream."""

    def __init__(self, sandbox: Any, death: Death, source_bytes: int) -> None:
        self._sandbox, self._death, self._left = sandbox, death, source_bytes
        self._is_ready = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def write(self, data: bytes | memoryview) -> int:
        sent: int = self._sandbox.write(data)
        self._left -= sent
        if sent and self._is_ready:
            self._death.at("call sent")
        elif self._left <= 0:
            self._death.at("source sent")
        return sent

    def read(self) -> bytes | None:
        data: bytes | None = self._sandbox.read()
        if data and not self._is_ready:
            self._is_ready = True
            self._death.at("ready")
        return data

    def close(self) -> None:
        self._death.at("result read")
        self._sandbox.close()


def prepare_docker(death: Death) -> Any:
    from toolc.sandbox.docker import api_client, docker_sandbox, engine

    sent = threading.local()

    def send(original: Callable[..., Any], connection: Any, method: str, target: str, *rest: Any) -> Any:
        sent.what = f"{method} {target.partition('?')[0]}"
        return original(connection, method, target, *rest)

    def head(original: Callable[..., Any], stream: Any) -> Any:
        # The request was sent, and the response was not read.
        if sent.what.endswith("/containers/create"):
            death.at("create in flight")
        elif sent.what.startswith("DELETE"):
            death.at("removing")
        return original(stream)

    def create(original: Callable[..., Any], *given: Any) -> Any:
        container = original(*given)
        os.write(1, f"{container}\n".encode())
        return container

    death._wrap(api_client._Connection, "send", send)
    death._wrap(api_client, "read_head", head)
    death._wrap(engine, "create_container", create)
    death.before(engine, "create_container", "before create")
    death.after(engine, "create_container", "created")
    death.after(engine, "attach_container", "attached")
    death.after(engine, "start_container", "started")
    if death._step == "removing":
        docker_sandbox._GRACE = 0  # type: ignore[misc]
    return engine.DockerEngine()


def prepare_oci(death: Death) -> Any:
    from toolc.sandbox.oci import oci_sandbox
    from toolc.sandbox.oci.engine import OciEngine

    def await_start(original: Callable[..., Any], sandbox: Any) -> None:
        paths = sandbox._paths
        if death._step == "created":
            while not (paths.state / paths.name).exists() and not sandbox._wait_for_exit(0):
                time.sleep(0)
            death.at("created")
        if death._step == "attached":
            while not paths.pid_file.exists() and not sandbox._wait_for_exit(0):
                time.sleep(0)
            death.at("attached")
        original(sandbox)
        death.at("started")

    death.before(oci_sandbox, "RuntimeProcess", "before create")
    death.after(oci_sandbox, "RuntimeProcess", "create in flight")
    death._wrap(oci_sandbox.OciSandbox, "_await_start", await_start)
    death.before(oci_sandbox.OciSandbox, "_end", "removing")
    return OciEngine()


def prepare_common(death: Death, engine: Any) -> None:
    from toolc.guest.bundle import bundle
    from toolc.runtime.workspace.transaction import commit
    from toolc.sandbox.interface import SocketStream

    source_bytes = len(bundle())
    death._wrap(engine, "start", lambda original, *given: Watched(original(*given), death, source_bytes))
    death.after(SocketStream, "close", "closing")
    death.after(commit, "_stage", "committing")


def main(arguments: Sequence[str]) -> None:
    name, isolation, step, victims, workspace = arguments
    print(Owner.current().label(), flush=True)
    death = Death(step, victims)
    engine = prepare_docker(death) if name == "docker" else prepare_oci(death)
    prepare_common(death, engine)
    edit = registered(tool(SCRIPT, min_isolation=isolation))  # type: ignore[arg-type]
    options = CallOptions(
        select_engine=lambda _: EngineSelection(engine), workspace=WorkspaceFolder.of(Path(workspace))
    )

    def listen(event: Event) -> None:
        if isinstance(event, ToolUpdate) and "begun" in event.text:
            death.at("in call")

    def again() -> None:
        while True:
            execute(edit, ToolCall(name="edit", arguments={}, call_id="c"), options, on_event=listen)

    callers = [threading.Thread(target=again, daemon=True) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    while all(caller.is_alive() for caller in callers):
        time.sleep(0.1)
    sys.exit("a caller ended")


if __name__ == "__main__":
    main(sys.argv[1:])
