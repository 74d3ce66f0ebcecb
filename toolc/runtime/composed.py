"""The kinds of backend whose calls make calls, by the tag of their type in ``toolc.model.spec.tool``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from toolc.runtime.caller import ComposedBackend

COMPOSED: Final[Mapping[str, tuple[str, str]]] = {
    "agent": ("toolc.runtime.agent", "Agent"),
    "composite": ("toolc.runtime.composite", "Composite"),
    "function": ("toolc.runtime.function_call", "Function"),
}
"""Module and class of each kind: loaded at its first call, since most registries have none."""


def composed(tag: str) -> ComposedBackend[Any] | None:  # Any: each takes the spec type of its tag
    """How backends with this tag are run; None for one that runs in a sandbox."""
    if tag not in COMPOSED:
        return None
    module, name = COMPOSED[tag]
    backend: ComposedBackend[Any] = getattr(import_module(module), name)()
    return backend
