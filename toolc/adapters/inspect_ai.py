"""Inspect: the sandbox provider ``toolc``, in which evaluations run commands and keep files.

``sandbox="toolc"`` gives each sample a sandbox without a network. ``sandbox=("toolc", "specs/shell.yaml#shell")`` gives
it the sandbox of a tool, and ``SandboxEnvironmentSpec("toolc", SandboxConfig(...))`` a sandbox with other settings.
Commands can run only as the user of the sandbox.
"""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import Any, Final, Literal, overload

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.client.sandbox import ExecResult as ProgramResult
from toolc.client.sandbox import Sandbox
from toolc.model.errors import MissingExtraError, UsageError
from toolc.model.json_schema import JsonObject

try:
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxEnvironment,
        SandboxEnvironmentLimits,
        sandboxenv,
    )
    from pydantic import BaseModel
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.adapters.inspect_ai", "inspect") from error

PROFILE: Final[JsonObject] = {
    "limits": {"timeout": "1440m", "memory": "1GiB", "tmp": "512MiB", "output": "10MiB", "pids": 512}
}
"""The sandbox of a sample without a configuration. Its output limit is the same as in Inspect.

Inspect limits the time of each command, so the sandbox may live for a day. Samples may compile programs, which need
more memory and processes than the defaults allow.
"""

NOT_EXECUTABLE: Final = 126
"""The exit code of a command that cannot be run."""


class SandboxConfig(BaseModel, frozen=True):
    """The configuration of a sample: the sandbox of the tool ``tool`` (``SPEC#NAME``), or a sandbox with ``profile``.

    ``profile`` has the keys of ``sandbox`` in a spec. ``workspace`` is the folder for a sandbox with a workspace.
    """

    tool: str | None = None
    profile: dict[str, Any] | None = None
    workspace: str | None = None
    engine: str | None = None


@sandboxenv(name="toolc")
class ToolcSandbox(SandboxEnvironment):
    """A sandbox for one sample."""

    def __init__(self, executor: Executor, sandbox: Sandbox) -> None:
        super().__init__()
        self._executor = executor
        self._sandbox = sandbox

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> SandboxConfig:
        """Return the configuration for an evaluation log."""
        return SandboxConfig(**config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: BaseModel | str | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Open the sandbox of a sample. Raises the same errors as ``Executor.sandbox``."""
        settings = _settings(config)
        registry = Registry() if settings.tool is None else Registry.load(settings.tool)
        executor = Executor(registry, workspace=settings.workspace, engine=settings.engine, pool=None)
        profile = settings.profile or PROFILE
        try:
            sandbox = await executor.asandbox(_only_name(registry, settings.tool) if settings.tool else profile)
        except BaseException:
            await asyncio.to_thread(executor.close)
            raise
        return {"default": cls(executor, sandbox)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: BaseModel | str | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Close the sandbox of a sample, even after an error."""
        for environment in environments.values():
            await environment.as_type(cls).close()

    async def close(self) -> None:
        """Close the sandbox."""
        try:
            await self._sandbox.aclose()
        finally:
            # Run it outside the event loop, because it waits for the removal of sandboxes.
            await asyncio.to_thread(self._executor.close)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command. Raises the same errors as ``SandboxEnvironment.exec``."""
        try:
            result = await self._sandbox.aexec(
                cmd, stdin=input or b"", cwd=cwd or "", env=env, timeout=timeout, user=user
            )
        except UsageError as error:
            if user is None:
                raise
            return ExecResult(
                success=False, returncode=NOT_EXECUTABLE, stdout=await self._reason_for(user, error), stderr=""
            )
        if result.timed_out:
            raise TimeoutError(f"the command did not finish in time: {cmd[0]}")
        if result.exit_code == NOT_EXECUTABLE and "ermission denied" in result.reason:
            raise PermissionError(errno.EACCES, result.reason)
        _check_output(result)
        return ExecResult(
            success=result.exit_code == 0,
            returncode=result.exit_code,
            stdout=result.stdout.decode(),
            stderr=result.stderr.decode() or result.reason,
        )

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file. Raises the same errors as ``SandboxEnvironment.write_file``."""
        await self._sandbox.awrite_file(file, contents)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Return the content of a file. Raises the same errors as ``SandboxEnvironment.read_file``."""
        limits = SandboxEnvironmentLimits
        try:
            data = await self._sandbox.aread_file(file, max_bytes=limits.MAX_READ_FILE_SIZE)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            raise OutputLimitExceededError(limits.MAX_READ_FILE_SIZE_STR, None) from None
        return data.decode() if text else data

    async def _reason_for(self, user: str, error: UsageError) -> str:
        """Return why a command cannot run as ``user``. For an unknown user, this is the text that Inspect expects."""
        lines = (await self._sandbox.aread_file("/etc/passwd")).decode("utf-8", "replace").splitlines()
        if any(user in line.split(":")[:3:2] for line in lines):
            return str(error)
        return f"unable to find user {user}: no matching entries in passwd file"


def _settings(config: BaseModel | str | None) -> SandboxConfig:
    """Return the configuration of a sample. Raises ``UsageError``."""
    if config is None:
        return SandboxConfig()
    if isinstance(config, str):
        return SandboxConfig(tool=config)
    if not isinstance(config, SandboxConfig):
        raise UsageError(f"the sandbox 'toolc' needs a toolc.adapters.inspect_ai.SandboxConfig, not {config!r:.60}")
    if config.tool is not None and config.profile is not None:
        raise UsageError("a SandboxConfig has either a 'tool' or a 'profile', but this one has both; remove one")
    return config


def _only_name(registry: Registry, target: str) -> str:
    if len(registry.names) != 1:
        names = ", ".join(registry.names) or "none"
        raise UsageError(f"{target} must be one tool; use {Path(target).name}#NAME (the tools there: {names})")
    return registry.names[0]


def _check_output(result: ProgramResult) -> None:
    """Raise ``OutputLimitExceededError`` if an output has more bytes than Inspect allows, or was truncated."""
    limits = SandboxEnvironmentLimits
    for output in (result.stdout, result.stderr):
        is_cut = result.truncated and len(output) == max(len(result.stdout), len(result.stderr))
        if is_cut or len(output) > limits.MAX_EXEC_OUTPUT_SIZE:
            text = output[: limits.MAX_EXEC_OUTPUT_SIZE].decode("utf-8", "replace")
            raise OutputLimitExceededError(limits.MAX_EXEC_OUTPUT_SIZE_STR, text)
