"""An open sandbox on a node. The methods of ``Sandbox`` reach it through the actor of the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final, NoReturn

from toolc.client.sandbox import MAX_FILE_BYTES, ExecResult, FileEntry, Sandbox
from toolc.cluster.node import Failed
from toolc.cluster.placement import Node
from toolc.cluster.ray_calls import NodeDiedError, used
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.runtime.cancellation import Cancellation

NEEDS_EXECUTOR: Final = "cannot be used in a sandbox on a cluster, which sends the output at the end; use an Executor"


class NodeSandbox(Sandbox):
    """Like ``Sandbox``, on a node, with which it ends. It has no programs that run while others do (``start``)."""

    def __init__(self, node: Node, key: str, details: JsonObject) -> None:
        self._node = node
        self._key = key
        self._details = details | {"node": node.name}

    @property
    def details(self) -> JsonObject:
        """The details of ``Sandbox``, and the node."""
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
        on_output: object = None,
        cancellation: Cancellation | None = None,
    ) -> ExecResult:
        """Like ``Sandbox.exec``, without ``on_output``."""
        if on_output is not None:
            raise UsageError(f"on_output {NEEDS_EXECUTOR}")
        options = {"stdin": stdin, "cwd": cwd, "env": env, "timeout": timeout, "user": user}
        result: ExecResult = self._use("exec", cancellation, argv, **options)
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

    def start(self, argv: Sequence[str], **_: object) -> NoReturn:
        """Raise ``UsageError``."""
        raise UsageError(f"start {NEEDS_EXECUTOR}")

    def close(self) -> None:
        """End the sandbox."""
        self._node.actor.end_sandbox.remote(self._key)

    def _use(self, method: str, cancellation: Cancellation | None, *arguments: object, **options: object) -> Any:
        with Cancellation() as own:
            try:
                request = self._key, method, arguments, options
                answer = used(self._node, token_hex(8), request, cancellation or own)
            except NodeDiedError:
                raise InfrastructureError(f"the node {self._node.name} died, and the sandbox with it") from None
        if isinstance(answer, Failed):
            raise answer.error()
        if isinstance(answer, OSError):
            raise answer
        return answer
