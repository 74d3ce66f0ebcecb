"""A tool that tries to write to its workspace after it has returned, in many ways, and what is checked about it.

``LateWriters`` makes the calls. Each call writes to its own files, whose content and times are recorded when its result
is returned, and compared later: any difference was written after a result.
"""

import itertools
import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from toolc.client.executor import Executor
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.model.spec.sandbox import MinIsolation
from toolc.runtime.workspace.busy import NOT_ENDED

CODE: Final = r'''
import ctypes, mmap, os, platform, signal, subprocess, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)
EXIT, CLONE = {"x86_64": (60, 56), "aarch64": (93, 220)}[platform.machine()]
WAIT = 'trap "" TERM INT HUP PIPE; while :; do echo x >> /workspace/%s; done'

def write_forever(file):
    """Write a new number to the file again and again."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    number = 0
    while True:
        number += 1
        os.pwrite(descriptor, b"%12d" % number, 0)

def apart(work, *arguments):
    """Run work in a new process, which never returns."""
    if os.fork() == 0:
        try:
            work(*arguments)
        finally:
            os._exit(0)

def ignoring(work, *arguments):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    work(*arguments)

def fork(path):
    apart(write_forever, path)

def daemon(path):
    def child():
        os.setsid()
        os.closerange(0, 3)
        apart(ignoring, write_forever, path)
    apart(child)

def sleeper(path):
    def child(seconds):
        time.sleep(seconds)
        write_forever(path)
    for number in range(16):
        apart(ignoring, child, number / 400)

def relay(path):
    """Each process starts the next one, writes once, and ends."""
    def child():
        os.setsid()
        with open(path, "ab") as file:
            file.write(b"x")
        apart(child)
    for _ in range(4):
        apart(child)

def tree(path):
    for number in range(40):
        apart(ignoring, write_forever, path)

def stopped(path):
    """A process that is stopped and continued all the time."""
    first = os.fork()
    if first == 0:
        write_forever(path)
    def child():
        while True:
            os.kill(first, signal.SIGSTOP)
            os.kill(first, signal.SIGCONT)
    apart(child)

def thread(path):
    """The first thread of a process ends, and another one writes."""
    def child():
        threading.Thread(target=write_forever, args=(path,)).start()
        libc.syscall(EXIT, 0)
    apart(ignoring, child)

def in_worker(path):
    threading.Thread(target=write_forever, args=(path,), daemon=True).start()

def at_exit(path):
    import atexit
    atexit.register(write_forever, path)
    threading.Thread(target=lambda: (time.sleep(0.01), write_forever(path))).start()

def mapped(path):
    def child():
        with open(path, "w+b") as file:
            file.truncate(4096)
            memory = mmap.mmap(file.fileno(), 4096)
        number = 0
        while True:
            number += 1
            memory[:12] = b"%12d" % number
    apart(child)

def silent(path):
    """A child that sends no signal to its parent when it ends."""
    def child():
        for _ in range(4):
            if libc.syscall(CLONE, 0, 0, 0, 0, 0) == 0:
                write_forever(path)
        os._exit(0)
    apart(child)

def adopter(path):
    def child():
        libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        apart(lambda: apart(ignoring, write_forever, path))
        write_forever(path)
    apart(ignoring, child)

def attack(path):
    """Send signals to process 1, which has to end this process."""
    def child():
        while True:
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCHLD, signal.SIGKILL):
                try:
                    os.kill(1, number)
                except OSError:
                    pass
            with open(path, "ab") as file:
                file.write(b"x")
    apart(ignoring, child)

def output(path):
    """Keeps the output open and writes to it too."""
    def child():
        with open(path, "ab") as file:
            while True:
                os.write(1, b"x")
                file.write(b"x")
                file.flush()
    apart(child)

def program(path):
    for words in (["setsid", "sh", "-c"], ["sh", "-c"]):
        subprocess.Popen([*words, WAIT % path], start_new_session=True)

def leave(way, number):
    path = "%s-%s" % (number, way)
    os.chdir("/workspace")
    globals()[way](path)
    # Half of the calls return while the processes are still being started.
    deadline = time.monotonic() + (5 if int(number) // 3 % 2 else 0)
    while not os.path.exists(path) and time.monotonic() < deadline:
        pass
    return "left"
'''

SCRIPT: Final = """\
for each in 1 2 3; do
    (trap '' TERM INT HUP; while :; do echo x >> "/workspace/$ARG_number-script"; done) &
done
test $(($ARG_number / 3 % 2)) -eq 0 || while [ ! -s "/workspace/$ARG_number-script" ]; do :; done
echo left
"""

WAYS: Final = (*re.findall(r"^def (\w+)\(path\):$", CODE, re.MULTILINE),)
"""The functions of the tool that start processes or threads which write."""

BUSY_SECONDS: Final = 60.0
"""How long a call may be refused because the workspace is busy."""

CHECK_SECONDS: Final = 2.0
"""How long after the last result its files are compared."""


class Seen(NamedTuple):
    """A file when it was looked at."""

    content: bytes
    size: int
    changed_ns: int


def write_specs(folder: Path, min_isolation: MinIsolation = "namespace") -> None:
    """Write the spec of the tool in Python (``leave``) and of the one with a script."""
    description = "Leave a process that writes to the workspace. Use it only to test that it cannot."
    # gVisor counts its own memory, and a late writer starts many processes.
    sandbox = {"workspace": "rw", "min_isolation": min_isolation, "limits": {"memory": "1GiB"}}
    number = {"number": {"type": "string", "pattern": "^[0-9]+$"}}
    leave = {"python": {"code": CODE, "function": "leave"}}
    for name, backend, parameters in (
        ("leave", leave, {"way": {"type": "string", "enum": [*WAYS]}, **number}),
        ("script", {"shell": {"script": SCRIPT}}, number),
    ):
        spec = {"toolc": 1, "name": name, "description": description, "parameters": parameters, "backend": backend}
        (folder / f"{name}.yaml").write_text(json.dumps({**spec, "sandbox": sandbox}), encoding="utf-8")


@dataclass(slots=True, kw_only=True)
class LateWriters:
    """Calls of the tools by ``executor``, whose workspace is ``workspace``."""

    executor: Executor
    workspace: Path
    wrong: list[str] = field(default_factory=list)
    _seen: dict[str, Seen] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    _ways: Iterator[tuple[int, str]] = field(default_factory=lambda: enumerate(itertools.cycle((*WAYS, "script"))))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, _: int = 0) -> None:
        """Make one call, and record its files as soon as there is a result.

        A disk or machine that does nothing for a second makes it an error, and the workspace is then busy for a while.
        """
        with self._lock:
            number, way = next(self._ways)
        try:
            result = self._result(str(number), way)
        except InfrastructureError as error:
            if str(error) != NOT_ENDED:
                raise
            with self._lock:
                self._left.add(f"{number}-{way}")
            return
        path = self.workspace / f"{number}-{way}"
        found = seen(path) if path.exists() else None
        with self._lock:
            if found:
                self._seen[path.name] = found
            if result.is_error or "left" not in result.text:
                self.wrong.append(f"call {number} ({way}): {result.text}")

    def _result(self, number: str, way: str) -> ToolResult:
        arguments: JsonObject = {"number": number} if way == "script" else {"number": number, "way": way}
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self.executor.run("script" if way == "script" else "leave", arguments)
            except InfrastructureError as error:
                if "is busy" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def calls(self, count: int, threads: int) -> None:
        """Make many calls, on several threads."""
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(self.call, range(count)):
                pass

    def check(self) -> None:
        """Compare all files with what they were when the result of their call was returned."""
        time.sleep(CHECK_SECONDS)
        now = {path.name: seen(path) for path in self.workspace.glob("[0-9]*")}
        names = {*now, *self._seen} - self._left
        changed = sorted(name for name in names if now.get(name) != self._seen.get(name))
        self.wrong += [
            f"{name}: {self._seen.get(name)} when its call returned, then {now.get(name)}" for name in changed
        ]

    @property
    def left(self) -> int:
        """How many calls were errors because a killed process had not ended."""
        return len(self._left)

    @property
    def written(self) -> int:
        """How many files were written to."""
        return len(self._seen)


def seen(path: Path) -> Seen:
    """Return the content, size and time of a file."""
    content, status = path.read_bytes(), path.stat()
    return Seen(content[:64], status.st_size, status.st_mtime_ns)
