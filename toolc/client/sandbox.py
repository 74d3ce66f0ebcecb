"""``Sandbox``, an open sandbox in which a program runs commands and accesses files."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import count
from json import loads
from pathlib import Path
from typing import Final, Literal, Self, TypeVar
from weakref import finalize

from toolc.client.call_forms import awaited
from toolc.compiler.decode.sandbox import decode_profile
from toolc.dataclass import dataclass, replace
from toolc.model.call import ToolCall
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.sandbox import MIB
from toolc.runtime import argument_checks
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution import async_calls
from toolc.runtime.execution.batch import new_call_id
from toolc.runtime.execution.call_pipeline import Find
from toolc.runtime.execution.open_sandbox import PROFILE_NAME, OpenSandbox, open_profile, open_tool
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.sessions.programs import OnOutput, ProgramEnd, ProgramRequest, TerminalSize
from toolc.runtime.sessions.sandbox_session import Program
from toolc.runtime.wire.session import LIFE_MS
from toolc.telemetry.observation import EndedCall, Observer, StartedCall, observed, recording

T = TypeVar("T")

MAX_FILE_BYTES: Final = 100 * MIB
"""The maximum size of a file that ``read_file`` returns by default, in bytes.

The content is held in memory on the host, so a caller must ask for a higher limit.
"""

MAX_LIST_BYTES: Final = 16 * MIB
"""The maximum size of a folder's list as JSON, in bytes. This is enough for a hundred thousand entries.

Without a limit, a sandbox could fill the memory of the host.
"""

FileType = Literal["file", "folder", "link", "other"]
_TYPES: Final[Mapping[object, FileType]] = {"file": "file", "folder": "folder", "link": "link", "other": "other"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """The result of a program.

    ``exit_code`` is as in a shell: 128 plus the signal number if a signal killed the program, 127 if the program was
    not found, and 126 if it could not be run. ``reason`` says why it did not start. If an output exceeds the limit, its
    middle is missing and ``truncated`` is set. ``out_of_memory`` is set if a process of the sandbox was killed because
    of the memory limit while the program ran.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int
    timed_out: bool = False
    truncated: bool = False
    out_of_memory: bool = False
    reason: str = ""
    cpu_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """An entry of a folder. ``size`` is in bytes."""

    name: str
    type: FileType
    size: int


def open_sandbox(profile: object, find: Find, options: CallOptions) -> Sandbox:
    """Open the sandbox of a ``RegisteredTool``, or one with a dict as its profile. Raises as ``Executor.sandbox``."""
    tool = profile if isinstance(profile, RegisteredTool) else None
    arguments = {} if tool else argument_checks.json_object("profile", profile)
    call = ToolCall(name=tool.spec.name if tool else PROFILE_NAME, arguments=arguments, call_id=new_call_id())
    opening = StartedCall(tool=tool, call=call, client=options.client)
    with observed(options.observers, opening) as ended:
        options = replace(options, confirm=recording(options.confirm, ended))
        if tool:
            opened = open_tool(tool, find, options, call.call_id)
        else:
            opened = open_profile(decode_profile(arguments, Path.cwd()), options)
        ended.result = ToolResult.success("", details=opened.details)
    return Sandbox(opened, opening, options.observers)


class Sandbox:
    """An open sandbox, from ``Executor.sandbox``. Its commands can run at the same time and share files and processes.

    Safe to use from several threads. Close it, or use it in a ``with`` statement. Each method has an asynchronous
    version with the prefix ``a``. Cancelling its task kills the command. All paths are paths in the sandbox. Relative
    paths start at its working directory: ``/workspace``, or ``/tmp`` if it has no workspace.
    """

    def __init__(self, opened: OpenSandbox, opening: StartedCall, observers: Sequence[Observer]) -> None:
        self._opened = opened
        self._opening = opening
        self._observers = observers
        self._numbers = count(1)
        self._recorded_attempts = 0
        self._session = opened.session
        self._close = finalize(self, opened.session.close)

    @property
    def details(self) -> JsonObject:
        """The engine, the user, the image and the connections of the sandbox.

        ``reviewed`` is false if this program defines the profile or the tool.
        """
        return self._opened.details | self._session.details

    def exec(  # noqa: PLR0913  one parameter per option
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | str = b"",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        user: str | None = None,
        on_output: OnOutput | None = None,
        cancellation: Cancellation | None = None,
    ) -> ExecResult:
        """Run a command without a shell and return its result.

        ``env`` is added to the variables of the sandbox. ``timeout`` is in seconds and can only lower the limit of the
        sandbox. When it expires, the command and all its descendants are killed. ``user`` must be the user of the
        sandbox. ``on_output`` is called on this thread with ``"stdout"`` or ``"stderr"`` and the next bytes. It
        receives the complete output, even beyond the limit of the result. Raises ``OSError`` if ``cwd`` is not a
        folder, ``UsageError`` and ``InfrastructureError``.
        """
        request = self._request(argv, cwd, env, timeout, user)
        end = self._run(request, _bytes("stdin", stdin), on_output, cancellation)
        if end.errno is not None:
            raise OSError(end.errno, end.reason, request.directory)
        return _result(end)

    aexec = awaited(exec)  # noqa: A003

    def read_file(
        self, path: str, *, max_bytes: int = MAX_FILE_BYTES, cancellation: Cancellation | None = None
    ) -> bytes:
        """Return the content of a file. Raises ``OSError`` as ``open`` does, and EFBIG above ``max_bytes``."""
        return self._read(_reading(path, max_bytes), max_bytes, cancellation)

    aread_file = awaited(read_file)

    def write_file(self, path: str, data: bytes | str, *, cancellation: Cancellation | None = None) -> None:
        """Write a file, and create missing folders above it. Raises ``OSError`` as ``open`` does."""
        self._file({"operation": "write", "path": _path(path)}, _bytes("data", data), cancellation=cancellation)

    awrite_file = awaited(write_file)

    def list(self, path: str = ".", *, cancellation: Cancellation | None = None) -> tuple[FileEntry, ...]:
        """Return the entries of a folder, sorted by name. Raises ``OSError``."""
        return _entries(self._read({"operation": "list", "path": _path(path)}, MAX_LIST_BYTES, cancellation))

    alist = awaited(list)  # noqa: A003

    def remove(self, path: str, *, recursive: bool = False, cancellation: Cancellation | None = None) -> None:
        """Remove a file, a link or a folder. A folder must be empty unless ``recursive``. Raises ``OSError``."""
        self._file({"operation": "remove", "path": _path(path), "recursive": recursive}, cancellation=cancellation)

    aremove = awaited(remove)

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
    ) -> Program:
        """Start a command without a time limit and return it. Its method ``wait`` waits for its end.

        With ``terminal``, the command has a pseudoterminal. Raises ``UsageError`` and ``InfrastructureError``.
        """
        request = self._request(argv, cwd, env, None, None, terminal=terminal, timeout_ms=LIFE_MS)
        with self._recorded(request) as ended:
            program = self._session.start(request, buffers_output=True)
            ended.result = ToolResult.success("", details=self._new_details())
        return program

    def close(self) -> None:
        """End the sandbox and everything that runs in it, and wait for its end. Closing it again has no effect."""
        self._close()

    async def aclose(self) -> None:
        """Like ``close``, for ``asyncio``."""
        await async_calls.result(lambda _, __: self.close(), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _request(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str] | None,
        timeout: float | None,
        user: str | None,
        terminal: TerminalSize | None = None,
        timeout_ms: int | None = None,
    ) -> ProgramRequest:
        words = tuple(_encodable(word) for word in argument_checks.sequence("argv", argv, "strings"))
        if not words or not words[0]:
            raise UsageError("argv must name a program; for example ['ls', '-l']")
        self._check_user(user)
        seconds = None if timeout is None else argument_checks.seconds("a timeout", timeout)
        limit = self._opened.timeout_ms if timeout_ms is None else timeout_ms
        return ProgramRequest(
            argv=words,
            directory=_encodable(cwd),
            environment=_variables(env),
            terminal=terminal,
            timeout_ms=limit if seconds is None else min(limit, max(1, round(seconds * 1000))),
            output_bytes=self._opened.limits.output_bytes,
        )

    def _check_user(self, user: str | None) -> None:
        own = str(self._session.details["user"]).partition(" ")[0]
        uid = own.partition(":")[0]
        if user is not None and user not in {own, uid, *(("root",) if uid == "0" else ())}:
            raise UsageError(f"commands of this sandbox run as the user {own}, not as {user!r:.60}; omit 'user'")

    def _run(
        self, request: ProgramRequest, stdin: bytes, on_output: OnOutput | None, cancellation: Cancellation | None
    ) -> ProgramEnd:
        with self._recorded(request) as ended:
            program = self._session.start(request, buffers_output=on_output is not None)
            program.write(stdin, is_last=True)
            end = program.wait(on_output, cancellation)
            details, kind = self._new_details(), _error_kind(end)
            ended.result = failure(kind, "", details) if kind else ToolResult.success("", details=details)
        return end

    def _recorded(self, request: ProgramRequest) -> AbstractContextManager[EndedCall]:
        """Record the operation in the block as a part of the call that opened the sandbox."""
        arguments: JsonObject = {"argv": [*request.argv], "file": request.file, "env": dict(request.environment)}
        call_id = f"{self._opening.call.call_id}.{next(self._numbers)}"
        call = replace(self._opening.call, arguments=arguments, call_id=call_id)
        return observed(self._observers, replace(self._opening, call=call, depth=1, time=datetime.now(UTC)))

    def _new_details(self) -> JsonObject:
        """Return the details of the sandbox to record, with the connections since the last record."""
        attempts = self._session.attempts()
        first, self._recorded_attempts = self._recorded_attempts, len(attempts)
        return {"engine": self._opened.details["engine"], "network": [each.to_json() for each in attempts[first:]]}

    def _read(self, request: JsonObject, limit: int, cancellation: Cancellation | None = None) -> bytes:
        return self._file(request, limit=limit, cancellation=cancellation).stdout.data()

    def _file(
        self, operation: JsonObject, data: bytes = b"", *, limit: int = 0, cancellation: Cancellation | None = None
    ) -> ProgramEnd:
        """Run an operation on files in the sandbox. Raises the ``OSError`` that it reports."""
        timeout_ms = self._opened.timeout_ms
        request = ProgramRequest(file=operation, timeout_ms=timeout_ms, output_bytes=limit)
        end = self._run(request, data, None, cancellation)
        path = str(operation["path"])
        if end.errno is not None:
            raise OSError(end.errno, end.reason, path)
        if end.timed_out:
            raise TimeoutError(errno.ETIMEDOUT, f"the operation did not end within {timeout_ms / 1000:g} s", path)
        if end.stdout.truncated:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        if end.ending != "exited" or end.status:
            cause = "the memory limit was exceeded" if end.out_of_memory else end.reason or "its process was killed"
            raise InfrastructureError(f"the operation on {path!r} in the sandbox failed: {cause}")
        return end


def _result(end: ProgramEnd) -> ExecResult:
    return ExecResult(
        stdout=end.stdout.data(),
        stderr=end.stderr.data(),
        exit_code=end.exit_code,
        timed_out=end.timed_out,
        truncated=end.stdout.truncated or end.stderr.truncated,
        out_of_memory=end.out_of_memory is True,
        reason=end.reason,
        cpu_ms=end.cpu_ms,
    )


def _error_kind(end: ProgramEnd) -> ErrorKind | None:
    if end.timed_out or end.out_of_memory:
        return "timeout" if end.timed_out else "out_of_memory"
    if end.errno is not None:
        return "file"
    return "exit_status" if end.exit_code else None


def _bytes(what: str, given: object) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogateescape")
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    raise UsageError(f"{what} must be bytes or a string, not {given!r:.60}")


def _variables(given: object) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise UsageError(f"env must be a dict, not {given!r:.60}")
    return tuple((_encodable(name), _encodable(value)) for name, value in given.items())


def _reading(path: str, max_bytes: int) -> JsonObject:
    limit = argument_checks.of_type("max_bytes", max_bytes, int, "a whole number")
    return {"operation": "read", "path": _path(path), "limit": limit}


def _path(given: object) -> str:
    if path := _encodable(given):
        return path
    raise UsageError("a path must not be empty; for the working directory, use '.'")


def _encodable(given: object) -> str:
    """Return ``text`` if a program can receive it. Raises ``UsageError``.

    A name that is not UTF-8 contains surrogates, as in the result of ``os.listdir``.
    """
    text = argument_checks.of_type("an argument, variable or path", given, str, "a string")
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError(f"{text!r:.60} cannot be encoded in UTF-8") from None
    if b"\0" in data:
        raise UsageError(f"{text!r:.60} has a NUL character, which arguments, variables and paths cannot have")
    return text


def _entries(data: bytes) -> tuple[FileEntry, ...]:
    """Parse a folder's list from the guest. Raises ``InfrastructureError`` if it is invalid."""
    try:
        return tuple(_entry(each) for each in loads(data))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InfrastructureError("the sandbox sent an invalid list of files") from None


def _entry(value: tuple[object, object, object]) -> FileEntry:
    """Return one entry. Raises ``ValueError``, ``TypeError`` or ``KeyError``."""
    name, kind, size = value
    if not isinstance(name, str) or not isinstance(size, int):
        raise TypeError
    return FileEntry(name=name, type=_TYPES[kind], size=size)
