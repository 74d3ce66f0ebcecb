"""An open sandbox on a node, and its programs. Their methods reach them through the actor of the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Any

from toolc.client.sandbox import MAX_FILE_BYTES, ExecResult, FileEntry, Sandbox
from toolc.cluster.messages import Failed
from toolc.cluster.placement import Node
from toolc.cluster.ray_calls import NodeDiedError, asked, output_of, used
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sessions.programs import OnOutput, ProgramEnd, TerminalSize
from toolc.runtime.sessions.sandbox_session import Program


class NodeSandbox(Sandbox):
    """Like ``Sandbox``, but on a node. It ends with the node."""

    def __init__(self, node: Node, key: str, details: JsonObject) -> None:
        self._node = node
        self._key = key
        self._details = details | {"node": node.name}
        self._programs: list[str] = []

    @property
    def details(self) -> JsonObject:
        """The details of ``Sandbox`` and the name of the node."""
        return self._details

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
        """Like ``Sandbox.exec``."""
        options = {"stdin": stdin, "cwd": cwd, "env": env, "timeout": timeout, "user": user}
        if on_output is None:
            result: ExecResult = self._use("exec", cancellation, argv, **options)
        else:
            result = _followed(self._node, (self._key, "exec", (argv,), options), on_output, cancellation)
        return result

    def read_file(
        self, path: str, *, max_bytes: int = MAX_FILE_BYTES, cancellation: Cancellation | None = None
    ) -> bytes:
        """Like ``Sandbox.read_file``."""
        content: bytes = self._use("read_file", cancellation, path, max_bytes=max_bytes)
        return content

    def write_file(self, path: str, data: bytes | str, *, cancellation: Cancellation | None = None) -> None:
        """Like ``Sandbox.write_file``."""
        self._use("write_file", cancellation, path, data)

    def list(self, path: str = ".", *, cancellation: Cancellation | None = None) -> tuple[FileEntry, ...]:
        """Like ``Sandbox.list``."""
        entries: tuple[FileEntry, ...] = self._use("list", cancellation, path)
        return entries

    def remove(self, path: str, *, recursive: bool = False, cancellation: Cancellation | None = None) -> None:
        """Like ``Sandbox.remove``."""
        self._use("remove", cancellation, path, recursive=recursive)

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
    ) -> Program:
        """Like ``Sandbox.start``."""
        key = token_hex(8)
        _asked(self._node, "start_program", key, self._key, argv, {"cwd": cwd, "env": env, "terminal": terminal})
        self._programs.append(key)
        return NodeProgram(self._node, key)

    def close(self) -> None:
        """End the sandbox."""
        with suppress(NodeDiedError):
            asked(self._node, "end_sandbox", self._key, self._programs)  # waits, as in RayExecutor.end_session

    def _use(self, method: str, cancellation: Cancellation | None, *arguments: object, **options: object) -> Any:
        with Cancellation() as own, _naming(self._node):
            request = self._key, method, arguments, options
            return _value(used(self._node, token_hex(8), request, cancellation or own))


class NodeProgram(Program):
    """Like ``Program``, but in a sandbox on a node. Its output stays on the node until ``wait``."""

    def __init__(self, node: Node, key: str) -> None:
        self._node = node
        self._key = key

    def write(self, data: bytes, *, is_last: bool = False) -> None:
        """Like ``Program.write``."""
        self._steer("write", data, is_last=is_last)

    @property
    def unsent_bytes(self) -> int:
        """Like ``Program.unsent_bytes``."""
        return self._steer("write", b"")

    def resize(self, size: TerminalSize) -> None:
        """Like ``Program.resize``."""
        self._steer("resize", size)

    def kill(self) -> None:
        """Like ``Program.kill``."""
        self._steer("kill")

    def wait(self, on_output: OnOutput | None = None, cancellation: Cancellation | None = None) -> ProgramEnd:
        """Like ``Program.wait``."""
        end: ProgramEnd = _followed(self._node, (self._key, "wait", (), {}), on_output, cancellation)
        return end

    def _steer(self, method: str, *arguments: object, **options: object) -> int:
        unsent: int = _asked(self._node, "steer_program", self._key, method, arguments, options)
        return unsent


def _asked(node: Node, method: str, *arguments: object) -> Any:
    """Return the answer of a short method. Raises ``UsageError`` and ``InfrastructureError``."""
    with _naming(node):
        return _value(asked(node, method, *arguments))


def _followed(
    node: Node, request: tuple[object, ...], on_output: OnOutput | None, cancellation: Cancellation | None
) -> Any:
    """Pass on the output of a command or program, and return how it ended.

    Raises the same errors as ``Sandbox.exec``.
    """
    with Cancellation() as own, _naming(node):
        return _value(output_of(node, token_hex(8), request, on_output, cancellation or own))


@contextmanager
def _naming(node: Node) -> Iterator[None]:
    """If the node dies, raise ``InfrastructureError`` with its name."""
    try:
        yield
    except NodeDiedError:
        raise InfrastructureError(f"the node {node.name} died, and the sandbox with it") from None


def _value(answer: object) -> object:
    """Return the answer of a node, or raise the error that it returned."""
    if isinstance(answer, Failed):
        raise answer.error()
    if isinstance(answer, OSError):
        raise answer
    return answer
