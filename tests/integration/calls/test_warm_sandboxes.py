"""Sandboxes that wait for calls, on real engines: what is in them, and that nothing of them is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from conformance_batch import control_group, processes_in
from engines.waiting_sandboxes import is_busy, until, waiting

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.errors import InfrastructureError
from toolc.model.names import ENGINES
from toolc.model.result import ToolResult
from toolc.runtime.pool.pool import Pool
from toolc.runtime.workspace import busy
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.selection import load, probe

MARK = "left-by-an-earlier-call"

LOOK = f"""\
import builtins, os, sys
def look(word):
    found = []
    for folder, folders, names in os.walk("/"):
        if folder.startswith(("/proc", "/sys", "/usr")):
            continue
        found += [os.path.join(folder, name) for name in (*folders, *names) if "{MARK}" in name]
    for process in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            try:
                if b"{MARK}" in open("/proc/" + process + "/" + name, "rb").read():
                    found.append(process + " " + name)
            except OSError:
                pass
    for name in ("/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem"):
        found += [name + " " + line for line in open(name).read().splitlines()[1:]]
    found += [line for line in open("/proc/net/unix").read().splitlines() if "{MARK}" in line]
    found += [name for name in (*sys.modules, *os.environ, *vars(builtins)) if name in ("{MARK}", "leftover")]
    old = os.umask(0)
    return [*found, *([] if old == 0o022 else [oct(old)])]
"""


LEAVE = f"""\
{LOOK}
import builtins, ctypes, os, socket, subprocess, sys
for place in ("/tmp", "/dev/shm", "/tool", "/workspace/sub"):
    try:
        os.makedirs(place, exist_ok=True)
        open(place + "/{MARK}", "w").write("x")
    except OSError:
        pass
os.environ["{MARK}"] = "x"
os.umask(0o077)
sys.modules["{MARK}"] = sys
builtins.leftover = "{MARK}"
libc = ctypes.CDLL(None)
libc.shmget(0x7001, 4096, 0o1666)
libc.msgget(0x7001, 0o1666)
subprocess.Popen(["/bin/sh", "-c", "sleep 1000 # {MARK}"], start_new_session=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0{MARK}")
def leave(word):
    return look(word)
"""


HANG = """\
(setsid sh -c 'while :; do echo x >> /workspace/file; sleep 0.01; done' &)
while [ ! -e /workspace/go ]; do sleep 0.01; done
"""

HANGING = "sh\0-c\0while :; do echo x >> /workspace/file"

SIGNAL = """\
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
def denied(result):
    return result == -1 and os.strerror(ctypes.get_errno())
def disturb(word):
    for number in range(1, signal.NSIG):
        os.kill(1, number)
    found = [denied(libc.ptrace(request, 1, 0, 0)) for request in (16, 0x4206)]
    found.append(denied(libc.process_vm_readv(1, None, 0, None, 0, 0)))
    for path in ("/proc/1/mem", "/proc/1/fd/0", "/proc/1/ns/mnt", "/proc/1/root"):
        try:
            found.append(os.open(path, os.O_RDONLY))
        except OSError as error:
            found.append(error.strerror)
    return found
"""


@pytest.fixture(params=ENGINES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    if not probe(found).available:
        pytest.skip(probe(found).reason)
    return found


@pytest.fixture
def specs(tmp_path: Path) -> Registry:
    backends = {
        "leave": {"python": {"code": LEAVE, "function": "leave"}},
        "look": {"python": {"code": LOOK, "function": "look"}},
        "secret": {"shell": {"script": 'test -n "$TOKEN" && echo "$ARG_word"'}},
        "list": {"shell": {"argv": ["ls", "/workspace"]}},
        "hang": {"shell": {"script": HANG}},
        "disturb": {"python": {"code": SIGNAL, "function": "disturb"}},
    }
    for each, backend in backends.items():
        spec = {
            "toolc": 1,
            "name": each,
            "description": f"Test what the tool {each} finds in a sandbox. Use it in this test only.",
            "parameters": {"word": {"type": "string", "default": "nothing"}},
            "backend": backend,
        }
        if each == "list":
            spec["sandbox"] = {"workspace": "ro"}
        if each == "hang":
            spec["sandbox"] = {"workspace": "rw"}
        if each == "secret":
            spec["sandbox"] = {"secrets": {"TOKEN": {"expose": "env", "hosts": []}}}
        (tmp_path / f"{each}.yaml").write_text(json.dumps(spec), encoding="utf-8")
    return Registry.load(tmp_path)


@pytest.fixture
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def executor(specs: Registry, name: str, workspace: Path) -> Iterator[Executor]:
    secrets = SecretStore({"TOKEN": LiteralSource("a-very-secret-value")})
    with Executor(specs, engine=name, pool=Pool(), workspace=workspace, secrets=secrets) as made:
        yield made


def call(executor: Executor, tool: str, **arguments: str) -> ToolResult:
    """Return the result of a call that used a warm sandbox."""
    assert not executor.run(tool, {}).is_error
    until(waiting)
    result = executor.run(tool, {**arguments})
    assert "lease" in json.dumps(result.details["timing_ms"])
    assert not result.is_error, result
    return result


def test_a_later_call_finds_nothing_of_an_earlier_one(executor: Executor) -> None:
    left = str(call(executor, "leave").structured)
    places = ("/tmp/", "/dev/shm/", "/tool/", "cmdline", "sysvipc/shm", "sysvipc/msg", "@", "leftover", "0o77")
    assert [each for each in places if each not in left] == []
    assert call(executor, "look").structured == ([],)


def test_a_warm_sandbox_has_nothing_of_a_call(executor: Executor) -> None:
    call(executor, "secret", word="a-word-of-the-call")
    until(waiting)
    group = control_group(waiting()[0])
    processes = [each for each in Path("/proc").glob("[0-9]*") if group in _text(each / "cgroup")]
    assert len(processes) >= 2
    for process in processes:
        for word in (b"a-very-secret-value", b"a-word-of-the-call"):
            assert word not in (process / "environ").read_bytes()
            assert not _is_in_memory(process, word)


def test_a_warm_sandbox_sees_changes_of_its_workspace(executor: Executor, workspace: Path) -> None:
    assert call(executor, "list").text == ""
    until(waiting)
    (workspace / "new").write_text("x", encoding="utf-8")
    assert executor.run("list", {}).text == "new\n"


def test_a_tool_can_neither_signal_nor_trace_process_1(executor: Executor) -> None:
    # Process 1 reports the end of the call.
    (found,) = call(executor, "disturb").structured or [None]
    assert isinstance(found, list)
    assert {*map(str, found)} <= {"Operation not permitted", "Permission denied"}


def test_a_workspace_is_busy_while_a_killed_process_hangs(executor: Executor, workspace: Path) -> None:
    freezer = Path("/sys/fs/cgroup/freezer")
    if not freezer.is_dir():
        pytest.skip("only version 1 of control groups freezes a process that is killed")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(executor.run, "hang", {})
        until((workspace / "file").exists)
        process = _hanging_in(workspace)
        (own,) = (line.split(":")[2] for line in _text(process / "cgroup").splitlines() if ":freezer:" in line)
        group = Path(f"{freezer}{own}/hangs")
        group.mkdir()
        (group / "cgroup.procs").write_text(process.name, encoding="ascii")
        (group / "freezer.state").write_text("FROZEN", encoding="ascii")
        try:
            until(lambda: _text(group / "freezer.state") == "FROZEN\n")
            (workspace / "go").touch()
            with pytest.raises(InfrastructureError, match="was killed but has not ended"):
                running.result()
            size = (workspace / "file").stat().st_size
            with pytest.raises(InfrastructureError, match="is busy"):
                executor.run("list", {})
            assert not executor.run("look", {}).is_error
        finally:
            (group / "freezer.state").write_text("THAWED", encoding="ascii")
    until(lambda: not busy._MARKS.removals)
    assert not process.exists()
    assert (workspace / "file").stat().st_size == size
    assert executor.run("list", {}).text.split() == ["file", "go"]


def test_a_killed_sandbox_is_not_used(executor: Executor) -> None:
    call(executor, "look")
    until(waiting)
    killed = waiting()[0]
    processes = [int(each.name) for each in Path("/proc").glob("[0-9]*") if _in_group(each, control_group(killed))]
    for process in processes:
        with suppress(ProcessLookupError):  # process 1 takes the others with it
            os.kill(process, signal.SIGKILL)
    assert not executor.run("look", {}).is_error
    until(lambda: killed not in waiting())


def test_close_leaves_nothing(executor: Executor) -> None:
    call(executor, "look")
    until(waiting)
    group = control_group(waiting()[0])
    executor.close()
    assert processes_in(group) == []


def test_an_engine_that_is_closed_first_leaves_no_sandbox(specs: Registry, name: str) -> None:
    with closing(type(load(name))()) as engine, Executor(specs, engine=engine, pool=Pool()) as executor:
        call(executor, "look")
        until(waiting)
        group = control_group(waiting()[0])
        engine.close()
        assert processes_in(group) == []
        until(lambda: not waiting() and not is_busy())
        time.sleep(0.5)  # longer than the pool waits before it starts a replacement
        assert not waiting()
        assert [each.name for each in Owner.current().directory().glob("oci-*")] == []
        assert not executor.run("look", {}).is_error
        call(executor, "look")


OWNER = """\
import sys, time
from toolc import Executor, Pool, Registry
from toolc.sandbox.host.owner import Owner
executor = Executor(Registry.load(sys.argv[1]), engine=sys.argv[2], pool=Pool())
executor.run("look", {})
while executor._options.pool.counts() != (1, 0):
    time.sleep(0.005)
print(Owner.current().label(), flush=True)
if sys.argv[3] == "exits":
    sys.exit()
sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["is killed", "exits"])
def test_nothing_is_left_when_the_process_ends(specs: Registry, tmp_path: Path, name: str, end: str) -> None:
    argv = [sys.executable, "-c", OWNER, str(tmp_path), name, end]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        label = process.stdout.readline().decode().strip()
        assert label
        if end == "is killed":
            process.kill()
        assert process.stderr.read() == b""
    until(lambda: label not in [each.owner for each in load(name).leftovers()])


def _hanging_in(workspace: Path) -> Path:
    """Return the folder in /proc of the process that hangs in a sandbox with this workspace."""
    found = {}
    for each in Path("/proc").glob("[0-9]*"):
        if _text(each / "cmdline").startswith(HANGING):
            with suppress(OSError):  # it has ended
                if (each / "root/workspace").samefile(workspace):
                    found[each.name] = _text(each / "stat").rpartition(")")[2].split()[1]
    # Not its child, which has the same command line until it runs another program.
    (process,) = (each for each, parent in found.items() if parent not in found)
    return Path("/proc") / process


def _in_group(process: Path, group: str) -> bool:
    return group in _text(process / "cgroup")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _is_in_memory(process: Path, word: bytes) -> bool:
    """Return whether a process has ``word`` in memory that it can write to."""
    with (process / "mem").open("rb", buffering=0) as memory:
        for line in (process / "maps").read_text(encoding="utf-8").splitlines():
            addresses, flags, *_ = line.split()
            start, end = (int(each, 16) for each in addresses.split("-"))
            if flags.startswith("rw"):
                memory.seek(start)
                if word in memory.read(end - start):
                    return True
    return False
