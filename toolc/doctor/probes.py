"""The probes of ``toolc doctor --probe``: real tool calls that try to escape, exceed limits or leave traces."""

import os
import secrets
import socket
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.dataclass import dataclass, replace
from toolc.model.errors import InfrastructureError, SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.model.registry import RegisteredTool, RegistryFile
from toolc.model.registry_io import digests
from toolc.model.result import ToolResult
from toolc.model.spec.sandbox import MinIsolation
from toolc.model.spec.tool import ToolSpec
from toolc.testing.expectations import compare

FOLDER: Final = Path(__file__).parent.parent / "data" / "probes"
"""The folder with the specs and the table of the probes."""

CALLERS: Final = 2
"""The number of concurrent calls. Most of them wait for a deadline."""

Verdict: TypeAlias = Literal["held", "failed", "own", "unenforced"]
"""The outcome of a probe. ``own`` means that the tool reached only the sandbox's own kernel, which is harmless.
``unenforced`` means that this host cannot enforce a limit, which the user has accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscapeProbe:
    """One probe: what a tool tries, what its success would mean, and the limit that the probe tests, if any."""

    name: str
    group: str
    tries: str
    means: str
    limit: str | None = None
    own_kernel: bool = False
    ended_by_memory: bool = False


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The outcome of a probe, and the evidence if it did not hold."""

    verdict: Verdict
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """The objects on this machine that the probes look for. All of them are created for this purpose."""

    word: str
    socket_name: str
    port: int
    secret: Path
    workspace: Path

    def arguments(self) -> JsonObject:
        """Return the arguments of the tool ``attempts``."""
        return {"secret": str(self.secret), "word": self.word, "socket_name": self.socket_name, "port": self.port}


def load_probes() -> tuple[EscapeProbe, ...]:
    """Return the probes in the order of the table."""
    table = tomllib.loads((FOLDER / "table.toml").read_text(encoding="utf-8"))
    return tuple(
        EscapeProbe(
            name=name,
            group=group["name"],
            tries=tries,
            means=group["means"],
            limit=table["limits"].get(name),
            own_kernel=name in table["own_kernel"],
            ended_by_memory=name in table["ended_by_memory"],
        )
        for group in table["group"]
        for name, tries in group["probes"].items()
    )


def load_tools(isolation: MinIsolation) -> Registry:
    """Return the tools of the probes. Each requires this isolation."""
    tools = (replace(tool, sandbox=replace(tool.sandbox, min_isolation=isolation)) for tool in Registry.load(FOLDER))
    return Registry(RegistryFile(tuple(map(_registered, tools))))


def run_probes(
    make: Callable[..., Executor], isolation: MinIsolation, accepted: tuple[str, ...] = ()
) -> dict[str, ProbeResult]:
    """Run all probes and return their results by name. ``make`` is called with a registry and a workspace.

    Raises ``InfrastructureError`` if the engine cannot run the probes at all.
    """
    registry, probes = load_tools(isolation), load_probes()
    named = {probe.name: probe for probe in probes}
    with _host() as host, make(registry, workspace=host.workspace) as executor:
        found = _attempts(executor, host)
        tested = [tool for tool in registry if tool.tests]
        with ThreadPoolExecutor(CALLERS) as pool:
            results = pool.map(lambda tool: _beyond_limit(executor, tool, named[tool.name]), tested)
        found |= {tool.name: result for tool, result in zip(tested, results, strict=True)}
        found |= _traces(executor, host)
    return {probe.name: _adjust(probe, found[probe.name], isolation, accepted) for probe in probes}


def _registered(tool: ToolSpec) -> RegisteredTool:
    known = digests(tool)
    return RegisteredTool(spec=tool, surface_digest=known.surface, effect_digest=known.effect)


def _adjust(probe: EscapeProbe, result: ProbeResult, isolation: MinIsolation, accepted: tuple[str, ...]) -> ProbeResult:
    if result.verdict == "held":
        return result
    if probe.own_kernel and isolation != "namespace":
        return ProbeResult("own", "only in its own kernel")
    if probe.limit in accepted:
        return ProbeResult("unenforced", "not enforced here, which you have accepted")
    return result


def _attempts(executor: Executor, host: _Host) -> dict[str, ProbeResult]:
    result = executor.run("attempts", host.arguments())
    if result.is_error or not result.structured or not isinstance(result.structured[0], dict):
        raise InfrastructureError(f"the tool of the escape attempts failed: {result.text}")
    outcomes: Mapping[str, object] = result.structured[0]
    return {
        name: ProbeResult("held") if each == "refused" else ProbeResult("failed", str(each))
        for name, each in outcomes.items()
    }


def _beyond_limit(executor: Executor, tool: ToolSpec, probe: EscapeProbe) -> ProbeResult:
    (test,) = tool.tests
    try:
        result = executor.run(tool.name, test.args)
    except SandboxDiedError as error:
        # With a gVisor that filters nothing, a tool can kill process 1. That ends its sandbox, which is acceptable.
        return ProbeResult("held") if tool.name == "stop_process_1" else ProbeResult("failed", str(error))
    if probe.ended_by_memory and result.error and result.error.kind == "out_of_memory":
        return ProbeResult("held")
    # None of these tests expects files in a workspace.
    return _expect_none(iter(compare(test.expect, result, Path())))


def _traces(executor: Executor, host: _Host) -> dict[str, ProbeResult]:
    found = {
        "follow_link": _expect_silence(executor.run("follow_link", {})),
        "write_read_only": _expect_silence(executor.run("write_read_only", {})),
    }
    executor.run("leave_processes", {"word": host.word})
    found["leave_processes"] = _expect_none(_processes_with(host.word))
    executor.run("leave_files", {"word": host.word})
    found["leave_files"] = _expect_none(_files_with(host.word))
    found["find_files"] = _expect_silence(executor.run("find_files", {}))
    found["leave_mounts"] = _expect_none(_mounts_with(str(host.workspace.parent)))
    return found


def _expect_silence(result: ToolResult) -> ProbeResult:
    """Return ``held`` if the tool printed nothing or returned an empty list, otherwise ``failed``."""
    if result.structured is not None and not result.is_error:
        return ProbeResult("failed", str(result.structured[0])) if result.structured[0] else ProbeResult("held")
    return ProbeResult("failed", result.text.strip()) if result.text.strip() else ProbeResult("held")


def _expect_none(found: Iterator[str]) -> ProbeResult:
    first = next(found, None)
    return ProbeResult("held") if first is None else ProbeResult("failed", first)


def _processes_with(word: str) -> Iterator[str]:
    """Yield the command lines on this machine that contain ``word``. Without ``/proc``, there are none."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if word.encode() in line:
            yield line.replace(b"\0", b" ").decode("utf-8", "replace")


def _files_with(word: str) -> Iterator[str]:
    places = dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm", "/run", "/"))  # host paths
    yield from (path for place in places if os.path.lexists(path := str(Path(place, word))))


def _mounts_with(folder: str) -> Iterator[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    yield from (line for line in lines if folder in line)


@contextmanager
def _host() -> Iterator[_Host]:
    """Create a secret file, a variable, an abstract socket, a port, and a workspace with a link out of it."""
    word = f"toolc-probe-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolc-probe-"))).resolve()
        folder.chmod(0o755)
        secret, workspace = folder / "secret", folder / "workspace"
        secret.write_text(word, encoding="utf-8")
        workspace.mkdir()
        (workspace / "kept").write_text("kept", encoding="utf-8")
        (workspace / "link").symlink_to(folder)
        os.environ["TOOLC_PROBE"] = word
        stack.callback(os.environ.pop, "TOOLC_PROBE", None)
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        if sys.platform == "linux":  # only Linux has abstract sockets
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"\0{word}")
            listener.listen()
        yield _Host(word=word, socket_name=word, port=port, secret=secret, workspace=workspace)
