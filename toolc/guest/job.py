"""Parse the CALL frame of a call and prepare the worker to run it.

The CALL frame's content, as ``marshal`` writes it (see ``toolc.guest.json_text``)::

    {"call_id": "c1", "timeout_ms": 30000, "directory": "/workspace", "environment": {"NAME": "value"},
     "files": [{"path": "script", "text": "..."}, {"path": "a/b", "base64": "..."}],
     "open_files": 1024, "file_size_bytes": 1073741824,
     "network": (see ``toolc.guest.network.listener``; only if there is one),
     "argv": ["wc", "-w"]}        or: "python": {"entry": "tool.py", "function": "run", "arguments": {}}
                                  or: "http": (see ``HttpJob``)

With ``"session": true``, several calls arrive on stdin. If there is an ``argv``, it is a plugin that reads its own
protocol. If there is a ``python``, each call is a line of ``toolc.guest.session``. Otherwise stdin has the frames of
``toolc.guest.programs.program_server``, and ``"supervised": true`` means that its programs can be killed.

A file with ``"secret": true`` is readable only by the tool's user. A file with ``"executable": true`` is executable.
"""

from __future__ import annotations

import binascii
import marshal
import os
import resource

from toolc.guest.launch_args import set_limits

TOOL_DIRECTORY = "/tool"
"""The folder for a call's files: an empty folder of the sandbox that the tool's user can write to."""

SERVER_FILES = 65_536
"""The maximum number of open files of a server of programs. Their outputs count, also those of background processes.

The limit of the tool applies to each of its programs.
"""


class PreparationError(Exception):
    """The sandbox does not meet the requirements of the call. ``str(error)`` is the reason."""


class PythonFunction:
    """The function to call: ``function`` in the file ``entry``, with ``arguments`` as keyword arguments."""

    def __init__(self, entry: str, function: str, arguments: dict[str, object]) -> None:
        self.entry = entry
        self.function = function
        self.arguments = arguments


class Job:
    """A parsed CALL frame. Exactly one of ``argv``, ``python`` and ``http`` is set, unless it is a ``session``."""

    def __init__(self, message: bytes) -> None:
        call = marshal.loads(message)  # noqa: S302  the host has sent it
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
        self.is_supervised: bool = call.get("supervised", False)

    @property
    def is_begun(self) -> bool:
        """Whether the host has already started the request of an HTTP call, as the first connection."""
        return self.http is not None and bool(self.http["is_begun"])


class HttpJob:
    """The ``http`` object of a CALL: see ``toolc.runtime.http.message``."""

    def __init__(self, message: dict) -> None:  # type: ignore[type-arg]
        self.method: str = message["method"]
        self.url: str = message["url"]
        self.format: str = message["format"]
        self.limit: int = message["limit"]
        self.needs_token: bool = message["needs_token"]
        self.has_token: bool = message["has_token"]
        self.retry: dict[str, object] | None = message["retry"]
        self.pagination: dict[str, object] | None = message["pagination"]
        self.errors: list[dict[str, str | None]] = message["errors"]
        self.select: str | None = message["select"]
        self.template: str | None = message["template"]
        self.arguments: dict[str, object] = message["arguments"]


def prepare(job: Job) -> None:
    """Write the call's files, set its limits and enter its directory. Raises ``PreparationError``."""
    os.umask(0o022)
    try:
        for file in job.files:
            _write(os.path.join(TOOL_DIRECTORY, file["path"]), file)
        os.chdir(job.directory)
    except OSError as error:
        raise PreparationError("%s: %s" % (error.filename or TOOL_DIRECTORY, error.strerror)) from error
    # The engines use 1 as well: with it, the kernel does not run the host's crash handler, see core(5).
    lower_limit(resource.RLIMIT_CORE, 1)
    lower_limit(resource.RLIMIT_FSIZE, job.file_size_bytes)
    is_server = job.argv is None and job.python is None and job.http is None
    lower_limit(resource.RLIMIT_NOFILE, SERVER_FILES if is_server else job.open_files)
    set_limits()


def _write(path: str, file: dict[str, str]) -> None:
    is_secret = "secret" in file
    os.makedirs(os.path.dirname(path), mode=0o700 if is_secret else 0o777, exist_ok=True)
    data = file["text"].encode("utf-8", "surrogateescape") if "text" in file else binascii.a2b_base64(file["base64"])
    with open(path, "wb", opener=_private if is_secret else None) as output:
        output.write(data)
        if "executable" in file:
            os.fchmod(output.fileno(), 0o755)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o400)


def lower_limit(which: int, value: int) -> None:
    """Set the soft and the hard limit, so that the tool cannot raise it. Never exceed the sandbox's own hard limit."""
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))
