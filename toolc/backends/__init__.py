"""Backends: how each kind turns a call into a plan, and an outcome into a result. All functions are pure.

Start reading in ``backend_protocol``, then the module of a kind. Each kind reads its own output and has its own error
messages ("not JSON"). Composites and agents are in ``toolc.runtime.composite`` and ``toolc.runtime.agents``. A new kind
is a module here with its name, which has ``BACKEND``.

- ``backend_protocol``: the protocol ``Backend``, ``PlanError``, and ``environment``, the variables that every call
  starts with.
- ``content``: reads content blocks (``read_content``), applies ``result.format``, and builds the text of a program that
  failed. Public: ``add_note``, ``MalformedError``, ``with_note``.
- ``http``: ``backend.http``: the request of a call, from its URL, query, headers, ``auth`` and body, and the result of
  its response. Public: ``Http``, ``JSON_TYPE``, ``merge_headers``.
- ``http_styles``: writes lists and objects in a path, query, header, cookie or form. Public: ``cookies``, ``header``,
  ``path_segment``, ``query_fields``.
- ``http_templates``: renders the templates of a request and escapes each value for a path, a query or a header.
  Public: ``escape``.
- ``mcp``: ``backend.mcp``: calls of a tool of an MCP server, and the ``difference`` from its reviewed definition.
  Public: ``Mcp``.
- ``plugin``: ``backend.plugin``: calls of a plugin, and the ``difference`` from its reviewed description. Public:
  ``Plugin``, ``with_stderr``.
- ``plugin_protocol``: the lines of the plugin protocol, read strictly, for the host and for servers. Public:
  ``call_line``, ``encode_line``, ``quote_line``, ``read_line``, ``read_message``, ``read_offer``, ``read_request``,
  ``Description``, ``LineError``, ``Offer``, ``PluginResponse``, ``ProgressUpdate``, ``DESCRIBE``.
- ``python``: ``backend.python``: the arguments of a function, and its JSON response. Public: ``Python``.
- ``shell``: ``backend.shell``: ``argv`` and scripts, argument sizes, exit codes, ``result.format: json``.
- ``terminal_text``: what a terminal would show of a text. Public: ``sequences_in``, ``shown_bytes``, ``shown_text``,
  ``TerminalStream``, ``CONTROL``, ``MAX_LINE``.

May import: ``guest.context`` and ``model``.
"""

from functools import cache
from importlib import import_module
from typing import Any, Final

from toolc.backends.backend_protocol import Backend
from toolc.model.spec.tool import Backends

BACKEND_KINDS: Final = tuple(kind for kind in Backends.one_of if kind not in {"composite", "agent"})
"""The kinds of backends that run in a sandbox; each is the name of a module here."""


# Any, because each backend has its own spec type, which depends on the value of ``kind``.
@cache
def load_backend(kind: str) -> Backend[Any]:
    """Return the backend of a kind. Its module is imported when it is first needed. Raises ``KeyError``."""
    if kind not in BACKEND_KINDS:
        raise KeyError(kind)
    backend: Backend[Any] = import_module(f"toolc.backends.{kind}").BACKEND
    return backend
