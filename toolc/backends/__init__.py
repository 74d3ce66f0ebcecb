"""How a call of each kind of backend becomes a plan, and its outcome a result: one pure module per kind.

A new kind is a module here that has ``BACKEND``, and its name in ``BACKEND_KINDS``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from toolc.backends.base import Backend

__all__ = [
    "BACKEND_KINDS",
    "load_backend",
]

BACKEND_KINDS: Final = ("http", "plugin", "python", "shell")
"""The tags of the backends in ``toolc.model.spec.tool`` that run in a sandbox; each is the name of a module here.
"""


# Any: each backend has a spec type of its own, which depends on the value of ``kind``.
@cache
def load_backend(kind: str) -> Backend[Any]:
    """Return a backend by its kind, and import its module if needed. Raises ``KeyError`` for an unknown kind."""
    if kind not in BACKEND_KINDS:
        raise KeyError(kind)
    backend: Backend[Any] = import_module(f"toolc.backends.{kind}").BACKEND
    return backend
