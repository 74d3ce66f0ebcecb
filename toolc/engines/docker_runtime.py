"""The runtimes that a daemon has registered, and how far each isolates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolc.engines.base import ISOLATION
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.sandbox import MinIsolation

_KINDS: Final[tuple[tuple[MinIsolation, str], ...]] = (("gvisor", r"runsc|gvisor"), ("vm", r"kata"))
"""What a runtime's own program is called, by how it isolates; any other shares the host's kernel."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """One registered runtime: its name, how it isolates, and all that the daemon says about it, in one word."""

    name: str
    isolation: MinIsolation = "namespace"
    definition: str = ""


DEFAULT: Final = Runtime("runc")
"""What a daemon that names no runtimes uses."""


def runtimes(info: JsonObject) -> tuple[Runtime, ...]:
    """What ``GET /info`` says: the default runtime first, then the others by name."""
    default = info.get("DefaultRuntime")
    first = default if isinstance(default, str) and default else DEFAULT.name
    listed = info.get("Runtimes")
    entries = dict(listed) if isinstance(listed, dict) else {}
    found = [_runtime(name, entries.get(name)) for name in sorted({first, *entries}, key=lambda n: (n != first, n))]
    return tuple(found)


def choose(registered: tuple[Runtime, ...], wanted: MinIsolation) -> Runtime | None:
    """The runtime for a tool that demands ``wanted``: the default if it will do, else the weakest that does."""
    fit = [runtime for runtime in registered if ISOLATION.index(runtime.isolation) >= ISOLATION.index(wanted)]
    if registered[0] in fit:
        return registered[0]
    return min(fit, key=lambda runtime: ISOLATION.index(runtime.isolation), default=None)


def _runtime(name: str, entry: JsonValue) -> Runtime:
    described = entry if isinstance(entry, dict) else {}
    # A runtime is given by the path of its program, or (since 23.0) by the name of a containerd shim.
    program = str(described.get("path") or described.get("runtimeType") or name)
    for isolation, pattern in _KINDS:
        if re.search(pattern, program.rpartition("/")[2]):
            return Runtime(name, isolation, _definition(described))
    return Runtime(name, "namespace", _definition(described))


def _definition(described: JsonObject) -> str:
    return " ".join(f"{key}={described[key]}" for key in sorted(described) if key != "status")
