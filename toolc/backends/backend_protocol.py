"""The protocol of a backend, and the environment variables that every call starts with."""

from typing import Final, Protocol, TypeVar

from toolc.model.call import BoundCall
from toolc.model.plan import Plan, Profile, loopback_proxy, proxy_environment
from toolc.model.result import Outcome, ToolResult
from toolc.model.spec.sandbox import EnvVar, SandboxSpec
from toolc.model.spec.tool import ResultSpec

Kind_contra = TypeVar("Kind_contra", contravariant=True)

BASE: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # the sandbox's own /tmp
    # Most programs read these before passwd(5), in which an image has no entry for the workspace's owner.
    "LOGNAME": "tool",
    "USER": "tool",
    "LANG": "C.UTF-8",
}
"""The variables that every tool has, unless the spec overrides them."""

GIT: Final = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
"""Allows git to work in a workspace whose files belong to another user. Their hooks can only run in the sandbox."""

GIT_READS: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_1": "diff.autoRefreshIndex",
    "GIT_CONFIG_VALUE_1": "false",
}
"""Prevents ``git status`` and ``git diff`` from updating the index, which a transaction must not change."""


class PlanError(ValueError):
    """The arguments match the schema but cannot be passed to the tool. Becomes an ``invalid_args`` result."""


class Backend(Protocol[Kind_contra]):
    """Plans the calls of one kind of backend, such as ``ShellBackend``, and reads their outcomes."""

    def plan(self, backend: Kind_contra, call: BoundCall, profile: Profile) -> Plan:
        """Return the plan that an engine runs for this call. Raises ``PlanError``."""

    def read(self, backend: Kind_contra, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Return the result for an outcome. Its ``details`` contain only fields of the backend."""


def environment(sandbox: SandboxSpec, call_id: str) -> tuple[EnvVar, ...]:
    """Return the variables of a call: the defaults, ``TOOLC_CALL_ID``, and ``sandbox.env``, which has priority.

    A call with a workspace also gets the settings for git, and a call with a network the settings for its proxy.
    """
    values = BASE | {"TOOLC_CALL_ID": call_id}
    mode = sandbox.workspace
    if mode != "none":
        values |= GIT
    if mode == "transaction":
        values |= GIT_READS
    proxy = proxy_environment(loopback_proxy(sandbox.network.allow))
    values |= {variable.name: variable.value for variable in (*proxy, *sandbox.env)}
    return tuple(EnvVar(name=name, value=value) for name, value in values.items())
