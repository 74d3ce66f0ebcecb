"""Backends: how a call of each kind of backend becomes a plan, and its outcome a result. All functions are pure.

One module per kind: ``http``, ``plugin``, ``python`` and ``shell``. Start reading in ``base``, which has the
protocol ``Backend`` and the environment that every call starts with. ``http_templates`` escapes the values in an
HTTP request, ``content`` reads a tool's output, and ``plugin_protocol`` defines the lines of the plugin protocol.
Composites and agents have no module here: see ``toolc.runtime.composite`` and ``toolc.runtime.agents``.

A new kind is a module here that has ``BACKEND``, and its name in ``BACKEND_KINDS``.

May import: ``toolc.guest.context`` and ``toolc.model``.

Public names: ``PlanError`` (``base``); ``MalformedError``, ``parse_json``, ``read_content``, ``with_note``
(``content``); ``escape`` (``http_templates``); ``difference``, ``Plugin``, ``with_stderr`` (``plugin``);
``call_line``, ``Description``, ``encode_line``, ``LineError``, ``Offer``, ``PluginResponse``, ``ProgressUpdate``,
``quote_line``, ``read_line``, ``read_message``, ``read_offer``, ``DESCRIBE`` (``plugin_protocol``); ``Python``
(``python``).
"""

from functools import cache
from importlib import import_module
from typing import Any, Final

from toolc.backends.base import Backend

__all__ = ["BACKEND_KINDS", "load_backend"]

BACKEND_KINDS: Final = ("http", "plugin", "python", "shell")
"""The tags of the backends in ``toolc.model.spec.tool`` that run in a sandbox; each is the name of a module here."""


# Any: each backend has a spec type of its own, which depends on the value of ``kind``.
@cache
def load_backend(kind: str) -> Backend[Any]:
    """Return a backend by its kind, and import its module if needed. Raise ``KeyError`` for an unknown kind."""
    if kind not in BACKEND_KINDS:
        raise KeyError(kind)
    backend: Backend[Any] = import_module(f"toolc.backends.{kind}").BACKEND
    return backend
