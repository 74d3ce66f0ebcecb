"""One call, as the worker gets it: the CALL frame parsed, and everything made ready for it.

The CALL frame's JSON::

    {"call_id": "c1", "timeout_ms": 30000, "directory": "/workspace", "environment": {"NAME": "value"},
     "files": [{"path": "script", "text": "..."}, {"path": "a/b", "base64": "..."}],
     "open_files": 1024, "file_size_bytes": 1073741824,
     "network": (see ``toolc.guest.network.listener``; only where there is one),
     "argv": ["wc", "-w"]}        or: "python": {"entry": "tool.py", "function": "run", "arguments": {}}
                                  or: "http": (see ``toolc.guest.http.response``)

With ``"session": true`` calls come as lines of stdin: those of the plugin that ``argv`` is, or without it those
of ``toolc.guest.session``, which calls the function of ``python``, or runs programs.

A file with ``"secret": true`` can be read by the tool alone, one with ``"executable": true`` can be run.
"""

from __future__ import annotations

import binascii
import json
import os
import resource

from toolc.guest.launch_args import set_limits

__all__ = [
    "Job",
]

TOOL_DIRECTORY = "/tool"
"""Where a call's files are written: an empty folder of the sandbox that the tool's user may write."""


class PreparationError(Exception):
    """The sandbox is not what a call needs, through no fault of the tool; ``str(error)`` says what is wrong."""


class PythonFunction:
    """The function to call: ``function`` of the file ``entry``, with ``arguments`` as keywords."""

    def __init__(self, entry: str, function: str, arguments: dict[str, object]) -> None:
        self.entry = entry
        self.function = function
        self.arguments = arguments


class Job:
    """A parsed CALL frame. Exactly one of ``argv``, ``python`` and ``http`` is not None, or it is a ``session``."""

    def __init__(self, message: bytes) -> None:
        call = json.loads(message)
        self.call_id: str = call["call_id"]
        self.timeout_ms: int = call["timeout_ms"]
        self.directory: str = call["directory"]
        self.environment: dict[str, str] = call["environment"]
        self.files: list[dict[str, str]] = call["files"]
        self.open_files: int = call["open_files"]
        self.file_size_bytes: int = call["file_size_bytes"]
        self.argv: list[str] | None = call.get("argv")
        self.network: dict[str, list[list[object]]] | None = call.get("network")
        self.python = PythonFunction(**call["python"]) if "python" in call else None
        self.http: dict[str, object] | None = call.get("http")
        self.session: bool = call.get("session", False)

    @property
    def is_begun(self) -> bool:
        """Whether the host has begun the request of an HTTP call, as the first connection."""
        return self.http is not None and bool(self.http["is_begun"])


def prepare(job: Job) -> None:
    """Write the call's files, set its limits and enter its directory. Raises ``PreparationError``."""
    os.umask(0o022)
    try:
        for file in job.files:
            _write(os.path.join(TOOL_DIRECTORY, file["path"]), file)
        os.chdir(job.directory)
    except OSError as error:
        raise PreparationError("%s: %s" % (error.filename or TOOL_DIRECTORY, error.strerror)) from error
    # As the engines set it: with 1 the kernel does not run the host's crash handler either; core(5).
    _limit(resource.RLIMIT_CORE, 1)
    _limit(resource.RLIMIT_FSIZE, job.file_size_bytes)
    _limit(resource.RLIMIT_NOFILE, job.open_files)
    set_limits()


def _write(path: str, file: dict[str, str]) -> None:
    is_secret = "secret" in file
    os.makedirs(os.path.dirname(path), mode=0o700 if is_secret else 0o777, exist_ok=True)
    if "text" in file:
        data = file["text"].encode("utf-8", "surrogateescape")
    else:
        data = binascii.a2b_base64(file["base64"])
    with open(path, "wb", opener=_private if is_secret else None) as output:
        output.write(data)
        if "executable" in file:
            os.fchmod(output.fileno(), 0o755)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o400)


def _limit(which: int, value: int) -> None:
    # Soft and hard, so that the tool cannot raise it again; never above what the sandbox itself has.
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))
