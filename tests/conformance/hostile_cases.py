"""Hostile tools: each ends with the right error, leaves no process, and does not affect other calls."""

import re
from typing import Final

from conformance_case import OK, Case, Difference, fails, limits, python, says, shell

_TIMEOUT: Final = {"outcome": "timed_out", "error": "timeout"}
_SOON: Final = limits(timeout="1500ms")
_FRAME: Final = r"\000\000\000\002\010\000\000\000\000{}"
"""An EXIT frame of the wire protocol."""

_ENDED: Final = {"outcome": re.compile("out_of_memory|timed_out"), "error": re.compile("out_of_memory|timeout")}
_COUNTS: Final = "gVisor counts processes itself, so a fork bomb often ends because of its memory"
_INODES: Final = "gVisor does not limit the number of files in /tmp, only their memory"


CASES: Final = (
    Case(
        "a fork bomb ends at its deadline",
        python("import os\ndef run():\n    while True:\n        try: os.fork()\n        except OSError: pass\n"),
        _TIMEOUT, sandbox={"limits": {"timeout": "2s", "pids": 64}},
        differs={"docker+gvisor": Difference(_COUNTS, _ENDED)},
    ),
    Case(
        "a fork bomb in a shell ends with its script",
        shell("bomb() { bomb | bomb & }; bomb 2>/dev/null; echo lit; sleep 1"), {"outcome": "exited"},
        sandbox={"limits": {"timeout": "100s", "pids": 64}},
        varies=("streamed", "stderr", "text", "message", "error", "exit_status"),
    ),
    Case(
        "double forks in separate sessions end with the tool",
        python(
            "import os, signal, time\n"
            "def run():\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        for number in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(number, signal.SIG_IGN)\n"
            "        while True:\n"
            "            if os.fork(): os._exit(0)\n"
            "            os.setsid()\n"
            "    time.sleep(0.3)\n"
            "    return 'done'\n"
        ),
        says("done"),
    ),
    Case(
        "a tool that ignores every signal ends at its deadline",
        shell("trap '' 1 2 3 13 14 15 20 21 22; while :; do sleep 1; done"), _TIMEOUT, sandbox=_SOON,
    ),
    Case(
        "process 1 ignores signals that would end or stop it",
        python(
            "import os, time\n"
            "def run():\n"
            "    for number in set(range(1, 65)) - {32, 33}:\n"
            "        for _ in range(3):\n"
            "            try: os.kill(1, number)\n"
            "            except PermissionError: pass\n"
            "    time.sleep(0.2)\n"
            "    return 'alive'\n"
        ),
        says("alive"),
    ),
    Case(
        "process 1 ignores signals sent by other system calls",
        python(
            "import ctypes, fcntl, os, signal, socket, struct, time\n"
            "CALLS = {'x86_64': (200, 234, 129, 297, 434, 424), 'aarch64': (130, 131, 138, 240, 434, 424)}\n"
            "tkill, tgkill, queue, queue_thread, pidfd, send = CALLS[os.uname().machine]\n"
            "call = ctypes.CDLL(None).syscall\n"
            "def run():\n"
            "    info = struct.pack('iii', 9, 0, -1) + bytes(116)\n"
            "    call(tkill, 1, 9), call(tgkill, 1, 1, 9), call(queue, 1, 9, info)\n"
            "    call(queue_thread, 1, 1, 9, info)\n"
            "    call(tkill, ctypes.c_long((1 << 32) + 1), 9)\n"
            "    call(send, call(pidfd, 1, 0), 9, None, 0)\n"
            "    one, other = socket.socketpair()\n"
            "    try:\n"
            "        fcntl.fcntl(one, 10, signal.SIGKILL)\n"
            "        fcntl.fcntl(one, fcntl.F_SETOWN, 1)\n"
            "        fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)\n"
            "        other.send(b'x')\n"
            "    except OSError: pass\n"
            "    time.sleep(0.2)\n"
            "    return 'alive'\n"
        ),
        says("alive"),
    ),
    Case(
        "a flood of signals does not block process 1",
        python(
            "import os, signal\n"
            "def run():\n"
            "    for _ in range(4):\n"
            "        if os.fork() == 0:\n"
            "            while True:\n"
            "                try: os.kill(1, signal.SIGCHLD); os.kill(1, 40)\n"
            "                except PermissionError: pass\n"
            "    return 'answered'\n"
        ),
        says("answered"),
    ),
    Case(
        "a tool may kill everything except itself and process 1",
        python(
            "import os\ndef run():\n    try: os.kill(-1, 9)\n    except ProcessLookupError: pass\n    return 'alone'"
        ),
        says("alone"),
    ),
    Case(
        "a tool that stops everything ends at its deadline",
        python("import os\ndef run():\n    os.fork()\n    while True: os.kill(-1, 19)"), _TIMEOUT, sandbox=_SOON,
    ),
    Case(
        "no limit of process 1 can be changed",
        python(
            "import os, resource, time\n"
            "def run():\n"
            "    found = set()\n"
            "    for name in ('CPU', 'NOFILE', 'AS', 'STACK', 'FSIZE'):\n"
            "        try: resource.prlimit(1, getattr(resource, 'RLIMIT_' + name), (0, 0)); found.add('changed')\n"
            "        except OSError: found.add('refused')\n"
            "    time.sleep(0.2)\n"
            "    return sorted(found)\n"
        ),
        {**OK, "structured": ["refused"]},
    ),
    Case(
        "a low priority of process 1 does not delay the deadline",
        python(
            "import os\n"
            "def run():\n"
            "    for attempt in (\n"
            "        lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),\n"
            "        lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),\n"
            "    ):\n"
            "        try: attempt()\n"
            "        except OSError: pass\n"
            "    for _ in range(20):\n"
            "        if os.fork() == 0:\n"
            "            while True: pass\n"
            "    while True: pass\n"
        ),
        _TIMEOUT,
        sandbox=_SOON,
    ),
    Case(
        "frames of the protocol on stdout are text", shell(f"printf '{_FRAME}'; printf '{_FRAME}' >&2"),
        {**OK, "text": "\0\0\0\x02\x08\0\0\0\0{}", "stderr": "\0\0\0\x02\x08\0\0\0\0{}"},
    ),
    Case(
        "frames written to every descriptor damage only the tool's own result",
        python(
            "import os\n"
            "FRAME = bytes.fromhex('000000020800000000') + b'{}'\n"
            "def run():\n"
            "    for fd in range(3, 256):\n"
            "        try: os.write(fd, FRAME * 10 + b'\\n')\n"
            "        except OSError: pass\n"
            "    return 'forged'\n"
        ),
        fails("execution", re.compile(r"the function's answer cannot be read: .*")),
    ),
    Case(
        "forged control messages are ignored",
        python(
            "import json, os\n"
            "def run():\n"
            "    for note in ({'failed': 'x'}, {'not_started': 'y'}, {'started': 0}, ['z'], {'percent': 'w'}):\n"
            "        for fd in range(3, 20):\n"
            "            try: os.stat(fd).st_mode & 0o010000 and os.write(fd, json.dumps(note).encode() + b'\\n')\n"
            "            except OSError: pass\n"
            "    return 'forged'\n"
        ),
        fails("execution", re.compile(r"the function's answer cannot be read: .*")),
    ),
    Case(
        "a flood of progress reports is rate-limited",
        python(
            "def run(ctx):\n    for count in range(30_000): ctx.progress(count % 100, 'x' * 900)\n    return 'done'"
        ),
        {**OK, "text": "done"},
        varies=("progress", "streamed"),
    ),
    Case(
        "a tool that closes every descriptor has no result",
        python("import os\ndef run():\n    os.closerange(0, 4096)\n    return 'unheard'"),
        {"error": "execution", "outcome": "exited"},
    ),
    Case(
        "limits that a tool sets for itself harm only itself",
        shell("ulimit -n 3; ulimit -f 0; ulimit -v 100000; ulimit -t 1; while :; do :; done"),
        fails("exit_status", "the command was killed by SIGKILL"), sandbox=limits(timeout="100s"),
    ),
    Case(
        "an endless regular expression is ended",
        python("import re\ndef run():\n    re.match('(a+)+$', 'a' * 64 + '!')"), _TIMEOUT, sandbox=_SOON,
    ),
    Case(
        "an endless call into C code is ended", python("def run():\n    return sum(range(10 ** 15))"), _TIMEOUT,
        sandbox=_SOON,
    ),
    Case(
        "a gigabyte on both streams is read to its end",
        shell("head -c 500000000 /dev/zero >&2 & head -c 500000000 /dev/zero; wait"),
        {
            **OK, "text": "\0" * 512 + "\n[499998976 bytes cut]\n" + "\0" * 512,
            "stderr": "\0" * 512 + "\n[499998976 bytes cut]\n" + "\0" * 512,
        },
        sandbox={"limits": {"timeout": "300s", "output": "1KiB"}},
    ),
    Case(
        "endless output is ended at the deadline", shell("yes >&2 & exec yes"), _TIMEOUT, sandbox=_SOON,
        varies=("text", "streamed"),
    ),
    Case(
        "a million files in /tmp exceed its limit",
        python(
            "import errno, os\n"
            "def run():\n"
            "    try:\n"
            "        for number in range(1_000_000): os.mknod('/tmp/%d' % number)\n"
            "    except OSError as error: return [errno.errorcode[error.errno], number < 20_000]\n"
        ),
        {**OK, "structured": ["ENOSPC", True]},
        differs={"docker+gvisor": Difference(_INODES, {"outcome": "out_of_memory", "error": "out_of_memory"})},
    ),
    Case(
        "memory outside any process counts too",
        python(
            "import os\n"
            "def run():\n"
            "    fd = os.memfd_create('x')\n"
            "    for _ in range(400): os.write(fd, bytes(1 << 20))\n"
            "    return 'kept'\n"
        ),
        {"outcome": "out_of_memory", "error": "out_of_memory"},
        sandbox={"limits": {"memory": "64MiB", "tmp": "16MiB"}},
    ),
    Case(
        "shared memory of System V counts too",
        python(
            "import ctypes\n"
            "def run():\n"
            "    libc = ctypes.CDLL(None); libc.shmat.restype = ctypes.c_void_p\n"
            "    shared = libc.shmget(0, ctypes.c_size_t(256 << 20), 0o1600)\n"
            "    ctypes.memset(libc.shmat(shared, None, 0), 1, 256 << 20)\n"
            "    return 'kept'\n"
        ),
        {"outcome": "out_of_memory", "error": "out_of_memory"},
        sandbox={"limits": {"memory": "64MiB", "tmp": "16MiB"}},
    ),
    Case(
        "hundreds of orphans are reaped",
        shell("i=0; while [ $i -lt 300 ]; do (true &); i=$((i+1)); done; echo done"), says("done\n"),
    ),
    Case(
        "spinning children do not delay the end",
        shell("for i in 1 2 3 4 5 6 7 8 9 10; do (while :; do :; done) & done; echo done"), says("done\n"),
    ),
    Case(
        "a crash leaves no core", shell("(ulimit -c unlimited) 2>/dev/null || true; sh -c 'kill -SEGV $$' || ls -A"),
        {**OK, "text": "", "files": {}}, sandbox={"workspace": "rw"},
    ),
    Case(
        "system files cannot be removed",
        shell(
            "rm -rf --no-preserve-root /usr /etc /var /home 2>/dev/null || true; "
            "test -x /usr/bin/env && test -r /etc/passwd && echo both are there"
        ),
        says("both are there\n"),
    ),
    Case(
        "a result nested 100,000 levels deep is an error",
        python("def run():\n    deep = []\n    for _ in range(100_000): deep = [deep]\n    return deep"),
        fails("serialization", "the result is nested too deeply for JSON"),
    ),
    Case(
        "a program with too large an environment and arguments is not started",
        python(
            "import errno, os\n"
            "def run():\n"
            "    try: os.execve('/bin/true', ['x' * 100_000] * 30, {'A': 'y' * 100_000})\n"
            "    except OSError as error: return error.errno in (errno.E2BIG, errno.ENAMETOOLONG)\n"
        ),
        {**OK, "structured": True},
    ),
    Case(
        "a daemonized process under another name ends too",
        python(
            "import ctypes, os\n"
            "def run():\n"
            "    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
            "    if os.fork() == 0:\n"
            "        ctypes.CDLL(None).prctl(15, b'kworker/0:0', 0, 0, 0)\n"
            "        os.setsid(); os.closerange(0, 4096)\n"
            "        if os.fork() == 0:\n"
            "            while True: pass\n"
            "        os._exit(0)\n"
            "    return 'done'\n"
        ),
        says("done"),
    ),
    Case("a call after all of these succeeds", shell("echo still here"), says("still here\n")),
)  # fmt: skip
