"""The environment that every call starts with: constants and what the spec says, nothing of the host's."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from toolc.model.call import BoundCall
from toolc.model.plan import Plan, Profile, loopback, proxy_environment
from toolc.model.result import Outcome, ToolResult
from toolc.model.spec.sandbox import EnvVar
from toolc.model.spec.tool import ResultSpec

__all__ = ["PlanError"]

Kind_contra = TypeVar("Kind_contra", contravariant=True)


class PlanError(ValueError):
    """Arguments that satisfy the schema and still cannot be passed on; becomes an ``invalid_args`` result."""


class Backend(Protocol[Kind_contra]):
    """How one kind of backend (``ShellBackend``, ``PythonBackend``) is run."""

    def plan(self, backend: Kind_contra, call: BoundCall, profile: Profile) -> Plan:
        """What this call asks of an engine. Raises ``PlanError``."""

    def read(self, backend: Kind_contra, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """The result of an outcome; ``details`` here are only those this backend knows of."""


BASE: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # the sandbox's own /tmp
    # Most programs ask these before passwd(5), in which an image has no line for the workspace's owner.
    "LOGNAME": "tool",
    "USER": "tool",
    "LANG": "C.UTF-8",
}
"""What a tool's environment holds whatever its spec says, unless the spec says it otherwise."""


GIT: Final = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
"""Lets git work in a workspace of which a part is another user's: whose hooks it could run, is in the sandbox."""

GIT_READS: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_1": "diff.autoRefreshIndex",
    "GIT_CONFIG_VALUE_1": "false",
}
"""Keeps ``git status`` and ``git diff`` from writing their index, which no transaction may change."""


def environment(call: BoundCall) -> tuple[EnvVar, ...]:
    """The base environment, the call's id as ``TOOLC_CALL_ID``, and the spec's ``sandbox.env``, which wins.

    With a workspace also what git needs there, and with a network the way to the proxy, if there is one.
    """
    values = BASE | {"TOOLC_CALL_ID": call.call_id}
    mode = call.tool.sandbox.workspace
    if mode != "none":
        values |= GIT
    if mode == "transaction":
        values |= GIT_READS
    proxy = proxy_environment(loopback(call.tool.sandbox.network.allow))
    values |= {variable.name: variable.value for variable in (*proxy, *call.tool.sandbox.env)}
    return tuple(EnvVar(name=name, value=value) for name, value in values.items())
