"""Limits: a call that exceeds one ends with its error, and other calls are not affected."""

import re
from typing import Final

from conformance_case import OK, Case, Difference, Expected, fails, limits, python, says, shell

_TOO_MUCH: Final = re.compile(r"the call exceeded its memory limit of 96 MiB and was stopped; .*")
_SMALL: Final = {"memory": "96MiB", "tmp": "64MiB", "timeout": "100s"}
_MEMORY: Final[Expected] = {"outcome": "out_of_memory", "error": "out_of_memory", "message": _TOO_MUCH}

_TIMED_OUT: Final = re.compile(
    r"the call did not finish within (0\.5|50) s and was stopped; request less work per call"
)

_HOG: Final = "hog = []\nwhile True: hog.append(bytearray(b'x' * (1 << 20)))"

CASES: Final = (
    Case(
        "a call that takes too long is ended and its output is kept",
        shell("echo so far; sleep 1000"),
        fails(
            "timeout", _TIMED_OUT, outcome="timed_out",
            text=re.compile(rf"{_TIMED_OUT.pattern}\n\[stdout so far\]\nso far"),
        ),
        sandbox=limits(timeout="100s"),
        hurry=0.5,
        varies=("text", "message"),
    ),
    Case(
        "a function that takes too long is ended", python("def run():\n    while True: pass"),
        fails("timeout", "the call did not finish within 0.5 s and was stopped; request less work per call"),
        sandbox=limits(timeout="500ms"),
    ),
    Case(
        "a timeout may be longer than the kernel's longest wait", shell("sleep 0.1; echo done"), says("done\n"),
        sandbox=limits(timeout="9007199254740s"),
    ),
    Case(
        "a call that stops itself is ended too", shell("kill -STOP $$"),
        fails("timeout", re.compile(r"the call did not finish within 0\.5 s .*")), sandbox=limits(timeout="500ms"),
    ),
    Case(
        "a program that needs more memory than its limit runs out of memory", shell('exec python3 -c "$ARG_code"'),
        _MEMORY, args={"code": _HOG}, sandbox=limits(**_SMALL),
    ),
    Case(
        "a function that needs more memory than its limit runs out of memory",
        python("def run():\n    return len(bytearray(b'x' * (200 << 20)))"), _MEMORY, sandbox=limits(**_SMALL),
    ),
    Case(
        "children that need too much memory together run out of memory",
        python(
            "import subprocess, sys, time\n"
            "CHILD = \"import sys; a = bytearray(b'x' * (8 << 20)); sys.stdin.read()\"\n"
            "def run():\n"
            "    many = [subprocess.Popen([sys.executable, '-c', CHILD], stdin=-1) for _ in range(16)]\n"
            "    while all(each.poll() is None for each in many): time.sleep(0.05)\n"
            "    return 'one has exited'\n"
        ),
        _MEMORY,
        sandbox=limits(**_SMALL),
    ),
    Case(
        "a child with the best OOM score still runs out of memory",
        shell("sh -c 'echo 0 >/proc/self/oom_score_adj; exec python3 -c \"$ARG_code\"' 2>/dev/null; echo survived"),
        _MEMORY, args={"code": _HOG}, sandbox=limits(**_SMALL),
    ),
    Case(
        "files in /tmp count as memory", shell('head -c 60000000 /dev/zero >/tmp/a; exec python3 -c "$ARG_code"'),
        _MEMORY, args={"code": "a = bytearray(b'x' * (60 << 20))"}, sandbox=limits(**_SMALL),
    ),
    Case(
        "a tool can use all memory within its limit", shell('exec python3 -c "$ARG_code"'), says("25165824\n"),
        args={"code": "print(len(b'x' * (24 << 20)))"}, sandbox=limits(**_SMALL),
    ),
    Case(
        "a tool that ignores a child's lack of memory still runs out of it",
        python(
            "import subprocess, sys\n"
            "def run():\n"
            "    return subprocess.run([sys.executable, '-c', HOG], stderr=-3).returncode\n"
            f"HOG = {_HOG!r}\n"
        ),
        _MEMORY,
        sandbox=limits(**_SMALL),
    ),
    Case(
        "/tmp is full at its size and that is an error of the write",
        shell("head -c 3000000 /dev/zero >/tmp/a"),
        fails(
            "exit_status", "the command ended with exit status 1",
            text="head: error writing 'standard output': No space left on device\n[exit status 1]",
        ),
        sandbox=limits(tmp="2MiB"),
    ),
    Case(
        "/dev/shm has a separate size", shell("head -c 17000000 /dev/zero >/dev/shm/a"),
        fails("exit_status", re.compile(r".*exit status 1"), text=re.compile(r"(?s).*No space left.*")),
    ),
    Case(
        "a file cannot be larger than its limit", shell("head -c 3000000 /dev/zero >/tmp/a"),
        fails("exit_status", re.compile(r".*exit status 1"), text=re.compile(r"(?s).*File too large.*")),
        sandbox=limits(file_size="1MiB"),
    ),
    Case(
        "a sparse file counts with its full size", shell("truncate -s 2M /tmp/a"),
        fails("exit_status", re.compile(r".*exit status 1"), text=re.compile(r"(?s).*File too large.*")),
        sandbox=limits(file_size="1MiB"),
    ),
    Case(
        "a tool has no more open files than its limit",
        python(
            "import errno, os\n"
            "def run():\n"
            "    opened = []\n"
            "    try:\n"
            "        while True: opened.append(os.open('/dev/null', os.O_RDONLY))\n"
            "    except OSError as error:\n"
            "        return [errno.errorcode[error.errno], max(opened)]\n"
        ),
        {**OK, "structured": ["EMFILE", 39]},
        sandbox=limits(files=40),
    ),
    Case(
        "a tool cannot raise its own limits",
        python(
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
        {**OK, "structured": {"NOFILE": [64, 64], "FSIZE": [1 << 20, 1 << 20], "CORE": [1, 1]}},
        sandbox=limits(files=64, file_size="1MiB"),
    ),
    Case(
        "a tool has no more processes than its limit",
        python(
            "import errno, os\n"
            "def run():\n"
            "    for count in range(100):\n"
            "        try: pid = os.fork()\n"
            "        except OSError as error: return [errno.errorcode[error.errno], count <= 20]\n"
            "        if pid == 0: os.read(os.pipe()[0], 1)\n"
        ),
        {**OK, "structured": ["EAGAIN", True]},
        sandbox=limits(pids=20),
    ),
    Case(
        "threads count as processes",
        python(
            "import threading\n"
            "def run():\n"
            "    wait = threading.Event()\n"
            "    for count in range(100):\n"
            "        try: threading.Thread(target=wait.wait, daemon=True).start()\n"
            "        except RuntimeError: return count <= 20\n"
        ),
        {**OK, "structured": True},
        sandbox=limits(pids=20),
    ),
    Case(
        "a process gets only its share of a processor",
        python(
            "import time\n"
            "def run():\n"
            "    end = time.monotonic() + 1.5\n"
            "    while time.monotonic() < end: pass\n"
            "    return time.process_time() < 0.75\n"
        ),
        {**OK, "structured": True},
        sandbox=limits(cpus=0.25),
        differs={
            "docker+gvisor": Difference(
                "gVisor counts the time that a process waits for its share as used", {"outcome": "exited"}
            )
        },
    ),
    Case(
        "several processes together get only the share",
        python(
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
        {**OK, "structured": True},
        sandbox=limits(cpus=0.25),
        differs={
            "docker+gvisor": Difference(
                "gVisor counts the time that a process waits for its share as used", {"outcome": "exited"}
            )
        },
    ),
    Case("there is no swap", shell("tail -n +2 /proc/swaps 2>/dev/null | wc -l"), says("0\n")),
    Case(
        "a cancelled call is ended immediately", shell("trap '' TERM INT; echo begun; sleep 1000"),
        fails("cancelled", "the call was cancelled before it finished", outcome="cancelled"), cancel_at="begun",
    ),
    Case(
        "a flood of output does not delay the cancellation", shell("exec yes"),
        {"outcome": "cancelled", "error": "cancelled"}, cancel_after=1.5, varies=("text", "streamed", "truncated"),
    ),
    Case(
        "a call cancelled before its start runs nothing", shell("echo begun; sleep 1000"),
        {"outcome": "cancelled", "error": "cancelled"}, cancel_after=0,
    ),
)  # fmt: skip
