"""The secrets of one call: what of them goes into its sandbox, and what is taken out of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from toolc.model.errors import UsageError
from toolc.model.plan import Plan, SecretFile
from toolc.model.result import Content, Resource, Text, ToolFailure, ToolResult
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.sandbox import EnvVar
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import SECRETS
from toolc.runtime.redaction import Redactor

Reveal: TypeAlias = Callable[[Iterable[str]], Mapping[str, str]]
"""The values of secrets by their names. Raises ``UsageError`` that names all that are missing."""

FOLDER: Final = "secrets"
"""The folder, below ``/tool``, of secrets that are files: a file system in memory, of this sandbox alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSecrets:
    """Values by name, and what takes them out of all that leaves the call."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    redactor: Redactor = field(default_factory=Redactor, repr=False)


def secrets_of(tool: ToolSpec, reveal: Reveal) -> CallSecrets:
    """The secrets that a call of ``tool`` uses. Raises ``UsageError`` that names every one without a value."""
    on_host = isinstance(tool.backend, HttpBackend | AgentBackend)  # whose requests toolc makes
    names = [each.name for each in tool.sandbox.secrets if on_host or each.expose != "broker"]
    if not names:
        return CallSecrets()
    try:
        values = reveal(names)
    except UsageError as error:
        raise UsageError(f"tool {tool.name!r} cannot be called:\n{error}") from None
    return CallSecrets(values=values, redactor=Redactor(values))


def no_secrets(names: Iterable[str]) -> Mapping[str, str]:
    """A ``Reveal`` that knows none. Raises ``UsageError``."""
    raise UsageError("\n".join(f"the secret {name!r} has no value" for name in sorted(names)))


def exposed(plan: Plan, tool: ToolSpec, secrets: CallSecrets) -> Plan:
    """``plan`` with what its spec exposes to the tool: variables, and files whose paths are in variables."""
    if isinstance(tool.backend, HttpBackend):
        return plan
    env, files = [*plan.env], []
    for each in tool.sandbox.secrets:
        if each.expose == "env":
            env.append(EnvVar(name=each.name, value=secrets.values[each.name]))
        elif each.expose == "file":
            path = f"{FOLDER}/{each.name}"
            files.append(SecretFile(path=path, text=secrets.values[each.name]))
            env.append(EnvVar(name=f"{each.name}_FILE", value=f"/tool/{path}"))
    for variable in tool.sandbox.secret_env:
        env.append(EnvVar(name=variable.name, value=variable.value.render({SECRETS: {**secrets.values}})))
    return replace(plan, env=tuple(env), secret_files=tuple(files))


def redacted(result: ToolResult, redactor: Redactor) -> ToolResult:
    """``result`` without a secret anywhere in it."""
    if not redactor:
        return result
    error = result.error and ToolFailure(result.error.kind, redactor.text(result.error.message))
    structured = result.structured and (redactor.json(result.structured[0]),)
    return ToolResult(
        content=tuple(redacted_block(block, redactor) for block in result.content),
        structured=structured,
        error=error,
        # All but a tool's own have keys by which others look for them.
        details={
            key: redactor.json(value) if key == "tool" else redactor.values(value)
            for key, value in result.details.items()
        },
    )


def redacted_block(block: Content, redactor: Redactor) -> Content:
    """``block`` without a secret in it."""
    if isinstance(block, Text):
        return Text(redactor.text(block.text))
    if isinstance(block, Resource):
        # A server may name any type; what is left of one with a secret in it would be none.
        is_clean = redactor.text(block.mime_type) == block.mime_type
        mime_type = block.mime_type if is_clean else "application/octet-stream"
        return Resource(redactor.data(block.data), mime_type, redactor.text(block.name))
    return replace(block, data=redactor.data(block.data))
