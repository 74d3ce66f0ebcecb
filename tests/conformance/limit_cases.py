"""The limits: each ends what goes beyond it, says which it was, and leaves what stays within it alone."""

from __future__ import annotations

import re
from typing import Final

from conformance_case import OK, Case, Difference, Expected, fails, limits, python, says, shell

_TOO_MUCH: Final = re.compile(r"the call needed more than its 96 MiB of memory and was stopped; .*")
_SMALL: Final = {"memory": "96MiB", "tmp": "64MiB", "timeout": "100s"}
_MEMORY: Final[Expected] = {"outcome": "out_of_memory", "error": "out_of_memory", "message": _TOO_MUCH}

_LATE: Final = re.compile(r"the call was not done after (0\.5|50) s and was stopped; ask for less work at once")

_HOG: Final = "hog = []\nwhile True: hog.append(bytearray(b'x' * (1 << 20)))"

CASES: Final = (
    Case(
        name="a call that takes too long is ended and its output is kept",
        backend=shell("echo so far; sleep 1000"),
        sandbox=limits(timeout="100s"),
        hurry=0.5,
        varies=("text", "message"),
        expect=fails(
            "timeout", _LATE, outcome="timed_out", text=re.compile(rf"{_LATE.pattern}\n\[stdout so far\]\nso far")
        ),
    ),
    Case(
        name="a function that takes too long is ended",
        backend=python("def run():\n    while True: pass"),
        sandbox=limits(timeout="500ms"),
        expect=fails("timeout", "the call was not done after 0.5 s and was stopped; ask for less work at once"),
    ),
    Case(
        name="a call may have longer than the kernel can wait at once",
        backend=shell("sleep 0.1; echo done"),
        sandbox=limits(timeout="9007199254740s"),
        expect=says("done\n"),
    ),
    Case(
        name="a call that stops itself is ended too",
        backend=shell("kill -STOP $$"),
        sandbox=limits(timeout="500ms"),
        expect=fails("timeout", re.compile(r"the call was not done after 0\.5 s .*")),
    ),
    Case(
        name="a program that needs more memory than its limit ran out of memory",
        backend=shell('exec python3 -c "$ARG_code"'),
        args={"code": _HOG},
        sandbox=limits(**_SMALL),
        expect=_MEMORY,
    ),
    Case(
        name="a function that needs more memory than its limit ran out of memory",
        backend=python("def run():\n    return len(bytearray(b'x' * (200 << 20)))"),
        sandbox=limits(**_SMALL),
        expect=_MEMORY,
    ),
    Case(
        name="many small children that need too much together ran out of memory",
        backend=python(
            "import subprocess, sys, time\n"
            "CHILD = \"import sys; a = bytearray(b'x' * (8 << 20)); sys.stdin.read()\"\n"
            "def run():\n"
            "    many = [subprocess.Popen([sys.executable, '-c', CHILD], stdin=-1) for _ in range(16)]\n"
            "    while all(each.poll() is None for each in many): time.sleep(0.05)\n"
            "    return 'one is gone'\n"
        ),
        sandbox=limits(**_SMALL),
        expect=_MEMORY,
    ),
    Case(
        name="a child that gives itself the best score ran out of memory all the same",
        backend=shell(
            "sh -c 'echo 0 >/proc/self/oom_score_adj; exec python3 -c \"$ARG_code\"' 2>/dev/null; echo survived"
        ),
        args={"code": _HOG},
        sandbox=limits(**_SMALL),
        expect=_MEMORY,
    ),
    Case(
        name="files in /tmp count as memory",
        backend=shell('head -c 60000000 /dev/zero >/tmp/a; exec python3 -c "$ARG_code"'),
        args={"code": "a = bytearray(b'x' * (60 << 20))"},
        sandbox=limits(**_SMALL),
        expect=_MEMORY,
    ),
    Case(
        name="a tool that stays within its memory has all of it",
        backend=shell('exec python3 -c "$ARG_code"'),
        args={"code": "print(len(b'x' * (24 << 20)))"},
        sandbox=limits(**_SMALL),
        expect=says("25165824\n"),
    ),
    Case(
        name="a tool that catches the lack of memory in a child still ran out of it",
        backend=python(
            "import subprocess, sys\n"
            "def run():\n"
            "    return subprocess.run([sys.executable, '-c', HOG], stderr=-3).returncode\n"
            f"HOG = {_HOG!r}\n"
        ),
        sandbox=limits(**_SMALL),
        expect=_MEMORY,
    ),
    Case(
        name="/tmp is full at its size and that is an error of the write",
        backend=shell("head -c 3000000 /dev/zero >/tmp/a"),
        sandbox=limits(tmp="2MiB"),
        expect=fails(
            "exit_status",
            "the command ended with exit status 1",
            text="head: error writing 'standard output': No space left on device\n[exit status 1]",
        ),
    ),
    Case(
        name="/dev/shm has a size of its own",
        backend=shell("head -c 17000000 /dev/zero >/dev/shm/a"),
        expect=fails("exit_status", re.compile(r".*exit status 1"), text=re.compile(r"(?s).*No space left.*")),
    ),
    Case(
        name="a file cannot be larger than its limit",
        backend=shell("head -c 3000000 /dev/zero >/tmp/a"),
        sandbox=limits(file_size="1MiB"),
        expect=fails("exit_status", re.compile(r".*exit status 1"), text=re.compile(r"(?s).*File too large.*")),
    ),
    Case(
        name="a file with holes is as large as it says",
        backend=shell("truncate -s 2M /tmp/a"),
        sandbox=limits(file_size="1MiB"),
        expect=fails("exit_status", re.compile(r".*exit status 1"), text=re.compile(r"(?s).*File too large.*")),
    ),
    Case(
        name="a tool has no more open files than its limit",
        backend=python(
            "import errno, os\n"
            "def run():\n"
            "    opened = []\n"
            "    try:\n"
            "        while True: opened.append(os.open('/dev/null', os.O_RDONLY))\n"
            "    except OSError as error:\n"
            "        return [errno.errorcode[error.errno], max(opened)]\n"
        ),
        sandbox=limits(files=40),
        expect={**OK, "structured": ["EMFILE", 39]},
    ),
    Case(
        name="no limit of its own can be raised by the tool",
        backend=python(
            "import resource\n"
            "def run():\n"
            "    found = {}\n"
            "    for name in ('NOFILE', 'FSIZE', 'CORE'):\n"
            "        which = getattr(resource, 'RLIMIT_' + name)\n"
            "        soft, hard = resource.getrlimit(which)\n"
            "        try: resource.setrlimit(which, (hard + 1, hard + 1)); found[name] = 'raised'\n"
            "        except (ValueError, OSError): found[name] = [soft, hard]\n"
            "    return found\n"
        ),
        sandbox=limits(files=64, file_size="1MiB"),
        expect={**OK, "structured": {"NOFILE": [64, 64], "FSIZE": [1 << 20, 1 << 20], "CORE": [1, 1]}},
    ),
    Case(
        name="a tool has no more processes than its limit",
        backend=python(
            "import errno, os\n"
            "def run():\n"
            "    for count in range(100):\n"
            "        try: pid = os.fork()\n"
            "        except OSError as error: return [errno.errorcode[error.errno], count <= 20]\n"
            "        if pid == 0: os.read(os.pipe()[0], 1)\n"
        ),
        sandbox=limits(pids=20),
        expect={**OK, "structured": ["EAGAIN", True]},
    ),
    Case(
        name="threads count as processes",
        backend=python(
            "import threading\n"
            "def run():\n"
            "    wait = threading.Event()\n"
            "    for count in range(100):\n"
            "        try: threading.Thread(target=wait.wait, daemon=True).start()\n"
            "        except RuntimeError: return count <= 20\n"
        ),
        sandbox=limits(pids=20),
        expect={**OK, "structured": True},
    ),
    Case(
        name="a share of a processor is no more than that",
        backend=python(
            "import time\n"
            "def run():\n"
            "    end = time.monotonic() + 1.5\n"
            "    while time.monotonic() < end: pass\n"
            "    return time.process_time() < 0.75\n"
        ),
        sandbox=limits(cpus=0.25),
        expect={**OK, "structured": True},
        differs={
            "docker+gvisor": Difference(
                "gVisor counts what a process waits for its share as time it used", {"outcome": "exited"}
            )
        },
    ),
    Case(
        name="more than one process together have no more than the share",
        backend=python(
            "import os, time\n"
            "def run():\n"
            "    children, end = [], time.monotonic() + 1.5\n"
            "    for _ in range(3):\n"
            "        if (pid := os.fork()) == 0:\n"
            "            while time.monotonic() < end: pass\n"
            "            os._exit(0)\n"
            "        children.append(pid)\n"
            "    used = sum(sum(os.wait4(pid, 0)[2][:2]) for pid in children)\n"
            "    return used < 0.9\n"
        ),
        sandbox=limits(cpus=0.25),
        expect={**OK, "structured": True},
        differs={
            "docker+gvisor": Difference(
                "gVisor counts what a process waits for its share as time it used", {"outcome": "exited"}
            )
        },
    ),
    Case(
        name="there is no swap to go to",
        backend=shell("tail -n +2 /proc/swaps 2>/dev/null | wc -l"),
        expect=says("0\n"),
    ),
    Case(
        name="a cancelled call is ended at once",
        backend=shell("trap '' TERM INT; echo begun; sleep 1000"),
        cancel_at="begun",
        expect=fails("cancelled", "the call was cancelled before it was done", outcome="cancelled"),
    ),
    Case(
        name="a flood of output does not delay the cancellation",
        backend=shell("exec yes"),
        cancel_after=1.5,
        varies=("text", "streamed", "truncated"),
        expect={"outcome": "cancelled", "error": "cancelled"},
    ),
    Case(
        name="a call cancelled before it began starts nothing",
        backend=shell("echo begun; sleep 1000"),
        cancel_after=0,
        expect={"outcome": "cancelled", "error": "cancelled"},
    ),
)
