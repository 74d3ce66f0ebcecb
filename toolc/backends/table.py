"""The kinds of backend, by the tag of their type in ``toolc.spec``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolc.backends.base import Backend
from toolc.backends.http import Http
from toolc.backends.plugin import Plugin
from toolc.backends.python import Python
from toolc.backends.shell import Shell
from toolc.spec import PluginBackend, PythonBackend, ShellBackend
from toolc.spec_http import HttpBackend

# Any: each entry takes the one spec type whose tag is its key, which a mapping's type cannot say.
BACKENDS: Final[Mapping[str, Backend[Any]]] = {
    HttpBackend.tag: Http(),
    PluginBackend.tag: Plugin(),
    PythonBackend.tag: Python(),
    ShellBackend.tag: Shell(),
}
"""How each kind of backend is run."""
