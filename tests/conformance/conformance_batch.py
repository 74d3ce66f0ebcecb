"""Run cases in one configuration concurrently, and return their results as comparable envelopes."""

import hashlib
import os
import re
import shutil
import socket
import stat
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from attempts_beyond import LISTENER
from conformance_case import Case

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.client.serialization import result_to_json
from toolc.config.user_config import load_configuration
from toolc.model.errors import InfrastructureError
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Profile
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.pool.pool import Pool
from toolc.sandbox.docker.docker_sandbox import DockerSandbox
from toolc.sandbox.interface import Engine, EngineSandbox
from toolc.sandbox.oci.oci_sandbox import OciSandbox

CALLERS: Final = 3
"""The number of concurrent calls: calls mostly wait, and must not affect each other."""

KINDS: Final = {stat.S_IFLNK: "link", stat.S_IFREG: "file", stat.S_IFDIR: "folder"}
USAGE: Final = ("duration_ms", "cpu_ms", "peak_memory_bytes")

GVISOR_PROCESS: Final = "exe"
"""The name of the processes of gVisor, which are the kernel of a sandbox."""


class WatchedEngine:
    """An engine that records its sandboxes. Each case has its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started: list[tuple[EngineSandbox, str]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def start(self, profile: Profile, arguments: Sequence[str]) -> EngineSandbox:
        sandbox = self._engine.start(profile, arguments)
        self._started.append((sandbox, control_group(sandbox)))
        return sandbox

    def survivors(self) -> list[str]:
        """Return the running processes of the sandboxes that were closed.

        A call may return while its empty sandbox, in which only process 1 is left, is being closed. With gVisor the
        host only sees the kernel of the sandbox.
        """
        groups = [group for sandbox, group in self._started if sandbox.fileno() < 0]
        found = [process for group in groups for process in processes_in(group, with_first=False)]
        return [name for name in found if name != GVISOR_PROCESS]


def control_group(sandbox: EngineSandbox) -> str:
    """Return the last part of the path of a sandbox's control groups."""
    if isinstance(sandbox, DockerSandbox):
        return sandbox.container
    assert isinstance(sandbox, OciSandbox)
    return sandbox._paths.name


def processes_in(group: str, *, with_first: bool = True) -> list[str]:
    """Return the names of all processes in a control group with this name, with or without process 1 of a sandbox."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if group in (process / "cgroup").read_text(encoding="utf-8"):
                ids = re.search(r"^NSpid:.*\t1$", (process / "status").read_text(encoding="utf-8"), re.MULTILINE)
                if with_first or ids is None:
                    found.append((process / "comm").read_text(encoding="utf-8").strip())
        except OSError:
            continue
    return found


def run_batch(
    engine: Engine, cases: Iterable[Case], sandbox: JsonObject, pool: Pool | None = None
) -> dict[str, JsonObject]:
    """Return the envelope of each case by name. ``sandbox`` is added to the sandbox of each tool.

    With a ``pool``, each call gets a sandbox that was started ahead, if its workspace allows that.
    """
    cases = list(cases)
    registry = _compiled(cases, sandbox)
    with ThreadPoolExecutor(CALLERS) as threads, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{LISTENER}")
        listener.listen()
        envelopes = threads.map(lambda case: _run(registry, WatchedEngine(engine), case, pool), cases)
        return {case.name: found for case, found in zip(cases, envelopes, strict=True)}


def _compiled(cases: Iterable[Case], sandbox: JsonObject) -> Registry:
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            (Path(folder) / f"{case.tool}.yaml").write_text(case.spec(sandbox), encoding="utf-8")
        return Registry.load(folder)


def _run(registry: Registry, engine: WatchedEngine, case: Case, pool: Pool | None) -> JsonObject:
    if case.hurry is None:
        return _run_once(registry, engine, case, pool)
    found = _run_once(registry, engine, case, pool, case.hurry)
    return found if found.get("streamed") else _run_once(registry, engine, case, pool, 50)


def _run_once(
    registry: Registry, engine: WatchedEngine, case: Case, pool: Pool | None, timeout: float | None = None
) -> JsonObject:
    updates: list[JsonValue] = []
    streamed: dict[str, str] = {}

    def on_event(event: Event) -> None:
        if isinstance(event, ToolUpdate) and event.stream is None:
            updates.append([event.percent, event.message])
        elif isinstance(event, ToolUpdate) and event.stream is not None:
            blocks = "".join(f"<{type(block).__name__}>" for block in event.blocks)
            streamed[event.stream] = streamed.get(event.stream, "") + event.text + blocks
            if case.cancel_at and case.cancel_at in streamed[event.stream]:
                cancellation.cancel()

    with (
        _workspace(case) as folder,
        Executor(
            registry, workspace=folder, engine=cast("Engine", engine), timeout=timeout, pool=pool,
            configuration=replace(load_configuration(), warm={case.tool: 1}),
        ) as executor,
        _warmed(executor, case) if pool else nullcontext(),
        _cancelled_after(case.cancel_after) as cancellation,
    ):  # fmt: skip
        try:
            result = executor.run(case.tool, {**case.args}, call_id="c1", on_event=on_event, cancellation=cancellation)
            assert pool is None or "start" not in str(result.details.get("timing_ms")) or _is_never_warm(case)
        except InfrastructureError as error:
            return {"infrastructure": str(error), "survivors": [*engine.survivors()]}
        except Exception:  # noqa: BLE001  an error of one case must not end the others
            return {"raised": traceback.format_exc(), "survivors": [*engine.survivors()]}
        return envelope(result) | {
            "progress": updates,
            "streamed": {**streamed},
            "survivors": [*engine.survivors()],
            "files": files(folder, case.owner) if folder else {},
        }


def envelope(result: ToolResult) -> JsonObject:
    """Return a result without values that differ between calls; usage figures are replaced by their names."""
    whole = result_to_json(result)
    details = result.details
    known: list[JsonValue] = [name for name in USAGE if _is_figure(details.get(name))]
    return {
        "text": result.text,
        "images": [f"{i['mime_type']} {_digest(str(i['data']))}" for i in _images(whole)],
        "structured": whole.get("structured"),
        "error": result.error.kind if result.error else None,
        "message": result.error.message if result.error else None,
        "outcome": details.get("outcome"),
        "exit_status": details.get("exit_status"),
        "stderr": details.get("stderr"),
        "stdout": details.get("stdout"),
        "truncated": details.get("truncated"),
        "tool": details.get("tool"),
        "user": details.get("user"),
        "usage": known,
    }


def _is_figure(value: JsonValue) -> bool:
    return isinstance(value, int | float) and value >= 0


def _images(whole: JsonObject) -> list[JsonObject]:
    content = whole["content"]
    assert isinstance(content, list)
    return [block for block in content if isinstance(block, dict) and block["type"] == "image"]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_never_warm(case: Case) -> bool:
    return "transaction" in str(case.sandbox.get("workspace"))


@contextmanager
def _warmed(executor: Executor, case: Case) -> Iterator[None]:
    """Wait until a sandbox for the case waits."""
    pool = executor._options.pool
    assert pool is not None
    while not _is_never_warm(case) and pool.counts() != (1, 0):
        time.sleep(0.005)
    yield


@contextmanager
def _cancelled_after(seconds: float | None) -> Iterator[Cancellation]:
    """Yield a cancellation that is triggered after this many seconds, or never."""
    with Cancellation() as cancellation:
        if seconds is None:
            yield cancellation
            return
        if not seconds:
            cancellation.cancel()
        timer = threading.Timer(seconds, cancellation.cancel)
        timer.start()
        yield cancellation
        timer.join()


@contextmanager
def _workspace(case: Case) -> Iterator[Path | None]:
    """Yield a folder of an ordinary user with the files of the case, or None if its tool has no workspace."""
    if case.sandbox.get("workspace", "none") == "none":
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="conformance-")).resolve()
    try:
        for name, content in case.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for path in (folder, *folder.rglob("*")):
            if os.geteuid() == 0:
                os.chown(path, case.owner, case.owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files(folder: Path, owner: int) -> JsonObject:
    """Return the files of a workspace by name: kind, mode, owner, and the text of a small file."""
    found: JsonObject = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "other")
        small = kind == "file" and status.st_size < 1000 and os.access(path, os.R_OK)
        text = path.read_text(encoding="utf-8", errors="replace") if small else ""
        whose = f"{status.st_uid}:{status.st_gid}"
        whose = "own" if whose == f"{owner}:{owner}" else whose
        name = os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")
        found[name] = [kind, f"{status.st_mode & 0o7777:o}", whose, text]
    return found
