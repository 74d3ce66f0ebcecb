"""The environment that every call starts with: constants and what the spec says, nothing of the host's."""

from __future__ import annotations

from typing import Final

from toolc.call import BoundCall
from toolc.spec import EnvVar

BASE: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # the sandbox's own /tmp
    "LANG": "C.UTF-8",
}
"""What a tool's environment holds whatever its spec says, unless the spec says it otherwise."""


def environment(call: BoundCall) -> tuple[EnvVar, ...]:
    """The base environment, the call's id as ``TOOLC_CALL_ID``, and the spec's ``sandbox.env``, which wins."""
    values = BASE | {"TOOLC_CALL_ID": call.call_id}
    values |= {variable.name: variable.value for variable in call.tool.sandbox.env}
    return tuple(EnvVar(name=name, value=value) for name, value in values.items())
