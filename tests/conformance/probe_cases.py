"""Attempts on the kernel and the host, which must be refused. Each attempt has a separate process.

One call makes all attempts: once as user nobody, once in a workspace of root.
"""

import re
from typing import Final

from attempts_beyond import NAMES, TOOL
from conformance_case import Case, Difference, python

from toolc.model.json_schema import JsonObject


def _refused_but(why: str, *done: str) -> Difference:
    assert set(done) <= set(NAMES), set(done) - set(NAMES)
    found: JsonObject = {name: "done" if name in done else "refused" for name in NAMES}
    return Difference(why, {"outcome": "exited", "structured": found})


_OWN_PROCESS_1: Final = (
    "listing /proc/1/fd", "writing to /proc/1/coredump_filter",
    "writing to /proc/1/oom_score_adj", "writing to /proc/1/sched",
)  # fmt: skip
_ROOTLESS: Final = (
    "an ordinary user's tool is user 0 of its user namespace, and so is process 1: the tool sees how many files it "
    "has open, and can change its OOM score"
)
_GVISOR: Final = (
    "gVisor's kernel handles the system calls, not the host's: it hides less of process 1, and devices, priorities, "
    "OOM scores, message queues, huge pages and packet marks of a tool exist only in the sandbox"
)
_GVISORS: Final = (
    "a better priority", "a block device", "a character device", "a mark for packets",
    "a mount that allows set-user-id or devices", "a score that protects from the lack of memory",
    "addresses of others", "file-systems-in-user-space", "listing /proc/1/fd", "listing /proc/1/fdinfo",
    "memory of huge pages", "more queues of messages than are its share", "other-devices",
    "reading /proc/1/auxv", "reading /proc/1/environ", "reading /proc/1/maps", "reading /proc/1/smaps",
    "reading /proc/1/task/1/environ", "tunnel", "x86 system calls",
)  # fmt: skip
_ROOTS: Final = (
    "the owner of root's workspace is root without capabilities: it sees how many files process 1 has open, can "
    "change its OOM score, and can read files of the image that only root can read; the workspace has the mount "
    "options of the host"
)

_WIRE: Final = (
    "import os\n"
    "FRAME = bytes.fromhex('000000020800000000') + b'{}'\n"
    "def run():\n"
    "    found = set()\n"
    "    for fd in range(20):\n"
    "        for path in ('/proc/1/fd/%d' % fd, '/proc/1/task/1/fd/%d' % fd):\n"
    "            try: os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), FRAME)\n"
    "            except OSError: found.add('refused')\n"
    "            else: found.add('written')\n"
    "    return sorted(found)\n"
)

_LIMITS: Final[JsonObject] = {"timeout": "250s", "output": "1MiB"}

CASES: Final = (
    Case(
        "a tool cannot write on the wire to the host",
        python(_WIRE),
        {"outcome": "exited", "structured": ["refused"]},
        differs={
            "docker+gvisor": Difference(
                "gVisor does not hide the descriptors of process 1: writing to them only breaks the call",
                {"infrastructure": re.compile(r"(?s)the sandbox violated the wire protocol: .*")},
            )
        },
    ),
    Case(
        "every attempt of user nobody on the kernel and the host is refused",
        python(TOOL),
        _refused_but("").expect,
        sandbox={"limits": _LIMITS},
        varies=("stdout",),
        differs={
            "docker+gvisor": _refused_but(_GVISOR, *_GVISORS), "oci user": _refused_but(_ROOTLESS, *_OWN_PROCESS_1),
        },
    ),
    Case(
        "every attempt of a tool that works on root's files is refused",
        python(TOOL),
        _refused_but("").expect,
        sandbox={"workspace": "ro", "limits": _LIMITS},
        owner=0,
        varies=("stdout", "user"),
        differs={
            "docker": _refused_but(
                _ROOTS, *_OWN_PROCESS_1, "home-folders", "password-hashes", "a mount that allows set-user-id or devices"
            ),
            "podman": _refused_but(
                _ROOTS, *_OWN_PROCESS_1, "home-folders", "password-hashes", "a mount that allows set-user-id or devices"
            ),
            "docker+gvisor": _refused_but(
                f"{_GVISOR}; {_ROOTS}", *_GVISORS, "a file under /sys or /proc/sys that can be written",
                "home-folders", "password-hashes", "reading /proc/1/io",
                "writing to /proc/sys/kernel/yama/ptrace_scope", "writing to /proc/1/oom_score_adj",
            ),
            "oci user": _refused_but(_ROOTLESS, *_OWN_PROCESS_1),
        },
    ),
)  # fmt: skip
